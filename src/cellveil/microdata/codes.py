"""The codes that occur in microdata, for dimensions of which no hierarchy is given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from cellveil.errors import InputError
from cellveil.microdata import sql
from cellveil.microdata.code_order import in_order
from cellveil.microdata.engine_choice import DUCKDB, EngineChoice
from cellveil.microdata.reading_faults import mapped_errors
from cellveil.microdata.source_options import SourceOptions
from cellveil.microdata.source_records import SOURCE
from cellveil.microdata.sources import Microdata

CodeOrder = Literal["sorted", "data"]


def distinct_codes(
    source: Any,
    columns: Sequence[str],
    *,
    options: SourceOptions | None = None,
    order: CodeOrder = "sorted",
    choice: EngineChoice = DUCKDB,
) -> list[tuple[str, ...]]:
    """Distinct combinations of the columns; records with a missing code are passed over.

    Parameters
    ----------
    options
        How files are written.
    order
        ``sorted``: numbers in the codes count by their size; ``data``: as they first occur.
    choice
        The engine that reads them.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame = pa.table({"size": ["50-249", "small ", "10-49", "small"]})
    >>> distinct_codes(frame, ["size"])
    [('10-49',), ('50-249',), ('small',)]
    >>> distinct_codes(frame, ["size"], order="data")
    [('50-249',), ('small',), ('10-49',)]
    """
    options = options or SourceOptions()
    if not choice.is_duckdb:
        return _codes_elsewhere(source, columns, options, order, choice)
    import duckdb

    file = source if isinstance(source, str | Path) else None
    with TemporaryDirectory() as scratch, duckdb.connect() as connection, mapped_errors(file):
        if order == "data":
            connection.execute("SET threads = 1; SET preserve_insertion_order = true")
        microdata = Microdata(connection, source, columns, options, Path(scratch))
        texts = [sql.filled_text(sql.ident(column), microdata.types[column]) for column in columns]
        chosen = ", ".join(f"{text} AS k{place}" for place, text in enumerate(texts))
        keys = ", ".join(f"k{place}" for place in range(len(texts)))
        rows = connection.execute(
            f"SELECT {keys}, min(number) "
            f"FROM (SELECT {chosen}, row_number() OVER () AS number FROM {SOURCE}) "
            f"WHERE {' AND '.join(f'k{place} IS NOT NULL' for place in range(len(texts)))} "
            f"GROUP BY {keys} ORDER BY min(number)"
        ).fetchall()
    paths = [tuple(row[:-1]) for row in rows]
    return paths if order == "data" else in_order(paths)


def _codes_elsewhere(
    source: Any, columns: Sequence[str], options: SourceOptions, order: CodeOrder, choice: EngineChoice
) -> list[tuple[str, ...]]:
    from cellveil.microdata.foreign_engine import opened_elsewhere

    if order == "data":
        raise InputError(
            f"records that {choice} tabulates have no order, and codes are to stand as they first occur",
            remedy='Use order = "sorted", or list the codes.',
        )
    with opened_elsewhere(choice, source, columns, options) as (engine, microdata):
        texts = [sql.filled_text(sql.ident(column), microdata.types[column]) for column in columns]
        keys = [f"k{place}" for place in range(len(texts))]
        chosen = ", ".join(f"{text} AS {key}" for text, key in zip(texts, keys, strict=True))
        filled = " AND ".join(f"{key} IS NOT NULL" for key in keys)
        found = engine.cells(
            f"SELECT DISTINCT {', '.join(keys)} FROM (SELECT {chosen} FROM {SOURCE}) WHERE {filled}"
        ).read_all()
        return in_order(zip(*(column.to_pylist() for column in found.columns), strict=True))
