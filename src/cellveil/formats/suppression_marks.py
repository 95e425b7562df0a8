"""Suppression marks: what stands in place of a hidden value in a published table, and what it means.

What a field means is said, never guessed: which marks hide a value and which mean zero, in the column of the
values or in a column of flags. A text that is neither a number nor such a mark is an error. So is a file in
which no cell is hidden.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Codes, Int
from cellveil.errors import InputError, name_some
from cellveil.formats.exact_numbers import Amounts, amounts_of, places_of
from cellveil.formats.rows import Rows
from cellveil.tables.build import check_distinct, encode
from cellveil.tables.keys import group, row_numbers
from cellveil.tables.scaled import MAX_DECIMALS, UNBOUNDED, tells_of_value

HIDDEN = ("", "x", "X", "*", "c", "D", "(D)")
"""Marks in the column of values that hide a cell when nothing else is said; the first is an empty field."""


@dataclass(frozen=True)
class SuppressionMarks:
    """What stands in place of a value, and what it means.

    Parameters
    ----------
    hidden, zero
        Texts in the column of values that mean “not published” and “nothing there, 0”; "" is an empty field.
    flag
        Name of a column of flags.
    hidden_flags, zero_flags
        The same for flags; the value beside such a flag is not looked at.
    must_hide
        Whether a file in which nothing is hidden is an error.
    """

    hidden: Sequence[str] = HIDDEN
    zero: Sequence[str] = ()
    flag: str | None = None
    hidden_flags: Sequence[str] = ()
    zero_flags: Sequence[str] = ()
    must_hide: bool = True

    def __post_init__(self) -> None:
        for hidden, zero in ((self.hidden, self.zero), (self.hidden_flags, self.zero_flags)):
            if isinstance(hidden, str) or isinstance(zero, str):
                raise InputError("marks are given as one text", remedy="Give a list of marks.")
            both = sorted(set(hidden) & set(zero))
            if both:
                raise InputError(f"the mark {both[0]!r} is said to mean both hidden and zero")
        if (self.hidden_flags or self.zero_flags) and self.flag is None:
            raise InputError("flags are given but no column of flags", remedy="Name the column.")


@dataclass(frozen=True, repr=False, eq=False)
class PublishedCells:
    """The cells of the rows, in units of the last digit.

    Parameters
    ----------
    values
        What is published, 0 where nothing is.
    lb, ub
        What is known of each cell: its value, what the value was rounded from, or the range of a hidden one.
    rounding
        The unit of rounding.
    least
        The lower end of what nothing is known of.
    """

    keys: list[Codes]
    values: Int
    suppressed: Bool
    lb: Int
    ub: Int
    decimals: int
    rounding: int
    least: int
    marks: Mapping[str, int]


def read_cells(
    rows: Rows,
    value: str,
    marks: SuppressionMarks,
    bounds: tuple[str | None, str | None],
    decimals: int | None,
    rounding: float | str,
    nonnegative: bool,
) -> PublishedCells:
    with rows.placing_errors():
        keys = encode(rows.dimensions, rows.codes)
        if not any(dimension.aliases for dimension in rows.dimensions):
            check_distinct(rows.dimensions, keys)
    amounts, hidden, zero, found = _meanings(rows, value, marks)
    _check_some_hidden(rows, marks, hidden)
    if bounds == (None, None):
        _check_marks_tell_nothing(marks)
    ranges = [None if name is None else rows.columns.amounts(name) for name in bounds]
    unit = _unit_of(rounding)
    decimals = _decimals(decimals, unit, [column for column in (amounts, *ranges) if column is not None])
    scaled = rows.numbers(value, amounts, decimals, default=np.zeros(len(hidden), dtype=np.int64))
    rows.check(
        (scaled < 0) & nonnegative,
        f"the {value} is negative, but values are said to be 0 or more",
        "Say that values may be negative, or correct it.",
    )
    least, step = 0 if nonnegative else -UNBOUNDED, int(unit.scaleb(decimals))
    off = np.where(zero, 0, step // 2)
    low, high = (
        _range(rows, name, column, decimals, default)
        for name, column, default in zip(bounds, ranges, (least, UNBOUNDED), strict=True)
    )
    lb = np.where(hidden, low, np.maximum(scaled - off, least))
    ub = np.where(hidden, high, scaled + off)
    return _merged(rows, PublishedCells(keys, scaled, hidden, lb, ub, decimals, step, least, found))


def _meanings(
    rows: Rows, value: str, marks: SuppressionMarks
) -> tuple[Amounts, Bool, Bool, Mapping[str, int]]:
    """The numbers, the rows that are hidden, those that are zero, and how often each mark was found."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = rows.columns.column(value)
    hidden, zero = (np.zeros(len(column), dtype=bool) for _ in range(2))
    found: Counter[str] = Counter()

    def note(name: str, texts: NDArray[np.str_], of: Bool, meaning: str) -> None:
        found.update(f"{name} {text!r}: {meaning}" for text in texts[of].tolist())

    if marks.flag is not None:
        flags = _texts(rows.columns.column(marks.flag))
        hidden, zero = np.isin(flags, list(marks.hidden_flags)), np.isin(flags, list(marks.zero_flags))
        note(marks.flag, flags, hidden, "hidden")
        note(marks.flag, flags, zero, "zero")
        note(marks.flag, flags, ~hidden & ~zero & (flags != ""), "published")
    texts = _texts(column)
    unflagged = ~hidden & ~zero
    hides, nothing = (unflagged & np.isin(texts, list(given)) for given in (marks.hidden, marks.zero))
    note(value, texts, hides, "hidden")
    note(value, texts, nothing, "zero")
    hidden, zero = hidden | hides, zero | nothing
    taken = pa.array(hidden | zero)
    amounts = amounts_of(pc.if_else(taken, pa.scalar(None, column.type), column), marks=rows.columns.marks)
    unclear = {
        **amounts.faults,
        **dict.fromkeys(np.flatnonzero(amounts.missing & ~(hidden | zero)).tolist(), ""),
    }
    if unclear:
        row = min(unclear)
        raise rows.columns.fault(
            row,
            f"the {value} {_named_text(str(texts[row]))} is neither a number nor a mark that was explained",
            "Say whether this mark means hidden or zero, or correct the value.",
            rows.cell_name(row),
        )
    return amounts, hidden, zero, dict(found)


