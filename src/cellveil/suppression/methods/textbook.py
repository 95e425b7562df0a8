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

from cellveil.arrays import Bool
from cellveil.clock import counted_time
from cellveil.deviations.components import Component, split
from cellveil.deviations.demand import Demand, Demands
from cellveil.params import param
from cellveil.problem import Problem, Status
from cellveil.progress import Progress
from cellveil.solvers.lp import LiveLP, LPAnswer, LPStatus
from cellveil.solvers.tolerances import REACH, ROUNDING, SUPPORT
from cellveil.suppression.draft import Draft
from cellveil.suppression.presolve.preparation import PreparationParams

NEARLY_FREE = 1e-5
"""Cost of a hidden cell: enough to keep deviations small, too little to prefer hiding another cell."""

WEIGHT_RANGE = 1e6
"""Weights above this multiple of the median are taken as equally forbidding."""


@dataclass(frozen=True, kw_only=True)
class TextbookParams(PreparationParams):
    """Parameters of `textbook`."""

    harvest: bool = param(True, "Let a solution settle the other demands it meets.")
    order: str = param(
        "descending",
        "Which demands come first, by amount or as given.",
        choices=("descending", "ascending", "given"),
    )


def textbook(
    problem: Problem,
    *,
    time_limit: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    params: TextbookParams | None = None,
) -> Draft:
    """Protect all demands one after the other; see the head of the module."""
    params = params or TextbookParams()
    deadline = None if time_limit is None else counted_time() + time_limit
    progress = progress or Progress()
    progress.stage("textbook")
    hidden = problem.hidden_at_start.copy()
    demands = Demands(problem)
    draft = Draft(hidden)
    _, components = split(problem.table.relations, problem.status != Status.FROZEN)
    for component in components:
        if not demands.of(component.cells):
            continue
        protector = _Protector(problem, component, hidden, params.harvest)
        while queue := demands.of(component.cells):  # again where a sliding level was shifted
            for demand in filter(demands.is_open, _in_order(queue, params.order)):
                left = None if deadline is None else deadline - counted_time()
                if left is not None and left <= 0:
                    protector.give_up(demands, draft, "time limit: the rest of the table was hidden whole")
                    break
                protector.protect(demand, demands, draft, left)
                progress.advance(demands.total - demands.left, demands.total, hidden=int(hidden.sum()))
        draft.num_lps += protector.lp.num_solves
    return draft


def _in_order(queue: list[Demand], order: str) -> list[Demand]:
    """The demands, of which the largest stand first, in another order."""
    if order == "given":
        return sorted(queue, key=lambda demand: (demand.cell, not demand.up))
    return queue if order == "descending" else queue[::-1]


class _Protector:
    """The live LP of one component of movable cells."""

    def __init__(self, problem: Problem, component: Component, hidden: Bool, harvest: bool) -> None:
        from scipy.sparse import hstack

        cells = component.cells
        self.cells, self.hidden, self.harvest = cells, hidden, harvest
        self.down, self.up = problem.down[cells], problem.up[cells]
        weight = problem.weight[cells]
        positive = weight[weight > 0]
        unit = float(np.median(positive)) if len(positive) else 1.0
        self.cost = np.clip(weight / unit, NEARLY_FREE, WEIGHT_RANGE)
        n, m = len(cells), len(component.rows)
        self.lp = LiveLP(
            hstack([component.matrix, -component.matrix]).tocsc(),
            np.zeros(m),
            np.zeros(2 * n),
            np.zeros(2 * n),
        )

    def protect(self, demand: Demand, demands: Demands, draft: Draft, time_limit: float | None) -> None:
        """Hide what the cheapest deviation for the demand needs, and harvest it."""
        answer = self._solve(demand, time_limit)
        if answer.status is LPStatus.INFEASIBLE:
            if not demands.retreat(demand, self._farthest(demand, time_limit)):
                draft.infeasible.append(demand)
                demands.settle(demand)
            return
        if answer.point is None:
            self.give_up(
                demands, draft, "a solve gave no clear answer: that part of the table was hidden whole"
            )
            return
        n = len(self.cells)
        relative = answer.point[:n] - answer.point[n:]
        self.hidden[self.cells[np.abs(relative) > SUPPORT]] = True
        demands.settle(demand)
        if not self.harvest:
            return
        deviation = np.where(np.abs(relative) > SUPPORT, relative, 0.0) * demand.amount
        demands.harvest(self.cells, deviation, self.down, self.up)

    def give_up(self, demands: Demands, draft: Draft, reason: str) -> None:
        """Hide everything movable, which protects whatever can be protected at all."""
        if reason.startswith("time limit"):
            new = np.zeros_like(self.hidden)
            new[self.cells] = ~self.hidden[self.cells]
            draft.add_hurried(new)
        self.hidden[self.cells] = True
        draft.reason = reason
        for demand in demands.of(self.cells):
            demands.settle(demand)

    def _farthest(self, demand: Demand, time_limit: float | None) -> int:
        """How far the cell can move in this direction if everything movable is hidden; less than asked."""
        n = len(self.cells)
        column = int(np.searchsorted(self.cells, demand.cell)) + (0 if demand.up else n)
        costs = np.zeros(2 * n)
        costs[[column, (column + n) % (2 * n)]] = -1.0, 1.0
        upper = np.concatenate([self.up, self.down]) / demand.amount
        upper[column] = min(upper[column], 1.0)
        self.lp.set_costs(costs)
        self.lp.set_bounds(np.zeros(2 * n), upper)
        answer = self.lp.solve(time_limit, fresh=True)
        return 0 if answer.point is None else math.floor(-answer.objective * demand.amount + ROUNDING)

    def _solve(self, demand: Demand, time_limit: float | None) -> LPAnswer:
        """In units of the demand, so that the cell moves by 1; with short reach first, then with all."""
        costs = np.where(self.hidden[self.cells], NEARLY_FREE, self.cost)
        self.lp.set_costs(np.concatenate([costs, costs]))
        target = int(np.searchsorted(self.cells, demand.cell))
        for reach in (REACH, np.inf):
            lower = np.zeros(2 * len(self.cells))
            upper = np.concatenate([self.up, self.down]) / demand.amount
            upper = np.minimum(upper, reach)
            plus, minus = target, target + len(self.cells)
            if (self.up if demand.up else self.down)[target] < demand.amount:
                return LPAnswer(LPStatus.INFEASIBLE)
            moving, resting = (plus, minus) if demand.up else (minus, plus)
            lower[moving] = upper[moving] = 1.0
            upper[resting] = 0.0
            self.lp.set_bounds(lower, upper)
            answer = self.lp.solve(time_limit, fresh=True)
            if answer.status is not LPStatus.INFEASIBLE:
                break
        return answer
