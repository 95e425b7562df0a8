"""Three-way tables for adjustment, after those of Dula, Fagan and Massell (2004): n × n × n interior cells.

What is known of theirs: the number of interior cells, 10 % of them zero, 15 % of the others sensitive. Values
and levels are not: here values are whole and uniform from 1 on, or log-uniform, and levels a share of them.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from cellveil.datasets.draw import pick, uniform
from cellveil.datasets.random_tables import with_primaries
from cellveil.errors import InputError, nearest_name
from cellveil.problem import Problem
from cellveil.tables.build import assemble, roll_up
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy

Spread = Literal["uniform", "log"]


def cube(
    side: int,
    *,
    zeros: float = 0.10,
    sensitive: float = 0.15,
    largest: int = 1000,
    spread: Spread = "uniform",
    level: float = 0.10,
    seed: int = 0,
) -> Problem:
    """Make a three-way table with sensitive interior cells.

    Parameters
    ----------
    side
        Interior codes of each dimension; totals come on top.
    zeros
        Share of interior cells that are empty, and not stored.
    sensitive
        Share of the others that are sensitive.
    largest, spread
        Values are whole numbers from 1 to `largest`, uniform or uniform in their logarithms.
    level
        Levels, both ways, as a share of the value: rounded up.

    Examples
    --------
    >>> cube(10)
    Problem(1231 cells, 135 primary, 0 frozen)
    """
    if spread not in get_args(Spread):
        raise InputError(f"unknown spread {spread!r}", remedy=nearest_name(spread, get_args(Spread)))
    if side < 2 or largest < 1 or not level > 0 or not (0 <= zeros < 1 and 0 <= sensitive <= 1):
        raise InputError("side, largest, level or a share is out of range", remedy="See `help(cube)`.")
    rng = np.random.default_rng(seed)
    count = side**3
    filled = pick(rng, count - round(zeros * count), count)
    draws = uniform(rng, len(filled))
    values = np.ceil(draws * largest if spread == "uniform" else largest**draws).astype(np.int64)
    chosen = pick(rng, round(sensitive * len(filled)), len(filled))
    dimensions = [Dimension.of(f"d{axis}", _codes(side)) for axis in (1, 2, 3)]
    places = np.unravel_index(filled, (side, side, side))
    keys, (sums,) = roll_up(dimensions, [(place + 1).astype(np.int32) for place in places], [values])
    inner = np.flatnonzero(np.all([key > 0 for key in keys], axis=0))  # in the order of `filled`
    return with_primaries(assemble(dimensions, keys, sums, 0), inner[chosen], level, "value")


def _codes(side: int) -> Hierarchy:
    digits = len(str(side))
    return Hierarchy.flat(f"{number:0{digits}d}" for number in range(1, side + 1))
