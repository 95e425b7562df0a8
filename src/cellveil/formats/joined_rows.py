"""Rows of a ready-made table joined into coarser cells: amounts added up, the largest contributions of all.

The contributors of different cells are taken to be different.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.formats.columns import Columns
from cellveil.formats.exact_numbers import Amounts, texts_of
from cellveil.microdata.number_marks import POINTS
from cellveil.tables.scaled import UNBOUNDED


@dataclass(frozen=True)
class JoinedColumns:
    """What becomes of the columns of joined rows; all others are those of the first row.

    Parameters
    ----------
    summed
        Added up; what is missing counts as nothing.
    known
        Added up, and missing where one of the parts is.
    top
        The largest contributions, the largest first.
    """

    summed: Sequence[str] = ()
    known: Sequence[str] = ()
    top: Sequence[str] = ()


def joined_rows(
    columns: Columns, codes: Mapping[str, Sequence[str]], how: JoinedColumns
) -> tuple[Columns, Int]:
    """The rows with these codes, those of one cell joined; and for each row the number of its joined one.

    Parameters
    ----------
    codes
        For each dimension the code that each row has now.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from cellveil.formats.columns import read_columns
    >>> frame = pa.table({"size": ["1", "2", "3"], "value": [5, 6, 7], "x1": [5, 4, 7]})
    >>> made, _ = joined_rows(
    ...     read_columns(frame), {"size": ["low", "low", "3"]}, JoinedColumns(["value"], top=["x1"])
    ... )
    >>> made.data.to_pylist()
    [{'size': 'low', 'value': '11', 'x1': '5'}, {'size': '3', 'value': '7', 'x1': '7'}]
    """
    import pyarrow as pa

    numbers: dict[tuple[str, ...], int] = {}
    places = [numbers.setdefault(key, len(numbers)) for key in zip(*codes.values(), strict=True)]
    group = np.array(places, dtype=np.int64)
    first = np.unique(group, return_index=True)[1]
    data = columns.data.take(pa.array(first))
    for name in (*how.summed, *how.known):
        amounts = _checked(columns, name)
        data = _with(data, name, _sums(amounts, group, strict=name in how.known))
    for name, column in _largest(columns, how.top, group).items():
        data = _with(data, name, column)
    for name, given in codes.items():
        data = _with(data, name, pa.array([given[row] for row in first.tolist()], pa.string()))
    lines = [columns.line_of(int(row)) for row in first]
    return replace(columns, data=data, line_of=lines.__getitem__, marks=POINTS), group


def with_points(columns: Columns, names: Sequence[str]) -> Columns:
    """The columns with these numbers written exactly, with a decimal point."""
    data = columns.data
    for name in names:
        amounts = _checked(columns, name)
        scaled = np.where(amounts.unbounded, amounts.unbounded.astype(np.int64) * UNBOUNDED, amounts.scaled)
        data = _with(data, name, _texts(scaled, amounts.decimals, amounts.missing))
    return replace(columns, data=data, marks=POINTS)


def _checked(columns: Columns, name: str) -> Amounts:
    amounts = columns.amounts(name)
    columns.check_numbers(name, amounts.faults)
    return amounts


def _sums(amounts: Amounts, group: Int, *, strict: bool) -> Any:
    count = int(group.max(initial=-1)) + 1
    sums, given = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    np.add.at(sums, group, np.where(amounts.missing, 0, amounts.scaled))
    np.add.at(given, group, ~amounts.missing)
    lacking = given < np.bincount(group, minlength=count) if strict else given == 0
    return _texts(sums, amounts.decimals, lacking)


def _largest(columns: Columns, top: Sequence[str], group: Int) -> dict[str, Any]:
    """The largest contributions of each joined row, in as many columns as before."""
    if not top:
        return {}
    found = [_checked(columns, name) for name in top]
    decimals = max(amounts.decimals for amounts in found)
    parts = np.stack([amounts.scaled * 10 ** (decimals - amounts.decimals) for amounts in found], axis=1)
    missing = np.stack([amounts.missing for amounts in found], axis=1)
    owner = np.repeat(group, len(top))
    flat, absent = parts.reshape(-1), missing.reshape(-1)
    order = np.lexsort((-flat, absent, owner))
    owner, flat, absent = owner[order], flat[order], absent[order]
    place = np.arange(len(owner)) - np.searchsorted(owner, owner)
    kept = place < len(top)
    count = int(group.max(initial=-1)) + 1
    best, lacking = np.zeros((count, len(top)), dtype=np.int64), np.ones((count, len(top)), dtype=bool)
    best[owner[kept], place[kept]] = flat[kept]
    lacking[owner[kept], place[kept]] = absent[kept]
    return {name: _texts(best[:, at], decimals, lacking[:, at]) for at, name in enumerate(top)}


def _texts(scaled: Int, decimals: int, missing: Bool) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(pa.array(missing), pa.scalar(None, pa.string()), texts_of(scaled, decimals))


def _with(data: Any, name: str, column: Any) -> Any:
    return data.set_column(data.column_names.index(name), name, column)
