"""A database connection as the engine that tabulates microdata: any DB-API or ADBC connection.

The statements run where the records are, into temporary tables; cells come back as Arrow, or in rows where
the driver knows no Arrow. Messages of the driver may quote records and addresses, and are not passed on.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from cellveil.errors import CellveilError, InputError, MissingExtraError
from cellveil.microdata.engine_choice import EngineChoice
from cellveil.microdata.engine_sql import Translator
from cellveil.microdata.foreign_engine import ForeignEngine, checked_query
from cellveil.microdata.source_options import SourceOptions
from cellveil.microdata.source_records import SOURCE

ROWS = 1000
"""Rows of a small table in one statement, and rows fetched at once."""

SNOWFLAKE = {0: "number", 1: "double", 2: "text", 3: "date", 13: "boolean"}
"""What the codes of types mean that its driver gives."""

PYTHON = {int: "bigint", float: "double", str: "text", bool: "boolean"}

STATES: Mapping[str, tuple[str, str]] = {
    "08": ("the database does not answer", "Check the address and that the server runs."),
    "28": ("the database does not let this user in", "Check user and password in the environment."),
    "3D": ("there is no such database", "Check its name in the address."),
    "42501": ("the user may not read the records or make temporary tables", "Grant SELECT and TEMPORARY."),
    "42P01": ("there is no such table", "Check the name of the table and its schema."),
    "42703": ("the query names a column that is not there", "Check the query."),
    "22003": ("a sum is too large", "Use a larger unit (thousands, millions)."),
    "53": ("the database has no memory or disk left", "Ask who runs it."),
    "57": ("the database ended the connection or the statement", "Try again."),
}
"""What begins of SQLSTATE codes mean, and the remedy."""


class ConnectionEngine(ForeignEngine):
    """Runs the statements over a connection; it is neither committed nor closed."""

    def __init__(self, connection: Any, translator: Translator) -> None:
        super().__init__(translator)
        with mapped_driver_errors():
            self._cursor = connection.cursor()

    def load(self, name: str, columns: Mapping[str, Sequence[Any]]) -> None:
        """A small temporary table of codes (texts) or numbers."""
        kinds = {column: "VARCHAR" if column == "code" else "INTEGER" for column in columns}
        self._run(self._translate.columns(name, kinds))
        self._made.append(name)
        rows = list(zip(*columns.values(), strict=True))
        for begin in range(0, len(rows), ROWS):
            self._run(self._translate.values(name, rows[begin : begin + ROWS]))

    def types(self) -> Mapping[str, str]:
        """Names of all columns of the source, and their types."""
        with self._after(self._translate(f"SELECT * FROM {SOURCE} WHERE 1 = 0")) as cursor:
            names = [column[0] for column in cursor.description]
            if self._translate.dialect == "postgres":
                return dict(zip(names, self._postgres_types(names), strict=True))
            if hasattr(cursor, "fetch_arrow_table"):
                return {field.name: str(field.type) for field in cursor.fetch_arrow_table().schema}
            return {column[0]: _type_name(*column[:2]) for column in cursor.description}

    def _postgres_types(self, names: Sequence[str]) -> Iterator[str]:
        source = self._translate(f"SELECT * FROM {SOURCE}")
        chosen = ", ".join(f"CAST(pg_typeof(s.{self._translate.quoted(name)}) AS text)" for name in names)
        query = f"SELECT {chosen} FROM (SELECT 1) AS one LEFT JOIN ({source}) AS s ON TRUE LIMIT 1"
        return (column[0].as_py() for column in self._fetched(query).read_all().columns)

    def close(self) -> None:
        """Drop the tables that are left."""
        for name in list(self._made):
            with suppress(InputError):  # after an error a rollback drops them
                self.drop(name)
        with mapped_driver_errors():
            self._cursor.close()

    def _run(self, statement: str) -> None:
        with self._after(statement):
            pass

    def _fetched(self, query: str) -> Any:
        import pyarrow as pa

        with self._after(query) as cursor:
            if hasattr(cursor, "fetch_arrow_table"):
                return _plain(cursor.fetch_arrow_table()).to_reader()
            names = [column[0] for column in cursor.description]
            columns: list[list[Any]] = [[] for _ in names]
            while rows := cursor.fetchmany(ROWS):
                for column, further in zip(columns, zip(*rows, strict=True), strict=True):
                    column.extend(further)
        return pa.Table.from_arrays([pa.array(column) for column in columns], names).to_reader()

    @contextmanager
    def _after(self, statement: str) -> Iterator[Any]:
        """The cursor when a statement has run."""
        with mapped_driver_errors():
            self._cursor.execute(statement)
            yield self._cursor


def _plain(table: Any) -> Any:
    """Decimals that the driver hands over as text become decimals."""
    import pyarrow as pa

    for place, field in enumerate(table.schema):
        if isinstance(field.type, pa.BaseExtensionType):
            exact = pa.array([None if text is None else _decimal(text) for text in table[place].to_pylist()])
            table = table.set_column(place, field.name, exact)
    return table


def _decimal(text: Any) -> Any:
    from decimal import Decimal

    return Decimal(text)


def _type_name(column: str, code: Any) -> str:
    """What a DB-API driver says of the type of a column."""
    if isinstance(code, type):
        return PYTHON.get(code, code.__name__)
    if isinstance(code, int):
        return SNOWFLAKE.get(code, f"number {code}")
    if code is None:
        raise InputError(
            f"the driver does not tell the type of the column {column!r}",
            remedy="Use an ADBC connection, or another driver.",
        )
    return str(code)


@contextmanager
def mapped_driver_errors() -> Iterator[None]:
    """Turn what a driver raises into input errors; its text is left out."""
    try:
        yield
    except CellveilError:
        raise
    except Exception as error:  # drivers share no class of errors
        state = str(getattr(error, "sqlstate", None) or "")
        for begin, (what, remedy) in STATES.items():
            if state.startswith(begin):
                raise InputError(what, remedy=remedy) from None
        code = f", SQLSTATE {state}" if state else ""
        raise InputError(
            f"the database could not run a statement of tabulation ({type(error).__name__}{code})",
            remedy="Check that it is reached, and that the user may read the records and make temporary "
            "tables.",
        ) from None


@contextmanager
def opened_connection(
    choice: EngineChoice, source: Any, options: SourceOptions, prefix: str
) -> Iterator[ConnectionEngine]:
    """An engine over the connection of a choice, or over one to PostgreSQL of its own."""
    if choice.connection is None:
        _postgres_driver()  # its extra brings the translator along: one remedy, not two
    relation = _relation(choice.name, source, options.query)
    with _connected(choice) as connection:
        engine = ConnectionEngine(connection, Translator(choice.name, relation, prefix))
        try:
            yield engine
        finally:
            engine.close()


@contextmanager
def _connected(choice: EngineChoice) -> Iterator[Any]:
    if choice.connection is not None:
        yield choice.connection
        return
    with mapped_driver_errors():
        connection = _postgres_driver().connect(address_in(choice.address, "postgresql://"), autocommit=True)
    with connection:
        yield connection


def _postgres_driver() -> Any:
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise MissingExtraError("adbc-driver-postgresql", "postgres", "PostgreSQL") from None
    return dbapi


def address_in(variable: str | None, default: str) -> str:
    """The address that an environment variable holds."""
    if variable is None:
        return default
    found = os.environ.get(variable)
    if not found:
        raise InputError(
            f"the environment variable {variable} with the address is not set",
            remedy=f"Set it before the run: export {variable}=…",
        )
    return found


def _relation(dialect: str, source: Any, query: str | None) -> str:
    """What stands for the records after FROM: a quoted name, or the query."""
    if query is not None:
        if source is not None:
            raise InputError("both a table and a query are named", remedy="Leave one of the two out.")
        return f"({checked_query(query, dialect)}\n)"
    parts = source.split(".") if isinstance(source, str) else source
    if not isinstance(parts, (list, tuple)) or not parts or not all(isinstance(p, str) and p for p in parts):
        raise InputError(
            "the records of a connection are a table or a query",
            remedy='Name the table ("schema.table"; a name with a point in it as a list of its parts), or '
            "give query=.",
        )
    translator = Translator(dialect, "", "")
    return ".".join(map(translator.quoted, parts))
