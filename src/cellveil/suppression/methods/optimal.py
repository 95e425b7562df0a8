"""`optimal`: the cheapest safe pattern, proven; or the best one found, with a bound.

Solves, for each part of the table that hangs together,

    min Σ w_i x_i   over x in {0, 1},  x_i = 1 where hidden at the start,
    such that every demand has a deviation y with M y = 0,  −down_i x_i ≤ y_i ≤ up_i x_i  that meets it,

without the y: what they imply for x are capacity cuts (`exact.capacity_cuts`), separated when they are
violated. Cells that every deviation moves alike are one cell (`presolve.merge_ties`), unless the table is a
network. All parts are prepared first, then searched, by the stages of two plans:

- *preparing*: the relaxation with cuts until they gain no more (`exact.relaxation`), and patterns to start
  from (`exact.primal_heuristics`). A pattern that is known already is judged first: the cheaper the
  incumbent, the more cells reduced costs fix.
- *searching*: the integer program of the cuts that matter, solved by itself, at first roughly; its optimum is
  judged, after exchanges that make it cheaper (`solvers.exchange_descent`), and it is solved again with the
  cuts that it violates. Where the gap is still large, a first search and local branching. Last, branch and
  cut with SCIP: fractional points are cut off, whole ones are judged exactly, points in between give new
  patterns by rounding and repair.

Requires any relations; in practice some hundred cells in three dimensions, some thousand in two.
Ensures that the pattern is safe: every demand has an exact deviation inside it, which is handed over. Ensures
that `lower_bound` is below the cost of every safe pattern: the cuts are exact, the search rests on SCIP's
arithmetic, of which `INTEGRALITY` is taken off where it was cut short. Where it ran to its end and no pattern
was unclear, the cost itself is the bound.
Does not ensure an end within any time: at a time limit, or an interrupt, the best pattern so far comes back.

References: Fischetti & Salazar (1999) for two-way tables, (2000, 2001) for any relations; Kelly, Golden &
Assad (1992) for the model with the deviations in it: equations (4) to (6) and (10) to (13) of Zhang, Chen,
Cheng & Jacobsen, *Overview of Cell Suppression Methods*.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Bool
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.deviations.witness import Witness, Witnesses
from cellveil.params import param
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.suppression.draft import Draft, MethodEnding
from cellveil.suppression.engines.flow_search import Networks
from cellveil.suppression.engines.stages import Stage, run_stages
from cellveil.suppression.exact.part_search import PartSearch, PartSearchParams
from cellveil.suppression.exact.parts import parts_of
from cellveil.suppression.presolve.merge_ties import merged
from cellveil.suppression.presolve.preparation import ProtectParams


@dataclass(frozen=True, kw_only=True)
class OptimalParams(ProtectParams, PartSearchParams):
    """Parameters of `optimal`; shares of the time stand in its plans."""

    preparing: float = param(0.25, "Share of the time before the search.", least=0, most=1)


Plan = tuple[Stage[PartSearch], ...]

PREPARING: Plan = (
    Stage("relaxation", 0.70, PartSearch.always, PartSearch.relax, is_needed=True),
    Stage("rounding", 0.25, PartSearch.always, PartSearch.round_point),
    Stage("pattern from nothing", 0.05, PartSearch.needs_start, PartSearch.start_afresh),
)
SEARCHING: Plan = (
    Stage("programs of cuts", 1.00, PartSearch.is_for_flows, PartSearch.solve_programs),
    Stage("programs of cuts", 0.06, PartSearch.is_for_programs, PartSearch.solve_programs),
    Stage("first branch and cut", 0.15, PartSearch.is_hard, PartSearch.branch_and_cut),
    Stage("relaxation again", 0.15, PartSearch.is_hard, PartSearch.relax),
    Stage("exchanges", 0.05, PartSearch.is_hard, PartSearch.exchange),
    Stage("local branching", 0.30, PartSearch.is_hard, PartSearch.look_around),
    Stage("programs of cuts again", 0.15, PartSearch.is_nearly_solved, PartSearch.solve_programs),
    Stage("branch and cut", 0.35, PartSearch.always, PartSearch.branch_and_cut),
)
PLANS: Mapping[str, Plan] = {"preparing": PREPARING, "searching": SEARCHING}
"""The plans of `optimal`, for each part."""


def optimal(
    problem: Problem,
    *,
    deadline: Deadline = NO_LIMIT,
    seed: int = 0,
    progress: Progress | None = None,
    params: OptimalParams | None = None,
    start: Bool | None = None,
) -> Draft:
    """Find the cheapest safe pattern; see the head of the module.

    Parameters
    ----------
    start
        Which cells are hidden in a pattern that is known; it counts in parts where it is found safe.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> problem = two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
    >>> draft = optimal(problem)
    >>> draft.lower_bound, float(problem.weight[draft.hidden & ~problem.hidden_at_start].sum())
    (39.0, 39.0)
    """
    params, progress = params or OptimalParams(), progress or Progress()
    progress.stage("optimal")
    tied = None if Networks.of(problem).rest() is None else merged(problem)
    if tied is None:
        return _by_parts(problem, deadline, seed, progress, params, start)
    folded = None if start is None else tied.fold(start)
    return tied.unfold(_by_parts(tied.problem, deadline, seed, progress, params, folded))


def _by_parts(
    problem: Problem,
    deadline: Deadline,
    seed: int,
    progress: Progress,
    params: OptimalParams,
    start: Bool | None,
) -> Draft:
    parts, stuck = parts_of(problem)
    if stuck:
        return Draft(problem.hidden_at_start.copy(), infeasible=stuck)
    searches = [PartSearch(problem, each, deadline, seed, progress, params) for each in parts]
    if infeasible := [demand for each in searches for demand in each.impossible()]:
        return Draft(problem.hidden_at_start.copy(), infeasible=infeasible)
    was_interrupted = False
    try:
        if start is not None:
            for each in searches:
                each.begin_with(start)
        for plan, share in ((PREPARING, params.preparing), (SEARCHING, 1.0)):
            for left, each in zip(range(len(parts), 0, -1), sorted(searches, key=len), strict=True):
                each.begin(deadline.share(share / left))
                run_stages(plan, each, each.deadline, progress)
    except KeyboardInterrupt:
        was_interrupted = True
    return _together(problem, searches, was_interrupted)


def _together(problem: Problem, searches: Sequence[PartSearch], was_interrupted: bool) -> Draft:
    hidden, hurried = problem.hidden_at_start.copy(), np.zeros_like(problem.hidden_at_start)
    witnesses: list[Witness] = []
    endings = []
    for each in searches:
        cells = each.part.component.cells
        hidden[cells[each.best.hidden]] = True
        witnesses += each.best.witnesses
        is_cut = was_interrupted and not each.is_done
        endings.append(MethodEnding.INTERRUPTED if is_cut else each.ending)
        if each.is_as_at_first and endings[-1] is MethodEnding.TIME_LIMIT:
            hurried[cells[each.best.hidden & ~each.part.held]] = True
    return Draft(
        hidden,
        reason=next((each for each in endings if each is not MethodEnding.COMPLETE), MethodEnding.COMPLETE),
        lower_bound=math.fsum(each.bound for each in searches),
        num_lps=sum(each.separation.num_attacks for each in searches),
        witnesses=Witnesses.of(witnesses),
        hurried=hurried if hurried.any() else None,
        figures={
            "nodes": sum(each.nodes for each in searches),
            "rows": sum(len(each.separation.pool) for each in searches),
        },
    )
