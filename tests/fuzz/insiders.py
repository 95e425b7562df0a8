"""Contributors who attack: what each knows, what it must not find out, and what it does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

from fuzz.attacks import Box, Moves, narrowed
from fuzz.own_levels import Group, OwnLevels
from fuzz.rules import fraction
from fuzz.world import Key, World

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
        return self.own_levels.parts

    @cached_property
    def own_levels(self) -> OwnLevels:
        """What must not be found out."""
        return OwnLevels.of(self.world, self.level, self.members)

    @cached_property
    def everybody(self) -> list[str]:
        """All contributors."""
        return sorted({who for parts in self.parts.values() for who in parts})

    @cached_property
    def exempt(self) -> set[Key]:
        """Cells that need not be protected."""
        return {self.world.cell_of(codes) for codes in self.attacker.get("exempt", [])}

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
            if self.shown[cell] is not None or cell in self.exempt:
                continue
            for group in self.groups(cell):
                present = self.parts[cell].keys()
                if present and present <= group:
                    continue  # its own cell
                if group not in known:
                    known[group] = self._known_to(group)
                box = known[group]
                for up, amount in self.own_levels.demands(cell, group, levels):
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

    # -- insiders who also know the others' parts to within q -----------------------------------------------

    def _prior_posterior(self) -> Iterator[tuple[str, str]]:
        p, q = (fraction(self.attacker.get(name, 100)) / 100 for name in "pq")
        has_exempt_codes = "exempt" in str(self.world.job.get("rules", []))
        for cell in self.world.cells:
            if cell in self.world.excused or cell in self.exempt or has_exempt_codes:
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
