"""Contributors who attack: what each knows, what it must not find out, and what it does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import ceil
from typing import Any

from fuzz.attacks import Box, Moves, narrowed
from fuzz.rules import fraction
from fuzz.world import Key, World

Group = frozenset[str]
NOBODY: Group = frozenset()
MOST_GROUPS = 60


@dataclass
class InsiderAttack:
    """All insiders of one attacker of the job, against one release."""

    world: World
    shown: dict[Key, int | None]
    unsafe: dict[Key, tuple[int, int, int]]
    attacker: dict[str, Any]
    moves: Moves
    box: Box

    def __post_init__(self) -> None:
        self.level = self.attacker.get("level", "unit")
        self.members = self.attacker.get("coalition", 1)
        self.name = self.attacker["kind"] + (" coalition" if self.members > 1 else "")

    @cached_property
    def parts(self) -> dict[Key, dict[str, int]]:
        """What each contributor has in each cell, as whole numbers of the last digit."""
        world = self.world
        return {
            key: {who: world.scaled(part) for who, part in cell.own_parts[self.level].items()}
            for key, cell in world.cells.items()
        }

    @cached_property
    def everybody(self) -> list[str]:
        """All contributors."""
        return sorted({who for parts in self.parts.values() for who in parts})

    def own(self, group: Group, key: Key) -> int:
        """What the group has in the cell together."""
        return sum(self.parts[key].get(who, 0) for who in group)

    def groups(self, cell: Key) -> Iterator[Group]:
        """Who attacks the cell: everybody alone, and coalitions of those with the largest parts around."""
        for who in self.everybody:
            yield frozenset([who])
        if self.members > 1:
            here = sorted(self.parts[cell], key=lambda who: -abs(self.parts[cell][who]))
            around = dict.fromkeys(
                [*here[:4], *(who for key in self.moves.hidden for who in self.parts[key])]
            )
            for number, some in enumerate(combinations(around, self.members)):
                if number == MOST_GROUPS:
                    break
                yield frozenset(some)

    def faults(self) -> Iterator[tuple[str, str]]:
        """What is wrong, as kind and words."""
        if self.attacker["kind"] == "pq":
            yield from self._prior_posterior()
        else:
            yield from self._self_knowing()

    # -- insiders who know their own parts ------------------------------------------------------------------

    def _self_knowing(self) -> Iterator[tuple[str, str]]:
        known: dict[Group, Box] = {}
        for cell, levels in self.unsafe.items():
            if self.shown[cell] is not None:
                continue
            for group in self.groups(cell):
                present = self.parts[cell].keys()
                if present and present <= group:
                    continue  # its own cell
                if group not in known:
                    known[group] = self._known_to(group)
                box = known[group]
                for up, amount in self._demands(cell, group, levels):
                    short = self.moves.shortfall(cell, up, amount, box)
                    if short is not None:
                        way = "up" if up else "down"
                        what = f"{sorted(group)}: {cell} can move {way} by {float(short):g}, needs {amount}"
                        yield f"open to {self.name}", what

    def _known_to(self, group: Group) -> Box:
        """Cells the group makes up alone are known; of the others, that they are at least its part."""
        limits: dict[Key, tuple[int, int]] = {}
        for key in self.moves.hidden:
            present = self.parts[key].keys()
            if present and present <= group:
                limits[key] = (0, 0)
            elif self.box[key][0] is not None and self.world.variable(key) not in self.world.signed:
                room = self.world.value(key) - self.own(group, key)
                limits[key] = (-max(room, 0), 10**15)
        found = narrowed(self.box, limits)
        return Box({key: (low, None if high == 10**15 else high) for key, (low, high) in found.items()})

    def _demands(self, cell: Key, group: Group, levels: tuple[int, int, int]) -> Iterator[tuple[bool, int]]:
        """The levels as far as the rule asks for them with the group in the second largest's place.

        Of a coalition, and where the documentation asks for the whole level, the least is taken.
        """
        lpl, upl, _ = levels
        settings = self.world.job.get("levels", {})
        factors = [fraction(settings.get(f"{name}_factor", 1)) for name in ("lower", "upper")]
        share, asked = self._share(cell, group), self._asked(cell, group)
        lower, upper = (
            min(level, ceil(level * share) if asked is None else max(ceil(asked * factor), 0))
            for level, factor in ((lpl, factors[0]), (upl, factors[1]))
        )
        lb = self.world.lb[cell]
        if lb is not None:
            lower = max(0, min(lower, self.world.value(cell) - max(lb, self.own(group, cell))))
        yield True, max(upper, 0)
        yield False, lower

    def _share(self, cell: Key, group: Group) -> Fraction:
        """Which share of the cell is not the group's own; none where that cannot be told."""
        total = sum(map(abs, self.parts[cell].values()))
        return Fraction(total - abs(self.own(group, cell)), total) if total else Fraction(1)

    def _asked(self, cell: Key, group: Group) -> Fraction | None:
        """By the least formula among the rules of the job, in units of the last digit; None without any."""
        parts = self.parts[cell]
        others = sorted((abs(part) for who, part in parts.items() if who not in group), reverse=True)
        if not others or self.world.waivers[self.level]:
            return Fraction(0)  # whom a waiver leaves as target, the documentation does not say
        own, total = abs(self.own(group, cell)), sum(map(abs, parts.values()))
        found = []
        for rule in _all_rules(self.world.job.get("rules", [])):
            if "preset" in rule:
                return Fraction(0)
            kind = rule.get("rule")
            if kind == "dominance":
                factor = 100 / fraction(rule.get("k", 85))
                known = (
                    own if rule.get("n", 2) == 1 else factor * (own + sum(others[1 : rule.get("n", 2) - 1]))
                )
                found.append(factor * others[0] + known - total)
            elif kind in ("p%", "pq"):
                ratio = fraction(rule.get("p", 10)) / (fraction(rule["q"]) if kind == "pq" else 100)
                known = own + sum(others[1 : rule.get("coalition", 1)])
                found.append((1 + ratio) * others[0] + known - total)
        return min(found) if found else None

    # -- insiders who also know the others' parts to within q -----------------------------------------------

    def _prior_posterior(self) -> Iterator[tuple[str, str]]:
        p, q = (fraction(self.attacker.get(name, 100)) / 100 for name in "pq")
        for cell in self.world.cells:
            if cell in self.world.excused or self._is_exempt(cell):
                continue
            for group in self.groups(cell):
                needed = self._needed(cell, group, p, q)
                if needed is None or needed <= 0:
                    continue
                if self.shown[cell] is not None:
                    yield f"published in spite of {self.name}", f"{cell}, {sorted(group)}"
                    break
                box = self._within(cell, group, q)
                for up in (True, False):
                    short = self.moves.shortfall(cell, up, needed, box)
                    if short is not None:
                        way = "up" if up else "down"
                        reach = f"by {float(short):g}, needs {float(needed):g}"
                        what = f"{sorted(group)}: {cell} can move {way} {reach}"
                        yield f"open to {self.name}", what
        yield from self._totals(p, q)

    def _is_exempt(self, cell: Key) -> bool:
        return any("exempt" in rule for rule in _all_rules(self.world.job.get("rules", [])))

    def _needed(self, cell: Key, group: Group, p: Fraction, q: Fraction) -> Fraction | None:
        parts, waived = self.parts[cell], self.world.waivers[self.level]
        targets = [abs(part) for who, part in parts.items() if who not in group and who not in waived]
        if not targets:
            return None
        target = max(targets)
        own = sum(abs(parts.get(who, 0)) for who in group)
        total = sum(map(abs, parts.values()))
        return p * target - q * (total - target - own)

    def _within(self, cell: Key, group: Group, q: Fraction) -> Box:
        limits = {}
        for key in self.moves.hidden:
            if key != cell:
                unknown = sum(abs(part) for who, part in self.parts[key].items() if who not in group)
                limits[key] = (-q * unknown, q * unknown)
        return narrowed(self.box, limits)

    def _totals(self, p: Fraction, q: Fraction) -> Iterator[tuple[str, str]]:
        """What a contributor has in several finest hidden cells together, where it is surely listed."""
        if self.members > 1 or self.world.waivers[self.level]:
            return
        sums = {key for relation in self.world.relations for key, c in relation.items() if c == -1}
        finest = [key for key in self.moves.hidden if key not in sums]
        for target in self.everybody:
            cells = [key for key in finest if self._is_listed(target, key)]
            if len(cells) < 2:
                continue
            for attacker in self.everybody:
                if attacker == target:
                    continue
                ranges, at_risk = Box(self.box), False
                for key in finest:
                    part = abs(self.parts[key].get(target, 0)) if key in cells else 0
                    own = abs(self.parts[key].get(attacker, 0))
                    room = q * (sum(map(abs, self.parts[key].values())) - part - own)
                    at_risk |= p * part > room
                    ranges[key] = (p * part - room, p * part + room)
                if at_risk and not self.moves.is_movable(narrowed(self.box, {k: ranges[k] for k in finest})):  # type: ignore[misc]
                    yield "total open to pq", f"{attacker}: {target} in {cells}"

    def _is_listed(self, who: str, key: Key) -> bool:
        """Whether it is one of the three largest whatever the order among equals."""
        parts = self.parts[key]
        if not parts.get(who):
            return False
        return sum(abs(part) >= abs(parts[who]) for part in parts.values()) <= 3


def _all_rules(rules: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for rule in rules:
        yield rule
        for name in ("any", "all", "first"):
            yield from _all_rules(rule.get(name, []))
