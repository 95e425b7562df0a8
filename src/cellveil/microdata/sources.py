"""Where microdata come from: files, frames and databases, all as relations of one DuckDB connection.

Errors name the file and the line (of a CSV file with a header) or the row, and never a value.
"""

from __future__ import annotations

import csv
import gzip
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from cellveil.errors import InputError
from cellveil.microdata.data_files import expand_files, for_duckdb
from cellveil.microdata.file_kinds import FileKind, check_is_text, kind_of
from cellveil.microdata.foreign_files import read_arrow, read_database, read_excel, read_statistical
from cellveil.microdata.frame_columns import arrow_table, check_columns
from cellveil.microdata.reading_faults import mapped_errors, wrong_encoding
from cellveil.microdata.source_options import SourceOptions
from cellveil.microdata.source_records import SOURCE, SourceFile, of_record
from cellveil.microdata.sql import ident, literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

DELIMITERS = ",;\t|"
FRAME = "microdata_frame"


@dataclass(frozen=True, repr=False)
class PlacedFrame:
    """Records that were read from a file already: a frame, the file's name, and the line of each record."""

    frame: Any
    file: str
    line_of: Callable[[int], int]


class Microdata:
    """The needed columns of a source, as the view ``microdata`` of a connection.

    Parameters
    ----------
    connection
        Where the view is made.
    source
        Path, glob pattern or list of them; pandas, polars or Arrow frame; DuckDB relation; `PlacedFrame`.
    needed
        Names of the columns.
    options
        How the files are written.
    scratch
        Folder for files that must be recoded.
    """

    def __init__(
        self,
        connection: DuckDBPyConnection,
        source: Any,
        needed: Sequence[str],
        options: SourceOptions,
        scratch: Path,
    ) -> None:
        self._connection, self._source = connection, source
        self._needed = list(dict.fromkeys(needed))
        self.options, self._scratch = options, scratch
        self._recoded: dict[Path, Path] = {}
        self._loaded: dict[Path, tuple[Any, list[int] | None]] = {}
        self.parts = self._attach()
        described = connection.execute(f"DESCRIBE {SOURCE}").fetchall()
        self.types: dict[str, str] = {row[0]: str(row[1]) for row in described}

    @property
    def name(self) -> str | None:
        """The file, where there is one only."""
        return self.parts[0].name if len(self.parts) == 1 else None

    @property
    def title(self) -> str:
        """What notes call the source: the name of the first file without its folder."""
        name = self.parts[0].name
        return "the microdata" if name is None else Path(name).name

    def first(self, condition: str, column: str) -> tuple[SourceFile, int, Any] | None:
        """Part, row and content of a column at the first record (called m) that meets a condition."""
        self.parts = self._attach()  # a stream can be read only once
        connection = self._connection
        connection.execute("SET threads = 1; SET preserve_insertion_order = true")
        for part in self.parts:
            found = connection.execute(
                f"SELECT number, content FROM (SELECT row_number() OVER () - 1 AS number, "
                f"{of_record(column)} AS content, {condition} AS wanted FROM ({part.relation}) AS m) "
                "WHERE wanted ORDER BY number LIMIT 1"
            ).fetchone()
            if found:
                return part, int(found[0]), found[1]
        return None

    def _attach(self) -> list[SourceFile]:
        self._frames: list[str] = []
        parts = list(self._parts())
        self._connection.execute(
            f"CREATE OR REPLACE TEMP VIEW {SOURCE} AS "
            + " UNION ALL ".join(f"SELECT {self._columns()} FROM ({part.relation})" for part in parts)
        )
        return parts

    def _columns(self) -> str:
        return ", ".join(map(ident, self._needed)) or "1 AS nothing"

    def _parts(self) -> Iterator[SourceFile]:
        if isinstance(self._source, (str, Path)):
            yield from self._files([self._source])
        elif isinstance(self._source, (list, tuple)) and not any(
            isinstance(record, Mapping) for record in self._source
        ):
            yield from self._files(self._source)
        else:
            yield self._frame()

    def _files(self, given: Sequence[Any]) -> Iterator[SourceFile]:
        readers: Mapping[FileKind, Callable[[Path], SourceFile]] = {
            FileKind.CSV: self._csv,
            FileKind.PARQUET: self._parquet,
            FileKind.DATABASE: self._database,
        }
        for path in expand_files(given):
            with mapped_errors(path):
                part = readers.get(kind_of(path), self._foreign)(path)
            yield part

    def _foreign(self, path: Path) -> SourceFile:
        """A file that is read as a whole, and once."""
        if path not in self._loaded:
            self._loaded[path] = self._load(path, kind_of(path))
        table, lines = self._loaded[path]
        check_columns(self._needed, table.column_names, path)
        line_of = None if lines is None else lines.__getitem__
        return self._registered(table.select(self._needed), str(path), line_of)

    def _load(self, path: Path, kind: FileKind) -> tuple[Any, list[int] | None]:
        if kind is FileKind.EXCEL:
            return read_excel(path, self.options.sheet, self.options.skip)
        return read_arrow(path) if kind is FileKind.ARROW else read_statistical(path, kind), None

    def _database(self, path: Path) -> SourceFile:
        found = read_database(path, self.options.query)
        if type(found).__name__ == "DuckDBPyRelation":
            return self._registered(self._stream(found, path), str(path))
        check_columns(self._needed, found.column_names, path)
        return self._registered(found.select(self._needed), str(path))

    def _registered(
        self, data: Any, name: str | None, line_of: Callable[[int], int] | None = None
    ) -> SourceFile:
        """A part whose rows are Arrow data under a name of its own."""
        alias = f"{FRAME}{len(self._frames)}"
        self._frames.append(alias)
        self._connection.register(alias, data)
        return SourceFile(name, f"SELECT {self._columns()} FROM {alias}", line_of)

    def _parquet(self, path: Path) -> SourceFile:
        # The columns are those of the file, also where the names of its folders look like partitions.
        relation = f"read_parquet({literal(for_duckdb(path))}, hive_partitioning = false)"
        described = self._connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
        check_columns(self._needed, [row[0] for row in described], path)
        return SourceFile(str(path), f"SELECT {self._columns()} FROM {relation}")

    def _csv(self, path: Path) -> SourceFile:
        check_is_text(path)
        header, delimiter = read_header(path, self.options)
        check_columns(self._needed, header, path)
        columns = ", ".join(f"k{position}: 'VARCHAR'" for position in range(len(header)))
        chosen = ", ".join(f"k{header.index(name)} AS {ident(name)}" for name in self._needed)
        readable, first_line = self._in_utf8(path), self.options.skip + 2
        return SourceFile(
            str(path),
            f"SELECT {chosen or '1 AS nothing'} FROM read_csv({literal(for_duckdb(readable))}, "
            f"auto_detect = false, hive_partitioning = false, header = true, skip = {self.options.skip}, "
            f"delim = {literal(delimiter)}, quote = '\"', escape = '\"', columns = {{{columns}}})",
            line_of=lambda row: row + first_line,
        )

    def _in_utf8(self, path: Path) -> Path:
        """The file itself, or a copy in UTF-8."""
        if self.options.is_utf8:
            return path
        if path in self._recoded:
            return self._recoded[path]
        copy = self._recoded[path] = self._scratch / f"recoded-{len(self._recoded)}.csv"
        with (
            open_text(path, self.options) as text,
            copy.open("w", encoding="utf-8", newline="") as out,
        ):
            shutil.copyfileobj(text, out, 2**20)
        return copy

    def _frame(self) -> SourceFile:
        placed = self._source if isinstance(self._source, PlacedFrame) else None
        frame = placed.frame if placed else self._source
        if type(frame).__name__ == "DuckDBPyRelation":
            return self._registered(self._stream(frame, None), None)
        arrow = arrow_table(frame, self._needed)
        if placed:
            return self._registered(arrow, placed.file, placed.line_of)
        return self._registered(arrow, None)

    def _stream(self, relation: DuckDBPyRelation, file: Path | None) -> Any:
        import pyarrow as pa

        check_columns(self._needed, relation.columns, file)
        return pa.RecordBatchReader.from_stream(relation.project(self._columns()))


def open_text(path: Path, options: SourceOptions, errors: str = "strict") -> TextIO:
    """Open a text file, also a gzipped one; a byte-order mark is dropped."""
    encoding = "utf-8-sig" if options.is_utf8 else options.encoding
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding=encoding, errors=errors, newline="")
    return path.open(encoding=encoding, errors=errors, newline="")


def read_header(path: Path, options: SourceOptions) -> tuple[list[str], str]:
    """Column names of a CSV file, and the delimiter."""
    with open_text(path, options, errors="replace") as text:  # DuckDB finds the line of a wrong character
        for _ in range(options.skip):
            text.readline()
        begin = text.tell()
        line = text.readline()
        if not line.strip():
            raise InputError("the file is empty", file=path, remedy="Write a header and the records into it.")
        delimiter = options.delimiter or max(DELIMITERS, key=line.count)
        text.seek(begin)
        header = next(csv.reader(text, delimiter=delimiter))
    if any("\N{REPLACEMENT CHARACTER}" in name for name in header):
        raise wrong_encoding(path, options.skip + 1, "utf-8" if options.is_utf8 else options.encoding)
    return [name.strip() for name in header], delimiter
