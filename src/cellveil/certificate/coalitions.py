"""The exact check of claims against insiders: is any coalition left against whom no claimed witness holds?

A witness y holds for cell t against coalition C if y moves t the way that is asked and

    |y_k| · D  ≤  |y_t| · room_C(k)        for every cell k that y moves, t included,

with D = D_C(t) and the rooms of `cellveil.certificate.asked_movements`: then y · D / |y_t| is a movement of
the table that keeps all relations and published cells, that C cannot rule out, and that moves t by D. All of
it is in whole numbers. A demand (t, up or down) is shown if for every coalition of at most k members some
claimed witness holds.

There are too many coalitions to try them all, and no need to. Rooms of C in a cell and D_C(t) depend only on
those members who stand in that cell. Let D* be the largest demand of any coalition on t. A cell k that y
moves is **crucial** if it is t itself, or if |y_k| · D* > |y_t| · (the least room that any coalition leaves
to k): no coalition can stop y in other cells. So

1. **if y holds against C, it holds against every larger coalition whose further members have no part in a
   crucial cell of y**; and if nothing is asked against C, nothing is asked against a larger one whose further
   members have no part in t;
2. **if y holds against C, it holds against C and one contributor b more who has no part in t, shares no
   crucial cell with C, and whose own rooms alone are large enough for D_C(t)**: each crucial cell has the
   room of C or that of b.

Hence the search: begin with the empty coalition; for the coalition at hand find a claim that holds against
it; go on with all coalitions of one member more that has a part in a crucial cell of that claim's witness,
but for those of k members that 2. shows. If every coalition that is visited has its claim, so has every
other: let C be one that has not, and B a largest visited part of it. B has a claim that holds (or nothing is
asked), which is not so for C. By 1. C has a member b beside those of B with a part in a crucial cell of that
claim. B with b was not visited, as B is a largest one; so 2. shows it, and it has k members and is C: a
contradiction.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

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
        self._farthest: dict[tuple[int, int, Coalition], int | None] = {}
        self._open: dict[int, int | None] = {}
        self._crucial: dict[int, dict[int, list[int]]] = {}
        self._stopping: dict[tuple[int, int], set[int]] = {}

    def answer(self) -> _DemandProof:
        """Visit coalitions until one is left over, or all have their claim."""
        seen: set[Coalition] = {NOBODY}
        stack, used, is_asked = [NOBODY], set(), False
        while stack:
            who = stack.pop()
            amount, further = self._amount(who), set(self._parts.people(self._cell))
            if amount > 0:
                is_asked = True
                claim = next((claim for claim in self._claims if self._holds(claim, who, amount)), None)
                if claim is None:
                    return _DemandProof(True, False)
                used.add(claim.number)
                further = self._further(claim, who, amount)
            if len(who) < self._parts.members:
                larger = {who | {person} for person in further - who} - seen
                stack += larger
                seen |= larger
        return _DemandProof(is_asked, True, frozenset(used))

    def _amount(self, who: Coalition) -> int:
        """How far the cell must move: members without a part in it make no difference."""
        here = who.intersection(self._parts.listed[self._cell])
        if here not in self._amounts:
            self._amounts[here] = self._asked.amount(self._cell, self._up, here)
        return self._amounts[here]

    @cached_property
    def _most(self) -> int:
        """The largest demand of any coalition."""
        people, members = self._parts.listed[self._cell], self._parts.members
        every = (some for size in range(members + 1) for some in combinations(people, size))
        return max(self._amount(frozenset(some)) for some in every)

    def _reach(self, claim: _Claim) -> int | None:
        """How far the cell gets for somebody without a part in the others; None without limit."""
        if claim.number not in self._open:
            open_room = self._asked.open_room
            limits = (
                _times(claim, cell, open_room(cell, claim.sign * step > 0))
                for cell, step in claim.moved.items()
                if cell != self._cell
            )
            self._open[claim.number] = min((limit for limit in limits if limit is not None), default=None)
        return self._open[claim.number]

    def _people(self, claim: _Claim) -> dict[int, list[int]]:
        """Everybody with a part in a crucial cell, and these cells."""
        if claim.number not in self._crucial:
            found: dict[int, list[int]] = {}
            for cell, step in claim.moved.items():
                room = self._asked.least_room(cell, claim.sign * step > 0)
                if cell == self._cell or not _reaches(_times(claim, cell, room), self._most):
                    for person in self._parts.people(cell):
                        found.setdefault(person, []).append(cell)
            self._crucial[claim.number] = found
        return self._crucial[claim.number]

    def _holds(self, claim: _Claim, who: Coalition, amount: int) -> bool:
        """Whether the claimed movement, so many times that the cell moves by the amount, is possible."""
        if not _reaches(self._reach(claim), amount):
            return False
        crucial = self._people(claim)
        cells = {self._cell, *(cell for person in who for cell in crucial.get(person, ()))}
        return all(_reaches(self._far(claim, cell, who), amount) for cell in cells)

    def _further(self, claim: _Claim, who: Coalition, amount: int) -> set[int]:
        """Who is tried as one member more: everybody in a crucial cell, but whom 2. of the head spares."""
        crucial = self._people(claim)
        if len(who) + 1 < self._parts.members:
            return set(crucial)
        shared = {cell for person in who for cell in crucial.get(person, ())} | {self._cell}
        return self._alone(claim, amount).union(*(self._parts.people(cell) for cell in shared))

    def _alone(self, claim: _Claim, amount: int) -> set[int]:
        """Those whose own rooms alone are too small for the claimed movement; worked out once."""
        key = claim.number, amount
        if key not in self._stopping:
            self._stopping[key] = {
                person
                for person, cells in self._people(claim).items()
                if not all(_reaches(self._far(claim, cell, frozenset({person})), amount) for cell in cells)
            }
        return self._stopping[key]

    def _far(self, claim: _Claim, cell: int, who: Coalition) -> int | None:
        """How far one cell lets the claimed movement go for a coalition; None without limit."""
        key = claim.number, cell, who & self._parts.people(cell)
        if key not in self._farthest:
            rises = claim.sign * claim.moved[cell] > 0
            room = self._asked.room(cell, rises, key[2], cell == self._cell)
            self._farthest[key] = _times(claim, cell, room)
        return self._farthest[key]


def _times(claim: _Claim, cell: int, room: int | None) -> int | None:
    """How far the cell in question moves while one of the others uses up its room, rounded down."""
    return None if room is None else room * claim.step // abs(claim.moved[cell])


def _reaches(farthest: int | None, amount: int) -> bool:
    return farthest is None or farthest >= amount
