"""What a pattern must make possible: each primary cell can be moved up and down far enough.

A *deviation* y (M y = 0, y = 0 where published, −down ≤ y ≤ up) leads to another table that agrees with
everything published. A *demand* asks for a deviation that moves one cell by an amount; a deviation that does
is its *witness*. A deviation may be scaled as far as the capacities allow, and one deviation serves every
demand it meets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cellveil.problem import Problem
from cellveil.tables.keys import Int

Float = NDArray[np.float64]


@dataclass(frozen=True)
class Demand:
    """Move `cell` by `amount` (units of the last digit), upwards or downwards."""

    cell: int
    up: bool
    amount: int


class Demands:
    """The demands of a problem that have no witness yet.

    A sliding level is met by spreading it over both sides: up as far as is needed beyond what upl and lpl
    already ask, and down by the rest where the lower bound stops short.
    """

    def __init__(self, problem: Problem) -> None:
        up, down = problem.upl.copy(), problem.lpl.copy()
        missing = np.maximum(problem.spl - up - down, 0)
        room_up = np.where(np.isinf(problem.up), np.float64(2**62), problem.up).astype(np.int64) - up
        extra_up = np.minimum(missing, np.maximum(room_up, 0))
        self.up: Int = up + extra_up
        self.down: Int = down + missing - extra_up
        self.total = int((self.up > 0).sum() + (self.down > 0).sum())

    @property
    def left(self) -> int:
        """How many demands have no witness yet."""
        return int((self.up > 0).sum() + (self.down > 0).sum())

    def of(self, cells: Int) -> list[Demand]:
        """Open demands of these cells, the largest first; ties in the order of the cells."""
        open_ = [Demand(int(c), True, int(self.up[c])) for c in cells if self.up[c] > 0]
        open_ += [Demand(int(c), False, int(self.down[c])) for c in cells if self.down[c] > 0]
        return sorted(open_, key=lambda demand: (-demand.amount, demand.cell, not demand.up))

    def is_open(self, demand: Demand) -> bool:
        """Whether the demand still needs a witness."""
        return bool((self.up if demand.up else self.down)[demand.cell] > 0)

    def settle(self, demand: Demand) -> None:
        """Note that the demand has a witness."""
        (self.up if demand.up else self.down)[demand.cell] = 0

    def harvest(self, cells: Int, deviation: Float, down: Float, up: Float) -> None:
        """Settle every demand that the deviation, or its reversal, meets when scaled to the capacities."""
        for sign in (1.0, -1.0):
            y = sign * deviation
            y = y * _longest_step(y, down, up)
            self.up[cells[y >= np.maximum(self.up[cells], 1)]] = 0
            self.down[cells[-y >= np.maximum(self.down[cells], 1)]] = 0


def _longest_step(y: Float, down: Float, up: Float) -> float:
    """How often y fits into the capacities."""
    rising, falling = y > 0, y < 0
    steps = np.concatenate([up[rising] / y[rising], down[falling] / -y[falling], [1e6]])
    return float(steps.min())
