"""Dimensions of microdata that are only named: flat ones, over the codes that occur in their column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cellveil.errors import InputError
from cellveil.microdata.codes import distinct_codes
from cellveil.microdata.engine_choice import DUCKDB, EngineChoice
from cellveil.microdata.source_options import SourceOptions
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy

WANTED = 'Name the columns: ["nace", "region"]; or give Dimension.of("region", hierarchy) for them.'


def named_dimensions(
    source: Any,
    given: Any,
    columns: Mapping[str, str],
    options: SourceOptions,
    choice: EngineChoice = DUCKDB,
) -> list[Dimension]:
    """The dimensions as they are given: one or several, each a `Dimension` or the name of its column.

    Parameters
    ----------
    columns
        Column of a dimension, where it is not named as the dimension.
    choice
        The engine that reads the codes.

    Examples
    --------
    >>> import pyarrow as pa
    >>> firms = pa.table({"region": ["N", "S", "N"], "size": [10, 9, 9]})
    >>> [dimension.codes for dimension in named_dimensions(firms, ["region", "size"], {}, SourceOptions())]
    [('Total', 'N', 'S'), ('Total', '9', '10')]
    """
    if isinstance(given, Dimension | str):
        given = [given]
    if not isinstance(given, Iterable):
        raise InputError(f"the dimensions are of type {type(given).__name__}", remedy=WANTED)
    found = []
    for one in given:
        if not isinstance(one, Dimension | str):
            raise InputError(f"a dimension is of type {type(one).__name__}", remedy=WANTED)
        found.append(one if isinstance(one, Dimension) else _flat(source, one, columns, options, choice))
    return found


def _flat(
    source: Any, name: str, columns: Mapping[str, str], options: SourceOptions, choice: EngineChoice
) -> Dimension:
    found = distinct_codes(source, [columns.get(name, name)], options=options, choice=choice)
    codes = [code for (code,) in found]
    if not codes:
        raise InputError(f"dimension {name!r} has no codes", remedy="Check its column.")
    return Dimension.of(name, Hierarchy.flat(codes))
