"""Incremental linear programs through windows: the cells near a demand, by what it costs to reach them.

The support of a deviation hangs together through relations. So what can be of use to one that costs at most C
are the cells at a distance of at most C from the demand's cell, where a step inside a relation costs the
weight of the cell it enters, and next to nothing if that is hidden: the ball of radius C (Dijkstra). The
window is the ball with a given number of cells. Where thousands of hidden cells hang together they would fill
it, and leave out published ones next to the demand; so steps cost more where there is no budget. In tables of
100,000 cells a program over some hundreds takes a hundredth of a second where one over all takes half a
second or more, and most cheapest deviations move a dozen.

Where a window does not do, wider ones follow, and at last the whole component; not in trials with a budget.

Requires any relations. Ensures exactness of what it writes into the ledger.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.deviations.components import Component
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.movement_program import Feasibility, MovementProgram
from cellveil.loops.windowed_demand import Incidence, ball
from cellveil.params import Params, param, part
from cellveil.problem import Status
from cellveil.suppression.engines.one_demand import OneDemand, OneDemandParams
from cellveil.tables.relations import Relations


@dataclass(frozen=True, kw_only=True)
class WindowParams(Params):
    """Parameters of programs through windows."""

    cells: tuple[int, ...] = param((400, 2_000, 10_000), "Cells of a window, the narrowest first.", least=2)
    trial_cells: int = param(400, "Cells of the window of a trial with a budget.", least=2)
    trial_step: float = param(
        0.01, "What a step costs besides in such a trial, as a share of the median weight.", least=0
    )
    step: float = param(0.3, "The same where there is no budget.", least=0)
    one_demand: OneDemandParams = part(OneDemandParams)


class Balls:
    """Windows of one table: the movable cells nearest to one; see the head of the module."""

    def __init__(self, relations: Relations, movable: Bool) -> None:
        count, entries = relations.num_cells, len(relations.cells) + 1
        columns = relations.columns
        self._space = Incidence(
            row_starts=relations.indptr,
            cells=relations.cells,
            cell_starts=columns.indptr,
            rows=columns.rows,
            movable=movable,
            distance=np.zeros(count),
            reached=np.zeros(count, dtype=np.int64),
            settled=np.zeros(count, dtype=np.int64),
            entered=np.zeros(len(relations), dtype=np.int64),
            heap_distance=np.zeros(entries),
            heap_cell=np.zeros(entries, dtype=np.int64),
            near=np.zeros(count, dtype=np.int64),
            stamp=np.zeros(1, dtype=np.int64),
        )

    def around(self, cell: int, price: Float, step: float, most: int, radius: float = math.inf) -> Int:
        """Up to so many cells within the radius, ascending; `price` is that of entering each of them."""
        count = ball(self._space, price, step, cell, most, radius)
        return np.sort(self._space.near[:count])


class WindowedDemand(OneDemand):
    """Protects single demands of a ledger by linear programs over the cells near them."""

    def __init__(self, ledger: Ledger, params: WindowParams | None = None) -> None:
        self._window_params = params or WindowParams()
        super().__init__(ledger, self._window_params.one_demand)
        problem = ledger.problem
        self._balls = Balls(problem.table.relations, problem.status != Status.FROZEN)
        self._matrix = problem.table.relations.matrix.tocsc()
        positive = problem.weight[problem.weight > 0]
        self._unit = float(np.median(positive)) if len(positive) else 1.0
        self._window_steps = 0

    @property
    def num_steps(self) -> int:
        """How many simplex steps the programs took."""
        return super().num_steps + self._window_steps

    def protect(
        self, cell: int, up: bool, deadline: Deadline = NO_LIMIT, budget: float = math.inf
    ) -> Feasibility:
        """See `OneDemand`."""
        ledger, params, is_trial = self.ledger, self._window_params, budget < math.inf
        price = np.where(ledger.hidden, 0.0, ledger.problem.weight)
        step = self._unit * (params.trial_step if is_trial else params.step)
        for most in (params.trial_cells,) if is_trial else params.cells:
            cells = self._balls.around(cell, price, step, most, budget)
            verdict = self._protect_inside(cells, cell, up, deadline, budget)
            if verdict is Feasibility.MET or len(cells) < most or deadline.is_over:
                return verdict
        return Feasibility.UNCLEAR if is_trial else super().protect(cell, up, deadline)

    def _protect_inside(
        self, cells: Int, cell: int, up: bool, deadline: Deadline, budget: float
    ) -> Feasibility:
        """The program over some cells; all others stay as they are."""
        matrix = self._matrix[:, cells].tocsr()
        rows = np.flatnonzero(np.diff(matrix.indptr))
        component = Component(cells, rows, matrix[rows].tocsc())
        program = MovementProgram(component, self.ledger.problem.weight[cells], self.params)
        verdict = self._protect(program, cell, up, deadline, budget)
        self._earlier_lps += program.num_lps
        self._window_steps += program.num_steps
        return verdict
