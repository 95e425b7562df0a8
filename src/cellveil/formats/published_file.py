"""Tables that somebody else published: one row per cell, with a number or a mark in place of a hidden one.

What a field means is said, never guessed: which marks hide a value and which mean zero, in the column of the
values or in a column of flags. A text that is neither a number nor such a mark is an error. So is a file in
which no cell is hidden.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Codes, Int
from cellveil.errors import InputError, name_some
from cellveil.formats.columns import Columns, read_columns
from cellveil.formats.equations import read_equations, row_keys
from cellveil.formats.exact_numbers import Amounts, amounts_of, places_of
from cellveil.formats.ready_made import Rows, open_rows
from cellveil.formats.tidy_folder import CELLS, EQUATIONS, _dimensions
from cellveil.judge.published import PublishedTable
from cellveil.microdata.roles import check_ready_made
from cellveil.tables.build import Incomplete, build_relations, check_distinct, encode, relations_along
from cellveil.tables.hierarchy import TOTAL, Dimension
from cellveil.tables.keys import group, row_numbers
from cellveil.tables.relations import Relations
from cellveil.tables.scaled import LARGEST, MAX_DECIMALS, REMEDIES, UNBOUNDED
from cellveil.tables.table import Table

Absent = Literal["zero", "hidden"]

HIDDEN = ("", "x", "X", "*", "c", "D", "(D)")
"""Marks in the column of values that hide a cell when nothing else is said; the first is an empty field."""

SUPPRESSED_STATUS = ("u", "m")
"""In a tidy folder, cells of this status are hidden even if their value is given."""


@dataclass(frozen=True)
class Marks:
    """What stands in place of a value, and what it means.

    Parameters
    ----------
    hidden, zero
        Texts in the column of values that mean “not published” and “nothing there, 0”; "" is an empty field.
    flag
        Name of a column of flags.
    hidden_flags, zero_flags
        The same for flags; the value beside such a flag is not looked at.
    """

    hidden: Sequence[str] = HIDDEN
    zero: Sequence[str] = ()
    flag: str | None = None
    hidden_flags: Sequence[str] = ()
    zero_flags: Sequence[str] = ()

    def __post_init__(self) -> None:
        for hidden, zero in ((self.hidden, self.zero), (self.hidden_flags, self.zero_flags)):
            if isinstance(hidden, str) or isinstance(zero, str):
                raise InputError("marks are given as one text", remedy="Give a list of marks.")
            both = sorted(set(hidden) & set(zero))
            if both:
                raise InputError(f"the mark {both[0]!r} is said to mean both hidden and zero")
        if (self.hidden_flags or self.zero_flags) and self.flag is None:
            raise InputError("flags are given but no column of flags", remedy="Name the column.")


def read_publication(
    source: Any,
    hierarchies: Mapping[str, Any],
    *,
    value: str = "value",
    hidden: Sequence[str] = HIDDEN,
    zero: Sequence[str] = (),
    flag: str | None = None,
    hidden_flags: Sequence[str] = (),
    zero_flags: Sequence[str] = (),
    lower: str | None = None,
    upper: str | None = None,
    decimals: int | None = None,
    rounding: float | str = 0,
    nonnegative: bool = True,
    absent: Absent = "zero",
    incomplete: Incomplete = "allow",
    total_code: str = TOTAL,
) -> PublishedTable:
    """Read a published table of which some cells are hidden.

    Parameters
    ----------
    source, hierarchies, value, total_code
        As in `read_table`; the rows include the totals.
    hidden, zero, flag, hidden_flags, zero_flags
        See `Marks`.
    lower, upper
        Names of columns with the known range of hidden cells; an empty field has the default.
    decimals
        Decimals of the values; as many as they are written with when not given.
    rounding
        Values are rounded to multiples of this: each is known to half of it up or down. 0 if they are exact.
    nonnegative
        Whether everybody knows that no value is below 0.
    absent
        What a cell without a row is: ``zero``, or ``hidden``. A missing total of rows that are there is
        unknown either way.
    incomplete
        What to do where a total has no parts at all in the file: ``allow`` (the detail is not published) or
        ``error``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> cells = pa.table({"region": ["Total", "N", "S"], "value": ["10", "x", "4"]})
    >>> read_publication(cells, {"region": None})
    PublishedTable('value', 3 cells, 1 hidden, 0 relations set aside)
    """
    marks = Marks(hidden, zero, flag, hidden_flags, zero_flags)
    parts = {"value": value, "lower end": lower, "upper end": upper}
    parts |= {"flag": flag} if flag != value else {}
    check_ready_made(hierarchies, parts)
    rows = open_rows(source, hierarchies, total_code)
    cells = _read_cells(rows, value, marks, (lower, upper), decimals, rounding, nonnegative)
    return _assemble(rows, cells, value, absent, incomplete, None)


def read_publication_folder(
    path: Path | str,
    *,
    hidden: Sequence[str] = HIDDEN,
    zero: Sequence[str] = (),
    rounding: float | str = 0,
    nonnegative: bool = True,
    absent: Absent = "zero",
    incomplete: Incomplete = "allow",
) -> PublishedTable:
    """Read a tidy folder whose ``cells.csv`` has no value, or a mark, for hidden cells.

    Columns ``lb`` and ``ub`` tell what is known of hidden cells. Where there is a column ``status``, cells of
    status ``u`` and ``m`` are hidden as well; the other columns of an instance are not looked at.
    """
    path = Path(path)
    if not (path / CELLS).is_file():
        raise InputError(
            f"the folder has no {CELLS}" if path.is_dir() else "the folder does not exist",
            file=path,
            remedy=f"Name a folder with {CELLS} and one hier_<dimension>.csv per dimension.",
        )
    columns = read_columns(path / CELLS)
    columns.column("value")
    equations = read_columns(path / EQUATIONS, allow_empty=True) if (path / EQUATIONS).exists() else None
    rows = open_rows(columns, _dimensions(path, columns, equations))
    status = "status" if "status" in columns else None
    marks = Marks(hidden, zero, status, SUPPRESSED_STATUS if status else ())
    bounds = ("lb" if "lb" in columns else None, "ub" if "ub" in columns else None)
    cells = _read_cells(rows, "value", marks, bounds, None, rounding, nonnegative)
    return _assemble(rows, cells, "value", absent, incomplete, equations)


def open_publication(
    source: Path, hierarchies: Sequence[str], names: Mapping[str, Any], options: Mapping[str, Any]
) -> PublishedTable:
    """Read a folder, or a file whose dimensions are given as texts, as on a command line.

    Parameters
    ----------
    hierarchies
        ``COLUMN=FILE`` for each hierarchy, ``COLUMN`` for a flat dimension; several of one column overlap.
    names
        Columns of a file and the code of its totals, as in `read_publication`; a folder has its own.
    options
        Further arguments.
    """
    if source.is_dir():
        if hierarchies or {"flag", "hidden_flags", "zero_flags"} & {
            *options,
            *(k for k in names if names[k]),
        }:
            raise InputError(
                "a folder has its own hierarchies and no flags",
                file=source,
                remedy="Leave these options out, or name the file.",
            )
        return read_publication_folder(source, **options)
    if not hierarchies:
        raise InputError(
            "neither a pattern nor a hierarchy is given",
            file=source,
            remedy="Name the pattern, or the dimensions of a published table with their hierarchies.",
        )
    trees: dict[str, Any] = {}
    for given in hierarchies:
        column, _, file = given.partition("=")
        trees[column] = [*(trees.get(column) or []), Path(file)] if file else None
    return read_publication(source, trees, **names, **options)


# -- rows ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False, eq=False)
class _Cells:
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


def _read_cells(
    rows: Rows,
    value: str,
    marks: Marks,
    bounds: tuple[str | None, str | None],
    decimals: int | None,
    rounding: float | str,
    nonnegative: bool,
) -> _Cells:
    with rows.placing_errors():
        keys = encode(rows.dimensions, rows.codes)
        if not any(dimension.aliases for dimension in rows.dimensions):
            check_distinct(rows.dimensions, keys)
    amounts, hidden, zero, found = _meanings(rows, value, marks)
    _check_some_hidden(rows, marks, hidden)
    ranges = [None if name is None else rows.columns.amounts(name) for name in bounds]
    unit = _unit_of(rounding)
    decimals = _decimals(decimals, unit, [column for column in (amounts, *ranges) if column is not None])
    scaled, faults = amounts.at(decimals, default=np.zeros(len(hidden), dtype=np.int64))
    rows.columns.check_numbers(value, faults, rows.cell_name)
    _check_sign(rows, value, scaled, nonnegative)
    least, step = 0 if nonnegative else -UNBOUNDED, int(unit.scaleb(decimals))
    off = np.where(zero, 0, step // 2)
    low, high = (
        _range(rows, name, column, decimals, default)
        for name, column, default in zip(bounds, ranges, (least, UNBOUNDED), strict=True)
    )
    lb = np.where(hidden, low, np.maximum(scaled - off, least))
    ub = np.where(hidden, high, scaled + off)
    return _merged(rows, _Cells(keys, scaled, hidden, lb, ub, decimals, step, least, found))


def _meanings(rows: Rows, value: str, marks: Marks) -> tuple[Amounts, Bool, Bool, Mapping[str, int]]:
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
    amounts = amounts_of(
        pc.if_else(taken, pa.scalar(None, column.type), column), decimal=rows.columns.decimal
    )
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


def _check_some_hidden(rows: Rows, marks: Marks, hidden: Bool) -> None:
    if hidden.any():
        return
    looked = name_some([repr(mark) for mark in marks.hidden], 12)
    if marks.flag is not None:
        looked += f"; in {marks.flag}: {name_some([repr(mark) for mark in marks.hidden_flags], 12)}"
    raise InputError(
        f"no cell is hidden (marks looked for: {looked})",
        file=rows.columns.file,
        remedy="Say by which mark or flag hidden cells are known.",
    )


def _check_sign(rows: Rows, value: str, scaled: Int, nonnegative: bool) -> None:
    if nonnegative and (scaled < 0).any():
        row = int(np.flatnonzero(scaled < 0)[0])
        raise rows.columns.fault(
            row,
            f"the {value} is negative, but values are said to be 0 or more",
            "Say that values may be negative, or correct it.",
            rows.cell_name(row),
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
    scaled, faults = column.at(decimals, bound=True, default=defaults)
    rows.columns.check_numbers(name, faults, rows.cell_name)
    return scaled


def _merged(rows: Rows, each: _Cells) -> _Cells:
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


# -- cells and relations -------------------------------------------------------------------------------------


def _assemble(
    rows: Rows,
    cells: _Cells,
    value: str,
    absent: Absent,
    incomplete: Incomplete,
    equations: Columns | None,
) -> PublishedTable:
    if absent not in ("zero", "hidden"):
        raise InputError(f"absent cannot be {absent!r}", remedy="Use 'zero' or 'hidden'.")
    if (np.abs(cells.values) >= LARGEST).any():
        raise InputError("a value is too large", file=rows.columns.file, remedy=REMEDIES["is too large"])
    dimensions = rows.dimensions
    num_rows = len(cells.values)
    keys = _with_absent(dimensions, cells.keys, absent)
    added = len(keys[0]) - num_rows
    relations = build_relations(dimensions, keys, len(keys[0]))
    table = Table(dimensions, tuple(keys), _padded(cells.values, added, 0), cells.decimals, relations, value)
    with rows.placing_errors():
        table = table.replace(relations=_complete(table, incomplete))
    if equations is not None:
        table = table.replace(relations=_with_equations(table, equations))
    return PublishedTable.of(
        table,
        _padded(cells.suppressed, added, False),
        _padded(cells.lb, added, cells.least),
        _padded(cells.ub, added, UNBOUNDED),
        unknown=_padded(np.zeros(num_rows, dtype=bool), added, True),
        rounding=cells.rounding,
        marks=cells.marks,
    )


def _padded(column: NDArray[Any], added: int, filler: Any) -> NDArray[Any]:
    return np.concatenate([column, np.full(added, filler, dtype=column.dtype)])


def _with_absent(dimensions: Sequence[Dimension], keys: list[Codes], absent: Absent) -> list[Codes]:
    """Add the cells without a row that are not known to be 0 and that a total of the file depends on."""
    sizes = [len(dimension) for dimension in dimensions]
    num_rows = len(keys[0])
    while True:
        parts = [_missing_along(axis, dimensions, keys, absent) for axis in range(len(dimensions))]
        new = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
        if not len(new[0]):
            break
        _, _, first = group(row_numbers(new, sizes, len(new[0])))
        keys = [np.concatenate([old, more[first]]) for old, more in zip(keys, new, strict=True)]
    kept = _below(build_relations(dimensions, keys, len(keys[0])), num_rows)
    return [column[kept] for column in keys]


def _below(relations: Relations, num_rows: int) -> Bool:
    """The first cells, and those of the others that are parts of their totals, or parts of such parts.

    What only stands above is a sum that anybody can make and that tells nothing; but it would tie together
    what is independent.
    """
    below = np.arange(relations.num_cells) < num_rows
    total = relations.cells[relations.indptr[:-1]]
    while True:
        reached = below.copy()
        reached[relations.cells[below[total][relations.row_of_entry]]] = True
        if (reached == below).all():
            return below
        below = reached


def _missing_along(
    axis: int, dimensions: Sequence[Dimension], keys: list[Codes], absent: Absent
) -> list[Codes]:
    """Missing totals of cells that are there and, where asked for, missing parts of totals with parts."""
    relations, equation = relations_along(axis, dimensions, keys, len(keys[0]))
    equations = dimensions[axis].equations
    if not len(relations):
        return [column[:0] for column in keys]
    lengths = np.array([len(e.codes) for e in equations])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    row = np.repeat(np.arange(len(relations)), lengths[equation])
    offset = np.arange(len(row)) - np.repeat(
        np.cumsum(lengths[equation]) - lengths[equation], lengths[equation]
    )
    place = starts[equation][row] + offset
    code = np.concatenate([np.array(e.codes) for e in equations])[place]
    is_total = np.concatenate([np.array(e.coefs) for e in equations])[place] < 0
    size = len(dimensions[axis])
    there = relations.row_of_entry * size + keys[axis][relations.cells]
    missing = ~np.isin(row * size + code, there)
    wanted = missing & is_total
    if absent == "hidden":
        has_total, has_parts = _sides(relations)
        wanted |= missing & (has_total & has_parts)[row]
    chosen = np.flatnonzero(wanted)
    example = relations.cells[relations.indptr[row[chosen]]]
    return [code[chosen].astype(np.int32) if k == axis else column[example] for k, column in enumerate(keys)]


def _sides(relations: Relations) -> tuple[Bool, Bool]:
    """Which relations have a total, and which have a part."""
    return (
        np.logical_or.reduceat(relations.coefs < 0, relations.indptr[:-1]),
        np.logical_or.reduceat(relations.coefs > 0, relations.indptr[:-1]),
    )


def _complete(table: Table, incomplete: Incomplete) -> Relations:
    """The relations of which the publication has the total and a part."""
    relations = table.relations
    if not len(relations):
        return relations
    has_total, has_parts = _sides(relations)
    bare = np.flatnonzero(~has_parts)
    if len(bare) and incomplete == "error":
        raise InputError(
            f"none of the total's parts is in the table ({len(bare)} such totals)",
            cell=table.cell_name(int(relations.row(int(bare[0]))[0][0])),
            remedy="Add the parts, or allow incomplete tables if the detail is not published.",
        )
    return relations.take_rows(np.flatnonzero(has_total & has_parts))


def _with_equations(table: Table, equations: Columns) -> Relations:
    """The relations and those of equations.csv that are not among them."""
    further, _ = read_equations(table, equations)
    known = set(row_keys(table.relations))
    fresh = [row for row, key in enumerate(row_keys(further)) if key not in known]
    return Relations.stack([table.relations, further.take_rows(np.array(fresh, dtype=np.int64))])
