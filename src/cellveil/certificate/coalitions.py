"""The exact check of claims against insiders: is any coalition left against whom no claimed witness holds?

A witness y holds for cell t against coalition C if y moves t the way that is asked and

    |y_k| · D  ≤  |y_t| · room_C(k)        for every cell k that y moves, t included,

with D = D_C(t) and the rooms of `cellveil.certificate.asked_movements`: then y · D / |y_t| is a movement of
the table that keeps all relations and published cells, that C cannot rule out, and that moves t by D. All of
it is in whole numbers. A demand (t, up or down) is shown if for every coalition of at most k members some
claimed witness holds.

There are too many coalitions to try them all, and no need to. Rooms of C in a cell and D_C(t) depend only on
those members who stand in that cell, and y moves t itself. So **if y holds against C, it holds against every
larger coalition whose further members have no part in a cell that y moves**; and if nothing is asked against
C, nothing is asked against a larger one whose further members have no part in t. Hence the search: begin with
the empty coalition; for the coalition at hand find a claim that holds against it; go on with all coalitions
of one member more that has a part in a cell of that claim's witness. If every coalition that is visited has
its claim, so has every other: let C be one that has not, and B a largest visited part of it. B has a claim
that holds (or nothing is asked), which is not so for C, so C has a member beside those of B with a part in
the cells of that claim, and B with that member was visited too: a contradiction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from cellveil.arrays import Bool
from cellveil.certificate.asked_movements import AskedMovements, AskedOfPriorPosterior, asked_movements
from cellveil.certificate.certificate import Certificate
from cellveil.certificate.known_parts import NOBODY, Coalition
from cellveil.certificate.named_attacker import NamedAttacker
from cellveil.problem import Problem

Movements = dict[int, int]
"""How far each cell moves, in any unit: only proportions matter."""


@dataclass(frozen=True, eq=False)
class CoalitionProof:
    """What claims show against the insiders of one attacker.

    Parameters
    ----------
    cells
        The cells that must be protected from them.
    shown
        Those of them that were shown protected.
    demands, met
        How many movements are asked of them, and how many were shown.
    used
        Numbers of the claims that were needed.
    at_risk
        How many contributors need a proof about what they have in several cells together, which certificates
        do not hold.
    """

    cells: tuple[int, ...]
    shown: frozenset[int]
    demands: int
    met: int
    used: frozenset[int] = frozenset()
    at_risk: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether everything that is asked was shown."""
        return len(self.shown) == len(self.cells) and not self.at_risk


def wrong_claims(certificate: Certificate) -> list[str]:
    """What is wrong with the claims as such, in words; the witnesses were checked before."""
    claims, witnesses = certificate.claims, _witnesses(certificate)
    if not all(0 <= number < len(certificate) for number in claims.witnesses.tolist()):
        return ["a claim names a witness that is not there"]
    if not {*claims.up.tolist(), *claims.signs.tolist()} <= {1, -1}:
        return ["a claim has a direction or a sign that is neither 1 nor −1"]
    listed = (claims.cells, claims.witnesses, claims.up, claims.signs)
    for cell, number, up, sign in zip(*(column.tolist() for column in listed), strict=True):
        if up * sign * witnesses[number].get(cell, 0) <= 0:
            return ["the witness of a claim does not move the cell the way that is claimed"]
    return []


def check_claims(
    problem: Problem, hidden: Bool, attacker: NamedAttacker, certificate: Certificate
) -> CoalitionProof:
    """Put every demand of the insiders to the claims of a certificate.

    Raises
    ------
    InputError
        When the instance does not say what these insiders contribute.
    """
    claims, witnesses = certificate.claims, _witnesses(certificate)
    by_demand: dict[tuple[int, bool], list[_Claim]] = {}
    listed = (claims.cells, claims.witnesses, claims.up, claims.signs)
    for number, (cell, witness, up, sign) in enumerate(
        zip(*(column.tolist() for column in listed), strict=True)
    ):
        claim = _Claim(number, cell, witnesses[witness], sign)
        by_demand.setdefault((cell, up > 0), []).append(claim)
    asked = asked_movements(problem, attacker, hidden)
    used: set[int] = set()
    shown, demands, met, senses = set(), 0, 0, asked.senses()
    for cell in asked.cells:
        is_shown = bool(hidden[cell])
        for up in senses if is_shown else ():
            answer = _Demand(asked, cell, up, by_demand.get((cell, up), [])).answer()
            demands += answer.is_asked
            met += answer.is_asked and answer.is_shown
            used |= answer.used
            is_shown &= answer.is_shown
        if is_shown:
            shown.add(cell)
    risk = len(list(asked.at_risk())) if isinstance(asked, AskedOfPriorPosterior) else 0
    return CoalitionProof(tuple(asked.cells), frozenset(shown), demands, met, frozenset(used), risk)


