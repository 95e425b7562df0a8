"""Connected components of a suppression problem, solved apart, with what is asked of their cells.

Frozen cells and those that no deviation moves are left out; what is left falls into components that share no
relation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.deviations.components import Component, split
from cellveil.deviations.demand import Demand
from cellveil.problem import Problem, Status

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True)
class Need:
    """Cell number `own` of a part must move by `amount` upwards, or downwards."""

    own: int
    up: bool
    amount: int


@dataclass(frozen=True)
class Width:
    """Cell number `own` of a part must be able to move by `amount`, up and down taken together."""

    own: int
    amount: int


Asked = Need | Width


@dataclass(frozen=True, eq=False)
class Part:
    """Movable cells that hang together, and what is asked of them.

    Parameters
    ----------
    component
        Cells and relations.
    up, down, weight
        Capacities and weights of its cells.
    held
        Which of them are hidden at the start.
    needs, widths
        Levels of single directions, and sliding levels beyond them.
    """

    component: Component
    up: Float
    down: Float
    weight: Float
    held: Bool
    needs: tuple[Need, ...]
    widths: tuple[Width, ...]

    @property
    def num_cells(self) -> int:
        """How many cells there are."""
        return len(self.held)

    @property
    def asked(self) -> tuple[Asked, ...]:
        """All that is asked: needs, then widths."""
        return (*self.needs, *self.widths)

    @cached_property
    def by_cell(self) -> csr_matrix:
        """The relations as columns: times multipliers, a combination of them."""
        return self.component.matrix.T.tocsr().astype(np.int64)

    @cached_property
    def price(self) -> Float:
        """What hiding each cell costs: nothing where it is hidden at the start."""
        return np.where(self.held, 0.0, self.weight)

    def combination(self, multipliers: Int) -> Int:
        """The coefficients of a combination of the relations."""
        return np.asarray(self.by_cell @ multipliers, dtype=np.int64)


def parts_of(problem: Problem) -> tuple[list[Part], list[Demand]]:
    """The parts with demands, and the demands that no pattern can meet, since the cell cannot move so far."""
    movable = (problem.status != Status.FROZEN) & ((problem.up > 0) | (problem.down > 0))
    free = movable & ~_fixed(problem, movable)
    _, components = split(problem.table.relations, free)
    upl, lpl, spl = _levels(problem)
    asked = (upl > 0) | (lpl > 0) | (spl > 0)
    parts = []
    for component in components:
        cells = component.cells
        if asked[cells].any():
            parts.append(_part(problem, component, upl, lpl, spl))
    return parts, _stuck(problem, free, upl, lpl)


def _stuck(problem: Problem, free: Bool, upl: Int, lpl: Int) -> list[Demand]:
    rising = np.flatnonzero(upl > np.where(free, problem.up, 0.0))
    falling = np.flatnonzero(lpl > np.where(free, problem.down, 0.0))
    sliding = np.flatnonzero(~free & (problem.spl > 0) & (upl == 0) & (lpl == 0))
    demands = [Demand(cell, True, int(upl[cell])) for cell in rising.tolist()]
    demands += [Demand(cell, False, int(lpl[cell])) for cell in falling.tolist()]
    return demands + [Demand(cell, True, int(problem.spl[cell])) for cell in sliding.tolist()]


def _part(problem: Problem, component: Component, upl: Int, lpl: Int, spl: Int) -> Part:
    cells = component.cells
    needs = [Need(int(i), True, int(upl[cells[i]])) for i in np.flatnonzero(upl[cells])]
    needs += [Need(int(i), False, int(lpl[cells[i]])) for i in np.flatnonzero(lpl[cells])]
    widths = [Width(int(i), int(spl[cells[i]])) for i in np.flatnonzero(spl[cells])]
    return Part(
        component, problem.up[cells], problem.down[cells], problem.weight[cells],
        problem.hidden_at_start[cells], tuple(needs), tuple(widths),
    )  # fmt: skip


def _levels(problem: Problem) -> tuple[Int, Int, Int]:
    """Levels with what of spl the other side has no room for; spl only where it asks for more than both."""
    upl, lpl = problem.one_sided_levels
    return upl, lpl, np.where(problem.spl > upl + lpl, problem.spl, 0)


def _fixed(problem: Problem, movable: Bool) -> Bool:
    """Cells that stand alone in a relation once those that cannot move are left out, again and again."""
    relations = problem.table.relations
    moving = movable.copy()
    while True:
        taken = moving[relations.cells]
        count = np.bincount(relations.row_of_entry[taken], minlength=len(relations))
        alone = taken & (count[relations.row_of_entry] == 1)
        if not alone.any():
            return np.asarray(movable & ~moving)
        moving[relations.cells[alone]] = False
