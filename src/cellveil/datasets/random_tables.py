"""Artificial tables of any size and shape, and small two-way tables written by hand.

`random_table` follows the recipe of Serpell, Smith, Clark and Staggemeier (2011, section 2): the number of
contributors of an interior cell is Poisson, each contributes −1/log r with r uniform on (0, 1), and a share
of the interior is empty. The contributions have so heavy a tail that their mean is infinite: as in business
statistics, a few giants make up most of the total.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import Literal, get_args

import numpy as np

from cellveil.arrays import Codes, Float, Int
from cellveil.datasets.draw import pick, poisson, uniform
from cellveil.errors import InputError, nearest_name
from cellveil.problem import Problem, Status, defaults
from cellveil.solvers import tolerances
from cellveil.tables.build import assemble, roll_up, table_from_interior
from cellveil.tables.contributions import Contributions
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import TOTAL, Hierarchy
from cellveil.tables.keys import row_numbers
from cellveil.tables.table import Table

Weight = Literal["value", "one", "contributors"]

MAX_CELLS = 2**31 - 1
"""Cells are numbered by 32-bit integers."""


def random_table(
    sizes: Sequence[int],
    *,
    hierarchical: Iterable[int] | Mapping[int, int | Hierarchy] = (),
    contributors: float = 3.0,
    zeros: float = 0.3,
    primaries: float | None = None,
    threshold: int = 3,
    level: float = 0.10,
    unit: int = 100,
    decimals: int = 0,
    weight: Weight = "value",
    contributions: bool = False,
    depth: int = 3,
    seed: int = 0,
) -> Problem:
    """Make an artificial table with primary cells and levels.

    Parameters
    ----------
    sizes
        Number of codes per dimension, totals and subtotals included: (100, 100, 100) has 10⁶ cells, less the
        empty ones, which are not stored.
    hierarchical
        The axes that are trees; or for each such axis the number of levels below the total, or the tree.
    contributors
        Mean of the number of contributors of an interior cell that is not left empty on purpose.
    zeros
        Share of interior cells left empty on purpose; where the Poisson count is 0 they are empty too.
    primaries
        Share of all cells to make primary, at random; None makes those primary that have fewer contributors
        than `threshold`, totals included.
    level
        Protection levels as a share of the value: rounded up, at least 1, and lpl at most the value.
    unit
        What a contribution of 1 is worth; contributions are rounded up to integers.
    decimals
        Where to put the decimal point in these integers.
    weight
        Cost of hiding a cell: its value, 1, or its number of contributors.
    contributions
        Whether to keep the largest contributions of each cell, for rules and insiders; takes time
        and memory.
    depth
        How many of them.
    seed
        Same seed, same table.

    Examples
    --------
    >>> random_table((20, 40, 5), hierarchical=[1], seed=1)
    Problem(3254 cells, 650 primary, 0 frozen)
    """
    _check_arguments(sizes, contributors, zeros, primaries, unit, depth)
    rng = np.random.default_rng(seed)
    dimensions = _dimensions(sizes, hierarchical, rng)
    keys, count = _interior(dimensions, contributors, zeros, rng)
    amounts = np.ceil(-unit / np.log(uniform(rng, int(count.sum())))).astype(np.int64)
    values = np.add.reduceat(amounts, np.cumsum(count) - count)
    all_keys, (sums, counts) = roll_up(dimensions, keys, [values, count])
    table = assemble(dimensions, all_keys, sums, decimals, contributors=counts)
    if contributions:
        table = table.replace(units=_largest(table, keys, count, amounts, counts, depth))
    if primaries is None:
        chosen = np.flatnonzero(counts < threshold)
    else:
        chosen = pick(rng, round(primaries * table.num_cells), table.num_cells)
    return with_primaries(table, chosen, level, weight)


def two_way(
    interior: Sequence[Sequence[float]],
    primaries: Iterable[tuple[int, int]] | Mapping[tuple[int, int], int | tuple[int, int]] = (),
    *,
    level: float = 0.10,
    decimals: int = 0,
    weight: Weight = "value",
) -> Problem:
    """Make a two-way table from its interior, row by row; totals are computed, zeros are stored.

    Rows are called r0, r1, …, columns c0, c1, …, totals “Total”.

    Parameters
    ----------
    interior
        The values.
    primaries
        Primary cells by row and column, counted from 0; the number after the last one means the total. As a
        mapping it also says the levels, in units of the last decimal: one number for both sides, or
        (lpl, upl).
    level
        Levels of the primaries where they are not said, as a share of the value: rounded up, at least 1.

    Examples
    --------
    >>> problem = two_way([[9, 51], [8, 1]], {(0, 0): 1, (1, 2): (2, 3)})
    >>> problem
    Problem(9 cells, 2 primary, 0 frozen)
    >>> problem.table.values.reshape(3, 3).tolist()
    [[69, 17, 52], [60, 9, 51], [9, 8, 1]]
    >>> problem.table.cell_names(problem.primaries), problem.upl[problem.primaries].tolist()
    (['(r0, c0)', '(r1, Total)'], [1, 3])
    """
    interior = np.asarray(interior).tolist() if hasattr(interior, "shape") else interior
    rows, columns = len(interior), len(interior[0]) if interior else 0
    if not columns or any(len(row) != columns for row in interior):
        raise InputError("the rows differ in length, or there are none", remedy="Give a rectangle of values.")
    row_names, column_names = [f"r{i}" for i in range(rows)], [f"c{j}" for j in range(columns)]
    dimensions = [
        Dimension.of("row", Hierarchy.flat(row_names)),
        Dimension.of("column", Hierarchy.flat(column_names)),
    ]
    table = table_from_interior(
        dimensions,
        {"row": [name for name in row_names for _ in column_names], "column": column_names * rows},
        [value for row in interior for value in row],
        decimals=decimals,
    )
    asked = list(primaries)
    for i, j in asked:
        if i not in range(rows + 1) or j not in range(columns + 1):
            raise InputError(
                f"primary cell ({i}, {j}) lies outside the table",
                remedy=f"Rows are numbered 0 to {rows}, columns 0 to {columns}; the last one is the total.",
            )
    cells = [table.cell([*row_names, TOTAL][i], [*column_names, TOTAL][j]) for i, j in asked]
    problem = with_primaries(table, np.array(cells, dtype=np.int64), level, weight)
    if not isinstance(primaries, Mapping):
        return problem
    lpl, upl = problem.lpl.copy(), problem.upl.copy()
    for cell, levels in zip(cells, primaries.values(), strict=True):
        lpl[cell], upl[cell] = levels if isinstance(levels, tuple) else (levels, levels)
    return problem.replace(lpl=lpl, upl=upl)


def random_tree(size: int, levels: int, rng: np.random.Generator) -> Hierarchy:
    """Make a tree of exactly `size` codes, root included, with all leaves on the same level.

    Each inner code has at least two children; the rest of them is dealt out at random. The numbers of codes
    per level grow by about the same factor.

    Examples
    --------
    >>> random_tree(7, 2, np.random.default_rng(0)).codes
    ('Total', '1', '1.1', '1.2', '2', '2.1', '2.2')
    """
    if levels < 1 or size < 2 ** (levels + 1) - 1:
        raise InputError(
            f"a tree of {size} codes cannot have {levels} levels below the total",
            remedy="Levels are 1 or more, and each code needs at least two below it: give more codes.",
        )
    pairs: list[tuple[str, str]] = []
    parents = [TOTAL]
    for width in _level_sizes(size, levels):
        children = 2 + _deal(width - 2 * len(parents), len(parents), rng)
        digits = len(str(children.max()))
        edges = [
            (parent, f"{'' if parent == TOTAL else parent + '.'}{child:0{digits}d}")
            for parent, number in zip(parents, children.tolist(), strict=True)
            for child in range(1, number + 1)
        ]
        pairs += edges
        parents = [child for _, child in edges]
    return Hierarchy.from_pairs(pairs)


def _check_arguments(
    sizes: Sequence[int],
    contributors: float,
    zeros: float,
    primaries: float | None,
    unit: int,
    depth: int,
) -> None:
    faults = (
        (not sizes or min(sizes) < 3, "sizes: each dimension needs a total and two codes", "Give 3 or more."),
        (prod(sizes) > MAX_CELLS, "sizes: the table has more than 2³¹ cells", "Give smaller sizes."),
        (not 0 < contributors < 10**6, "contributors: the mean must be positive", "Give for example 3."),
        (not 0 <= zeros < 1, "zeros: not a share", "Give a number from 0 to below 1."),
        (not 0 <= (primaries or 0) <= 1, "primaries: not a share", "Give a number from 0 to 1, or None."),
        (unit < 1, "unit: not positive", "Give for example 100."),
        (depth < 1, "depth: not positive", "Give for example 3."),
    )
    for wrong, what, remedy in faults:
        if wrong:
            raise InputError(what, remedy=remedy)


def _dimensions(
    sizes: Sequence[int],
    hierarchical: Iterable[int] | Mapping[int, int | Hierarchy],
    rng: np.random.Generator,
) -> list[Dimension]:
    trees: dict[int, int | Hierarchy | None] = (
        dict(hierarchical) if isinstance(hierarchical, Mapping) else dict.fromkeys(hierarchical)
    )
    for axis, tree in trees.items():
        if axis not in range(len(sizes)):
            raise InputError(
                f"hierarchical: there is no axis {axis}", remedy=f"Axes are numbered 0 to {len(sizes) - 1}."
            )
        if isinstance(tree, Hierarchy) and len(tree.codes) != sizes[axis]:
            raise InputError(
                f"hierarchical: the tree of axis {axis} has {len(tree.codes)} codes, not {sizes[axis]}",
                remedy="Give its number of codes, total included, in sizes.",
            )
    return [
        Dimension.of(f"d{axis + 1}", _tree(size, trees[axis], rng) if axis in trees else _flat(size))
        for axis, size in enumerate(sizes)
    ]


def _flat(size: int) -> Hierarchy:
    digits = len(str(size - 1))
    return Hierarchy.flat(f"{number:0{digits}d}" for number in range(1, size))


def _tree(size: int, wish: int | Hierarchy | None, rng: np.random.Generator) -> Hierarchy:
    if isinstance(wish, Hierarchy):
        return wish
    usual = 3 if size >= 40 else 2 if size >= 7 else 1
    return random_tree(size, usual if wish is None else wish, rng)


def _level_sizes(size: int, levels: int) -> list[int]:
    """Numbers of codes on the levels below the root: b, b², …, with the last one taking what is left."""
    low, high = 2.0, float(size)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if sum(middle**k for k in range(1, levels + 1)) <= size - 1 else (low, middle)
        )
    sizes = [int(low**k + tolerances.INTEGRALITY) for k in range(1, levels)]
    return [*sizes, size - 1 - sum(sizes)]


def _deal(count: int, places: int, rng: np.random.Generator) -> Int:
    """Put `count` things into `places` at random and say how many each got."""
    return np.bincount((rng.random(count) * places).astype(np.int64), minlength=places)


def _interior(
    dimensions: Sequence[Dimension], mean: float, zeros: float, rng: np.random.Generator
) -> tuple[list[Codes], Int]:
    """Keys and numbers of contributors of the interior cells that are not empty."""
    leaves = [np.flatnonzero(~dimension.is_parent).astype(np.int32) for dimension in dimensions]
    shape = [len(codes) for codes in leaves]
    total = prod(shape)
    count = np.where(rng.random(total) < zeros, 0, poisson(rng, mean, total))
    filled = np.flatnonzero(count)
    if not len(filled):
        raise InputError(
            "the random table is empty", remedy="Raise contributors, lower zeros, or take another seed."
        )
    places = np.unravel_index(filled, shape)
    return [codes[place] for codes, place in zip(leaves, places, strict=True)], count[filled]


def _largest(
    table: Table, keys: Sequence[Codes], count: Int, amounts: Int, counts: Int, depth: int
) -> Contributions:
    """The largest contributions of every cell; each contribution is made by a contributor of its own.

    Cell and contributor are packed into one integer, contributors numbered by descending amount: sorting
    these integers brings the largest of each cell to the front.
    """
    by_size = np.argsort(-amounts, kind="stable")
    rank = np.empty_like(by_size)
    rank[by_size] = np.arange(len(by_size))
    num_units = len(amounts)
    cells = np.repeat(row_numbers(keys, table.sizes, len(count)), count)
    packed = _first_of_each(cells * num_units + rank, num_units, depth)
    for axis in range(len(table.dimensions)):
        packed = _first_of_each(_spread(packed, table, axis, num_units), num_units, depth)
    cells, rank = np.divmod(packed, num_units)
    cells, place = _places(cells)
    top = np.zeros((table.num_cells, depth), dtype=np.int64)
    who = np.full((table.num_cells, depth), -1, dtype=np.int32)
    top[cells, place] = amounts[by_size][rank]
    who[cells, place] = rank
    names = tuple(f"u{number}" for number in range(1, num_units + 1))
    return Contributions(table.decimals, counts, table.values, table.values, top, who, names)


def _spread(packed: Int, table: Table, axis: int, num_units: int) -> Int:
    """Let each entry count for every code of the axis that covers its own."""
    leaves, covers = table.dimensions[axis].closure
    starts = np.searchsorted(leaves, np.arange(table.sizes[axis] + 1))
    stride = prod(table.sizes[axis + 1 :]) * num_units
    code = packed // stride % table.sizes[axis]
    repeats = np.diff(starts)[code]
    entry = np.repeat(np.arange(len(packed)), repeats)
    offset = np.arange(len(entry)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    cover = covers[starts[:-1][code][entry] + offset]
    return np.asarray(packed[entry] + (cover - code[entry]) * stride)


def _first_of_each(packed: Int, num_units: int, depth: int) -> Int:
    """The `depth` smallest entries of each cell."""
    packed = np.sort(packed)
    _, place = _places(packed // num_units)
    return packed[place < depth]


def _places(cells: Int) -> tuple[Int, Int]:
    """For each entry of sorted cell numbers: its cell, counted from 0, and its place within the cell."""
    is_first = np.concatenate([[True], cells[1:] != cells[:-1]])
    cell = np.cumsum(is_first) - 1
    return cell, np.arange(len(cells)) - np.flatnonzero(is_first)[cell]


def with_primaries(table: Table, cells: Int, level: float, weight: Weight) -> Problem:
    """The problem of a table in which some cells are primary, with levels that are shares of the values."""
    if not level > 0:
        raise InputError("level: not positive", remedy="Give for example 0.1 for 10 % of the value.")
    fields = defaults(table)
    fields["status"][cells] = Status.PRIMARY
    levels = np.maximum(_share_rounded_up(np.abs(table.values[cells]), level), 1)
    fields["upl"][cells] = levels
    known_positive = fields["lb"][cells] == 0
    fields["lpl"][cells] = np.where(known_positive, np.minimum(levels, table.values[cells]), levels)
    fields["weight"] = _weights(table, weight, fields["weight"])
    return Problem(table, **fields)


def _weights(table: Table, weight: Weight, values: Float) -> Float:
    if weight == "value":
        return values
    if weight == "one":
        return np.ones(table.num_cells)
    if weight == "contributors" and table.contributors is not None:
        return table.contributors.astype(np.float64)
    raise InputError(f"this table has no weight {weight!r}", remedy=nearest_name(weight, get_args(Weight)))


def _share_rounded_up(values: Int, share: float) -> Int:
    """⌈share · value⌉ in integers, so that 10 % of 30 is 3 and not 4."""
    ratio = Fraction(str(share)).limit_denominator(10_000)
    return np.asarray(-(-values * ratio.numerator // ratio.denominator))
