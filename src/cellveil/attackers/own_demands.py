"""What contributors must not find out: the demands on a primary cell against each insider.

Insider s knows its own part of every cell. Let g be the largest contributor of cell t other than s, x_g its
part, own_s(t) that of s, and X the sum of the cell. Among all tables that agree with the view and with what s
knows, let X̄ be the largest value of t. Then s knows that x_g ≤ X̄ − own_s(t), and no more. The p% rule
tolerates that if it is at least (1 + p) x_g, so for s the cell must be able to rise by

    D_s(t) = p · x_g − (X − x_g − own_s(t)),   if that is positive.

With s the second largest this is the level of the cell. Other rules likewise, by their own formula with s in
the second largest's place (`cellveil.level_origin`); a level that is a share of the value becomes that share
of X − own_s(t), where all contributors of the cell are listed and none is negative. Downwards the same
amounts are asked. Never more than the level; nothing of a cell that s alone makes up; and the whole level
where it is not known how it came about, or by a rule on holdings while units attack. Where several rules
marked a cell, those with a formula decide.

A cell's demands are one row: against each of its listed contributors, and, last, against everybody else, who
may have contributed up to the smallest part listed if there are contributors who are not.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Int
from cellveil.attackers.own_parts import OwnParts
from cellveil.level_origin import LevelOrigin
from cellveil.problem import Problem
from cellveil.tables.scaled import UNBOUNDED


class OwnDemands:
    """How far each cell must be able to move against each insider; see the head of the module.

    Attributes
    ----------
    cells
        The primary cells that are asked for, in the order of the rows.
    """

    def __init__(self, problem: Problem, parts: OwnParts, asked: Int | None = None) -> None:
        self.problem, self.parts = problem, parts
        self.cells = problem.primaries if asked is None else asked

    @cached_property
    def one_signed(self) -> tuple[Bool, Bool]:
        """Cells to which everybody is known to contribute at least 0; and at most 0.

        Where contributions of both signs occur, a part of one's own is no floor: the others' may be negative.
        """
        problem, values = self.problem, self.problem.table.values
        floor, ceiling = problem.lb >= 0, problem.ub <= 0
        no_negative = bool((self.parts.total == values)[floor].all())
        no_positive = bool((self.parts.total == -values)[ceiling].all())
        return floor & no_negative, ceiling & no_positive

    @cached_property
    def up(self) -> Int:
        """Amounts upwards, one row per primary cell; with what a sliding level asks beyond the fall."""
        cells, spl = self.cells, self.problem.spl[self.cells][:, None]
        level = self.problem.upl[cells][:, None]
        amounts = np.minimum(self._formula(up=True), level)
        ceiling = -self._surely - self.problem.table.values[cells][:, None]
        amounts = np.where(self.one_signed[1][cells][:, None], np.minimum(amounts, ceiling), amounts)
        left = self._cut(np.minimum(self._formula(up=False), self.problem.lpl[cells][:, None]), self._at_most)
        return self._without_owners(np.maximum(amounts, np.where(spl > 0, spl - left, 0)))

    @cached_property
    def down(self) -> Int:
        """Amounts downwards: what an insider knows the cell to have at least, it need not be kept from."""
        amounts = np.minimum(self._formula(up=False), self.problem.lpl[self.cells][:, None])
        return self._without_owners(self._cut(amounts, self._surely))

    @cached_property
    def row(self) -> Int:
        """The row of each cell of the table; −1 where it is not primary."""
        row = np.full(self.problem.table.num_cells, -1, dtype=np.int64)
        row[self.cells] = np.arange(len(self.cells))
        return row

    def rank(self, cells: Int, who: Int) -> Int:
        """The place of insiders in the rows of primary cells, pair by pair."""
        is_listed = self.parts.who[cells] == who[:, None]
        rank = np.where(is_listed.any(axis=1), is_listed.argmax(axis=1), is_listed.shape[1])
        return np.asarray(rank)

    def amount(self, cell: int, up: bool, attacker: int) -> int:
        """The amount against one insider, or somebody who is not listed in the cell."""
        rank = self.rank(np.array([cell]), np.array([attacker if attacker >= 0 else UNBOUNDED]))
        return int((self.up if up else self.down)[self.row[cell], rank[0]])

    # -- how they come about -------------------------------------------------------------------------------

    @cached_property
    def _at_most(self) -> Int:
        """The most that each listed contributor, and everybody else, can have in each primary cell."""
        unlisted = self.parts.unlisted[self.cells][:, None]
        return np.concatenate([self.parts.amount[self.cells], unlisted], axis=1)

    @cached_property
    def _surely(self) -> Int:
        """The least: the part of those who are listed."""
        surely = self._at_most.copy()
        surely[:, -1] = 0
        return surely

    def _without_owners(self, amounts: Int) -> Int:
        """Nothing is asked against who alone makes up the cell."""
        amounts = np.maximum(amounts, 0)
        amounts[self.parts.count[self.cells] == 1, 0] = 0
        return amounts

    def _cut(self, amounts: Int, own: Int) -> Int:
        """Cut where everybody, or the insider by its own part, knows the cell to be no less."""
        problem, cells = self.problem, self.cells
        lb, values = problem.lb[cells][:, None], problem.table.values[cells][:, None]
        least = np.where(self.one_signed[0][cells][:, None], np.maximum(lb, own), lb)
        return np.where(
            lb == -UNBOUNDED, amounts, np.minimum(amounts, values - np.maximum(least, -UNBOUNDED // 2))
        )

    def _formula(self, *, up: bool) -> Int:
        """What the rules ask, before levels and bounds; UNBOUNDED where that is the whole level."""
        shape = self._at_most.shape
        amounts, decided = np.full(shape, -UNBOUNDED), np.zeros(shape[0], dtype=bool)
        for origin, marked in self.problem.origins.items():
            mine = np.flatnonzero(marked[self.cells] & self._speaks_for(origin))
            if origin.target is not None and len(mine):
                amounts[mine] = np.maximum(amounts[mine], self._narrowing(origin, mine, up))
                decided[mine] = True
        for origin, marked in self.problem.origins.items():
            mine = np.flatnonzero(marked[self.cells] & ~self._has_formula & self._is_shareable)
            if origin.target is None and len(mine):
                amounts[mine] = self._share(mine, up)
                decided[mine] = True
        decides = np.repeat(decided[:, None], shape[1], axis=1)
        decides[:, -1] &= self.parts.is_named  # without ids nobody is known again in another cell
        return np.where(decides, amounts, UNBOUNDED)

    @cached_property
    def _has_formula(self) -> Bool:
        """Where a rule with a formula marked the cell, whether or not it speaks for the attackers."""
        found = np.zeros(len(self.cells), dtype=bool)
        for origin, marked in self.problem.origins.items():
            if origin.target is not None:
                found |= marked[self.cells]
        return found

    def _speaks_for(self, origin: LevelOrigin) -> Bool:
        """Where a formula on units or holdings can be used for the attackers at hand."""
        if origin.level == self.parts.level:
            return np.ones(len(self.cells), dtype=bool)
        floor, ceiling = (sign[self.cells] for sign in self.one_signed)
        return np.asarray((floor | ceiling) & (self.parts.level == "holding"))

    @property
    def _is_shareable(self) -> Bool:
        """Where what is not an insider's own is known to be less than the whole."""
        floor, ceiling = (sign[self.cells] for sign in self.one_signed)
        is_complete = self.parts.count[self.cells] <= self.parts.amount.shape[1]
        return np.asarray((floor | ceiling) & is_complete & (self.parts.total[self.cells] > 0))

    def _narrowing(self, origin: LevelOrigin, rows: Int, up: bool) -> Int:
        """Target · x_g + known · (own + the next ones) − X, by the listed parts."""
        assert origin.target is not None
        own, parts = self._at_most[rows], self.parts
        depth, wanted = own.shape[1] - 1, origin.others + 2
        short = np.repeat(own[:, -1:], max(wanted - depth, 0), axis=1)
        largest = np.concatenate([own[:, :depth], short], axis=1)
        sums = np.concatenate([np.zeros_like(own[:, :1]), np.cumsum(largest, axis=1)], axis=1)
        rank = np.arange(depth + 1)
        first = np.where(rank == 0, largest[:, 1:2], largest[:, :1])
        among = (rank < origin.others + 1) & (rank < depth)
        others = np.where(among, sums[:, [wanted]] - own, sums[:, [wanted - 1]]) - first
        total = parts.total[self.cells[rows]][:, None]
        return _rounded_up(
            ((origin.target, first), (origin.known, own + others), (Fraction(-1), total)),
            origin.upper if up else origin.lower,
        )

    def _share(self, rows: Int, up: bool) -> Int:
        """The share of the level that what is not one's own is of the whole, rounded up."""
        total, level = self.parts.total[self.cells[rows]], self.problem.upl if up else self.problem.lpl
        left = np.maximum(total[:, None] - self._at_most[rows], 0).astype(object)
        whole = level[self.cells[rows]][:, None].astype(object) * left
        return np.asarray(-(-whole // total[:, None].astype(object)), dtype=np.int64)


def _rounded_up(terms: tuple[tuple[Fraction, Int], ...], factor: Fraction) -> Int:
    """Factor · Σ coefficient · amount, rounded up, exactly; within what 64 bits hold."""
    common = factor.denominator
    for coefficient, _ in terms:
        common *= coefficient.denominator
    total: NDArray[np.object_] | int = 0
    for coefficient, amounts in terms:
        total = total + amounts.astype(object) * int(coefficient * factor * common)
    rounded = -(-np.asarray(total) // common)
    return np.asarray(np.clip(rounded, -UNBOUNDED, UNBOUNDED), dtype=np.int64)
