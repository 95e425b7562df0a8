"""Which engine tabulates microdata: DuckDB here, Spark, or a database connection with its SQL dialect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from cellveil.errors import InputError, nearest_name

EngineName = Literal["duckdb", "spark", "postgres"]

NAMES: tuple[EngineName, ...] = ("duckdb", "spark", "postgres")
TITLES = {"duckdb": "DuckDB", "spark": "Spark", "postgres": "PostgreSQL"}


@dataclass(frozen=True, repr=False)
class EngineChoice:
    """The engine, and how it is reached.

    Parameters
    ----------
    name
        The engine; of a connection object, its dialect as sqlglot calls it.
    address
        Name of the environment variable that holds the address: of PostgreSQL a URI, of Spark a master or a
        Connect URL. By default the engine's own settings count (PGHOST, PGUSER, …; SPARK_REMOTE and
        spark-defaults.conf). The address itself is never kept, shown or written.
    connection
        An open DB-API or ADBC connection, or a Spark session.

    Examples
    --------
    >>> EngineChoice.of("spark"), EngineChoice.of(None).is_duckdb
    (Spark, True)
    """

    name: str = "duckdb"
    address: str | None = None
    connection: Any = None

    @classmethod
    def of(
        cls, engine: str | EngineChoice | None, connection: Any = None, dialect: str | None = None
    ) -> EngineChoice:
        """The choice that the arguments of `tabulate` make.

        Raises
        ------
        InputError
            When there is no such engine or dialect, or the arguments contradict each other.
        """
        if isinstance(engine, EngineChoice):
            return engine
        if connection is None and dialect is not None:
            raise InputError(
                "a dialect is named, but no connection", remedy="Give connection=, or name an engine."
            )
        if connection is not None and (engine is None or engine == "duckdb"):
            if dialect is None:
                raise InputError(
                    "the dialect of the connection is not named", remedy='Say it: dialect="postgres".'
                )
            return cls(_known(dialect), connection=connection)
        if engine is not None and engine not in NAMES:
            raise InputError(f"there is no engine {engine!r}", remedy=nearest_name(engine, NAMES))
        if dialect is not None and dialect != engine:
            raise InputError(
                "both an engine and another dialect are named", remedy="Leave one of the two out."
            )
        return cls(engine or "duckdb", connection=connection)

    @property
    def is_duckdb(self) -> bool:
        """Whether DuckDB tabulates in this process."""
        return self.name == "duckdb" and self.connection is None

    def __repr__(self) -> str:
        title = TITLES.get(self.name, self.name)
        return title if self.connection is None or self.name == "spark" else f"{title} (a connection)"

    __str__ = __repr__


DUCKDB = EngineChoice()


def _known(dialect: str) -> str:
    from cellveil.microdata.engine_sql import known_dialects

    if dialect not in known_dialects():
        raise InputError(
            f"the dialect {dialect!r} is not known", remedy=nearest_name(dialect, known_dialects())
        )
    return dialect
