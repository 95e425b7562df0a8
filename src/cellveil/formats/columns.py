"""Columns of records from files (CSV, Parquet, Excel) and frames (pandas, polars, Arrow), with their places.

Whatever the source, the columns come as Arrow arrays, and an error names the file and the line.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Float
from cellveil.errors import InputError, MissingExtraError, nearest_column, nearest_name
from cellveil.files import read_text, unguarded
from cellveil.formats.exact_numbers import FAULTS, Amounts, amounts_of, floats_of, plain_array

DELIMITERS = ",;\t|"
FRAME = "the frame"


@dataclass(frozen=True, repr=False, eq=False)
class Columns:
    """A table of named columns as it was found, and where.

    Parameters
    ----------
    data
        The columns as an Arrow table.
    file
        What errors name as the place.
    line_of
        The line of each row in the file, counted from 1.
    decimal
        The decimal mark of numbers written as text.

    Examples
    --------
    >>> import pyarrow as pa
    >>> columns = read_columns(pa.table({"region": ["N", "S"], "value": [4, 6]}))
    >>> columns
    Columns(2 rows of 2 columns)
    """

    data: Any
    file: str
    line_of: Callable[[int], int]
    decimal: str = "."

    def __repr__(self) -> str:
        return f"Columns({len(self)} rows of {len(self.names)} columns)"

    def __len__(self) -> int:
        return int(self.data.num_rows)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.data.column_names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def column(self, name: str) -> Any:
        """One column as an Arrow array; an error that tells the nearest name where there is none."""
        if name not in self:
            raise InputError(
                f"there is no column {name!r}",
                file=self.file,
                line=1,
                remedy=nearest_column(name, self.names),
            )
        return plain_array(self.data.column(name))

    def codes(self, name: str) -> NDArray[np.object_]:
        """A column as text; whole floats lose their point, and an empty field is an error."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column = self.column(name)
        if pa.types.is_floating(column.type):
            column = _whole_as_integers(column)
        column = column.cast(pa.string())
        empty = pc.or_(column.is_null(), pc.equal(column, "").fill_null(True))
        if pc.any(empty).as_py():
            raise self.fault(
                pc.index(empty, True).as_py(),
                f"the column {name!r} is empty",
                "Give the code; the total has a code of its own.",
            )
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=object)

    def amounts(self, name: str) -> Amounts:
        """A column of exact numbers."""
        return amounts_of(self.column(name), decimal=self.decimal)

    def floats(self, name: str) -> Float:
        """A column of floats, NaN where empty."""
        values, faults = floats_of(self.column(name), decimal=self.decimal)
        self.check_numbers(name, faults)
        return values

    def check_numbers(
        self, name: str, faults: dict[int, str], cell_of: Callable[[int], str] | None = None
    ) -> None:
        """Raise the first fault of a column of numbers."""
        if faults:
            row = min(faults)
            cell = cell_of(row) if cell_of else None
            raise self.fault(row, f"the {name} {faults[row]}", FAULTS[faults[row]], cell)

    def fault(self, row: int, what: str, remedy: str, cell: str | None = None) -> InputError:
        """An error at one row."""
        return InputError(what, file=self.file, line=self.line_of(row), cell=cell, remedy=remedy)

    def located(self, error: InputError) -> InputError:
        """Put the file into an error whose line counts rows below a header in line 1."""
        if error.file is None and error.line is not None:
            return self.fault(error.line - 2, error.what, error.remedy, error.cell)
        return error.located(file=self.file)


def read_columns(
    source: Any,
    *,
    sheet: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str = ".",
    allow_empty: bool = False,
) -> Columns:
    """Read a CSV, Parquet or Excel file, or a pandas, polars or Arrow frame.

    Parameters
    ----------
    source
        A path (the suffix tells the format; anything but .parquet and .xlsx is CSV) or a frame.
    sheet
        Name of the Excel sheet; the first one when not given.
    delimiter
        Between the fields of a CSV file; found from its header when not given.
    encoding
        Of a CSV file; UTF-8 when not given.
    decimal
        The decimal mark of a CSV file.
    allow_empty
        Accept a source without rows.
    """
    if isinstance(source, Columns):
        return source
    if not isinstance(source, str | Path):
        columns = _of_frame(source)
    elif Path(source).suffix.lower() in {".parquet", ".pq"}:
        columns = _of_parquet(Path(source))
    elif Path(source).suffix.lower() in {".xlsx", ".xlsm"}:
        columns = _of_excel(Path(source), sheet)
    else:
        columns = _of_csv(Path(source), delimiter, encoding, decimal)
    _check_names([str(name) for name in columns.names], columns.file)
    if not len(columns) and not allow_empty:
        raise InputError("there is a header but no rows", file=columns.file, remedy="Give at least one row.")
    return columns


def csv_header(path: Path) -> list[str]:
    """The column names of a CSV file, without reading the rest as columns."""
    text = read_text(path)
    _, _, header = next(_csv_rows(text, _delimiter_of(text), path))
    return [unguarded(name.strip()) for name in header]


def _of_frame(frame: Any) -> Columns:
    import narwhals as nw

    try:
        data = nw.from_native(frame)
    except TypeError:
        raise InputError(
            f"cannot read a table from a {type(frame).__name__}",
            remedy="Give a path, or a pandas, polars or Arrow frame.",
        ) from None
    if isinstance(data, nw.LazyFrame):
        data = data.collect()
    try:
        table = data.to_arrow()
    except Exception as error:
        raise InputError(
            f"the frame has a column of mixed types ({type(error).__name__})",
            file=FRAME,
            remedy="Make each column either text or numbers.",
        ) from None
    return Columns(table, FRAME, lambda row: row + 1)


