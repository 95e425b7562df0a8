"""The columns of microdata frames: pandas, polars, Arrow, dicts and lists of records, as one Arrow table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cellveil.errors import InputError, nearest_column
from cellveil.microdata.header_line import skip_proposed


def check_columns(needed: Sequence[str], known: Sequence[str], file: object) -> None:
    """Raise where a column is missing or there are two of that name (capitals do not count in SQL)."""
    folded = [name.casefold() for name in known]
    for name in needed:
        if name not in known:
            remedy = nearest_column(name, known)
            proposed = skip_proposed(file, [name])
            if proposed[-1].isdigit():
                remedy += f" If lines stand above the header, say how many: {proposed}."
            raise InputError(f"there is no column {name!r}", file=file, remedy=remedy)
        if folded.count(name.casefold()) > 1:
            raise InputError(
                f"two columns are named {name!r}, apart from capitals",
                file=file,
                remedy="Rename one of them.",
            )


def arrow_table(frame: Any, needed: Sequence[str]) -> Any:
    """The needed columns of a pandas, polars or Arrow frame as an Arrow table."""
    import narwhals as nw
    import pyarrow as pa

    try:
        data = nw.from_native(plain_columns(frame))
    except TypeError:
        raise InputError(
            f"microdata of type {type(frame).__name__} cannot be read",
            remedy="Give a path, a pandas, polars or Arrow frame, a DuckDB relation, or a dict of columns.",
        ) from None
    lazy = isinstance(data, nw.LazyFrame)
    _check_index(needed, frame)
    check_columns(needed, data.collect_schema().names() if lazy else data.columns, None)
    try:
        chosen = data.select(*needed)
        return chosen.collect("pyarrow").to_native() if lazy else chosen.to_arrow()
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # may quote what it could not convert
        mixed = [] if lazy else [name for name in needed if not _is_of_one_type(data, name)]
        what = f"the column {mixed[0]!r}" if mixed else "a column"
        raise InputError(
            f"{what} of the frame mixes types", remedy="Make it all text or all numbers."
        ) from None


def _check_index(needed: Sequence[str], frame: Any) -> None:
    """Refuse columns that pandas has in its index: no reader sees them there."""
    levels = getattr(getattr(frame, "index", None), "names", None) or ()
    for name in needed:
        if name in levels and name not in frame.columns:
            raise InputError(
                f"{name!r} stands in the index of the frame", remedy="Make it a column: frame.reset_index()."
            )


def _is_of_one_type(data: Any, name: str) -> bool:
    import pyarrow as pa

    try:
        data.select(name).to_arrow()
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False
    return True


def plain_columns(given: Any) -> Any:
    """A mapping of columns, or a list of records, as an Arrow table; anything else as it is."""
    import pyarrow as pa

    try:
        if isinstance(given, Mapping):
            return pa.table({str(name): _as_column(column) for name, column in given.items()})
        if isinstance(given, list | tuple) and given and isinstance(given[0], Mapping):
            return pa.Table.from_pylist(list(given))
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # may quote what it could not convert
        raise InputError(
            "the columns differ in length, or one mixes types",
            remedy='Give lists of one length, each all text or all numbers: {"region": ["N"], "sales": [5]}.',
        ) from None
    return given


def _as_column(given: Any) -> Any:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError
    return given if hasattr(given, "__array__") or hasattr(given, "type") else list(given)
