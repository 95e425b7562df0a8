"""Exact deviations, and the ledger of what they show.

A *deviation* y has M y = 0, is 0 on published cells and stays within −down ≤ y ≤ up on hidden ones: value + y
is another table that agrees with everything published. As the cells are whole numbers of the last digit, y is
kept as whole numbers over one common denominator, and everything here is exact.

Deviations form a convex set around 0, so one may be scaled down at will, and scaled up until it meets a
capacity. A *witness* is a deviation that is kept because it shows that some cell can move as far as it must.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.certificate.certificate import Certificate
from cellveil.problem import Problem
from cellveil.tables.scaled import UNBOUNDED

LARGEST_NUMERATOR = 2**62

CHUNK = 100_000
"""So many claimed witnesses are checked at a time."""


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

    def take(self, numbers: Int) -> Witnesses:
        """Return those with these numbers."""
        lengths = np.diff(self.starts)[numbers]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        entries = np.repeat(self.starts[:-1][numbers] - starts[:-1], lengths) + np.arange(starts[-1])
        return Witnesses(starts, self.cells[entries], self.numerators[entries], self.denominators[numbers])


class Ledger:
    """How far each cell was shown to move, and the witnesses that show it.

    Parameters
    ----------
    problem
        Values, bounds and levels.
    hidden
        Which cells are not published.
    whole
        Whether only movements by whole units count, as for an attacker who knows that the cells are counts.

    Attributes
    ----------
    rise, fall
        For each cell the whole part of the largest movement shown, upwards and downwards.
    """

    def __init__(self, problem: Problem, hidden: Bool, *, whole: bool = False) -> None:
        values = problem.table.values
        self.problem, self.whole = problem, whole
        self.room_up = np.where(problem.ub == UNBOUNDED, UNBOUNDED, problem.ub - values)
        self.room_down = np.where(problem.lb == -UNBOUNDED, UNBOUNDED, values - problem.lb)
        self.rise, self.fall = np.zeros_like(values), np.zeros_like(values)
        self._is_open_up = hidden & (problem.upl > 0)
        self._is_open_down = hidden & (problem.lpl > 0)
        self._sliding: dict[int, tuple[Fraction, Fraction]] = {
            int(cell): (Fraction(0), Fraction(0)) for cell in np.flatnonzero(hidden & (problem.spl > 0))
        }
        self.witnesses: list[Witness] = []

    def add(self, witness: Witness) -> None:
        """Take in a deviation and its reversal, each stretched as far as the capacities allow."""
        for candidate in (witness, witness.reversed()):
            stretched = self._stretched(candidate)
            if stretched is not None and self._learns_from(stretched):
                self.witnesses.append(stretched)

    def add_block(self, cells: Int, movements: Int) -> None:
        """Take in many whole deviations at once: row by row the cells, in any order, and their movements.

        They must be deviations within the capacities; rows that meet no open demand are passed over.
        """
        level_up, level_down = self.problem.upl[cells], self.problem.lpl[cells]
        meets = (self._is_open_up[cells] & (movements >= level_up)) | (
            self._is_open_down[cells] & (-movements >= level_down)
        )
        if self._sliding:
            meets |= self.problem.spl[cells] > 0
        rows = np.flatnonzero(meets.any(axis=1))
        np.maximum.at(self.rise, cells[rows], movements[rows])
        np.maximum.at(self.fall, cells[rows], -movements[rows])
        self._is_open_up &= self.rise < self.problem.upl
        self._is_open_down &= self.fall < self.problem.lpl
        order = np.argsort(cells[rows], axis=1)
        cells, movements = (np.take_along_axis(part[rows], order, axis=1) for part in (cells, movements))
        for own, moved in zip(cells, movements, strict=True):
            witness = Witness(own, moved, 1)
            if self._sliding:
                self._learns_width_from(witness)
            self.witnesses.append(witness)

    def add_all(self, witnesses: Witnesses, hidden: Bool) -> None:
        """Take in what somebody claims to be deviations: those that are, and only what meets a demand.

        Each counts as it stands and reversed, where the capacities allow that; nothing is stretched.
        """
        for start in range(0, len(witnesses), CHUNK):
            part = witnesses.take(np.arange(start, min(start + CHUNK, len(witnesses))))
            part = part.take(np.flatnonzero(are_deviations(self.problem, hidden, part)))
            if self._sliding:  # what a sliding level learns is exact and rare: one by one
                for number in range(len(part)):
                    self.add(part[number])
                continue
            self._add_first_to_meet(part)

    def _add_first_to_meet(self, part: Witnesses) -> None:
        owner = np.repeat(np.arange(len(part)), np.diff(part.starts))
        denominator = part.denominators[owner]
        kept = []
        for sign in (1, -1):
            numerators = sign * part.numerators
            fits = _within_rooms(part, numerators, self.room_down, self.room_up)[owner]
            up, down = numerators // denominator, -numerators // denominator
            for is_open, moved, level, shown in (
                (self._is_open_up, up, self.problem.upl, self.rise),
                (self._is_open_down, down, self.problem.lpl, self.fall),
            ):
                cells = part.cells
                meets = np.flatnonzero(fits & is_open[cells] & (moved >= level[cells]))
                met, first = np.unique(cells[meets], return_index=True)
                is_open[met] = False
                shown[met] = np.maximum(shown[met], moved[meets[first]])
                kept.append(owner[meets[first]])
        self.witnesses.extend(part[number] for number in np.unique(np.concatenate(kept)).tolist())

    @property
    def num_open(self) -> int:
        """How many levels were not shown met yet (sliding ones not counted)."""
        return int(self._is_open_up.sum() + self._is_open_down.sum())

    def open_amounts(self, *, up: bool) -> Int:
        """How far each cell must still be shown to move in a direction; 0 where nothing is open."""
        if up:
            return np.where(self._is_open_up, self.problem.upl, 0)
        return np.where(self._is_open_down, self.problem.lpl, 0)

    def shows(self, cell: int, *, up: bool) -> bool:
        """Whether the cell was shown to move as far as its level asks."""
        level, shown = (self.problem.upl, self.rise) if up else (self.problem.lpl, self.fall)
        return bool(shown[cell] >= level[cell])

    def shows_width(self, cell: int) -> bool:
        """Whether the interval of the cell was shown to be as wide as its sliding level asks."""
        if self.problem.spl[cell] == 0:
            return True
        rise, fall = self._sliding.get(cell, (Fraction(0), Fraction(0)))
        return rise + fall >= int(self.problem.spl[cell])

    def _stretched(self, witness: Witness) -> Witness | None:
        """The largest multiple within the capacities that may count; None where there is none."""
        steps = movable_multiple(witness, self.room_down[witness.cells], self.room_up[witness.cells])
        steps = min(steps, LARGEST_NUMERATOR // int(np.abs(witness.numerators).max()))
        if self.whole:
            common = gcd(witness.denominator, *(int(moved) for moved in witness.numerators))
            steps -= steps % (witness.denominator // common)
        if steps < 1:
            return None
        moved = witness.numerators * steps
        if self.whole:
            return Witness(witness.cells, moved // witness.denominator, 1)
        return Witness(witness.cells, moved, witness.denominator)

    def _learns_from(self, witness: Witness) -> bool:
        """Note what the deviation shows; tells whether a demand was met that was open before."""
        cells, moved = witness.cells, whole_part(witness)
        self.rise[cells] = np.maximum(self.rise[cells], moved)
        self.fall[cells] = np.maximum(self.fall[cells], whole_part(witness.reversed()))
        met_up = cells[self._is_open_up[cells] & (self.rise[cells] >= self.problem.upl[cells])]
        met_down = cells[self._is_open_down[cells] & (self.fall[cells] >= self.problem.lpl[cells])]
        self._is_open_up[met_up] = False
        self._is_open_down[met_down] = False
        return bool(len(met_up) or len(met_down)) | self._learns_width_from(witness)

    def _learns_width_from(self, witness: Witness) -> bool:
        learnt = False
        for position, cell in enumerate(witness.cells.tolist()) if self._sliding else ():
            if cell not in self._sliding:
                continue
            rise, fall = self._sliding[cell]
            moved = Fraction(int(witness.numerators[position]), witness.denominator)
            self._sliding[cell] = max(rise, moved), max(fall, -moved)
            learnt |= self._sliding[cell] != (rise, fall)
        return learnt


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


def _within_rooms(witnesses: Witnesses, numerators: Int, room_down: Int, room_up: Int) -> Bool:
    """For each witness whether the movements, rounded away from 0, stay within the rooms."""
    owner = np.repeat(np.arange(len(witnesses)), np.diff(witnesses.starts))
    denominator = witnesses.denominators[owner]
    up, down = -(-numerators // denominator), -(numerators // denominator)
    outside = (up > room_up[witnesses.cells]) | (down > room_down[witnesses.cells])
    fits = np.ones(len(witnesses), dtype=bool)
    fits[owner[outside]] = False
    return fits


def whole_part(witness: Witness) -> Int:
    """The movements rounded down to whole units, exactly."""
    return np.asarray(witness.numerators // witness.denominator)


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
