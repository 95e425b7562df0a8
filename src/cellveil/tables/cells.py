"""Cells as users name them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from cellveil.arrays import Int
from cellveil.errors import InputError
from cellveil.tables.code_text import Code
from cellveil.tables.table import Table

CellRef = int | Sequence[Code] | Mapping[str, Code]
"""A cell's number, its codes in the order of the dimensions, or its codes by dimension (left out: total)."""


def cell_number(table: Table, cell: CellRef) -> int:
    """The number of a cell.

    Examples
    --------
    >>> from cellveil.tables.build import table_from_interior
    >>> from cellveil.tables.hierarchy import Hierarchy
    >>> from cellveil.tables.dimension import Dimension
    >>> region = Dimension.of("region", Hierarchy.flat(["N", "S"]))
    >>> table = table_from_interior([region], {"region": ["N", "S"]}, [4, 6])
    >>> cell_number(table, 2), cell_number(table, ["S"]), cell_number(table, {"region": "S"})
    (2, 2, 2)
    """
    if isinstance(cell, Mapping):
        return table.cell(**cell)
    if isinstance(cell, str):
        return table.cell(cell)
    if isinstance(cell, int | np.integer) and not isinstance(cell, bool):
        if not 0 <= cell < table.num_cells:
            raise InputError(
                f"there is no cell number {cell}", remedy=f"Cells are numbered 0 to {table.num_cells - 1}."
            )
        return int(cell)
    if isinstance(cell, Sequence):
        return table.cell(*cell)
    raise InputError("a cell is named by neither number nor codes", remedy="Give its codes as a list.")


def cell_numbers(table: Table, cells: Iterable[CellRef]) -> Int:
    """The numbers of several cells."""
    return np.array([cell_number(table, cell) for cell in cells], dtype=np.int64)
