"""Families of witnesses: which insiders the deviations found for a cell do not keep off yet.

A deviation y that moves cell t by y_t, taken as often as fits into the rooms of insider s, shows that t can
move against s by

    reach_s = y_t · min over the cells c that y moves of room_s(c) / |y_c|.

Rooms of insiders differ from everybody's only in cells they contribute to, so one deviation holds against
nearly everybody. A demand on t has a *family* of them, and is settled when each insider is kept off by one of
the family: reach_s ≥ D_s(t) (`cellveil.attackers.own_demands`). All of it is in whole numbers.

Requires deviations: that y keeps the relations and moves hidden cells only is for the caller to check.
Cost: linear in the cells that all claimed deviations move, one for each claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.attackers.moved_rows import MovedRows, floored, reach_of
from cellveil.attackers.own_demands import OwnDemands
from cellveil.deviations.witness import CHUNK, Witnesses
from cellveil.tables.scaled import UNBOUNDED


@dataclass(frozen=True, eq=False)
class Claims:
    """Deviations, and for which demands each of them is named.

    Parameters
    ----------
    witnesses
        The deviations.
    cells, up
        Demand by demand: the primary cell, and whether it must rise or fall. One demand may come often.
    numbers
        The witness claimed for it, as it stands or reversed, whichever moves the cell that way.
    """

    witnesses: Witnesses
    cells: Int
    up: Bool
    numbers: Int

    def __len__(self) -> int:
        return len(self.numbers)

    @classmethod
    def nothing(cls) -> Claims:
        """Nobody claims anything."""
        none = np.zeros(0, dtype=np.int64)
        return cls(Witnesses.of([]), none, np.zeros(0, dtype=bool), none)

    @classmethod
    def joined(cls, parts: Sequence[Claims]) -> Claims:
        """Several collections, one after the other."""
        if not parts:
            return cls.nothing()
        offsets = np.cumsum([0, *(len(part.witnesses) for part in parts)])
        return cls(
            Witnesses.joined([part.witnesses for part in parts]),
            np.concatenate([part.cells for part in parts]),
            np.concatenate([part.up for part in parts]),
            np.concatenate([part.numbers + at for part, at in zip(parts, offsets, strict=False)]),
        )

    def take(self, chosen: Int | Bool) -> Claims:
        """Some of the claims, with the witnesses that they name."""
        numbers, place = np.unique(self.numbers[chosen], return_inverse=True)
        return Claims(self.witnesses.take(numbers), self.cells[chosen], self.up[chosen], place.ravel())

    @classmethod
    def of_all(cls, witnesses: Witnesses, is_asked: Bool, longest: int, most: int) -> Claims:
        """Each witness, up to some length, for all asked cells that it moves, both ways.

        Of one cell at most so many, the shortest: they are in the way of the fewest.
        """
        lengths = np.diff(witnesses.starts)
        owner = np.repeat(np.arange(len(witnesses)), lengths)
        entries = np.flatnonzero(is_asked[witnesses.cells] & (lengths[owner] <= longest))
        cells = witnesses.cells[entries]
        order = np.lexsort((lengths[owner[entries]], cells))
        entries, cells = entries[order], cells[order]
        entries = entries[np.arange(len(cells)) - np.searchsorted(cells, cells) < most]
        both = np.concatenate([entries, entries])
        up = np.arange(len(both)) < len(entries)
        return cls(witnesses, witnesses.cells[both], up, owner[both])


@dataclass(frozen=True, eq=False)
class StillOpen:
    """What the families of some demands leave open.

    Parameters
    ----------
    cells, up
        The demands.
    listed
        Demand by contributor listed in the cell: whether that one is not kept off.
    is_open
        Whether somebody without a part in any cell is not kept off.
    demands, who
        Demand and number of each other insider that is not kept off.
    """

    cells: Int
    up: Bool
    listed: Bool
    is_open: Bool
    demands: Int
    who: Int

    @cached_property
    def settled(self) -> Bool:
        """Demand by demand whether everybody is kept off."""
        settled = ~self.listed.any(axis=1) & ~self.is_open
        settled[self.demands] = False
        return settled

    def pairs(self, who: Int) -> tuple[Int, Int]:
        """All insiders that are not kept off, with their demands; `who` are those listed in all cells."""
        rows, ranks = np.nonzero(self.listed)
        return (
            np.concatenate([rows, self.demands]),
            np.concatenate([who[self.cells[rows], ranks], self.who]),
        )


class Families:
    """Tells whom families of deviations keep off; see the head of the module."""

    members = 1
    """How many insiders attack together."""

    def __init__(self, own: OwnDemands) -> None:
        self.own, self.problem, self.parts = own, own.problem, own.parts

    @cached_property
    def everybody(self) -> tuple[Int, Int]:
        """How far cells can fall and rise as far as everybody knows."""
        problem, values = self.problem, self.problem.table.values
        down = np.where(problem.lb == -UNBOUNDED, UNBOUNDED, np.maximum(values - problem.lb, 0))
        up = np.where(problem.ub == UNBOUNDED, UNBOUNDED, np.maximum(problem.ub - values, 0))
        return down, up

    @cached_property
    def unlisted(self) -> tuple[Int, Int]:
        """The same for somebody who may have a part wherever it is not listed, if there is such a one."""
        down, up = self.everybody
        if not self.parts.is_vague:
            return down, up
        own = np.where(self.parts.is_sum, 0, self.parts.unlisted)
        return self._narrowed(np.arange(len(own)), own, down, up)

    @cached_property
    def crowd(self) -> tuple[Int, Int]:
        """The same for all insiders at once: nobody leaves less room to a cell that is not in question."""
        every = np.arange(self.problem.table.num_cells)
        down, up = self._narrowed(every, self.parts.largest(self.members), *self.everybody)
        known = (self.parts.count > 0) & (self.parts.count <= self.members)
        return np.where(known, 0, down), np.where(known, 0, up)

    def with_own(self, cells: Int, own: Int) -> tuple[Int, Int]:
        """How far cells can fall and rise for somebody with these parts in them."""
        down, up = self.unlisted
        return self._narrowed(cells, own, down[cells], up[cells])

    def _narrowed(self, cells: Int, own: Int, down: Int, up: Int) -> tuple[Int, Int]:
        """Rooms of cells for somebody with these parts in them."""
        floor, ceiling = (sign[cells] for sign in self.own.one_signed)
        values = self.problem.table.values[cells]
        return (
            np.where(floor, np.minimum(down, np.maximum(values - own, 0)), down),
            np.where(ceiling, np.minimum(up, np.maximum(-own - values, 0)), up),
        )

    def open_demands(self) -> tuple[Int, Bool]:
        """All demands of which something is asked against somebody."""
        rises, falls = (amounts.max(axis=1, initial=0) > 0 for amounts in (self.own.up, self.own.down))
        cells = np.concatenate([self.own.cells[rises], self.own.cells[falls]])
        return cells, np.arange(len(cells)) < int(rises.sum())

    def most(self, cells: Int, up: Bool) -> Int:
        """Demand by demand the most that is asked against anybody."""
        return np.asarray(self.amounts(cells, up).max(axis=1, initial=0))

    def amounts(self, cells: Int, up: Bool) -> Int:
        """Demand by demand: against the listed contributors of the cell, and everybody else."""
        rows = self.own.row[cells]
        return np.where(up[:, None], self.own.up[rows], self.own.down[rows])

    def needed(self, cell: int, up: bool, who: Int) -> int:
        """The largest amount that one of these insiders must be kept from, or, if none, who has no part."""
        amounts = (self.own.up if up else self.own.down)[self.own.row[cell]]
        rank = self.own.rank(np.full(len(who), cell), who) if len(who) else np.array([-1])
        return int(amounts[rank].max())

    def known_to(self, who: Int, target: int) -> tuple[Int, Int, Int]:
        """The cells of some insiders, and how far these can fall and rise as far as all of them can tell."""
        places = [self.parts.places[one] for one in who.tolist() if one in self.parts.places]
        cells, own = _largest(places)
        down, up = self.with_own(cells, own)
        alone = (self.parts.count[cells] == 1) & (cells != target)
        down[alone] = up[alone] = 0
        return cells, down, up

    def left(self, claims: Claims, cells: Int, up: Bool) -> StillOpen:
        """Whom the claims do not keep off, for these demands; claims for others are passed over."""
        amounts, demand = self.amounts(cells, up), self.demands_of(claims, cells, up)
        known = np.flatnonzero(demand >= 0)
        tally = _Tally(self, cells, amounts)
        lengths = np.diff(claims.witnesses.starts)[claims.numbers[known]]
        for part in np.array_split(known, max(1, int(lengths.sum()) // (10 * CHUNK))):
            if len(part):
                tally.add(claims, part, demand[part])
        return tally.left(up)

    def demands_of(self, claims: Claims, cells: Int, up: Bool) -> Int:
        """The number of the demand of each claim; −1 for others."""
        place = np.full((2, self.problem.table.num_cells), -1, dtype=np.int64)
        place[up.astype(np.int64), cells] = np.arange(len(cells))
        return np.asarray(place[claims.up.astype(np.int64), claims.cells])

    def reaches(self, claims: Claims, part: Int, enough: Int) -> tuple[Int, tuple[Int, Int, Int]]:
        """How far each claim reaches against somebody without a part; and against others, where it is less.

        The others as claim (position in `part`), insider and reach; only where that is less than `enough`.
        """
        rows, starts = self._rows(claims, part, enough)
        down, up = self._rooms_without_part(rows)
        shown = floored(np.where(rows.rises, up, down), rows.step, rows.moved)
        return reach_of(shown, rows, starts), self._insiders(rows, down, up)

    def _rooms_without_part(self, rows: MovedRows) -> tuple[Int, Int]:
        """How far moved cells can fall and rise for somebody without a part in any."""
        down, up = (
            np.where(rows.is_target, plain[rows.cells], vague[rows.cells])
            for plain, vague in zip(self.everybody, self.unlisted, strict=True)
        )
        return down, up

    def reaches_within(self, claims: Claims, rooms: tuple[Int, Int]) -> Int:
        """How far each claim reaches within rooms of all cells, the target within what everybody knows."""
        rows, starts = self._rows(claims, np.arange(len(claims)), np.zeros(len(claims), dtype=np.int64))
        down, up = (
            np.where(rows.is_target, plain[rows.cells], room[rows.cells])
            for plain, room in zip(self.everybody, rooms, strict=True)
        )
        return reach_of(floored(np.where(rows.rises, up, down), rows.step, rows.moved), rows, starts)

    def _rows(self, claims: Claims, part: Int, enough: Int) -> tuple[MovedRows, Int]:
        """The moved cells of some claims, and where those of each claim begin."""
        witnesses, numbers = claims.witnesses, claims.numbers[part]
        lengths = np.diff(witnesses.starts)[numbers]
        ends = np.cumsum(lengths)
        entries = np.repeat(witnesses.starts[:-1][numbers] - (ends - lengths), lengths) + np.arange(ends[-1])
        owner = np.repeat(np.arange(len(part)), lengths)
        cells, moved = witnesses.cells[entries], witnesses.numerators[entries]
        is_target = cells == claims.cells[part][owner]
        step = np.zeros(len(part), dtype=np.int64)
        step[owner[is_target]] = moved[is_target]
        turned = (step > 0) != claims.up[part]
        rises = (moved > 0) != turned[owner]
        rows = MovedRows(owner, cells, rises, is_target, np.abs(moved), np.abs(step)[owner], enough[owner])
        return rows, ends - lengths

    def _insiders(self, rows: MovedRows, down: Int, up: Int) -> tuple[Int, Int, Int]:
        """Insiders against whom claims reach less far than enough."""
        found = []
        parts = self.parts
        for rank in range(parts.who.shape[1]):
            who, own = parts.who[rows.cells, rank], parts.amount[rows.cells, rank]
            alone = (parts.count[rows.cells] == 1) & ~rows.is_target & (rank == 0)
            found.append(self._less(rows, np.flatnonzero(who >= 0), who, own, alone, down, up))
        starts, further, amounts = self._further
        lengths = starts[rows.cells + 1] - starts[rows.cells]
        if lengths.any():
            entry = np.repeat(np.arange(len(rows.cells)), lengths)
            ends = np.cumsum(lengths)
            place = np.repeat(starts[rows.cells] - (ends - lengths), lengths) + np.arange(ends[-1])
            nobody = np.zeros(len(entry), dtype=bool)
            found.append(
                self._less(rows.take(entry), np.arange(len(entry)), further[place], amounts[place], nobody,
                           down[entry], up[entry])
            )  # fmt: skip
        claim, who, reach = (np.concatenate(columns) for columns in zip(*found, strict=True))
        order = np.lexsort((reach, who, claim))
        claim, who, reach = claim[order], who[order], reach[order]
        first = np.ones(len(claim), dtype=bool)
        first[1:] = (claim[1:] != claim[:-1]) | (who[1:] != who[:-1])
        return claim[first], who[first], reach[first]

    def _less(
        self, rows: MovedRows, some: Int, who: Int, own: Int, alone: Bool, down: Int, up: Int
    ) -> tuple[Int, Int, Int]:
        """For one contributor of each row: the claim, the contributor, and how far the row lets it reach."""
        own_down, own_up = self._narrowed(rows.cells[some], own[some], down[some], up[some])
        room = np.where(rows.rises[some], own_up, own_down)
        room = np.where(alone[some], 0, room)
        less = room < np.where(rows.rises[some], up[some], down[some])
        some, room = some[less], room[less]
        reach = floored(room, rows.step[some], rows.moved[some])
        short = reach < rows.enough[some]
        return rows.owner[some][short], who[some][short], reach[short]

    @cached_property
    def _further(self) -> tuple[Int, Int, Int]:
        """Parts beyond those listed, in compressed rows: starts, who, amounts.

        With everybody's parts known, somebody who is not listed and stands in one cell only is among them,
        under a number of its own.
        """
        parts, size = self.parts, self.problem.table.num_cells
        found = [(cell, who, part) for cell, added in (parts.further or {}).items() for who, part in added]
        if parts.further is not None:
            hidden = np.flatnonzero(~parts.is_sum & (parts.unlisted > 0)).tolist()
            most = int(parts.who.max(initial=0)) + len(parts.names) + 1
            found += [(cell, most + cell, int(parts.unlisted[cell])) for cell in hidden]
        found.sort()
        cells, who, amounts = np.array(found, dtype=np.int64).reshape(-1, 3).T
        return np.searchsorted(cells, np.arange(size + 1)), who, amounts


class _Tally:
    """Who is kept off by how many claims of each demand."""

    def __init__(self, families: Families, cells: Int, amounts: Int) -> None:
        self._families, self._cells, self._amounts = families, cells, amounts
        self._listed = (amounts[:, :-1] > 0) & (families.parts.who[cells] >= 0)
        self._is_open = amounts[:, -1] > 0
        self._generic = np.zeros(len(cells), dtype=np.int64)
        self._failing: list[tuple[Int, Int]] = []

    def add(self, claims: Claims, part: Int, demand: Int) -> None:
        """Take claims for demands into account."""
        families, amounts = self._families, self._amounts[demand]
        reach, (claim, who, less) = families.reaches(claims, part, amounts.max(axis=1))
        depth = amounts.shape[1] - 1
        fine = reach[:, None] >= amounts
        rank = families.own.rank(self._cells[demand[claim]], who)
        fails = less < amounts[claim, rank]
        claim, who, rank = claim[fails], who[fails], rank[fails]
        is_listed = rank < depth
        fine[claim[is_listed], rank[is_listed]] = False
        for column in range(depth):
            self._listed[demand[fine[:, column]], column] = False
        holds = fine[:, -1]
        np.add.at(self._generic, demand[holds], 1)
        self._is_open[demand[holds]] = False
        other = ~is_listed & holds[claim]
        self._failing.append((demand[claim[other]], who[other]))

    def left(self, up: Bool) -> StillOpen:
        """Those whom no claim keeps off."""
        nothing = np.zeros(0, dtype=np.int64)
        demand = np.concatenate([nothing, *(demand for demand, _ in self._failing)])
        who = np.concatenate([nothing, *(who for _, who in self._failing)])
        order = np.lexsort((who, demand))
        demand, who = demand[order], who[order]
        first = np.ones(len(demand), dtype=bool)
        first[1:] = (demand[1:] != demand[:-1]) | (who[1:] != who[:-1])
        times = np.diff(np.append(np.flatnonzero(first), len(demand)))
        demand, who = demand[first], who[first]
        stuck = (times == self._generic[demand]) & (self._amounts[demand, -1] > 0)
        return StillOpen(self._cells, up, self._listed, self._is_open, demand[stuck], who[stuck])


def _largest(places: Sequence[tuple[Int, Int]]) -> tuple[Int, Int]:
    """The cells of several insiders, and the largest part that one of them has in each."""
    nothing = np.zeros(0, dtype=np.int64)
    cells = np.concatenate([nothing, *(cells for cells, _ in places)])
    own = np.concatenate([nothing, *(own for _, own in places)])
    order = np.lexsort((-own, cells))
    cells, own = cells[order], own[order]
    first = np.ones(len(cells), dtype=bool)
    first[1:] = cells[1:] != cells[:-1]
    return cells[first], own[first]
