"""Adjusted tables as CSV: the values to publish, one line per cell."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cellveil.arrays import Int
from cellveil.errors import InputError
from cellveil.files import checked_path
from cellveil.formats.rows import rows_of_table
from cellveil.formats.tidy_folder import write_cells
from cellveil.problem import Problem, check_problem
from cellveil.tables.scaled import text_of

VALUE = "value"


def write_adjusted(problem: Problem, values: Int, path: Path | str) -> None:
    """Write the value of every cell."""
    check_problem(problem)
    path = checked_path(path, "the file")
    is_whole = isinstance(values, np.ndarray) and np.issubdtype(values.dtype, np.integer)
    if not is_whole or values.shape != problem.table.values.shape:
        raise InputError(
            f"adjusted values are not given as {problem.table.num_cells} whole numbers, one per cell",
            remedy="Give adjust(problem).values.",
        )
    decimals = problem.table.decimals
    texts = [text_of(value, decimals, trim=True) for value in values.tolist()]
    write_cells(problem.table, VALUE, texts, path)


def read_adjusted(path: Path | str, problem: Problem) -> Int:
    """Read the value of every cell; a cell that is not listed keeps that of the problem."""
    check_problem(problem)
    path = checked_path(path, "the file")
    table = problem.table
    rows, cells = rows_of_table(path, table)
    scaled = rows.numbers(VALUE, rows.columns.amounts(VALUE), table.decimals)
    if len(np.unique(cells)) < len(cells):
        raise InputError("a cell occurs twice", file=path, remedy="Remove one of the lines.")
    values = table.values.copy()
    values[cells] = scaled
    return values
