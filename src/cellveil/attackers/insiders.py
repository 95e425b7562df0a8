"""Insiders: contributors who know their own part of the cells, and attack the others.

Two kinds, both in the language of deviations (see `deviations.witness`): an attacker is what it cannot
rule out, a capacity downwards and upwards for each cell, and a cell is protected against it when a deviation
within these capacities moves the cell as far as the attacker must be kept off.

`SelfKnowing` knows its own contributions. A cell that it alone makes up is known to it; of any other cell it
knows that the value is at least its own part. The cells must move as far as their levels ask.

`PriorPosteriorInsiders` (the aggregation criterion of de Waal & Coutinho, 2020) also know every other
contribution to within q %, so that a cell can move by q % of what others contribute: ± q/100 · (X_k − own_k),
with X_k the sum of the absolute contributions, and never beyond the known bounds. A contribution x to a
primary cell must stay unknown to within p %: the cell must move by p/100 · x − q/100 · (X − x − own). That is
more than nothing only for the largest contribution, against everybody else, and for the second largest,
against the largest. That this is the criterion of the paper on all aggregations is linear-programming
duality: see docs/guarantees.md. Totals of a contributor over several cells are in
`cellveil.attackers.prior_posterior`.

Hidden or published, every cell is put to the criterion: one that fails it is asked like a primary one, and a
published one that fails it is not safe. Who contributes with both signs has no floor: with negative parts in
the table, nobody can tell from its own part that a cell is at least that much.

A *coalition* of several contributors puts its parts together. Of those who know their own parts only, every
coalition is an insider with a number of its own (`cellveil.attackers.coalition_demands`). Under the (p, q)
rule, or where contributors have no ids, all are met by one attacker that knows, in every cell at once, the
largest parts that so many contributors can have: more than any one coalition can know, so that what is shown
safe is safe, and what is not may be.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from math import lcm

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.attackers.coalition_families import CoalitionFamilies
from cellveil.attackers.families import Families
from cellveil.attackers.own_demands import OwnDemands
from cellveil.attackers.own_parts import EVERYBODY, NOBODY, OwnParts
from cellveil.deviations.witness import Witness
from cellveil.errors import InputError
from cellveil.problem import Problem
from cellveil.tables.scaled import LARGEST, UNBOUNDED

Rooms = tuple[Int, Int]

ENOUGH = 10
"""Shares of the movement needed are cut at this."""


class Insiders(ABC):
    """A kind of insider: capacities and demands for each of them. Amounts are multiplied by `scale`."""

    scale: int = 1

    def __init__(
        self, problem: Problem, parts: OwnParts, coalition: int = 1, exempt: Int | None = None
    ) -> None:
        if coalition < 1:
            raise InputError("a coalition has at least one member", remedy="Give 1 or more.")
        self.problem, self.parts, self.coalition = problem, parts, coalition
        self.exempt = np.zeros(0, dtype=np.int64) if exempt is None else exempt

    @abstractmethod
    def rooms(self, attacker: int, target: int) -> Rooms:
        """How far each cell can move down and up as far as the attacker of `target` can tell."""

    @cached_property
    def asked(self) -> Int:
        """The cells that are judged: the primary ones, and whatever else fails the attacker's own rule."""
        return np.setdiff1d(self.problem.primaries, self.exempt)

    @abstractmethod
    def demands(self, cell: int) -> Iterator[tuple[bool, int]]:
        """The movements of a primary cell that must be possible against everybody: (upwards?, amount)."""

    @abstractmethod
    def demand(self, cell: int, up: bool, attacker: int) -> int:
        """The amount needed against one attacker; 0 where nothing is."""

    @abstractmethod
    def room(self, attacker: int, cell: int, up: bool, target: int) -> int | None:
        """`rooms` for one cell in which the attacker is listed, or for NOBODY; None where unbounded."""

    def shown(self, witness: Witness, cell: int, up: bool) -> dict[int, Fraction]:
        """How far the witness shows the cell to move against each attacker, as a share of what is needed.

        It is taken as many times as fits into the attacker's capacities; shares above `ENOUGH` are cut.
        Attackers against whom nothing is needed are left out. NOBODY stands for all who are listed in none of
        the witness's cells.
        """
        steps = {
            int(k): Fraction(int(n), witness.denominator)
            for k, n in zip(witness.cells, witness.numerators, strict=True)
        }
        times: dict[int, Fraction] = {}
        fits_all = Fraction(LARGEST)
        for other, step in steps.items():
            for attacker in (NOBODY, *self._insiders_of(other)):
                room = self.room(attacker, other, step > 0, cell)
                fits = Fraction(LARGEST) if room is None else Fraction(room) / abs(step)
                times[attacker] = min(times.get(attacker, fits), fits)
                if attacker == NOBODY:
                    fits_all = min(fits_all, fits)
        moved = steps.get(cell, Fraction(0)) * (1 if up else -1)
        needed = {attacker: self.demand(cell, up, attacker) for attacker in times}
        return {
            attacker: min(moved * min(fits, fits_all) / needed[attacker], Fraction(ENOUGH))
            for attacker, fits in times.items()
            if needed[attacker] > 0
        }

    def _insiders_of(self, cell: int) -> list[int]:
        return list(self.parts.in_cell(cell))

    def _at_most(self, attacker: int, cell: int) -> int:
        """`OwnParts.known_to` for one cell and one attacker."""
        is_open = self.parts.is_vague and not self.parts.is_sum[cell]
        return self.parts.in_cell(cell).get(attacker, int(self.parts.unlisted[cell]) if is_open else 0)

    def _own(self, attacker: int, cell: int) -> int:
        """The most that the attacker of a cell can have contributed to it: all but one contributor's part."""
        if attacker == EVERYBODY:
            members = min(self.coalition, max(int(self.parts.count[cell]) - 1, 0))
            return int(self.parts.largest(members)[cell]) if members else 0
        is_open = self.parts.further is None or self.parts.is_sum[cell]
        return self.parts.in_cell(cell).get(attacker, int(self.parts.unlisted[cell]) if is_open else 0)


