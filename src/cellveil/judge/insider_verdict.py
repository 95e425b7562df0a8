"""The verdict on one primary cell: whether every insider is kept off it, and who comes closest.

Few linear programs are needed, since one deviation keeps off everybody whose own part it leaves untouched:
first one against all insiders at once; where that fails, one against nobody in particular, then one for each
insider, or coalition, in whose way all deviations so far stand; until nobody is left, or one is found against
whom no deviation exists.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from cellveil.attackers.coalition_families import CoalitionFamilies
from cellveil.attackers.insiders import ENOUGH, Insiders, SelfKnowing
from cellveil.attackers.own_parts import EVERYBODY, NOBODY
from cellveil.deviations.movement import Movement
from cellveil.deviations.witness import Witness
from cellveil.problem import Status

Shares = dict[int, Fraction]

KNOWS_AS_MUCH = "everybody who knows as much as the second largest contributor of the cell"


@dataclass(frozen=True)
class CellVerdict:
    """On one cell: whether it was shown protected, and who comes closest, how close."""

    safe: bool
    closest: str
    reach: float


SHOWN = CellVerdict(True, "", 1.0)
"""On a cell for which claims were enough."""


def judged_cell(insiders: Insiders, movement: Movement, cell: int) -> CellVerdict:
    """Whether the cell was shown protected against every insider, and who comes closest."""
    closest = CellVerdict(True, "", float(ENOUGH))
    for up, amount in insiders.demands(cell):
        verdict = _judged_one_way(insiders, movement, cell, up, amount)
        closest = min(closest, verdict, key=lambda v: (v.safe, v.reach))
        if not verdict.safe:
            break
    return closest


def _judged_one_way(insiders: Insiders, movement: Movement, cell: int, up: bool, amount: int) -> CellVerdict:
    """The same for one direction; `amount` is enough against everybody."""
    rooms = insiders.rooms(EVERYBODY, cell)
    witness = movement.find(cell, amount, rooms, up=up)
    if insiders.coalition > 1 and witness is not None:
        return SHOWN
    if isinstance(insiders, SelfKnowing) and insiders.together is not None:
        return _judged_together(insiders, insiders.together, movement, cell, up)
    if insiders.coalition > 1:
        name = f"a coalition of {insiders.coalition}"
        return CellVerdict(False, name, movement.share(cell, amount, rooms, up))
    if witness is None:
        rooms = insiders.rooms(NOBODY, cell)
        witness = movement.find(cell, amount, rooms, up=up)
    if witness is None:
        return _open_to_all(insiders, movement, cell, up, amount)
    shown = insiders.shown(witness, cell, up)
    while left := [attacker for attacker, share in shown.items() if share < 1]:
        attacker = min(left, key=lambda a: (shown[a], a))
        needed, rooms = insiders.demand(cell, up, attacker), insiders.rooms(attacker, cell)
        witness = movement.find(cell, needed, rooms, up=up)
        if witness is not None:
            shown = _better(shown, insiders.shown(witness, cell, up))
        if shown[attacker] < 1:
            return CellVerdict(False, _name(insiders, attacker), movement.share(cell, needed, rooms, up))
    closest = min(shown, key=lambda a: (shown[a], a < 0, a), default=NOBODY)
    return CellVerdict(True, _name(insiders, closest), float(shown.get(closest, ENOUGH)))


def _judged_together(
    insiders: SelfKnowing, families: CoalitionFamilies, movement: Movement, cell: int, up: bool
) -> CellVerdict:
    """The same against coalitions, one by one: a deviation for each against whom none so far holds."""
    found: list[Witness] = []
    tried = set()
    while len(left := families.left_by(found, cell, up)):
        attacker = int(left[0])
        needed, rooms = insiders.demand(cell, up, attacker), insiders.rooms(attacker, cell)
        witness = None if attacker in tried else movement.find(cell, needed, rooms, up=up)
        if witness is None:
            share = movement.share(cell, needed, rooms, up)
            return CellVerdict(False, families.coalitions.name(attacker), share)
        tried.add(attacker)
        found.append(witness)
    return SHOWN


def told_cell(insiders: Insiders, cell: int) -> CellVerdict:
    """On a cell that is published, and must not be."""
    if insiders.problem.status[cell] == Status.PRIMARY:
        return CellVerdict(False, "everybody", 0.0)
    second = int(insiders.parts.who[cell, 1]) if insiders.parts.who.shape[1] > 1 else -1
    return CellVerdict(False, insiders.parts.name(second) if second >= 0 else KNOWS_AS_MUCH, 0.0)


def _better(shown: Shares, further: Shares) -> Shares:
    """The larger share of each attacker; whoever is listed in no cell of a witness has that of NOBODY."""
    base, more = shown.get(NOBODY, Fraction(ENOUGH)), further.get(NOBODY, Fraction(ENOUGH))
    return {a: max(shown.get(a, base), further.get(a, more)) for a in shown.keys() | further.keys()}


def _open_to_all(insiders: Insiders, movement: Movement, cell: int, up: bool, amount: int) -> CellVerdict:
    """Where even somebody without a part elsewhere gets through: the second largest contributor does."""
    listed = insiders.parts.who[cell]
    second = int(listed[1]) if len(listed) > 1 else -1
    is_known = second >= 0 and insiders.demand(cell, up, second) == amount
    rooms = insiders.rooms(second if is_known else NOBODY, cell)
    name = insiders.parts.name(second) if is_known else KNOWS_AS_MUCH
    return CellVerdict(False, name, movement.share(cell, amount, rooms, up))


def _name(insiders: Insiders, attacker: int) -> str:
    return "anybody" if attacker == NOBODY else insiders.parts.name(attacker)
