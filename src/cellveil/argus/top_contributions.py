"""Numbers of contributors and largest contributions that a ready-made table gives for its cells.

Totals that the table does not give get those of their finest cells together, the contributors of different
cells being taken to be different.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from cellveil.argus.metadata import VariableRole
from cellveil.arrays import Codes, Float, Int
from cellveil.errors import InputError
from cellveil.formats.exact_numbers import Amounts
from cellveil.formats.rows import Rows
from cellveil.tables.build import roll_up
from cellveil.tables.contributions import Contributions
from cellveil.tables.dimension import Dimension
from cellveil.tables.keys import row_numbers
from cellveil.tables.scaled import unscale
from cellveil.tables.table import Table
from cellveil.tables.totals import is_interior

Names = Mapping[VariableRole, Sequence[str]]
"""The columns of each role."""

UNKNOWN = -1


def check_top(rows: Rows, names: Names, value: str) -> None:
    """Largest contributions descend, and make up no more than the whole of what they contribute to."""
    columns = [rows.columns.amounts(name) for name in names[VariableRole.TOP]]
    whole = rows.columns.amounts(next(iter(names[VariableRole.SHADOW]), value))
    decimals = max((column.decimals for column in (*columns, whole)), default=0)
    zeros = np.zeros(len(rows.columns), dtype=np.int64)
    scaled = [
        rows.numbers(name, column, decimals, default=zeros)
        for name, column in zip(names[VariableRole.TOP], columns, strict=True)
    ]
    for larger, smaller in pairwise(scaled):
        rows.check(
            smaller > larger,
            "a contribution is larger than the one before it",
            "The largest one comes first, in the order of the variables with <MAXSCORE>.",
        )
    total, _ = whole.at(decimals, default=zeros)
    if scaled and not (total < 0).any():
        rows.check(
            np.add.reduce(scaled) > total,
            "the largest contributions sum to more than the whole",
            "Correct them, or the value.",
        )


def contributions_of_rows(table: Table, rows: Rows, cells: Int, names: Names, value: str) -> Table:
    """The table with the numbers of contributors, largest contributions and the shadow that rows give.

    Parameters
    ----------
    cells
        The cell of each row, −1 for rows that the table does not have.
    """
    rest = np.setdiff1d(np.arange(table.num_cells), cells)
    count = _count(table, rows, cells, names)
    if count is not None:
        count[rest] = _added_up(table, count)[rest]
        table = table.replace(contributors=count)
    shadow = next(iter(names[VariableRole.SHADOW]), None)
    if shadow is not None and not len(rest):
        whole = _spread(table, rows, cells, shadow, rows.columns.amounts(shadow))
        table = table.replace(columns={**table.columns, shadow: unscale(*whole)})
    for cost in names[VariableRole.COST]:
        table = table.replace(columns={**table.columns, cost: _costs(table, rows, cells, cost)})
    if not names[VariableRole.TOP]:
        return table
    return table.replace(units=_units(table, rows, cells, names, shadow or value, rest))


def _count(table: Table, rows: Rows, cells: Int, names: Names) -> Int | None:
    name = next(iter(names[VariableRole.FREQUENCY]), None)
    if name is None:
        return None
    amounts = rows.columns.amounts(name)
    absent = np.full(len(rows.columns), UNKNOWN, dtype=np.int64)
    counts = rows.numbers(name, amounts, 0, default=absent)
    rows.check((counts < 0) & ~amounts.missing, f"the number in {name} is negative", "Correct it.")
    found = np.full(table.num_cells, UNKNOWN, dtype=np.int64)
    found[cells[cells >= 0]] = counts[cells >= 0]
    return found


def _costs(table: Table, rows: Rows, cells: Int, name: str) -> Float:
    """Costs as given, and the absolute values of other cells."""
    weight, kept = rows.columns.floats(name), cells >= 0
    rows.check(weight < 0, "the cost is negative", "Give a cost of 0 or more.")
    costs = np.abs(table.floats())
    given = np.where(np.isnan(weight), costs[cells], weight)
    costs[cells[kept]] = given[kept]
    rows.check(kept & (costs[cells] != given), "contradictory cost: the lines are names of one cell", _ALIKE)
    return costs


_ALIKE = "Give both names of the cell the same cost, or remove one of the lines."


def _spread(table: Table, rows: Rows, cells: Int, name: str, amounts: Amounts) -> tuple[Int, int]:
    """A column of numbers on the cells, and its decimals; 0 where nothing is given."""
    zeros = np.zeros(len(rows.columns), dtype=np.int64)
    found = np.zeros(table.num_cells, dtype=np.int64)
    found[cells[cells >= 0]] = rows.numbers(name, amounts, amounts.decimals, default=zeros)[cells >= 0]
    return found, amounts.decimals


def _units(table: Table, rows: Rows, cells: Int, names: Names, whole: str, rest: Int) -> Contributions:
    """The largest contributions of every cell."""
    columns = {name: rows.columns.amounts(name) for name in (*names[VariableRole.TOP], whole)}
    decimals = max(column.decimals for column in columns.values())
    zeros = np.zeros(len(rows.columns), dtype=np.int64)
    on_cells = {}
    for name, column in columns.items():
        on_cells[name] = np.zeros(table.num_cells, dtype=np.int64)
        given = rows.numbers(name, column, decimals, default=zeros)
        on_cells[name][cells[cells >= 0]] = given[cells >= 0]
    top = np.abs(np.column_stack([on_cells[name] for name in names[VariableRole.TOP]]))
    total = on_cells[whole]
    if len(rest):
        if (total < 0).any():
            raise InputError(
                "contributions of computed totals cannot be worked out where values are negative",
                file=rows.columns.file,
                remedy="Give the totals with their contributions.",
            )
        total[rest] = _added_up(table, total)[rest]
        top[rest] = _largest(table, top)[rest]
    count = table.contributors
    absolute = np.maximum(np.abs(total), top.sum(axis=1))
    return Contributions(
        decimals,
        np.full(table.num_cells, UNKNOWN, dtype=np.int64) if count is None else count,
        total,
        absolute,
        top,
        np.full(top.shape, UNKNOWN, dtype=np.int32),
    )


def _added_up(table: Table, figures: Int) -> Int:
    """For each cell the sum over its finest cells; unknown where one of them is."""
    interior = is_interior(table.dimensions, table.keys)
    keys = [column[interior] for column in table.keys]
    known = figures[interior]
    made, (sums, gaps) = roll_up(table.dimensions, keys, [known, (known == UNKNOWN).astype(np.int64)])
    found = table.find(made)
    result = np.full(table.num_cells, UNKNOWN, dtype=np.int64)
    result[found[found >= 0]] = np.where(gaps > 0, UNKNOWN, sums)[found >= 0]
    return result


def _largest(table: Table, top: Int) -> Int:
    """For each cell the largest contributions among its finest cells."""
    interior = is_interior(table.dimensions, table.keys)
    depth = top.shape[1]
    keys = [np.repeat(column[interior], depth) for column in table.keys]
    amounts = top[interior].reshape(-1)
    for axis, dimension in enumerate(table.dimensions):
        keys, amounts = _covered(dimension, axis, keys, amounts)
        keys, amounts = _first_of_each(table.sizes, keys, amounts, depth)
    cells = table.find(keys)
    order = np.lexsort((-amounts, cells))
    cells, amounts = cells[order], amounts[order]
    place = np.arange(len(cells)) - np.searchsorted(cells, cells)
    result = np.zeros_like(top)
    kept = cells >= 0
    result[cells[kept], place[kept]] = amounts[kept]
    return result


def _covered(dimension: Dimension, axis: int, keys: Sequence[Codes], amounts: Int) -> tuple[list[Codes], Int]:
    """Each entry once for every code that covers its own."""
    leaves, covers = dimension.closure
    starts = np.searchsorted(leaves, np.arange(len(dimension) + 1))
    repeats = np.diff(starts)[keys[axis]]
    entries = np.repeat(np.arange(len(amounts)), repeats)
    offset = np.arange(len(entries)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    spread = [column[entries] for column in keys]
    spread[axis] = covers[starts[:-1][keys[axis][entries]] + offset].astype(np.int32)
    return spread, amounts[entries]


def _first_of_each(
    sizes: Sequence[int], keys: Sequence[Codes], amounts: Int, depth: int
) -> tuple[list[Codes], Int]:
    """The largest entries of each key."""
    numbers = row_numbers(keys, sizes, len(amounts))
    order = np.lexsort((-amounts, numbers))
    ordered = numbers[order]
    place = np.arange(len(order)) - np.searchsorted(ordered, ordered)
    kept = order[place < depth]
    return [column[kept] for column in keys], amounts[kept]
