"""Tied cells: cells that any deviation moves alike.

Where M y = 0 implies y_i = ± y_j for the cells that may move at all, the two are one cell to every attack and
to every method. Hidden cells are full of such ties: a total with one hidden part, margins that repeat across
linked tables. Beside them are cells that cannot move.

Ties are read off one random element of {y : M y = 0} modulo a large prime: two cells that are not tied agree
with a probability of 2^−60. If they did, deviations would be missed and none invented: what is shown stays
true.

Cost: one sparse elimination.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cellveil.arrays import Float, Int
from cellveil.deviations.integer_kernel import Lattice
from cellveil.tables.relations import Relations

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix


@dataclass(frozen=True, eq=False)
class Ties:
    """Classes of tied cells, numbered by their first cells.

    Parameters
    ----------
    number
        The class of each cell; −1 for cells that cannot move.
    sign
        Whether a cell moves with the first cell of its class (1) or against it (−1).
    """

    number: Int
    sign: Int

    @property
    def num_classes(self) -> int:
        """How many there are."""
        return int(self.number.max(initial=-1)) + 1

    @classmethod
    def none(cls, num_cells: int) -> Ties:
        """Every cell by itself."""
        return cls(np.arange(num_cells), np.ones(num_cells, dtype=np.int64))

    @classmethod
    def of(cls, relations: Relations, cells: Int) -> Ties | None:
        """The ties among these cells while all others stand still; None where the elimination fails."""
        return cls.in_lattice(Lattice(relations, cells, np.zeros(len(cells))))

    @classmethod
    def in_lattice(cls, lattice: Lattice) -> Ties | None:
        """The same, where the elimination has been made."""
        if not lattice.is_complete:
            return None
        count = len(lattice.cells)
        moved, prime = lattice.random_element(), lattice.PRIME
        turned = moved > prime // 2
        size = np.where(turned, prime - moved, moved)
        moving = np.flatnonzero(size)
        _, first, class_ = np.unique(size[moving], return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        number, sign = np.full(count, -1, dtype=np.int64), np.ones(count, dtype=np.int64)
        number[moving] = rank[class_]
        sign[moving] = np.where(turned[moving] == turned[moving[first[class_]]], 1, -1)
        return cls(number, sign)

    @property
    def spread(self) -> csc_matrix:
        """The matrix T with y = T · (movements of the classes)."""
        from scipy.sparse import csc_matrix

        cells = np.flatnonzero(self.number >= 0)
        shape = len(self.number), self.num_classes
        return csc_matrix((self.sign[cells].astype(np.float64), (cells, self.number[cells])), shape=shape)

    def tightest(self, up: Float, down: Float) -> Float:
        """How far each class can rise, then how far each can fall, from the rooms of the cells."""
        cells, count = np.flatnonzero(self.number >= 0), self.num_classes
        rooms = np.full(2 * count, np.inf)
        forwards, class_ = self.sign[cells] > 0, self.number[cells]
        np.minimum.at(rooms, class_, np.where(forwards, up[cells], down[cells]))
        np.minimum.at(rooms, class_ + count, np.where(forwards, down[cells], up[cells]))
        return rooms
