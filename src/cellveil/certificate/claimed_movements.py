"""The claimed movements of a certificate, read all at once: how far each gets, and where it may be stopped.

A claim names a cell t and a witness y that moves it. While y is taken so many times that a cell k uses up a
room R, the cell t moves by ⌊R · |y_t| / |y_k|⌋. Of every claim three things are worked out from that:

- its **reach**: how far t gets within the rooms of somebody without a part in the other cells;
- its **crucial** cells: t itself, and every k that some coalition might stop before t has moved by D*, the
  largest demand of any coalition on t;
- who stops it **alone**: those whose own rooms in the crucial cells other than t end it before that, and how
  far t gets for each of them.

All of it is in whole numbers: of 64 bits where no product can pass them, else without limit. Claims whose
witness does not move the cell the way that is claimed are passed over: they show nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.certificate.asked_movements import AskedMovements
from cellveil.certificate.certificate import Certificate, ClaimList
from cellveil.tables.scaled import LARGEST

ROWS_AT_ONCE = 1_000_000
"""Moved cells that are looked at together: a matter of memory."""

Exact = Any
"""An array of whole numbers: of 64 bits, or, where these might not do, of Python's own."""


@dataclass(frozen=True, eq=False)
class ClaimedMovement:
    """One claim, ready to be put to coalitions.

    Parameters
    ----------
    number
        Of the claim.
    cell
        The cell that must move.
    crucial
        How far the claimed movement moves its crucial cells, `cell` among them; in any unit.
    alone
        How far the cell gets for somebody who stops the movement alone, the cell's own room aside.
    reach
        How far the cell gets for somebody without a part in the others; None without limit.
    """

    number: int
    cell: int
    crucial: dict[int, int]
    alone: dict[int, int]
    reach: int | None

    def far(self, cell: int, room: int | None) -> int | None:
        """How far the cell in question moves while a crucial one uses up its room; None without limit."""
        return None if room is None else room * abs(self.crucial[self.cell]) // abs(self.crucial[cell])


@dataclass(frozen=True, eq=False)
class _Rows:
    """The cells that some claims move: which claim, which cell, and how far in the sense of the claim."""

    owner: Int
    cells: Int
    moved: Int
    is_target: Bool

    @classmethod
    def of(cls, certificate: Certificate, some: Int) -> _Rows:
        """Of the claims with these numbers."""
        claims, starts = certificate.claims, certificate.starts
        witnesses = claims.witnesses[some]
        lengths = np.diff(starts)[witnesses]
        owner = np.repeat(np.arange(len(some)), lengths)
        before = np.cumsum(lengths) - lengths
        entry = np.arange(len(owner)) + (starts[:-1][witnesses] - before)[owner]
        cells, moved = certificate.cells[entry].astype(np.int64), certificate.numerators[entry]
        moves = moved != 0
        owner, cells, moved = owner[moves], cells[moves], moved[moves]
        signed = moved * claims.signs[some][owner]
        return cls(owner, cells, signed, cells == claims.cells[some][owner])

    def steps(self, number: int) -> Int:
        """How far each of so many claims moves its own cell."""
        steps = np.zeros(number, dtype=np.int64)
        steps[self.owner[self.is_target]] = self.moved[self.is_target]
        return steps


def move_as_claimed(certificate: Certificate) -> Bool:
    """Claim by claim whether the witness moves the cell the way that is claimed."""
    claims = certificate.claims
    found = [np.zeros(0, dtype=bool)]
    for some in _in_parts(certificate, np.arange(len(claims))):
        found.append(_Rows.of(certificate, some).steps(len(some)) * claims.up[some] > 0)
    return np.concatenate(found)


def claimed_movements(
    certificate: Certificate, asked: AskedMovements, most: Mapping[tuple[int, bool], int]
) -> dict[tuple[int, bool], list[ClaimedMovement]]:
    """The claims for some demands (cell, up or down), for each of which `most` has the largest amount D*."""
    claims, found = certificate.claims, {demand: list[ClaimedMovement]() for demand in most}
    demands = _demands(claims)
    named = np.array([demand in found for demand in demands], dtype=bool)
    reading = _Reading(certificate, asked)
    for some in _in_parts(certificate, np.flatnonzero(named & move_as_claimed(certificate))):
        largest = _exact([most[demands[number]] for number in some.tolist()])
        for claim in reading.read(some, largest):
            found[demands[claim.number]].append(claim)
    return found


def _demands(claims: ClaimList) -> list[tuple[int, bool]]:
    return list(zip(claims.cells.tolist(), (claims.up > 0).tolist(), strict=True))


