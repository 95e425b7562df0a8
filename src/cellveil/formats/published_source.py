"""A published table that is named on a command line: a release, a tidy folder, or a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cellveil.errors import InputError
from cellveil.formats.columns import read_columns
from cellveil.formats.published_file import read_publication, read_publication_folder
from cellveil.formats.release_folder import is_release, read_release
from cellveil.judge.published_table import PublishedTable
from cellveil.microdata.number_marks import UNSAID, NumberMarks
from cellveil.microdata.source_options import SourceOptions
from cellveil.progress import Progress


def open_publication(
    source: Path,
    hierarchies: Sequence[str],
    names: Mapping[str, Any],
    options: Mapping[str, Any],
    marks: NumberMarks = UNSAID,
    progress: Progress | None = None,
) -> PublishedTable:
    """Read a release, a tidy folder, or a file whose dimensions are given as texts, as on a command line.

    Parameters
    ----------
    hierarchies
        ``COLUMN=FILE`` for each hierarchy, ``COLUMN`` for a flat dimension; several of one column overlap.
    names
        Columns of a file and the code of its totals, as in `read_publication`; a folder has its own.
    options
        Further arguments.
    marks
        Decimal and thousands marks of a file; found from its numbers where not said.
    progress
        Told of what was found.
    """
    trees: dict[str, Any] = {}
    for given in hierarchies:
        column, _, file = given.partition("=")
        trees[column] = [*(trees.get(column) or []), Path(file)] if file else None
    if source.is_dir() and is_release(source):
        return read_release(source, trees, **options)
    if source.is_dir():
        if hierarchies or {"flag", "hidden_flags", "zero_flags"} & {
            *options,
            *(k for k in names if names[k]),
        }:
            raise InputError(
                "a folder has its own hierarchies and no flags",
                file=source,
                remedy="Leave these options out, or name the file.",
            )
        return read_publication_folder(source, **options)
    if not hierarchies:
        raise InputError(
            "neither a pattern nor a hierarchy is given",
            file=source,
            remedy="Name the pattern, or the dimensions of a published table with their hierarchies.",
        )
    columns = read_columns(source, SourceOptions(marks=marks))
    numbers = [names[name] for name in ("value", "lower", "upper") if names.get(name) in columns]
    columns, notes = columns.with_marks(numbers)
    for note in notes:
        (progress or Progress()).note(note)
    return read_publication(columns, trees, **names, **options)
