"""Ready-made tables from named columns: one row per cell, with its codes, value and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Int
from cellveil.errors import InputError, nearest_name
from cellveil.formats.columns import Columns
from cellveil.formats.exact_numbers import Amounts, float_texts, texts_of
from cellveil.formats.rows import Rows, by_column, cells_of_rows, open_rows, put_on_cells
from cellveil.microdata.roles import check_ready_made
from cellveil.problem import Problem, Status, defaults
from cellveil.tables.build import Incomplete, table_from_cells, table_from_interior
from cellveil.tables.hierarchy import TOTAL
from cellveil.tables.table import Table

Mismatch = Literal["error", "compute", "keep"]
"""What is done with a table that does not add up: it is rejected, its totals are computed, or it is kept."""
Totals = Literal["given", "none"]

BOUNDS = ("lb", "ub")
LEVELS = ("lpl", "upl", "spl")
FIELDS = ("status", "weight", *BOUNDS, *LEVELS)
"""What a row may tell of its cell besides the value."""


def read_table(
    source: Any,
    hierarchies: Any,
    *,
    value: str = "value",
    contributors: str | None = None,
    totals: Totals = "given",
    decimals: int | None = None,
    incomplete: Incomplete = "error",
    repair: bool = False,
    allow_negative: bool = False,
    total_code: str = TOTAL,
) -> Table:
    """Read a table with one row per cell.

    Parameters
    ----------
    source
        A path, a frame, or what `read_columns` returned (which takes sheet, delimiter, encoding and so on).
    hierarchies
        For each dimension's column: a Dimension, a Hierarchy, a nested dict, the path of an indented .hrc or
        a parent/child file, a list of these (the first covers everything), or None for a flat dimension
        over the codes that occur. A list of columns alone makes all of them flat.
    value, contributors
        Names of the columns of values and, optionally, of numbers of contributors.
    totals
        Whether the rows include the totals, or all totals are to be computed.
    decimals
        Declared decimals; found from the values when not given.
    incomplete
        What to do where a non-zero total has no parts: ``error`` or ``allow``.
    repair
        Compute given totals anew instead of rejecting a table that does not add up.
    allow_negative
        Accept values below 0.
    total_code
        The total's code in flat dimensions and .hrc files.

    Examples
    --------
    >>> import pyarrow as pa
    >>> read_table(pa.table({"region": ["N", "S"], "value": [4, 6]}), {"region": None}, totals="none")
    Table('value', region 3, 3 cells, 1 relation)
    """
    check_ready_made(by_column(hierarchies), {"value": value, "number of contributors": contributors})
    rows = open_rows(source, hierarchies, total_code)
    amounts = rows.columns.amounts(value)
    table = build_table(
        rows,
        amounts,
        amounts.decimals if decimals is None else decimals,
        value=value,
        totals=totals,
        incomplete=incomplete,
        mismatch="compute" if repair else "error",
        allow_negative=allow_negative,
    )
    return with_contributors(table, rows, contributors)


def read_problem(
    source: Any,
    hierarchies: Any,
    *,
    fields: Mapping[str, str] | None = None,
    value: str = "value",
    contributors: str | None = None,
    decimals: int | None = None,
    total_code: str = TOTAL,
    **options: Any,
) -> Problem:
    """Read a table and what has to be protected in it.

    Parameters
    ----------
    fields
        Column names of status, weight, lb, ub, lpl, upl and spl where they differ from these; a field without
        a column gets its default: zeros are frozen, weights are absolute values, values are known to be ≥ 0.
    options
        Those of `read_table`.
    """
    rows = open_rows(source, hierarchies, total_code)
    named = _fields_of(rows.columns, fields or {})
    parts = {"value": value, "number of contributors": contributors} | named
    check_ready_made(by_column(hierarchies), parts, rows.columns.file)
    amounts = {name: rows.columns.amounts(named[name]) for name in (*BOUNDS, *LEVELS) if name in named}
    values = rows.columns.amounts(value)
    if decimals is None:
        decimals = max(column.decimals for column in (values, *amounts.values()))
    table = build_table(rows, values, decimals, value=value, **options)
    return build_problem(rows, with_contributors(table, rows, contributors), named, amounts)


def build_table(
    rows: Rows,
    amounts: Amounts,
    decimals: int,
    *,
    value: str = "value",
    totals: Totals = "given",
    incomplete: Incomplete = "error",
    mismatch: Mismatch = "error",
    allow_negative: bool = False,
) -> Table:
    """Make the table of the rows; see `read_table` and `table_from_cells`."""
    if totals not in ("given", "none"):
        raise InputError(f"totals cannot be {totals!r}", remedy="Use 'given' or 'none'.")
    scaled = rows.numbers(value, amounts, decimals)
    if not allow_negative:
        count = int((scaled < 0).sum())
        what = f"the {value} is negative ({count} such rows)"
        rows.check(scaled < 0, what, "Correct it, or allow negative values.")
    values = _as_written(scaled, decimals)
    given = rows.dimensions, rows.codes, values
    with rows.placing_errors():
        if totals == "none":
            return table_from_interior(*given, decimals=decimals, variable=value)
        return table_from_cells(
            *given,
            decimals=decimals,
            variable=value,
            incomplete=incomplete,
            repair=mismatch == "compute",
            keep=mismatch == "keep",
        )


def with_contributors(table: Table, rows: Rows, column: str | None) -> Table:
    """The table with the numbers of contributors that a column gives; as it is without such a column."""
    if column is None:
        return table
    cells = cells_of_rows(rows, table)
    counts = rows.columns.amounts(column)
    scaled = rows.numbers(column, counts, 0, default=np.full(len(cells), -1, dtype=np.int64))
    wrong = (scaled < 0) & ~counts.missing
    rows.check(wrong, f"the number in {column} is negative", "Leave it empty if not known.")
    known = np.full(table.num_cells, -1, dtype=np.int64)
    put_on_cells(rows, known, cells, scaled, column)
    return table.replace(contributors=known)


def build_problem(
    rows: Rows, table: Table, named: Mapping[str, str], amounts: Mapping[str, Amounts]
) -> Problem:
    """Put status, weights, bounds and levels of the rows on the cells of the table."""
    cells = cells_of_rows(rows, table)
    fields = defaults(table)
    if "status" in named:
        put_on_cells(rows, fields["status"], cells, status_of(rows, named["status"]), "status")
    if "weight" in named:
        weight = rows.columns.floats(named["weight"])
        given = np.where(np.isnan(weight), fields["weight"][cells], weight)
        put_on_cells(rows, fields["weight"], cells, given, "weight")
    for name, column in amounts.items():
        known = {"bound": name in BOUNDS, "default": fields[name][cells]}
        scaled = rows.numbers(named[name], column, table.decimals, **known)
        put_on_cells(rows, fields[name], cells, scaled, name)
    with rows.placing_errors():
        return Problem(table, **fields)


def status_of(rows: Rows, column: str) -> NDArray[np.int8]:
    """A column of status letters."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.utf8_trim_whitespace(rows.columns.column(column).cast(pa.string()))
    number = pc.index_in(text, pa.array([status.letter for status in Status]))
    unknown = number.is_null().to_numpy(zero_copy_only=False)
    rows.check(unknown, f"the {column} is none of s, u, m and z", "Correct the status.")
    return np.asarray(number.to_numpy(), dtype=np.int8)


