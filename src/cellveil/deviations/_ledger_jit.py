"""Loops of the ledger of witnesses: take in, find the users of a cell, publish, roll back.

Numbers of witnesses grow as they are stored. The entries that move a cell are chained: ``head[cell]`` is the
latest, ``following[entry]`` the one before it. Every change of a cell is noted in the trail as (kind, cell,
what was there before), so that undoing the trail backwards and cutting off the latest witnesses brings back
an earlier state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.jit.compiled import inner, outer
from cellveil.jit.kinds import Arrays, Bool, Float, Int, Int32, IntTable, Number

WITNESSES, ENTRIES, TRAIL, OPEN = 0, 1, 2, 3
"""Places in `LedgerArrays.counts`."""

HIDDEN, PUBLISHED, UP, DOWN = range(4)
"""Kinds of changes in the trail: a cell was hidden, published; its witness in a direction was changed."""


@dataclass(frozen=True, eq=False)
class LedgerArrays(Arrays):
    """All arrays of a ledger; those over witnesses, entries and the trail have room at their end."""

    hidden: Bool
    movable: Bool
    is_free: Bool
    weight: Float
    need_up: Int
    need_down: Int
    room_up: Int
    room_down: Int
    witness_up: Int32
    witness_down: Int32
    head: Int32
    starts: Int
    denominators: Int
    meets: Int32
    cells: Int32
    numerators: Int
    following: Int32
    owner: Int32
    trail: IntTable
    counts: Int
    cost: Float


@inner
def is_open(ledger: LedgerArrays, cell: Number, up: bool) -> bool:
    """Whether a demand has no witness."""
    if up:
        return bool(ledger.need_up[cell] > 0 and ledger.witness_up[cell] < 0)
    return bool(ledger.need_down[cell] > 0 and ledger.witness_down[cell] < 0)


@inner
def asked(ledger: LedgerArrays, cell: Number, up: bool) -> Number:
    """How far a cell must be able to move."""
    amount: Number = ledger.need_up[cell] if up else ledger.need_down[cell]
    return amount


@outer
def has_room(ledger: LedgerArrays, witnesses: Number, entries: Number) -> bool:
    """Whether so many more fit in; an entry can hide a cell and meet its demands in both directions."""
    return bool(
        ledger.counts[WITNESSES] + witnesses <= len(ledger.denominators)
        and ledger.counts[ENTRIES] + entries <= len(ledger.cells)
        and ledger.counts[TRAIL] + 3 * entries <= len(ledger.trail)
    )


@inner
def note(ledger: LedgerArrays, kind: Number, cell: Number, before: Number) -> None:
    """Write one change into the trail."""
    place = ledger.counts[TRAIL]
    ledger.trail[place, 0] = kind
    ledger.trail[place, 1] = cell
    ledger.trail[place, 2] = before
    ledger.counts[TRAIL] = place + 1


@outer
def hide(ledger: LedgerArrays, cell: Number) -> None:
    """Hide a cell, if it is not hidden yet."""
    if not ledger.hidden[cell]:
        ledger.hidden[cell] = True
        if not ledger.is_free[cell]:
            ledger.cost[0] += ledger.weight[cell]
        note(ledger, HIDDEN, cell, 0)


@inner
def fits(ledger: LedgerArrays, cells: Int32, numerators: Int, denominator: Number, sign: Number) -> bool:
    """Whether the deviation, or its reversal (sign −1), stays within the capacities."""
    for i in range(len(cells)):
        moved = sign * numerators[i]
        if -(-moved // denominator) > ledger.room_up[cells[i]]:
            return False
        if -(moved // denominator) > ledger.room_down[cells[i]]:
            return False
    return True


@inner
def settle(
    ledger: LedgerArrays, cells: Int32, numerators: Int, denominator: Number, sign: Number, number: Number
) -> Number:
    """Give the open demands that the deviation meets to a witness; with number −1 only count them."""
    met = 0
    for i in range(len(cells)):
        cell, moved = cells[i], sign * numerators[i]
        if moved > 0:
            need, witness, kind = ledger.need_up[cell], ledger.witness_up, UP
        else:
            need, witness, kind = ledger.need_down[cell], ledger.witness_down, DOWN
        if need > 0 and witness[cell] < 0 and abs(moved) // denominator >= need:
            met += 1
            if number >= 0:
                note(ledger, kind, cell, -1)
                witness[cell] = number
                ledger.meets[number] += 1
                ledger.counts[OPEN] -= 1
    return met


@inner
def add(
    ledger: LedgerArrays, cells: Int32, numerators: Int, denominator: Number, hiding: bool | np.bool_
) -> Number:
    """Take in a deviation if it meets an open demand, as it stands or reversed; return how many it meets.

    The arrays must have room: one witness, the entries, and three changes per entry.
    """
    for i in range(len(cells)):
        if not ledger.movable[cells[i]] or not (hiding or ledger.hidden[cells[i]]):
            return 0
    forward = fits(ledger, cells, numerators, denominator, 1)
    backward = fits(ledger, cells, numerators, denominator, -1)
    met: Number = 0
    if forward:
        met += settle(ledger, cells, numerators, denominator, 1, -1)
    if backward:
        met += settle(ledger, cells, numerators, denominator, -1, -1)
    if met == 0:
        return 0
    number, entry = ledger.counts[WITNESSES], ledger.counts[ENTRIES]
    for i in range(len(cells)):
        cell = cells[i]
        hide(ledger, cell)
        ledger.cells[entry] = cell
        ledger.numerators[entry] = numerators[i]
        ledger.owner[entry] = number
        ledger.following[entry] = ledger.head[cell]
        ledger.head[cell] = entry
        entry += 1
    ledger.denominators[number] = denominator
    ledger.meets[number] = 0
    ledger.starts[number + 1] = entry
    ledger.counts[WITNESSES], ledger.counts[ENTRIES] = number + 1, entry
    if forward:
        settle(ledger, cells, numerators, denominator, 1, number)
    if backward:
        settle(ledger, cells, numerators, denominator, -1, number)
    return met


@outer
def add_all(
    ledger: LedgerArrays,
    starts: Int,
    cells: Int32,
    numerators: Int,
    denominators: Int,
    hiding: bool | np.bool_,
) -> Number:
    """Take in many, one after the other; return how many demands they meet."""
    met: Number = 0
    for w in range(len(denominators)):
        begin, end = starts[w], starts[w + 1]
        met += add(ledger, cells[begin:end], numerators[begin:end], denominators[w], hiding)
    return met


@outer
def publish(ledger: LedgerArrays, cell: Number) -> Number:
    """Publish a cell and reopen the demands whose witness moves it; return how many, the trail tells which.

    The trail must have room for one change and for the demands.
    """
    ledger.hidden[cell] = False
    ledger.cost[0] -= ledger.weight[cell]
    note(ledger, PUBLISHED, cell, 0)
    opened, user = 0, ledger.head[cell]
    while user >= 0:
        number = ledger.owner[user]
        user = ledger.following[user]
        if ledger.meets[number] == 0:
            continue
        for entry in range(ledger.starts[number], ledger.starts[number + 1]):
            moved = ledger.cells[entry]
            if ledger.need_up[moved] > 0 and ledger.witness_up[moved] == number:
                note(ledger, UP, moved, number)
                ledger.witness_up[moved] = -1
                opened += 1
            if ledger.need_down[moved] > 0 and ledger.witness_down[moved] == number:
                note(ledger, DOWN, moved, number)
                ledger.witness_down[moved] = -1
                opened += 1
        ledger.meets[number] = 0
    ledger.counts[OPEN] += opened
    return opened


@outer
def roll_back(ledger: LedgerArrays, trail: Number, witnesses: Number, cost: float) -> None:
    """Undo the changes after a place of the trail, and cut off all witnesses from a number on."""
    for place in range(ledger.counts[TRAIL] - 1, trail - 1, -1):
        kind, cell, before = ledger.trail[place, 0], ledger.trail[place, 1], ledger.trail[place, 2]
        if kind == HIDDEN:
            ledger.hidden[cell] = False
        elif kind == PUBLISHED:
            ledger.hidden[cell] = True
        else:
            witness = ledger.witness_up if kind == UP else ledger.witness_down
            if witness[cell] >= 0:
                ledger.meets[witness[cell]] -= 1
                ledger.counts[OPEN] += 1
            if before >= 0:
                ledger.meets[before] += 1
                ledger.counts[OPEN] -= 1
            witness[cell] = before
    for entry in range(ledger.counts[ENTRIES] - 1, ledger.starts[witnesses] - 1, -1):
        ledger.head[ledger.cells[entry]] = ledger.following[entry]
    ledger.counts[TRAIL], ledger.counts[WITNESSES] = trail, witnesses
    ledger.counts[ENTRIES] = ledger.starts[witnesses]
    ledger.cost[0] = cost


@outer
def compact(ledger: LedgerArrays) -> None:
    """Drop witnesses that meet nothing, in place, and forget the trail."""
    ledger.head[:] = -1
    new_number = np.empty(ledger.counts[WITNESSES], dtype=np.int64)
    new_number[:] = -1
    kept, entry = 0, 0
    for number in range(ledger.counts[WITNESSES]):
        if ledger.meets[number] == 0:
            continue
        begin, end = ledger.starts[number], ledger.starts[number + 1]
        for old in range(begin, end):
            cell = ledger.cells[old]
            ledger.cells[entry] = cell
            ledger.numerators[entry] = ledger.numerators[old]
            ledger.owner[entry] = kept
            ledger.following[entry] = ledger.head[cell]
            ledger.head[cell] = entry
            entry += 1
        ledger.denominators[kept] = ledger.denominators[number]
        ledger.meets[kept] = ledger.meets[number]
        new_number[number] = kept
        kept += 1
        ledger.starts[kept] = entry
    for cell in range(len(ledger.hidden)):
        if ledger.witness_up[cell] >= 0:
            ledger.witness_up[cell] = new_number[ledger.witness_up[cell]]
        if ledger.witness_down[cell] >= 0:
            ledger.witness_down[cell] = new_number[ledger.witness_down[cell]]
    ledger.counts[WITNESSES], ledger.counts[ENTRIES], ledger.counts[TRAIL] = kept, entry, 0
