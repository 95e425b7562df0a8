"""Observations for the office, not for the public: SDMX-CSV with all values and why cells are not published.

Every observation has both statuses of the standard code lists: that of the observation, and whether the cell
is free (F), confidential by itself (C) or hidden to protect others (D). A job can read the file again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.public_view import PublicView
from cellveil.publishing.imprint import Imprint
from cellveil.publishing.publication import Publication, TablePart
from cellveil.publishing.releasing import file_names
from cellveil.publishing.sdmx_codes import INTERNAL, PUBLISHED
from cellveil.publishing.sdmx_files import write_lines

WITH_VALUES = {Status.PRIMARY: INTERNAL["primary"], Status.SECONDARY: INTERNAL["secondary"]}


def write_internal_observations(
    problem: Problem, pattern: Pattern, tables: Sequence[TablePart], folder: Path, title: str = ""
) -> None:
    """Write one file per table, named as those of the release."""
    view = PublicView.of_adjusted(problem, problem.table.values)  # nothing is hidden
    complete = Publication.of(problem.table, view, imprint=Imprint(title=title)).in_tables(tables)
    names = [name for name in file_names(complete, ["sdmx"]) if name.endswith(".csv")]
    statuses = [pattern.status[part.cells] for part in tables] or [pattern.status]
    folder.mkdir()
    for name, publication, status in zip(names, complete.tables, statuses, strict=True):
        texts = publication.value_texts()
        marks = [WITH_VALUES.get(Status(one), PUBLISHED) for one in status.tolist()]
        shown = [(text, *mark) for text, mark in zip(texts, marks, strict=True)]
        write_lines(publication, shown, folder / name)
