"""The null space of a pattern: deviations of the hidden cells in few coordinates, and programs over these.

A good pattern leaves few degrees of freedom: the deviations of its cells are y = K z with a whole matrix K of
some dozens of columns. Cells whose rows of K are multiples of each other are one *direction*, with the
tightest of their capacities. So a linear program for one demand has as many variables as coordinates, and one
row for each direction: a hundredth of a second where a program over all cells takes one or ten.

Further columns can be held ready at a *price*: deviations that move published cells. Where the pattern does
not meet a demand, the cheapest of them that do are bought, and what they move is hidden.

Requires whole deviations as columns, wherever they come from. Ensures that every witness is exact: z is
rounded to whole numbers, or on a fine grid, so that y is whole but for a common denominator, and fits the
capacities in whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Float, Int
from cellveil.clock import Deadline
from cellveil.deviations.integer_kernel import fitting_denominator
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.movement_program import ENDLESS
from cellveil.deviations.witness import Witness
from cellveil.params import Params, param
from cellveil.solvers.tolerances import FEASIBILITY, INTEGRALITY, SUPPORT

GRID_BITS = 58
"""Numerators of a deviation take so many bits at most."""


@dataclass(frozen=True, kw_only=True)
class PatternKernelParams(Params):
    """Parameters of programs in the null space of a pattern."""

    enough: float = param(1.00001, "How much of an amount is asked for: leaves space for rounding.", least=1)
    reach: float = param(1e4, "Largest movement of a direction, in units of the largest amount.", least=1)


class PatternKernel:
    """The deviations that some whole ones span.

    Parameters
    ----------
    ledger
        Pattern, capacities and demands; witnesses are written into it.
    cells, basis
        The cells, and the matrix K with a row for each.
    num_free
        So many columns, the first ones, move hidden cells only; the others have a price.
    """

    def __init__(
        self, ledger: Ledger, cells: Int, basis: Int, num_free: int, params: PatternKernelParams | None = None
    ) -> None:
        self.ledger, self.params, self.cells, self._basis = (
            ledger,
            params or PatternKernelParams(),
            cells,
            basis,
        )
        self._place = np.full(len(ledger.hidden), -1, dtype=np.int64)
        self._place[cells] = np.arange(len(cells))
        size = np.gcd.reduce(basis, axis=1)
        first = basis[np.arange(len(basis)), (basis != 0).argmax(axis=1)]
        self._factor = size * np.sign(first)
        moving = np.flatnonzero(size)
        directions, number = np.unique(
            basis[moving] // self._factor[moving, None], axis=0, return_inverse=True
        )
        self._number = np.full(len(basis), -1, dtype=np.int64)
        self._number[moving] = number.ravel()
        self._program = _Program(directions.astype(np.float64), self._rooms(moving, len(directions)))
        price = ledger.problem.weight * ~ledger.hidden
        self._program.ask_price(
            np.arange(num_free, basis.shape[1]), price[cells] @ (basis[:, num_free:] != 0)
        )

    @property
    def num_coordinates(self) -> int:
        """Degrees of freedom, those at a price as well."""
        return int(self._basis.shape[1])

    def _rooms(self, moving: Int, count: int) -> tuple[Float, Float]:
        """Least and most of each direction."""
        number, factor, cells = self._number[moving], self._factor[moving], self.cells[moving]
        rooms = (self.ledger.room_up, self.ledger.room_down)
        up, down = (room[cells] / np.abs(factor) for room in rooms)
        most = self.params.reach * float(max(self.ledger.need_up.max(), self.ledger.need_down.max(), 1))
        low, high = np.full((2, count), most)
        np.minimum.at(high, number, np.where(factor > 0, up, down))
        np.minimum.at(low, number, np.where(factor > 0, down, up))
        return -low, high

    @property
    def direction_of(self) -> Int:
        """For each cell the number of its direction; −1 where nothing moves it."""
        return self._number

    def hold(self, directions: Int) -> None:
        """Let no deviation move these directions, until they are released."""
        for direction in directions.tolist():
            self._program.hold(direction)

    def release(self, directions: Int) -> None:
        """Let them move within their capacities again."""
        for direction in directions.tolist():
            self._program.release(direction)

    def meet_one(self, cell: int, up: bool, amount: int) -> bool:
        """Write a witness for one open demand into the ledger; tells whether there is one."""
        return self._ask(cell, up, amount, pays=False)

    def meet(self, deadline: Deadline = ENDLESS) -> None:
        """Write witnesses for open demands into the ledger, as far as there are any in the pattern."""
        for cell, up, amount in zip(*(each.tolist() for each in self.ledger.open_demands()), strict=True):
            if deadline.is_over:
                return
            if self.ledger.is_open(cell, up):
                self.meet_one(cell, up, amount)

    def buy(self, cell: int, up: bool, amount: int) -> bool:
        """Hide what the cheapest deviation for an open demand moves, and write it down; tells if it does."""
        return self._ask(cell, up, amount, pays=True)

    def _ask(self, cell: int, up: bool, amount: int, *, pays: bool) -> bool:
        place = int(self._place[cell])
        if place < 0 or self._number[place] < 0:
            return False
        wanted = (amount if up else -amount) / float(self._factor[place])
        point = self._program.push(int(self._number[place]), wanted, self.params.enough, pays=pays)
        if point is None:
            return False
        if pays:
            bought = np.flatnonzero(np.abs(point) > SUPPORT)
            moved = self.cells[(self._basis[:, bought] != 0).any(axis=1)]
            self.ledger.hide(moved[~self.ledger.hidden[moved]])
            self._program.give(bought)
        self._note(point)
        return not self.ledger.is_open(cell, up)

    def _note(self, point: Float) -> None:
        """Write down the exact deviations next to y = K z."""
        whole = np.rint(point)
        if np.abs(point - whole).max() < INTEGRALITY * max(1.0, float(np.abs(point).max())):
            moved = self._basis @ whole.astype(np.int64)
            filled = np.flatnonzero(moved)
            if len(filled) and self.ledger.add(Witness(self.cells[filled], moved[filled], 1)):
                return
        witness = self._on_grid(point)
        if witness is not None:
            self.ledger.add(witness, stretch=True)

    def _on_grid(self, point: Float) -> Witness | None:
        """The deviation with z on a grid of 2^−bits, scaled down into the rooms by a hair."""
        point = np.where(np.abs(point) > SUPPORT, point, 0.0)
        size = float((np.abs(self._basis) @ np.abs(point)).max(initial=0.0))
        bits = GRID_BITS - int(np.ceil(np.log2(size + len(point) + 1)))
        if bits < 1:
            return None
        moved = self._basis @ np.rint(np.ldexp(point, bits)).astype(np.int64)
        filled = np.flatnonzero(moved)
        cells = self.cells[filled]
        rooms = self.ledger.room_down[cells], self.ledger.room_up[cells]
        denominator = fitting_denominator(moved[filled], 2**bits, *rooms)
        return None if denominator is None or not len(cells) else Witness(cells, moved[filled], denominator)


class _Program:
    """Coordinates that move a direction within the limits of all; rows stay, the objective changes.

    Columns at a price are there twice, once for each sign.
    """

    def __init__(self, directions: Float, limits: tuple[Float, Float]) -> None:
        from scipy.sparse import csr_matrix, hstack

        from cellveil.solvers.highs import HighsModel

        self._directions, self._limits = directions, limits
        self._is_held = np.zeros(len(directions), dtype=bool)
        count = directions.shape[1]
        self._price = np.zeros(count)
        free = np.full(count, np.inf)
        matrix = csr_matrix(directions)
        self._model = HighsModel(
            hstack([matrix, -matrix]).tocsc(),
            limits,
            np.zeros(2 * count),
            (np.concatenate([-free, np.zeros(count)]), np.concatenate([free, np.zeros(count)])),
            presolve="off",
            primal_feasibility_tolerance=FEASIBILITY,
            dual_feasibility_tolerance=FEASIBILITY,
        )

    def hold(self, direction: int) -> None:
        """Fix a direction at 0."""
        self._is_held[direction] = True
        self._model.set_row(direction, 0.0, 0.0)

    def release(self, direction: int) -> None:
        """Give it back its limits."""
        self._is_held[direction] = False
        self._model.set_row(direction, float(self._limits[0][direction]), float(self._limits[1][direction]))

    def ask_price(self, columns: Int, price: Float) -> None:
        """Set what the use of columns costs."""
        largest = float(price.max(initial=0.0)) or 1.0
        self._price[columns] = np.maximum(price / largest, SUPPORT)
        self._offer(False)

    def give(self, columns: Int) -> None:
        """Ask for nothing any more."""
        self._price[columns] = 0.0
        self._offer(False)

    def _offer(self, is_offered: bool) -> None:
        """Open the columns at a price, or close them."""
        is_free = self._price == 0.0
        most = np.inf if is_offered else 0.0
        upper = np.concatenate([np.where(is_free, np.inf, most), np.where(is_free, 0.0, most)])
        lower = np.concatenate([np.where(is_free, -np.inf, 0.0), np.zeros(len(is_free))])
        self._model.set_bounds(lower, upper)

    def push(self, direction: int, wanted: float, enough: float, *, pays: bool) -> Float | None:
        """Coordinates that move the direction as far as wanted, and a little farther; None if none do."""
        from cellveil.solvers.highs import LPStatus

        low, high = float(self._limits[0][direction]), float(self._limits[1][direction])
        if self._is_held[direction] or not low <= wanted <= high:
            return None
        target = min(wanted * enough, high) if wanted > 0 else max(wanted * enough, low)
        if pays:
            self._offer(True)
            self._model.set_costs(np.tile(self._price, 2))
            self._model.set_row(direction, target, target)
        else:
            towards = -np.sign(wanted) * self._directions[direction]
            self._model.set_costs(np.concatenate([towards, -towards]))
            self._model.set_row(direction, *((low, target) if wanted > 0 else (target, high)))
        status = self._model.run()
        self._model.set_row(direction, low, high)
        if pays:
            self._offer(False)
        if status is not LPStatus.OPTIMAL:
            return None
        values = np.array(self._model.solution.col_value)
        point = values[: len(self._price)] - values[len(self._price) :]
        reached = float(self._directions[direction] @ point)
        return point if abs(reached) >= abs(wanted) * (1 - INTEGRALITY) else None
