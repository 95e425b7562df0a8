"""Pre-selection: cells that sequential methods are to hide at no cost, because they will be hidden anyway.

*Marginals.* In a relation total = Σ parts let part p rise by its level u. The other parts can fall by
Σ down_i at most; where that is less than u, the total must rise by the rest,

    u − Σ_{i ≠ p} down_i > 0,

so it must be hidden, and it is itself a cell with a demand, of that size, in the relations above: again and
again until nothing changes. The same with falls, lpl and capacities upwards. With down = value and up = ∞ it
is x_m < x_p + upl_p, with upl_m = upl_p − Σ x_i.
*Large cells.* Where the total of a relation stays published, every part k is needed without which the other
parts cannot fall by u: down_k > Σ_{i ≠ p} down_i − u.

The chosen cells get weight 0 and stay ordinary cells, so a method takes them first and pays nothing.

Requires any relations; those without exactly one total, or with coefficients other than ±1, tell nothing.
Ensures that a chosen marginal is hidden in every safe pattern. Does not ensure that of a large cell: a
pattern that hides the total instead may do without it. Sliding levels are not looked at.
Cost: linear in the entries of the relations, for each round.

Reference: equations (20) to (23) of Serpell, Smith, Clark & Staggemeier (2011). There lpl enters (20) as upl
does; but a cell falls as far as the others can rise, which is without limit unless bounds are known, so each
direction has its own capacities here. The large cell is the largest there; with repetition it is all such.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.problem import Problem, Status
from cellveil.tables.totals import total_of_rows

MODES = ("none", "marginals", "both")


def eased(problem: Problem, mode: str) -> Problem:
    """The problem in which pre-selected cells cost nothing: none, marginals, or both marginals and large."""
    if mode == "none":
        return problem
    chosen = preselected(problem, large=mode == "both")
    return problem.replace(weight=np.where(chosen, 0.0, problem.weight))


def preselected(problem: Problem, *, large: bool = False) -> Bool:
    """The cells to hide at no cost.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> problem = two_way([[90, 3, 2], [8, 19, 7]], primaries={(0, 0): 12})
    >>> problem.table.cell_names(np.flatnonzero(preselected(problem)))
    ['(Total, c0)', '(r0, Total)']
    """
    sums = _TotalsOfParts.of(problem)
    hidden = problem.hidden_at_start.copy()
    chosen = np.zeros(len(hidden), dtype=bool)
    needs = [problem.upl.astype(np.float64), problem.lpl.astype(np.float64)]
    rooms = [problem.down, problem.up]
    while True:  # ends as longest paths do: no cycle of relations makes a need larger
        before = [need.copy() for need in needs]
        for need, room in zip(needs, rooms, strict=True):
            lacking = need[sums.cells] - sums.others(room)
            # equation (20)
            asks = (need[sums.cells] > 0) & (lacking > 0) & sums.can_move[sums.totals]
            np.maximum.at(need, sums.totals[asks], lacking[asks])  # equations (21) and (22)
            chosen[sums.totals[asks]] = True
        if all((need == old).all() for need, old in zip(needs, before, strict=True)):
            break
    chosen &= ~hidden
    if large:
        hidden |= chosen
        for need, room in zip(needs, rooms, strict=True):
            chosen |= sums.indispensable(need, room, hidden)  # equation (23)
    return chosen


@dataclass(frozen=True, eq=False)
class _TotalsOfParts:
    """The relations total = Σ parts: for each part its row and total."""

    rows: Int
    cells: Int
    totals: Int
    can_move: Bool

    @classmethod
    def of(cls, problem: Problem) -> _TotalsOfParts:
        relations = problem.table.relations
        total = total_of_rows(relations)
        row, cell = relations.row_of_entry, relations.cells.astype(np.int64)
        part = (total[row] >= 0) & (cell != total[row])
        return cls(row[part], cell[part], total[row[part]], problem.status != Status.FROZEN)

    def others(self, room: Float) -> Float:
        """For each part how far all others of its row can give way together."""
        given = np.where(self.can_move, room, 0.0)[self.cells]
        endless = np.isinf(given)
        finite = np.where(endless, 0.0, given)
        size = int(self.rows.max(initial=-1)) + 1
        sums = np.bincount(self.rows, finite, minlength=size)[self.rows] - finite
        counts = np.bincount(self.rows, endless, minlength=size)[self.rows] - endless
        return np.where(counts > 0, np.inf, sums)

    def indispensable(self, need: Float, room: Float, hidden: Bool) -> Bool:
        """Cells without which a part of a row with a published total could not move as far as it must."""
        size = int(self.rows.max(initial=-1)) + 1
        spare = np.full(size, np.inf)
        asks = (need[self.cells] > 0) & ~hidden[self.totals]
        np.minimum.at(spare, self.rows[asks], (self.others(room) - need[self.cells])[asks])
        wanted = self.can_move[self.cells] & ~hidden[self.cells] & (room[self.cells] > spare[self.rows])
        chosen = np.zeros(len(hidden), dtype=bool)
        chosen[self.cells[wanted]] = True
        return chosen