class SelfKnowing(Insiders):
    """Contributors who know their own contributions and nothing else of the others'."""

    def __init__(
        self, problem: Problem, parts: OwnParts, coalition: int = 1, exempt: Int | None = None
    ) -> None:
        super().__init__(problem, parts, coalition, exempt)
        self.own = OwnDemands(problem, parts, self.asked)

    @cached_property
    def together(self) -> CoalitionFamilies | None:
        """The coalitions, if several attack together and the table says who they are."""
        found = CoalitionFamilies(self.own, self.coalition) if self.coalition > 1 else None
        return found if found is not None and found.coalitions.are_known else None

    @cached_property
    def families(self) -> Families | None:
        """Tells whom families of deviations keep off; None where that is not known."""
        return Families(self.own) if self.coalition == 1 else self.together

    def rooms(self, attacker: int, target: int) -> Rooms:
        """A cell is at least the attacker's part, and known if the attacker alone makes it up."""
        if self.together is not None and attacker != EVERYBODY:
            return self.together.rooms(np.array([attacker]), target)
        problem, values = self.problem, self.problem.table.values
        known = self.parts.known_to(attacker, self.coalition)
        known[target] = self._surely(attacker, target)  # the demand is cut at what it knows of the target
        floor, ceiling = self.own.one_signed
        least = np.where(floor, np.maximum(problem.lb, known), problem.lb)
        most = np.where(ceiling, np.minimum(problem.ub, -known), problem.ub)
        down = np.where(problem.lb == -UNBOUNDED, UNBOUNDED, np.maximum(values - least, 0))
        up = np.where(problem.ub == UNBOUNDED, UNBOUNDED, np.maximum(most - values, 0))
        if attacker != NOBODY:
            alone = (self.parts.count <= self.coalition) & (self.parts.count > 0)
            if attacker != EVERYBODY:
                alone &= self.parts.who[:, 0] == attacker
            alone[target] = False
            down[alone] = up[alone] = 0
        return down, up

    def demands(self, cell: int) -> Iterator[tuple[bool, int]]:
        """What is asked against the insider for whom it is most."""
        row = self.own.row[cell]
        for up, amounts in ((True, self.own.up), (False, self.own.down)):
            amount = int(amounts[row].max()) if self.coalition == 1 else self.demand(cell, up, EVERYBODY)
            if amount > 0:
                yield up, amount

    def demand(self, cell: int, up: bool, attacker: int) -> int:
        """See `OwnDemands`; against coalitions that nobody can name the whole level, cut at what all know."""
        if self.together is not None:
            coalitions, is_all = self.together.coalitions, attacker == EVERYBODY
            return (
                coalitions.most(cell, up) if is_all else coalitions.amount(cell, up, coalitions.of(attacker))
            )
        if attacker != EVERYBODY:
            return self.own.amount(cell, up, attacker)
        problem, lb = self.problem, int(self.problem.lb[cell])
        lower = int(problem.lpl[cell])
        if lb != -UNBOUNDED:
            lower = max(min(lower, int(problem.table.values[cell]) - lb), 0)
        if not up:
            return lower
        return max(int(problem.upl[cell]), int(problem.spl[cell]) - lower)

    def _surely(self, attacker: int, cell: int) -> int:
        """What the attacker contributes to the cell at least: its part if it is listed."""
        return self.parts.in_cell(cell).get(attacker, 0) if attacker >= 0 else 0

    def room(self, attacker: int, cell: int, up: bool, target: int) -> int | None:
        """As in `rooms`."""
        problem, value = self.problem, int(self.problem.table.values[cell])
        if cell != target and attacker != NOBODY and self.parts.count[cell] == 1:
            return 0
        if (problem.ub[cell] == UNBOUNDED) if up else (problem.lb[cell] == -UNBOUNDED):
            return None
        own = self._surely(attacker, cell) if cell == target else self._at_most(attacker, cell)
        floor, ceiling = self.own.one_signed
        if up:
            most = int(problem.ub[cell])
            return max((min(most, -own) if ceiling[cell] else most) - value, 0)
        least = int(problem.lb[cell])
        return max(value - (max(least, own) if floor[cell] else least), 0)


