"""Tables from cells: ready-made with totals, or from the interior with totals computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Codes, Int
from cellveil.errors import InputError, check_kind, counted, name_some, nearest_column
from cellveil.tables.dimension import Dimension
from cellveil.tables.keys import group, row_numbers
from cellveil.tables.relations import Relations
from cellveil.tables.scaled import LARGEST, REMEDIES, infer_decimals, scale
from cellveil.tables.table import Table
from cellveil.tables.totals import is_interior

Incomplete = Literal["error", "allow"]


def table_from_interior(
    dimensions: Sequence[Dimension],
    codes: Mapping[str, Sequence[str]],
    values: Any,
    *,
    decimals: int | None = None,
    variable: str = "value",
) -> Table:
    """Build a table from its interior cells; all totals are computed. Equal keys are an error.

    Examples
    --------
    >>> from cellveil.tables.hierarchy import Hierarchy
    >>> row = Dimension.of("row", Hierarchy.flat(["a", "b"]))
    >>> table = table_from_interior([row], {"row": ["a", "b"]}, [1.5, 2])
    >>> table.floats().tolist()
    [3.5, 1.5, 2.0]
    """
    keys = encode(dimensions, codes)
    for dimension, column in zip(dimensions, keys, strict=True):
        inner = np.flatnonzero(dimension.is_parent[column])
        if len(inner):
            code = dimension.codes[column[inner[0]]]
            raise InputError(
                f"code {code!r} of dimension {dimension.name!r} is a total; the table is said to have none",
                line=int(inner[0]) + 2,
                remedy="Leave the totals out, or read the table as one with totals.",
            )
    scaled, decimals = scaled_values(values, decimals, dimensions, keys)
    check_distinct(dimensions, keys)
    all_keys, sums = _with_totals(dimensions, keys, scaled)
    return assemble(dimensions, all_keys, sums, decimals, variable=variable)


def table_from_cells(
    dimensions: Sequence[Dimension],
    codes: Mapping[str, Sequence[str]],
    values: Any,
    *,
    decimals: int | None = None,
    variable: str = "value",
    incomplete: Incomplete = "error",
    repair: bool = False,
    keep: bool = False,
) -> Table:
    """Build a table from all its cells, totals included, and check that it adds up.

    Parameters
    ----------
    incomplete
        What to do where a non-zero total has no parts at all: an error, or allowed (the detail is not
        published).
    repair
        Compute all totals anew from the interior cells instead of rejecting a table that does not add up. A
        total without parts cannot be computed and is an error.
    keep
        Take a table that does not add up as it is. What a relation is off by is then a constant of that
        relation, and everybody is taken to know it, which is more than anybody can know.
    """
    keys = encode(dimensions, codes)
    scaled, decimals = scaled_values(values, decimals, dimensions, keys)
    keys, scaled = merge_aliases(dimensions, keys, scaled)
    if repair:
        keys, scaled = _repaired(dimensions, keys, scaled)
    return assemble(dimensions, keys, scaled, decimals, variable=variable, incomplete=incomplete, keep=keep)


def _repaired(dimensions: Sequence[Dimension], keys: Sequence[Codes], values: Int) -> tuple[list[Codes], Int]:
    """The interior cells and their totals; no total may get lost for want of parts."""
    interior = is_interior(dimensions, keys)
    made, sums = _with_totals(dimensions, [column[interior] for column in keys], values[interior])
    both = [np.concatenate(pair) for pair in zip(made, keys, strict=True)]
    numbers = row_numbers(both, [len(d) for d in dimensions], len(sums) + len(values))
    lost = np.flatnonzero(~np.isin(numbers[len(sums) :], numbers[: len(sums)]) & (values != 0))
    if len(lost):
        raise InputError(
            f"the total has no parts it could be computed from ({len(lost)} such totals)",
            cell=key_name(dimensions, keys, int(lost[0])),
            remedy="Add the parts, or correct the totals by hand.",
        )
    return made, sums


def _with_totals(
    dimensions: Sequence[Dimension], keys: Sequence[Codes], values: Int
) -> tuple[list[Codes], Int]:
    if np.abs(values.astype(np.float64)).sum() > 1.5 * LARGEST:  # so that no sum wraps
        raise InputError("the total of the table is too large", remedy=REMEDIES["is too large"])
    all_keys, (sums,) = roll_up(dimensions, keys, [values])
    return all_keys, sums


def assemble(
    dimensions: Sequence[Dimension],
    keys: Sequence[Codes],
    values: Int,
    decimals: int,
    *,
    incomplete: Incomplete = "error",
    keep: bool = False,
    **further: Any,
) -> Table:
    """Make the relations of distinct cells and check that the table adds up, unless it is kept as it is."""
    large = np.flatnonzero(np.abs(values) >= LARGEST)
    if len(large):
        raise InputError(
            "the value is too large",
            cell=key_name(dimensions, keys, int(large[0])),
            remedy=REMEDIES["is too large"],
        )
    relations = build_relations(dimensions, keys, len(values))
    table = Table(tuple(dimensions), tuple(keys), values, decimals, relations, **further)
    table = table.replace(relations=_without_gaps(table, incomplete))
    if keep:
        return table.replace(relations=table.relations.with_constants(values))
    table.check_additive()
    return table


def encode(dimensions: Sequence[Dimension], codes: Mapping[str, Sequence[Any]]) -> list[Codes]:
    """Code numbers of each row; unknown codes are an error that names the line (the header is line 1)."""
    columns: list[Codes] = []
    check_kind(dimensions, Sequence, "what names the dimensions", "Give a list of dimensions.")
    if not dimensions:
        raise InputError("the table has no dimension", remedy="Give at least one.")
    for dimension in dimensions:
        check_kind(dimension, Dimension, "a dimension", 'Give Dimension.of("region", ["N", "S"]).')
        if dimension.name not in codes:
            raise InputError(
                f"there is no column for dimension {dimension.name!r}",
                remedy=nearest_column(dimension.name, list(codes)),
            )
        names = np.asarray(codes[dimension.name], dtype=object)
        distinct, inverse = np.unique(names.astype(str), return_inverse=True)
        numbers = np.array([dimension.index.get(code, -1) for code in distinct.tolist()], dtype=np.int32)
        column = numbers[inverse.reshape(-1)] if len(distinct) else np.zeros(0, dtype=np.int32)
        unknown = np.flatnonzero(column < 0)
        if len(unknown):
            raise InputError(  # the code itself is a value where columns are mixed up
                f"unknown code in dimension {dimension.name!r}",
                line=int(unknown[0]) + 2,
                remedy="Add it to the hierarchy, correct it, or name the right column.",
            )
        columns.append(column)
    return columns


def scaled_values(
    values: Any,
    decimals: int | None,
    dimensions: Sequence[Dimension],
    keys: Sequence[Codes],
) -> tuple[Int, int]:
    """Scaled integers of a column and the decimals used; the first fault is raised with its line and cell."""
    if decimals is None:
        decimals = infer_decimals(values)
    scaled, faults = scale(values, decimals)
    lengths = {len(scaled), *map(len, keys)}
    if len(lengths) > 1:
        raise InputError(
            f"the columns have different lengths: {name_some([str(n) for n in sorted(lengths)])}",
            remedy="Give one code of each dimension and one value per cell.",
        )
    if faults:
        row = min(faults)
        raise InputError(
            f"the value {faults[row]}",
            line=row + 2,
            cell=key_name(dimensions, keys, row),
            remedy=REMEDIES[faults[row]],
        )
    return scaled, decimals


def key_name(dimensions: Sequence[Dimension], keys: Sequence[Codes], row: int) -> str:
    """The codes of one row as text."""
    return f"({', '.join(d.codes[column[row]] for d, column in zip(dimensions, keys, strict=True))})"


def check_distinct(dimensions: Sequence[Dimension], keys: Sequence[Codes]) -> None:
    """Raise where two rows have the same key."""
    order, starts, _ = group(row_numbers(keys, [len(d) for d in dimensions], len(keys[0])))
    twice = np.flatnonzero(np.diff(starts) > 1)
    if len(twice):
        second = int(min(order[starts[g] + 1] for g in twice))
        raise InputError(
            "the cell occurs twice",
            line=second + 2,
            cell=key_name(dimensions, keys, second),
            remedy="Remove one of the lines, or tabulate the data first.",
        )


def merge_aliases(
    dimensions: Sequence[Dimension], keys: Sequence[Codes], values: Int
) -> tuple[list[Codes], Int]:
    """Keep one row of each cell; rows that are two names of one cell must have the same value."""
    if not any(dimension.aliases for dimension in dimensions):
        check_distinct(dimensions, keys)
        return list(keys), values
    order, starts, first = group(row_numbers(keys, [len(d) for d in dimensions], len(values)))
    same = values[order] == np.repeat(values[first], np.diff(starts))
    if not same.all():
        row = int(order[np.flatnonzero(~same)[0]])
        raise InputError(
            "the cell occurs twice with different values (a code with a single child is one cell with it)",
            line=row + 2,
            cell=key_name(dimensions, keys, row),
            remedy="Give both names of the cell the same value, or remove one of the lines.",
        )
    kept = np.sort(first)
    return [column[kept] for column in keys], values[kept]


def roll_up(
    dimensions: Sequence[Dimension], keys: Sequence[Codes], columns: Sequence[NDArray[Any]]
) -> tuple[list[Codes], list[NDArray[Any]]]:
    """Add all totals, dimension by dimension: each row counts for every code that covers its own."""
    keys, columns = list(keys), list(columns)
    sizes = [len(dimension) for dimension in dimensions]
    for axis, dimension in enumerate(dimensions):
        rows, keys = covering_rows(dimension, axis, keys)
        order, borders, first = group(row_numbers(keys, sizes, len(rows)))
        keys = [column[first] for column in keys]
        columns = [
            np.add.reduceat(column[rows][order], borders[:-1]) if len(rows) else column for column in columns
        ]
    return keys, columns


def covering_rows(dimension: Dimension, axis: int, keys: Sequence[Codes]) -> tuple[Int, list[Codes]]:
    """Every row once for each code that covers its own on this axis: the rows, and their new keys."""
    leaves, covers = dimension.closure
    starts = np.searchsorted(leaves, np.arange(len(dimension) + 1))
    repeats = np.diff(starts)[keys[axis]]
    rows = np.repeat(np.arange(len(keys[axis])), repeats)
    offset = np.arange(len(rows)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    columns = [column[rows] for column in keys]
    columns[axis] = covers[starts[:-1][columns[axis]] + offset].astype(np.int32)
    return rows, columns


def build_relations(dimensions: Sequence[Dimension], keys: Sequence[Codes], num_cells: int) -> Relations:
    """All relations of the dimensions' equations between the cells that are there."""
    parts = [relations_along(axis, dimensions, keys, num_cells)[0] for axis in range(len(dimensions))]
    return Relations.stack(parts) if parts else Relations.empty(num_cells)


