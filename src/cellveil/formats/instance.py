"""Instances of whatever kind: a JJ file or a folder."""

from __future__ import annotations

from pathlib import Path

from cellveil.errors import InputError
from cellveil.files import checked_path
from cellveil.formats.jj import read_jj, write_jj
from cellveil.formats.tidy_folder import CELLS, read_folder, write_folder
from cellveil.problem import Problem, check_problem


def read_instance(path: Path | str) -> Problem:
    """Read a folder or a JJ file."""
    path = checked_path(path, "the instance")
    if path.is_dir():
        return read_folder(path)
    if path.suffix.lower() == ".csv":
        raise InputError(
            "an instance is a JJ file or a folder, not a CSV file",
            file=path,
            remedy=f"Name the folder that holds {CELLS}, or read the table by a job file.",
        )
    return read_jj(path)


def write_instance(problem: Problem, path: Path | str) -> None:
    """Write a JJ file where the name ends in .jj, else a folder."""
    check_problem(problem)
    path = checked_path(path, "the folder")
    if path.suffix.lower() == ".jj":
        write_jj(problem, path)
    else:
        write_folder(problem, path)
