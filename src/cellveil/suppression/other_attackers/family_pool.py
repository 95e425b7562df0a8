"""The pool of families of witnesses: which deviations are named for which demand, and who is not kept off.

Every demand (primary cell, direction) has a family of deviations. It is settled when one of them moves the
cell by its level, against outsiders, and each insider is kept off by one (`attackers.families`). The pool
keeps for every cell the deviations that move it. So publishing a cell again only concerns the demands whose
families lose a deviation, and a trial costs what it touches: `lose` a cell, `add` other deviations, and
`keep` the result or go `back`.

Requires deviations of hidden cells. Ensures nothing: the claims are for the judge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.attackers.families import Claims, Families
from cellveil.deviations.demand import shared_out
from cellveil.deviations.witness import Witness, Witnesses


@dataclass(frozen=True, eq=False)
class _Kept:
    """One demand: its family, and who is not kept off."""

    family: list[int]
    vouching: int
    listed: Bool
    is_open: bool
    is_short: bool
    others: Int


class FamilyPool:
    """Demands with their families; see the head of the module.

    Attributes
    ----------
    cells, up
        The demands.
    levels
        Against outsiders.
    size
        The most that is asked against anybody.
    is_asked
        Demand by demand whether insiders are asked about: exempt cells are for outsiders only.
    kept_off
        Demand by demand whether every insider is kept off.
    is_short
        Whether no deviation was named that reaches the level, against outsiders.
    """

    def __init__(self, families: Families) -> None:
        self.families, problem = families, families.problem
        room = np.where(np.isinf(problem.up), 2.0**61, problem.up).astype(np.int64)
        upl, lpl = shared_out(problem.upl, problem.lpl, problem.sliding, room)
        own = families.own
        rises, falls = np.zeros((2, problem.table.num_cells), dtype=np.int64)
        everywhere = np.ones(len(own.cells), dtype=bool)
        rises[own.cells] = families.most(own.cells, everywhere)
        falls[own.cells] = families.most(own.cells, ~everywhere)
        above, below = np.flatnonzero((upl > 0) | (rises > 0)), np.flatnonzero((lpl > 0) | (falls > 0))
        self.cells = np.concatenate([above, below])
        self.up = np.arange(len(self.cells)) < len(above)
        self.levels = np.concatenate([upl[above], lpl[below]])
        self.is_asked = own.row[self.cells] >= 0
        self.size = np.maximum(np.concatenate([rises[above], falls[below]]), self.levels)
        self._place = np.full((2, problem.table.num_cells), -1, dtype=np.int64)
        self._place[self.up.astype(np.int64), self.cells] = np.arange(len(self.cells))
        self._witnesses: list[Witness] = []
        self._named: list[list[int]] = []
        self._families: list[list[int]] = [[] for _ in range(len(self.cells))]
        self._vouching = np.full(len(self.cells), -1, dtype=np.int64)
        self._moved_by: dict[int, list[int]] | None = None
        self._saved: dict[int, _Kept] | None = None
        self._listed = np.zeros((len(self.cells), own.parts.who.shape[1]), dtype=bool)
        self._is_open, self.is_short = np.zeros(len(self.cells), dtype=bool), self.levels > 0
        self._others: dict[int, Int] = {}
        self.kept_off = np.zeros(len(self.cells), dtype=bool)
        self._update(np.arange(len(self.cells)))

    @property
    def settled(self) -> Bool:
        """Demand by demand whether everybody is kept off, outsiders too."""
        return np.asarray(self.kept_off & ~self.is_short)

    @property
    def claims(self) -> Claims:
        """All families."""
        return self._claims(np.arange(len(self.cells)))

    def open_demands(self) -> Int:
        """Demands from which somebody is not kept off, the largest first."""
        demands = np.flatnonzero(~self.settled)
        return demands[np.argsort(-self.size[demands], kind="stable")]

    def left(self, demand: int) -> Int | None:
        """The insiders who are not kept off; none if it is somebody without a part; None for outsiders."""
        if self.is_short[demand]:
            return None
        cell = self.cells[demand]
        listed = self.families.parts.who[cell][self._listed[demand]]
        return np.concatenate([listed, self._others.get(demand, listed[:0])])

    def needed(self, demand: int, who: Int | None) -> int:
        """The largest amount that one of them must be kept from, or somebody without a part, or outsiders."""
        if who is None:
            return int(self.levels[demand])
        return self.families.needed(int(self.cells[demand]), bool(self.up[demand]), who)

    def settling(self, claims: Claims) -> Claims:
        """Those of the claims that settle their demand alone, against all insiders at once."""
        demands = self._place[claims.up.astype(np.int64), claims.cells]
        some = np.flatnonzero(demands >= 0)
        if not len(some):
            return claims.take(some)
        reach = self.families.reaches_within(claims.take(some), self.families.crowd)
        return claims.take(some[reach >= self.size[demands[some]]])

    def add(self, claims: Claims) -> None:
        """Take claims into account."""
        demands = self._place[claims.up.astype(np.int64), claims.cells]
        known = demands >= 0
        if not known.any():
            return
        offset = len(self._witnesses)
        self._witnesses += list(claims.witnesses)
        self._named += [[] for _ in range(len(claims.witnesses))]
        touched = np.unique(demands[known])
        self._save(touched)
        for demand, number in zip(demands[known].tolist(), claims.numbers[known].tolist(), strict=True):
            self._families[demand].append(offset + number)
            self._named[offset + number].append(demand)
        if self._moved_by is not None:
            for number in range(offset, len(self._witnesses)):
                self._index(self._moved_by, number)
        self._update(touched)

    def vouch(self, witnesses: Witnesses) -> None:
        """Take deviations for outsiders' levels alone, where none was named: long ones, as they stand."""
        short = np.flatnonzero(self.is_short)
        if not len(short):
            return
        down, up = self.families.everybody
        numbers = far_enough(witnesses, (down, up), self.cells[short], self.up[short], self.levels[short])
        short, numbers = short[numbers >= 0], numbers[numbers >= 0]
        some, place = np.unique(numbers, return_inverse=True)
        self._vouching[short] = len(self._witnesses) + place.ravel()
        self._witnesses += [witnesses[number] for number in some.tolist()]
        self._named += [short[place.ravel() == number].tolist() for number in range(len(some))]
        self.is_short[short] = False

    # -- trials --------------------------------------------------------------------------------------------

    def lose(self, cell: int) -> Int:
        """Do without the deviations that move a cell, until `keep` or `back`; return what is open then."""
        if self._moved_by is None:
            self._moved_by = {}
            for number in range(len(self._witnesses)):
                self._index(self._moved_by, number)
        self._saved = {} if self._saved is None else self._saved
        lost = set(self._moved_by.get(cell, ()))
        touched = np.unique([demand for number in lost for demand in self._named[number]]).astype(np.int64)
        self._save(touched)
        for demand in touched.tolist():
            self._families[demand] = [number for number in self._families[demand] if number not in lost]
            if self._vouching[demand] in lost:
                self._vouching[demand] = -1
        self._update(touched)
        return np.asarray(touched[~self.settled[touched]])

    def keep(self) -> None:
        """Keep the result of a trial."""
        self._saved = None

    def back(self) -> None:
        """As before the trial."""
        for demand, state in (self._saved or {}).items():
            self._families[demand], self._vouching[demand] = state.family, state.vouching
            self._listed[demand], self._is_open[demand] = state.listed, state.is_open
            self.is_short[demand], self._others[demand] = state.is_short, state.others
            self.kept_off[demand] = self._is_kept_off(demand)
        self._saved = None

    def _index(self, moved_by: dict[int, list[int]], number: int) -> None:
        for cell in self._witnesses[number].cells.tolist():
            moved_by.setdefault(cell, []).append(number)

    def _save(self, demands: Int) -> None:
        if self._saved is None:
            return
        nobody = np.zeros(0, dtype=np.int64)
        for demand in demands.tolist():
            if demand not in self._saved:
                self._saved[demand] = _Kept(
                    list(self._families[demand]),
                    int(self._vouching[demand]),
                    self._listed[demand].copy(),
                    bool(self._is_open[demand]),
                    bool(self.is_short[demand]),
                    self._others.get(demand, nobody),
                )

    # -- who is not kept off -------------------------------------------------------------------------------

    def _claims(self, demands: Int) -> Claims:
        """The families of some demands."""
        numbers = [number for demand in demands.tolist() for number in self._families[demand]]
        sizes = [len(self._families[demand]) for demand in demands.tolist()]
        some, place = np.unique(np.array(numbers, dtype=np.int64), return_inverse=True)
        witnesses = Witnesses.of([self._witnesses[number] for number in some.tolist()])
        return Claims(
            witnesses,
            np.repeat(self.cells[demands], sizes),
            np.repeat(self.up[demands], sizes),
            place.ravel(),
        )

    def _update(self, demands: Int) -> None:
        """Find out anew whom the families of some demands do not keep off."""
        claims = self._claims(demands)
        is_short = self.levels[demands] > self._reached(claims, demands)
        self.is_short[demands] = is_short & (self._vouching[demands] < 0)
        asked = demands[self.is_asked[demands]]
        found = self.families.left(claims, self.cells[asked], self.up[asked])
        self._listed[asked], self._is_open[asked] = found.listed, found.is_open
        for demand in asked.tolist():
            self._others.pop(demand, None)
        if len(found.demands):
            order = np.argsort(found.demands, kind="stable")
            numbers, starts = np.unique(found.demands[order], return_index=True)
            parts = np.split(found.who[order], starts[1:])
            self._others.update(zip(asked[numbers].tolist(), parts, strict=True))
        for demand in demands.tolist():
            self.kept_off[demand] = self._is_kept_off(demand)

    def _is_kept_off(self, demand: int) -> bool:
        is_open = self._is_open[demand] or self._listed[demand].any()
        return not is_open and not len(self._others.get(demand, ()))

    def _reached(self, claims: Claims, demands: Int) -> Int:
        """How far the families of some demands reach against outsiders."""
        reached = np.zeros(len(self.cells), dtype=np.int64)
        if len(claims):
            reach = self.families.reaches_within(claims, self.families.everybody)
            np.maximum.at(reached, self._place[claims.up.astype(np.int64), claims.cells], reach)
        return reached[demands]


