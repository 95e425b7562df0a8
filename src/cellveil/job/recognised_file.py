"""The columns of a file of microdata or of a ready-made table, by what they seem to be: a guess."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cellveil.errors import InputError
from cellveil.formats.columns import Columns, read_columns
from cellveil.job.table_files import TOTALS
from cellveil.microdata.column_facts import nested_order
from cellveil.microdata.column_roles import ColumnRole, GuessedColumn, guessed_columns
from cellveil.microdata.file_kinds import FileKind, kind_of
from cellveil.microdata.reading_faults import mapped_errors
from cellveil.microdata.source_options import SourceOptions
from cellveil.microdata.source_records import SOURCE
from cellveil.microdata.sources import Microdata, read_header

MONEY = re.compile("turnover|value|amount|revenue|sales|income|umsatz|chiffre|omzet", re.IGNORECASE)

SAMPLE = 100_000
"""Records that are looked at."""

MOST_DIMENSIONS = 3
"""Dimensions of the table that is proposed."""

MOST_COMBINATIONS = 100_000
"""Combinations of codes of that table."""

REPEATED = 3
"""How often each code occurs at least, on average, for columns to be levels of one dimension."""


@dataclass(frozen=True)
class RecognisedFile:
    """The columns of a file by what they seem to be.

    Parameters
    ----------
    levels
        For the finest column of each nest the columns above it, coarsest first.
    is_ready_made
        Whether the rows are cells of a table, not records.
    rows
        Records that were looked at.
    missing
        How many of them have nothing in a column.
    numbers
        The columns that hold nothing but numbers.
    """

    columns: tuple[GuessedColumn, ...]
    levels: dict[str, list[str]]
    is_ready_made: bool
    rows: int
    missing: dict[str, int]
    numbers: frozenset[str]

    def of(self, role: ColumnRole) -> list[GuessedColumn]:
        """The columns of a role."""
        return [column for column in self.columns if column.role is role]

    def first(self, role: ColumnRole) -> str | None:
        """The name of the first column of a role."""
        return next((column.name for column in self.of(role)), None)

    @property
    def dimensions(self) -> list[GuessedColumn]:
        """Those that are no level above another one."""
        above = {name for names in self.levels.values() for name in names}
        return [column for column in self.of(ColumnRole.DIMENSION) if column.name not in above]

    @property
    def chosen(self) -> list[GuessedColumn]:
        """Those of the table that is proposed: the first ones that do not make it too large."""
        found: list[GuessedColumn] = []
        size = 1
        for column in self.dimensions:
            if len(found) < MOST_DIMENSIONS and (size * column.distinct <= MOST_COMBINATIONS or not found):
                found.append(column)
                size *= column.distinct
        return found

    @property
    def amounts(self) -> list[GuessedColumn]:
        """Those whose names speak of money first."""
        return sorted(self.of(ColumnRole.AMOUNT), key=lambda column: not MONEY.search(column.name))


def recognised_file(data: Path, options: SourceOptions | None = None) -> RecognisedFile:
    """Look at the first records of a file.

    Raises
    ------
    InputError
        When the file cannot be read, or no column looks like a dimension.
    """
    options = options or SourceOptions()
    guess = _guess(_sample(data, options), options)
    if not guess.dimensions:
        raise InputError(
            "no column looks like a dimension: a few codes that occur again and again",
            file=data,
            remedy="Check that its first line is a header; else write the job by hand.",
        )
    return guess


def _sample(data: Path, options: SourceOptions) -> Columns:
    """The first records of a file of any kind."""
    kind = kind_of(data)
    if kind not in (FileKind.CSV, FileKind.PARQUET):
        columns = read_columns(data, options)
        return read_columns(columns.data.slice(0, SAMPLE))
    import duckdb
    import pyarrow.parquet as pq

    if not data.is_file():
        raise InputError("the file does not exist", file=data, remedy="Check the path.")
    with TemporaryDirectory() as scratch, duckdb.connect() as connection, mapped_errors(data):
        names = read_header(data, options)[0] if kind is FileKind.CSV else pq.read_schema(data).names
        Microdata(connection, data, names, options, Path(scratch))
        found = connection.sql(f"SELECT * FROM {SOURCE} LIMIT {SAMPLE}").to_arrow_table()
    return read_columns(found, allow_empty=True)


def _guess(columns: Columns, options: SourceOptions) -> RecognisedFile:
    import pyarrow as pa

    columns = replace(columns, marks=options.marks)
    texts: dict[str, Any] = {}
    numbers: dict[str, Any] = {}
    for name in columns.names:
        if not name.strip():
            continue
        texts[name] = columns.column(name).cast(pa.string()).to_pylist()
        try:
            numbers[name] = columns.with_marks([name])[0].floats(name)
        except (InputError, pa.ArrowInvalid):
            numbers[name] = None
    guessed = tuple(guessed_columns(texts, numbers))
    dimensions = [column.name for column in guessed if column.role is ColumnRole.DIMENSION]
    return RecognisedFile(
        guessed,
        _levels(columns, dimensions),
        _looks_ready_made(guessed, texts),
        len(columns),
        {name: sum(text is None or not text.strip() for text in found) for name, found in texts.items()},
        frozenset(name for name, found in numbers.items() if found is not None),
    )


def _levels(columns: Columns, names: Sequence[str]) -> dict[str, list[str]]:
    """For the finest column of each nest the columns above it, coarsest first.

    Few records may be nested by chance; so every code must occur several times. Columns with equally many
    codes are code and label, not two levels.
    """
    sizes = {name: len(set(columns.column(name).to_pylist())) for name in names}
    found: dict[str, list[str]] = {}
    taken: set[str] = set()
    for fine in sorted(names, key=lambda name: -sizes[name]):
        if fine in taken or len(columns) < REPEATED * sizes[fine]:
            continue
        chain = [fine]
        for coarse in sorted(names, key=lambda name: -sizes[name]):
            if coarse in taken or sizes[coarse] * 2 > sizes[chain[0]]:
                continue
            if nested_order(columns.data, [coarse, chain[0]], SourceOptions()) is not None:
                chain.insert(0, coarse)
        if len(chain) > 1:
            found[fine] = chain[:-1]
            taken |= {*chain}
    return found


def _looks_ready_made(columns: Sequence[GuessedColumn], texts: dict[str, Any]) -> bool:
    """Whether the rows are cells: codes of totals occur, and no combination of codes occurs twice."""
    names = [column.name for column in columns if column.role is ColumnRole.DIMENSION]
    has_totals = any(
        code.casefold() in TOTALS for column in columns if column.name in names for code in column.codes
    )
    has_status = any(column.role is ColumnRole.STATUS for column in columns)
    rows = list(zip(*(texts[name] for name in names), strict=True))
    return (has_totals or has_status) and bool(names) and len(set(rows)) == len(rows)
