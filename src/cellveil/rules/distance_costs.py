"""Information-loss weights by distance: the nearer a cell is to an unsafe one, the cheaper it is to hide.

Codes of one level of a dimension stand in their order, so that 10-49 is next to 50-249. A step of d places
along a dimension costs the d-th of its distance costs, d ≥ 5 and a step to another level the last one; a
cell costs the least sum of steps, one for each dimension, that leads from it to an unsafe cell. Such costs
keep what is hidden together, and make bands of it in the order of size classes or of time.

The least sum separates by dimension: with D = 0 at unsafe cells and ∞ elsewhere, one min-plus convolution of
D along each dimension gives the costs of all combinations of codes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod

import numpy as np

from cellveil.arrays import Bool, Float
from cellveil.errors import InputError, nearest_name
from cellveil.tables.dimension import Dimension
from cellveil.tables.table import Table

MOST_COSTS = 5
"""Costs of a dimension: of 1, 2, 3, 4 places, and of 5 or more."""

LARGEST_PRODUCT = 20_000_000
"""Most combinations of codes."""


def distance_costs(table: Table, unsafe: Bool, costs: Mapping[str, Sequence[float]] | None = None) -> Float:
    """Costs of all cells: 0 for unsafe ones, 1 for all others where nothing is unsafe.

    Parameters
    ----------
    costs
        For dimensions by name up to five costs of growing distance. Those left out repeat the last one; of a
        dimension left out every distance costs 1.

    Examples
    --------
    >>> from cellveil.tables.build import table_from_interior
    >>> from cellveil.tables.hierarchy import Hierarchy
    >>> size = Dimension.of("size", Hierarchy.flat(["1-9", "10-49", "50-249", "250+"]))
    >>> table = table_from_interior([size], {"size": size.codes[1:]}, [5, 6, 7, 8])
    >>> distance_costs(table, np.arange(5) == 2, {"size": [1, 2, 4]}).tolist()
    [4.0, 1.0, 0.0, 1.0, 2.0]
    """
    names = [dimension.name for dimension in table.dimensions]
    for name in costs or {}:
        if name not in names:
            raise InputError(f"there is no dimension {name!r}", remedy=nearest_name(name, names))
    if not unsafe.any():
        return np.ones(table.num_cells)
    sizes = [len(dimension) for dimension in table.dimensions]
    if prod(sizes) > LARGEST_PRODUCT:
        raise InputError(
            f"there are {prod(sizes):,} combinations of codes, too many for costs by distance",
            remedy="Choose another kind of weights, or fewer dimensions.",
        )
    grid = np.full(sizes, np.inf)
    grid[tuple(column[unsafe] for column in table.keys)] = 0.0
    for axis, dimension in enumerate(table.dimensions):
        own = _five(dimension.name, (costs or {}).get(dimension.name, (1,)))
        grid = np.moveaxis(_spread(np.moveaxis(grid, axis, 0), dimension, own), 0, axis)
    return np.asarray(grid[tuple(table.keys)], dtype=np.float64)


def _five(name: str, costs: Sequence[float]) -> list[float]:
    given = [float(cost) for cost in costs]
    rising = all(low <= high for low, high in pairwise(given))
    if not 1 <= len(given) <= MOST_COSTS or not rising or not given[0] > 0 or not np.isfinite(given[-1]):
        raise InputError(
            f"the distance costs of {name!r} are not 1 to {MOST_COSTS} rising numbers above 0",
            remedy="Write, say, [1, 2, 3, 4, 5]: the costs of 1, 2, 3, 4, and of 5 or more places.",
        )
    return given + given[-1:] * (MOST_COSTS - len(given))


def _spread(grid: Float, dimension: Dimension, costs: Sequence[float]) -> Float:
    """One step along the first axis: D′(i) = min over j of D(j) + cost of the step from i to j."""
    least = np.minimum(grid, grid.min(axis=0) + costs[-1])
    for level in np.unique(dimension.level):
        codes = np.flatnonzero(dimension.level == level)
        for places, cost in enumerate(costs[:-1], 1):
            for to, origin in ((codes[places:], codes[:-places]), (codes[:-places], codes[places:])):
                least[to] = np.minimum(least[to], grid[origin] + cost)
    return np.asarray(least)
