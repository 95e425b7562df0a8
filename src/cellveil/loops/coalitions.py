"""Loops over coalitions of insiders: whom claimed deviations do not keep off.

See `cellveil.attackers.coalition_families` for the search, and why it visits every coalition that matters.
Every comparison is exact, whatever the size of the numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

from cellveil.loops.coalition_rooms import AskedAmounts, Standing
from cellveil.loops.library import Arrays, Bool, Int, IntTable, loop

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


@loop
def visit_all(standing: Standing, claims: ReadClaims, asked: AskedAmounts, visits: Visits) -> int:
    """Visit coalitions for all demands, small ones first; return how many were found open."""
