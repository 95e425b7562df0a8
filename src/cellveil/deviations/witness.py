"""Exact deviations, and the witnesses among them.

A *deviation* y has M y = 0, is 0 on published cells and stays within −down ≤ y ≤ up on hidden ones: value + y
is another table that agrees with everything published. As the cells are whole numbers of the last digit, y is
kept as whole numbers over one common denominator, and everything here is exact.

Deviations form a convex set around 0, so one may be scaled down at will, and scaled up until it meets a
capacity. A *witness* is a deviation that is kept because it shows that some cell can move as far as it must.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.certificate.certificate import Certificate
from cellveil.problem import Problem
from cellveil.tables.scaled import UNBOUNDED

LARGEST_NUMERATOR = 2**62

CHUNK = 100_000
"""So many witnesses are checked at a time, which bounds the memory."""


@dataclass(frozen=True, eq=False)
class Witness:
    """y = numerators / denominator on `cells` (ascending), 0 elsewhere."""

    cells: Int
    numerators: Int
    denominator: int

    def reversed(self) -> Witness:
        """The deviation −y; whether it is one depends on the capacities."""
        return Witness(self.cells, -self.numerators, self.denominator)


@dataclass(frozen=True, eq=False)
class Witnesses:
    """Many deviations in compressed rows: number w has the entries ``starts[w]:starts[w + 1]``.

    Cells ascend within each; nobody has checked anything yet.
    """

    starts: Int
    cells: Int
    numerators: Int
    denominators: Int

    def __len__(self) -> int:
        return len(self.denominators)

    def __iter__(self) -> Iterator[Witness]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, number: int) -> Witness:
        part = slice(self.starts[number], self.starts[number + 1])
        return Witness(self.cells[part], self.numerators[part], int(self.denominators[number]))

    @classmethod
    def of(cls, witnesses: Sequence[Witness]) -> Witnesses:
        """Collect single ones."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(
            np.concatenate([[0], np.cumsum([len(w.cells) for w in witnesses])]).astype(np.int64),
            np.concatenate([nothing, *(w.cells for w in witnesses)]),
            np.concatenate([nothing, *(w.numerators for w in witnesses)]),
            np.array([w.denominator for w in witnesses], dtype=np.int64),
        )

    @classmethod
    def proven_by(cls, certificate: Certificate) -> Witnesses:
        """Those of a certificate."""
        cells = certificate.cells.astype(np.int64)
        return cls(certificate.starts, cells, certificate.numerators, certificate.denominators)

    @classmethod
    def joined(cls, parts: Sequence[Witnesses]) -> Witnesses:
        """Several collections, one after the other."""
        if not parts:
            return cls.of([])
        offsets = np.cumsum([0, *(len(part.cells) for part in parts)])
        starts = [part.starts[1:] + offset for part, offset in zip(parts, offsets, strict=False)]
        return cls(
            np.concatenate([[0], *starts]).astype(np.int64),
            np.concatenate([part.cells for part in parts]),
            np.concatenate([part.numerators for part in parts]),
            np.concatenate([part.denominators for part in parts]),
        )

    def are_about(self, num_cells: int) -> bool:
        """Whether the arrays fit together, and name cells that there are."""
        arrays = (self.starts, self.cells, self.numerators, self.denominators)
        if any(not isinstance(array, np.ndarray) or array.dtype.kind != "i" for array in arrays):
            return False
        if any(array.ndim != 1 for array in arrays) or len(self.starts) != len(self.denominators) + 1:
            return False
        is_whole = self.starts[0] == 0 and self.starts[-1] == len(self.cells) == len(self.numerators)
        is_known = not len(self.cells) or (self.cells.min() >= 0 and self.cells.max() < num_cells)
        return bool(is_whole and is_known and (np.diff(self.starts) >= 0).all())

    def take(self, numbers: Int) -> Witnesses:
        """Return those with these numbers."""
        lengths = np.diff(self.starts)[numbers]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        entries = np.repeat(self.starts[:-1][numbers] - starts[:-1], lengths) + np.arange(starts[-1])
        return Witnesses(starts, self.cells[entries], self.numerators[entries], self.denominators[numbers])