def table_to_arrow(table: Table) -> Any:
    """The cells as an Arrow table: one column per dimension, and the exact value as text.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame = pa.table({"region": ["N", "S"], "value": ["4", "2.5"]})
    >>> table_to_arrow(read_table(frame, {"region": None}, totals="none")).to_pylist()[0]
    {'region': 'Total', 'value': '6.5'}
    """
    import pyarrow as pa

    columns = {
        dimension.name: pa.array(dimension.codes, pa.string()).take(pa.array(table.keys[axis]))
        for axis, dimension in enumerate(table.dimensions)
    }
    return pa.table(columns | {"value": texts_of(table.values, table.decimals, trim=False)})


def problem_to_arrow(problem: Problem) -> Any:
    """The cells with their status, weight, bounds and levels; numbers as exact text."""
    import pyarrow as pa

    frame = table_to_arrow(problem.table)
    letters = pa.array([status.letter for status in Status]).take(pa.array(problem.status))
    frame = frame.append_column("status", letters).append_column("weight", float_texts(problem.weight))
    for name in (*BOUNDS, *LEVELS):
        frame = frame.append_column(name, texts_of(getattr(problem, name), problem.table.decimals))
    contributors = problem.table.contributors
    if contributors is not None:
        counts = pa.array(contributors, mask=contributors < 0).cast(pa.string()).fill_null("")
        frame = frame.append_column("contributors", counts)
    return frame


def _fields_of(columns: Columns, fields: Mapping[str, str]) -> dict[str, str]:
    """The column of each field that has one."""
    unknown = [name for name in fields if name not in FIELDS]
    if unknown:
        raise InputError(f"there is no field {unknown[0]!r}", remedy=nearest_name(unknown[0], FIELDS))
    for name in fields.values():
        columns.column(name)
    return {name: fields.get(name, name) for name in FIELDS if fields.get(name, name) in columns}


def _as_written(scaled: Int, decimals: int) -> NDArray[Any]:
    """Numbers that scale back to exactly these integers."""
    if decimals == 0:
        return scaled
    if np.abs(scaled).max(initial=0) < 2**49:
        return np.asarray(scaled / 10.0**decimals)
    return np.array([Decimal(number).scaleb(-decimals) for number in scaled.tolist()], dtype=object)
