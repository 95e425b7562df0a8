"""How far a hidden cell can move: the live programs behind the outsider's attack, one for each component.

Tied cells (`deviations.ties`) are one. The *program of cells* has a column for each class of tied cells
and direction and a row for each relation,

    max ± y_p   subject to   M y = 0,  −down ≤ y ≤ up,

and also answers whether a cell can move by so much, with the others moving as little as needed. The *program
of coordinates* is for components with few degrees of freedom: every deviation is y = K z
(`cellveil.deviations.integer_kernel`), and the dual of

    max ± K_p z   subject to   −down ≤ K z ≤ up

has one row for each coordinate only. From question to question nothing but its right-hand side changes, so
that the last basis is a good start. In tables of several hierarchies that is far faster (hier13, all
2,020 cells hidden: 126 coordinates, 3,313 relations; 0.03 s for an end of an interval in place of 2.7 s).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from cellveil.arrays import Float
from cellveil.attack.windows import WindowSize
from cellveil.clock import Deadline
from cellveil.deviations.components import Component
from cellveil.deviations.integer_kernel import Lattice
from cellveil.deviations.ties import Ties
from cellveil.params import Params, param
from cellveil.solvers.lp import LiveLP, LPStatus, power_of_two_scale
from cellveil.solvers.tolerances import REACH, ROUNDING
from cellveil.tables.relations import Relations

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix, csr_matrix


@dataclass(frozen=True, kw_only=True)
class IntervalParams(Params):
    """Parameters of the programs of feasibility intervals."""

    most_tied: int = param(30_000, "Most cells of a component for ties and a null-space basis.", least=0)
    few: float = param(0.4, "Most degrees of freedom per relation for the program of coordinates.", least=0)
    windows: int = param(6, "Windows of components beyond `most_tied`, one larger than the other.", least=0)
    window: int = param(16, "Cells of each relation of a cell that its smallest window begins with.", least=1)
    tied: int = param(4096, "Most cells that tie a window together, for each number of relations.", least=1)
    narrow: int = param(3, "Windows without cells from all over the component.", least=0)

    def window_size(self, number: int) -> WindowSize:
        """The size of a window: wider and wider, then farther out, then with cells from all over."""
        width, step = self.window * 4**number, 2 ** max(number - self.narrow, 0)
        if number < self.narrow:
            return WindowSize(width, 4 * (number // 2), self.tied)
        return WindowSize(width, 2 * step, self.tied * step // 2, self.tied * step // 8)


@dataclass(frozen=True, eq=False)
class Moved:
    """An answer.

    Parameters
    ----------
    own
        How far the cell moves in the direction asked for; infinite where nothing stops it.
    cells
        How all cells of the component move; None where nothing was found to show.
    """

    own: float
    cells: Float | None = None


STUCK = Moved(0.0)


class Front(Protocol):
    """The live program of one component. Answers are None where the solver gave no clear one in time."""

    component: Component

    @property
    def sparing(self) -> CellFront:
        """The program that moves other cells as little as needed."""

    def farthest(self, cell: int, up: bool, deadline: Deadline) -> Moved | None:
        """The largest movement of the cell in a direction."""

    def by(self, cell: int, up: bool, wanted: float, deadline: Deadline) -> Moved | None:
        """A movement of the cell by `wanted` or more; by 0 where there is none."""

    def by_whole(self, cell: int, up: bool, wanted: float, deadline: Deadline) -> Moved | None:
        """The largest movement by whole units, with capacities cut at `REACH` times `wanted`."""


@dataclass(frozen=True, eq=False)
class ProgramBasis:
    """What the programs of a component are made of, whatever the rooms of its cells: worked out once.

    Parameters
    ----------
    ties
        Which cells move alike.
    coordinates
        The null-space basis; None where the program of cells is the fitting one.
    """

    ties: Ties
    coordinates: csr_matrix | None = None

    @classmethod
    def of(
        cls, relations: Relations, component: Component, params: IntervalParams | None = None
    ) -> ProgramBasis:
        """The basis of a component."""
        cells, params = component.cells, params or IntervalParams()
        lattice = Lattice(relations, cells, np.zeros(len(cells))) if len(cells) <= params.most_tied else None
        ties = None if lattice is None else Ties.in_lattice(lattice)
        if lattice is None or ties is None or not ties.num_classes:
            return cls(Ties.none(len(cells)))
        num_rows = _distinct_rows(component.matrix @ ties.spread).shape[0]
        if lattice.num_free <= params.few * num_rows and (found := lattice.basis()) is not None:
            return cls(ties, found[1])
        return cls(ties)

    def front(self, component: Component, up: Float, down: Float) -> Front:
        """The fitting program, with the rooms of the cells."""
        front = CellFront(component, self.ties, up, down)
        return front if self.coordinates is None else CoordinateFront(front, self.coordinates)


def front_of(
    relations: Relations, component: Component, up: Float, down: Float, params: IntervalParams | None = None
) -> Front:
    """The fitting program of a component, with the rooms of its cells."""
    return ProgramBasis.of(relations, component, params).front(component, up, down)


class CellFront:
    """The program of cells; its columns are how far each class rises, then how far each falls."""

    def __init__(self, component: Component, ties: Ties, up: Float, down: Float) -> None:
        self.component, self.ties, self.size = component, ties, ties.num_classes
        self.capacity = ties.tightest(np.maximum(up, 0.0), np.maximum(down, 0.0))
        self._spread = ties.spread
        self._members = np.tile(np.bincount(ties.number[ties.number >= 0]), 2).astype(np.float64)
        self._matrix = _distinct_rows(component.matrix @ self._spread)
        self._live: LiveLP | None = None
        self._costed = np.arange(2)
        self._is_whole = False  # whether the capacities are as given, and only `_costed` columns have costs

    def column(self, cell: int, up: bool) -> int | None:
        """Of the cell's movement in a direction; None where it cannot move."""
        place = int(np.searchsorted(self.component.cells, cell))
        number = int(self.ties.number[place])
        if number < 0:
            return None
        return number if up == (self.ties.sign[place] > 0) else number + self.size

    def answer(self, moved: Float, column: int, unit: float) -> Moved:
        """From the movements of the classes, in some unit."""
        own = moved[column] if column < self.size else -moved[column - self.size]
        return Moved(float(own) * unit, np.asarray(self._spread @ moved) * unit)

    @property
    def sparing(self) -> CellFront:
        """See `Front`."""
        return self

    @property
    def num_rows(self) -> int:
        """Relations between the classes."""
        return int(self._matrix.shape[0])

    @property
    def _lp(self) -> LiveLP:
        from scipy.sparse import hstack

        if self._live is None:
            both = hstack([self._matrix, -self._matrix]).tocsc()
            nothing = np.zeros(len(self.capacity))
            self._live = LiveLP(both, np.zeros(self.num_rows), nothing, self.capacity)
        return self._live

    def farthest(self, cell: int, up: bool, deadline: Deadline) -> Moved | None:
        """See `Front`."""
        column = self.column(cell, up)
        if column is None:
            return STUCK
        lp, unit = self._lp, power_of_two_scale(self.capacity)
        if not self._is_whole:
            lp.set_costs(np.zeros(2 * self.size))
            lp.set_bounds(np.zeros(2 * self.size), self.capacity / unit)
            self._is_whole, self._costed = True, np.arange(2)
        lp.set_costs(np.zeros(2), self._costed)
        self._costed = np.array([column, self._opposite(column)])
        lp.set_costs(np.array([-1.0, 1.0]), self._costed)
        answer = lp.solve(deadline)
        if answer.status is LPStatus.UNBOUNDED:
            return Moved(np.inf)
        return None if answer.point is None else self._net(answer.point, column, unit)

    def by(self, cell: int, up: bool, wanted: float, deadline: Deadline) -> Moved | None:
        """See `Front`: the others move as little as needed.

        In units of `wanted`, first with capacities cut at `REACH`. All costs are positive, so that the slack
        basis is optimal but for the cell that must move: much easier than to look for the farthest movement.
        """
        found = self._by(cell, up, wanted, REACH, deadline)
        return found if found is not None and found.own > 0 else self._by(cell, up, wanted, np.inf, deadline)

    def _by(self, cell: int, up: bool, wanted: float, reach: float, deadline: Deadline) -> Moved | None:
        column = self.column(cell, up)
        upper = np.minimum(self.capacity / wanted, reach)
        if column is None or upper[column] < 1.0:
            return STUCK
        lower = np.zeros(2 * self.size)
        lower[column] = upper[column] = 1.0
        upper[self._opposite(column)] = 0.0
        self._lp.set_costs(self._members)
        self._lp.set_bounds(lower, upper)
        self._is_whole = False
        answer = self._lp.solve(deadline, fresh=True)
        if answer.status is LPStatus.INFEASIBLE:
            return STUCK
        return None if answer.point is None else self._net(answer.point, column, wanted)

    def by_whole(self, cell: int, up: bool, wanted: float, deadline: Deadline) -> Moved | None:
        """See `Front`."""
        column = self.column(cell, up)
        if column is None:
            return STUCK
        upper = np.minimum(self.capacity, REACH * max(wanted, 1.0))
        upper[self._opposite(column)] = 0.0
        costs = np.zeros(2 * self.size)
        costs[column] = -1.0
        self._is_whole = False
        self._lp.set_bounds(np.zeros(2 * self.size), upper)
        self._lp.set_costs(costs)
        answer = self._lp.solve_whole(deadline)
        return None if answer.point is None else self._net(np.rint(answer.point), column, 1.0)

    def _opposite(self, column: int) -> int:
        return (column + self.size) % (2 * self.size)

    def _net(self, point: Float, column: int, unit: float) -> Moved:
        return self.answer(point[: self.size] - point[self.size :], column, unit)


