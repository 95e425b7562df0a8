"""What an insider must not find out, by its definition (docs/guarantees.md), in fractions.

The rules that marked a cell are asked once more, with the insider in the second largest's place: of each rule
with a formula what it gives; where none of them has one, the share of the level that is not the insider's
own; the whole level where it is not known how it came about, where shares are not known to be less than the
whole, and against coalitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil

from fuzz.rules import ON_AMOUNTS, Evaluation, fraction, single_rules
from fuzz.world import Key, World

Group = frozenset[str]
Levels = tuple[int, int, int]


@dataclass
class OwnLevels:
    """The demands on unsafe cells against every insider of one kind."""

    world: World
    level: str
    members: int
    parts: dict[Key, dict[str, int]]

    @classmethod
    def of(cls, world: World, level: str, members: int = 1) -> OwnLevels:
        """With the parts of the world, as whole numbers of the last digit."""
        parts = {
            key: {who: world.scaled(part) for who, part in cell.own_parts[level].items()}
            for key, cell in world.cells.items()
        }
        return cls(world, level, members, parts)

    def demands(self, cell: Key, group: Group, levels: Levels) -> Iterator[tuple[bool, int]]:
        """How far the cell must be able to move up and down against the group."""
        lpl, upl, spl = levels
        if self._is_close(cell):
            return
        lower, upper = self._asked(cell, group, (lpl, upl))
        value, own = self.world.value(cell), self._own(cell, group)
        lb, ub = self.world.lb[cell], self.world.ub[cell]
        if ub is not None and ub <= 0:
            upper = min(upper, max(-own - value, 0))
        known = lower if lb is None else max(0, min(lower, value - lb))
        if lb is not None:
            lower = max(0, min(lower, value - max(lb, own if self._is_floor(cell) else lb)))
        left = lower if self.members == 1 else known
        yield True, max(upper, spl - left if spl else 0)
        yield False, lower

    @property
    def _factors(self) -> tuple[Fraction, Fraction]:
        settings = self.world.job.get("levels", {})
        return fraction(settings.get("lower_factor", 1)), fraction(settings.get("upper_factor", 1))

    def _own(self, cell: Key, group: Group) -> int:
        return sum(abs(self.parts[cell].get(who, 0)) for who in group)

    @cached_property
    def _has_no_negative(self) -> bool:
        """Whether nobody contributes less than 0 to a cell that is known to be at least 0."""
        bounded = [key for key, lb in self.world.lb.items() if lb is not None and lb >= 0]
        return all(part >= 0 for key in bounded for part in self.parts[key].values())

    def _is_floor(self, cell: Key) -> bool:
        """Whether everybody knows that nobody contributes less than 0 to the cell."""
        lb = self.world.lb[cell]
        return lb is not None and lb >= 0 and self._has_no_negative

    def _is_close(self, cell: Key) -> bool:
        rules = single_rules(self.world.job.get("rules", []))
        return any(rule["rule"] in ON_AMOUNTS and self.evaluation.is_close(rule, cell) for rule in rules)

    @cached_property
    def evaluation(self) -> Evaluation:
        """The rules of the job."""
        return Evaluation(self.world)

    def _asked(self, cell: Key, group: Group, levels: tuple[int, int]) -> tuple[int, int]:
        """What the rules ask downwards and upwards, up to the levels; before bounds and own parts cut it."""
        if self.members > 1 or self.world.given_levels:
            return levels
        marks = [
            rule
            for one in self.world.job.get("rules", [])
            for rule in self.evaluation.marking(one, cell)
        ]  # fmt: skip
        formulas = [rule for rule in marks if self._has_formula(rule, cell)]
        spoken = [rule for rule in formulas if self._speaks(rule, cell)]
        if spoken:
            asked = max(self._formula(rule, cell, group) for rule in spoken)
            wanted = [max(ceil(asked * factor), 0) for factor in self._factors]
            return min(levels[0], wanted[0]), min(levels[1], wanted[1])
        by_share = len(marks) > len(formulas) or self.world.statuses.get(cell) == "u"
        share = self._share(cell, group) if by_share else Fraction(1)
        return ceil(levels[0] * share), ceil(levels[1] * share)

    def _has_formula(self, rule: dict[str, object], cell: Key) -> bool:
        """Rules on amounts, but at equality, where they give no level."""
        return rule["rule"] in ON_AMOUNTS and bool(self.evaluation.sensitivity(rule, cell))

    def _speaks(self, rule: dict[str, object], cell: Key) -> bool:
        """Whether it is about the same contributors, or about parts of them."""
        if rule.get("level", "unit") == self.level:
            return True
        return self.level == "holding" and self._is_one_signed(cell)

    def _is_one_signed(self, cell: Key) -> bool:
        ub = self.world.ub[cell]
        return self._is_floor(cell) or (ub is not None and ub <= 0)

    def _formula(self, rule: dict[str, object], cell: Key, group: Group) -> Fraction:
        """What the rule gives with the group's part in the second largest's place."""
        parts = self.parts[cell]
        others = sorted((abs(part) for who, part in parts.items() if who not in group), reverse=True)
        own, total = self._own(cell, group), sum(map(abs, parts.values()))
        largest, next_ones = (others[0] if others else 0), others[1:]
        if rule["rule"] == "dominance":
            n, factor = int(str(rule.get("n", 2))), 100 / fraction(rule.get("k", 85))
            if n == 1:
                return factor * largest + own - total
            return factor * (largest + own + sum(next_ones[: n - 2])) - total
        ratio = fraction(rule.get("p", 10)) / (fraction(rule["q"]) if rule["rule"] == "pq" else 100)
        beside = int(str(rule.get("coalition", 1))) - 1
        return (1 + ratio) * largest + own + sum(next_ones[:beside]) - total

    def _share(self, cell: Key, group: Group) -> Fraction:
        """Which share of the cell is not the group's own; 1 where that is not known to be less than all."""
        total = sum(map(abs, self.parts[cell].values()))
        if not total or not self._is_one_signed(cell):
            return Fraction(1)
        return Fraction(max(total - self._own(cell, group), 0), total)
