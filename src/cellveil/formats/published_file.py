"""Tables that somebody else published: one row per cell, with a number or a suppression mark.

`cellveil.formats.suppression_marks` reads the rows. Here cells without a row are added where a total of the
file depends on them, and the relations are made of which the publication has the total and a part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Codes
from cellveil.errors import InputError, check_kind
from cellveil.files import checked_path
from cellveil.formats.columns import Columns
from cellveil.formats.equations import read_equations
from cellveil.formats.rows import Rows, open_rows
from cellveil.formats.suppression_marks import HIDDEN, PublishedCells, SuppressionMarks, read_cells
from cellveil.formats.tidy_folder import open_folder
from cellveil.judge.published_table import PublishedTable
from cellveil.microdata.roles import check_ready_made
from cellveil.tables.build import Incomplete, build_relations, relations_along, sides
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import TOTAL
from cellveil.tables.keys import group, row_numbers
from cellveil.tables.relations import Relations
from cellveil.tables.scaled import LARGEST, REMEDIES, UNBOUNDED
from cellveil.tables.table import Table

Absent = Literal["zero", "hidden"]


SUPPRESSED_STATUS = ("u", "m")
"""In a tidy folder, cells of this status are hidden even if their value is given."""


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
    must_hide: bool = True,
) -> PublishedTable:
    """Read a published table of which some cells are hidden.

    Parameters
    ----------
    source, hierarchies, value, total_code
        As in `read_table`; the rows include the totals.
    hidden, zero, flag, hidden_flags, zero_flags
        See `SuppressionMarks`.
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
    must_hide
        Whether a file in which nothing is hidden is an error.

    Examples
    --------
    >>> import pyarrow as pa
    >>> cells = pa.table({"region": ["Total", "N", "S"], "value": ["10", "x", "4"]})
    >>> read_publication(cells, {"region": None})
    PublishedTable('value', 3 cells, 1 hidden, 0 relations set aside)
    """
    remedy = 'Give codes by dimension: {"region": ["N", "S"]}.'
    check_kind(hierarchies, Mapping, "what names the hierarchies", remedy)
    marks = SuppressionMarks(hidden, zero, flag, hidden_flags, zero_flags, must_hide)
    parts = {"value": value, "lower end": lower, "upper end": upper}
    parts |= {"flag": flag} if flag != value else {}
    check_ready_made(hierarchies, parts)
    rows = open_rows(source, hierarchies, total_code)
    cells = read_cells(rows, value, marks, (lower, upper), decimals, rounding, nonnegative)
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
    path = checked_path(path, "the folder")
    rows, equations = open_folder(Path(path), "value")
    columns = rows.columns
    status = "status" if "status" in columns else None
    marks = SuppressionMarks(hidden, zero, status, SUPPRESSED_STATUS if status else ())
    bounds = ("lb" if "lb" in columns else None, "ub" if "ub" in columns else None)
    cells = read_cells(rows, "value", marks, bounds, None, rounding, nonnegative)
    return _assemble(rows, cells, "value", absent, incomplete, equations)


# -- cells and relations -------------------------------------------------------------------------------------


def _assemble(
    rows: Rows,
    cells: PublishedCells,
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
        has_total, has_parts = sides(relations)
        wanted |= missing & (has_total & has_parts)[row]
    chosen = np.flatnonzero(wanted)
    example = relations.cells[relations.indptr[row[chosen]]]
    return [code[chosen].astype(np.int32) if k == axis else column[example] for k, column in enumerate(keys)]


def _complete(table: Table, incomplete: Incomplete) -> Relations:
    """The relations of which the publication has the total and a part."""
    relations = table.relations
    if not len(relations):
        return relations
    has_total, has_parts = sides(relations)
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
    fresh = further.rows_beyond(table.relations.keys())
    return Relations.stack([table.relations, further.take_rows(fresh)])
