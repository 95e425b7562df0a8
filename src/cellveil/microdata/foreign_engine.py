"""An engine elsewhere that tabulates microdata: statements are translated, and only cells come back."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from cellveil.errors import InputError
from cellveil.microdata.engine import Engine
from cellveil.microdata.engine_choice import EngineChoice
from cellveil.microdata.engine_sql import Translator
from cellveil.microdata.frame_columns import check_columns
from cellveil.microdata.source_options import SourceOptions
from cellveil.microdata.source_records import SOURCE, RecordSource, SourceFile, of_record

KINDS: Mapping[str, str] = {
    **dict.fromkeys(("tinyint", "smallint", "integer", "int", "bigint", "int2", "int4", "int8"), "BIGINT"),
    **dict.fromkeys(("byte", "byteint", "int64", "int32", "int16", "int128", "uint64", "uint32"), "BIGINT"),
    **dict.fromkeys(("double", "double precision", "float8", "float64"), "DOUBLE"),
    **dict.fromkeys(("decimal", "numeric", "bignumeric", "number", "fixed"), "DECIMAL"),
    **dict.fromkeys(("text", "varchar", "character varying", "character", "char", "bpchar"), "VARCHAR"),
    **dict.fromkeys(("string", "utf8", "large_string", "large_utf8", "string_view", "uuid"), "VARCHAR"),
    **dict.fromkeys(("boolean", "bool"), "BOOLEAN"),
    **dict.fromkeys(("date", "date32", "date32[day]"), "DATE"),
}
"""Types of columns that are read alike by all engines, as DuckDB calls them."""


class ForeignEngine(ABC):
    """What engines elsewhere have in common."""

    native = False

    def __init__(self, translator: Translator) -> None:
        self._translate = translator
        self._made: list[str] = []

    def make(self, name: str, select: str, *, cheap: bool = False) -> None:
        """Run a query into a temporary table."""
        self._run(self._translate.make(name, select))
        self._made.append(name)

    def drop(self, name: str) -> None:
        """Drop a temporary table."""
        self._run(f"DROP TABLE {self._translate.name(name)}")
        self._made.remove(name)

    @abstractmethod
    def load(self, name: str, columns: Mapping[str, Sequence[Any]]) -> None:
        """A small temporary table of codes (texts) or numbers."""

    def row(self, query: str) -> tuple[Any, ...]:
        """The only row of a result."""
        return tuple(column[0].as_py() for column in self.cells(query).read_all().columns)

    def cells(self, query: str) -> Any:
        """The result as a reader of Arrow record batches."""
        return self._fetched(self._translate(query))

    @abstractmethod
    def types(self) -> Mapping[str, str]:
        """Names of all columns of the source, and their types as the engine calls them."""

    @abstractmethod
    def _run(self, statement: str) -> None:
        """Run a statement of the dialect."""

    @abstractmethod
    def _fetched(self, query: str) -> Any:
        """The result of a query of the dialect as a reader of Arrow record batches."""


class EngineRecords:
    """The records of a source on an engine elsewhere: a table, a query, or files that it reads.

    They have no order, so that errors name no line.
    """

    name = None
    title = "the microdata"

    def __init__(self, engine: ForeignEngine, needed: Sequence[str], options: SourceOptions) -> None:
        self._engine, self.options = engine, options
        found = engine.types()
        check_columns(needed, list(found), None)
        self.types = {name: _kind(name, found[name]) for name in dict.fromkeys(needed)}

    def first(self, condition: str, column: str) -> tuple[SourceFile, int, Any] | None:
        """The content of a column at some record that meets a condition."""
        query = f"SELECT {of_record(column)} AS content FROM {SOURCE} AS m WHERE {condition} LIMIT 1"
        found = self._engine.cells(query).read_all()
        return (_Somewhere(None, ""), 0, found["content"][0].as_py()) if len(found) else None


class _Somewhere(SourceFile):
    """A relation whose records have no numbers."""

    def error(self, what: str, row: int, remedy: str) -> InputError:
        """An error at a record."""
        return InputError(what, remedy=remedy)


def _kind(column: str, given: str) -> str:
    plain = given.lower().split("(")[0].strip()
    if plain not in KINDS:
        raise InputError(
            f"the column {column!r} is of the type {plain}, which engines read differently",
            remedy="Cast it in a query: to text, a whole number, a decimal or a double.",
        )
    return KINDS[plain]


@contextmanager
def opened_elsewhere(
    choice: EngineChoice, source: Any, needed: Sequence[str], options: SourceOptions
) -> Iterator[tuple[Engine, RecordSource]]:
    """The engine of a choice, and the needed columns of a source there."""
    from cellveil.microdata.connection_engine import opened_connection
    from cellveil.microdata.engine_probe import check_alike
    from cellveil.microdata.spark_engine import opened_spark

    opened = opened_spark if choice.name == "spark" else opened_connection
    with opened(choice, source, options, f"cellveil_{secrets.token_hex(4)}_") as engine:
        check_alike(engine, choice)
        yield engine, EngineRecords(engine, needed, options)


def checked_query(query: str, dialect: str) -> str:
    """A query of the dialect that is one SELECT, as it stands.

    Raises
    ------
    InputError
        When it is none, or several statements.
    """
    import sqlglot

    try:
        statements = sqlglot.parse(query, read=dialect)
    except sqlglot.errors.SqlglotError:  # its message quotes the query
        statements = []
    if len(statements) != 1 or not isinstance(statements[0], sqlglot.exp.Query):
        raise InputError(
            "the query is not one SELECT that can be read", remedy='Write query = "SELECT … FROM …".'
        )
    return query.rstrip().rstrip(";")
