"""Figures of totals that follow from those of the finest cells: sums, and the largest contributions.

They are right where nobody contributes to two of the finest cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Codes, Int
from cellveil.tables.build import covering_rows, roll_up
from cellveil.tables.keys import group, row_numbers
from cellveil.tables.table import Table


def sums_of_parts(table: Table, cells: Int, amounts: NDArray[Any]) -> NDArray[Any]:
    """The amounts of all cells of a table whose totals are the sums of these finest cells.

    Examples
    --------
    >>> from cellveil.tables.build import table_from_interior
    >>> from cellveil.tables.dimension import Dimension
    >>> from cellveil.tables.hierarchy import Hierarchy
    >>> region = Dimension.of("region", Hierarchy.flat(["N", "S"]))
    >>> table = table_from_interior([region], {"region": ["N", "S"]}, [4, 6])
    >>> sums_of_parts(table, np.array([1, 2]), np.array([3, 5])).tolist()
    [8, 3, 5]
    """
    keys, (sums,) = roll_up(table.dimensions, _keys_of(table, cells), [amounts])
    found = np.zeros(table.num_cells, dtype=amounts.dtype)
    found[table.find(keys)] = sums
    return found


def largest_of_parts(table: Table, cells: Int, top: Int) -> Int:
    """The largest contributions to all cells, from those to these finest cells; n × k, descending.

    Examples
    --------
    >>> from cellveil.tables.build import table_from_interior
    >>> from cellveil.tables.dimension import Dimension
    >>> from cellveil.tables.hierarchy import Hierarchy
    >>> region = Dimension.of("region", Hierarchy.flat(["N", "S"]))
    >>> table = table_from_interior([region], {"region": ["N", "S"]}, [4, 6])
    >>> largest_of_parts(table, np.array([1, 2]), np.array([[3, 1], [5, 1]])).tolist()
    [[5, 3], [3, 1], [5, 1]]
    """
    keys, sizes = _keys_of(table, cells), [len(dimension) for dimension in table.dimensions]
    for axis, dimension in enumerate(table.dimensions):
        rows, keys = covering_rows(dimension, axis, keys)
        order, borders, first = group(row_numbers(keys, sizes, len(rows)))
        owner = np.empty(len(rows), dtype=np.int64)
        owner[order] = np.repeat(np.arange(len(first)), np.diff(borders))
        top = _largest(owner, top[rows], len(first))
        keys = [column[first] for column in keys]
    found = np.zeros((table.num_cells, top.shape[1]), dtype=np.int64)
    found[table.find(keys)] = top
    return found


def _largest(owner: Int, amounts: Int, num_owners: int) -> Int:
    """The largest of all amounts of each owner."""
    depth = amounts.shape[1]
    owners, flat = np.repeat(owner, depth), amounts.reshape(-1)
    order = np.lexsort((-flat, owners))
    starts = np.searchsorted(owners[order], np.arange(num_owners))
    rank = np.arange(len(order)) - starts[owners[order]]
    kept = rank < depth
    found = np.zeros((num_owners, depth), dtype=np.int64)
    found[owners[order][kept], rank[kept]] = flat[order][kept]
    return found


def _keys_of(table: Table, cells: Int) -> list[Codes]:
    return [column[cells] for column in table.keys]
