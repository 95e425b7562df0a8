"""Presolve: a suppression problem that falls into independent parts, and a draft put together from theirs.

A deviation moves cells that may be hidden, and relations tie their movements together. Where these cells fall
into components, a deviation is a sum of one deviation for each component, so every demand is met inside its
own: patterns and witnesses of the components make up those of the whole, and lower bounds add up. Tables
without a common cell are such components; so are those that only share cells which must be published.

How the parts are made depends on the problem alone. Small components go together, those without a demand into
no part at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.deviations.components import component_numbers
from cellveil.deviations.witness import Witnesses
from cellveil.params import Params, param
from cellveil.problem import LEVELS, Problem, Status
from cellveil.suppression.draft import Draft, MethodEnding
from cellveil.tables.restricted import restricted


@dataclass(frozen=True, kw_only=True)
class PartsParams(Params):
    """Parameters of the split into independent parts."""

    least_cells: int = param(
        200, "Cells that may be hidden, from which on independent ones are searched by themselves.", least=1
    )
    most: int = param(32, "Parts at most.", least=1)
    most_cells: int = param(3_000_000, "Cells up to which a table is looked through for parts.", least=0)


@dataclass(frozen=True, eq=False)
class IndependentPart:
    """Some cells as a problem of their own.

    Parameters
    ----------
    problem
        Of these cells. Those that other parts are about must be published here.
    cells
        Their numbers in the whole, ascending.
    """

    problem: Problem
    cells: Int

    @property
    def size(self) -> int:
        """How many of its cells may be hidden."""
        return int((self.problem.status != Status.FROZEN).sum())


def whole_part(problem: Problem) -> IndependentPart:
    """The problem as the only part."""
    everything = np.arange(problem.table.num_cells)
    return IndependentPart(_part_of(problem, everything, problem.status != Status.FROZEN), everything)


def parts_of(problem: Problem, params: PartsParams | None = None) -> list[IndependentPart]:
    """The independent parts of a problem, by size; none where there are no several that are worth it.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> problem = two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
    >>> parts_of(problem, PartsParams(least_cells=1))
    []
    """
    params = params or PartsParams()
    if problem.table.num_cells > params.most_cells:
        return []
    component = component_numbers(problem.table.relations, problem.status != Status.FROZEN)
    bundles = _bundles(component, np.unique(component[problem.primaries]), params)
    if not bundles:
        return []
    tied = component_numbers(problem.table.relations, np.ones(problem.table.num_cells, dtype=bool))
    parts = []
    for bundle in bundles:
        own = np.isin(component, bundle)
        cells = np.flatnonzero(np.isin(tied, tied[own]))
        parts.append(IndependentPart(_part_of(problem, cells, own), cells))
    return sorted(parts, key=lambda part: part.size)


def _bundles(component: Int, asked: Int, params: PartsParams) -> list[list[int]]:
    """Components with demands in as many bundles as pay: the largest first, each to the smallest bundle."""
    sizes = np.bincount(component[component >= 0], minlength=1)[asked]
    number = min(params.most, len(asked), int(sizes.sum()) // params.least_cells)
    while number > 1:
        bundles: list[list[int]] = [[] for _ in range(number)]
        loads = [0] * number
        for place in np.argsort(-sizes, kind="stable").tolist():
            smallest = loads.index(min(loads))
            bundles[smallest].append(int(asked[place]))
            loads[smallest] += int(sizes[place])
        if min(loads) >= params.least_cells:
            return bundles
        number -= 1
    return []


def _part_of(problem: Problem, cells: Int, own: Bool) -> Problem:
    """The problem of some cells, of which only its own may be hidden."""
    kept = own[cells]
    lpl, upl, spl = (np.where(kept, getattr(problem, name)[cells], 0) for name in LEVELS)
    return Problem(
        restricted(problem.table, cells),
        status=np.where(kept, problem.status[cells], Status.FROZEN).astype(np.int8),
        weight=problem.weight[cells],
        lb=problem.lb[cells],
        ub=problem.ub[cells],
        lpl=lpl,
        upl=upl,
        spl=spl,
    )


def put_together(problem: Problem, parts: Sequence[IndependentPart], drafts: Sequence[Draft]) -> Draft:
    """The draft of the whole from those of its parts."""
    hidden, hurried = problem.hidden_at_start.copy(), np.zeros(problem.table.num_cells, dtype=bool)
    bounds = [draft.lower_bound for draft in drafts]
    figures: Counter[str] = Counter()
    for part, draft in zip(parts, drafts, strict=True):
        hidden[part.cells] |= draft.hidden
        if draft.hurried is not None:
            hurried[part.cells] |= draft.hurried
        figures.update(draft.figures)
    return Draft(
        hidden,
        reason=_worst([draft.reason for draft in drafts]),
        infeasible=[
            replace(demand, cell=int(part.cells[demand.cell]))
            for part, draft in zip(parts, drafts, strict=True)
            for demand in draft.infeasible
        ],
        lower_bound=None if None in bounds else float(sum(bound or 0.0 for bound in bounds)),
        num_lps=sum(draft.num_lps for draft in drafts),
        witnesses=Witnesses.joined(
            [
                replace(draft.witnesses, cells=part.cells[draft.witnesses.cells])
                for part, draft in zip(parts, drafts, strict=True)
            ]
        ),
        hurried=hurried if hurried.any() else None,
        figures=dict(figures),
    )


def _worst(reasons: Sequence[MethodEnding]) -> MethodEnding:
    """Why the search as a whole stopped: an interrupt before lack of time before anything else."""
    ranked = sorted(
        reasons, key=lambda why: (why.is_interrupt, why.is_lack_of_time, why != MethodEnding.COMPLETE)
    )
    return ranked[-1]
