"""Observations of SDMX-CSV files, version 1.0 and 2.0, as the columns of a ready-made table.

Both versions have one column per dimension, measure and attribute. Version 1.0 begins with DATAFLOW; version
2.0 with STRUCTURE, STRUCTURE_ID and ACTION. With labels a header is ``ID: name`` and a field ``code: label``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cellveil.arrays import Bool
from cellveil.errors import InputError
from cellveil.formats.columns import Columns
from cellveil.microdata.foreign_files import check_names
from cellveil.progress import Progress
from cellveil.publishing.sdmx_codes import CANNOT_EXIST, OBS_STATUS

DATAFLOW, STRUCTURE, STRUCTURE_ID, ACTION = "DATAFLOW", "STRUCTURE", "STRUCTURE_ID", "ACTION"

KINDS = ("dataflow", "datastructure", "dataprovision")
"""What a file of version 2.0 may say that it follows."""

ACTIONS = ("", "I", "A", "R", "M")
"""Actions under which rows are observations: information, append, replace, merge."""

LABEL = ": "
"""Stands between a code and its label."""

MISSING = ("", "NaN")
"""A value that is not there."""

OFF = "~"
"""Stands for a dimension of which a row does not speak."""


def observations(
    columns: Columns, value: str, dimensions: Collection[str], rows: Mapping[str, str], progress: Progress
) -> Columns:
    """The rows that are observations of the table, without labels.

    Parameters
    ----------
    value
        The column of the measure.
    dimensions
        The columns of the dimensions.
    rows
        How rows of the table are known, where the file has several tables.

    Raises
    ------
    InputError
        Where the file is not SDMX-CSV, follows several structures, deletes, or leaves out values.
    """
    columns = _without_labels(columns)
    _check_version(columns)
    if rows:
        columns = columns.chosen(rows)
    structure_of(columns)
    _check_actions(columns)
    columns.column(value)
    for name in dimensions:
        columns.column(name)
    return _with_values(columns, value, dimensions, progress)


def structure_of(columns: Columns) -> str:
    """The one structure that the rows follow, such as ``OFFICE:TURNOVER(1.0)``."""
    name = DATAFLOW if DATAFLOW in columns else STRUCTURE_ID
    found = _texts(columns, name)
    for row, text in enumerate(found):
        if not text:
            raise columns.fault(row, f"the column {name!r} is empty", "Name the structure in every line.")
        if text != found[0]:
            raise columns.fault(
                row,
                "the file follows several structures, and this line another than the first",
                f"Choose one of them: rows = {{{name} = …}}.",
            )
    return found[0]


def _without_labels(columns: Columns) -> Columns:
    """Identifiers in place of ``ID: name``, and codes in place of ``code: label`` below them."""
    import pyarrow as pa

    names, data = [], columns.data
    for place, name in enumerate(columns.names):
        identifier, labelled, _ = name.partition(LABEL)
        identifier = re.sub(r"^STRUCTURE\[.\]$", STRUCTURE, identifier.strip())
        names.append(identifier)
        if labelled or identifier in (DATAFLOW, STRUCTURE_ID):
            texts = [None if text is None else text.partition(LABEL)[0] for text in _raw(columns, name)]
            data = data.set_column(place, name, pa.array(texts, pa.string()))
    check_names(names, columns.file)
    return replace(columns, data=data.rename_columns(names))


def _check_version(columns: Columns) -> None:
    remedy = "Version 1.0 begins with DATAFLOW, version 2.0 with STRUCTURE and STRUCTURE_ID."
    first = columns.names[0]
    if first not in (DATAFLOW, STRUCTURE):
        raise InputError(
            "not SDMX-CSV: the first column is neither DATAFLOW nor STRUCTURE",
            file=columns.file,
            line=1,
            remedy=remedy,
        )
    if first == DATAFLOW:
        return
    if STRUCTURE_ID not in columns:
        raise InputError(
            "not SDMX-CSV: there is no column STRUCTURE_ID", file=columns.file, line=1, remedy=remedy
        )
    for row, kind in enumerate(_texts(columns, STRUCTURE)):
        if kind.casefold() not in KINDS:
            raise columns.fault(
                row, "the kind of structure is unknown", f"Write one of {', '.join(KINDS)} into {STRUCTURE}."
            )


def _check_actions(columns: Columns) -> None:
    if ACTION not in columns or DATAFLOW in columns:
        return
    for row, action in enumerate(_texts(columns, ACTION)):
        if action == "D":
            raise columns.fault(
                row, "the line deletes an observation", "Give the whole table, without deletions."
            )
        if action not in ACTIONS:
            raise columns.fault(row, "the action is unknown", "Write I, A, R or M, or leave it empty.")


def _with_values(columns: Columns, value: str, dimensions: Collection[str], progress: Progress) -> Columns:
    """The rows that have a value; others only tell attributes, or that data cannot exist."""
    import pyarrow as pa

    missing = np.array([text in MISSING for text in _texts(columns, value)], dtype=bool)
    if not missing.any():
        return columns
    partial = np.zeros(len(columns), dtype=bool)
    for name in dimensions:
        partial |= np.array([text in ("", OFF) for text in _texts(columns, name)], dtype=bool)
    status = _texts(columns, OBS_STATUS) if OBS_STATUS in columns else [""] * len(columns)
    absent = np.array([text == CANNOT_EXIST for text in status], dtype=bool)
    lost = missing & ~partial & ~absent
    if lost.any():
        row = int(np.argmax(lost))
        raise columns.fault(
            row,
            f"the observation has no {value}",
            "Give the values of all cells, also of those to be hidden; data that cannot exist have "
            f"{OBS_STATUS} {CANNOT_EXIST}.",
        )
    _tell(columns, missing & partial, "lines that only tell attributes were left out", progress)
    _tell(columns, missing & ~partial, "observations that cannot exist were left out", progress)
    kept = np.flatnonzero(~missing)
    if not len(kept):
        raise InputError("there is no observation", file=columns.file, remedy="Give at least one value.")
    lines, line_of = kept.tolist(), columns.line_of
    return replace(columns, data=columns.data.take(pa.array(kept)), line_of=lambda row: line_of(lines[row]))


def _tell(columns: Columns, chosen: Bool, what: str, progress: Progress) -> None:
    if chosen.any():
        progress.note(f"{Path(columns.file).name}: {int(chosen.sum())} {what}")


def _raw(columns: Columns, name: str) -> list[Any]:
    import pyarrow as pa

    return list(columns.column(name).cast(pa.string()).to_pylist())


def _texts(columns: Columns, name: str) -> list[str]:
    """The fields of a column without outer blanks."""
    return [(text or "").strip() for text in _raw(columns, name)]