def proper(problem: Problem, hidden: Bool, claims: Witnesses) -> Iterator[Witnesses]:
    """Of what somebody claims to be deviations of the hidden cells those that are, part by part."""
    for start in range(0, len(claims), CHUNK):
        part = claims.take(np.arange(start, min(start + CHUNK, len(claims))))
        yield part.take(np.flatnonzero(are_deviations(problem, hidden, part)))


def are_deviations(problem: Problem, hidden: Bool, witnesses: Witnesses) -> Bool:
    """For each witness whether it moves hidden cells only and keeps every relation, exactly.

    Capacities are another matter: a witness may fit as it stands, reversed, scaled down, or not at all.
    """
    cells = witnesses.cells
    owner = np.repeat(np.arange(len(witnesses)), np.diff(witnesses.starts))
    fine = (np.diff(witnesses.starts) > 0) & (witnesses.denominators > 0)
    fine[owner[~hidden[cells]]] = False
    columns = problem.table.relations.columns
    lengths = columns.indptr[cells + 1] - columns.indptr[cells]
    starts = np.cumsum(lengths) - lengths
    places = np.repeat(columns.indptr[cells] - starts, lengths) + np.arange(int(lengths.sum()))
    rows, coefs = columns.rows[places], columns.coefs[places]
    moved, group = np.repeat(witnesses.numerators, lengths), np.repeat(owner, lengths)
    order = np.argsort(group * np.int64(max(len(problem.table.relations), 1)) + rows, kind="stable")
    group, rows, moved, coefs = group[order], rows[order], moved[order], coefs[order]
    if not len(order):
        return fine
    borders = np.flatnonzero(np.r_[True, (np.diff(group) != 0) | (np.diff(rows) != 0)])
    # Two halves, so that sums of products stay within 64 bits.
    low = np.add.reduceat(coefs * (moved & 0x7FFFFFFF), borders)
    high = np.add.reduceat(coefs * (moved >> 31), borders)
    broken = (high + (low >> 31) != 0) | (low & 0x7FFFFFFF != 0)
    fine[group[borders[broken]]] = False
    too_long = int(np.abs(coefs).max()) * int(np.diff(np.r_[borders, len(order)]).max()) >= 2**31
    return fine & (not too_long)


def farthest(witnesses: Witnesses, room_down: Int, room_up: Int) -> tuple[Int, Int]:
    """How far each cell falls and rises in whole units, by witnesses as they stand or reversed."""
    fall, rise = np.zeros_like(room_down), np.zeros_like(room_up)
    owner = np.repeat(np.arange(len(witnesses)), np.diff(witnesses.starts))
    for sign in (1, -1):
        numerators = sign * witnesses.numerators
        fits = _within_rooms(witnesses, numerators, room_down, room_up)[owner]
        moved = numerators[fits] // witnesses.denominators[owner[fits]]
        np.maximum.at(rise, witnesses.cells[fits], moved)
        moved = -numerators[fits] // witnesses.denominators[owner[fits]]
        np.maximum.at(fall, witnesses.cells[fits], moved)
    return fall, rise


def _within_rooms(witnesses: Witnesses, numerators: Int, room_down: Int, room_up: Int) -> Bool:
    """For each witness whether the movements, rounded away from 0, stay within the rooms."""
    owner = np.repeat(np.arange(len(witnesses)), np.diff(witnesses.starts))
    denominator = witnesses.denominators[owner]
    up, down = -(-numerators // denominator), -(numerators // denominator)
    outside = (up > room_up[witnesses.cells]) | (down > room_down[witnesses.cells])
    fits = np.ones(len(witnesses), dtype=bool)
    fits[owner[outside]] = False
    return fits


def movable_multiple(witness: Witness, room_down: Int, room_up: Int) -> int:
    """How many times the deviation fits into the capacities, exactly; 0 if not once."""
    steps = LARGEST_NUMERATOR
    for numerators, room in ((witness.numerators, room_up), (-witness.numerators, room_down)):
        limited = (numerators > 0) & (room < UNBOUNDED)
        if not limited.any():
            continue
        small = room[limited] < LARGEST_NUMERATOR // witness.denominator
        scaled = np.where(small, room[limited], 0) * witness.denominator
        fits = np.where(small, scaled // numerators[limited], LARGEST_NUMERATOR // numerators[limited])
        steps = min(steps, int(fits.min()))
    return steps
