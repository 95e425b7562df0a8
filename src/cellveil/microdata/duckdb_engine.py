"""DuckDB as the engine that tabulates microdata: in this process, out of core, within limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cellveil.errors import InputError
from cellveil.microdata.engine import EngineOptions

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MEMORY_LIMIT = "2GB"
"""What DuckDB may use before it goes to temporary files."""


class DuckDBEngine:
    """Runs the statements as they are."""

    def __init__(self, connection: DuckDBPyConnection, *, native: bool = True) -> None:
        self._connection, self._native = connection, native

    @property
    def native(self) -> bool:
        """Whether it has the top-n aggregates of DuckDB."""
        return self._native

    def make(self, name: str, select: str, *, cheap: bool = False) -> None:
        """Run a query into a temporary table; one that is `cheap` becomes a view."""
        self._connection.execute(f"CREATE TEMP {'VIEW' if cheap else 'TABLE'} {name} AS {select}")

    def drop(self, name: str) -> None:
        """Drop a temporary table."""
        self._connection.execute(f"DROP TABLE {name}")

    def load(self, name: str, columns: Mapping[str, Sequence[Any]]) -> None:
        """A small temporary table of codes (texts) or numbers."""
        import pyarrow as pa

        self._connection.register("small", pa.table({k: pa.array(v) for k, v in columns.items()}))
        casts = ", ".join(f"CAST({k} AS {'VARCHAR' if k == 'code' else 'INTEGER'}) AS {k}" for k in columns)
        self._connection.execute(f"CREATE TEMP TABLE {name} AS SELECT {casts} FROM small")
        self._connection.unregister("small")

    def row(self, query: str) -> tuple[Any, ...]:
        """The only row of a result."""
        return tuple(self._connection.execute(query).fetchall()[0])

    def cells(self, query: str) -> Any:
        """The result as a reader of Arrow record batches."""
        return self._connection.sql(query).to_arrow_reader()


@contextmanager
def connected(options: EngineOptions, folder: str) -> Iterator[DuckDBPyConnection]:
    """A DuckDB connection within the limits; it fetches nothing from the network."""
    import duckdb

    config: dict[str, Any] = {
        "memory_limit": options.memory_limit or MEMORY_LIMIT,
        "temp_directory": folder,
        "preserve_insertion_order": "false",
        "autoinstall_known_extensions": "false",
        **({"threads": str(options.threads)} if options.threads else {}),
    }
    try:
        connection = duckdb.connect(":memory:", config=config)
    except duckdb.Error:
        raise InputError(
            "the memory limit or the number of threads is not usable",
            remedy="Write the limit like '2GB', and at least 1 thread.",
        ) from None
    try:
        yield connection
    finally:
        connection.close()
