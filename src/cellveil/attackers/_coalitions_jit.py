"""Loops over coalitions of insiders: whom claimed deviations do not keep off.

See `cellveil.attackers.coalition_families` for the search, and why it visits every coalition that matters.
Every comparison is exact, whatever the size of the numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

from cellveil.attackers._coalition_rooms_jit import (
    MEMBERS,
    AskedAmounts,
    Standing,
    amount_for,
    own_part,
    room_of,
)
from cellveil.jit.compiled import inner, outer
from cellveil.jit.kinds import Arrays, Bool, Int, IntTable, Number
from cellveil.tables.scaled import UNBOUNDED

MOST_VISITED, MOST_OPEN = 1, 2
"""Places in `Visits.limits`, after the members."""

SERIAL, LISTED, VISITED, HERE, FOUND = range(5)
"""Places in `Visits.counts`: lists of candidates so far; length of the last one; coalitions visited for the
demand; those of them that are open; and open ones of all demands."""


@dataclass(frozen=True, eq=False)
class ReadClaims(Arrays):
    """Claims, those of one demand together: how far each reaches for somebody without a part; tight cells.

    ``row_people`` has the people of all tight cells of a claim by number, ``rows_of`` the tight cell of each.
    ``people`` has them once, those for whom alone the claim reaches least first, ``alone`` how far that is.
    ``uses`` counts the coalitions that each claim was found to keep off.
    """

    starts: Int
    reach: Int
    cells: Int
    rises: Bool
    is_target: Bool
    moved: Int
    step: Int
    entry_starts: Int
    row_people: Int
    rows_of: Int
    people_starts: Int
    people: Int
    alone: Int
    uses: Int


@dataclass(frozen=True, eq=False)
class Visits(Arrays):
    """A coalition in the making, whom to try next, and the coalitions that were found open."""

    who: Int
    tray: IntTable
    is_barred: Bool
    listed_in: Int
    limits: Int
    counts: Int
    open_demands: Int
    open_sizes: Int
    open_people: IntTable


@inner
def is_at_most(a: Number, b: Number, c: Number, d: Number) -> bool:
    """Whether a / b ≤ c / d, for whole numbers from 0 on and b, d above 0: Euclid's algorithm on both."""
    while True:
        one, other = a // b, c // d
        if one != other:
            return bool(one < other)
        a, c = a - one * b, c - other * d
        if a == 0 or c == 0:
            return bool(a == 0)
        a, b, c, d = d, c, b, a


@inner
def first_entry(claims: ReadClaims, claim: Number, person: Number) -> Number:
    """Where somebody's tight cells of a claim begin, or would."""
    low: Number = claims.entry_starts[claim]
    high: Number = claims.entry_starts[claim + 1]
    while low < high:
        middle = (low + high) // 2
        if claims.row_people[middle] < person:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def holds(
    standing: Standing,
    claims: ReadClaims,
    claim: Number,
    who: Int,
    size: Number,
    members: Number,
    amount: Number,
) -> bool:
    """Whether the target moves by the amount within what the coalition cannot rule out."""
    if claims.reach[claim] < amount:
        return False
    for i in range(size):
        entry, end = first_entry(claims, claim, who[i]), claims.entry_starts[claim + 1]
        while entry < end and claims.row_people[entry] == who[i]:
            row = claims.rows_of[entry]
            cell, is_target = claims.cells[row], claims.is_target[row]
            own, here = own_part(standing, cell, who, size, is_target)
            room = room_of(standing, cell, claims.rises[row], own, here, members, is_target)
            if room != UNBOUNDED and not is_at_most(amount, claims.step[row], room, claims.moved[row]):
                return False
            entry += 1
    return True


@inner
def list_person(visits: Visits, person: Number, size: Number, count: Number) -> Number:
    """Add somebody to those who are tried next; return how many these are then."""
    if visits.is_barred[person] or visits.listed_in[person] == visits.counts[SERIAL]:
        return count
    visits.listed_in[person] = visits.counts[SERIAL]
    visits.tray[size, count] = person
    return count + 1


