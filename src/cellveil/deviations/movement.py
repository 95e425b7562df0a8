"""Can a cell move so far within given capacities? The question behind every attacker, one LP at a time."""

from __future__ import annotations

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.clock import counted_time
from cellveil.deviations.components import Component, split
from cellveil.deviations.exact_rounding import lift
from cellveil.deviations.witness import Witness
from cellveil.solvers import tolerances
from cellveil.solvers.lp import LiveLP
from cellveil.solvers.tolerances import REACH
from cellveil.tables.relations import Relations
from cellveil.tables.scaled import UNBOUNDED, unscale


class Movement:
    """Deviations of hidden cells under capacities that change from question to question.

    Amounts are whole numbers in any one unit: deviations may be scaled, so the unit does not matter.
    """

    def __init__(self, relations: Relations, hidden: Bool, time_limit: float | None = None) -> None:
        self.component_of, self._components = split(relations, hidden)
        self._deadline = None if time_limit is None else counted_time() + time_limit
        self._live: tuple[int, LiveLP] | None = None
        self.num_lps = 0
        self.unclear = 0

    def find(self, cell: int, amount: int, rooms: tuple[Int, Int], *, up: bool) -> Witness | None:
        """An exact deviation that moves the cell by `amount` at least; None where none was found.

        `unclear` counts the questions to which the solver gave no clear answer, or whose answer could not be
        made exact.
        """
        number = int(self.component_of[cell])
        if number < 0 or amount > _least(rooms, cell, up):
            return None
        component = self._components[number]
        down_room, up_room = (room[component.cells] for room in rooms)
        column = int(np.searchsorted(component.cells, cell))
        for reach in (REACH, np.inf):
            moved = self._solve(number, component, column, amount, (down_room, up_room), reach, up)
            if moved is None:
                return None
            if (moved[column] if up else -moved[column]) >= amount * (1 - tolerances.EQUAL):
                witness = lift(component, moved, down_room, up_room)
                if witness is not None and _moves(witness, cell, up) >= amount:
                    return witness
                self.unclear += 1
                return None
        return None

    def _solve(
        self,
        number: int,
        component: Component,
        column: int,
        amount: int,
        rooms: tuple[Int, Int],
        reach: float,
        up: bool,
    ) -> Float | None:
        """The farthest movement up to `amount`, with capacities cut at `reach` times that."""
        left = None if self._deadline is None else self._deadline - counted_time()
        if left is not None and left <= 0:
            self.unclear += 1
            return None
        lp, n = self._open(number, component), len(component.cells)
        capacity = np.concatenate([unscale(rooms[1], 0), unscale(rooms[0], 0)]) / amount
        capacity = np.minimum(np.maximum(capacity, 0.0), reach)
        target, opposite = (column, column + n) if up else (column + n, column)
        capacity[target], capacity[opposite] = min(capacity[target], 1.0), 0.0
        costs = np.zeros(2 * n)
        costs[target] = -1.0
        lp.set_costs(costs)
        lp.set_bounds(np.zeros(2 * n), capacity)
        answer = lp.solve(left, fresh=True)
        self.num_lps += 1
        if answer.point is None:
            self.unclear += 1
            return None
        moved: Float = (answer.point[:n] - answer.point[n:]) * amount
        return moved

    def _open(self, number: int, component: Component) -> LiveLP:
        from scipy.sparse import hstack

        if self._live is None or self._live[0] != number:
            n = len(component.cells)
            both = hstack([component.matrix, -component.matrix]).tocsc()
            lp = LiveLP(both, np.zeros(len(component.rows)), np.zeros(2 * n), np.zeros(2 * n))
            self._live = (number, lp)
        return self._live[1]


def _least(rooms: tuple[Int, Int], cell: int, up: bool) -> int:
    room = int(rooms[1 if up else 0][cell])
    return room if room != UNBOUNDED else 2**62


def _moves(witness: Witness, cell: int, up: bool) -> int:
    """How far the witness moves the cell, in whole units."""
    place = int(np.searchsorted(witness.cells, cell))
    if place == len(witness.cells) or witness.cells[place] != cell:
        return 0
    numerator = int(witness.numerators[place])
    return (numerator if up else -numerator) // witness.denominator
