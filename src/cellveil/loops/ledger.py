"""Loops of the ledger of witnesses: take in, find the users of a cell, publish, roll back.

Numbers of witnesses grow as they are stored. The entries that move a cell are chained: ``head[cell]`` is the
latest, ``following[entry]`` the one before it. Every change of a cell is noted in the trail as (kind, cell,
what was there before), so that undoing the trail backwards and cutting off the latest witnesses brings back
an earlier state.
"""

from __future__ import annotations

from dataclasses import dataclass

from cellveil.loops.library import Arrays, Bool, Float, Int, Int32, IntTable, loop

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


@loop
def has_room(ledger: LedgerArrays, witnesses: int, entries: int) -> bool:
    """Whether so many more fit in; an entry can hide a cell and meet its demands in both directions."""


@loop
def hide(ledger: LedgerArrays, cell: int) -> None:
    """Hide a cell, if it is not hidden yet."""


@loop
def add_all(
    ledger: LedgerArrays, starts: Int, cells: Int32, numerators: Int, denominators: Int, hiding: bool
) -> int:
    """Take in many, one after the other; return how many demands they meet."""


@loop
def publish(ledger: LedgerArrays, cell: int) -> int:
    """Publish a cell and reopen the demands whose witness moves it; return how many."""


@loop
def roll_back(ledger: LedgerArrays, trail: int, witnesses: int, cost: float) -> None:
    """Undo the changes after a place of the trail, and cut off all witnesses from a number on."""


@loop
def compact(ledger: LedgerArrays) -> None:
    """Drop witnesses that meet nothing, in place, and forget the trail."""