class CoordinateFront:
    """The program of coordinates, beside that of cells."""

    def __init__(self, front: CellFront, basis: csr_matrix) -> None:
        from scipy.sparse import csc_matrix, hstack

        self.sparing, self.component = front, front.component
        _, first = np.unique(front.ties.number, return_index=True)
        self._basis = basis[first[len(first) - front.size :]]
        columns = csc_matrix(self._basis.T)
        self._unit = power_of_two_scale(front.capacity)
        limited = np.isfinite(front.capacity)
        self._is_limited = bool(limited.all())
        self._lp = LiveLP(
            hstack([columns, -columns]).tocsc(),
            np.zeros(columns.shape[0]),
            np.zeros(2 * front.size),
            np.where(limited, np.inf, 0.0),
        )
        self._lp.set_costs(np.where(limited, front.capacity, 0.0) / self._unit)

    def farthest(self, cell: int, up: bool, deadline: Deadline) -> Moved | None:
        """See `Front`: the dual prices of the coordinates are the coordinates of the movement."""
        front = self.sparing
        column = front.column(cell, up)
        if column is None:
            return STUCK
        line = self._basis[[column % front.size]].toarray().ravel()
        self._lp.set_rhs(line if column < front.size else -line)
        answer = self._lp.solve(deadline)
        if answer.status is LPStatus.INFEASIBLE and not self._is_limited:
            return Moved(np.inf)
        if answer.status is not LPStatus.OPTIMAL:
            return None
        return front.answer(self._basis @ self._lp.multipliers(), column, self._unit)

    def by(self, cell: int, up: bool, wanted: float, deadline: Deadline) -> Moved | None:
        """See `Front`: as far as it goes, if that is not endless."""
        found = self.farthest(cell, up, deadline)
        if found is None or np.isinf(found.own):
            return self.sparing.by(cell, up, wanted, deadline)
        return found if found.own >= wanted - ROUNDING else STUCK

    def by_whole(self, cell: int, up: bool, wanted: float, deadline: Deadline) -> Moved | None:
        """See `Front`."""
        return self.sparing.by_whole(cell, up, wanted, deadline)


def _distinct_rows(matrix: csc_matrix) -> csc_matrix:
    """The rows that are not 0, those that are alike up to the sign once; told by random prints of 64 bits."""
    rows = matrix.tocsr()
    rows.eliminate_zeros()
    drawn = np.random.default_rng(0).integers(-(2**63), 2**63, rows.shape[1])
    prints = rows.astype(np.int64) @ drawn
    filled = np.flatnonzero(np.diff(rows.indptr))
    _, first = np.unique(np.maximum(prints, -prints)[filled], return_index=True)
    return rows[np.sort(filled[first])].tocsc()
