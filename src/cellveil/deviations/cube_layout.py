"""Where the cells of a table stand for cubes: places in a full array, one axis for each dimension.

In linked tables a cell need not be broken down along every dimension: no relation along that dimension holds
the turnover of an industry in a region where no table has sizes below it. Such a cell is *at rest* along the
dimension: it can move whatever happens there. Here it stands at a code of its own beside the tree, which
covers itself alone, so that a cube of fewer dimensions is a cube like any other, with the move of one code.

Why all relations hold: take a cube whose places are all taken by cells, and a relation along dimension k. No
cell of it is at rest along k, and the move along k keeps its equation. Along another dimension all cells of
the relation have one code, and stand at it or at its code beside the tree. The cube cannot have places at
both, as they would be those of one key; so cells of the relation that stand elsewhere than the others have
no part in the cube, and none of their places along k is in the move, for such a place would be empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Int
from cellveil.tables.structure import MOST_PLACES
from cellveil.tables.table import Table

Listed = tuple[Int, NDArray[np.int32]]
"""Where the entries of each number begin, and the entries."""


@dataclass(frozen=True, eq=False)
class CubeLayout:
    """Places of cells, and which codes cover which.

    Attributes
    ----------
    sizes
        Codes of each dimension, with those beside the tree.
    keys
        The codes of each cell, a row per cell.
    covers, parts
        For each dimension where the codes that cover a leaf begin, and the codes; the leaves of a code
        likewise. No code covers one that is no leaf.
    is_leaf
        Which codes are leaves, dimension after dimension.
    """

    sizes: Int
    keys: NDArray[np.int32]
    covers: tuple[Listed, ...]
    parts: tuple[Listed, ...]
    is_leaf: Bool

    @classmethod
    def of(cls, table: Table) -> CubeLayout:
        """Lay out a table whose relations all run along one dimension."""
        keys = np.stack(table.keys, axis=1).astype(np.int32)
        resting = _at_rest(table, keys)
        if _num_places(keys, resting, table.sizes) > MOST_PLACES:
            resting[:] = False
        sizes, covers, parts, leaves = [], [], [], []
        for axis, dimension in enumerate(table.dimensions):
            aside = np.unique(keys[resting[:, axis], axis])
            beside = np.full(len(dimension), -1, dtype=np.int32)
            beside[aside] = len(dimension) + np.arange(len(aside))
            keys[:, axis] = np.where(resting[:, axis], beside[keys[:, axis]], keys[:, axis])
            above, below = dimension.closure
            alone = np.arange(len(dimension), len(dimension) + len(aside))
            leaf, code = np.concatenate([above, alone]), np.concatenate([below, alone])
            sizes.append(len(dimension) + len(aside))
            covers.append(_listed(leaf, code, sizes[-1]))
            parts.append(_listed(code, leaf, sizes[-1]))
            leaves += [~dimension.is_parent, np.ones(len(aside), dtype=bool)]
        return cls(np.array(sizes), keys, tuple(covers), tuple(parts), np.concatenate(leaves))

    @property
    def full(self) -> int:
        """How many places there are."""
        return prod(self.sizes.tolist())

    @cached_property
    def strides(self) -> Int:
        """The step from one code to the next, by dimension."""
        sizes = self.sizes.tolist()
        return np.array([prod(sizes[k + 1 :]) for k in range(len(sizes))], dtype=np.int64)

    @cached_property
    def places(self) -> Int:
        """The place of each cell."""
        return np.asarray(self.keys @ self.strides)

    def line_bits(self, chosen: Bool) -> NDArray[np.uint64]:
        """Dimension by dimension and line by line which cells are chosen, 64 to a word."""
        dense = np.zeros(self.full, dtype=bool)
        dense[self.places[chosen]] = True
        dense, parts = dense.reshape(self.sizes), []
        for axis, size in enumerate(self.sizes.tolist()):
            lines = np.moveaxis(dense, axis, -1).reshape(-1, size)
            octets = np.zeros((len(lines), -(-size // 64) * 8), dtype=np.uint8)
            octets[:, : -(-size // 8)] = np.packbits(lines, axis=1, bitorder="little")
            parts.append(octets.view("<u8").reshape(-1))
        return np.concatenate(parts)


def _at_rest(table: Table, keys: NDArray[np.int32]) -> Bool:
    """For each cell the dimensions with more than one code along which no relation holds it."""
    relations, indptr = table.relations, table.relations.indptr
    resting = np.repeat([[len(dimension) > 1 for dimension in table.dimensions]], len(keys), axis=0)
    lengths = np.diff(indptr)
    row_of = np.repeat(np.arange(len(lengths)), lengths)
    first = relations.cells[indptr[:-1][lengths > 0]]
    row = np.cumsum(lengths > 0) - 1
    others = keys[relations.cells] != keys[first[row[row_of]]]
    for axis in range(keys.shape[1]):
        runs = np.zeros(len(lengths), dtype=bool)
        runs[row_of[others[:, axis]]] = True
        runs |= lengths == 1
        resting[relations.cells[runs[row_of]], axis] = False
    return resting


def _num_places(keys: NDArray[np.int32], resting: Bool, sizes: Sequence[int]) -> int:
    """How many places there are with codes beside the tree."""
    return prod(size + len(np.unique(keys[resting[:, axis], axis])) for axis, size in enumerate(sizes))


def _listed(numbers: Int, entries: Int, size: int) -> Listed:
    order = np.lexsort((entries, numbers))
    starts = np.searchsorted(numbers[order], np.arange(size + 1))
    return starts.astype(np.int64), entries[order].astype(np.int32)
