"""A second judge of a suppression pattern, in plain linear programs: shares nothing with the package.

It reads the JJ file by itself and asks SciPy, for every primary cell, how low and how high its value can be
when the published cells are as they are. Slow, so for small tables; floating point, so with a tolerance.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

TOLERANCE = 1e-6
"""Relative to the value of the cell, or to 1."""

NO_BOUND = 1e20
"""A bound of this size in the file means that there is none."""


@dataclass(frozen=True)
class SecondOpinion:
    """What the second judge found.

    Parameters
    ----------
    short
        Primary cells whose interval is too narrow on some side, or that are published.
    disclosed
        Those of them whose value follows exactly.
    """

    short: int
    disclosed: int

    @property
    def is_safe(self) -> bool:
        """Whether no primary cell is short of its levels."""
        return self.short == 0


@dataclass(frozen=True)
class _Instance:
    """A JJ file: eight columns of cells, and relations with their right-hand sides."""

    letters: list[str]
    columns: NDArray[np.float64]
    relations: Any
    sums: NDArray[np.float64]


def read_plain(path: Path) -> _Instance:
    """Read the file word by word."""
    from scipy.sparse import csr_array

    words = iter(path.read_text("utf-8").replace("(", " ").replace(")", " ").replace(":", " ").split())
    next(words)
    cells = [[next(words) for _ in range(9)] for _ in range(int(next(words)))]
    number = {cell[0]: place for place, cell in enumerate(cells)}
    sums, rows, places, factors = [], [], [], []
    for row in range(int(next(words))):
        sums.append(float(next(words)))
        for _ in range(int(next(words))):
            rows.append(row)
            places.append(number[next(words)])
            factors.append(float(next(words)))
    columns = np.array([[float(word) for word in (cell[1], *cell[4:])] for cell in cells]).reshape(-1, 6)
    matrix = csr_array((factors, (rows, places)), shape=(len(sums), len(cells)))
    return _Instance([cell[3] for cell in cells], columns, matrix, np.array(sums))


def judge_again(path: Path, hidden: Iterable[int]) -> SecondOpinion:
    """Bound every primary cell, given the numbers of the hidden ones in the order of the file."""
    from scipy.optimize import linprog

    instance = read_plain(path)
    value, low, high, lpl, upl, spl = instance.columns.T
    unknown = np.array(sorted(hidden), dtype=np.int64)
    place = {int(cell): column for column, cell in enumerate(unknown)}
    published = value.copy()
    published[unknown] = 0.0
    matrix, sums = instance.relations[:, unknown], instance.sums - instance.relations @ published
    bounds = [
        (None if low[cell] <= -NO_BOUND else low[cell], None if high[cell] >= NO_BOUND else high[cell])
        for cell in unknown
    ]
    short = disclosed = 0
    for cell, letter in enumerate(instance.letters):
        if letter != "u":
            continue
        ends = [value[cell], value[cell]]
        if cell in place:
            for side, sign in enumerate((1.0, -1.0)):
                target = np.zeros(len(unknown))
                target[place[cell]] = sign
                found = linprog(target, A_eq=matrix, b_eq=sums, bounds=bounds, method="highs")
                if found.status == 3:
                    ends[side] = -sign * np.inf
                elif found.status == 0:
                    ends[side] = sign * found.fun
        slack = TOLERANCE * max(1.0, abs(value[cell]))
        down, up = value[cell] - ends[0] + slack, ends[1] - value[cell] + slack
        if down < lpl[cell] or up < upl[cell] or down + up < spl[cell]:
            short += 1
            disclosed += bool(ends[1] - ends[0] <= 2 * slack)
    return SecondOpinion(short, disclosed)
