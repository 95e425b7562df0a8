"""`textbook`: the incremental linear program on the whole table, as in the books: a yardstick.

For comparison: it has never been cheapest in our own figures, and `auto` does not use it.

Solves, for one demand (cell p, direction, amount d) after the other,

    min Σ c_i (y⁺_i + y⁻_i)   subject to   M (y⁺ − y⁻) = 0,   0 ≤ y⁺_i ≤ ub_i − a_i,   0 ≤ y⁻_i ≤ a_i − lb_i,
    y⁺_p = d, y⁻_p = 0  (upwards)   or   y⁻_p = d, y⁺_p = 0  (downwards)

with c_i the weight of cell i, or next to nothing once it is hidden, and hides every cell that moves. Demands
are taken in descending order unless another one is asked for. Each solution is harvested: it, and its
reversal where the capacities allow that, also settles every other demand it meets.

Requires any relations whatever; frozen cells do not move.
Ensures a pattern in which every demand had a witness in floating point; the audit decides whether it is safe.
Does not ensure the least cost: it minimises moved weight, not hidden weight, and never looks back.
Cost: at most one LP over the whole table per demand.

References: Kelly, Golden & Assad (1992); equations (1)–(8) of Serpell, Smith, Clark & Staggemeier (2011).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Int
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.deviations.demand import Demand, Demands
from cellveil.deviations.movement import Movement
from cellveil.deviations.movement_program import MovementParams, MovementProgram
from cellveil.params import param, part
from cellveil.problem import Problem, Status
from cellveil.progress import Progress
from cellveil.solvers.lp import LPAnswer, LPStatus
from cellveil.solvers.tolerances import ROUNDING
from cellveil.suppression.draft import Draft, MethodEnding
from cellveil.suppression.presolve.preparation import PreparationParams


@dataclass(frozen=True, kw_only=True)
class TextbookParams(PreparationParams):
    """Parameters of `textbook`."""

    harvest: bool = param(True, "Let a solution settle the other demands it meets.")
    order: str = param(
        "descending",
        "Which demands come first, by amount or as given.",
        choices=("descending", "ascending", "given"),
    )
    movement: MovementParams = part(MovementParams, slopes=())


def textbook(
    problem: Problem,
    *,
    deadline: Deadline = NO_LIMIT,
    seed: int = 0,
    progress: Progress | None = None,
    params: TextbookParams | None = None,
) -> Draft:
    """Protect all demands one after the other; see the head of the module."""
    params, progress = params or TextbookParams(), progress or Progress()
    progress.stage("textbook")
    demands, draft = Demands(problem), Draft(problem.hidden_at_start.copy())
    movable = problem.status != Status.FROZEN
    movement = Movement(
        problem.table.relations, movable, problem.weight, deadline=deadline, params=params.movement, live=1
    )
    for component in movement.components:
        while queue := demands.of(component.cells):  # again where a sliding level was shifted
            program = movement.program(queue[0].cell)
            assert program is not None
            for demand in filter(demands.is_open, _in_order(queue, params.order)):
                if deadline.is_over:
                    _give_up(component.cells, demands, draft, MethodEnding.REST_HIDDEN)
                    break
                _protect(program, demand, demands, draft, deadline, params.harvest)
                hidden = int(draft.hidden.sum())
                progress.advance(demands.total - demands.left, demands.total, hidden=hidden)
    draft.num_lps = movement.num_lps
    return draft


def _in_order(queue: list[Demand], order: str) -> list[Demand]:
    """The demands, of which the largest stand first, in another order."""
    if order == "given":
        return sorted(queue, key=lambda demand: (demand.cell, not demand.up))
    return queue if order == "descending" else queue[::-1]


def _protect(
    program: MovementProgram,
    demand: Demand,
    demands: Demands,
    draft: Draft,
    deadline: Deadline,
    harvest: bool,
) -> None:
    """Hide what the cheapest deviation for the demand needs, and harvest it."""
    cells, column, amount = program.cells, program.column(demand.cell), demand.amount
    down, up = (room[cells] for room in demands.rooms)
    answer = LPAnswer(LPStatus.INFEASIBLE)
    if (up if demand.up else down)[column] >= amount:
        lower, upper = -down, up.copy()
        lower[column] = upper[column] = amount if demand.up else -amount
        answer = program.cheapest(lower, upper, amount, draft.hidden[cells], deadline=deadline)
    if answer.status is LPStatus.INFEASIBLE:
        far = program.farthest(column, demand.up, -down, up, amount, deadline=deadline)
        reached = 0 if far.point is None else math.floor(far.objective * amount + ROUNDING)
        if not demands.retreat(demand, reached):
            draft.infeasible.append(demand)
            demands.settle(demand)
    elif answer.point is None:
        _give_up(cells, demands, draft, MethodEnding.UNCLEAR)
    else:
        draft.hidden[cells[answer.point != 0]] = True
        demands.settle(demand)
        if harvest:
            demands.harvest(cells, answer.point, down, up)


def _give_up(cells: Int, demands: Demands, draft: Draft, reason: MethodEnding) -> None:
    """Hide everything movable, which protects whatever can be protected at all."""
    new = np.zeros_like(draft.hidden)
    new[cells] = ~draft.hidden[cells]
    if reason is MethodEnding.REST_HIDDEN:
        draft.add_hurried(new)
    draft.hidden |= new
    draft.reason = reason
    for demand in demands.of(cells):
        demands.settle(demand)
