"""Growing a pattern by splitting: demands that carry the cost one by one, the others together.

For one demand (cell p, direction, amount d) the cheapest deviation in the sense of

    min Σ c_j |y_j|   subject to   M y = 0,  −down ≤ y ≤ up,  y_p = ± d

is found by the splitting engine, with c_j = 0 for hidden cells. Its cost is then made to resemble the true
one, which is paid once for a cell however far it moves, by *slope rounds*: c_j = w_j / (|y_j| + ε d) with
falling ε. What moves is hidden. For many demands at once the amounts become goals with a reward: inside what
is hidden, free of cost (`harvest`), or at slope costs (`protect_together`).

A float is not a proof: each deviation is brought onto what is hidden (`_settled`), made exact by the lattice
of the hidden cells, and only then written into the book. A demand whose deviation does not come out exact
stays open, and comes up again with what it lacked at a price.

Requires any relations. Ensures that what the book holds is exact. Does not ensure that no demand stays open.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cellveil.attack.lattice import Lattice
from cellveil.problem import Status
from cellveil.solvers.projection import Projection, projection_of
from cellveil.solvers.splitting import Goals, Splitting, State
from cellveil.suppression.book import Book
from cellveil.tables.keys import Int

Float = NDArray[np.float64]
Bool = NDArray[np.bool_]

MARGIN = 1e-3
"""How much more than the amount is asked for, so that rounding does not bring it below."""

INNER = 1 - 1e-4
"""Deviations are looked for in this share of the rooms, for the same reason."""

FIRST_STEP = 0.005
SLOPES = (0.1, 0.01, 0.001)
ROUNDS = 4
SETTLINGS = 4
SETTLED = 1e-6
"""A deviation further off than this is not tried to be made exact."""

ITERATIONS = 2000


class Growth:
    """Adds to the pattern of a book what open demands need."""

    def __init__(self, book: Book, *, seed: int = 0, projection: Projection | None = None) -> None:
        problem = book.problem
        self.book, self.problem = book, problem
        self.projection = projection or projection_of(problem.table)
        self.engine = Splitting(self.projection)
        self.rng = np.random.default_rng(seed)
        movable = problem.status != Status.FROZEN
        self._movable = movable
        self._down = np.where(movable, np.minimum(problem.down, 2.0**52), 0.0)
        self._up = np.where(movable, np.minimum(problem.up, 2.0**52), 0.0)
        weight = problem.weight[movable & ~problem.hidden_at_start]
        positive = weight[weight > 0]
        self._unit = float(np.median(positive)) if len(positive) else 1.0
        self._lattice: Lattice | None = None

    # -- one demand ----------------------------------------------------------------------------------------

    def protect(self, cell: int, up: bool, amount: int) -> bool:
        """Hide what the demand needs; tells whether it was met, exactly."""
        sign = 1.0 if up else -1.0
        down, up_room = self._down / amount, self._up / amount
        low, high = -down * INNER, up_room * INNER
        low[cell] = high[cell] = sign * (1 + MARGIN)
        if not -down[cell] <= sign <= up_room[cell]:
            return False
        if abs(low[cell]) > (up_room if up else down)[cell]:
            low[cell] = high[cell] = sign
        state = self.engine.start(FIRST_STEP)
        for _ in range(ROUNDS):
            state = self._cheapest(state, low, high, amount)
            self._hide_moved()
            inside = np.where(self.book.hidden, 1.0, 0.0)
            y, error = self._settled(state, low * inside, high * inside)
            if error < SETTLED and self._write(y * amount):
                witness = self.book.witness_up if up else self.book.witness_down
                if witness[cell] >= 0:
                    return True
        return False

    def _cheapest(self, state: State, low: Float, high: Float, amount: int) -> State:
        """The deviation of least cost, in units of the amount, and then of least slope cost."""
        free = self.book.hidden | ~self._movable
        weight = np.where(free, 0.0, self.problem.weight / self._unit)
        tiny = 1e-4 * self.rng.random(len(weight))
        room = np.clip(self._down / amount, 1e-9, 1.0)
        bounds = self._placed(low), self._placed(high)
        costs = self._placed(weight + tiny), self._placed(weight / room + tiny)
        state = self.engine.run(state, costs, bounds, Goals.none(), tolerance=1e-3, max_iterations=ITERATIONS)
        for slope in SLOPES:
            cost = self._placed(weight / (np.abs(state.z[self.projection.places]) + slope) + tiny)
            state = self.engine.run(
                state,
                (cost, cost),
                bounds,
                Goals.none(),
                tolerance=1e-3 if slope > SLOPES[-1] else 1e-5,
                max_iterations=ITERATIONS,
            )
        return state

    def _hide_moved(self) -> None:
        moved = np.abs(self.engine.sparse_point[self.projection.places]) > 1e-9
        new = np.flatnonzero(moved & self._movable & ~self.book.hidden)
        if len(new):
            self.book.hide(new)
            self._lattice = None

    # -- many demands --------------------------------------------------------------------------------------

    def harvest(self, *, rounds: int = 8) -> int:
        """Meet open demands inside what is hidden; return how many were met."""
        before = self.book.num_open
        for _ in range(rounds):
            left = self.book.num_open
            for cells, signs, amounts in self._groups():
                self._together(cells, signs, amounts, paid=False)
            if self.book.num_open > 0.9 * left:
                break
        return before - self.book.num_open

    def protect_together(self) -> int:
        """Meet open demands at slope costs; return how many were met."""
        before = self.book.num_open
        for cells, signs, amounts in self._groups():
            self._together(cells, signs, amounts, paid=True)
        return before - self.book.num_open

    def _groups(self) -> list[tuple[Int, Float, Float]]:
        """Open demands of about the same size, each cell once, in a random direction; the largest first."""
        cells, up, amounts = self.book.open_demands()
        cells, first = np.unique(cells, return_index=True)
        signs = np.where(up[first], 1.0, -1.0)
        both = (self.book.need_up[cells] > 0) & (self.book.need_down[cells] > 0)
        both &= (self.book.witness_up[cells] < 0) & (self.book.witness_down[cells] < 0)
        signs = np.where(both, self.rng.choice([-1.0, 1.0], len(cells)), signs)
        amounts = np.where(signs > 0, self.book.need_up[cells], self.book.need_down[cells]).astype(float)
        size = np.floor(np.log10(np.maximum(amounts, 1)) / 1.5).astype(int)
        return [(cells[size == s], signs[size == s], amounts[size == s]) for s in np.unique(size)[::-1]]

    def _together(self, cells: Int, signs: Float, amounts: Float, *, paid: bool) -> None:
        largest = float(amounts.max())
        reach = 4 * largest
        symmetric = np.minimum(self._down, self._up)
        room = np.minimum(symmetric, reach) / largest * INNER
        hidden = self.book.hidden
        if not paid:
            room = np.where(hidden, room, 0.0)
        weight = np.where(hidden | ~self._movable, 0.0, self.problem.weight / self._unit)
        goals = Goals(
            self.projection.places[cells],
            signs * amounts * (1 + MARGIN) / largest,
            np.full(len(cells), 1.0 if not paid else 50.0 * float(weight.max(initial=1.0))),
        )
        zero = np.zeros(self.projection.size)
        bounds = self._placed(-room), self._placed(room)
        costs = (zero, zero)
        state = self.engine.start(0.05)
        if paid:
            for slope in (1.0, *SLOPES):
                moved = np.abs(state.z[self.projection.places])
                cost = self._placed(weight / (moved + slope))
                state = self.engine.run(
                    state, (cost, cost), bounds, goals, tolerance=1e-3, max_iterations=ITERATIONS
                )
            self._hide_moved()
            room = np.where(self.book.hidden, room, 0.0)
            bounds = self._placed(-room), self._placed(room)
        state = self.engine.run(state, costs, bounds, goals, tolerance=1e-4, max_iterations=ITERATIONS)
        self._write_those_there(state, cells, signs, amounts / largest, room, largest)

    def _write_those_there(
        self, state: State, cells: Int, signs: Float, amounts: Float, room: Float, unit: float
    ) -> None:
        """The demands that came far enough are to come there exactly; the others no longer matter."""
        wanted = amounts * (1 + 0.5 * MARGIN)
        there = signs * state.z[self.projection.places[cells]] >= wanted * (1 - 1e-6)
        for _ in range(SETTLINGS):
            if not there.any():
                return
            low, high = -room, room.copy()
            own, rising = cells[there], signs[there] > 0
            low[own] = np.where(rising, np.minimum(wanted[there], room[own]), low[own])
            high[own] = np.where(rising, high[own], np.maximum(-wanted[there], -room[own]))
            settled, error = self._settled(state, low, high)
            if error < SETTLED:
                self._write(settled * unit)
                return
            # Some stand in each other's way: go on with those that held their own.
            held = signs * settled[cells] >= wanted * (1 - 1e-9)
            there = there & held if (there & held).sum() < there.sum() else np.zeros_like(there)

    # -- exactness -----------------------------------------------------------------------------------------

    def _settled(self, state: State, low: Float, high: Float) -> tuple[Float, float]:
        """A deviation near the state that tends to the bounds, and how far off it is still."""
        zero = np.zeros(self.projection.size)
        start = State(state.z.copy(), np.zeros_like(state.u), state.step)
        state = self.engine.run(
            start, (zero, zero), (self._placed(low), self._placed(high)), Goals.none(),
            tolerance=1e-9, max_iterations=3 * ITERATIONS, may_stall=False,
        )  # fmt: skip
        return state.z[self.projection.places], state.error

    def _write(self, moved: Float) -> int:
        """Make a deviation exact and write it into the book; return how many demands it meets."""
        cells = np.flatnonzero(self.book.hidden)
        if self._lattice is None:
            roominess = np.minimum(self._down, self._up)[cells]
            self._lattice = Lattice(self.problem.table.relations, cells, roominess)
        witness = self._lattice.lift(moved[cells], self.book.room_down[cells], self.book.room_up[cells])
        return 0 if witness is None else self.book.add(witness, stretch=True)

    def _placed(self, column: Float) -> Float:
        """Figures of the cells at their places."""
        placed = np.zeros(self.projection.size)
        placed[self.projection.places] = column
        return placed
