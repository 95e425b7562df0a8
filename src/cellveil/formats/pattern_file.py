"""Patterns as CSV: which cells are hidden. Internal, as primary and secondary cells can be told apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cellveil.files import atomic_path
from cellveil.formats.columns import read_columns
from cellveil.formats.ready_made import status_of
from cellveil.formats.rows import Rows, check_rows_distinct, put_on_cells
from cellveil.formats.tidy_folder import write_rows
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.tables.build import encode


def read_pattern(path: Path | str, problem: Problem) -> Pattern:
    """Read the status of cells; a cell that is not listed keeps that of the problem.

    The pattern is taken as it is, also where it publishes a primary cell or hides a frozen one: to find that
    is the audit's business.

    Raises
    ------
    InputError
        For an unknown cell, a cell that occurs twice, or a status that is none of s, u, m and z.
    """
    table = problem.table
    columns = read_columns(Path(path))
    rows = Rows(columns, table.dimensions, {d.name: columns.codes(d.name) for d in table.dimensions})
    check_rows_distinct(rows)
    with rows.placing_errors():
        cells = table.find(encode(table.dimensions, rows.codes))
    unknown = np.flatnonzero(cells < 0)
    if len(unknown):
        row = int(unknown[0])
        raise columns.fault(
            row, "the table has no such cell", "Remove the line, or correct its codes.", rows.cell_name(row)
        )
    status = problem.status.copy()
    put_on_cells(rows, status, cells, status_of(rows, "status"), "status")
    return Pattern(status, "given")


def write_pattern(problem: Problem, pattern: Pattern, path: Path | str) -> None:
    """Write the status of every cell."""
    table = problem.table
    letters = [Status(number).letter for number in range(len(Status))]
    columns = [table.codes(axis) for axis in range(len(table.dimensions))]
    columns.append([letters[number] for number in pattern.status.tolist()])
    header = [*(dimension.name for dimension in table.dimensions), "status"]
    with atomic_path(Path(path)) as temporary:
        write_rows(temporary, header, zip(*columns, strict=True))
