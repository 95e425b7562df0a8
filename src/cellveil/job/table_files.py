"""The files of a job's ready-made tables: their rows, and which column tells what of a cell.

What the job does not say is guessed where there is one sensible guess, and told as a note.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cellveil.errors import InputError, may_be_amount
from cellveil.files import is_utf8
from cellveil.formats.aggregated import CellColumns, TableWishes, read_aggregated
from cellveil.formats.columns import Columns, read_columns
from cellveil.formats.ready_made import Totals
from cellveil.formats.recoded_rows import recoded_rows
from cellveil.formats.sdmx_csv import observations
from cellveil.job.data_sections import TableJob
from cellveil.job.job_model import Job
from cellveil.microdata.file_kinds import FileKind, kind_of
from cellveil.microdata.header_line import skip_proposed
from cellveil.microdata.number_marks import POINTS, UNSAID
from cellveil.microdata.roles import check_ready_made
from cellveil.microdata.source_options import SourceOptions
from cellveil.progress import Progress
from cellveil.rules.given_marks import GivenMarks
from cellveil.rules.weights import DISTANCE, KINDS
from cellveil.tables.dimension import Dimension
from cellveil.tables.table import Table

GUESSED = ("status", "contributors", "lpl", "upl", "spl", "lb", "ub")
"""Columns of these names are taken for what they say, where the job names none."""

CONFIDENTIALITY = ("conf_status", "obs_conf")
"""The same for the status in files of SDMX."""

WINDOWS = "cp1252"
"""Encoding of files that are not in UTF-8, where none is said."""

TOTALS = (
    *("total", "totals", "tot", "all", "sum", "_t", "grand total", "overall"),
    *("gesamt", "insgesamt", "ensemble", "totale", "totaal", "razem", "suma"),
)
"""Words for the total of a dimension."""


@dataclass(frozen=True, repr=False, eq=False)
class TableFile:
    """The rows of one table, with the columns of dimensions named as these, and what the others tell."""

    columns: Columns
    named: CellColumns


def open_tables(job: Job, exact: Collection[str], progress: Progress) -> dict[int, TableFile]:
    """The rows of every table that has a file, by its place in the job.

    Parameters
    ----------
    exact
        Dimensions whose codes have outer blanks, so that these are not cut off.
    """
    read: dict[str, Columns] = {}
    found = {}
    for position, table in enumerate(job.tables):
        if table.file is not None:
            with job.placing_errors("tables", position):
                written = table.source_options()
                if table.is_sdmx and written.marks == UNSAID:
                    written = replace(written, marks=POINTS)  # as the standard has it
                key = repr((table.file, written))
                if key not in read:
                    read[key] = _read(table, written, progress)
                columns = _observations(job, table, read[key], progress) if table.is_sdmx else read[key]
                found[position] = _opened(job, table, columns, exact, progress)
    return found


def _read(table: TableJob, written: SourceOptions, progress: Progress) -> Columns:
    """The columns of a file; where nothing is said, a CSV file not in UTF-8 is one of western Windows."""
    assert table.file is not None, "the table has a file"
    if not table.first_given("encoding") and kind_of(table.file) is FileKind.CSV and not is_utf8(table.file):
        progress.note(f"{table.file.name}: it is not in UTF-8, and was read as {WINDOWS}")
        written = replace(written, encoding=WINDOWS)
    return read_columns(table.file, written)


def _observations(job: Job, table: TableJob, columns: Columns, progress: Progress) -> Columns:
    """The rows of a file of SDMX that are cells."""
    settings = {name: job.dimensions.get(name) for name in table.dimensions}
    names = [(given.column if given else None) or name for name, given in settings.items()]
    return observations(columns, table.cell_columns().value, names, table.rows, progress)


def read_one(
    table: TableJob, file: TableFile, recoded: list[tuple[Dimension, Dimension]], progress: Progress
) -> tuple[Table, GivenMarks]:
    """One ready-made table, and what its rows say of the cells.

    Parameters
    ----------
    recoded
        Each dimension as the file has it, and as the table is to have it.
    """
    progress.stage("read")
    dimensions = [now for _, now in recoded]
    totals = _totals(table, file, [old for old, _ in recoded], progress)
    columns = file.columns
    if any(old is not now for old, now in recoded):
        columns = recoded_rows(columns, file.named, recoded, totals, progress)
    wishes = TableWishes(
        totals,
        table.decimals,
        table.incomplete,
        table.repair,
        table.allow_negative,
    )
    named = {dimension.name: dimension for dimension in dimensions}
    return read_aggregated(columns, named, file.named, wishes, progress)


def total_in(name: str, said: str | None, codes: Iterable[str], progress: Progress) -> str:
    """The code of the total of a flat dimension: as said, “Total”, or the one code that is a word for it."""
    found = list(codes)
    if said is not None or "Total" in found:
        return said or "Total"
    words = [code for code in found if code.casefold() in TOTALS]
    if len(words) != 1:
        return "Total"
    progress.note(f"dimension {name!r}: the code {words[0]!r} is taken for the total")
    return words[0]


def _opened(
    job: Job, table: TableJob, columns: Columns, exact: Collection[str], progress: Progress
) -> TableFile:
    columns = _named_as_dimensions(job, table, columns)
    if table.rows:
        columns = columns.chosen(table.rows)
    for name in table.dimensions:
        _check_there(columns, name, "dimensions")  # before anything else
    columns, padded = columns.trimmed([name for name in table.dimensions if name not in exact])
    if padded:
        progress.note(f"{_title(columns)}: blanks around codes were cut off ({padded} fields)")
    named = _guessed(job, table, columns, progress)
    check_ready_made(table.dimensions, dict(named.parts()), columns.file)
    for name in (*named.numbers(), *([named.status] if named.status else [])):
        key = next((key for key, column in vars(named).items() if column == name), "top")
        _check_there(columns, name, "weights.kind" if name in named.others else key)
    columns, notes = columns.with_marks(named.numbers())
    for note in notes:
        progress.note(note)
    return TableFile(columns, named)


def _check_there(columns: Columns, name: str, key: str) -> None:
    """Raise where a column is missing, and say what to write."""
    try:
        columns.column(name)
    except InputError as error:
        remedy = f"{error.remedy} The key {key} names this column."
        if "first line" in error.remedy:
            told = skip_proposed(error.file, [name])
            remedy += f" If lines stand above the header, say how many: {told}."
        raise InputError(error.what, file=error.file, line=error.line, remedy=remedy) from None


def _named_as_dimensions(job: Job, table: TableJob, columns: Columns) -> Columns:
    settings = {name: job.dimensions[name] for name in table.dimensions if name in job.dimensions}
    renamed = {given.column: name for name, given in settings.items() if given.column is not None}
    for column, name in renamed.items():
        columns.column(column)
        if column != name and name in columns:
            raise InputError(
                f"there are columns {column!r} and {name!r}, both for the dimension {name!r}",
                file=columns.file,
                line=1,
                remedy="Rename one of the columns.",
            )
    names = [renamed.get(name, name) for name in columns.names]
    return replace(columns, data=columns.data.rename_columns(names))


def _guessed(job: Job, table: TableJob, columns: Columns, progress: Progress) -> CellColumns:
    """What the job says of the columns, completed by those whose names say it."""
    named = table.cell_columns()
    taken = {*table.dimensions, *table.rows, *(column for _, column in named.parts() if column)}
    folded = {name.casefold(): name for name in columns.names if name not in taken}
    names = {key: key for key in GUESSED}
    if table.is_sdmx:
        names["status"] = next((name for name in CONFIDENTIALITY if name in folded), "")
    guessed: dict[str, Any] = {
        key: folded[name]
        for key, name in names.items()
        if getattr(table, key) is None and folded.get(name) is not None
    }
    if named.value not in columns and named.value.casefold() in folded:
        guessed["value"] = folded[named.value.casefold()]
    elif named.value not in columns and not table.first_given("value") and not table.is_sdmx:
        free = [name for name in folded.values() if name not in guessed.values()]
        numbers = [name for name in free if _is_of_numbers(columns, name)]
        if len(numbers) == 1:
            progress.note(f"{_title(columns)}: value = {numbers[0]!r}, the only other column of numbers")
            named = replace(named, value=numbers[0])
    if guessed:
        told = ", ".join(f"{key} = {column!r}" for key, column in guessed.items())
        progress.note(f"{_title(columns)}: columns taken for what their names say: {told}")
    kind = job.weights.kind
    return replace(named, **guessed, others=() if kind in (*KINDS, DISTANCE) else (kind,))


def _is_of_numbers(columns: Columns, name: str) -> bool:
    """Whether all fields may be amounts, and the name of the column is none: without a header it would be."""
    texts = [str(text) for text in columns.column(name).to_pylist() if text is not None]
    return not may_be_amount(name) and any(map(str.strip, texts)) and all(map(may_be_amount, texts))


def _totals(table: TableJob, file: TableFile, dimensions: list[Dimension], progress: Progress) -> Totals:
    """Whether the file has totals: as the job says, else whether there is the code of one."""
    if table.totals is not None:
        return table.totals
    for dimension in dimensions:
        codes = set(file.columns.codes(dimension.name).tolist())
        if any(dimension.is_parent[dimension.index[code]] for code in codes if code in dimension.index):
            return "given"
    progress.note(f"{_title(file.columns)}: there are no totals; they are computed")
    return "none"


def _title(columns: Columns) -> str:
    return Path(columns.file).name
