"""The codes that occur in microdata, for dimensions of which no hierarchy is given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cellveil.microdata.sources import SOURCE, CsvOptions, Microdata, mapped_errors
from cellveil.microdata.sql import ident


def distinct_codes(
    source: Any, columns: Sequence[str], *, delimiter: str | None = None, encoding: str = "utf-8"
) -> list[tuple[str, ...]]:
    """Distinct combinations of the columns, sorted; records with a missing code are passed over.

    Examples
    --------
    >>> import pyarrow as pa
    >>> distinct_codes(pa.table({"size": ["small", "large", "small"]}), ["size"])
    [('large',), ('small',)]
    """
    import duckdb

    file = source if isinstance(source, str | Path) else None
    with TemporaryDirectory() as scratch, duckdb.connect() as connection, mapped_errors(file):
        Microdata(connection, source, columns, CsvOptions(delimiter, encoding), Path(scratch))
        chosen = ", ".join(f"CAST({ident(column)} AS VARCHAR)" for column in columns)
        present = " AND ".join(f"{ident(column)} IS NOT NULL" for column in columns)
        rows = connection.execute(
            f"SELECT DISTINCT {chosen} FROM {SOURCE} WHERE {present} ORDER BY ALL"
        ).fetchall()
    return [tuple(row) for row in rows]
