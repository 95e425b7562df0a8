"""Loops over coalitions of insiders: what is asked against them, and how much room they leave to cells.

Contributors are rows of `Standing`; coalitions are arrays of such rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.jit.compiled import inner, outer
from cellveil.jit.kinds import Arrays, Bool, Int, IntTable, Number
from cellveil.tables.scaled import UNBOUNDED

MEMBERS = 0
"""Place in limits: how many attack together."""

ABOVE, AT_MOST, INSIDE = 1, 2, 3
"""Places in the limits of `narrow_by_all`, after the members: amounts, and members in the target at most."""


@dataclass(frozen=True, eq=False)
class Standing(Arrays):
    """Who stands in which cell with which part, and how far cells can move as far as everybody knows.

    The people of a cell stand in ``starts[cell]:starts[cell + 1]``, ``listed[cell]`` of them listed, then
    stand-ins. ``more`` are those who are not listed; each has ``unlisted`` at most, and a coalition counts
    with that in cells that ``are_vague``. The cells of a contributor are in compressed rows as well.
    """

    starts: Int
    people: Int
    parts: Int
    listed: Int
    more: Int
    unlisted: Int
    are_vague: Bool
    values: Int
    down: Int
    up: Int
    floor: Bool
    ceiling: Bool
    place_starts: Int
    places: Int


@dataclass(frozen=True, eq=False)
class AskedAmounts(Arrays):
    """Demands: the target, and what is asked for each set of members who are listed in it.

    Sets of fewer members come first, those of as many in colexicographic order.
    """

    targets: Int
    starts: Int
    amounts: Int


@inner
def choose(number: Number, size: Number) -> Number:
    """How many sets of a size there are among so many."""
    found: Number = 1
    for i in range(size):
        found = found * (number - i) // (i + 1)
    return found


@inner
def is_member(person: Number, who: Int, size: Number) -> bool:
    """Whether somebody is among the first so many."""
    place: Number = 0
    while place < size and who[place] != person:
        place += 1
    return bool(place < size)


@inner
def own_part(
    standing: Standing, cell: Number, who: Int, size: Number, is_target: bool
) -> tuple[Number, Number]:
    """What a coalition has in a cell, and how many of it are listed; stand-ins count not in the target."""
    own: Number = 0
    here: Number = 0
    first = standing.starts[cell]
    for place in range(first, standing.starts[cell + 1]):
        if not is_member(standing.people[place], who, size):
            continue
        if place < first + standing.listed[cell]:
            here += 1
            own += standing.parts[place]
        elif not is_target:
            own += standing.parts[place]
    return own, here


@inner
def room_of(
    standing: Standing,
    cell: Number,
    rises: bool,
    own: Number,
    here: Number,
    members: Number,
    is_target: bool,
) -> Number:
    """How far a cell can move for a coalition with such a part of it, so many members listed there."""
    if not is_target and here > 0 and here == standing.listed[cell] and standing.more[cell] == 0:
        return 0
    limit: Number = standing.up[cell] if rises else standing.down[cell]
    if not (standing.ceiling[cell] if rises else standing.floor[cell]):
        return limit
    known = own
    if standing.are_vague[cell] and not is_target:
        known += min(standing.more[cell], members - here) * standing.unlisted[cell]
    left: Number = -known - standing.values[cell] if rises else standing.values[cell] - known
    return min(limit, max(left, 0))


@inner
def amount_for(standing: Standing, asked: AskedAmounts, demand: Number, who: Int, size: Number) -> Number:
    """What is asked against a coalition: only its members in the target make a difference."""
    cell = asked.targets[demand]
    first, listed = standing.starts[cell], standing.listed[cell]
    here: Number = 0
    rank: Number = 0
    for place in range(listed):
        if is_member(standing.people[first + place], who, size):
            here += 1
            rank += choose(place, here)
    for fewer in range(here):
        rank += choose(listed, fewer)
    amount: Number = asked.amounts[asked.starts[demand] + rank]
    return amount


@outer
def narrow(
    standing: Standing, starts: Int, people: Int, members: Number, target: Number, rooms: IntTable, cells: Int
) -> Number:
    """How far cells can fall and rise as far as all of some coalitions can tell; return how many cells.

    The coalitions are given in compressed rows. ``rooms`` has rows for falls, rises, and whether a cell was
    met, which must be 0 everywhere, and is so again in the end.
    """
    count: Number = 0
    for group in range(len(starts) - 1):
        who = people[starts[group] : starts[group + 1]]
        for one in who:
            for place in range(standing.place_starts[one], standing.place_starts[one + 1]):
                cell = standing.places[place]
                is_target = bool(cell == target)
                own, here = own_part(standing, cell, who, len(who), is_target)
                if rooms[2, cell] == 0:
                    rooms[0, cell], rooms[1, cell], rooms[2, cell] = UNBOUNDED, UNBOUNDED, 1
                    cells[count] = cell
                    count += 1
                fall = room_of(standing, cell, False, own, here, members, is_target)
                rise = room_of(standing, cell, True, own, here, members, is_target)
                rooms[0, cell], rooms[1, cell] = min(rooms[0, cell], fall), min(rooms[1, cell], rise)
    for i in range(count):
        rooms[2, cells[i]] = 0
    return count


@inner
def can_be_asked(standing: Standing, asked: AskedAmounts, limits: Int, who: Int, size: Number) -> bool:
    """Whether what is asked against a coalition is within limits, or with more members from the target."""
    first = standing.starts[asked.targets[0]]
    last, inside = first + standing.listed[asked.targets[0]], 0
    for place in range(first, last):
        inside += 1 if is_member(standing.people[place], who, size) else 0
    if inside > limits[INSIDE]:
        return False
    amount = amount_for(standing, asked, 0, who, size)
    if limits[ABOVE] < amount and amount <= limits[AT_MOST]:
        return True
    if size < limits[MEMBERS]:
        for place in range(first, last):
            if not is_member(standing.people[place], who, size):
                who[size] = standing.people[place]
                if can_be_asked(standing, asked, limits, who, size + 1):
                    return True
    return False


@inner
def narrow_by_sets(
    standing: Standing,
    asked: AskedAmounts,
    limits: Int,
    who: Int,
    size: Number,
    first: Number,
    cell: Number,
    rooms: IntTable,
) -> None:
    """Narrow the room of a cell by all sets of its people, from some place on, with those chosen so far."""
    members = limits[MEMBERS]
    for place in range(first, standing.starts[cell + 1]):
        who[size] = standing.people[place]
        for i in range(size + 1):
            who[members + i] = who[i]
        if can_be_asked(standing, asked, limits, who[members:], size + 1):
            own, here = own_part(standing, cell, who, size + 1, False)
            fall = room_of(standing, cell, False, own, here, members, False)
            rise = room_of(standing, cell, True, own, here, members, False)
            rooms[0, cell], rooms[1, cell] = min(rooms[0, cell], fall), min(rooms[1, cell], rise)
        if size + 1 < members:
            narrow_by_sets(standing, asked, limits, who, size + 1, place + 1, cell, rooms)


@outer
def narrow_by_all(
    standing: Standing, asked: AskedAmounts, limits: Int, rooms: IntTable, cells: Int
) -> Number:
    """The cells in which people of the target stand, and how far they can move for all within limits.

    The first demand is meant. ``rooms`` and ``cells`` as in `narrow`; begin with what nobody knows.
    """
    target = asked.targets[0]
    who = np.zeros(2 * limits[MEMBERS], dtype=np.int64)
    count: Number = 0
    for person in range(standing.starts[target], standing.starts[target] + standing.listed[target]):
        one = standing.people[person]
        for place in range(standing.place_starts[one], standing.place_starts[one + 1]):
            cell = standing.places[place]
            if rooms[2, cell] == 0 and cell != target:
                rooms[2, cell] = 1
                cells[count] = cell
                count += 1
                narrow_by_sets(standing, asked, limits, who, 0, standing.starts[cell], cell, rooms)
    for i in range(count):
        rooms[2, cells[i]] = 0
    return count
