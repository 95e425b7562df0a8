"""The cheapest deviation for one demand under a budget: a linear program over the cells that can be of use.

    min Σ w_j |y_j|   subject to   M y = 0,   y_t = ±d,   −down ≤ y ≤ up,

where hidden cells cost nothing, and published cells that weigh more than the budget stay as they are. Hidden
cells are one column each, without a cost, so that presolve takes most of them out; published ones are two,
for rises and falls. Room that is many times the amount counts as endless: hardly any such capacity binds, and
presolve eliminates free columns. The program of a trial has a fraction of the rows that one over all cells
has, and takes a twentieth of its time or less.

Requires any relations. Ensures nothing: the answer is a suggestion of what to hide, in floating point, and
whether that meets the demand is shown elsewhere.
"""

from __future__ import annotations

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.deviations.components import Component
from cellveil.deviations.ledger import Ledger
from cellveil.problem import Status
from cellveil.solvers.tolerances import REACH, SUPPORT
from cellveil.tables.relations import Relations

PARALLEL_COLUMNS = 1 << 13
"""The rule of HiGHS' presolve that is left out: where it merges free columns, postsolve prints a line."""


class BudgetedMovement:
    """Programs for single demands of a ledger.

    Parameters
    ----------
    relations
        Rows that span those of the table.
    roomy
        Room that counts as endless, in units of the amount that is asked for.
    """

    def __init__(self, ledger: Ledger, relations: Relations, roomy: float = np.inf) -> None:
        problem = ledger.problem
        self.ledger, self._roomy = ledger, roomy
        self._matrix = relations.matrix.tocsc()
        self._movable = problem.status != Status.FROZEN
        positive = problem.weight[problem.weight > 0]
        self._weight = problem.weight / (float(np.median(positive)) if len(positive) else 1.0)

    def push(
        self, cell: int, up: bool, amount: int, budget: float, deadline: Deadline = NO_LIMIT
    ) -> Int | None:
        """The cells that move; None where no deviation was found that spares cells dearer than the budget."""
        ledger = self.ledger
        if (ledger.room_up if up else ledger.room_down)[cell] < amount:
            return None
        is_of_use = self._movable & (ledger.hidden | (ledger.problem.weight <= budget))
        component = self._component(np.flatnonzero(is_of_use))
        cells = component.cells
        rooms = ledger.room_down[cells], ledger.room_up[cells]
        down, upper = (self._capacity(room / amount) for room in rooms)
        lower, target = -down, int(np.searchsorted(cells, cell))
        lower[target] = upper[target] = 1.0 if up else -1.0
        moved = self._cheapest(component, lower, upper, ledger.hidden[cells], deadline)
        return None if moved is None else cells[np.abs(moved) > SUPPORT]

    def _capacity(self, room: Float) -> Float:
        """Bounds of movements, in units of the amount."""
        return np.where(room >= self._roomy, np.inf, np.minimum(room, REACH))

    def _component(self, cells: Int) -> Component:
        matrix = self._matrix[:, cells].tocsr()
        rows = np.flatnonzero(np.diff(matrix.indptr))
        return Component(cells, rows, matrix[rows].tocsc())

    def _cheapest(
        self, component: Component, lower: Float, upper: Float, is_hidden: Bool, deadline: Deadline
    ) -> Float | None:
        from scipy.sparse import hstack

        from cellveil.solvers.highs import EdgeWeights, HighsModel, LPStatus

        cells, priced, count = component.cells, np.flatnonzero(~is_hidden), len(component.cells)
        zero = np.zeros(len(component.rows))
        weight = self._weight[cells]
        model = HighsModel(
            hstack([component.matrix, -component.matrix[:, priced]]).tocsc(),
            (zero, zero),
            np.concatenate([np.where(is_hidden, 0.0, weight), weight[priced]]),
            (
                np.concatenate([np.where(is_hidden, lower, 0.0), np.zeros(len(priced))]),
                np.concatenate([upper, -lower[priced]]),
            ),
            presolve="on",
            presolve_rule_off=PARALLEL_COLUMNS,
            simplex_dual_edge_weight_strategy=EdgeWeights.DEVEX.value,
        )
        if model.run(deadline) is not LPStatus.OPTIMAL:
            return None
        values = np.array(model.solution.col_value)
        moved = values[:count]
        moved[priced] -= values[count:]
        return moved
