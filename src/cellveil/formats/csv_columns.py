"""Columns of tables in CSV files: delimiter, header, rows and the line of each."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from cellveil.errors import InputError
from cellveil.files import read_text, unguarded
from cellveil.microdata.file_kinds import check_is_text
from cellveil.microdata.foreign_files import check_names
from cellveil.microdata.header_line import skip_proposed
from cellveil.microdata.source_options import SourceOptions

DELIMITERS = ",;\t|"


def csv_header(path: Path) -> list[str]:
    """The column names of a CSV file, without reading the rest as columns."""
    text = read_text(path)
    _, _, header = next(_rows(text, _delimiter_of(text), path))
    return [unguarded(name.strip()) for name in header]


def read_csv(path: Path, written: SourceOptions) -> tuple[Any, Callable[[int], int]]:
    """The columns as an Arrow table of text, and the line of a row."""
    check_is_text(path)
    skip = written.skip
    text = _without_lines(read_text(path, None if written.is_utf8 else written.encoding), skip, path)
    delimiter = written.delimiter or _delimiter_of(text)
    if delimiter == written.marks.decimal:
        raise InputError(
            f"the delimiter {delimiter!r} cannot be used with the decimal mark {delimiter!r}",
            file=path,
            remedy="Say which single character stands between the fields.",
        )
    rows = partial(_rows, text, delimiter, path, skip)
    table, header_lines = _parsed(text, delimiter, path, skip)
    if not len(table):
        return table, lambda row: header_lines + skip
    return _unguarded(table), lambda row: next(islice(rows(), row + 1, None))[0]


def _without_lines(text: str, skip: int, path: Path) -> str:
    lines = text.splitlines(keepends=True) if skip else []
    if skip and skip >= len(lines):
        raise InputError(
            f"{skip} lines are to be skipped, and there are no more", file=path, remedy="Lower skip."
        )
    return "".join(lines[skip:]) if skip else text


def _parsed(text: str, delimiter: str, path: Path, skip: int) -> tuple[Any, int]:
    """The rows as they are, and how many lines the header has, blank ones above it included."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    rows = partial(_rows, text, delimiter, path, skip)
    (_, last, header), *body = islice(rows(), 2)
    header_lines = last - skip
    names = [unguarded(name.strip()) for name in header]
    check_names(names, path, last)
    if not body:
        return pa.table({name: pa.array([], pa.string()) for name in names}), header_lines
    options = {
        "read_options": arrow_csv.ReadOptions(column_names=names, skip_rows=header_lines, block_size=1 << 24),
        "parse_options": arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values='"' in text),
        "convert_options": arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False, null_values=[]
        ),
    }
    try:
        return arrow_csv.read_csv(pa.BufferReader(text.encode()), **options), header_lines
    except pa.ArrowInvalid:
        _check_widths(rows(), path, len(names))
        raise InputError(
            "not a readable CSV file", file=path, remedy="Check quotes and delimiters."
        ) from None


def _unguarded(table: Any) -> Any:
    """Texts without the apostrophe before what a spreadsheet would take for a formula."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for place, name in enumerate(table.column_names):
        column = table.column(name)
        if pc.any(pc.starts_with(column, "'")).as_py():
            texts = pa.array([unguarded(text) for text in column.to_pylist()], pa.string())
            table = table.set_column(place, name, texts)
    return table


def _rows(text: str, delimiter: str, path: Path, skip: int = 0) -> Iterator[tuple[int, int, list[str]]]:
    """First line, last line and fields of each row that is not blank; the header is the first."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    line = 1 + skip
    try:
        for fields in reader:
            if fields:
                yield line, reader.line_num + skip, fields
            line = reader.line_num + 1 + skip
    except csv.Error:
        raise InputError(
            "not readable as CSV from here on",
            file=path,
            line=line,
            remedy="Check that every double quote is closed.",
        ) from None


def _delimiter_of(text: str) -> str:
    """The delimiter that stands in the header most often."""
    header = text.lstrip().split("\n", 1)[0]
    return max(DELIMITERS, key=header.count)


def _check_widths(rows: Iterator[tuple[int, int, list[str]]], path: Path, width: int) -> None:
    """Raise at the first row with another number of fields than the header."""
    for line, _, fields in rows:
        if len(fields) != width:
            raise InputError(
                f"{len(fields)} fields where the header has {width}",
                file=path,
                line=line,
                remedy="Complete the line; put fields that hold the delimiter in double quotes. If lines "
                f"stand above the header, say how many: {skip_proposed(path)}.",
            )
