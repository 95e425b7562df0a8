"""Separation: the capacity cuts and bridge-less inequalities that a fractional point violates.

Capacities that are known already are looked through first, with other cells taken for granted; then demands
are attacked under the shares x, those that were violated last first, and the combination found becomes a cut
if x violates it by enough. A movement that takes its own cell far enough settles all demands it meets.

Reference: Fischetti & Salazar (2001), whose attacker subproblems these are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.params import param
from cellveil.problem import Problem
from cellveil.solvers.cutting_planes import Row
from cellveil.solvers.tolerances import GUESS
from cellveil.suppression.exact.capacity_cuts import Capacity, bridgeless_row, need_capacity, width_capacity
from cellveil.suppression.exact.fractional_attack import LPAttacker
from cellveil.suppression.exact.parts import Asked, Need, Part, Width
from cellveil.suppression.exact.safety_oracle import OracleParams, SafetyOracle


@dataclass(frozen=True, kw_only=True)
class SeparationParams(OracleParams):
    """Parameters of the separation of capacity cuts and bridge-less inequalities."""

    deep: float = param(1e-2, "Least violation of a cut by a fractional point.", least=0)
    shallow: float = param(5e-4, "The same where no deeper cut is found.", least=0)
    most_fine: int = param(1_000, "Cells up to which linear programs separate finely.", least=0)
    aside: float = param(5e-3, "Added to x in fine separation, so that cuts stay sparse.", least=0, most=1)
    granted: tuple[float, ...] = param(
        (1.0 - 1e-6, 0.6), "Values of x from which on cells are fixed at 1 in an attack.", least=0
    )
    rounded: tuple[float, ...] = param(
        (0.9, 0.6, 0.3, 0.1, 1e-3), "Thresholds at which a point is rounded to a whole pattern.", least=0
    )
    looked_at: int = param(8, "Known capacities looked at for each cut wanted.", least=1)
    bridgeless: float = param(
        0.05, "Bridge-less inequalities are separated for cells with x above this.", least=0, most=1
    )


class Separation(SafetyOracle):
    """The same for fractional points."""

    params: SeparationParams

    def __init__(
        self,
        problem: Problem,
        part: Part,
        deadline: Deadline = NO_LIMIT,
        params: SeparationParams | None = None,
    ) -> None:
        super().__init__(problem, part, deadline, params or SeparationParams())
        self._is_fine = False
        self._own = np.array([need.own for need in part.needs], dtype=np.int64)
        self._turn = np.array([1.0 if need.up else -1.0 for need in part.needs])
        self._least = np.array([need.amount * (1 - GUESS) for need in part.needs])
        self._needs_of: dict[int, list[Need]] = {}
        for need in part.needs:
            self._needs_of.setdefault(need.own, []).append(need)
        self._owners = np.array(sorted(self._needs_of), dtype=np.int64)

    def refine(self) -> None:
        """Attack more finely from now on: when coarse rows gain little, and not in large parts."""
        if isinstance(self.attacker, LPAttacker) and self.part.num_cells <= self.params.most_fine:
            self._is_fine, self.attacker.is_fresh = True, False

    def violated_cuts(self, x: Float, *, most: int, attacks: int, deadline: Deadline = NO_LIMIT) -> list[Row]:
        """New rows that a fractional point breaks: about so many at most, by at most so many attacks."""
        found = self.pool.add(
            self.capacities.violated_cuts(x, self.params.deep, self.params.looked_at * most)
        )[:most]
        met = self._always.copy()
        for number in np.argsort(-self.urgency, kind="stable").tolist():
            if len(found) >= most or attacks <= 0 or self.is_large or deadline.is_over:
                break
            self.urgency[number] *= self.params.fading
            if met[number]:
                continue
            attacks -= 1
            rows = self.pool.add(self._attack(self.asked[number], x, met))
            if rows:
                self.urgency[number] = 1.0 + max(row.violation(x) for row in rows)
            found += rows
        return found or self.pool.add(self.capacities.violated_cuts(x, self.params.shallow, most))

    def bridgeless_cuts(
        self, x: Float, *, most: int, attacks: int, deadline: Deadline = NO_LIMIT
    ) -> list[Row]:
        """New bridge-less inequalities that a fractional point breaks."""
        found: list[Row] = []
        candidates = np.flatnonzero(~self.part.held & (x > self.params.bridgeless) & (not self.is_large))
        for own in candidates[np.argsort(-x[candidates], kind="stable")][:attacks].tolist():
            if len(found) >= most or deadline.is_over:
                break
            relative = np.tile(x, 2) / x[own]
            relative[[own, own + self.part.num_cells]] = 1.0
            push = self.attacker.push(own, True, relative)
            self.num_attacks += 1
            rows = [] if push is None else [bridgeless_row(self.part, h, own) for h in push.combinations]
            found += self.pool.add(
                row for row in rows if row is not None and row.violation(x) > self.params.deep
            )
        return found

    def cuts_by_rounding(self, x: Float, *, deadline: Deadline = NO_LIMIT) -> list[Row]:
        """New rows that a fractional point breaks, among those of whole patterns near it."""
        found: list[Row] = []
        is_slow = self.is_large or (self.attacker is self.lp and self.part.num_cells > self.params.most_fine)
        for share in () if is_slow else self.params.rounded:
            known = len(self.pool)
            check = self.judge(self.part.held | (x >= share), deadline=deadline)
            if not check.rows:
                break
            found += [row for row in self.pool.rows[known:] if row.violation(x) > self.params.deep]
        return found

    def _attack(self, asked: Asked, x: Float, met: Bool) -> list[Row]:
        caps = np.minimum(self._caps / asked.amount, 1.0)
        if isinstance(asked, Width):
            return self._attack_width(asked, caps * np.tile(x, 2), x)
        push = self.attacker.push(asked.own, asked.up, caps * np.tile(x, 2))
        self.num_attacks += 1
        if push is None:
            return []
        if push.moved is not None and push.share >= 1 - GUESS:
            moved = push.moved[self._own] * self._turn * asked.amount
            met[: len(moved)] |= moved >= self._least
        if push.share < 1 - self.params.deep and self._is_fine:
            sparse = self.attacker.push(
                asked.own, asked.up, caps * np.tile(np.minimum(x + self.params.aside, 1.0), 2)
            )
            self.num_attacks += 1
            rows = [] if sparse is None else self._rows_of(sparse.combinations, x)
            if rows:
                return rows
        rows = self._rows_of(push.combinations, x)
        return rows or self._attack_granting(asked, x)

    def _rows_of(self, combinations: Iterable[Int], x: Float) -> list[Row]:
        """What combinations say about all demands in them: rows that the point breaks."""
        needs = (
            (combination, need)
            for combination in combinations
            for own in self._owners[combination[self._owners] != 0].tolist()
            for need in self._needs_of[own]
        )
        return self._rows_against(x, (need_capacity(self.part, h, need) for h, need in needs))

    def _attack_granting(self, need: Need, x: Float) -> list[Row]:
        """Attack with cells hidden for the most part taken for granted, and the others for the rest only."""
        caps = np.minimum(self._caps / need.amount, 1.0)
        for share in self.params.granted:
            granted = np.tile(x >= share, 2)
            alone = self.attacker.push(need.own, need.up, np.where(granted, caps, 0.0))
            self.num_attacks += 1
            if alone is None or alone.share >= 1 - GUESS:
                return []
            rest = np.minimum(caps, 1.0 - alone.share) * np.tile(x, 2)
            push = self.attacker.push(need.own, need.up, np.where(granted, caps, rest))
            self.num_attacks += 1
            if push is None:
                return []
            rows = self._rows_of(push.combinations, x)
            if rows:
                return rows
        return []

    def _attack_width(self, width: Width, caps: Float, x: Float) -> list[Row]:
        own, n = width.own, self.part.num_cells
        sides: list[tuple[Int | None, ...]] = []
        total = 0.0
        for up in (True, False):
            room = caps[own + (0 if up else n)]
            wide = caps.copy()
            wide[[own, own + n]] = 1.0
            push = self.attacker.push(own, up, wide)
            self.num_attacks += 1
            if push is None:
                return []
            total += min(push.share, room)
            sides.append(push.combinations if push.share < room and push.combinations else (None,))
        if total >= 1 - GUESS:
            return []
        pairs = ((above, below) for above in sides[0] for below in sides[1])
        return self._rows_against(x, (width_capacity(self.part, *pair, width) for pair in pairs))

    def _rows_against(self, x: Float, capacities: Iterable[Capacity | None]) -> list[Row]:
        """The rows of new capacities that the point breaks by enough; all of them are kept."""
        rows = []
        for capacity in capacities:
            if capacity is not None and self.capacities.add(capacity):
                row = capacity.rounded_against(x, self.params.pool.cuts)
                if row.violation(x) > self.params.deep:
                    rows.append(row)
        return rows
