"""What the records show of their columns: classifications nested in each other, variables that add up."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from math import isclose
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cellveil.microdata import sql
from cellveil.microdata.codes import distinct_codes
from cellveil.microdata.reading_faults import mapped_errors
from cellveil.microdata.source_options import SourceOptions
from cellveil.microdata.source_records import SOURCE, of_record
from cellveil.microdata.sources import Microdata

PARTS = (2, 3, 4)
"""How many parts a sum may have that nobody has named."""


def nested_order(source: Any, columns: Sequence[str], options: SourceOptions) -> list[str] | None:
    """The columns from the coarsest to the finest, where each code belongs to one code of the column above.

    Examples
    --------
    >>> import pyarrow as pa
    >>> regions = {"nuts3": ["N11", "N12", "N21"], "nuts2": ["N1", "N1", "N2"]}
    >>> frame = pa.table({**regions, "size": ["s", "l", "s"]})
    >>> nested_order(frame, ["nuts3", "nuts2"], SourceOptions())
    ['nuts2', 'nuts3']
    >>> nested_order(frame, ["nuts2", "size"], SourceOptions()) is None
    True
    """
    paths = distinct_codes(source, columns, options=options)
    codes = {name: [path[place] for path in paths] for place, name in enumerate(columns)}
    order = sorted(columns, key=lambda name: len(set(codes[name])))
    for coarse, fine in pairwise(order):
        if len(set(zip(codes[fine], codes[coarse], strict=True))) > len(set(codes[fine])):
            return None
    return order


def sums_in(source: Any, columns: Sequence[str], options: SourceOptions) -> list[tuple[str, tuple[str, ...]]]:
    """Variables that are the sum of two to four others in every record, the first found for each.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame = pa.table({"all": [5, 7], "home": [3, 7], "abroad": [2, 0], "staff": [1, 2]})
    >>> sums_in(frame, ["all", "home", "abroad", "staff"], SourceOptions())
    [('all', ('home', 'abroad'))]
    """
    whole = _sums(source, columns, options)
    known = [name for name, amount in zip(columns, whole, strict=True) if amount]
    total = {name: amount for name, amount in zip(columns, whole, strict=True) if amount}
    found = []
    for name in known:
        others = [one for one in known if one != name]
        chosen = (parts for size in PARTS for parts in combinations(others, size))
        alike = (parts for parts in chosen if isclose(sum(map(total.__getitem__, parts)), total[name]))
        for parts in alike:
            if adds_up(source, name, parts, options):
                found.append((name, parts))
                break
    return found


def _sums(source: Any, columns: Sequence[str], options: SourceOptions) -> list[float | None]:
    """The sum of each column of numbers; None of others."""
    import duckdb

    file = source if isinstance(source, str | Path) else None
    with TemporaryDirectory() as scratch, duckdb.connect() as connection, mapped_errors(file):
        microdata = Microdata(connection, source, list(columns), options, Path(scratch))
        readers = [sql.number(of_record(column), microdata.types[column]) for column in columns]
        sums = ["NULL" if reader is None else f"sum(TRY_CAST({reader[0]} AS DOUBLE))" for reader in readers]
        (row,) = connection.execute(f"SELECT {', '.join(sums)} FROM {SOURCE} AS m").fetchall()
    return list(row)


def adds_up(source: Any, total: str, parts: Sequence[str], options: SourceOptions) -> bool:
    """Whether one variable is the sum of others in every record, to six decimals."""
    import duckdb

    file = source if isinstance(source, str | Path) else None
    columns = [total, *parts]
    with TemporaryDirectory() as scratch, duckdb.connect() as connection, mapped_errors(file):
        microdata = Microdata(connection, source, columns, options, Path(scratch))
        readers = [sql.number(of_record(column), microdata.types[column]) for column in columns]
        if any(reader is None for reader in readers):
            return False
        first, *rest = [f"TRY_CAST({reader[0]} AS DOUBLE)" for reader in readers if reader]
        differs = f"coalesce(round({first} - ({' + '.join(rest)}), 6) <> 0, TRUE)"
        found = connection.execute(f"SELECT count(*) FILTER (WHERE {differs}) FROM {SOURCE} AS m").fetchall()
    return not found[0][0]
