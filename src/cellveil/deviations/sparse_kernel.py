"""A sparse basis of the null space, from which cells are published one after the other.

Linked tables have tens of thousands of degrees of freedom, but whole deviations that move few cells each span
all of them: cubes of one table, with what they move in the margins of others. So elimination is as in
`cellveil.deviations.residue_tableau`, column by column, with columns that only hold what is not 0. Dear cells
come first, and these are totals that many columns move; as they are published the columns become fewer and
shorter, and hardly any fill-in comes about.

Whether *any* column that is left moves a cell is read off one generic combination of all, in residues modulo
a prime of 61 bits: wrong with a probability of 2^−61.

Requires an elimination with pivots ±1 and few entries; `sparse_basis` returns None otherwise.
Ensures that the columns are deviations, in whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.deviations.integer_kernel import Lattice
from cellveil.deviations.witness import Witness
from cellveil.tables.relations import Relations

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

PRIME = 2**61 - 1

Column = dict[int, int]
"""How far a deviation moves which cell, in whole numbers."""


def sparse_basis(relations: Relations, cells: Int, preference: Float, most_entries: int) -> csc_matrix | None:
    """Deviations of the cells as columns over the whole table; None where `SparseKernel` is of no use.

    Where there is a choice, cells with a high `preference` are given by the others.
    """
    from scipy.sparse import csc_matrix

    found = Lattice(relations, cells, preference).basis(most_entries)
    if found is None:
        return None
    matrix = found[1].tocsc()
    shape = relations.num_cells, matrix.shape[1]
    return csc_matrix((matrix.data.astype(np.int64), cells[matrix.indices], matrix.indptr), shape=shape)


class SparseKernel:
    """Deviations that span those of the cells that are hidden.

    Parameters
    ----------
    basis
        Whole deviations, independent of each other, as columns.
    """

    def __init__(self, basis: csc_matrix, *, seed: int = 0) -> None:
        num_cells, count = basis.shape
        places, entries, borders = basis.indices.tolist(), basis.data.tolist(), basis.indptr.tolist()
        self._columns: dict[int, Column] = {}
        self._users: list[set[int]] = [set() for _ in range(num_cells)]
        self._generic = [0] * num_cells
        factors = np.random.default_rng(seed).integers(1, PRIME, count).tolist()
        for number, (start, end) in enumerate(pairwise(borders)):
            column = dict(zip(places[start:end], entries[start:end], strict=True))
            self._columns[number] = column
            for cell, moved in column.items():
                self._users[cell].add(number)
                self._generic[cell] = (self._generic[cell] + factors[number] * moved) % PRIME
        self._sizes = {number: _size(column) for number, column in self._columns.items()}

    @property
    def hidden(self) -> Bool:
        """Which cells of the table a deviation moves."""
        return np.array([bool(users) for users in self._users])

    def __len__(self) -> int:
        return len(self._columns)

    def witnesses(self) -> list[Witness]:
        """The deviations."""
        found = []
        for column in self._columns.values():
            cells = sorted(column)
            moved = [column[cell] for cell in cells]
            found.append(Witness(np.array(cells, dtype=np.int64), np.array(moved, dtype=np.int64), 1))
        return found

    def publish_in_turn(
        self, order: Iterable[int], kept: Bool, *, largest: int, tries: int, deadline: Deadline = NO_LIMIT
    ) -> None:
        """Publish cells, each unless a cell that is to be kept moving were lost or an entry passed `largest`.

        A column that moves the cell by ±1 is used up: multiples of it are taken off the others. Up to so many
        are tried, those with the fewest and smallest entries first.
        """
        for cell in order:
            if deadline.is_over:
                return
            units = [number for number in self._users[cell] if self._columns[number][cell] in (1, -1)]
            units.sort(key=lambda number: (len(self._columns[number]) * self._sizes[number], number))
            # Whichever column is used up, what is left are the deviations that do not move the cell.
            if units and not self._loses(cell, units[0], kept):
                fitting = (number for number in units[:tries] if self._growth(cell, number) <= largest)
                number = next(fitting, None)
                if number is not None:
                    self._use_up(cell, number)

    def _growth(self, cell: int, number: int) -> int:
        """How large entries can become when the column is used up to publish the cell."""
        own = self._sizes[number]
        others = (other for other in self._users[cell] if other != number)
        return max(
            (self._sizes[other] + own * abs(self._columns[other][cell]) for other in others), default=0
        )

    def _loses(self, cell: int, number: int, kept: Bool) -> bool:
        """Whether the generic deviation, made 0 at the cell by the column, loses a cell to be kept."""
        column, generic = self._columns[number], self._generic
        factor = -generic[cell] * column[cell]
        return any(
            kept[place] and (generic[place] + factor * moved) % PRIME == 0 for place, moved in column.items()
        )

    def _use_up(self, cell: int, number: int) -> None:
        """Take multiples of the column off all others, and off the generic one: they become 0 at the cell."""
        column = self._columns.pop(number)
        sign, generic = column[cell], self._generic
        factor = -generic[cell] * sign
        for place, moved in column.items():
            generic[place] = (generic[place] + factor * moved) % PRIME
            self._users[place].discard(number)
        for other in sorted(self._users[cell]):
            target = self._columns[other]
            self._add(target, other, column, -target[cell] * sign)
            self._sizes[other] = _size(target)

    def _add(self, target: Column, number: int, column: Column, factor: int) -> None:
        """Add a multiple of one column to another, which has the given number."""
        for place, moved in column.items():
            value = target.get(place, 0) + factor * moved
            if value:
                target[place] = value
                self._users[place].add(number)
            else:
                del target[place]
                self._users[place].discard(number)


def _size(column: Column) -> int:
    """The largest absolute entry."""
    return max((abs(moved) for moved in column.values()), default=0)
