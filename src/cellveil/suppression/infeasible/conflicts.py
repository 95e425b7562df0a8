"""Why a protection level cannot be met: an irreducible infeasible set of facts.

Everything that may be hidden is hidden. What an attacker then still knows are *facts*: cells that must be
published, cells that are zero, and bounds that are known beforehand. A level is in conflict with a set of
facts F if

    max ± y_p   subject to   M y = 0,   y_i = 0 for published and zero cells in F,
                             y_i ≤ up_i, −y_i ≤ down_i for the bounds in F,   all else free

falls short of it; of a sliding level, if both maxima together do. `conflict_with` finds a set from which no
fact can be taken away: it begins with those that the multipliers of the program with all facts use, and takes
away one after the other as long as the level stays out of reach (a deletion filter). Bounds and zeros are
tried first, so that what is left names cells that somebody chose to publish, if it can.

Requires a level that is out of reach. Ensures an irreducible set, as far as a linear program's tolerance
tells; it need not be the smallest. Cost: one linear program over the table for each fact of the first set.

Reference: Chinneck & Dravnieks (1991) for the filter.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.deviations.components import Component
from cellveil.problem import Problem, Status
from cellveil.solvers.tolerances import GUESS, REACH
from cellveil.suppression.exact.fractional_attack import LPAttacker, Push
from cellveil.suppression.exact.parts import Part

Side = Literal["upper", "lower", "sliding"]
Why = Literal["must be published", "is zero", "upper bound is known", "lower bound is known"]

FIRST_TO_GO: tuple[Why, ...] = (
    "upper bound is known",
    "lower bound is known",
    "is zero",
    "must be published",
)
"""The order in which the filter tries to do without."""


@dataclass(frozen=True)
class Level:
    """A protection level of a cell, in units of the last digit."""

    cell: int
    side: Side
    amount: int


@dataclass(frozen=True)
class Fact:
    """What is known of a cell whatever is hidden."""

    cell: int
    name: str
    why: Why


@dataclass(frozen=True)
class Conflict:
    """A level that cannot be met, and facts of which none can be left out that make it so."""

    cell: int
    name: str
    side: Side
    facts: tuple[Fact, ...]

    def to_dict(self) -> dict[str, Any]:
        """As data for JSON; names only."""
        facts = [{"cell": fact.name, "why": fact.why} for fact in self.facts]
        return {"cell": self.name, "level": self.side, "facts": facts}

    def __str__(self) -> str:
        return f"the {self.side} level of {self.name}: " + ", ".join(
            f"{fact.name} ({fact.why})" for fact in self.facts
        )


def levels_of(problem: Problem, cells: Iterable[int]) -> list[Level]:
    """All levels above 0 of these cells."""
    named: tuple[tuple[Side, Int], ...] = (
        ("upper", problem.upl), ("lower", problem.lpl), ("sliding", problem.spl),
    )  # fmt: skip
    return [
        Level(cell, side, int(levels[cell])) for cell in cells for side, levels in named if levels[cell] > 0
    ]


class Reach:
    """How far cells can move when only some facts hold; one live program for all questions."""

    def __init__(self, problem: Problem) -> None:
        n = problem.table.num_cells
        relations = problem.table.relations
        everything = Component(
            np.arange(n), np.arange(len(relations)), relations.matrix.tocsc().astype(np.int64)
        )
        nothing = np.zeros(n, dtype=bool)
        self.problem = problem
        self._part = Part(everything, problem.up, problem.down, problem.weight, nothing, (), ())
        self._attacker = LPAttacker(self._part)

    def share(self, level: Level, up: Float, down: Float) -> float:
        """How much of a level is in reach under these capacities, 1 at most; 0 where it is not clear."""
        total = 0.0
        for rising in _directions(level):
            push = self.push(level, rising, up, down)
            total += 0.0 if push is None else push.share
        return min(total, 1.0)

    def push(self, level: Level, rising: bool, up: Float, down: Float) -> Push | None:
        """Move the cell of a level; with capacities cut for the sake of numerics, if that is enough."""
        caps = np.concatenate([up, down]) / level.amount
        push = None
        for reach in (REACH, np.inf):
            cut = np.where(np.isinf(caps), np.inf, np.minimum(caps, reach))
            push = self._attacker.push(level.cell, rising, cut)
            if push is not None and push.share >= 1 - GUESS:
                break
            if not (np.isfinite(caps) & (caps > reach)).any():
                break
        return push

    def is_met(self, level: Level, up: Float, down: Float) -> bool:
        """Whether the level is in reach."""
        return self.share(level, up, down) >= 1 - GUESS

    def rooms(self, free: Bool) -> tuple[Float, Float]:
        """Capacities where these cells may move, within what is known of them."""
        return np.where(free, self.problem.up, 0.0), np.where(free, self.problem.down, 0.0)


def conflict_with(reach: Reach, level: Level) -> Conflict:
    """An irreducible set of facts that keep a level out of reach."""
    facts = _own_bounds(reach.problem, level) if level.side != "sliding" else []
    if not facts:
        facts = _first_facts(reach, level)
        order = sorted(facts, key=lambda fact: (FIRST_TO_GO.index(fact.why), -fact.cell))
        for fact in order:
            fewer = [other for other in facts if other != fact]
            if not reach.is_met(level, *_capacities(reach.problem, fewer)):
                facts = fewer
    facts = sorted(facts, key=lambda fact: (fact.cell, fact.why))
    name = reach.problem.table.cell_name(level.cell)
    return Conflict(level.cell, name, level.side, tuple(facts))


def _directions(level: Level) -> tuple[bool, ...]:
    return {"upper": (True,), "lower": (False,), "sliding": (True, False)}[level.side]


def _own_bounds(problem: Problem, level: Level) -> list[Fact]:
    """Where the cell's own bounds are too near already."""
    found = []
    for rising in _directions(level):
        room = (problem.up if rising else problem.down)[level.cell]
        if room < level.amount:
            found.append(_bound(problem, level.cell, rising))
    return found


