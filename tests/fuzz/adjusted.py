"""Adjusted tables: what must be kept, and what an attacker who knows levels and limits can tell."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from fuzz.rules import fraction
from fuzz.world import Key, World

LARGE = 10**7
"""Least bound on values that nothing else bounds; ten times the largest one where that is more."""


def adjusted_faults(
    world: World, shown: dict[Key, int | None], unsafe: dict[Key, tuple[int, int, int]]
) -> Iterator[tuple[str, str]]:
    """What is wrong with an adjusted table, as kind and words."""
    hidden = {key for key, value in shown.items() if value is None}
    known = {key: value for key, value in shown.items() if value is not None}
    for relation in world.relations:
        if not relation.keys() & hidden and sum(c * known[key] for key, c in relation.items()):
            yield "adjusted: not additive", f"{next(iter(relation))}"
    known |= _worked_out(world, known)
    for key, value in known.items():
        if world.statuses.get(key) == "m" and value == world.value(key) and value:
            yield "adjusted: set m shows its value", f"{key}"
    if hidden:
        return
    for key, value in known.items():
        yield from _kept(world, key, value, unsafe)
    yield from _pinned(world, known, unsafe)


def _worked_out(world: World, known: dict[Key, int]) -> dict[Key, int]:
    """What follows from single relations."""
    found: dict[Key, int] = {}
    while True:
        before = len(found)
        for relation in world.relations:
            open_ = [key for key in relation if key not in known and key not in found]
            if len(open_) == 1:
                rest = sum(c * (known | found)[key] for key, c in relation.items() if key != open_[0])
                found[open_[0]] = -rest // relation[open_[0]]
        if len(found) == before:
            return found


def _reach(levels: tuple[int, int, int]) -> tuple[int, int]:
    """How far a sensitive cell must rise, or fall; 0: not that way."""
    lpl, upl, spl = levels
    wider = max(spl - lpl - upl, 0)
    return upl + (wider + 1) // 2, lpl + wider // 2


def _kept(
    world: World, key: Key, value: int, unsafe: dict[Key, tuple[int, int, int]]
) -> Iterator[tuple[str, str]]:
    true = world.value(key)
    lb, ub = world.lb[key], world.ub[key]
    if (lb is not None and value < lb) or (ub is not None and value > ub):
        yield "adjusted: beyond bounds", f"{key}"
    if key in unsafe:
        rise, fall = _reach(unsafe[key])
        far_enough = (rise and value - true >= rise) or (fall and true - value >= fall)
        if (rise or fall) and not far_enough:  # a level of 0 asks for nothing
            yield "adjusted: inside its levels", f"{key}: {true} became {value}, levels {unsafe[key]}"
        return
    if (true == 0 or world.statuses.get(key) == "z") and value != true:
        yield "adjusted: fixed cell moved", f"{key}"
    share = _limit(world, key)
    if share is not None and abs(value - true) > share * abs(true):
        yield "adjusted: beyond its limit", f"{key}: {true} became {value}"


def _limit(world: World, key: Key) -> Fraction | None:
    """The widest limit that may be meant for the cell: which totals count as such depends on empty parts."""
    adjust = world.job["adjust"]
    if "limit" not in adjust and "limit_marginals" not in adjust and "limit_total" not in adjust:
        return None
    interior = adjust.get("limit")
    marginal, total = (adjust.get(name, interior) for name in ("limit_marginals", "limit_total"))
    is_grand = all(
        code == world.totals.get(name, code) for name, code in zip(world.dimensions, key, strict=True)
    )
    sums = [relation for relation in world.relations if relation.get(key) == -1]
    parts = [sum(c == 1 and bool(world.cells[k].count) for k, c in relation.items()) for relation in sums]
    is_clear = any(number > 1 for number in parts) and not world.job.get("equations")
    limits = [interior]
    if sums:
        limits = (
            [total]
            if is_grand and is_clear
            else [marginal, total]
            if is_clear
            else [interior, marginal, total]
        )
    if any(limit is None for limit in limits):
        return None
    return max(fraction(limit) for limit in limits) / 100


def _pinned(
    world: World, shown: dict[Key, int], unsafe: dict[Key, tuple[int, int, int]]
) -> Iterator[tuple[str, str]]:
    """Sensitive cells of which every table that the attacker cannot rule out is nearly the true one."""
    if world.signed or not unsafe:
        return
    program = _Tables(world, shown, unsafe)
    for key in unsafe:
        rise, fall = _reach(unsafe[key])
        rose = shown[key] > world.value(key)
        if program.other_sense(key, rose) is not False:
            continue
        far = program.as_far(key, rise + fall)
        if far is False:
            yield (
                "adjusted: pinned down",
                f"{key}: true {world.value(key)}, published {shown[key]}, {unsafe[key]}",
            )


class _Tables:
    """The tables of which the published one may be an adjustment, as an integer program.

    Unknown: the true table t, and for each sensitive cell whether it rose. Limits in per cent are of t.
    """

    def __init__(self, world: World, shown: dict[Key, int], unsafe: dict[Key, tuple[int, int, int]]) -> None:
        self.world, self.shown, self.unsafe = world, shown, unsafe
        self.keys = list(world.cells)
        self.large = max(LARGE, 10 * max(map(abs, shown.values())))
        self.place = {key: number for number, key in enumerate(self.keys)}
        self.sense = {key: len(self.keys) + number for number, key in enumerate(unsafe)}
        self.size = len(self.keys) + len(unsafe)
        self.low, self.high = np.zeros(self.size), np.ones(self.size)
        rows, lows, highs = [], [], []
        for key in self.keys:
            self._bound(key)
        for relation in world.relations:
            row = np.zeros(self.size)
            for key, coefficient in relation.items():
                row[self.place[key]] = coefficient
            rows.append(row)
            lows.append(0.0)
            highs.append(0.0)
        for key, levels in unsafe.items():
            rise, fall = _reach(levels)
            row = np.zeros(self.size)  # rose: t ≤ x − rise
            row[self.place[key]], row[self.sense[key]] = 1, self.large
            rows.append(row)
            lows.append(-np.inf)
            highs.append(shown[key] - rise + self.large)
            row = np.zeros(self.size)  # fell: t ≥ x + fall
            row[self.place[key]], row[self.sense[key]] = 1, self.large
            rows.append(row)
            lows.append(shown[key] + fall)
            highs.append(np.inf)
            if not rise:
                self.high[self.sense[key]] = 0
            if not fall:
                self.low[self.sense[key]] = 1
        self.rows = LinearConstraint(np.array(rows), np.array(lows), np.array(highs))

    def _bound(self, key: Key) -> None:
        world, x, place = self.world, self.shown[key], self.place[key]
        low = self.large * -1 if world.lb[key] is None else world.lb[key]
        high = self.large if world.ub[key] is None else world.ub[key]
        assert low is not None and high is not None
        if key not in self.unsafe:
            share = _limit(world, key)
            if world.statuses.get(key) == "z" or (world.value(key) == 0):
                low = high = x
            elif share is not None:  # |x − t| ≤ share·t for t ≥ 0
                low = max(low, -(-x * share.denominator // (share.denominator + share.numerator)))
                if share < 1:
                    high = min(high, x * share.denominator // (share.denominator - share.numerator))
        self.low[place], self.high[place] = low, high

    def _solve(self, key: Key, ends: tuple[float, float], sense: int | None) -> bool | None:
        """Whether some possible table has the cell in this range; None where that is not clear."""
        low, high = self.low.copy(), self.high.copy()
        place = self.place[key]
        low[place], high[place] = max(low[place], ends[0]), min(high[place], ends[1])
        if sense is not None:
            low[self.sense[key]] = max(low[self.sense[key]], sense)
            high[self.sense[key]] = min(high[self.sense[key]], sense)
        if (low > high).any():
            return False
        options = {"time_limit": 5.0}
        found = milp(
            np.zeros(self.size), constraints=self.rows, bounds=Bounds(low, high),
            integrality=np.ones(self.size), options=options,
        )  # fmt: skip
        if found.status == 2:
            return False
        return True if found.status == 0 else None

    def other_sense(self, key: Key, rose: bool) -> bool | None:
        """Whether the cell may have gone the other way."""
        return self._solve(key, (-np.inf, np.inf), 0 if rose else 1)

    def as_far(self, key: Key, width: int) -> bool | None:
        """Whether the cell may be as far as this from its true value."""
        true = self.world.value(key)
        below = self._solve(key, (-np.inf, true - width), None)
        above = self._solve(key, (true + width, np.inf), None)
        if below or above:
            return True
        return None if below is None or above is None else False
