"""Patterns as CSV: which cells are hidden. Internal, as primary and secondary cells can be told apart."""

from __future__ import annotations

from pathlib import Path

from cellveil.files import checked_path
from cellveil.formats.ready_made import status_of
from cellveil.formats.rows import put_on_cells, rows_of_table
from cellveil.formats.tidy_folder import write_cells
from cellveil.pattern import Pattern, check_pattern
from cellveil.problem import Problem, Status, check_problem


def read_pattern(path: Path | str, problem: Problem) -> Pattern:
    """Read the status of cells; a cell that is not listed keeps that of the problem.

    The pattern is taken as it is, also where it publishes a primary cell or hides a frozen one: to find that
    is the audit's business.

    Raises
    ------
    InputError
        For an unknown cell, a cell that occurs twice, or a status that is none of s, u, m and z.
    """
    check_problem(problem)
    path = checked_path(path, "the file")
    rows, cells = rows_of_table(path, problem.table)
    status = problem.status.copy()
    put_on_cells(rows, status, cells, status_of(rows, "status"), "status")
    return Pattern(status, "given")


def write_pattern(problem: Problem, pattern: Pattern, path: Path | str) -> None:
    """Write the status of every cell."""
    check_problem(problem)
    check_pattern(pattern)
    path = checked_path(path, "the file")
    letters = [Status(number).letter for number in range(len(Status))]
    write_cells(problem.table, "status", [letters[number] for number in pattern.status.tolist()], path)
