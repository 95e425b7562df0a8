"""Unpicking: what follows from one relation at a time, again and again until nothing changes.

Each hidden cell has an interval, at first what everybody knows of it. In a relation Σ c x = b the intervals
of the other cells bound c x of any one of them; once narrower, it may narrow others through other relations.

Requires a `PublicView`, and nothing else. Ensures: every interval holds each value the cell has in any table
that agrees with the view, so it holds the interval of `cellveil.attack.intervals`, which takes all relations
together. Arithmetic is exact; a bound that is not whole (a coefficient other than ±1) is rounded outwards, so
nothing is claimed that holds for whole numbers only. Does not ensure: the narrowest interval, as Cox's table
shows; nor, in systems whose bounds creep, an end within the rounds allowed: stopping early leaves intervals
that are wider and no less true. A step narrows by a unit of the last digit or more, or there is none.
Cost: a round takes time linear in the hidden cells' entries in the relations that a change has touched.

Reference: section 2.1 of Serpell, Smith, Clark & Staggemeier (2013), after Buzzigoli & Giusti's shuttle.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Int
from cellveil.errors import InputError, check_kind
from cellveil.public_view import PublicView
from cellveil.tables.relations import Relations
from cellveil.tables.scaled import LARGEST, UNBOUNDED

MAX_ROUNDS = 1000
"""Where no limit is given, bounds that still creep after this number of rounds are left as they are."""


@dataclass(frozen=True, repr=False, eq=False)
class Unpicked:
    """What unpicking leaves open.

    Parameters
    ----------
    lower, upper
        The interval of each cell, in units of the last digit; ±UNBOUNDED where nothing is known, the value
        itself where it is published.
    lower_from, upper_from
        Number of the relation that last tightened the bound (the first of several); −1 where none did.
    rounds
        How many rounds narrowed an interval.
    is_complete
        Whether it was seen that no single relation narrows any interval further.
    """

    lower: Int
    upper: Int
    lower_from: Int
    upper_from: Int
    rounds: int
    is_complete: bool

    def __repr__(self) -> str:
        end = "complete" if self.is_complete else "cut short"
        return f"Unpicked({len(self.lower)} cells, {self.rounds} rounds, {end})"

    @property
    def is_point(self) -> Bool:
        """Cells whose value is known exactly, the published ones included."""
        return np.asarray(self.lower == self.upper)


def unpick(view: PublicView, *, rounds: int | None = None) -> Unpicked:
    """Narrow the interval of every hidden cell along single relations.

    Parameters
    ----------
    rounds
        Most rounds of propagation; in a round each relation sees the bounds as they were at its beginning.

    Examples
    --------
    >>> relations = Relations.from_rows(4, [[(0, -1), (1, 1), (2, 1), (3, 1)]])
    >>> nothing, everything = np.zeros(4, dtype=np.int64), np.full(4, UNBOUNDED)
    >>> published = np.array([10, 4, 0, 0])
    >>> view = PublicView(relations, np.array([False, False, True, True]), published, nothing, everything)
    >>> unpick(view).upper
    array([10,  4,  6,  6])
    """
    check_kind(view, PublicView, "the view", "Give PublicView.of(problem, pattern).")
    limit = MAX_ROUNDS if rounds is None else rounds
    hidden = np.flatnonzero(view.hidden)
    state = _State(_System.of(view, hidden), view.lb[hidden], view.ub[hidden])
    while state.rounds < limit and len(state.active):
        state.advance()
    lower, upper = view.published.copy(), view.published.copy()
    lower_from, upper_from = np.full((2, len(view.hidden)), -1, dtype=np.int64)
    upper[hidden], negated = np.split(state.reach, 2)
    lower[hidden] = -negated
    upper_from[hidden], lower_from[hidden] = np.split(state.told_by, 2)
    return Unpicked(lower, upper, lower_from, upper_from, state.rounds, not len(state.active))


def room_for(largest: int) -> type[Any]:
    """The number type in which sums of this size are exact: int64, or else Python's integers.

    Examples
    --------
    >>> room_for(10**9 * 100), room_for(2**61 * 3)
    (<class 'numpy.int64'>, <class 'object'>)
    """
    return np.int64 if largest < LARGEST else object


def largest_of(amounts: NDArray[Any]) -> int:
    """The largest amount, without its sign."""
    return max(int(amounts.max()), -int(amounts.min())) if len(amounts) else 0


@dataclass(frozen=True, repr=False, eq=False)
class RelationPart:
    """The relations that hold chosen cells, restricted to them.

    Parameters
    ----------
    rows
        Their numbers.
    indptr
        Row i of the part holds its entries ``indptr[i]:indptr[i + 1]``.
    cells, coefs
        Cell and coefficient of each entry.
    """

    rows: Int
    indptr: Int
    cells: NDArray[np.int32]
    coefs: Int

    @classmethod
    def of(cls, relations: Relations, chosen: Bool) -> RelationPart:
        """Restrict the relations; coefficients of 0 are no entries."""
        entries = np.flatnonzero(chosen[relations.cells] & (relations.coefs != 0))
        lengths = np.diff(np.searchsorted(entries, relations.indptr))
        rows = np.flatnonzero(lengths)
        indptr = np.concatenate([[0], np.cumsum(lengths[rows])])
        return cls(rows, indptr, relations.cells[entries], relations.coefs[entries])

    @property
    def lengths(self) -> Int:
        """How many chosen cells each row holds."""
        return np.diff(self.indptr)

    def sums(self, terms: NDArray[Any]) -> NDArray[Any]:
        """Add up one amount per entry by row."""
        return np.add.reduceat(terms, self.indptr[:-1]) if len(self.rows) else terms[:0]

    def spread(self, amounts: NDArray[Any]) -> NDArray[Any]:
        """Give each entry its row's amount."""
        return np.repeat(amounts, self.lengths)

    @property
    def heaviest(self) -> int:
        """No row's coefficients add up to more than this, signs aside."""
        return largest_of(self.coefs) * largest_of(self.lengths)


