"""The engine that tabulates microdata: whatever runs the SQL of tabulation where the records are.

DuckDB in this process (`duckdb_engine`), a Spark session (`spark_engine`) or a database connection
(`connection_engine`). All of them get the same statements, written for DuckDB; the last two translate them
(`engine_sql`). An engine keeps the records to itself: what it hands over are aggregated cells, as Arrow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from cellveil.errors import InputError
from cellveil.microdata.engine_choice import DUCKDB, EngineChoice
from cellveil.microdata.source_options import SourceOptions


class Engine(Protocol):
    """Runs statements; tables that it makes are its own, temporary, and gone in the end."""

    @property
    def native(self) -> bool:
        """Whether it has the top-n aggregates of DuckDB."""

    def make(self, name: str, select: str, *, cheap: bool = False) -> None:
        """Run a query into a temporary table; one that is `cheap` may be run again for each use instead."""

    def drop(self, name: str) -> None:
        """Drop a temporary table."""

    def load(self, name: str, columns: Mapping[str, Sequence[Any]]) -> None:
        """A small temporary table of codes (texts) or numbers."""

    def row(self, query: str) -> tuple[Any, ...]:
        """The only row of a result."""

    def cells(self, query: str) -> Any:
        """The result as a reader of Arrow record batches."""


@dataclass(frozen=True)
class EngineOptions:
    """What the engine is, and may use."""

    memory_limit: str | None
    threads: int | None
    temp_directory: Path | str | None
    source: SourceOptions
    depth: int
    native: bool = True
    choice: EngineChoice = field(default=DUCKDB)

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise InputError(
                "the number of largest contributions to keep is below 1", remedy="Use 1 or more."
            )
        if self.temp_directory is not None and not Path(self.temp_directory).is_dir():
            raise InputError(
                "the folder for temporary files does not exist", file=self.temp_directory, remedy="Make it."
            )
        if not self.choice.is_duckdb and (self.memory_limit or self.threads or self.temp_directory):
            raise InputError(
                f"memory_limit, threads and temp_directory are for DuckDB, and {self.choice} tabulates",
                remedy="Leave them out: set such limits where the engine runs.",
            )
