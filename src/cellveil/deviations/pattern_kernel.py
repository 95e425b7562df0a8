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
from cellveil.deviations.kernel_basis import LARGEST, whole_null_space
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
        weight = (ledger.problem.weight * ~ledger.hidden)[cells]
        self._program = _Program(
            directions.astype(np.float64),
            self._rooms(moving, len(directions)),
            weight @ (basis[:, num_free:] != 0),
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

    def without(self, directions: Int) -> PatternKernel | None:
        """The deviations that leave these directions at rest, exactly; None where there are none.

        Columns at a price are not for it.
        """
        chosen = [int((self._number == direction).argmax()) for direction in directions.tolist()]
        combinations = whole_null_space(self._basis[chosen])
        if combinations is None or not combinations.size:
            return None
        sizes = np.abs(self._basis).astype(np.float64) @ np.abs(combinations).astype(np.float64)
        basis = self._basis @ combinations[:, sizes.max(axis=0) <= LARGEST]
        if not basis.size:
            return None
        basis //= np.gcd.reduce(basis, axis=0)
        return PatternKernel(self.ledger, self.cells, basis, basis.shape[1], self.params)

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

    Columns at a price, the last ones, are there twice, once for each sign.

    Parameters
    ----------
    price
        What the use of each of the last columns costs.
    """

    def __init__(self, directions: Float, limits: tuple[Float, Float], price: Float) -> None:
        from scipy.sparse import csc_matrix, hstack

        from cellveil.solvers.highs import HighsModel

        self._directions, self._limits = directions, limits
        count = directions.shape[1]
        self._num_free, self._count = count - len(price), count
        self._price = np.maximum(price / (float(price.max(initial=0.0)) or 1.0), SUPPORT)
        matrix = csc_matrix(directions)
        self._model = HighsModel(
            hstack([matrix, -matrix[:, self._num_free :]]).tocsc(),
            limits,
            np.zeros(count + len(price)),
            self._bounds(is_offered=False),
            presolve="off",
            primal_feasibility_tolerance=FEASIBILITY,
            dual_feasibility_tolerance=FEASIBILITY,
        )

    def give(self, columns: Int) -> None:
        """Ask for nothing any more."""
        self._price[columns[columns >= self._num_free] - self._num_free] = 0.0
        self._offer(False)

    def _offer(self, is_offered: bool) -> None:
        """Open the columns at a price, or close them."""
        if len(self._price):
            self._model.set_bounds(*self._bounds(is_offered=is_offered))

    def _bounds(self, *, is_offered: bool) -> tuple[Float, Float]:
        is_given = self._price == 0.0
        most = np.inf if is_offered else 0.0
        free = np.full(self._num_free, np.inf)
        upper = np.concatenate([free, np.where(is_given, np.inf, most), np.where(is_given, 0.0, most)])
        lower = np.concatenate([-free, np.where(is_given, -np.inf, 0.0), np.zeros(len(is_given))])
        return lower, upper

    def push(self, direction: int, wanted: float, enough: float, *, pays: bool) -> Float | None:
        """Coordinates that move the direction as far as wanted, and a little farther; None if none do."""
        from cellveil.solvers.highs import LPStatus

        low, high = float(self._limits[0][direction]), float(self._limits[1][direction])
        if not low <= wanted <= high:
            return None
        target = min(wanted * enough, high) if wanted > 0 else max(wanted * enough, low)
        if pays:
            self._offer(True)
            self._model.set_costs(np.concatenate([np.zeros(self._num_free), self._price, self._price]))
            self._model.set_row(direction, target, target)
        else:
            towards = -np.sign(wanted) * self._directions[direction]
            self._model.set_costs(np.concatenate([towards, -towards[self._num_free :]]))
            self._model.set_row(direction, *((low, target) if wanted > 0 else (target, high)))
        status = self._model.run()
        self._model.set_row(direction, low, high)
        if pays:
            self._offer(False)
        if status is not LPStatus.OPTIMAL:
            return None
        values = np.array(self._model.solution.col_value)
        point = values[: self._count]
        point[self._num_free :] -= values[self._count :]
        reached = float(self._directions[direction] @ point)
        return point if abs(reached) >= abs(wanted) * (1 - INTEGRALITY) else None
