"""What a pattern must make possible: each primary cell can be moved up and down far enough.

A *deviation* y (M y = 0, y = 0 where published, −down ≤ y ≤ up) leads to another table that agrees with
everything published. A *demand* asks for a deviation that moves one cell by an amount; a deviation that does
is its *witness*. A deviation may be scaled as far as the capacities allow, and one deviation serves every
demand it meets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Int
from cellveil.problem import Problem


@dataclass(frozen=True)
class Demand:
    """Move `cell` by `amount` (units of the last digit), upwards or downwards."""

    cell: int
    up: bool
    amount: int


class Demands:
    """The demands of a problem that have no witness yet.

    A sliding level is shared out between both sides: first upwards, as far as the known bounds leave room,
    the rest downwards; `retreat` shifts it where that proves impossible.

    Attributes
    ----------
    up, down
        Amount each cell must still be able to move, 0 where nothing is left to show.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        room = np.where(np.isinf(problem.up), 2.0**61, problem.up).astype(np.int64)
        self.up, self.down = shared_out(problem.upl, problem.lpl, problem.sliding, room)
        self._retreated: set[int] = set()

    @property
    def left(self) -> int:
        """How many demands have no witness yet."""
        return int((self.up > 0).sum() + (self.down > 0).sum())

    def of(self, cells: Int) -> list[Demand]:
        """Open demands of these cells, the largest first; ties in the order of the cells."""
        open_ = [Demand(int(c), True, int(self.up[c])) for c in cells if self.up[c] > 0]
        open_ += [Demand(int(c), False, int(self.down[c])) for c in cells if self.down[c] > 0]
        return sorted(open_, key=lambda demand: (-demand.amount, demand.cell, not demand.up))

    def retreat(self, demand: Demand, reached: int) -> bool:
        """The cell moves by `reached` at most: put what is missing of its sliding level on the other side.

        Returns
        -------
        Whether that is allowed: not if the level of this side is not reached, nor if the other side has
        retreated to here already.
        """
        shifted = shifted_levels(self._problem, demand.cell, demand.up, reached)
        if shifted is None or demand.cell in self._retreated:
            return False
        self._retreated.add(demand.cell)
        self.up[demand.cell], self.down[demand.cell] = shifted
        return True


def shared_out(upl: Int, lpl: Int, sliding: Int, room_up: Int) -> tuple[Int, Int]:
    """How far to move up and down: what a sliding level asks beyond both goes up as far as there is room."""
    extra = np.clip(room_up - upl, 0, sliding)
    return upl + extra, lpl + sliding - extra


def shifted_levels(problem: Problem, cell: int, up: bool, reached: int) -> tuple[int, int] | None:
    """Upper and lower level of a cell that moves by `reached` at most this way: the other way takes the rest.

    None where its level on this side is not reached, or nothing is left to shift.
    """
    own, other = (problem.upl, problem.lpl) if up else (problem.lpl, problem.upl)
    missing = int(problem.spl[cell]) - reached
    if reached < own[cell] or missing <= 0:
        return None
    opposite = max(missing, int(other[cell]))
    return (reached, opposite) if up else (opposite, reached)