class PriorPosteriorInsiders(Insiders):
    """Contributors who know all others' parts to within q %, and must not learn the largest to within p %."""

    def __init__(
        self,
        problem: Problem,
        parts: OwnParts,
        p: float,
        q: float,
        coalition: int = 1,
        exempt: Int | None = None,
    ) -> None:
        super().__init__(problem, parts, coalition, exempt)
        self.p, self.q = Fraction(str(p)) / 100, Fraction(str(q)) / 100
        if not 0 < self.p <= self.q <= 1:
            raise InputError("p and q are not 0 < p ≤ q ≤ 100", remedy="For the p% rule use q = 100.")
        self.scale = lcm(self.p.denominator, self.q.denominator)
        if int(parts.total.max(initial=0)) * self.scale >= LARGEST:
            raise InputError(
                "p or q has so many decimals that the amounts leave 64 bits", remedy="Use fewer decimals."
            )

    def rooms(self, attacker: int, target: int) -> Rooms:
        """± q/100 of what others contribute; the target is free. Known bounds hold for all."""
        room = self.spread(self.parts.known_to(attacker, self.coalition))
        room[target] = UNBOUNDED
        below, above = self.bounds
        return np.minimum(room, below), np.minimum(room, above)

    def spread(self, known: Int) -> Int:
        """q/100 of what is not among the known parts of each cell."""
        return np.asarray(np.maximum(self.parts.total - known, 0) * int(self.q * self.scale))

    @cached_property
    def bounds(self) -> Rooms:
        """How far each cell is from the bounds that everybody knows, UNBOUNDED where there is none."""
        problem, values = self.problem, self.problem.table.values
        below = np.where(problem.lb < -LARGEST // 2, LARGEST, values - np.maximum(problem.lb, -LARGEST // 2))
        above = np.where(problem.ub > LARGEST // 2, LARGEST, np.minimum(problem.ub, LARGEST // 2) - values)
        within = (LARGEST - 1) // self.scale
        below, above = (np.where(gap > within, UNBOUNDED, gap * self.scale) for gap in (below, above))
        return below, above

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether no bound is tighter than q/100 of the contributions: then so far up is so far down."""
        widest = self.spread(np.zeros_like(self.parts.total))
        return all(bool((gap >= widest).all()) for gap in self.bounds)

    @cached_property
    def failing(self) -> Bool:
        """Cells that fail the criterion by themselves: published, they tell a contribution to within p %.

        Not those whose contributors agreed to that.
        """
        parts, first = self.parts, self.parts.amount[:, 0]
        target = first if parts.unwaived is None else parts.unwaived
        own = np.where(
            target == first, parts.largest(self.coalition, beside_first=True), parts.largest(self.coalition)
        )
        others = np.maximum(parts.total - target - own, 0)
        fails = target * int(self.p * self.scale) > others * int(self.q * self.scale)
        waived = self.problem.waived
        return np.asarray(fails if waived is None else fails & ~waived)

    @cached_property
    def asked(self) -> Int:
        """The primary cells, and whatever else fails the criterion, hidden or published."""
        return np.setdiff1d(np.union1d(self.problem.primaries, np.flatnonzero(self.failing)), self.exempt)

    def demands(self, cell: int) -> Iterator[tuple[bool, int]]:
        """Upwards; downwards too where bounds make a difference between the two."""
        amount = self.demand(cell, True, EVERYBODY)
        if amount > 0:
            yield True, amount
            if not self.is_symmetric:
                yield False, amount

    def demand(self, cell: int, up: bool, attacker: int) -> int:
        """What the cell must move so that no contribution is known to within p %.

        The target is the largest contribution; against the largest contributor, the second largest.
        """
        parts = self.parts
        first, second = int(parts.amount[cell, 0]), int(parts.second[cell])
        if attacker == parts.who[cell, 0]:
            target, own = second, first
        elif attacker == EVERYBODY:
            target, own = first, int(parts.largest(self.coalition, beside_first=True)[cell])
        else:
            target, own = first, min(self._own(attacker, cell), second)
        others = max(int(parts.total[cell]) - target - own, 0)
        return max(0, int((self.p * target - self.q * others) * self.scale))

    def room(self, attacker: int, cell: int, up: bool, target: int) -> int | None:
        """As in `rooms`."""
        gap = int(self.bounds[1 if up else 0][cell])
        if cell == target:
            return None if gap == UNBOUNDED else gap
        unknown = max(int(self.parts.total[cell]) - self._at_most(attacker, cell), 0)
        return min(unknown * int(self.q * self.scale), gap)
