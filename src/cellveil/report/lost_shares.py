"""What is lost below each cell of a table: the share of its finest cells, or of value, that is hidden."""

from __future__ import annotations

import math

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.tables.dimension import Dimension
from cellveil.tables.keys import row_numbers
from cellveil.tables.table import Table

Share = int | float | None
"""Per cent; None where there is nothing that a share could be of."""


def has_levels(table: Table) -> bool:
    """Whether every dimension is a hierarchy, so that each cell has finest cells below it."""
    return bool(table.dimensions) and all(dimension.hierarchies for dimension in table.dimensions)


def lost_shares(table: Table, lost: Bool, size: Int) -> list[Share]:
    """For each cell the per cent of `size` that its lost finest cells make up of all its finest cells.

    Whole numbers: 0 only where nothing is lost, 100 only where everything is.
    """
    columns = list(zip(table.dimensions, table.keys, strict=True))
    finest = np.flatnonzero(~np.any([dimension.is_parent[codes] for dimension, codes in columns], axis=0))
    keys = [codes[finest].astype(np.int64) for _, codes in columns]
    sums = np.array([size[finest], size[finest] * lost[finest]], dtype=np.float64)
    for axis, dimension in enumerate(table.dimensions):
        keys, sums = _summed_up(keys, sums, axis, dimension, table.sizes)
    cells = table.find([column.astype(np.int32) for column in keys])
    whole, gone = np.zeros(table.num_cells), np.zeros(table.num_cells)
    there = cells >= 0
    whole[cells[there]], gone[cells[there]] = sums[0, there], sums[1, there]
    return [_percent(one, all_) for one, all_ in zip(gone.tolist(), whole.tolist(), strict=True)]


def changes(published: Int, truth: Int) -> list[Share]:
    """By how many per cent each cell was changed, to a tenth."""
    return [
        0 if one == other else round(100 * abs(one - other) / abs(other), 1) if other else None
        for one, other in zip(published.tolist(), truth.tolist(), strict=True)
    ]


def _summed_up(
    keys: list[Int], sums: Float, axis: int, dimension: Dimension, sizes: tuple[int, ...]
) -> tuple[list[Int], Float]:
    """Replace the leaves of one dimension by all codes that cover them, and add up."""
    leaf, cover = dimension.closure
    first, last = np.searchsorted(leaf, keys[axis]), np.searchsorted(leaf, keys[axis], side="right")
    number = last - first
    rows = np.repeat(np.arange(len(number)), number)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(number) - number, number)
    wider = [
        cover[first[rows] + within] if other == axis else column[rows] for other, column in enumerate(keys)
    ]
    _, place, group = np.unique(row_numbers(wider, sizes, len(rows)), return_index=True, return_inverse=True)
    added = np.array([np.bincount(group, weights=one[rows], minlength=len(place)) for one in sums])
    return [column[place] for column in wider], added


def _percent(lost: float, whole: float) -> Share:
    if not whole:
        return None
    share = 100 * lost / whole
    return 0 if not lost else 100 if lost >= whole else min(max(math.floor(share + 0.5), 1), 99)
