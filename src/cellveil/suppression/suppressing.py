"""`suppress`: run a method, have its pattern judged, mend what the judge rejects, verify the certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cellveil.attackers.attacker import Attacker
from cellveil.clock import Deadline, Stopwatch
from cellveil.errors import InputError, nearest_name
from cellveil.judge import Audit, Verdict
from cellveil.judge.outsider import audit_outsider
from cellveil.params import Parameter, Params
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.progress import Progress, StageClock
from cellveil.solvers import tolerances
from cellveil.solvers.parallel import default_workers, using
from cellveil.suppression.bounds.cover import cover_bound
from cellveil.suppression.draft import Draft
from cellveil.suppression.infeasible.relaxing import Relaxation, diagnose, infeasibility, relaxed_like
from cellveil.suppression.methods.auto import AutoParams, auto
from cellveil.suppression.methods.cycles import CyclesParams, cycles
from cellveil.suppression.methods.elimination import EliminationParams, elimination
from cellveil.suppression.methods.genetic import GeneticParams, genetic
from cellveil.suppression.methods.grouped import GroupedParams, grouped
from cellveil.suppression.methods.hypercube import HypercubeParams, hypercube
from cellveil.suppression.methods.modular import ModularParams, modular
from cellveil.suppression.methods.network import NetworkParams, network
from cellveil.suppression.methods.optimal import OptimalParams, optimal
from cellveil.suppression.methods.sequential import SequentialParams, sequential
from cellveil.suppression.methods.textbook import TextbookParams, textbook
from cellveil.suppression.other_attackers.defence import Defence
from cellveil.suppression.other_attackers.outsider_shield import mended
from cellveil.suppression.presolve.preparation import Method, prepared
from cellveil.suppression.result import Outcome, Suppression

MENDING_ROUNDS = 3

METHOD_SHARE, DIAGNOSIS_SHARE, BOUND_SHARE = 0.5, 0.5, 0.5
"""Shares of the time left: for the method, where there are further attackers; for the diagnosis, where there
is no safe pattern; and for the bound, where the method has none."""

BOUND_SECONDS, MOST_BOUNDED_LATE = 30.0, 200_000
"""Seconds for that bound at most; and cells of a table up to which there is one even if time is up."""

REMEDY = "Give a longer time limit"
FASTER = ", or take the method hypercube, which is the fastest"


@dataclass(frozen=True)
class MethodEntry:
    """A line of the table of methods.

    Parameters
    ----------
    run
        Called with the problem and the keywords time_limit, seed, progress and params; proposes which cells
        to hide.
    params
        The class of its parameters.
    is_for_comparison
        Whether it is there to compare with, not to be recommended.
    """

    run: Method
    summary: str
    params: type[Params]
    is_for_comparison: bool = False

    @property
    def options(self) -> Mapping[str, Parameter]:
        """Its parameters by name; those of its engines as engine.name."""
        return self.params.described()

    def read(self, method: str, options: Mapping[str, object]) -> Params:
        """The parameters with the options that were given, checked."""
        try:
            return self.params().changed(options)
        except InputError as error:
            known = self.options
            name = next((name for name in options if name not in known), None)
            if name is None:
                raise
            remedy = nearest_name(name, list(known)) if known else "It takes no options."
            raise InputError(f"method {method!r} has no option {name!r}", remedy=remedy) from error


METHODS: Mapping[str, MethodEntry] = {
    "auto": MethodEntry(auto, "the best means for the table at hand, until the limit", AutoParams),
    "sequential": MethodEntry(
        prepared(sequential), "cheapest deviations, one demand after the other", SequentialParams
    ),
    "grouped": MethodEntry(
        prepared(grouped), "cheapest deviations for groups of primaries", GroupedParams, True
    ),
    "genetic": MethodEntry(
        prepared(genetic), "the best order of groups, by a genetic algorithm", GeneticParams, True
    ),
    "network": MethodEntry(prepared(network), "cheapest flows, for two-way tables", NetworkParams),
    "cycles": MethodEntry(cycles, "alternating cycles (Cox), for two-way tables", CyclesParams, True),
    "hypercube": MethodEntry(hypercube, "cubes: no solver, millions of cells", HypercubeParams),
    "modular": MethodEntry(
        modular, "subtable by subtable (HiTaS), then mended on the whole", ModularParams, True
    ),
    "elimination": MethodEntry(
        prepared(elimination),
        "from everything hidden, publishing what can be spared",
        EliminationParams,
        True,
    ),
    "optimal": MethodEntry(
        prepared(optimal), "branch and cut: the least cost, or how far off it can be", OptimalParams
    ),
    "textbook": MethodEntry(
        prepared(textbook), "the incremental program on the whole table: a yardstick", TextbookParams, True
    ),
}
"""The suppression methods; those for comparison have never been cheapest in our own figures."""


def suppress(
    problem: Problem,
    method: str = "auto",
    *,
    attackers: Sequence[Attacker] = (),
    time_limit: float | None = None,
    seed: int = 0,
    workers: int | None = None,
    relax: bool = False,
    options: Mapping[str, object] | None = None,
    params: Params | None = None,
    progress: Progress | None = None,
) -> Suppression:
    """Find a pattern that protects every primary cell, and have it judged.

    Parameters
    ----------
    method
        A name in `METHODS`.
    attackers
        Whom to keep off besides the outsider: see `cellveil.suppression.other_attackers.defence`.
    time_limit
        Seconds for everything but audit and verification; when they are over, the best that is safe is
        returned, and the reason says so. With other attackers one half is for the method, the rest for what
        they make necessary; insiders that could not be judged by then count as not kept off.
    seed
        For methods that draw random numbers.
    workers
        Threads of the search and processes of the audit, at most: two by default where there are two cores.
        The result does not depend on it.
    relax
        Where some primary cells cannot be protected whatever is hidden: take the cheapest way out (see
        `cellveil.suppression.infeasible.relaxing`), go on with the relaxed problem, and say so in the result.
    options
        Parameters of the method by name: those that its line in `METHODS` declares; engine.name for those of
        its engines.
    params
        The same as an object of the method's class of parameters.

    Raises
    ------
    InfeasibleError
        When some primary cells cannot be protected whatever is hidden, and nothing is to be relaxed or
        nothing helps. It names what stands in the way, and the cheapest way out.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> problem = two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
    >>> suppress(problem)
    Suppression('auto', optimal, Pattern('auto', 4 of 16 cells hidden))
    """
    if method not in METHODS:
        raise InputError(f"unknown method {method!r}", remedy=nearest_name(method, list(METHODS)))
    if time_limit is not None and not time_limit > 0:
        raise InputError("the time limit is not above 0", remedy="Give seconds, for example 60.")
    run = METHODS[method].run
    chosen = _chosen(method, options or {}, params)
    workers = default_workers() if workers is None else workers
    watch, deadline = Stopwatch(), Deadline(time_limit)
    defence = Defence(problem, attackers, seed=seed, progress=progress)
    share = deadline.share(METHOD_SHARE) if attackers else deadline
    with watch.time("suppress"), StageClock(progress, watch, "suppress") as observed, using(workers):
        draft = run(defence.basis, time_limit=share.left, seed=seed, progress=observed, params=chosen)
    if draft.infeasible:
        diagnosis = diagnose(
            defence.basis, time_limit=deadline.overtime().share(DIAGNOSIS_SHARE).left, seed=seed
        )
        if relax and diagnosis.relaxation is not None:
            left = deadline.overtime().left
            settings = {"time_limit": left, "seed": seed, "workers": workers, "progress": progress}
            return _relaxed(problem, diagnosis.relaxation, method, attackers, settings | {"params": chosen})
        cells = np.unique([demand.cell for demand in draft.infeasible])
        raise infeasibility(problem, cells, defence.basis_name, diagnosis)
    if draft.lower_bound is None and (not deadline.is_over or problem.table.num_cells <= MOST_BOUNDED_LATE):
        with watch.time("bound"):
            left = deadline.overtime().share(BOUND_SHARE).left
            seconds = BOUND_SECONDS if left is None else min(left, BOUND_SECONDS)
            bound = cover_bound(problem, time_limit=seconds).bound
            draft.lower_bound = bound if np.isfinite(bound) else None
    pattern = Pattern.hiding(problem, draft.hidden, method)
    with watch.time("audit"):
        report = audit_outsider(
            problem, pattern, exact=False, workers=workers, claims=draft.witnesses, progress=progress
        )
    for _ in range(MENDING_ROUNDS):
        if report.is_safe or not len(report.unsafe_cells):
            break
        with watch.time("suppress"):
            more = mended(
                problem,
                pattern.hidden,
                report.unsafe_cells,
                deadline.overtime().share(1 / MENDING_ROUNDS),
                seed=seed,
                progress=progress,
            )
        draft.add_hurried(more.hurried)
        pattern = Pattern.hiding(problem, more.hidden, method)
        with watch.time("audit"):
            report = audit_outsider(problem, pattern, exact=False, workers=workers, progress=progress)
    verdicts = []
    if attackers:
        with watch.time("attackers"):
            hidden = defence.strengthened(pattern.hidden, deadline, draft.witnesses)
            draft.add_hurried(defence.hurried(hidden))
            if impossible := defence.infeasible(hidden):
                raise infeasibility(problem, *impossible)
            pattern = Pattern.hiding(problem, hidden, method)
        with watch.time("audit"):
            verdicts = defence.verdicts(pattern)
            report = audit_outsider(
                problem, pattern, exact=False, workers=workers, claims=draft.witnesses, progress=progress
            )
        draft.num_lps += defence.num_lps
        draft.reason = defence.reason if draft.reason == "complete" else draft.reason
    with watch.time("verify"):
        standard = Verdict.of(Attacker(), problem, pattern, report)
        judged = Audit.of(problem, pattern, [standard, *verdicts])
    return _conclude(problem, pattern, judged, draft, watch, seed)


def _chosen(method: str, options: Mapping[str, object], params: Params | None) -> Params:
    """The parameters that are given, one way or the other."""
    entry = METHODS[method]
    if params is None:
        return entry.read(method, options)
    if options:
        raise InputError("both options and params are given", remedy="Give one of them.")
    if not isinstance(params, entry.params):
        raise InputError(
            f"method {method!r} takes no {type(params).__name__}", remedy=f"Give {entry.params.__name__}."
        )
    return params


def _relaxed(
    problem: Problem,
    relaxation: Relaxation,
    method: str,
    attackers: Sequence[Attacker],
    settings: dict[str, Any],
) -> Suppression:
    """The relaxed problem instead; the result says so."""
    relaxed = relaxed_like(problem, relaxation)
    found = suppress(relaxed, method, attackers=attackers, **settings)
    return replace(
        found,
        reason=f"{found.reason}; requirements relaxed: {relaxation}",
        relaxation=replace(relaxation, problem=relaxed),
    )


def _conclude(
    problem: Problem, pattern: Pattern, judged: Audit, draft: Draft, watch: Stopwatch, seed: int
) -> Suppression:
    secondary = pattern.hidden & (problem.status != Status.PRIMARY)
    cost = float(problem.weight[secondary].sum())
    bound = draft.lower_bound
    if bound is not None:  # it speaks of what a method adds; what is hidden at the start has its cost anyway
        bound += float(problem.weight[problem.status == Status.SECONDARY].sum())
    hurried = 0  # whoever interrupts a search did not run out of time
    if draft.hurried is not None and not draft.reason.startswith("interrupted"):
        hurried = int((draft.hurried & secondary).sum())
    outcome: Outcome = "safe" if judged.is_safe else "not_safe"
    # what is proven of the outsider's problem holds for the harder one against more attackers
    if judged.is_safe and bound is not None and cost <= bound * (1 + tolerances.EQUAL):
        outcome = "optimal"
    return Suppression(
        pattern=pattern,
        audit=judged,
        outcome=outcome,
        reason=_reason(
            draft.reason if judged.is_safe else _why_not_safe(judged, draft),
            draft.reason,
            hurried,
            pattern.method,
        ),
        cost=cost,
        lower_bound=bound,
        seconds=watch.seconds,
        seed=seed,
        num_lps=draft.num_lps + judged.num_lps,
        hidden_for_lack_of_time=hurried,
    )


def _reason(reason: str, of_draft: str, hurried: int, method: str) -> str:
    """What to say of how the run ended: first of all that time ran out, where it did and that matters."""
    remedy = REMEDY if method == "hypercube" else REMEDY + FASTER
    if hurried:
        cells = "1 cell is" if hurried == 1 else f"{hurried:,} cells are"
        what = f"time ran out: {cells} hidden only because there was no time for a cheaper pattern"
        return f"{what}. {remedy}" if reason == of_draft else f"{what}; {reason}. {remedy}"
    if reason != of_draft and of_draft.startswith("time limit"):
        return f"time ran out: {reason}. {remedy}"
    return reason


def _why_not_safe(judged: Audit, draft: Draft) -> str:
    """Who is not kept off, and why the audit ended."""
    stopped = "interrupted: " if draft.reason.startswith("interrupted") else ""
    others = [verdict for verdict in judged.verdicts if not verdict.is_safe]
    names = ", ".join(f"{verdict.attacker.words} ({verdict.report.reason})" for verdict in others)
    return f"{stopped}the audit found attackers that are not kept off: {names}"
