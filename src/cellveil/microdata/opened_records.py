"""The records of microdata opened on the engine that tabulates them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cellveil.microdata.duckdb_engine import DuckDBEngine, connected
from cellveil.microdata.engine import Engine, EngineOptions
from cellveil.microdata.reading_faults import mapped_errors
from cellveil.microdata.source_records import RecordSource
from cellveil.microdata.sources import Microdata


@contextmanager
def opened_records(
    source: Any, needed: Sequence[str], options: EngineOptions
) -> Iterator[tuple[Engine, RecordSource]]:
    """An engine with a connection of its own, and the needed columns of a source; closed in the end."""
    if options.choice.is_duckdb:
        with (
            TemporaryDirectory(prefix="cellveil-", dir=options.temp_directory) as folder,
            mapped_errors(str(source) if isinstance(source, (str, Path)) else None),
            connected(options, folder) as connection,
        ):
            microdata = Microdata(connection, source, needed, options.source, Path(folder))
            yield DuckDBEngine(connection, native=options.native), microdata
        return
    from cellveil.microdata.foreign_engine import opened_elsewhere

    with opened_elsewhere(options.choice, source, needed, options.source) as opened:
        yield opened