def relations_along(
    axis: int, dimensions: Sequence[Dimension], keys: Sequence[Codes], num_cells: int
) -> tuple[Relations, Int]:
    """Relations of one dimension: one for each equation and each combination of the other codes.

    Returns
    -------
    relations, equation
        And for each relation the number of its equation.
    """
    equations = dimensions[axis].equations
    if not equations or not num_cells:
        return Relations.empty(num_cells), np.zeros(0, dtype=np.int64)
    code = np.concatenate([np.array(equation.codes) for equation in equations])
    coef = np.concatenate([np.array(equation.coefs) for equation in equations])
    equation_of = np.repeat(np.arange(len(equations)), [len(equation.codes) for equation in equations])
    by_code = np.argsort(code, kind="stable")
    starts = np.searchsorted(code[by_code], np.arange(len(dimensions[axis]) + 1))

    repeats = np.diff(starts)[keys[axis]]
    cell = np.repeat(np.arange(num_cells), repeats)
    offset = np.arange(len(cell)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    entry = by_code[starts[:-1][keys[axis][cell]] + offset]

    others = [column for k, column in enumerate(keys) if k != axis]
    rest = row_numbers(others, [len(d) for k, d in enumerate(dimensions) if k != axis], num_cells)
    _, rest = np.unique(rest, return_inverse=True)
    relation = equation_of[entry] * np.int64(num_cells) + rest.reshape(-1)[cell]
    order = np.argsort(relation * 2 + (coef[entry] > 0), kind="stable")  # in each relation the total first
    arranged = relation[order]
    starts = np.flatnonzero(np.diff(arranged, prepend=-1))
    relations = Relations(
        num_cells,
        np.append(starts, len(arranged)).astype(np.int64),
        cell[order].astype(np.int32),
        coef[entry][order].astype(np.int64),
        np.zeros(len(starts), dtype=np.int64),
    )
    return relations, arranged[starts] // num_cells


def sides(relations: Relations) -> tuple[Bool, Bool]:
    """Which relations have a total, and which have a part; there must be some."""
    return (
        np.logical_or.reduceat(relations.coefs < 0, relations.indptr[:-1]),
        np.logical_or.reduceat(relations.coefs > 0, relations.indptr[:-1]),
    )


def _without_gaps(table: Table, incomplete: Incomplete) -> Relations:
    """Check for totals without parts and parts without total; drop what says nothing."""
    relations = table.relations
    if not len(relations):
        return relations
    has_total, has_parts = sides(relations)
    filled = np.logical_or.reduceat(table.values[relations.cells] != 0, relations.indptr[:-1])
    orphans = np.flatnonzero(~has_total & has_parts & filled)
    if len(orphans):
        cells, _ = relations.row(int(orphans[0]))
        raise InputError(
            f"the total above {name_some(table.cell_names(cells), 3)} is missing "
            f"({counted(len(orphans), 'total is', 'totals are')} missing in all)",
            cell=table.cell_name(int(cells[0])),
            remedy="Add the totals, or read the table as one without totals so that they are computed.",
        )
    bare = has_total & ~has_parts & filled
    if bare.any() and incomplete == "error":
        cells, _ = relations.row(int(np.flatnonzero(bare)[0]))
        raise InputError(
            f"the total has a value, but none of its parts is in the table ({int(bare.sum())} such totals)",
            cell=table.cell_name(int(cells[0])),
            remedy="Add the parts, or allow incomplete tables if the detail is not published.",
        )
    return relations.take_rows(np.flatnonzero(~bare)) if bare.any() else relations