def _of_parquet(path: Path) -> Columns:
    import pyarrow as pa
    import pyarrow.parquet as pq

    _check_is_file(path)
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError):
        raise InputError(
            "not a readable Parquet file", file=path, remedy="Write it again, or name another file."
        ) from None
    return Columns(table, str(path), lambda row: row + 1)


def _of_excel(path: Path, sheet: str | None) -> Columns:
    try:
        import openpyxl
    except ImportError:
        raise MissingExtraError("openpyxl", "excel", "Reading Excel files") from None
    import pyarrow as pa

    _check_is_file(path)
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except Exception:  # openpyxl raises whatever its parsers raise
        raise InputError(
            "not a readable Excel file", file=path, remedy="Save it as .xlsx, or export it as CSV."
        ) from None
    try:
        if sheet is not None and sheet not in book.sheetnames:
            raise InputError(
                f"there is no sheet {sheet!r}", file=path, remedy=nearest_name(sheet, book.sheetnames)
            )
        rows = list((book[sheet] if sheet is not None else book.worksheets[0]).iter_rows(values_only=True))
    finally:
        book.close()
    filled = [(line, row) for line, row in enumerate(rows, 1) if any(value is not None for value in row)]
    if not filled:
        raise InputError("the sheet is empty", file=path, remedy="Write the data into it.")
    (_, header), *body = filled
    width = max((i + 1 for i, name in enumerate(header) if name is not None), default=0)
    _check_no_overhang(path, width, body)
    lines = [line for line, _ in body]
    arrays = [_mixed(pa, [row[k] if k < len(row) else None for _, row in body]) for k in range(width)]
    names = ["" if name is None else str(name).strip() for name in header[:width]]
    _check_names(names, path)
    return Columns(pa.table(arrays, names=names), str(path), lambda row: lines[row])


def _check_no_overhang(path: Path, width: int, body: Iterable[tuple[int, Sequence[Any]]]) -> None:
    for line, row in body:
        if any(value is not None for value in row[width:]):
            raise InputError(
                f"more fields than the {width} of the header",
                file=path,
                line=line,
                remedy="Give each column a name, or remove the field.",
            )


def _mixed(pa: Any, values: list[Any]) -> Any:
    """An Arrow array of numbers where all values are, else of text."""
    numbers = all(value is None or type(value) in (int, float) for value in values)
    return pa.array(values if numbers else [None if v is None else str(v) for v in values], from_pandas=True)


def _of_csv(path: Path, delimiter: str | None, encoding: str | None, decimal: str) -> Columns:
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    text = read_text(path, encoding)
    delimiter = delimiter or _delimiter_of(text)
    if delimiter == decimal or len(delimiter) != 1:
        raise InputError(
            f"the delimiter {delimiter!r} cannot be used with the decimal mark {decimal!r}",
            file=path,
            remedy="Say which single character stands between the fields.",
        )
    rows = partial(_csv_rows, text, delimiter, path)
    (_, header_lines, header), *body = islice(rows(), 2)
    names = [unguarded(name.strip()) for name in header]
    _check_names(names, path, header_lines)
    if not body:
        empty = pa.table({name: pa.array([], pa.string()) for name in names})
        return Columns(empty, str(path), lambda row: header_lines)
    options = {
        "read_options": arrow_csv.ReadOptions(column_names=names, skip_rows=header_lines, block_size=1 << 24),
        "parse_options": arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values='"' in text),
        "convert_options": arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False, null_values=[]
        ),
    }
    try:
        table = arrow_csv.read_csv(pa.BufferReader(text.encode()), **options)
    except pa.ArrowInvalid:
        _check_widths(rows(), path, len(names))
        raise InputError(
            "not a readable CSV file", file=path, remedy="Check quotes and delimiters."
        ) from None
    return Columns(_unguarded(table), str(path), lambda row: next(islice(rows(), row + 1, None))[0], decimal)


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


def _csv_rows(text: str, delimiter: str, path: Path) -> Iterator[tuple[int, int, list[str]]]:
    """First line, last line and fields of each row that is not blank; the header is the first."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    line = 1
    try:
        for fields in reader:
            if fields:
                yield line, reader.line_num, fields
            line = reader.line_num + 1
    except csv.Error:
        raise InputError(
            "not readable as CSV from here on",
            file=path,
            line=line,
            remedy="Check that every double quote is closed.",
        ) from None


def _check_names(names: list[str], file: object, line: int = 1) -> None:
    if "" in names:
        raise InputError(
            f"column {names.index('') + 1} has no name", file=file, line=line, remedy="Name every column."
        )
    first: dict[str, int] = {}
    for position, name in enumerate(names, 1):
        if first.setdefault(name, position) != position:
            raise InputError(
                f"columns {first[name]} and {position} have the same name",
                file=file,
                line=line,
                remedy="Rename or remove one; check that the first line is a header.",
            )


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
                remedy="Complete the line; put fields that hold the delimiter in double quotes.",
            )


def _whole_as_integers(column: Any) -> Any:
    """Text of a float column, whole numbers without a point (codes that a spreadsheet read as numbers)."""
    import pyarrow as pa

    return pa.array(
        [
            None
            if value is None or value != value
            else str(int(value))
            if value == int(value)
            else repr(value)
            for value in column.to_pylist()
        ],
        pa.string(),
    )


def _check_is_file(path: Path) -> None:
    if path.is_dir():
        raise InputError("a folder where a file is expected", file=path, remedy="Name the file in it.")
    if not path.exists():
        raise InputError("the file does not exist", file=path, remedy="Check the path.")
