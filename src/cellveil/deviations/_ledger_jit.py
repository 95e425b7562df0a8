"""Loops of the book of witnesses: take in, find the users of a cell, publish, roll back.

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
"""Places in `BookArrays.counts`."""

HIDDEN, PUBLISHED, UP, DOWN = range(4)
"""Kinds of changes in the trail: a cell was hidden, published; its witness in a direction was changed."""


@dataclass(frozen=True, eq=False)
class BookArrays(Arrays):
    """All arrays of a book; those over witnesses, entries and the trail have room at their end."""

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
def is_open(book: BookArrays, cell: Number, up: bool) -> bool:
    """Whether a demand has no witness."""
    if up:
        return bool(book.need_up[cell] > 0 and book.witness_up[cell] < 0)
    return bool(book.need_down[cell] > 0 and book.witness_down[cell] < 0)


@inner
def note(book: BookArrays, kind: Number, cell: Number, before: Number) -> None:
    """Write one change into the trail."""
    place = book.counts[TRAIL]
    book.trail[place, 0] = kind
    book.trail[place, 1] = cell
    book.trail[place, 2] = before
    book.counts[TRAIL] = place + 1


@outer
def hide(book: BookArrays, cell: Number) -> None:
    """Hide a cell, if it is not hidden yet."""
    if not book.hidden[cell]:
        book.hidden[cell] = True
        if not book.is_free[cell]:
            book.cost[0] += book.weight[cell]
        note(book, HIDDEN, cell, 0)


@inner
def fits(book: BookArrays, cells: Int32, numerators: Int, denominator: Number, sign: Number) -> bool:
    """Whether the deviation, or its reversal (sign −1), stays within the capacities."""
    for i in range(len(cells)):
        moved = sign * numerators[i]
        if -(-moved // denominator) > book.room_up[cells[i]]:
            return False
        if -(moved // denominator) > book.room_down[cells[i]]:
            return False
    return True


@inner
def settle(
    book: BookArrays, cells: Int32, numerators: Int, denominator: Number, sign: Number, number: Number
) -> Number:
    """Give the open demands that the deviation meets to a witness; with number −1 only count them."""
    met = 0
    for i in range(len(cells)):
        cell, moved = cells[i], sign * numerators[i]
        if moved > 0:
            need, witness, kind = book.need_up[cell], book.witness_up, UP
        else:
            need, witness, kind = book.need_down[cell], book.witness_down, DOWN
        if need > 0 and witness[cell] < 0 and abs(moved) // denominator >= need:
            met += 1
            if number >= 0:
                note(book, kind, cell, -1)
                witness[cell] = number
                book.meets[number] += 1
                book.counts[OPEN] -= 1
    return met


@inner
def add(
    book: BookArrays, cells: Int32, numerators: Int, denominator: Number, hiding: bool | np.bool_
) -> Number:
    """Take in a deviation if it meets an open demand, as it stands or reversed; return how many it meets.

    The arrays must have room: one witness, the entries, and three changes per entry.
    """
    for i in range(len(cells)):
        if not book.movable[cells[i]] or not (hiding or book.hidden[cells[i]]):
            return 0
    forward = fits(book, cells, numerators, denominator, 1)
    backward = fits(book, cells, numerators, denominator, -1)
    met: Number = 0
    if forward:
        met += settle(book, cells, numerators, denominator, 1, -1)
    if backward:
        met += settle(book, cells, numerators, denominator, -1, -1)
    if met == 0:
        return 0
    number, entry = book.counts[WITNESSES], book.counts[ENTRIES]
    for i in range(len(cells)):
        cell = cells[i]
        hide(book, cell)
        book.cells[entry] = cell
        book.numerators[entry] = numerators[i]
        book.owner[entry] = number
        book.following[entry] = book.head[cell]
        book.head[cell] = entry
        entry += 1
    book.denominators[number] = denominator
    book.meets[number] = 0
    book.starts[number + 1] = entry
    book.counts[WITNESSES], book.counts[ENTRIES] = number + 1, entry
    if forward:
        settle(book, cells, numerators, denominator, 1, number)
    if backward:
        settle(book, cells, numerators, denominator, -1, number)
    return met


@outer
def add_all(
    book: BookArrays, starts: Int, cells: Int32, numerators: Int, denominators: Int, hiding: bool | np.bool_
) -> Number:
    """Take in many, one after the other; return how many demands they meet."""
    met: Number = 0
    for w in range(len(denominators)):
        begin, end = starts[w], starts[w + 1]
        met += add(book, cells[begin:end], numerators[begin:end], denominators[w], hiding)
    return met


@outer
def num_users(book: BookArrays, cell: Number) -> Number:
    """How many witnesses move the cell and meet a demand."""
    found, entry = 0, book.head[cell]
    while entry >= 0:
        if book.meets[book.owner[entry]] > 0:
            found += 1
        entry = book.following[entry]
    return found


@outer
def users(book: BookArrays, cell: Number, numbers: Int) -> None:
    """Write the witnesses that move the cell and meet a demand, the latest first."""
    found, entry = 0, book.head[cell]
    while entry >= 0:
        if book.meets[book.owner[entry]] > 0:
            numbers[found] = book.owner[entry]
            found += 1
        entry = book.following[entry]


@outer
def num_met(book: BookArrays, numbers: Int) -> Number:
    """How many demands some witnesses meet."""
    met = 0
    for number in numbers:
        met += book.meets[number]
    return met


@outer
def publish(book: BookArrays, cell: Number, using: Int, cells: Int, up: Bool) -> Number:
    """Publish a cell and reopen the demands that the witnesses `using` it meet; write these demands.

    The trail must have room for one change and for the demands. Returns how many there are.
    """
    book.hidden[cell] = False
    book.cost[0] -= book.weight[cell]
    note(book, PUBLISHED, cell, 0)
    opened = 0
    for number in using:
        for entry in range(book.starts[number], book.starts[number + 1]):
            moved = book.cells[entry]
            if book.need_up[moved] > 0 and book.witness_up[moved] == number:
                note(book, UP, moved, number)
                book.witness_up[moved] = -1
                cells[opened], up[opened] = moved, True
                opened += 1
            if book.need_down[moved] > 0 and book.witness_down[moved] == number:
                note(book, DOWN, moved, number)
                book.witness_down[moved] = -1
                cells[opened], up[opened] = moved, False
                opened += 1
        book.meets[number] = 0
    book.counts[OPEN] += opened
    return opened


@outer
def roll_back(book: BookArrays, trail: Number, witnesses: Number) -> None:
    """Undo the changes after a place of the trail, and cut off all witnesses from a number on."""
    for place in range(book.counts[TRAIL] - 1, trail - 1, -1):
        kind, cell, before = book.trail[place, 0], book.trail[place, 1], book.trail[place, 2]
        if kind == HIDDEN:
            book.hidden[cell] = False
        elif kind == PUBLISHED:
            book.hidden[cell] = True
        else:
            witness = book.witness_up if kind == UP else book.witness_down
            if witness[cell] >= 0:
                book.meets[witness[cell]] -= 1
                book.counts[OPEN] += 1
            if before >= 0:
                book.meets[before] += 1
                book.counts[OPEN] -= 1
            witness[cell] = before
    for entry in range(book.counts[ENTRIES] - 1, book.starts[witnesses] - 1, -1):
        book.head[book.cells[entry]] = book.following[entry]
    book.counts[TRAIL], book.counts[WITNESSES] = trail, witnesses
    book.counts[ENTRIES] = book.starts[witnesses]


@outer
def compact(book: BookArrays) -> None:
    """Drop witnesses that meet nothing, in place, and forget the trail."""
    book.head[:] = -1
    new_number = np.empty(book.counts[WITNESSES], dtype=np.int64)
    new_number[:] = -1
    kept, entry = 0, 0
    for number in range(book.counts[WITNESSES]):
        if book.meets[number] == 0:
            continue
        begin, end = book.starts[number], book.starts[number + 1]
        for old in range(begin, end):
            cell = book.cells[old]
            book.cells[entry] = cell
            book.numerators[entry] = book.numerators[old]
            book.owner[entry] = kept
            book.following[entry] = book.head[cell]
            book.head[cell] = entry
            entry += 1
        book.denominators[kept] = book.denominators[number]
        book.meets[kept] = book.meets[number]
        new_number[number] = kept
        kept += 1
        book.starts[kept] = entry
    for cell in range(len(book.hidden)):
        if book.witness_up[cell] >= 0:
            book.witness_up[cell] = new_number[book.witness_up[cell]]
        if book.witness_down[cell] >= 0:
            book.witness_down[cell] = new_number[book.witness_down[cell]]
    book.counts[WITNESSES], book.counts[ENTRIES], book.counts[TRAIL] = kept, entry, 0
