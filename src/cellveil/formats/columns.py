"""Columns of records from files of all kinds and frames (pandas, polars, Arrow), with their places.

Whatever the source, the columns come as Arrow arrays, and an error names the file and the line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Float
from cellveil.errors import InputError, nearest_column
from cellveil.formats.csv_columns import read_csv
from cellveil.formats.exact_numbers import FAULTS, Amounts, amounts_of, floats_of, plain_array
from cellveil.microdata.file_kinds import FileKind, kind_of
from cellveil.microdata.foreign_files import (
    check_is_file,
    check_names,
    read_arrow,
    read_database,
    read_excel,
    read_statistical,
)
from cellveil.microdata.frame_columns import plain_columns
from cellveil.microdata.number_marks import POINTS, NumberMarks, evidence_of
from cellveil.microdata.source_options import SourceOptions

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
    marks
        The decimal and thousands marks of numbers written as text.

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
    marks: NumberMarks = POINTS

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

    def trimmed(self, names: Iterable[str]) -> tuple[Columns, int]:
        """The columns, those of these names without outer blanks, and how many fields had any."""
        import pyarrow as pa
        import pyarrow.compute as pc

        data, count = self.data, 0
        for name in names:
            column = self.column(name)
            if pa.types.is_string(column.type):
                text = pc.utf8_trim_whitespace(column)
                count += pc.sum(pc.not_equal(text, column)).as_py() or 0
                data = data.set_column(self.names.index(name), name, text)
        return replace(self, data=data), count

    def with_marks(self, names: Iterable[str]) -> tuple[Columns, tuple[str, ...]]:
        """The columns with the marks that these columns of numbers show, and what to tell about it."""
        import pyarrow as pa

        columns = [self.column(name) for name in names]
        shown = evidence_of([column for column in columns if pa.types.is_string(column.type)])
        marks, notes = self.marks.settled(shown, Path(self.file).name)
        return replace(self, marks=marks), notes

    def chosen(self, wanted: Mapping[str, str]) -> Columns:
        """The rows that have these texts in these columns; their lines stay as they are."""
        import pyarrow as pa
        import pyarrow.compute as pc

        kept = np.ones(len(self), dtype=bool)
        for name, text in wanted.items():
            found = pc.utf8_trim_whitespace(self.column(name).cast(pa.string()))
            kept &= pc.equal(found, text).fill_null(False).to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(kept)
        if not len(rows):
            said = ", ".join(f"{name} = {text!r}" for name, text in wanted.items())
            raise InputError(
                f"no row has {said}", file=self.file, remedy="Check how rows of the table are known."
            )
        lines = rows.tolist()
        line_of = self.line_of
        return replace(self, data=self.data.take(pa.array(rows)), line_of=lambda row: line_of(lines[row]))

    def amounts(self, name: str) -> Amounts:
        """A column of exact numbers."""
        return amounts_of(self.column(name), marks=self.marks)

    def floats(self, name: str) -> Float:
        """A column of floats, NaN where empty."""
        values, faults = floats_of(self.column(name), marks=self.marks)
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
    written: SourceOptions | None = None,
    *,
    sheet: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str = ".",
    allow_empty: bool = False,
) -> Columns:
    """Read a file of any kind (`cellveil.microdata.file_kinds`), or a pandas, polars or Arrow frame.

    Parameters
    ----------
    source
        A path (the end of its name tells the kind; CSV if it tells none) or a frame.
    written
        How a file is written, in place of what follows. Where it does not say the marks of numbers,
        `Columns.with_marks` finds them.
    sheet
        Name of the Excel sheet; the first one when not given.
    delimiter
        Between the fields of a CSV file; found from its header when not given.
    encoding
        Of a CSV file; UTF-8 when not given.
    decimal
        The decimal mark of numbers written as text.
    allow_empty
        Accept a source without rows.
    """
    if isinstance(source, Columns):
        return source
    if written is None:
        written = SourceOptions(delimiter, encoding or "utf-8", NumberMarks(decimal, ""), sheet=sheet)
    if not isinstance(source, str | Path):
        columns = _of_frame(source)
    else:
        path = Path(source)
        kind = kind_of(path)
        data, line_of = read_csv(path, written) if kind is FileKind.CSV else _of_file(path, kind, written)
        columns = Columns(data, str(path), line_of)
    check_names([str(name) for name in columns.names], columns.file)
    if not len(columns) and not allow_empty:
        raise InputError("there is a header but no rows", file=columns.file, remedy="Give at least one row.")
    return replace(columns, marks=written.marks)


def _of_file(path: Path, kind: FileKind, written: SourceOptions) -> tuple[Any, Callable[[int], int]]:
    """The rows of a file other than CSV, and the line or number of each."""
    if kind is FileKind.EXCEL:
        data, lines = read_excel(path, written.sheet, written.skip)
        return data, lines.__getitem__
    if kind is FileKind.PARQUET:
        check_is_file(path)
        return _of_parquet(path), _number
    if kind is FileKind.ARROW:
        return read_arrow(path), _number
    if kind is FileKind.DATABASE:
        found = read_database(path, written.query)
        return (found if hasattr(found, "num_rows") else found.to_arrow_table()), _number
    return read_statistical(path, kind), _number


def _number(row: int) -> int:
    return row + 1


def _of_frame(frame: Any) -> Columns:
    import narwhals as nw

    try:
        data = nw.from_native(plain_columns(frame))
    except TypeError:
        raise InputError(
            f"cannot read a table from a {type(frame).__name__}",
            remedy="Give a path, a pandas, polars or Arrow frame, or a dict of columns.",
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
    return Columns(table, FRAME, _number)


def _of_parquet(path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_table(path)
    except (pa.ArrowException, OSError):
        raise InputError(
            "not a readable Parquet file", file=path, remedy="Write it again, or name another file."
        ) from None


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
