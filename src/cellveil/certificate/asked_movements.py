"""What coalitions of insiders must not rule out: how far a cell must move against them, and how far it can.

A coalition C knows the parts of its members; own_C(k) is their sum in cell k, X_k that of all contributors,
x_g the largest part of the cell in question that is not a member's. Two kinds of insiders:

**insider** (members know their own parts only). Of a primary cell t with value a, C may not find out that it
is below a + D or above a − D, where D is the rule's own formula with C in the place of the second largest
contributor (`cellveil.level_origin`): for the p% rule

    D_C(t) = p · x_g − (X − x_g − own_C(t));

for other rules target · x_g + known · (own_C + the next largest) − X; for levels that are a share of the
value, that share of X − own_C. Never more than the level; the whole level where its origin is not known;
never below what C or everybody knows the cell to be at least; nothing of a cell that C alone makes up. Where
several rules marked the cell, the largest of their formulas counts. A sliding level asks upwards for what the
lower amount leaves of it. A cell that C alone makes up cannot move for C; where nobody contributes less than
0, no cell falls below own_C (where nobody contributes more than 0: rises above −own_C).

**pq** (members also know every other part to within q, and must not learn one to within p; shares). Cells
can move for C by q · (X_k − own_C(k)), within their bounds; the cell in question within its bounds only, and
that one must move by p · x_g − q · (X − x_g − own_C). Asked of primary cells, and of all others that
fail this by themselves; downwards only where a bound makes a difference.

Where C is not fully listed, own_C is the most it can be in formulas (they grow with it, and so the demand is
never too small), and the least it can be in what C knows of the cell in question.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from math import lcm

import numpy as np

from cellveil.arrays import Bool
from cellveil.certificate.known_parts import NOBODY, Coalition, KnownParts, contributions_at
from cellveil.certificate.named_attacker import NamedAttacker
from cellveil.level_origin import LevelOrigin
from cellveil.problem import Problem
from cellveil.tables.scaled import UNBOUNDED


class AskedMovements(ABC):
    """Demands and rooms of one attacker of a certificate; see the head of the module."""

    def __init__(self, problem: Problem, attacker: NamedAttacker, hidden: Bool) -> None:
        self.problem, self.attacker, self.hidden = problem, attacker, hidden
        self.parts = KnownParts(problem, attacker.level, attacker.coalition, hidden)

    @cached_property
    def cells(self) -> list[int]:
        """The cells that must be protected."""
        exempt = set(self.attacker.exempt)
        return [cell for cell in self._asked() if cell not in exempt]

    def _asked(self) -> list[int]:
        return [int(cell) for cell in self.problem.primaries]

    def senses(self) -> tuple[bool, ...]:
        """Whether cells must rise, or rise and fall."""
        return True, False

    @abstractmethod
    def amount(self, cell: int, up: bool, who: Coalition) -> int:
        """How far the cell must move against a coalition; 0 or less where nothing is asked."""

    @abstractmethod
    def room(self, cell: int, up: bool, who: Coalition, is_target: bool) -> int | None:
        """How far the cell can move for a coalition, in the same unit; None where nothing limits it."""

    @abstractmethod
    def room_beside(self, cell: int, up: bool, own: int) -> int | None:
        """How far a cell that is not in question can move for attackers who have that much of it."""

    def least_room(self, cell: int, up: bool) -> int | None:
        """The least room that any coalition leaves to a cell that is not in question.

        That of its largest contributors; none where they may be all that it has.
        """
        parts = self.parts
        can_know = 0 < parts.count[cell] <= parts.members
        return 0 if can_know else self.room_beside(cell, up, parts.most_of_any(cell))

    def lone_room(self, cell: int, up: bool, person: int) -> int | None:
        """The same that one contributor leaves to it, who attacks alone or with others elsewhere."""
        return self.room(cell, up, frozenset({person}), is_target=False)

    def open_room(self, cell: int, up: bool) -> int | None:
        """How far a cell that is not in question can move for somebody without a part in it."""
        return self.room(cell, up, NOBODY, is_target=False)

    def gap(self, cell: int, up: bool) -> int | None:
        """How far the cell is from the bound that everybody knows."""
        bound, value = (
            (self.problem.ub if up else self.problem.lb)[cell],
            int(self.problem.table.values[cell]),
        )
        return None if abs(int(bound)) == UNBOUNDED else abs(int(bound) - value)


class AskedOfInsiders(AskedMovements):
    """Insiders who know their own parts."""

    @cached_property
    def _origins(self) -> dict[int, list[LevelOrigin]]:
        """For each cell how its level came about."""
        found: dict[int, list[LevelOrigin]] = {}
        for origin, marked in self.problem.origins.items():
            for cell in np.flatnonzero(marked).tolist():
                found.setdefault(cell, []).append(origin)
        return found

    @cached_property
    def _signs(self) -> tuple[Bool, Bool]:
        """Cells to which nobody is known to contribute less than 0; and more than 0."""
        known, values = contributions_at(self.problem, self.attacker.level), self.problem.table.values
        none_below = np.flatnonzero(self.problem.lb >= 0)
        none_above = np.flatnonzero(self.problem.ub <= 0)
        plus, minus = known.absolute == known.total, known.absolute == -known.total
        nothing = np.zeros(len(values), dtype=bool)
        return (
            self.problem.lb >= 0 if plus[none_below].all() else nothing,
            self.problem.ub <= 0 if minus[none_above].all() else nothing,
        )

    def amount(self, cell: int, up: bool, who: Coalition) -> int:
        """See the head of the module."""
        problem, parts = self.problem, self.parts
        if parts.is_made_up_by(cell, who):
            return 0
        asked, surely = self._by_rule(cell, up, who), parts.surely(cell, who)
        if not up:
            return self._cut(cell, asked, surely)
        if self._signs[1][cell]:
            asked = min(asked, -surely - int(problem.table.values[cell]))
        width = int(problem.spl[cell])
        if width:
            below = self._cut(cell, self._by_rule(cell, False, who), parts.at_most(cell, who))
            asked = max(asked, width - below)
        return asked

    def _cut(self, cell: int, asked: int, own: int) -> int:
        """Not below what everybody knows the cell to be at least, or somebody with this part of its own."""
        gap = self.gap(cell, up=False)
        if gap is None:
            return asked
        if self._signs[0][cell]:
            gap = min(gap, int(self.problem.table.values[cell]) - own)
        return min(asked, gap)

    def _by_rule(self, cell: int, up: bool, who: Coalition) -> int:
        """What the rules ask, at most the level."""
        parts = self.parts
        level = int((self.problem.upl if up else self.problem.lpl)[cell])
        origins, own, total = self._origins.get(cell, []), parts.at_most(cell, who), parts.total[cell]
        formulas = [origin for origin in origins if origin.target is not None and self._speaks(origin, cell)]
        if formulas:
            return min(level, max(self._formula(origin, cell, up, who) for origin in formulas))
        is_share = bool(origins) and all(origin.target is None for origin in origins)
        if is_share and self._is_one_signed(cell) and not parts.further[cell][0] and total > 0:
            return -(-level * (total - own) // total)
        return level

    def _formula(self, origin: LevelOrigin, cell: int, up: bool, who: Coalition) -> int:
        """Factor · (target · x_g + known · (own + the next ones) − X), rounded up."""
        assert origin.target is not None
        largest, *following = self.parts.largest_others(cell, who, 1 + origin.others)
        known = self.parts.at_most(cell, who) + sum(following)
        target, times = origin.target, origin.upper if up else origin.lower
        below = target.denominator * origin.known.denominator
        asked = target.numerator * origin.known.denominator * largest
        asked += origin.known.numerator * target.denominator * known - below * self.parts.total[cell]
        return -(-asked * times.numerator // (below * times.denominator))

    def _is_one_signed(self, cell: int) -> bool:
        return bool(self._signs[0][cell] or self._signs[1][cell])

    def _speaks(self, origin: LevelOrigin, cell: int) -> bool:
        """Whether a rule on these contributors asks no less of the attackers: units are parts of holdings."""
        level = self.attacker.level
        return origin.level == level or (level == "holding" and self._is_one_signed(cell))

    def room(self, cell: int, up: bool, who: Coalition, is_target: bool) -> int | None:
        """See the head of the module."""
        parts = self.parts
        if not is_target and parts.is_made_up_by(cell, who):
            return 0
        own = parts.surely(cell, who) if is_target else parts.elsewhere(cell, who)
        return self.room_beside(cell, up, own)

    def room_beside(self, cell: int, up: bool, own: int) -> int | None:
        """See `AskedMovements.room_beside`."""
        gap, value = self.gap(cell, up), int(self.problem.table.values[cell])
        if gap is None or not self._signs[1 if up else 0][cell]:
            return gap
        return max(min(gap, -own - value if up else value - own), 0)


class AskedOfPriorPosterior(AskedMovements):
    """Insiders who know the others' parts to within q; all amounts times a common denominator of p and q."""

    def __init__(self, problem: Problem, attacker: NamedAttacker, hidden: Bool) -> None:
        super().__init__(problem, attacker, hidden)
        self.parts.check_all_known()
        p, q = attacker.shares
        self.scale = lcm(p.denominator, q.denominator)
        self.p, self.q = int(p * self.scale), int(q * self.scale)

    def senses(self) -> tuple[bool, ...]:
        """Both ways where some bound is tighter than q of the contributions."""
        gaps = (
            (self.gap(cell, up), total) for cell, total in self.parts.total.items() for up in (True, False)
        )
        is_symmetric = all(gap is None or gap * self.scale >= self.q * total for gap, total in gaps)
        return (True,) if is_symmetric else (True, False)

    def _asked(self) -> list[int]:
        """Also what fails the criterion by itself, unless its contributors agreed to that."""
        everywhere = KnownParts(
            self.problem, self.attacker.level, self.attacker.coalition, np.ones_like(self.hidden)
        )
        waived = np.zeros_like(self.hidden) if self.problem.waived is None else self.problem.waived
        failing = {cell for cell in everywhere.listed if not waived[cell] and self._fails(everywhere, cell)}
        return sorted(failing | set(self.problem.primaries.tolist()))

    def _fails(self, parts: KnownParts, cell: int) -> bool:
        """Whether a published cell would tell its largest contribution that needs protection."""
        largest, *following = parts.largest_others(cell, NOBODY, 1 + parts.members)
        unwaived = parts.unwaived(cell)
        if unwaived is not None and unwaived != largest:
            following, largest = [largest, *following[:-1]], unwaived
        return self._demand(parts, cell, largest, sum(following)) > 0

    def _demand(self, parts: KnownParts, cell: int, target: int, own: int) -> int:
        return self.p * target - self.q * max(parts.total[cell] - target - own, 0)

    def amount(self, cell: int, up: bool, who: Coalition) -> int:
        """See the head of the module."""
        parts = self.parts
        if parts.is_made_up_by(cell, who):
            return 0
        (target,) = parts.largest_others(cell, who, 1)
        return self._demand(parts, cell, target, parts.at_most(cell, who))

    def room(self, cell: int, up: bool, who: Coalition, is_target: bool) -> int | None:
        """See the head of the module."""
        if not is_target:
            return self.room_beside(cell, up, self.parts.elsewhere(cell, who))
        gap = self.gap(cell, up)
        return None if gap is None else gap * self.scale

    def room_beside(self, cell: int, up: bool, own: int) -> int | None:
        """See `AskedMovements.room_beside`."""
        gap, room = self.gap(cell, up), self.q * max(self.parts.total[cell] - own, 0)
        return room if gap is None else min(room, gap * self.scale)

    def at_risk(self) -> Iterator[int]:
        """Contributors whose parts in several finest hidden cells together need a proof of their own."""
        parts = self.parts
        for person, places in parts.places.items():
            finest = [cell for cell in places if cell not in parts.sums]
            if len(finest) > 1 and any(self._is_at_risk(person, cell) for cell in finest):
                yield person

    def _is_at_risk(self, person: int, cell: int) -> bool:
        """Whether p of the part is more than q of what the others who do not attack contribute."""
        others = self.parts.largest_others(cell, frozenset({person}), self.parts.members)
        return self._demand(self.parts, cell, self.parts.listed[cell][person], sum(others)) > 0


def asked_movements(problem: Problem, attacker: NamedAttacker, hidden: Bool) -> AskedMovements:
    """What is asked against insiders of this kind."""
    kind = AskedOfPriorPosterior if attacker.kind == "pq" else AskedOfInsiders
    return kind(problem, attacker, hidden)
