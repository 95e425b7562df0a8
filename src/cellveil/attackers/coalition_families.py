"""Families of witnesses against coalitions: which of them the deviations found for a cell do not keep off.

Too many coalitions are possible to try all, and few need a visit. Let y be a deviation that holds against
coalition C. Call a cell that y moves *tight* if the largest parts of the cell, as many as attack together,
would leave less room than the largest demand on the target needs. Then y holds against every larger coalition
whose further members have no part in the target and in no tight cell: the demand is the same, the rooms of
tight cells are the same, and those of all others are large enough. So the search begins with the empty
coalition; finds for each coalition a deviation that holds; and goes on with one member more, among those with
a part in the target or a tight cell. A coalition against whom none holds is left open, and not enlarged.

A coalition that is kept off stays so when deviations are added. So what was visited for a demand is kept, and
the search goes on from where it stood; it begins anew where a deviation was taken away.

Requires deviations, and listed contributors with ids (`Coalitions.are_known`). Cost: for each demand the
coalitions visited; where they are too many, the next one is left open.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from itertools import combinations, islice
from operator import is_
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Int
from cellveil.attackers.coalition_demands import EMPTY, Coalition, Coalitions
from cellveil.attackers.families import Claims, Families, StillOpen, floored
from cellveil.attackers.own_demands import OwnDemands
from cellveil.attackers.own_parts import NOBODY
from cellveil.deviations.witness import CHUNK, Witness, Witnesses
from cellveil.params import Params, param
from cellveil.tables.scaled import UNBOUNDED


@dataclass(frozen=True, kw_only=True)
class CoalitionParams(Params):
    """Parameters of the search for coalitions that are not kept off."""

    most_visited: int = param(100_000, "Coalitions tried for one demand; what is left is open.", least=1)
    most_read: int = param(200_000, "Claims of which what was read is kept; changes no result.", least=0)
    most_open: int = param(24, "Coalitions that are listed as open for one demand.", least=1)


class CoalitionFamilies(Families):
    """Tells which coalitions families of deviations keep off; see the head of the module."""

    def __init__(self, own: OwnDemands, members: int, params: CoalitionParams | None = None) -> None:
        super().__init__(own)
        self.coalitions, self._params = Coalitions(own, members), params or CoalitionParams()
        self._read_before: dict[bytes, _ReadClaim] = {}
        self._visits: dict[tuple[int, bool], _Visit] = {}
        self._rooms_alone: dict[int, dict[int, tuple[int, int]]] = {}

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
        pairs = zip(cells.tolist(), up.tolist(), strict=True)
        return np.array([self.coalitions.most(cell, rises) for cell, rises in pairs], dtype=np.int64)

    def needed(self, cell: int, up: bool, who: Int) -> int:
        """See `Families.needed`."""
        coalitions = [self.coalitions.of(number) for number in who.tolist()] or [EMPTY]
        return max(self.coalitions.amount(cell, up, one) for one in coalitions)

    def known_to(self, who: Int, target: int) -> tuple[Int, Int, Int]:
        """See `Families.known_to`.

        Who has less to themselves in a cell leaves more room: so each member alone counts, and those who meet
        in a cell together.
        """
        groups = [self.coalitions.of(number) for number in who.tolist()]
        rooms: dict[int, tuple[int, int]] = {}
        for one in EMPTY.union(*groups):
            for cell, room in self._alone(one).items():
                _narrow(rooms, cell, room)
        for group in groups:
            for cell in self._meeting_places(group):
                _narrow(rooms, cell, self._both(cell, group & self.coalitions.people(cell)))
        if target in rooms:
            here = {group & self.coalitions.people(target) for group in groups} - {EMPTY}
            both = [self._both(target, some, is_target=True) for some in here]
            rooms[target] = min(down for down, _ in both), min(up for _, up in both)
        cells = np.array(sorted(rooms), dtype=np.int64)
        down, up = np.array([rooms[cell] for cell in cells.tolist()], dtype=np.int64).reshape(-1, 2).T
        return cells, down.copy(), up.copy()

    def _alone(self, one: int) -> dict[int, tuple[int, int]]:
        """How far the cells of one contributor can fall and rise for it, none of them in question."""
        if one not in self._rooms_alone:
            alone = frozenset({one})
            self._rooms_alone[one] = {
                cell: self._both(cell, alone) for cell in self.coalitions.cells_of(one).tolist()
            }
        return self._rooms_alone[one]

    def _meeting_places(self, who: Coalition) -> set[int]:
        """The cells in which several members have a part."""
        return set().union(*(self._alone(a).keys() & self._alone(b).keys() for a, b in combinations(who, 2)))

    def _both(self, cell: int, who: Coalition, *, is_target: bool = False) -> tuple[int, int]:
        down, up = (self.room(cell, side, who, is_target=is_target) for side in (False, True))
        return down, up

    def rooms(self, who: Int, target: int) -> tuple[Int, Int]:
        """How far all cells can fall and rise as far as all of these coalitions can tell."""
        down, up = (room.copy() for room in self.unlisted)
        down[target], up[target] = (room[target] for room in self.everybody)
        cells, own_down, own_up = self.known_to(who, target)
        down[cells], up[cells] = own_down, own_up
        return down, up

    def left(self, claims: Claims, cells: Int, up: Bool) -> StillOpen:
        """See `Families.left`; all coalitions that are not kept off are among the others."""
        place = np.full((2, self.problem.table.num_cells), -1, dtype=np.int64)
        place[up.astype(np.int64), cells] = np.arange(len(cells))
        demand, most = place[claims.up.astype(np.int64), claims.cells], self.most(cells, up)
        named: list[list[_ReadClaim]] = [[] for _ in range(len(cells))]
        known = np.flatnonzero(demand >= 0)
        for number, claim in zip(
            demand[known].tolist(), self._read_once(claims, known, most[demand[known]]), strict=True
        ):
            named[number].append(claim)
        is_open, demands, who = np.zeros(len(cells), dtype=bool), [], []
        for number, (cell, rises) in enumerate(zip(cells.tolist(), up.tolist(), strict=True)):
            for coalition in self._open(cell, rises, named[number]) if most[number] > 0 else ():
                if coalition:
                    demands.append(number)
                    who.append(self.coalitions.number(coalition))
                else:
                    is_open[number] = True
        listed = np.zeros((len(cells), self.parts.who.shape[1]), dtype=bool)
        columns = np.array(demands, dtype=np.int64), np.array(who, dtype=np.int64)
        return StillOpen(cells, up, listed, is_open, *columns)

    def enough(self, claims: Claims) -> Claims:
        """Claims that keep off whom all of them do, the most useful ones first."""
        demands = list(zip(claims.cells.tolist(), claims.up.tolist(), strict=True))
        read = self._read_once(claims, np.arange(len(claims)), self.most(claims.cells, claims.up))
        named: dict[tuple[int, bool], list[_ReadClaim]] = {}
        for demand, claim in zip(demands, read, strict=True):
            named.setdefault(demand, []).append(claim)
        uses = {}
        for demand, some in named.items():
            self._open(*demand, some)
            uses[demand] = self._visits[demand].uses
        count = np.array(
            [uses[demand].get(id(claim), 0) for demand, claim in zip(demands, read, strict=True)]
        )
        return claims.take(np.argsort(-count, kind="stable")[: np.count_nonzero(count)])

    def left_by(self, found: Sequence[Witness], cell: int, up: bool) -> Int:
        """The numbers of coalitions whom deviations that move the cell do not keep off it."""
        numbers = np.arange(len(found))
        claims = Claims(Witnesses.of(found), np.full(len(found), cell), np.full(len(found), up), numbers)
        left = self.left(claims, np.array([cell]), np.array([up]))
        return np.array([NOBODY]) if left.is_open.any() else left.who

    def _read_once(self, claims: Claims, chosen: Int, most: Int) -> list[_ReadClaim]:
        """What matters of some claims; `_read` of those that were not read before."""
        starts, before = claims.witnesses.starts, self._read_before
        content = np.stack([claims.witnesses.cells, claims.witnesses.numerators], axis=1)
        keys = [
            blake2b(b"%d %d " % (cell, up) + content[starts[number] : starts[number + 1]].tobytes()).digest()
            for cell, up, number in zip(
                *(column[chosen].tolist() for column in (claims.cells, claims.up, claims.numbers)),
                strict=True,
            )
        ]
        new = np.array([place for place, key in enumerate(keys) if key not in before], dtype=np.int64)
        lengths = np.diff(starts)[claims.numbers[chosen[new]]]
        for part in np.array_split(new, max(1, int(lengths.sum()) // (10 * CHUNK))):
            if len(part):
                read = self._read(claims, chosen[part], most[part])
                before.update(zip((keys[place] for place in part.tolist()), read, strict=True))
        found = [before[key] for key in keys]
        for key in keys:  # what was used last stands last
            before[key] = before.pop(key)
        for key in list(islice(before, max(len(before) - self._params.most_read, 0))):
            del before[key]
        return found

    def _read(self, claims: Claims, part: Int, most: Int) -> Iterator[_ReadClaim]:
        """How far claims reach for somebody without a part, and their tight cells."""
        rows, starts = self._rows(claims, part, most)
        down, up = self._rooms_without_part(rows)
        shown = floored(np.where(rows.rises, up, down), rows.step, rows.moved)
        reach = np.where(rows.step[starts] == 0, 0, np.minimum.reduceat(shown, starts))
        members = self.coalitions.members
        down, up = self._narrowed(rows.cells, self.parts.largest(members)[rows.cells], down, up)
        room = np.where(rows.rises, up, down)
        room[(self.parts.count[rows.cells] <= members) & ~rows.is_target] = 0
        tight = np.flatnonzero(floored(room, rows.step, rows.moved) < most[rows.owner])
        borders = np.searchsorted(rows.owner[tight], np.arange(len(part) + 1))
        columns = (rows.cells, rows.rises, rows.is_target, rows.moved, rows.step)
        shown_tight = tuple(column[tight] for column in columns)
        for number, far in enumerate(reach.tolist()):
            yield _ReadClaim(self, far, shown_tight, slice(*borders[number : number + 2].tolist()))

    def _open(self, cell: int, up: bool, claims: Sequence[_ReadClaim]) -> list[Coalition]:
        """Coalitions against whom no claim holds; at most so many."""
        visit = self._visits.get((cell, up))
        if visit is None or not visit.is_continued_by(claims):
            visit = self._visits[cell, up] = _Visit({EMPTY}, [EMPTY])
        coalitions, here = self.coalitions, self.coalitions.people(cell)
        visit.claims, seen, stack = list(claims), visit.seen, visit.stack
        found: list[Coalition] = []
        while stack and len(found) < self._params.most_open:
            who = stack.pop()
            amount = coalitions.amount(cell, up, who)
            further: AbstractSet[int] = here
            if amount > 0:
                claim = next((claim for claim in claims if claim.holds(who, amount)), None)
                if claim is None or len(seen) > self._params.most_visited:
                    found.append(who)
                    continue
                visit.uses[id(claim)] = visit.uses.get(id(claim), 0) + 1
                further = here | claim.people
                if len(who) + 1 == coalitions.members:
                    further = {one for one in further if one in here or not claim.is_beside(one, who, amount)}
            if len(who) < coalitions.members:
                larger = {who | {one} for one in further if one not in who} - seen
                stack += larger
                seen |= larger
        stack += found
        return found

    def room(self, cell: int, up: bool, who: Coalition, *, is_target: bool) -> int:
        """How far one cell can move for a coalition; UNBOUNDED where nothing limits it."""
        if not is_target and self.coalitions.is_made_up_by(cell, who):
            return 0
        room = int(self.everybody[up][cell])
        if not self.own.one_signed[up][cell]:
            return room
        own, value = self.coalitions.known(cell, who, is_target=is_target), self.problem.table.values[cell]
        return min(room, max(-own - int(value) if up else int(value) - own, 0))


def _narrow(rooms: dict[int, tuple[int, int]], cell: int, room: tuple[int, int]) -> None:
    """The smaller of two rooms, each way."""
    before = rooms.get(cell)
    rooms[cell] = room if before is None else (min(before[0], room[0]), min(before[1], room[1]))


@dataclass
class _Visit:
    """How far the search for open coalitions has come for one demand; the stack has what is left."""

    seen: set[Coalition]
    stack: list[Coalition]
    claims: list[_ReadClaim] = field(default_factory=list)
    uses: dict[int, int] = field(default_factory=dict)

    def is_continued_by(self, claims: Sequence[_ReadClaim]) -> bool:
        """Whether these are the claims of before, and perhaps more."""
        return len(claims) >= len(self.claims) and all(map(is_, self.claims, claims))


class _Tight(NamedTuple):
    """A tight cell of a claim: which way and how far it moves, beside the step of the target."""

    cell: int
    rises: bool
    is_target: bool
    moved: int
    step: int


class _ReadClaim:
    """A claimed deviation, and the cells in which coalitions may stop it."""

    def __init__(
        self, families: CoalitionFamilies, reach: int, columns: tuple[NDArray[Any], ...], mine: slice
    ) -> None:
        self._families, self._reach, self._columns, self._mine = families, reach, columns, mine
        self._far: dict[tuple[int, Coalition], int] = {}
        self._far_alone: dict[int, int] = {}

    @cached_property
    def _tight(self) -> list[_Tight]:
        columns = (column[self._mine].tolist() for column in self._columns)
        return list(map(_Tight._make, zip(*columns, strict=True)))

    @cached_property
    def _places(self) -> dict[int, list[_Tight]]:
        """The tight cells of everybody with a part in one."""
        found: dict[int, list[_Tight]] = {}
        for row in self._tight:
            for one in self._families.coalitions.people(row.cell):
                found.setdefault(one, []).append(row)
        return found

    @property
    def people(self) -> AbstractSet[int]:
        """Everybody with a part in a tight cell."""
        return self._places.keys()

    def holds(self, who: Coalition, amount: int) -> bool:
        """Whether the target moves by the amount within what the coalition cannot rule out."""
        if self._reach < amount:
            return False
        return all(self._allows(row, who) >= amount for one in who for row in self._places.get(one, ()))

    def is_beside(self, one: int, who: Coalition, amount: int) -> bool:
        """Whether it holds with one member more, as that one has no tight cell in common with the others.

        Provided that it holds against the others, and that the one has no part in the target.
        """
        own = self._places.get(one, ())
        if any(not who.isdisjoint(self._families.coalitions.people(row.cell)) for row in own):
            return False
        if one not in self._far_alone:
            alone = frozenset({one})
            self._far_alone[one] = min((self._allows(row, alone) for row in own), default=UNBOUNDED)
        return self._far_alone[one] >= amount

    def _allows(self, row: _Tight, who: Coalition) -> int:
        """How far the target can move for the sake of one cell; worked out once for those in it."""
        here = who & self._families.coalitions.people(row.cell)
        key = row.cell, here
        if key not in self._far:
            room = self._families.room(row.cell, row.rises, here, is_target=row.is_target)
            self._far[key] = UNBOUNDED if room == UNBOUNDED else room * row.step // row.moved
        return self._far[key]
