"""The part of a table that a view has room for: lines of each dimension, upper levels first."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from cellveil.arrays import Int
from cellveil.publishing.publication import Labels, Lines
from cellveil.tables.table import Table

MOST_ACROSS = 40
"""Columns that a view shows at most."""


@dataclass(frozen=True, repr=False, eq=False)
class LineWindow:
    """Which lines are shown, and which cell stands where.

    Parameters
    ----------
    lines
        All lines of each dimension.
    shown
        Per dimension the numbers of the lines that are shown.
    down, across
        The dimensions of rows and columns; `across` is −1 for a table with one dimension.
    """

    table: Table
    lines: tuple[Lines, ...]
    shown: tuple[Int, ...]
    down: int
    across: int

    @classmethod
    def of(cls, table: Table, labels: Labels, cells: int) -> LineWindow:
        """Choose about so many places, leaving out the lowest levels first, then the last lines."""
        lines = tuple(Lines.of(d, labels.get(d.name, {})) for d in table.dimensions)
        sizes = [len(each) for each in lines]
        down, across = (0, -1) if len(sizes) == 1 else (0, 1) if sizes[0] >= sizes[1] else (1, 0)
        shown = [np.arange(size, dtype=np.int64) for size in sizes]
        if across >= 0:
            shown[across] = _cut(lines[across], shown[across], MOST_ACROSS)
        while prod(map(len, shown)) > cells:
            axis = max(range(len(shown)), key=lambda number: len(shown[number]))
            if len(shown[axis]) == 1:
                break
            others = prod(map(len, shown)) // len(shown[axis])
            shown[axis] = _cut(lines[axis], shown[axis], max(cells // others, len(shown[axis]) // 2, 1))
        return cls(table, lines, tuple(shown), down, across)

    @property
    def is_cut(self) -> bool:
        """Whether lines were left out."""
        return any(len(kept) < len(all_) for kept, all_ in zip(self.shown, self.lines, strict=True))

    @property
    def others(self) -> list[int]:
        """The dimensions that are neither down nor across."""
        return [axis for axis in range(len(self.lines)) if axis not in (self.down, self.across)]

    def blocks(self) -> list[tuple[tuple[int, ...], Int]]:
        """For each choice of lines of the other dimensions the cells by row and column, −1 where none is."""
        choices = list(product(*(self.shown[axis].tolist() for axis in self.others)))
        rows, columns = (
            self.shown[self.down],
            self.shown[self.across] if self.across >= 0 else np.zeros(1, int),
        )
        places = len(rows) * len(columns)
        keys = []
        for axis, lines in enumerate(self.lines):
            if axis == self.down:
                one = np.tile(np.repeat(lines.code[rows], len(columns)), len(choices))
            elif axis == self.across:
                one = np.tile(lines.code[columns], len(choices) * len(rows))
            else:
                place = self.others.index(axis)
                one = np.repeat(lines.code[[choice[place] for choice in choices]], places)
            keys.append(one.astype(np.int32))
        cells = self.table.find(keys).reshape(len(choices), len(rows), len(columns))
        return [(choice, block) for choice, block in zip(choices, cells, strict=True) if (block >= 0).any()]


def _cut(lines: Lines, shown: Int, most: int) -> Int:
    """At most so many of the lines: without the lowest levels, and of the rest the first."""
    while len(shown) > most and lines.depth[shown].max() > 1:
        shown = shown[lines.depth[shown] < lines.depth[shown].max()]
    return shown[: max(most, 1)]