def _in_parts(certificate: Certificate, some: Int) -> list[Int]:
    """Claims by number, in parts that are not too many at once; none of them is empty."""
    rows = np.cumsum(np.diff(certificate.starts)[certificate.claims.witnesses[some]])
    borders = np.flatnonzero(np.diff(rows // ROWS_AT_ONCE)) + 1
    return [part for part in np.split(some, borders) if len(part)]


class _Reading:
    """Reads claims, with the rooms that anybody, a single one, and the worst coalition leave to cells."""

    def __init__(self, certificate: Certificate, asked: AskedMovements) -> None:
        cells = np.flatnonzero(asked.hidden).tolist()
        self._certificate = certificate
        self._open = _Rooms([asked.open_room(cell, up) for up in (False, True) for cell in cells])
        self._least = _Rooms([asked.least_room(cell, up) for up in (False, True) for cell in cells])
        people = [sorted(asked.parts.people(cell)) for cell in cells]
        pairs = [(cell, who) for cell, here in zip(cells, people, strict=True) for who in here]
        self._own = _Rooms([asked.lone_room(cell, up, who) for up in (False, True) for cell, who in pairs])
        self._people = np.array([who for here in people for who in here], dtype=np.int64)
        self._ends = np.cumsum([len(here) for here in people], dtype=np.int64)
        self._place = np.cumsum(asked.hidden) - 1

    def read(self, some: Int, most: Exact) -> list[ClaimedMovement]:
        """Claims by number, with the largest amount that is asked of the cell of each."""
        rows = _Rows.of(self._certificate, some)
        steps, most = np.abs(rows.steps(len(some))), most[rows.owner]
        others = np.flatnonzero(~rows.is_target)
        place = self._place[rows.cells[others]]
        limited, far = self._open.far(rows, steps, others, place)
        reaches: list[int | None] = [None] * len(some)
        for claim, least in zip(*_least(rows.owner[others[limited]], far), strict=True):
            reaches[claim] = least
        limited, far = self._least.far(rows, steps, others, place)
        tight = others[limited[_is_less(far, most[others[limited]])]]
        crucial: list[dict[int, int]] = [{} for _ in range(len(some))]
        shown = np.sort(np.concatenate([np.flatnonzero(rows.is_target), tight]))
        for claim, cell, moved in _listed(rows.owner[shown], rows.cells[shown], rows.moved[shown]):
            crucial[claim][cell] = moved
        alone: list[dict[int, int]] = [{} for _ in range(len(some))]
        for claim, person, so_far in _listed(*self._stopped(rows, steps, tight, most)):
            alone[claim][person] = min(so_far, alone[claim].get(person, so_far))
        cells = self._certificate.claims.cells[some].tolist()
        return list(map(ClaimedMovement, some.tolist(), cells, crucial, alone, reaches))

    def _stopped(self, rows: _Rows, steps: Int, tight: Int, most: Exact) -> tuple[Int, Int, Exact]:
        """Claim by claim who stops it alone in one of the tight rows, and how far its cell gets then."""
        place = self._place[rows.cells[tight]]
        lengths = np.diff(self._ends, prepend=0)[place]
        before = np.cumsum(lengths) - lengths
        entry = np.arange(lengths.sum()) + np.repeat(self._ends[place] - lengths - before, lengths)
        each = np.repeat(tight, lengths)
        limited, far = self._own.far(rows, steps, each, entry)
        is_less = _is_less(far, most[each[limited]])
        stopped = limited[is_less]
        return rows.owner[each[stopped]], self._people[entry[stopped]], far[is_less]


class _Rooms:
    """Rooms as arrays: those of falling, then, in the same order, those of rising."""

    def __init__(self, rooms: list[int | None]) -> None:
        self._is_limited = np.array([room is not None for room in rooms], dtype=bool).reshape(2, -1)
        self._amount = _exact([room or 0 for room in rooms]).reshape(2, -1)

    def far(self, rows: _Rows, steps: Int, chosen: Int, place: Int) -> tuple[Int, Exact]:
        """How far rows let the cells of their claims move within rooms, by their places.

        As positions among the chosen rows: of those that have a limit.
        """
        rises = (rows.moved[chosen] > 0).astype(np.int64)
        limited = np.flatnonzero(self._is_limited[rises, place])
        room, row = self._amount[rises[limited], place[limited]], chosen[limited]
        return limited, _quotients(room, steps[rows.owner[row]], np.abs(rows.moved[row]))


def _listed(*columns: Exact) -> Iterator[tuple[Any, ...]]:
    """Rows of Python's own numbers."""
    return zip(*(column.tolist() for column in columns), strict=True)


def _is_less(these: Exact, those: Exact) -> Bool:
    return np.asarray(these < those, dtype=bool)


def _quotients(room: Exact, step: Exact, moved: Exact) -> Exact:
    """⌊room · step / moved⌋ in whole numbers."""
    if room.dtype == object or int(np.abs(room).max(initial=0)) * int(step.max(initial=0)) >= LARGEST:
        room, step, moved = room.astype(object), step.astype(object), moved.astype(object)
    return room * step // moved


def _least(owner: Int, far: Exact) -> tuple[list[int], list[int]]:
    """The claims that have rows, and the least of the rows of each."""
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    return owner[first].tolist(), np.minimum.reduceat(far, first).tolist() if len(first) else []


def _exact(numbers: list[int]) -> Exact:
    """Whole numbers as an array: of 64 bits where all of them fit."""
    return np.array(numbers, dtype=np.int64 if all(abs(one) < LARGEST for one in numbers) else object)
