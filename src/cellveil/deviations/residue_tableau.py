"""The null-space tableau: whole deviations that span all of a table's, in residues modulo a prime.

Every deviation of the movable cells is y = N z with a whole matrix N, a column for each degree of freedom
(`cellveil.deviations.integer_kernel`). Publishing a cell asks for the z with y = 0 there: one column that
moves the cell is used up, multiples of it are taken off the others, and these span what is left. A pattern
leaves a primary undetermined, capacities aside, if and only if some column that is left moves it: its row of
N is not in the span of the published cells' rows, which makes the question one about a matroid.

Entries are residues modulo 2³¹ − 1, so that nothing is rounded; those of a column whose size is known to be
below 2³⁰ are the whole numbers themselves. Whether *any* column moves a cell is read off one generic
combination of all, which is wrong with a probability of 2^−31.

Requires a complete elimination; `of` returns None otherwise, and where the tableau has too many entries.
Ensures that the columns are deviations. Cost: one pivot takes at most as long as the tableau has entries.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.deviations.integer_kernel import Lattice
from cellveil.loops.library import Int32Table
from cellveil.loops.residue_tableau import combine, follow, publish_in_turn
from cellveil.tables.relations import Relations

PRIME = 2**31 - 1


@dataclass(eq=False)
class Tableau:
    """Columns that span the deviations of some cells.

    Parameters
    ----------
    cells
        The cells, ascending.
    columns
        One deviation in each row of the array, and in the last one a generic combination of them.
    basic
        For each deviation the place of a cell that no other one moves.
    left
        So many of them, the first ones, span the deviations of the cells that are hidden.
    """

    cells: Int
    columns: Int32Table
    basic: Int
    left: int

    @classmethod
    def of(
        cls, relations: Relations, cells: Int, preference: Float, *, most_entries: int, seed: int = 0
    ) -> Tableau | None:
        """With all cells hidden; None where the elimination fails or the tableau becomes too large."""
        lattice = Lattice(relations, cells, preference)
        count = lattice.num_free
        if not lattice.is_complete or not count or (count + 1) * len(cells) > most_entries:
            return None
        steps = lattice.steps
        free = np.setdiff1d(np.arange(len(cells)), steps.pivot)
        rows = np.zeros((len(cells) + lattice.num_sums, count), dtype=np.int32)
        rows[free, np.arange(count)] = 1
        follow(rows, steps.pivot, steps.pivot_coef, steps.starts, steps.columns, steps.coefs)
        columns = np.empty((count + 1, len(cells)), dtype=np.int32)
        columns[:-1] = rows[: len(cells)].T
        drawn = np.random.default_rng(seed).integers(1, PRIME, count)
        combine(columns, drawn)
        return cls(cells, columns, free.astype(np.int64), count)

    @property
    def hidden(self) -> Bool:
        """Which of the cells a deviation moves."""
        return np.asarray(self.columns[-1] != 0)

    def copy(self) -> Tableau:
        """One to change."""
        return Tableau(self.cells, self.columns.copy(), self.basic.copy(), self.left)

    def publish_in_turn(self, order: Int, primaries: Int, largest: int) -> None:
        """Publish cells, given by their places, unless a primary were lost or an entry passed `largest`."""
        sizes = np.abs(self.whole(len(self.basic))).max(axis=1).astype(np.int64)
        space = np.zeros(len(self.cells), dtype=np.int64)
        self.left = publish_in_turn(self.columns, order, primaries, self.basic, sizes, largest, space)

    def whole(self, count: int) -> Int:
        """The first so many deviations in whole numbers, one in each row."""
        columns = self.columns[:count]
        return np.where(columns > PRIME // 2, columns - np.int32(PRIME), columns)
