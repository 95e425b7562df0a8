"""The table as people print it: one dimension down, one across, a block for each choice of the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from cellveil.arrays import Int
from cellveil.publishing.publication import Publication

NO_CELL = -1


@dataclass(frozen=True, repr=False, eq=False)
class Block:
    """One block: the lines chosen of the other dimensions, and the cell number at each place.

    `cells` is rows × columns, `NO_CELL` where the table has no cell.
    """

    chosen: tuple[int, ...]
    cells: Int


@dataclass(frozen=True, repr=False, eq=False)
class CrossTable:
    """How a publication is laid out, perhaps cut to its upper levels.

    Parameters
    ----------
    down, across
        Numbers of the dimensions; `across` is −1 for a table with one dimension.
    others
        The remaining dimensions.
    shown
        Per dimension the numbers of the lines shown, in order.
    cuts
        What was left out, in words; empty when the whole table is shown.
    """

    publication: Publication
    down: int
    across: int
    others: tuple[int, ...]
    shown: tuple[Int, ...]
    cuts: tuple[str, ...]

    @classmethod
    def of(cls, publication: Publication, limit: int) -> CrossTable:
        """Lay out the publication with at most about `limit` places, leaving out the lowest levels first."""
        sizes = [len(lines) for lines in publication.lines]
        down, across = (0, -1) if len(sizes) == 1 else (0, 1) if sizes[0] >= sizes[1] else (1, 0)
        shown, cuts = _cut(publication, limit)
        return cls(publication, down, across, tuple(range(2, len(sizes))), shown, cuts)

    @property
    def num_rows(self) -> int:
        """Rows of a block."""
        return len(self.shown[self.down])

    @property
    def num_columns(self) -> int:
        """Columns of a block."""
        return 1 if self.across < 0 else len(self.shown[self.across])

    def blocks(self) -> Iterator[Block]:
        """The blocks that have cells, in the order of their lines."""
        for number, cells in enumerate(self._cells()):
            if (cells != NO_CELL).any():
                choice = np.unravel_index(number, [len(self.shown[axis]) for axis in self.others] or [1])
                chosen = zip(self.others, choice, strict=False)
                yield Block(tuple(int(self.shown[axis][place]) for axis, place in chosen), cells)

    @property
    def num_shown(self) -> int:
        """How many cells of the table are shown, each counted once."""
        cells = self._cells()
        return len(np.unique(cells[cells != NO_CELL]))

    def _cells(self) -> Int:
        """Cell numbers by block, row and column."""
        places, cell = self.publication.rows
        kept = np.ones(len(cell), dtype=bool)
        position = []
        for lines, shown, place in zip(self.publication.lines, self.shown, places, strict=True):
            where = np.full(len(lines), -1, dtype=np.int64)
            where[shown] = np.arange(len(shown))
            position.append(where[place])
            kept &= position[-1] >= 0
        axes = [*self.others, self.down, *([self.across] if self.across >= 0 else [])]
        sizes = [len(self.shown[axis]) for axis in axes]
        cells = np.full(prod(sizes), NO_CELL, dtype=np.int64)
        flat = np.zeros(int(kept.sum()), dtype=np.int64)
        for axis, size in zip(axes, sizes, strict=True):
            flat = flat * size + position[axis][kept]
        cells[flat] = cell[kept]
        return cells.reshape(-1, self.num_rows, self.num_columns)


def _cut(publication: Publication, limit: int) -> tuple[tuple[Int, ...], tuple[str, ...]]:
    """Choose the lines to show: drop the lowest level of the longest dimension until the rest fits."""
    shown = [np.arange(len(lines), dtype=np.int64) for lines in publication.lines]
    cuts: dict[int, str] = {}
    words = publication.words
    while prod(map(len, shown)) > limit:
        axis = max(range(len(shown)), key=lambda number: len(shown[number]))
        lines, name = publication.lines[axis], publication.dimensions[axis].name
        depth = lines.depth[shown[axis]]
        others = prod(map(len, shown)) // len(shown[axis])
        if depth.max() > 1:
            shown[axis] = shown[axis][depth < depth.max()]
            cuts[axis] = words("table.to_level", dimension=name, level=depth.max() - 1)
        else:
            first = max(1, limit // others, len(shown[axis]) // 2)
            shown[axis] = shown[axis][:first]
            cuts[axis] = words("table.first_codes", number=words.number(first), dimension=name)
    return tuple(shown), tuple(cuts[axis] for axis in sorted(cuts))