@dataclass(frozen=True, repr=False, eq=False)
class _System:
    """The relations, each read in both directions and restricted to hidden cells, over their *reaches*.

    The reach of hidden cell k is its upper bound, that of its negative (number k + how many there are) is
    minus its lower bound. Either way a row then says the same: for each of its entries,

        weight · reach[told]  ≤  constant + Σ over the row's other entries of weight · reach[seen]

    with weight = |coefficient| (None where all are 1), where what an entry is told is the opposite of what is
    seen of it.
    """

    num_hidden: int
    relation: Int
    constant: NDArray[Any]
    indptr: Int
    seen: NDArray[np.int32]
    told: NDArray[np.int32]
    weight: Int | None
    heaviest: int

    @classmethod
    def of(cls, view: PublicView, hidden: Int) -> _System:
        part = RelationPart.of(view.relations, view.hidden)
        constant = _constants(view, part.rows)
        count = np.int32(len(hidden))
        number = np.zeros(len(view.hidden), dtype=np.int32)
        number[hidden] = np.arange(count, dtype=np.int32)
        cell, weight = number[part.cells], np.abs(part.coefs)
        above, below = cell + (part.coefs < 0) * count, cell + (part.coefs > 0) * count
        return cls(
            len(hidden),
            np.concatenate([part.rows, part.rows]),
            np.concatenate([constant, -constant]),
            np.concatenate([part.indptr, part.indptr[1:] + len(cell)]),
            np.concatenate([below, above]),
            np.concatenate([above, below]),
            None if (weight == 1).all() else np.concatenate([weight, weight]),
            part.heaviest,
        )

    @cached_property
    def largest_constant(self) -> int:
        return largest_of(self.constant)

    @cached_property
    def rows_seeing(self) -> tuple[Int, Int]:
        """The rows that see each reach, in compressed form."""
        from scipy.sparse import csr_matrix

        entries = (np.ones(len(self.seen), dtype=np.int8), self.seen, self.indptr)
        matrix = csr_matrix(entries, shape=(len(self.relation), 2 * self.num_hidden)).tocsc()
        return matrix.indptr, matrix.indices

    def touched(self, places: NDArray[np.integer]) -> Int:
        """Rows that see one of these reaches."""
        indptr, rows = self.rows_seeing
        is_touched = np.zeros(len(self.relation), dtype=bool)
        is_touched[rows[_expand(indptr, places)[2]]] = True
        return np.flatnonzero(is_touched)


