"""Records of other programs' files as Arrow tables: spreadsheets, statistical packages, databases.

Errors name the file and the line or row, and never a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cellveil.errors import InputError, MissingExtraError, name_some, nearest_name
from cellveil.microdata.file_kinds import FileKind
from cellveil.microdata.header_line import skip_proposed

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def read_excel(path: Path, sheet: str | None = None, skip: int = 0) -> tuple[Any, list[int]]:
    """One sheet as an Arrow table, and the line of each of its rows; the first sheet if none is named.

    Parameters
    ----------
    skip
        Lines above the header.
    """
    rows = _sheet_rows(path, sheet)
    filled = [(line, row) for line, row in rows if line > skip and any(value is not None for value in row)]
    if not filled:
        raise InputError("the sheet is empty", file=path, remedy="Write the data into it.")
    (header_line, header), *body = filled
    width = max((i + 1 for i, name in enumerate(header) if name is not None), default=0)
    _check_no_overhang(path, width, body)
    names = ["" if name is None else str(name).strip() for name in header[:width]]
    check_names(names, path, header_line)
    import pyarrow as pa

    arrays = [_mixed(pa, [row[k] if k < len(row) else None for _, row in body]) for k in range(width)]
    return pa.table(arrays, names=names), [line for line, _ in body]


def _sheet_rows(path: Path, sheet: str | None) -> list[tuple[int, Sequence[Any]]]:
    try:
        import openpyxl
    except ImportError:
        raise MissingExtraError("openpyxl", "excel", "Reading Excel files") from None
    check_is_file(path)
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
        chosen = book[sheet] if sheet is not None else book.worksheets[0]
        return list(enumerate(chosen.iter_rows(values_only=True), 1))
    finally:
        book.close()


def _check_no_overhang(path: Path, width: int, body: Iterable[tuple[int, Sequence[Any]]]) -> None:
    for line, row in body:
        if any(value is not None for value in row[width:]):
            raise InputError(
                f"more fields than the {width} of the header",
                file=path,
                line=line,
                remedy="Give each column a name, or remove the field; lines above the header: "
                f"{skip_proposed(path)}.",
            )


def _mixed(pa: Any, values: list[Any]) -> Any:
    """An Arrow array of numbers where all values are, else of text."""
    numbers = all(value is None or type(value) in (int, float) for value in values)
    return pa.array(values if numbers else [None if v is None else str(v) for v in values], from_pandas=True)


def check_is_file(path: Path) -> None:
    """Raise where there is no file."""
    if path.is_dir():
        raise InputError("a folder where a file is expected", file=path, remedy="Name the file in it.")
    if not path.exists():
        raise InputError("the file does not exist", file=path, remedy="Check the path.")


def check_names(names: list[str], file: object, line: int = 1) -> None:
    """Raise where a column has no name, or two have the same."""
    if "" in names:
        raise InputError(
            f"column {names.index('') + 1} has no name",
            file=file,
            line=line,
            remedy="Name every column; if there are lines above the header, say how many: "
            f"{skip_proposed(file)}.",
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


def read_arrow(path: Path) -> Any:
    """An Arrow or Feather file."""
    import pyarrow as pa
    import pyarrow.feather

    check_is_file(path)
    try:
        return pyarrow.feather.read_table(path)
    except (pa.ArrowException, OSError):
        raise InputError(
            "not a readable Arrow file", file=path, remedy="Write it again, or name another file."
        ) from None


def read_statistical(path: Path, kind: FileKind) -> Any:
    """A file of SAS, Stata or SPSS as an Arrow table: codes, not their labels; missing values are null."""
    try:
        import pyreadstat
    except ImportError:
        raise MissingExtraError("pyreadstat", "statistical", f"Reading {kind.value} files") from None
    import pyarrow as pa

    check_is_file(path)
    readers: dict[str, Any] = {
        ".sas7bdat": pyreadstat.read_sas7bdat,
        ".xpt": pyreadstat.read_xport,
        ".dta": pyreadstat.read_dta,
        ".por": pyreadstat.read_por,
    }
    reader = readers.get(path.suffix.lower(), pyreadstat.read_sav)
    try:
        columns, _ = reader(str(path), output_format="dict")
        return pa.table({name: pa.array(list(column)) for name, column in columns.items()})
    except Exception:  # the parsers raise what they like, and may quote records
        raise InputError(
            f"not a readable file of {kind.value}",
            file=path,
            remedy="Write it again, or export it as CSV or Parquet.",
        ) from None


# -- databases -----------------------------------------------------------------------------------------------

SQLITE = b"SQLite format 3"

CLOSED = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "lock_configuration": "true",
}
"""A query, or a view within a database, sees this database alone: no other file, no address, no variable."""


def read_database(path: Path, query: str | None) -> Any:
    """What a query finds in a database, as an Arrow table or a DuckDB relation; opened for reading only.

    Without a query a database with one table gives that table.

    Raises
    ------
    InputError
        When it is no database, the query is none that reads, or none is given and there are several tables.
    """
    check_is_file(path)
    with path.open("rb") as file:
        is_sqlite = file.read(len(SQLITE)) == SQLITE
    return _of_sqlite(path, query) if is_sqlite else _of_duckdb(path, query)


def _of_duckdb(path: Path, query: str | None) -> Any:
    import duckdb

    try:
        connection = duckdb.connect(str(path), read_only=True, config=dict(CLOSED))
    except duckdb.Error:
        raise InputError(
            "neither a DuckDB nor an SQLite database, or another program has it open",
            file=path,
            remedy="Name another file, or close the other program.",
        ) from None
    if query is None:
        tables = connection.execute("SELECT table_name FROM information_schema.tables ORDER BY 1").fetchall()
        name = _only(path, [row[0] for row in tables])
    else:
        _check_reads(connection, path, query)
    try:
        return connection.table(name) if query is None else connection.sql(query)
    except duckdb.PermissionException:
        raise InputError(
            "a view or the query reads another file or an address, and only this database may be read",
            file=path,
            remedy="Store the records in a table of the database: CREATE TABLE … AS SELECT * FROM the view.",
        ) from None
    except duckdb.Error as error:
        raise _wrong_query(path, type(error).__name__) from None


def _check_reads(connection: DuckDBPyConnection, path: Path, query: str) -> None:
    import duckdb

    try:
        statements = connection.extract_statements(query)
    except duckdb.Error as error:
        raise _wrong_query(path, type(error).__name__) from None
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise _wrong_query(path, "it is not one SELECT")


def _of_sqlite(path: Path, query: str | None) -> Any:
    import sqlite3
    from contextlib import closing

    import pyarrow as pa

    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        connection.set_authorizer(_reading_only)
        try:
            if query is None:
                found = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
                name = _only(path, [row[0] for row in connection.execute(found)])
                query = 'SELECT * FROM "' + name.replace('"', '""') + '"'
            cursor = connection.execute(query)
            rows = cursor.fetchall()
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise _wrong_query(path, type(error).__name__) from None
    names = [column[0] for column in cursor.description or ()]
    if not names:
        raise _wrong_query(path, "it is not one SELECT")
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return pa.table([_mixed(pa, list(column)) for column in columns], names=names)


def _reading_only(action: int, first: str | None, *_: str | None) -> int:
    """Of SQLite: selecting and nothing else, so that a query neither attaches nor writes other files."""
    import sqlite3

    reading = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
    return sqlite3.SQLITE_OK if action in reading else sqlite3.SQLITE_DENY


def _only(path: Path, tables: Sequence[str]) -> str:
    if len(tables) != 1:
        found = f"{len(tables)} tables: {name_some(tables)}" if tables else "no table"
        raise InputError(
            f"the database has {found}",
            file=path,
            remedy='Say which records to read: query = "SELECT … FROM …".',
        )
    return tables[0]


def _wrong_query(path: Path, what: str) -> InputError:
    return InputError(
        f"the query cannot be run on this database ({what})",
        file=path,
        remedy="Write one SELECT; try it with the database's own program.",
    )
