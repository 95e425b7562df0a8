"""Families of witnesses against coalitions: which of them the deviations found for a cell do not keep off.

Too many coalitions are possible to try all, and few need a visit. Let y be a deviation that holds against
coalition C. Call a cell that y moves *tight* if it is the target, or if the largest parts of the cell, as
many as attack together, would leave less room than the largest demand on the target needs. Then y holds
against every larger coalition whose further members have no part in a tight cell: the demand is the same, the
rooms of tight cells are the same, and those of all others are large enough. So the search begins with the
empty coalition; finds for each coalition a deviation that holds; and goes on with one member more, among
those with a part in a tight cell. A coalition against whom none holds is left open, and not enlarged.

The last member has to be tried only if it has a part in the target, meets another one in a tight cell, or
stops y alone: otherwise each tight cell has the room of the others or that of the last one, and both suffice.

Each coalition is visited once: after all that contain C and b, the others that contain C do without b. Small
ones are visited first, so that of what is open the smallest coalitions are told.

Requires deviations, and listed contributors with ids (`Coalitions.are_known`). Cost: for each demand the
coalitions visited, well below a microsecond for each tight cell; where they are too many, the next one is
left open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.attackers.coalition_demands import EMPTY, Coalitions
from cellveil.attackers.families import Claims, Families, StillOpen
from cellveil.attackers.moved_rows import MovedRows, floored, reach_of
from cellveil.attackers.own_demands import OwnDemands
from cellveil.attackers.own_parts import NOBODY
from cellveil.deviations.witness import CHUNK, Witness, Witnesses
from cellveil.loops import coalition_rooms as loops
from cellveil.loops.coalition_rooms import AskedAmounts, Standing
from cellveil.loops.coalitions import ReadClaims, Visits, visit_all
from cellveil.params import Params, param


@dataclass(frozen=True, kw_only=True)
class CoalitionParams(Params):
    """Parameters of the search for coalitions that are not kept off."""

    most_visited: int = param(2_000_000, "Coalitions tried for one demand; what is left is open.", least=1)
    most_open: int = param(24, "Coalitions that are listed as open for one demand.", least=1)


class CoalitionFamilies(Families):
    """Tells which coalitions families of deviations keep off; see the head of the module."""

    def __init__(self, own: OwnDemands, members: int, params: CoalitionParams | None = None) -> None:
        super().__init__(own)
        self.coalitions, self._params = Coalitions(own, members), params or CoalitionParams()
        self.members = members

    @cached_property
    def unlisted(self) -> tuple[Int, Int]:
        """See `Families.unlisted`: for a coalition of which nobody is listed anywhere."""
        own = self.coalitions.without_part
        return self._narrowed(np.arange(len(own)), own, *self.everybody)

    def open_demands(self) -> tuple[Int, Bool]:
        """See `Families.open_demands`."""
        cells = np.concatenate([self.own.cells, self.own.cells])
        up = np.arange(len(cells)) < len(self.own.cells)
        asked = self.most(cells, up) > 0
        return cells[asked], up[asked]

    def most(self, cells: Int, up: Bool) -> Int:
        """See `Families.most`."""
        starts, amounts = self._amounts
        largest = np.maximum.reduceat(amounts, starts) if len(starts) else amounts
        return np.asarray(largest[self._place_of(cells, up)])

    def needed(self, cell: int, up: bool, who: Int) -> int:
        """See `Families.needed`."""
        coalitions = [self.coalitions.of(number) for number in who.tolist()] or [EMPTY]
        return max(self.coalitions.amount(cell, up, one) for one in coalitions)

    def known_to(self, who: Int, target: int) -> tuple[Int, Int, Int]:
        """See `Families.known_to`."""
        groups = [sorted(self.coalitions.of(number)) for number in who.tolist()]
        starts = np.concatenate([[0], np.cumsum([len(group) for group in groups])]).astype(np.int64)
        people = self._rows_of(np.array([one for group in groups for one in group], dtype=np.int64))
        rooms, cells = self._scratch
        count = loops.narrow(self._standing, starts, people, self.members, target, rooms, cells)
        known = np.sort(cells[:count])
        return known, rooms[0, known], rooms[1, known]

    def crowd_around(
        self, target: int, up: bool, amounts: tuple[int, int], inside: int
    ) -> tuple[Int, Int, Int]:
        """Cells that may have more room than `crowd` tells, with that: for coalitions asked so much.

        More than the first amount, at most the second, and with at most so many members in the target. Who
        alone makes up the target, say, knows many cells above it, and is no matter.
        """
        cells, sense = np.array([target]), np.array([up])
        asked = loops.AskedAmounts(cells, *self._amounts_of(cells, sense))
        rooms, found = self._scratch
        rooms[0], rooms[1] = self.unlisted
        limits = np.array([self.members, *amounts, inside])
        count = loops.narrow_by_all(self._standing, asked, limits, rooms, found)
        rooms[:2, target] = [room[target] for room in self.everybody]
        known = np.sort(np.append(found[:count], target))
        return known, rooms[0, known], rooms[1, known]

    def asked_of(self, cell: int, up: bool) -> tuple[Int, Int]:
        """What is asked of a cell against coalitions with a member elsewhere, ascending; and who has none.

        Amounts above 0, and numbers of coalitions inside the cell against whom something is asked.
        """
        people, amount = list(self.coalitions.listed(cell)), self.coalitions.amount
        some = (frozenset(some) for size in range(self.members) for some in combinations(people, size))
        amounts = np.unique([amount(cell, up, who) for who in some])
        whole = (frozenset(some) for some in combinations(people, self.members))
        inside = [self.coalitions.number(who) for who in whole if amount(cell, up, who) > 0]
        return amounts[amounts > 0], np.array(inside, dtype=np.int64)

    @cached_property
    def _scratch(self) -> tuple[Int, Int]:
        """Room for `known_to`."""
        size = self.problem.table.num_cells
        return np.zeros((3, size), dtype=np.int64), np.zeros(size, dtype=np.int64)

    def rooms(self, who: Int, target: int) -> tuple[Int, Int]:
        """How far all cells can fall and rise as far as all of these coalitions can tell."""
        down, up = (room.copy() for room in self.unlisted)
        down[target], up[target] = (room[target] for room in self.everybody)
        cells, own_down, own_up = self.known_to(who, target)
        down[cells], up[cells] = own_down, own_up
        return down, up

    def left(self, claims: Claims, cells: Int, up: Bool) -> StillOpen:
        """See `Families.left`; all coalitions that are not kept off are among the others."""
        mine = np.flatnonzero(self.most(cells, up) > 0)
        visits, _, _ = self._visited(claims, cells[mine], up[mine])
        number = visits.counts[-1]
        demands, sizes = mine[visits.open_demands[:number]], visits.open_sizes[:number]
        is_open = np.zeros(len(cells), dtype=bool)
        is_open[demands[sizes == 0]] = True
        people = self._people[visits.open_people[:number]].tolist()
        pairs = zip(sizes.tolist(), people, strict=True)
        who = [self.coalitions.number(frozenset(some[:size])) for size, some in pairs if size]
        listed = np.zeros((len(cells), self.parts.who.shape[1]), dtype=bool)
        return StillOpen(cells, up, listed, is_open, demands[sizes > 0], np.array(who, dtype=np.int64))

    def enough(self, claims: Claims) -> Claims:
        """Claims that keep off whom all of them do, the most useful ones first."""
        cells, up = self.open_demands()
        _, order, read = self._visited(claims, cells, up)
        some = np.argsort(-read.uses, kind="stable")[: np.count_nonzero(read.uses)]
        return claims.take(order[some])

    def left_by(self, found: Sequence[Witness], cell: int, up: bool) -> Int:
        """The numbers of coalitions whom deviations that move the cell do not keep off it."""
        numbers = np.arange(len(found))
        claims = Claims(Witnesses.of(found), np.full(len(found), cell), np.full(len(found), up), numbers)
        left = self.left(claims, np.array([cell]), np.array([up]))
        return np.array([NOBODY]) if left.is_open.any() else left.who

    # -- visits --------------------------------------------------------------------------------------------

    def _visited(self, claims: Claims, cells: Int, up: Bool) -> tuple[Visits, Int, ReadClaims]:
        """What visits for some demands come to; and their claims, by number and as they were read."""
        place = np.full((2, self.problem.table.num_cells), -1, dtype=np.int64)
        place[up.astype(np.int64), cells] = np.arange(len(cells))
        demand = place[claims.up.astype(np.int64), claims.cells]
        order = np.flatnonzero(demand >= 0)
        order = order[np.argsort(demand[order], kind="stable")]
        read = self._read(claims, order, demand[order], self.most(cells, up))
        asked = AskedAmounts(cells.astype(np.int64), *self._amounts_of(cells, up))
        visits = self._visits(read, asked)
        visit_all(self._standing, read, asked, visits)
        return visits, order, read

    def _visits(self, read: ReadClaims, asked: AskedAmounts) -> Visits:
        """Room for visits: nobody was visited yet."""
        members, most = self.members, self._params.most_open
        longest = int(np.diff(read.people_starts).max(initial=0)) + self._crowded
        room = len(asked.targets) * (most + 1)
        return Visits(
            who=np.zeros(members, dtype=np.int64),
            tray=np.zeros((members, longest), dtype=np.int64),
            is_barred=np.zeros(len(self._people), dtype=bool),
            listed_in=np.zeros(len(self._people), dtype=np.int64),
            limits=np.array([members, self._params.most_visited, most], dtype=np.int64),
            counts=np.zeros(5, dtype=np.int64),
            open_demands=np.zeros(room, dtype=np.int64),
            open_sizes=np.zeros(room, dtype=np.int64),
            open_people=np.zeros((room, members), dtype=np.int64),
        )

    def _read(self, claims: Claims, order: Int, demand: Int, most: Int) -> ReadClaims:
        """How far claims reach for somebody without a part, their tight cells and who stands there."""
        reach, tight = self._tight(claims, order, most[demand])
        row, people, alone = self._stopped_by(tight)
        by_person = np.lexsort((people, tight.owner[row]))
        row, people, alone = row[by_person], people[by_person], alone[by_person]
        claim, numbers = tight.owner[row], np.arange(len(order) + 1)
        first = np.ones(len(row), dtype=bool)
        first[1:] = (claim[1:] != claim[:-1]) | (people[1:] != people[:-1])
        each = np.flatnonzero(first)
        least = np.minimum.reduceat(alone, each) if len(each) else alone
        weakest = np.lexsort((least, claim[each]))
        return ReadClaims(
            starts=np.searchsorted(demand, np.arange(len(most) + 1)),
            reach=reach,
            cells=tight.cells,
            rises=tight.rises,
            is_target=tight.is_target,
            moved=tight.moved,
            step=tight.step,
            entry_starts=np.searchsorted(claim, numbers),
            row_people=people,
            rows_of=row,
            people_starts=np.searchsorted(claim[each], numbers),
            people=people[each][weakest],
            alone=least[weakest],
            uses=np.zeros(len(order), dtype=np.int64),
        )

    def _tight(self, claims: Claims, order: Int, most: Int) -> tuple[Int, MovedRows]:
        """How far some claims reach for somebody without a part, and their tight cells; part by part."""
        lengths = np.diff(claims.witnesses.starts)[claims.numbers[order]]
        reaches, tight = [np.zeros(0, dtype=np.int64)], [MovedRows.nothing()]
        for part in np.array_split(np.arange(len(order)), max(1, int(lengths.sum()) // (10 * CHUNK))):
            if not len(part):
                continue
            rows, starts = self._rows(claims, order[part], most[part])
            down, up = self._rooms_without_part(rows)
            shown = floored(np.where(rows.rises, up, down), rows.step, rows.moved)
            reaches.append(reach_of(shown, rows, starts))
            down, up = (least[rows.cells] for least in self.crowd)
            shown = floored(np.where(rows.rises, up, down), rows.step, rows.moved)
            some = rows.take(np.flatnonzero(rows.is_target | (shown < rows.enough)))
            tight.append(replace(some, owner=some.owner + part[0]))
        return np.concatenate(reaches), MovedRows.joined(tight)

    def _stopped_by(self, rows: MovedRows) -> tuple[Int, Int, Int]:
        """The people of tight cells: row, person, and how far the target can move for that one alone."""
        standing = self._standing
        lengths = np.diff(standing.starts)[rows.cells]
        row = np.repeat(np.arange(len(rows.cells)), lengths)
        rank = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        cells, is_target = rows.cells[row], rows.is_target[row]
        place = standing.starts[cells] + rank
        is_listed = rank < standing.listed[cells]
        own = np.where(is_listed | ~is_target, standing.parts[place], 0)
        others = np.minimum(standing.more[cells], self.members - is_listed) * standing.unlisted[cells]
        own += np.where(standing.are_vague[cells] & ~is_target, others, 0)
        fall, rise = self._narrowed(cells, own, *(room[cells] for room in self.everybody))
        is_known = (standing.listed[cells] == 1) & (standing.more[cells] == 0) & is_listed & ~is_target
        room = np.where(is_known, 0, np.where(rows.rises[row], rise, fall))
        return row, standing.people[place], floored(room, rows.step[row], rows.moved[row])

    # -- parts and amounts ---------------------------------------------------------------------------------

    @cached_property
    def _people(self) -> Int:
        """The number of everybody who stands somewhere, ascending: the rows of `Standing`."""
        return np.unique(self._standing_people[1])

    def _rows_of(self, people: Int) -> Int:
        """The rows of some of them."""
        return np.searchsorted(self._people, people)

    @cached_property
    def _standing_people(self) -> tuple[Int, Int, Int, Int]:
        """Cells, people and parts, cell by cell, listed ones first; and how many are listed in each cell."""
        found, listed = [], []
        for cell in range(self.problem.table.num_cells):
            here = self.coalitions.listed(cell)
            found += [(cell, one, part) for one, part in here.items()]
            listed.append(len(here))
            part, others = int(self.parts.unlisted[cell]), self.coalitions.people(cell) - here.keys()
            found += [(cell, one, part) for one in sorted(others)]
        cells, people, parts = np.array(found, dtype=np.int64).reshape(-1, 3).T
        return cells, people, parts, np.array(listed, dtype=np.int64)

    @cached_property
    def _standing(self) -> Standing:
        """Who stands where, for the loops."""
        cells, people, parts, listed = self._standing_people
        size, rows = self.problem.table.num_cells, self._rows_of(people)
        by_person = np.argsort(rows, kind="stable")
        down, up = self.everybody
        floor, ceiling = self.own.one_signed
        return Standing(
            starts=np.searchsorted(cells, np.arange(size + 1)),
            people=rows,
            parts=parts.copy(),
            listed=listed,
            more=self.coalitions.more,
            unlisted=self.parts.unlisted,
            are_vague=~self.parts.is_sum & (not self.parts.is_single),
            values=self.problem.table.values.astype(np.int64),
            down=down,
            up=up,
            floor=floor,
            ceiling=ceiling,
            place_starts=np.searchsorted(rows[by_person], np.arange(len(self._people) + 1)),
            places=cells[by_person],
        )

    @cached_property
    def _crowded(self) -> int:
        """The most people of a cell."""
        return int(np.diff(self._standing.starts).max(initial=0))

    @cached_property
    def _amounts(self) -> tuple[Int, Int]:
        """What is asked of each cell upwards, then downwards, against each set of members listed in it.

        Sets of fewer members come first, those of as many in colexicographic order.
        """
        starts: list[int] = []
        amounts: list[int] = []
        coalitions = self.coalitions
        for up in (True, False):
            for cell in self.own.cells.tolist():
                starts.append(len(amounts))
                people = list(coalitions.listed(cell))
                for size in range(min(coalitions.members, len(people)) + 1):
                    sets = sorted(combinations(range(len(people)), size), key=lambda some: some[::-1])
                    amounts += [
                        coalitions.amount(cell, up, frozenset(people[k] for k in some)) for some in sets
                    ]
        return np.array(starts, dtype=np.int64), np.array(amounts, dtype=np.int64)

    def _amounts_of(self, cells: Int, up: Bool) -> tuple[Int, Int]:
        """Where the amounts of some demands begin, and all amounts."""
        starts, amounts = self._amounts
        return starts[self._place_of(cells, up)], amounts

    def _place_of(self, cells: Int, up: Bool) -> Int:
        """The places of demands in `_amounts`."""
        return np.asarray(self.own.row[cells] + np.where(up, 0, len(self.own.cells)))