def _expand(indptr: NDArray[np.integer], rows: NDArray[np.integer]) -> tuple[Int, Int, Int]:
    """Where each of these rows starts among their entries; per entry, its row's position and its number."""
    first = indptr[rows]
    lengths = indptr[rows + 1] - first
    starts = np.cumsum(lengths) - lengths
    position = np.repeat(np.arange(len(rows)), lengths)
    return starts, position, np.arange(len(position)) + (first - starts)[position]


def _constants(view: PublicView, rows: Int) -> NDArray[Any]:
    """What the hidden cells of each of these relations add up to, exactly."""
    relations = view.relations
    lengths = np.diff(relations.indptr)
    largest = largest_of(view.published) * largest_of(relations.coefs) * largest_of(lengths)
    room = room_for(largest + largest_of(relations.rhs))
    terms = relations.coefs.astype(room, copy=False) * view.published[relations.cells]
    filled = np.flatnonzero(lengths)
    sums = np.zeros(len(relations), dtype=room)
    if len(filled):
        sums[filled] = np.add.reduceat(terms, relations.indptr[filled])
    return np.asarray(relations.rhs[rows] - sums[rows])


class _State:
    """The reaches so far, which relation told them, and the rows that may have more to tell."""

    def __init__(self, system: _System, lower: Int, upper: Int) -> None:
        self.system = system
        self.reach = np.concatenate([upper, -lower])
        self.told_by = np.full(len(self.reach), -1, dtype=np.int64)
        self.active = np.arange(len(system.relation))
        self.rounds = 0
        self._largest = largest_of(self.reach[self.reach != UNBOUNDED])

    def advance(self) -> None:
        """Let every active row tell its cells what it knows; then those that see a change are active."""
        places, found, rows = self._news()
        np.minimum.at(self.reach, places, found)
        best = np.flatnonzero(found == self.reach[places])
        changed = places[best]
        self.told_by[changed] = UNBOUNDED
        np.minimum.at(self.told_by, changed, self.system.relation[rows[best]])  # of equals, the first
        self._largest = max(self._largest, largest_of(found))
        self._check(changed)
        self.rounds += len(places) > 0
        self.active = self.system.touched(changed)

    def _news(self) -> tuple[NDArray[np.int32], Int, Int]:
        """Places whose reach an active row shrinks, to what, and the row that says so."""
        system = self.system
        starts, position, entries = _expand(system.indptr, self.active)
        reach = self.reach[system.seen[entries]]
        is_open = reach == UNBOUNDED
        room = room_for(self._largest * system.heaviest + system.largest_constant)
        terms = np.where(is_open, 0, reach).astype(room, copy=False)
        if system.weight is not None:
            terms = terms * system.weight[entries]
        totals = system.constant[self.active] + np.add.reduceat(terms, starts)
        num_open = np.bincount(position[is_open], minlength=len(starts))
        # An unbounded reach silences its row, except towards the very cell.
        able = np.flatnonzero(num_open[position] == is_open)
        position, entries = position[able], entries[able]
        found = totals[position] - terms[able]
        if system.weight is not None:
            found = -(-found // system.weight[entries])
        if room is object:  # a bound no cell can have says nothing
            found = np.clip(found, 1 - UNBOUNDED, UNBOUNDED).astype(np.int64)
        told = system.told[entries]
        news = np.flatnonzero(found < self.reach[told])
        return told[news], found[news], self.active[position[news]]

    def _check(self, places: NDArray[np.int32]) -> None:
        opposite = (places + self.system.num_hidden) % (2 * self.system.num_hidden)
        if (self.reach[places] < -self.reach[opposite]).any():
            raise InputError(
                "the published values contradict each other: no table agrees with all of them",
                remedy="Check the relations, the bounds and the values.",
            )
