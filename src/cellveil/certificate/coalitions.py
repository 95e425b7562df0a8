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
from cellveil.certificate.claimed_movements import ClaimedMovement, claimed_movements, move_as_claimed
from cellveil.certificate.known_parts import NOBODY, Coalition
from cellveil.certificate.named_attacker import NamedAttacker
from cellveil.problem import Problem


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
    claims = certificate.claims
    if ((claims.witnesses < 0) | (claims.witnesses >= len(certificate))).any():
        return ["a claim names a witness that is not there"]
    if not {*claims.up.tolist(), *claims.signs.tolist()} <= {1, -1}:
        return ["a claim has a direction or a sign that is neither 1 nor −1"]
    if not move_as_claimed(certificate).all():
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
    asked = asked_movements(problem, attacker, hidden)
    cells = [cell for cell in asked.cells if hidden[cell]]
    demands = {(cell, up): _Demand(asked, cell, up) for cell in cells for up in asked.senses()}
    claimed = zip(certificate.claims.cells.tolist(), (certificate.claims.up > 0).tolist(), strict=True)
    most = {key: demands[key].most for key in set(claimed) & demands.keys()}
    claims = claimed_movements(certificate, asked, most)
    answers = {key: demands.pop(key).answer(claims.pop(key, [])) for key in list(demands)}
    shown = set(cells) - {cell for (cell, _), answer in answers.items() if not answer.is_shown}
    risk = len(list(asked.at_risk())) if isinstance(asked, AskedOfPriorPosterior) else 0
    return CoalitionProof(
        tuple(asked.cells),
        frozenset(shown),
        sum(answer.is_asked for answer in answers.values()),
        sum(answer.is_asked and answer.is_shown for answer in answers.values()),
        frozenset().union(*(answer.used for answer in answers.values())),
        risk,
    )


@dataclass(frozen=True)
class _DemandProof:
    """Whether anything is asked of a cell, whether that was shown, and by which claims."""

    is_asked: bool
    is_shown: bool
    used: frozenset[int] = frozenset()


class _Demand:
    """One cell that must rise, or fall, against every coalition; see the head of the module."""

    def __init__(self, asked: AskedMovements, cell: int, up: bool) -> None:
        self._asked, self._parts, self._cell, self._up = asked, asked.parts, cell, up
        self._amounts: dict[Coalition, int] = {}
        self._farthest: dict[tuple[int, int, Coalition], int | None] = {}
        self._crucial: dict[int, dict[int, list[int]]] = {}

    def answer(self, claims: list[ClaimedMovement]) -> _DemandProof:
        """Visit coalitions until one is left over, or all have their claim."""
        seen: set[Coalition] = {NOBODY}
        stack, used, is_asked = [NOBODY], set(), False
        while stack:
            who = stack.pop()
            amount, further = self._amount(who), set(self._parts.people(self._cell))
            if amount > 0:
                is_asked = True
                claim = next((claim for claim in claims if self._holds(claim, who, amount)), None)
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
    def most(self) -> int:
        """The largest demand of any coalition."""
        people, members = self._parts.listed[self._cell], self._parts.members
        every = (some for size in range(members + 1) for some in combinations(people, size))
        return max(self._amount(frozenset(some)) for some in every)

    def _people(self, claim: ClaimedMovement) -> dict[int, list[int]]:
        """Everybody with a part in a crucial cell, and these cells."""
        if claim.number not in self._crucial:
            found: dict[int, list[int]] = {}
            for cell in claim.crucial:
                for person in self._parts.people(cell):
                    found.setdefault(person, []).append(cell)
            self._crucial[claim.number] = found
        return self._crucial[claim.number]

    def _holds(self, claim: ClaimedMovement, who: Coalition, amount: int) -> bool:
        """Whether the claimed movement, so many times that the cell moves by the amount, is possible.

        For each member alone, in the cell itself, and where several of them meet.
        """
        return (
            _reaches(claim.reach, amount)
            and all(_reaches(claim.alone.get(person), amount) for person in who)
            and _reaches(self._far(claim, self._cell, who), amount)
            and all(_reaches(self._far(claim, cell, who), amount) for cell in self._meeting(claim, who))
        )

    def _meeting(self, claim: ClaimedMovement, who: Coalition) -> set[int]:
        """The crucial cells in which several of these have a part."""
        if len(who) < 2:
            return set()
        crucial = self._people(claim)
        listed = [cell for person in who for cell in crucial.get(person, ())]
        return {cell for cell in listed if listed.count(cell) > 1}

    def _further(self, claim: ClaimedMovement, who: Coalition, amount: int) -> set[int]:
        """Who is tried as one member more: everybody in a crucial cell, but whom 2. of the head spares."""
        if len(who) + 1 < self._parts.members:
            return set(self._people(claim))
        crucial = self._people(claim) if who else {}
        shared = {self._cell, *(cell for person in who for cell in crucial.get(person, ()))}
        alone = {person for person, far in claim.alone.items() if far < amount}
        return alone.union(*(self._parts.people(cell) for cell in shared))

    def _far(self, claim: ClaimedMovement, cell: int, who: Coalition) -> int | None:
        """How far one cell lets the claimed movement go for a coalition; None without limit."""
        key = claim.number, cell, who & self._parts.people(cell)
        if key not in self._farthest:
            room = self._asked.room(cell, claim.crucial[cell] > 0, key[2], cell == self._cell)
            self._farthest[key] = claim.far(cell, room)
        return self._farthest[key]


def _reaches(farthest: int | None, amount: int) -> bool:
    return farthest is None or farthest >= amount
