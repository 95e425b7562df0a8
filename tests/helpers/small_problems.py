"""Small random problems of every structure, with finite bounds."""

from __future__ import annotations

import numpy as np

from cellveil.arrays import Int
from cellveil.datasets import random_table
from cellveil.problem import Problem, Status
from cellveil.suppression.methods.textbook import textbook
from cellveil.tables.build import assemble, roll_up
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.link import link
from cellveil.tables.table import Table

SHAPES = ("flat 2-D", "flat 3-D", "hierarchical", "overlapping", "linked", "variables")


def small_table(shape: str, rng: np.random.Generator) -> Table:
    """A table of a few dozen cells."""
    seed = int(rng.integers(2**31))
    if shape == "flat 2-D":
        return random_table((4, 5), contributors=2, zeros=0.1, unit=5, seed=seed).table
    if shape == "flat 3-D":
        return random_table((3, 3, 4), contributors=2, zeros=0.1, unit=5, seed=seed).table
    if shape == "hierarchical":
        return random_table((8, 4), hierarchical=[0], contributors=2, zeros=0.2, unit=5, seed=seed).table
    region = Dimension.of(
        "region",
        Hierarchy.from_dict({"Total": {"N": ["a", "b"], "S": ["c", "d"]}}),
        Hierarchy.from_dict({"Total": {"coast": ["a", "c"], "inland": ["b", "d"]}}),
    )
    size = Dimension.of("size", Hierarchy.flat(["small", "large"]))
    if shape == "overlapping":
        return _filled([region, size], rng)
    if shape == "linked":
        kind = Dimension.of("kind", Hierarchy.flat(["x", "y", "z"]))
        whole = _filled([region, size, kind], rng)
        return link([_margin(whole, drop) for drop in ("kind", "region")])
    flat = Dimension.of("region", Hierarchy.flat(["a", "b", "c"]))
    parts = [_filled([flat, size], rng, variable=name) for name in ("domestic", "export")]
    keys, values = parts[0].keys, parts[0].values + parts[1].values
    total = Table(parts[0].dimensions, keys, values, 0, parts[0].relations, variable="turnover")
    return link([total, *parts], {"turnover": ["domestic", "export"]})


def small_problem(shape: str, rng: np.random.Generator, *, primaries: int = 2) -> Problem:
    """A problem with asymmetric and sliding levels, finite bounds, and some frozen cells."""
    table = small_table(shape, rng)
    candidates = rng.permutation(np.flatnonzero(table.values > 1))
    frozen = candidates[primaries : primaries + table.num_cells // 10]
    return _problem(table, rng, candidates[:primaries], frozen=frozen)


def half_hidden_problem(shape: str, rng: np.random.Generator, *, most: int = 10) -> Problem:
    """A problem in which few cells are hidden, some of which can move together; for enumeration.

    The hidden cells are those of a cheapest movement of one cell under random weights, sometimes with one
    more; two or three of them are primary.
    """
    while True:
        table = small_table(shape, rng)
        start = int(rng.choice(np.flatnonzero(table.values > 1)))
        mover = _problem(table, rng, np.array([start]), level=1)
        hidden = textbook(mover).hidden
        if rng.random() < 0.5:
            hidden[rng.choice(np.flatnonzero(table.values > 0))] = True
        cells = rng.permutation(np.flatnonzero(hidden))
        if 2 <= len(cells) <= most:
            count = int(rng.integers(2, 4))
            return _problem(table, rng, cells[:count], hidden=cells[count:])


def _problem(
    table: Table,
    rng: np.random.Generator,
    primaries: Int,
    *,
    frozen: Int | None = None,
    hidden: Int | None = None,
    level: int | None = None,
) -> Problem:
    n, values = table.num_cells, table.values
    status = np.where(values == 0, Status.FROZEN, Status.SAFE).astype(np.int8)
    for cells, wanted in ((frozen, Status.FROZEN), (hidden, Status.SECONDARY), (primaries, Status.PRIMARY)):
        if cells is not None:
            status[cells] = wanted
    lpl, upl, spl = (np.zeros(n, dtype=np.int64) for _ in range(3))
    for cell in primaries:
        lpl[cell] = 0 if level else rng.integers(0, max(2, values[cell] // 2))
        upl[cell] = level or rng.integers(1, max(2, values[cell]))
        if level is None and rng.random() < 0.4:  # a sliding level does most of the work
            spl[cell], lpl[cell], upl[cell] = lpl[cell] + upl[cell], lpl[cell] // 4, max(1, upl[cell] // 4)
    weight = rng.integers(1, 50, n).astype(np.float64)
    ub = values + rng.integers(1, 2 * int(np.median(values)) + 2, n)
    return Problem(table, status, weight, np.zeros(n, dtype=np.int64), ub, lpl, upl, spl)


def _filled(dimensions: list[Dimension], rng: np.random.Generator, variable: str = "value") -> Table:
    leaves = [np.flatnonzero(~dimension.is_parent) for dimension in dimensions]
    grid = np.meshgrid(*leaves, indexing="ij")
    keys = [axis.ravel().astype(np.int32) for axis in grid]
    all_keys, (sums,) = roll_up(dimensions, keys, [rng.integers(1, 30, len(keys[0]))])
    return assemble(dimensions, all_keys, sums, 0, variable=variable)


def _margin(table: Table, drop: str) -> Table:
    """The table without one dimension: the cells at its total."""
    axis = [dimension.name for dimension in table.dimensions].index(drop)
    kept = np.flatnonzero(table.keys[axis] == table.dimensions[axis].total)
    dimensions = [d for d in table.dimensions if d.name != drop]
    keys = [column[kept] for k, column in enumerate(table.keys) if k != axis]
    return assemble(dimensions, keys, table.values[kept], 0)