def _witnesses(certificate: Certificate) -> dict[int, Movements]:
    """The movements of the witnesses that claims name."""
    cells, numerators, starts = certificate.cells, certificate.numerators, certificate.starts
    found = {}
    for number in set(certificate.claims.witnesses.tolist()) & set(range(len(certificate))):
        part = slice(int(starts[number]), int(starts[number + 1]))
        moved = zip(cells[part].tolist(), numerators[part].tolist(), strict=True)
        found[number] = {cell: step for cell, step in moved if step}
    return found


@dataclass(frozen=True, eq=False)
class _Claim:
    """A claimed movement: the witness, as it stands (sign 1) or reversed (−1)."""

    number: int
    cell: int
    moved: Movements
    sign: int

    @cached_property
    def step(self) -> int:
        """How far the cell moves."""
        return abs(self.moved[self.cell])


@dataclass(frozen=True)
class _DemandProof:
    """Whether anything is asked of a cell, whether that was shown, and by which claims."""

    is_asked: bool
    is_shown: bool
    used: frozenset[int] = frozenset()


class _Demand:
    """One cell that must rise, or fall, against every coalition; see the head of the module."""

    def __init__(self, asked: AskedMovements, cell: int, up: bool, claims: list[_Claim]) -> None:
        self._asked, self._parts = asked, asked.parts
        self._cell, self._up, self._claims = cell, up, claims
        self._amounts: dict[Coalition, int] = {}
        self._farthest: dict[int, int | None] = {}

    def answer(self) -> _DemandProof:
        """Visit coalitions until one is left over, or all have their claim."""
        seen: set[Coalition] = {NOBODY}
        stack, used, is_asked = [NOBODY], set(), False
        while stack:
            who = stack.pop()
            amount, cells = self._amount(who), [self._cell]
            if amount > 0:
                is_asked = True
                claim = next((claim for claim in self._claims if self._holds(claim, who, amount)), None)
                if claim is None:
                    return _DemandProof(True, False)
                used.add(claim.number)
                cells = list(claim.moved)
            if len(who) < self._parts.members:
                larger = self._one_more(who, cells) - seen
                stack += larger
                seen |= larger
        return _DemandProof(is_asked, True, frozenset(used))

    def _one_more(self, who: Coalition, cells: Iterable[int]) -> set[Coalition]:
        """The coalitions with one member more that has a part in one of the cells."""
        further: set[int] = set()
        for cell in cells:
            further.update(self._parts.people(cell))
        return {who | {person} for person in further - who}

    def _amount(self, who: Coalition) -> int:
        """How far the cell must move: members without a part in it make no difference."""
        here = who.intersection(self._parts.listed[self._cell])
        if here not in self._amounts:
            self._amounts[here] = self._asked.amount(self._cell, self._up, here)
        return self._amounts[here]

    def _holds(self, claim: _Claim, who: Coalition, amount: int) -> bool:
        """Whether the claimed movement, so many times that the cell moves by the amount, is possible."""
        farthest = self._reach(claim)
        if farthest is not None and farthest < amount:
            return False
        places = {cell for person in who for cell in self._parts.places_of(person)}
        return all(self._fits(claim, cell, who, amount) for cell in places if cell in claim.moved)

    def _reach(self, claim: _Claim) -> int | None:
        """How far the cell gets for somebody without a part in any cell, rounded down; None without limit."""
        if claim.number not in self._farthest:
            sign, room_of, least = claim.sign, self._asked.open_room, self._room(claim, claim.cell, NOBODY)
            for cell, step in claim.moved.items():
                room = room_of(cell, sign * step > 0) if cell != claim.cell else None
                if room is not None and (least is None or room * claim.step < least * abs(step)):
                    least = room * claim.step // abs(step)
            self._farthest[claim.number] = least
        return self._farthest[claim.number]

    def _fits(self, claim: _Claim, cell: int, who: Coalition, amount: int) -> bool:
        room = self._room(claim, cell, who)
        return room is None or abs(claim.moved[cell]) * amount <= claim.step * room

    def _room(self, claim: _Claim, cell: int, who: Coalition) -> int | None:
        return self._asked.room(cell, claim.sign * claim.moved[cell] > 0, who, cell == claim.cell)
