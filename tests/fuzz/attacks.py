"""Attacks on what is published, by linear programs over the relations between names.

A report that something is disclosed rests on an exact proof: the multipliers of the program, as fractions,
give a bound on the cell that holds whatever the solver did. Where no such proof comes out, nothing is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_matrix

from fuzz.world import Key

End = Fraction | int | None


class Box(dict[Key, tuple[End, End]]):
    """For each hidden cell the least and the largest movement that the attacker cannot rule out."""

    @cached_property
    def floats(self) -> tuple[np.ndarray, np.ndarray]:
        """Both ends of all cells, in their order."""
        ends = [_floats(pair) for pair in self.values()]
        return np.array([low for low, _ in ends]), np.array([high for _, high in ends])


DENOMINATORS = (1, 2, 6, 12, 60, 420, 5040, 10**5)
SHORT = 1e-6


@dataclass
class Moves:
    """Movements of the hidden cells that leave everything published as it is."""

    hidden: list[Key]
    relations: list[dict[Key, int]]
    programs: int = 0
    unproved: int = 0

    def __post_init__(self) -> None:
        self.place = {key: number for number, key in enumerate(self.hidden)}
        rows = [{k: c for k, c in relation.items() if k in self.place} for relation in self.relations]
        self.rows = [row for row in rows if row]
        entries = [(r, self.place[k], c) for r, row in enumerate(self.rows) for k, c in row.items()]
        shape = (len(self.rows), len(self.hidden))
        data = ([c for _, _, c in entries], ([r for r, _, _ in entries], [k for _, k, _ in entries]))
        self.matrix = csr_matrix(data, shape=shape, dtype=float)
        self.pool = np.zeros((0, len(self.hidden)))

    def shortfall(self, cell: Key, up: bool, amount: Fraction | int, box: Box) -> Fraction | None:
        """Where it is proved that the cell cannot move that far: how far it can at most; else None."""
        if amount <= 0 or self._is_in_pool(cell, up, amount, box):
            return None
        size = max(1.0, float(amount))
        self.programs += 1
        lows, highs = (ends.copy() for ends in box.floats)
        place = self.place[cell]
        if up:  # no need to go further
            highs[place] = min(highs[place], size)
        else:
            lows[place] = max(lows[place], -size)
        bounds = np.column_stack([lows, highs])
        cost = np.zeros(len(self.hidden))
        cost[place] = -1.0 if up else 1.0
        found = linprog(
            cost, A_eq=self.matrix if self.rows else None,
            b_eq=np.zeros(len(self.rows)) if self.rows else None, bounds=bounds, method="highs",
        )  # fmt: skip
        if found.status == 3:
            return None
        if found.status != 0:
            self.unproved += 1
            return None
        if -found.fun >= float(amount) - SHORT * size:
            self.pool = np.vstack([self.pool, found.x])
            return None
        return self._proved(found.eqlin.marginals if self.rows else np.zeros(0), place, up, amount, box)

    def _is_in_pool(self, cell: Key, up: bool, amount: Fraction | int, box: Box) -> bool:
        """Whether a movement found before does, made smaller so that it goes just far enough."""
        lows, highs = box.floats
        steps = self.pool[:, self.place[cell]] * (1 if up else -1)
        enough = np.abs(steps) >= float(amount) * (1 - SHORT)
        shares = np.sign(steps[enough]) * np.minimum(1.0, float(amount) / np.abs(steps[enough]))
        moved = self.pool[enough] * shares[:, None]
        slack = 1e-9 * np.maximum(1.0, np.abs(moved))
        return bool(((moved >= lows - slack) & (moved <= highs + slack)).all(axis=1).any())

    def _proved(
        self, multipliers: np.ndarray, place: int, up: bool, amount: Fraction | int, box: Box
    ) -> Fraction | None:
        """The movement at most, if multipliers prove it to be less than the amount; by weak duality."""
        sign = -1 if up else 1
        for denominator in DENOMINATORS:
            exact = [Fraction(float(m)).limit_denominator(denominator) for m in multipliers]
            reduced = [Fraction(0)] * len(self.hidden)
            reduced[place] = Fraction(sign)
            for row, factor in zip(self.rows, exact, strict=True):
                if factor:
                    for key, coefficient in row.items():
                        reduced[self.place[key]] -= factor * coefficient
            least = Fraction(0)
            for key, cost in zip(self.hidden, reduced, strict=True):
                end = box[key][0] if cost > 0 else box[key][1]
                if cost and end is None:
                    break
                least += cost * Fraction(end or 0)
            else:
                if -least < amount:
                    return -least
        self.unproved += 1
        return None

    def whole_shortfall(self, cell: Key, up: bool, amount: int, box: Box) -> int | None:
        """The same for movements by whole numbers only, by an integer program."""
        if amount <= 0:
            return None
        self.programs += 1
        cost = np.zeros(len(self.hidden))
        cost[self.place[cell]] = -1.0 if up else 1.0
        bounds = [_floats(box[key]) for key in self.hidden]
        low, high = bounds[self.place[cell]]
        bounds[self.place[cell]] = (low, min(high, amount)) if up else (max(low, -amount), high)
        lows, highs = (np.array(side) for side in zip(*bounds, strict=True))
        rules = [LinearConstraint(self.matrix, 0, 0)] if self.rows else []
        found = milp(cost, constraints=rules, bounds=Bounds(lows, highs), integrality=np.ones(len(cost)))
        if found.status != 0:
            self.unproved += 1
            return None
        reached = round(-found.fun)
        return reached if reached < amount else None

    def is_movable(self, ranges: Box) -> bool:
        """Whether some movement has every cell in its range; True where that is not clear."""
        self.programs += 1
        found = linprog(
            np.zeros(len(self.hidden)), A_eq=self.matrix if self.rows else None,
            b_eq=np.zeros(len(self.rows)) if self.rows else None,
            bounds=[_floats(ranges[key]) for key in self.hidden], method="highs",
        )  # fmt: skip
        return bool(found.status != 2)


def _floats(ends: tuple[Fraction | int | None, Fraction | int | None]) -> tuple[float, float]:
    low, high = ends
    return (-np.inf if low is None else float(low), np.inf if high is None else float(high))


def narrowed(box: Box, limits: Mapping[Key, tuple[Fraction | int, Fraction | int]]) -> Box:
    """A box in which some cells have less room."""
    found = Box(box)
    for key, (low, high) in limits.items():
        below, above = box[key]
        found[key] = (low if below is None else max(below, low), high if above is None else min(above, high))
    return found