def far_enough(witnesses: Witnesses, rooms: tuple[Int, Int], cells: Int, up: Bool, levels: Int) -> Int:
    """For each demand a witness that meets it as it stands or reversed, the shortest; −1 for none."""
    num_cells, lengths = len(rooms[0]), np.diff(witnesses.starts)
    place = np.full((2, num_cells), -1, dtype=np.int64)
    place[up.astype(np.int64), cells] = np.arange(len(cells))
    owner = np.repeat(np.arange(len(witnesses)), lengths)
    found = np.full(len(cells), -1, dtype=np.int64)
    order = np.argsort(-lengths[owner], kind="stable")
    for sign in (1, -1):
        moved = sign * witnesses.numerators // witnesses.denominators[owner]
        risen = -(-sign * witnesses.numerators // witnesses.denominators[owner])
        outside = (risen > rooms[1][witnesses.cells]) | (-moved > rooms[0][witnesses.cells])
        fits = np.ones(len(witnesses), dtype=bool)
        fits[owner[outside]] = False
        for side in (0, 1):
            demand = place[side, witnesses.cells]
            far = np.maximum(moved, 0) if side else np.maximum(-risen, 0)
            meets = fits[owner] & (demand >= 0) & (far >= levels[demand])
            some = order[meets[order]]
            found[demand[some]] = owner[some]
    return found
