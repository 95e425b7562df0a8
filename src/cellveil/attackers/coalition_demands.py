"""Coalitions of insiders: several contributors who put their own parts together attack as one.

Coalition C knows own_C(k), the sum of its members' parts, of every cell k. What must be kept from it is what
the rule asks with C in the second largest's place: with x_g the largest part of cell t that is not a
member's, for the p% rule

    D_C(t) = p · x_g − (X − x_g − own_C(t)),

other rules and levels as in `cellveil.attackers.own_demands`; nothing of a cell that C alone makes up. Where
a cell has contributors who are not listed, members who are not listed there count with the smallest part that
is: in the target always, elsewhere only in finest cells, and only where somebody may stand in several. If
everybody stands in one finest cell, stand-ins with that part represent them, as many as attack together.

A coalition has a number, as every insider has: that of its member, NOBODY where there is none, and one beyond
all contributors where there are several.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np

from cellveil.arrays import Int
from cellveil.attackers.own_demands import OwnDemands
from cellveil.attackers.own_parts import NOBODY, UNLISTED
from cellveil.tables.scaled import UNBOUNDED

Coalition = frozenset[int]

EMPTY: Coalition = frozenset()

Formula = tuple[int, int, int, int]
"""Whole coefficients of x_g, of what is known and of X, and the common denominator."""


class Coalitions:
    """Parts, demands and rooms of coalitions; see the head of the module.

    Parameters
    ----------
    members
        How many contributors attack together.
    """

    def __init__(self, own: OwnDemands, members: int) -> None:
        self.own, self.problem, self.parts, self.members = own, own.problem, own.parts, members
        self._listed: dict[int, dict[int, int]] = {}
        self._people: dict[int, Coalition] = {}
        self._amounts: dict[tuple[int, bool, Coalition], int] = {}
        self._named: list[Coalition] = []
        self._numbers: dict[Coalition, int] = {}

    @cached_property
    def are_known(self) -> bool:
        """Whether enough contributors are listed, with ids, to tell coalitions apart."""
        count, depth = self.parts.count, self.parts.who.shape[1]
        return self.parts.is_named and not ((count > depth) & (count <= self.members)).any()

    # -- numbers -------------------------------------------------------------------------------------------

    @cached_property
    def _first(self) -> int:
        return int(self.parts.who.max(initial=0)) + 1

    def number(self, who: Coalition) -> int:
        """The number of a coalition."""
        if len(who) < 2:
            return next(iter(who), NOBODY)
        if who not in self._numbers:
            self._numbers[who] = self._first + len(self._named)
            self._named.append(who)
        return self._numbers[who]

    def of(self, number: int) -> Coalition:
        """The coalition with that number."""
        if number == NOBODY:
            return EMPTY
        return self._named[number - self._first] if number >= self._first else frozenset({number})

    def name(self, number: int) -> str:
        """The members, in words."""
        names = sorted(self.parts.name(one) for one in self.of(number))
        prefix = f"a coalition of {len(names)}: " if len(names) > 1 else ""
        return prefix + " with ".join(names) if names else "anybody"

    # -- parts ---------------------------------------------------------------------------------------------

    def listed(self, cell: int) -> dict[int, int]:
        """Who is listed in a cell, with which part."""
        if cell not in self._listed:
            found: dict[int, int] = {}
            row = zip(self.parts.who[cell].tolist(), self.parts.amount[cell].tolist(), strict=True)
            for one, part in row:
                if one >= 0:
                    found[one] = found.get(one, 0) + part
            self._listed[cell] = found
        return self._listed[cell]

    def people(self, cell: int) -> Coalition:
        """Everybody with a part in the cell, stand-ins included."""
        if cell not in self._people:
            self._people[cell] = frozenset(self.listed(cell)) | self._stand_ins(cell)
        return self._people[cell]

    def is_made_up_by(self, cell: int, who: Coalition) -> bool:
        """Whether the cell has nobody but these contributors."""
        listed = self.listed(cell)
        return 0 < len(listed) == len(who.intersection(listed)) and not self.more[cell]

    @cached_property
    def without_part(self) -> Int:
        """What a coalition of which nobody is listed knows of each cell that is not in question."""
        unlisted = np.minimum(self.more, self.members) * self.parts.unlisted
        return np.where(self.parts.is_sum | self.parts.is_single, 0, unlisted)

    @cached_property
    def more(self) -> Int:
        """How many contributors of each cell are not listed."""
        return np.asarray(np.maximum(self.parts.count - self.parts.who.shape[1], 0))

    def _stand_ins(self, cell: int) -> Coalition:
        """Those who stand for the contributors of a finest cell who are not listed."""
        if not self.parts.is_single or self.parts.is_sum[cell]:
            return EMPTY
        first = UNLISTED - cell * self.members
        return frozenset(first - member for member in range(min(int(self.more[cell]), self.members)))

    def _surely(self, cell: int, who: Coalition) -> int:
        listed = self.listed(cell)
        return sum(listed[one] for one in who if one in listed)

    def _at_most(self, cell: int, who: Coalition) -> int:
        is_here = len(who.intersection(self.listed(cell)))
        unlisted = min(int(self.more[cell]), self.members - is_here) * int(self.parts.unlisted[cell])
        return self._surely(cell, who) + unlisted

    # -- demands -------------------------------------------------------------------------------------------

    def amount(self, cell: int, up: bool, who: Coalition) -> int:
        """How far the cell must move against the coalition; members without a part in it do not count."""
        here = who.intersection(self.listed(cell))
        key = (cell, up, here)
        if key not in self._amounts:
            self._amounts[key] = 0 if self.is_made_up_by(cell, here) else max(self._asked(*key), 0)
        return self._amounts[key]

    def most(self, cell: int, up: bool) -> int:
        """The most that is asked against any coalition."""
        people = self.listed(cell)
        sizes = range(min(self.members, len(people)) + 1)
        every = (frozenset(some) for size in sizes for some in combinations(people, size))
        return max(self.amount(cell, up, who) for who in every)

    def _asked(self, cell: int, up: bool, who: Coalition) -> int:
        problem, surely = self.problem, self._surely(cell, who)
        asked = self._by_rule(cell, up, who)
        if not up:
            return self._cut(cell, asked, surely)
        if self.own.one_signed[1][cell]:
            asked = min(asked, -surely - int(problem.table.values[cell]))
        sliding = int(problem.spl[cell])
        if not sliding:
            return asked
        falls = self._cut(cell, self._by_rule(cell, False, who), self._at_most(cell, who))
        return max(asked, sliding - falls)

    def _cut(self, cell: int, asked: int, own: int) -> int:
        """At most down to what everybody knows, or somebody with this part of its own."""
        least = int(self.problem.lb[cell])
        if least == -UNBOUNDED:
            return asked
        least = max(least, own) if self.own.one_signed[0][cell] else least
        return min(asked, int(self.problem.table.values[cell]) - least)

    def _by_rule(self, cell: int, up: bool, who: Coalition) -> int:
        """What the rules ask, at most the level; the level where no rule speaks for these attackers."""
        level, total = int((self.problem.upl if up else self.problem.lpl)[cell]), int(self.parts.total[cell])
        formulas, has_formula, has_share = self._origins(cell)
        own = self._at_most(cell, who)
        if formulas:
            return min(level, max(self._formula(formula, cell, who, own, up) for formula in formulas))
        is_one_signed = self.own.one_signed[0][cell] or self.own.one_signed[1][cell]
        if has_share and not has_formula and is_one_signed and not self.more[cell] and total > 0:
            return -(-level * max(total - own, 0) // total)
        return level

    def _formula(self, formula: int, cell: int, who: Coalition, own: int, up: bool) -> int:
        """Target · x_g + known · (own + the next ones) − X, times the factor of the level, rounded up."""
        (target, known, whole, common), others = self._coefficients[formula][up], self._others[formula]
        parts = sorted((part for one, part in self.listed(cell).items() if one not in who), reverse=True)
        first, *following = (parts + [int(self.parts.unlisted[cell])] * (others + 1))[: others + 1]
        asked = target * first + known * (own + sum(following)) - whole * int(self.parts.total[cell])
        return -(-asked // common)

    def _origins(self, cell: int) -> tuple[list[int], bool, bool]:
        """The formulas that speak for the attackers; whether there is any; whether there is a share."""
        signs, level = self.own.one_signed, self.parts.level
        formulas, has_formula, has_share = [], False, False
        for number, (origin, marked) in enumerate(self.problem.origins.items()):
            if not marked[cell]:
                continue
            has_share |= origin.target is None
            has_formula |= origin.target is not None
            is_one_signed = bool(signs[0][cell] or signs[1][cell])
            if origin.target is not None and (
                origin.level == level or (level == "holding" and is_one_signed)
            ):
                formulas.append(number)
        return formulas, has_formula, has_share

    @cached_property
    def _others(self) -> list[int]:
        return [origin.others for origin in self.problem.origins]

    @cached_property
    def _coefficients(self) -> list[tuple[Formula, Formula]]:
        """For each origin of levels its coefficients downwards and upwards, in whole numbers."""
        found = []
        for origin in self.problem.origins:
            target = origin.target or Fraction(0)
            found.append(
                (_whole(target, origin.known, origin.lower), _whole(target, origin.known, origin.upper))
            )
        return found


def _whole(target: Fraction, known: Fraction, factor: Fraction) -> Formula:
    common = target.denominator * known.denominator * factor.denominator
    return int(target * factor * common), int(known * factor * common), int(factor * common), common
