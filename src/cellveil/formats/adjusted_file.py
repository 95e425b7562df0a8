"""Adjusted tables as CSV: the values to publish, one line per cell."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cellveil.arrays import Int
from cellveil.errors import InputError
from cellveil.files import atomic_path
from cellveil.formats.columns import read_columns
from cellveil.formats.rows import Rows, check_rows_distinct
from cellveil.formats.tidy_folder import write_rows
from cellveil.problem import Problem
from cellveil.tables.build import encode
from cellveil.tables.scaled import REMEDIES, scale, text_of

VALUE = "value"


def write_adjusted(problem: Problem, values: Int, path: Path | str) -> None:
    """Write the value of every cell."""
    table = problem.table
    columns = [table.codes(axis) for axis in range(len(table.dimensions))]
    columns.append([text_of(value, table.decimals, trim=True) for value in values.tolist()])
    header = [*(dimension.name for dimension in table.dimensions), VALUE]
    with atomic_path(Path(path)) as temporary:
        write_rows(temporary, header, zip(*columns, strict=True))


def read_adjusted(path: Path | str, problem: Problem) -> Int:
    """Read the value of every cell; a cell that is not listed keeps that of the problem."""
    table = problem.table
    columns = read_columns(Path(path))
    rows = Rows(columns, table.dimensions, {d.name: columns.codes(d.name) for d in table.dimensions})
    check_rows_distinct(rows)
    with rows.placing_errors():
        cells = table.find(encode(table.dimensions, rows.codes))
    unknown = np.flatnonzero(cells < 0)
    if len(unknown):
        row = int(unknown[0])
        raise columns.fault(row, "the table has no such cell", "Remove the line.", rows.cell_name(row))
    scaled, faults = scale(columns.codes(VALUE), table.decimals)
    if faults:
        row, what = next(iter(faults.items()))
        raise columns.fault(row, f"the value {what}", REMEDIES[what], rows.cell_name(row))
    if len(np.unique(cells)) < len(cells):
        raise InputError("a cell occurs twice", file=path, remedy="Remove one of the lines.")
    values = table.values.copy()
    values[cells] = scaled
    return values
