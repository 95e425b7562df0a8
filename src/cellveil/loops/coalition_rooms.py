"""Loops over coalitions of insiders: what is asked against them, and how much room they leave to cells.

Contributors are rows of `Standing`; coalitions are arrays of such rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from cellveil.loops.library import Arrays, Bool, Int, IntTable, loop

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


@loop
def narrow(
    standing: Standing, starts: Int, people: Int, members: int, target: int, rooms: IntTable, cells: Int
) -> int:
    """How far cells can fall and rise as far as all of some coalitions can tell; return how many cells."""


@loop
def narrow_by_all(standing: Standing, asked: AskedAmounts, limits: Int, rooms: IntTable, cells: Int) -> int:
    """The cells in which people of the target stand, and how far they can move for all within limits."""
