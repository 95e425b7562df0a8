"""Windows of a connected component: hidden cells near to one that lie in relations with each other.

A deviation of the cells of a window, all others standing still, is a deviation of the component. So a window
can show that a cell moves, at a small part of the price, and never that it does not.

A cell moves only if another one of each of its relations does. So a window begins with cells of the relations
of the one asked for, those that can move farthest; a larger one goes on with some of their relations, and
with cells from all over the component that can move farthest, such as hidden totals. Then come cells that tie
these together: those with two relations that the window holds already, then those with three, and so on. In
a table with dimensions that makes a subtable of some codes. Cells that are alone in a relation cannot move,
and are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cellveil.arrays import Float, Int
from cellveil.deviations.components import Component

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True)
class WindowSize:
    """How large a window is.

    Parameters
    ----------
    width
        Cells of each relation of the cell it is around.
    beyond
        Cells of each of their relations.
    tied
        Cells, at most, that tie these together by each number of relations.
    anywhere
        Cells from all over the component.
    """

    width: int
    beyond: int
    tied: int
    anywhere: int = 0


class Windows:
    """Windows of one component.

    Parameters
    ----------
    room
        How far each cell of the component can move.
    """

    def __init__(self, component: Component, room: Float) -> None:
        self.component, self._room = component, room

    @cached_property
    def _by_row(self) -> csr_matrix:
        return self.component.matrix.tocsr()

    @cached_property
    def _by_cell(self) -> csr_matrix:
        return self.component.matrix.T.tocsr()

    @cached_property
    def _by_room(self) -> tuple[Int, Int]:
        """The cells of each relation, those that can move farthest first, and where relations begin."""
        matrix = self._by_row
        row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        return matrix.indices[np.lexsort((-self._room[matrix.indices], row))], matrix.indptr

    @cached_property
    def _all_by_room(self) -> Int:
        return np.argsort(-self._room, kind="stable")

    @cached_property
    def _num_relations(self) -> Int:
        return np.asarray(np.diff(self._by_cell.indptr))

    def around(self, cell: int, size: WindowSize) -> Component:
        """The window of a size around a cell; empty where the cell cannot move in it."""
        own = int(np.searchsorted(self.component.cells, cell))
        near = self._farthest(self._farthest(np.array([own]), size.width), size.beyond)
        begin = np.union1d(near, self._all_by_room[: size.anywhere])
        inside, rows, matrix = self._movable(self._tied(begin, size.tied))
        if own not in inside:
            inside, rows, matrix = inside[:0], rows[:0], matrix[:0, :0]
        return Component(self.component.cells[inside], self.component.rows[rows], matrix.tocsc())

    def _farthest(self, inside: Int, number: int) -> Int:
        """Some cells, and of each of their relations so many that can move farthest; places, ascending."""
        cells, starts = self._by_room
        rows = self._rows_of(inside)
        taken = np.minimum(np.diff(starts)[rows], number)
        offset = np.arange(int(taken.sum())) - np.repeat(np.cumsum(taken) - taken, taken)
        return np.union1d(inside, cells[np.repeat(starts[rows], taken) + offset])

    def _tied(self, inside: Int, most: int) -> Int:
        """Some cells, and those that tie them together, up to so many for each number of relations."""
        for held in range(2, int(self._num_relations.max(initial=0)) + 1):
            touched = self._by_row[self._rows_of(inside)].indices
            count = np.bincount(touched, minlength=len(self._room))
            count[inside] = 0
            more = np.flatnonzero((count > 1) & (count >= np.minimum(held, self._num_relations)))
            inside = np.union1d(inside, more[np.argsort(-self._room[more], kind="stable")][:most])
        return inside

    def _rows_of(self, cells: Int) -> Int:
        return np.unique(self._by_cell[cells].indices)

    def _movable(self, inside: Int) -> tuple[Int, Int, csr_matrix]:
        """The cells without those that are alone in a relation, again and again; their relations."""
        while True:
            rows = self._rows_of(inside)
            matrix = self._by_row[rows][:, inside]
            alone = matrix[np.diff(matrix.indptr) == 1].indices
            if not len(alone):
                return inside, rows, matrix
            inside = np.delete(inside, alone)
