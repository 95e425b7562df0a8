"""Windows of a connected component: the hidden cells nearest to one, with every relation that holds some.

A deviation of the cells of a window, all others standing still, is a deviation of the component. So a window
can show that a cell moves, at a small part of the price, and never that it does not. What is nearest counts
in relations: the cells of the relations of the cell come first, then those of theirs.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cellveil.arrays import Float, Int
from cellveil.deviations.components import Component

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class Windows:
    """Windows of one component.

    Parameters
    ----------
    room
        How far each cell of the component can move: where not all cells at one distance fit into a window,
        those that can move farthest do.
    """

    def __init__(self, component: Component, room: Float) -> None:
        self.component, self._room = component, room

    @cached_property
    def _by_row(self) -> csr_matrix:
        return self.component.matrix.tocsr()

    @cached_property
    def _by_cell(self) -> csr_matrix:
        return self.component.matrix.T.tocsr()

    def around(self, cell: int, size: int) -> Component:
        """The window of so many cells around one."""
        own = int(np.searchsorted(self.component.cells, cell))
        inside = self._nearest(own, size)
        rows = np.unique(self._by_cell[inside].indices)
        matrix = self._by_row[rows][:, inside].tocsc()
        return Component(self.component.cells[inside], self.component.rows[rows], matrix)

    def _nearest(self, own: int, size: int) -> Int:
        """Places of the nearest cells, ascending."""
        seen = np.zeros(len(self.component.cells), dtype=bool)
        passed = np.zeros(len(self.component.rows), dtype=bool)
        seen[own], latest, left = True, np.array([own]), size - 1
        while left > 0:
            rows = np.unique(self._by_cell[latest].indices)
            rows = rows[~passed[rows]]
            passed[rows] = True
            latest = np.unique(self._by_row[rows].indices)
            latest = latest[~seen[latest]]
            if not len(latest):
                break
            latest = latest[np.argsort(-self._room[latest], kind="stable")][:left]
            seen[latest] = True
            left -= len(latest)
        return np.flatnonzero(seen)
