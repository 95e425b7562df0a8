"""Families of witnesses against coalitions: which of them the deviations found for a cell do not keep off.

Too many coalitions are possible to try all, and few need a visit. Let y be a deviation that holds against
coalition C. Call a cell that y moves *tight* if the largest parts of the cell, as many as attack together,
would leave less room than the largest demand on the target needs. Then y holds against every larger coalition
whose further members have no part in the target and in no tight cell: the demand is the same, the rooms of
tight cells are the same, and those of all others are large enough. So the search begins with the empty
coalition; finds for each coalition a deviation that holds; and goes on with one member more, among those with
a part in the target or a tight cell. A coalition against whom none holds is left open, and not enlarged.

Requires deviations, and listed contributors with ids (`Coalitions.are_known`). Cost: for each demand the
coalitions visited; where they are too many, the next one is left open.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

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
    most_open: int = param(24, "Coalitions that are listed as open for one demand.", least=1)


class CoalitionFamilies(Families):
    """Tells which coalitions families of deviations keep off; see the head of the module."""

    def __init__(self, own: OwnDemands, members: int, params: CoalitionParams | None = None) -> None:
        super().__init__(own)
        self.coalitions, self._params = Coalitions(own, members), params or CoalitionParams()

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
        """See `Families.known_to`."""
        rooms: dict[int, tuple[int, int]] = {}
        for number in who.tolist():
            for cell, *room in zip(*(column.tolist() for column in self._one(number, target)), strict=True):
                known = rooms.get(cell, (UNBOUNDED, UNBOUNDED))
                rooms[cell] = min(room[0], known[0]), min(room[1], known[1])
        cells = np.array(sorted(rooms), dtype=np.int64)
        down, up = np.array([rooms[cell] for cell in cells.tolist()], dtype=np.int64).reshape(-1, 2).T
        return cells, down.copy(), up.copy()

    def rooms(self, who: Int, target: int) -> tuple[Int, Int]:
        """How far all cells can fall and rise as far as all of these coalitions can tell."""
        down, up = (room.copy() for room in self.unlisted)
        down[target], up[target] = (room[target] for room in self.everybody)
        cells, own_down, own_up = self.known_to(who, target)
        down[cells], up[cells] = own_down, own_up
        return down, up

    def _one(self, number: int, target: int) -> tuple[Int, Int, Int]:
        who = self.coalitions.of(number)
        cells, own = self.coalitions.places(who, target)
        base = tuple(
            np.where(cells == target, plain[cells], vague[cells])
            for plain, vague in zip(self.everybody, self.unlisted, strict=True)
        )
        down, up = self._narrowed(cells, own, *base)
        whole = [cell != target and self.coalitions.is_made_up_by(cell, who) for cell in cells.tolist()]
        down[whole] = up[whole] = 0
        return cells, down, up

    def left(self, claims: Claims, cells: Int, up: Bool) -> StillOpen:
        """See `Families.left`; all coalitions that are not kept off are among the others."""
        place = np.full((2, self.problem.table.num_cells), -1, dtype=np.int64)
        place[up.astype(np.int64), cells] = np.arange(len(cells))
        demand, most = place[claims.up.astype(np.int64), claims.cells], self.most(cells, up)
        known = np.flatnonzero(demand >= 0)
        named: list[list[_ReadClaim]] = [[] for _ in range(len(cells))]
        lengths = np.diff(claims.witnesses.starts)[claims.numbers[known]]
        for part in np.array_split(known, max(1, int(lengths.sum()) // (10 * CHUNK))):
            if len(part):
                for number, claim in zip(
                    demand[part].tolist(), self._read(claims, part, most[demand[part]]), strict=True
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

    def left_by(self, found: Sequence[Witness], cell: int, up: bool) -> Int:
        """The numbers of coalitions whom deviations that move the cell do not keep off it."""
        numbers = np.arange(len(found))
        claims = Claims(Witnesses.of(found), np.full(len(found), cell), np.full(len(found), up), numbers)
        left = self.left(claims, np.array([cell]), np.array([up]))
        return np.array([NOBODY]) if left.is_open.any() else left.who

    def _read(self, claims: Claims, part: Int, most: Int) -> Iterator[_ReadClaim]:
        """What matters of each claim: how far it reaches for somebody without a part, and its tight cells."""
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
        listed = list(zip(*(column[tight].tolist() for column in columns), strict=True))
        for number, far in enumerate(reach.tolist()):
            mine = listed[borders[number] : borders[number + 1]]
            yield _ReadClaim(self, far, [_Tight(*row) for row in mine])

    def _open(self, cell: int, up: bool, claims: Sequence[_ReadClaim]) -> list[Coalition]:
        """Coalitions against whom no claim holds; at most so many."""
        coalitions, here = self.coalitions, self.coalitions.people(cell)
        seen: set[Coalition] = {EMPTY}
        stack = [EMPTY]
        found: list[Coalition] = []
        while stack and len(found) < self._params.most_open:
            who = stack.pop()
            amount, further = coalitions.amount(cell, up, who), here
            if amount > 0:
                claim = next((claim for claim in claims if claim.holds(who, amount)), None)
                if claim is None or len(seen) > self._params.most_visited:
                    found.append(who)
                    continue
                further = here | claim.people
            if len(who) < coalitions.members:
                larger = {who | {one} for one in further if one not in who} - seen
                stack += larger
                seen |= larger
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


@dataclass(frozen=True)
class _Tight:
    """A tight cell of a claim: which way and how far it moves, beside the step of the target."""

    cell: int
    rises: bool
    is_target: bool
    moved: int
    step: int


class _ReadClaim:
    """A claimed deviation, and the cells in which coalitions may stop it."""

    def __init__(self, families: CoalitionFamilies, reach: int, tight: Sequence[_Tight]) -> None:
        self._families, self._reach = families, reach
        self._tight: dict[int, list[_Tight]] = {}
        for row in tight:
            for one in families.coalitions.people(row.cell):
                self._tight.setdefault(one, []).append(row)
        self._far: dict[tuple[int, Coalition], int] = {}

    @property
    def people(self) -> frozenset[int]:
        """Everybody with a part in a tight cell."""
        return frozenset(self._tight)

    def holds(self, who: Coalition, amount: int) -> bool:
        """Whether the target moves by the amount within what the coalition cannot rule out."""
        if self._reach < amount:
            return False
        return all(self._allows(row, who, amount) for one in who for row in self._tight.get(one, ()))

    def _allows(self, row: _Tight, who: Coalition, amount: int) -> bool:
        """Whether one cell has that much room; what it allows is worked out once for those in it."""
        coalitions = self._families.coalitions
        here = who & coalitions.people(row.cell)
        key = row.cell, here
        if key not in self._far:
            room = self._families.room(row.cell, row.rises, here, is_target=row.is_target)
            self._far[key] = UNBOUNDED if room == UNBOUNDED else room * row.step // row.moved
        return self._far[key] >= amount
