"""A first job over a data file: microdata or a ready-made table, roles of columns guessed, as commented TOML.

The job runs as it is. What was guessed is written as such, for somebody to confirm: above all the rules,
which no file can tell.
"""

from __future__ import annotations

import json
import os
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
from cellveil.microdata.source_options import SourceOptions
from cellveil.microdata.sources import SOURCE, Microdata, mapped_errors, read_header

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
class StarterJob:
    """A job file as text, and what was guessed, in words."""

    text: str
    guesses: tuple[str, ...]


@dataclass(frozen=True)
class _Guess:
    """The columns of a file by what they seem to be."""

    columns: tuple[GuessedColumn, ...]
    levels: dict[str, list[str]]
    is_ready_made: bool

    def of(self, role: ColumnRole) -> list[GuessedColumn]:
        return [column for column in self.columns if column.role is role]

    def first(self, role: ColumnRole) -> str | None:
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


def starter_job(data: Path, folder: Path, options: SourceOptions | None = None) -> StarterJob:
    """Guess a job over a data file.

    Parameters
    ----------
    folder
        Where the job file will stand; its paths are relative to that folder.
    options
        How the file is written, where that must be said.

    Raises
    ------
    InputError
        When the file cannot be read, or no column looks like a dimension.
    """
    options = options or SourceOptions()
    sample = _sample(data, options)
    guess = _guess(sample, data, options)
    if not guess.dimensions:
        raise InputError(
            "no column looks like a dimension: a few codes that occur again and again",
            file=data,
            remedy="Check that its first line is a header; else write the job by hand.",
        )
    written = _how_written(options)
    name = Path(os.path.relpath(data, folder)).as_posix()
    lines = _ready_made(guess, name, written) if guess.is_ready_made else _records(guess, name, written)
    head = [
        f"# A first job over {data.name}. Read it, correct what was guessed, then:",
        "#   cellveil check JOB.toml      what will be protected, in seconds",
        "#   cellveil run JOB.toml        the release and its report",
        "# All keys: docs/jobs.md. Lines that begin with # are not read.",
        f"title = {_text(data.stem)}",
        'output = "results"             # gets the folders public and internal',
        "",
    ]
    ending = ["[suppress]", "time_limit = 60                # seconds for the search", ""]
    return StarterJob("\n".join([*head, *lines, *ending]), tuple(_told(guess)))


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


def _guess(columns: Columns, data: Path, options: SourceOptions) -> _Guess:
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
    return _Guess(guessed, _levels(columns, dimensions), _looks_ready_made(guessed, texts))


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


def _records(guess: _Guess, name: str, written: list[str]) -> list[str]:
    roles = (ColumnRole.CONTRIBUTOR, ColumnRole.HOLDING, ColumnRole.WEIGHT, ColumnRole.REQUEST)
    lines = ["[microdata]", f"file = {_text(name)}", *written]
    for role in (*roles, ColumnRole.WAIVER):
        column = guess.first(role)
        if column is not None:
            lines.append(f"{role.value} = {_text(column)}")
    if guess.first(ColumnRole.CONTRIBUTOR) is None:
        lines.append(
            '# contributor = "…"            the column with the ids of contributors, if there is one'
        )
    amounts = guess.amounts
    if amounts and amounts[0].has_negative:
        lines.append("allow_negative = true")
    lines += ["", *_dimension_sections(guess), *_table(guess, amounts)]
    lines += ["# Which cells are unsafe is for you to decide; a cell is unsafe if any of the rules fires."]
    if amounts:
        level = ['level = "holding"'] if guess.first(ColumnRole.HOLDING) else []
        lines += ["[[rules]]", 'rule = "p%"', "p = 10", *level, ""]
    return [*lines, "[[rules]]", 'rule = "threshold"', "minimum = 3", ""]


def _table(guess: _Guess, amounts: Sequence[GuessedColumn]) -> list[str]:
    chosen = [column.name for column in guess.chosen]
    others = [column.name for column in guess.dimensions if column.name not in chosen]
    lines = ["[[tables]]", f"dimensions = {_text(chosen)}"]
    lines += [f"# also possible: {', '.join(others)}"] if others else []
    if not amounts:
        return [*lines, "# without a response the records are counted", ""]
    lines.append(f"response = {_text(amounts[0].name)}")
    rest = [column.name for column in amounts[1:]]
    return [*lines, *([f"# other amounts: {', '.join(rest)}"] if rest else []), ""]


def _dimension_sections(guess: _Guess) -> list[str]:
    lines: list[str] = []
    for column in guess.chosen:
        levels = guess.levels.get(column.name, [])
        if levels:
            lines += [f"[dimensions.{_key(column.name)}]", f"levels = {_text(levels)}", ""]
        elif column.digits:
            lines += [
                f"# [dimensions.{_key(column.name)}]     # prefixes of the codes look like a hierarchy:",
                f"# digits = {_text(list(column.digits))}",
                "",
            ]
    return lines


def _ready_made(guess: _Guess, name: str, written: list[str]) -> list[str]:
    names = [column.name for column in guess.dimensions]
    lines = ["[[tables]]", f"dimensions = {_text(names)}", f"file = {_text(name)}", *written]
    amounts = guess.amounts
    if amounts and amounts[0].name != "value":
        lines.append(f"value = {_text(amounts[0].name)}")
    status, count = guess.first(ColumnRole.STATUS), guess.first(ColumnRole.COUNT)
    if status is not None:
        lines += [
            f"status = {_text(status)}",
            '# statuses = {C = "u", D = "m", F = "s"}    if they are not u, m, s, z',
        ]
    if count is not None:
        lines.append(f"contributors = {_text(count)}")
    lines.append("")
    for column in guess.dimensions:
        total = next((code for code in column.codes if code.casefold() in TOTALS), None)
        if total is not None and total != "Total":
            lines += [f"[dimensions.{_key(column.name)}]", f"total = {_text(total)}", ""]
    if count is not None:
        return [*lines, "[[rules]]", 'rule = "threshold"', "minimum = 3", ""]
    rule = ['# top = ["x1", "x2"]           columns of the largest contributions, for the rules']
    return (
        lines
        if status is not None
        else [*lines, *rule, "# [[rules]] or [[cells]] must say what is unsafe", ""]
    )


def _how_written(options: SourceOptions) -> list[str]:
    """The keys that say how the file is written, where that was said."""
    said = {"delimiter": options.delimiter, "sheet": options.sheet, "query": options.query}
    said |= {"encoding": options.encoding if options.encoding != "utf-8" else None}
    lines = [f"{key} = {_text(value)}" for key, value in said.items() if value is not None]
    return [*lines, *([f"skip = {options.skip}"] if options.skip else [])]


def _told(guess: _Guess) -> list[str]:
    what = "a ready-made table" if guess.is_ready_made else "records"
    lines = [f"the rows look like {what}"]
    for role in ColumnRole:
        names = [column.name for column in guess.of(role)]
        if names and role is not ColumnRole.OTHER:
            lines.append(f"{role.value}: {', '.join(names)}")
    lines += [f"levels above {name}: {', '.join(above)}" for name, above in guess.levels.items()]
    unused = [column.name for column in guess.of(ColumnRole.OTHER)]
    return [*lines, *([f"not used: {', '.join(unused)}"] if unused else [])]


def _key(name: str) -> str:
    """A name as a TOML key."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(value: Any) -> str:
    """A value as TOML."""
    return json.dumps(value, ensure_ascii=False)
