"""Roles of the columns of microdata: which ones a column may have at once.

The codes of a dimension are published. So a column of amounts, weights or ids must not be one, and each of
these must be what it is called: an id is no amount, and a weight no response. Names that differ in capitals
only are one column, as in SQL.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cellveil.errors import InputError

CONFIDENTIAL = ("response", "shadow", "weight", "contributor", "holding", "cost")
"""Parts whose contents must not become codes."""

JOINT = (
    {"response", "shadow"},
    {"response", "cost"},
    {"shadow", "cost"},
    {"weight", "cost"},
    {"request", "waiver"},
    {"cost"},
)
"""Parts that one column may well play together."""


def check_roles(dimensions: Iterable[str], parts: Iterable[tuple[str, str | None]]) -> None:
    """Raise where a column of the microdata plays two parts that exclude each other.

    Parameters
    ----------
    dimensions
        Columns whose contents become codes.
    parts
        Part and column, None where there is no such column.
    """
    given = [(part, column) for part, column in parts if column is not None]
    codes = {column.casefold() for column in dimensions}
    for part, column in given:
        if part in CONFIDENTIAL and column.casefold() in codes:
            raise InputError(
                f"the column {column!r} is a dimension and the {part}: "
                "what stands in it would be published as codes",
                remedy="Name another column for one of the two.",
            )
    first: dict[str, list[str]] = {}
    for part, column in given:
        for other in first.setdefault(column.casefold(), []):
            if {part, other} not in JOINT:
                raise InputError(
                    f"the column {column!r} is both the {other} and the {part}",
                    remedy="Name another column for one of the two, or leave one out.",
                )
        first[column.casefold()].append(part)


def check_one_column_each(dimensions: Iterable[str]) -> None:
    """Raise where two dimensions of one table take their codes from one column."""
    seen: set[str] = set()
    for column in dimensions:
        if column.casefold() in seen:
            raise InputError(
                f"two dimensions take their codes from the column {column!r}",
                remedy="Make them one dimension; it may have several hierarchies.",
            )
        seen.add(column.casefold())


def check_ready_made(dimensions: Iterable[str], parts: Mapping[str, str | None], file: object = None) -> None:
    """Raise where a column of a ready-made table is a dimension and something else, or two other things."""
    taken = dict.fromkeys(dimensions, "a dimension")
    for part, column in parts.items():
        if column is None:
            continue
        if column in taken:
            raise InputError(
                f"the column {column!r} is {taken[column]} and the {part}",
                file=file,
                remedy="Name another column for one of the two.",
            )
        taken[column] = f"the {part}"
