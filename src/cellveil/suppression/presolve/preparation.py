"""Presolve of a suppression problem: fewer demands, and cells at no cost.

*Protect* fewer primaries: only those exposed at the outset (E), or candidates for them (K1, K3, K5), as in
`judge.exposure`; the others are hidden without a demand. What comes out is audited for all primaries, and
where one of them is not shown protected, the method runs again with all demands.
*Preselect* cells that will be hidden anyway, as in `cellveil.suppression.presolve.preselection`.

Ensures that the audit has seen a draft of fewer demands, and hands over the audit's witnesses.
Cost: one or two runs of the method; finding the candidates takes an audit of the bare table, and the draft
another one.

References: Serpell, Smith, Clark & Staggemeier (2011, section 3.6; 2013, sections 2 to 4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from cellveil.arrays import Bool
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.deviations.witness import Witnesses
from cellveil.judge.exposure import ALGORITHMS, candidates
from cellveil.judge.outsider import audit_outsider
from cellveil.params import Params, param
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.progress import Progress
from cellveil.suppression.draft import Draft
from cellveil.suppression.presolve.preselection import MODES, eased

Method = Callable[..., Draft]


@dataclass(frozen=True, kw_only=True)
class ProtectParams(Params):
    """Fewer demands to begin with."""

    protect: str = param(
        "all", "Which primaries to protect before all are audited.", choices=("all", *ALGORITHMS)
    )


@dataclass(frozen=True, kw_only=True)
class PreselectParams(Params):
    """Cells at no cost."""

    preselect: str = param("none", "Cells that will be hidden anyway and cost nothing.", choices=MODES)


@dataclass(frozen=True, kw_only=True)
class PreparationParams(PreselectParams, ProtectParams):
    """Both."""


def prepared(method: Method) -> Method:
    """The method after what its parameters `protect` and `preselect` ask for, where it has them."""

    def run(
        problem: Problem,
        *,
        deadline: Deadline = NO_LIMIT,
        seed: int = 0,
        progress: Progress | None = None,
        params: Params | None = None,
    ) -> Draft:
        protect, preselect = getattr(params, "protect", "all"), getattr(params, "preselect", "none")

        def draft_of(asked: Problem) -> Draft:
            return method(asked, deadline=deadline, seed=seed, progress=progress, params=params)

        offered = eased(problem, preselect)
        if protect == "all":
            return draft_of(offered)
        return _with_fewer(problem, offered, candidates(problem, protect, progress=progress), draft_of)

    run.__doc__ = method.__doc__
    return run


def _with_fewer(
    problem: Problem,
    offered: Problem,
    chosen: Bool,
    draft_of: Callable[[Problem], Draft],
) -> Draft:
    """The draft for the chosen primaries where the audit finds all protected, else the one for all."""
    figures = {"primaries protected": int((chosen & (problem.status == Status.PRIMARY)).sum())}
    first = draft_of(offered.only(chosen))
    num_lps = first.num_lps
    if not first.infeasible:
        pattern = Pattern.hiding(problem, first.hidden, "candidates")
        report = audit_outsider(problem, pattern, exact=False, claims=first.witnesses)
        num_lps += report.num_lps
        if report.is_safe:
            return replace(
                first,
                witnesses=Witnesses.proven_by(report.certificate),
                num_lps=num_lps,
                figures={**first.figures, **figures, "runs": 1},
            )
    again = draft_of(offered)
    return replace(again, num_lps=num_lps + again.num_lps, figures={**again.figures, **figures, "runs": 2})