@inner
def list_people(standing: Standing, visits: Visits, cell: Number, size: Number, count: Number) -> Number:
    """Add the people of a cell."""
    for place in range(standing.starts[cell], standing.starts[cell + 1]):
        count = list_person(visits, standing.people[place], size, count)
    return count


@inner
def list_stoppers(
    standing: Standing, claims: ReadClaims, claim: Number, visits: Visits, size: Number, amount: Number
) -> Number:
    """Add whoever may stop a claim as the last member: alone, or in a tight cell with another one.

    Called after the people of the target; returns how many are listed then.
    """
    count: Number = visits.counts[LISTED]
    for place in range(claims.people_starts[claim], claims.people_starts[claim + 1]):
        if claims.alone[place] >= amount:
            break
        count = list_person(visits, claims.people[place], size, count)
    for i in range(size):
        entry = first_entry(claims, claim, visits.who[i])
        while entry < claims.entry_starts[claim + 1] and claims.row_people[entry] == visits.who[i]:
            count = list_people(standing, visits, claims.cells[claims.rows_of[entry]], size, count)
            entry += 1
    return count


@inner
def note_open(visits: Visits, demand: Number, size: Number) -> None:
    """Write down a coalition that is not kept off."""
    place = visits.counts[FOUND]
    visits.open_demands[place], visits.open_sizes[place] = demand, size
    for i in range(size):
        visits.open_people[place, i] = visits.who[i]
    visits.counts[HERE] += 1
    visits.counts[FOUND] += 1


@inner
def visit(
    standing: Standing,
    claims: ReadClaims,
    asked: AskedAmounts,
    visits: Visits,
    demand: Number,
    size: Number,
    largest: Number,
) -> None:
    """Visit a coalition, and all larger ones up to a size that contain nobody who is barred.

    Whoever was tried is barred for those tried after it: coalitions with both were visited with the first.
    """
    visits.counts[VISITED] += 1
    amount, members = amount_for(standing, asked, demand, visits.who, size), visits.limits[MEMBERS]
    found: Number = -1
    if amount > 0:
        for claim in range(claims.starts[demand], claims.starts[demand + 1]):
            if holds(standing, claims, claim, visits.who, size, members, amount):
                found = claim
                break
        if found < 0 or visits.counts[VISITED] > visits.limits[MOST_VISITED]:
            note_open(visits, demand, size)
            return
        claims.uses[found] += 1
    if size == largest:
        return
    visits.counts[SERIAL] += 1
    count = list_people(standing, visits, asked.targets[demand], size, 0)
    if found >= 0 and size + 1 == largest:
        visits.counts[LISTED] = count
        count = list_stoppers(standing, claims, found, visits, size, amount)
    elif found >= 0:
        for place in range(claims.people_starts[found], claims.people_starts[found + 1]):
            count = list_person(visits, claims.people[place], size, count)
    tried = 0
    while tried < count and visits.counts[HERE] < visits.limits[MOST_OPEN]:
        person = visits.tray[size, tried]
        visits.who[size], visits.is_barred[person] = person, True
        visit(standing, claims, asked, visits, demand, size + 1, largest)
        tried += 1
    for i in range(tried):
        visits.is_barred[visits.tray[size, i]] = False


@outer
def visit_all(standing: Standing, claims: ReadClaims, asked: AskedAmounts, visits: Visits) -> Number:
    """Visit coalitions for all demands, small ones first; return how many were found open."""
    for demand in range(len(asked.targets)):
        visits.counts[VISITED], visits.counts[HERE] = 0, 0
        for largest in range(visits.limits[MEMBERS] + 1):
            if visits.counts[HERE] == 0:
                visit(standing, claims, asked, visits, demand, 0, largest)
    found: Number = visits.counts[FOUND]
    return found