def _texts(column: Any) -> NDArray[np.str_]:
    """A column as trimmed text, "" where nothing is given."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
    text = pc.utf8_trim_whitespace(column.cast(pa.string())).fill_null("")
    return np.asarray(text.to_numpy(zero_copy_only=False)).astype(str)


def _named_text(text: str) -> str:
    """The text of a field for a message, unless it looks like a value."""
    return repr(text) if not any(letter.isdigit() for letter in text) else "as it is written"


def _check_marks_tell_nothing(marks: SuppressionMarks) -> None:
    """Raise where a mark such as <5 tells readers more than the audit would use; numbers alone are codes."""
    for mark in marks.hidden:
        if tells_of_value(mark) and not re.fullmatch(r"[+-]?[\d.,]+", mark):
            raise InputError(
                f"the mark {mark!r} says something of the values that it hides, which readers use",
                remedy="Name columns with the known range of hidden cells: lower and upper, or lb and ub.",
            )


def _check_some_hidden(rows: Rows, marks: SuppressionMarks, hidden: Bool) -> None:
    if hidden.any() or not marks.must_hide:
        return
    looked = name_some([repr(mark) for mark in marks.hidden], 12)
    if marks.flag is not None:
        looked += f"; in {marks.flag}: {name_some([repr(mark) for mark in marks.hidden_flags], 12)}"
    raise InputError(
        f"no cell is hidden (marks looked for: {looked})",
        file=rows.columns.file,
        remedy="Say by which mark or flag hidden cells are known.",
    )


def _unit_of(rounding: float | str) -> Decimal:
    try:
        unit = Decimal(str(rounding))
    except InvalidOperation:
        unit = Decimal(-1)
    if not unit.is_finite() or unit < 0:
        raise InputError("the unit of rounding is not a number of 0 or more", remedy="Give 1, 0.1, 1000, …")
    return unit


def _decimals(declared: int | None, unit: Decimal, columns: Sequence[Amounts]) -> int:
    """Enough for the values, their ranges and half a unit of rounding."""
    decimals = max(column.decimals for column in columns) if declared is None else declared
    decimals = max(decimals, places_of(unit / 2))
    if decimals > MAX_DECIMALS:
        raise InputError(
            f"with half a unit of rounding the values have more than {MAX_DECIMALS} decimals",
            remedy="Use a larger unit for the values.",
        )
    return decimals


def _range(rows: Rows, name: str | None, column: Amounts | None, decimals: int, default: int) -> Int:
    """Known lower or upper ends, one per row."""
    defaults = np.full(len(rows.columns), default, dtype=np.int64)
    if name is None or column is None:
        return defaults
    return rows.numbers(name, column, decimals, bound=True, default=defaults)


def _merged(rows: Rows, each: PublishedCells) -> PublishedCells:
    """Merge the rows that are names of one cell; what one of them publishes is known of the others."""
    order, starts, first = group(row_numbers(each.keys, [len(d) for d in rows.dimensions], len(each.values)))
    begin = starts[:-1]
    lb, ub = np.maximum.reduceat(each.lb[order], begin), np.minimum.reduceat(each.ub[order], begin)
    wrong = np.flatnonzero(lb > ub)
    if len(wrong):
        row = int(order[begin[wrong[0]]])
        raise rows.columns.fault(
            row,
            "what is published of the cell contradicts itself: no value is left for it",
            "Check its range; a code with a single child is one cell with it.",
            rows.cell_name(row),
        )
    known = np.where(each.suppressed, -UNBOUNDED, each.values)
    best = np.maximum.reduceat(known[order], begin)
    return replace(
        each,
        keys=[column[first] for column in each.keys],
        values=np.where(best == -UNBOUNDED, 0, best),
        suppressed=np.logical_or.reduceat(each.suppressed[order], begin),
        lb=lb,
        ub=ub,
    )