def _first_facts(reach: Reach, level: Level) -> list[Fact]:
    """The facts that the multipliers of the program with all of them use; all where they do not tell."""
    problem = reach.problem
    rooms = reach.rooms(problem.status != Status.FROZEN)
    facts = set(_own_bounds(problem, level))
    for rising in _directions(level):
        push = reach.push(level, rising, *rooms)
        if push is None or (push.share < 1 - GUESS and not push.combinations):
            return _all_facts(problem)
        for combination in push.combinations:
            facts |= _used(problem, combination, level.cell, rising)
    found = sorted(facts, key=lambda fact: (fact.cell, fact.why))
    return _all_facts(problem) if reach.is_met(level, *_capacities(problem, found)) else found


def _used(problem: Problem, combination: Int, own: int, rising: bool) -> set[Fact]:
    facts = set()
    positive = combination[own] > 0
    for cell in np.flatnonzero(combination).tolist():
        if cell == own:
            continue
        if problem.status[cell] == Status.FROZEN:
            facts.add(_fixed(problem, cell))
            continue
        rises = (combination[cell] < 0) == (positive == rising)
        if np.isfinite((problem.up if rises else problem.down)[cell]):
            facts.add(_bound(problem, cell, rises))
    return facts


def _all_facts(problem: Problem) -> list[Fact]:
    facts = []
    for cell in range(problem.table.num_cells):
        if problem.status[cell] == Status.FROZEN:
            facts.append(_fixed(problem, cell))
            continue
        facts += [_bound(problem, cell, True)] if np.isfinite(problem.up[cell]) else []
        facts += [_bound(problem, cell, False)] if np.isfinite(problem.down[cell]) else []
    return facts


def _fixed(problem: Problem, cell: int) -> Fact:
    why: Why = "is zero" if problem.table.values[cell] == 0 else "must be published"
    return Fact(cell, problem.table.cell_name(cell), why)


def _bound(problem: Problem, cell: int, is_upper: bool) -> Fact:
    why: Why = "upper bound is known" if is_upper else "lower bound is known"
    return Fact(cell, problem.table.cell_name(cell), why)


def _capacities(problem: Problem, facts: list[Fact]) -> tuple[Float, Float]:
    """Everything is free but for the facts."""
    up, down = (np.full(problem.table.num_cells, np.inf) for _ in range(2))
    for fact in facts:
        if fact.why == "upper bound is known":
            up[fact.cell] = problem.up[fact.cell]
        elif fact.why == "lower bound is known":
            down[fact.cell] = problem.down[fact.cell]
        else:
            up[fact.cell] = down[fact.cell] = 0.0
    return up, down
