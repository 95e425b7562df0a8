"""Families of witnesses against single contributors, by cubes: for tables with thousands of insiders.

A demand is settled when each insider is kept off by one deviation of its family (`attackers.families`). The
search goes from what costs nothing to what costs most:

1. *reuse*: the witnesses against outsiders, for all demands of the cells that they move;
2. *free cubes*: against nobody in particular, then against exactly those who are still in the way, all of
   them together, then one by one; of the cells that are hidden already;
3. *paid cubes*: sums of cubes that hide the least weight more, as long as that is cheap;
4. *dear ones*, the largest first: the cheapest deviations by linear programs, against all in the way at once
   or one after the other, or sums of cubes, whichever cost less.

Requires a table in which cubes can be packed (`engines.cube_packing`). Ensures nothing: the claims are for
the judge, and what is still open is for linear programs. Cost: some ten microseconds for a free cube, linear
in the table for a program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.attackers.families import Claims, Families, StillOpen
from cellveil.attackers.insiders import SelfKnowing
from cellveil.clock import Deadline
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.movement import Movement
from cellveil.deviations.movement_program import MovementParams
from cellveil.deviations.witness import Witness, Witnesses
from cellveil.params import Params, param, part
from cellveil.problem import Status
from cellveil.suppression.engines.cube_packing import CubePackingParams, Packing


@dataclass(frozen=True, kw_only=True)
class FamilySearchParams(Params):
    """Parameters of the search for families of witnesses."""

    fewest_cells: int = param(500, "Cells of a table below which programs do without families.", least=0)
    most_reused: int = param(4, "Deviations of others, the shortest, that are tried for a demand.", least=0)
    longest: int = param(64, "Most cells of a deviation that is tried for all demands it touches.", least=1)
    free_rounds: int = param(1, "Rounds of free cubes against those still in the way.", least=0)
    paid_rounds: int = param(3, "Rounds of cheap ones.", least=0)
    dear_rounds: int = param(6, "How often a dear demand is tried, by programs or cubes.", least=0)
    dear_batch: int = param(12, "Dear demands between two looks at what is still open.", least=1)
    paid_beams: int = param(400, "Most beam searches for one sum of cubes.", least=0)
    cheap: float = param(0.002, "Share of the pattern's cost up to which cubes do without programs.", least=0)
    for_programs: float = param(0.4, "Share of the time left for programs.", least=0, most=1)
    most_cells: int = param(3000, "Cells of a table up to which programs also go one by one.", least=0)
    most_single: int = param(8, "Insiders of one demand up to which each is tried for itself.", least=0)
    most_tried: int = param(
        4, "Earlier deviations of a cell, the latest ones, tried against an insider.", least=1
    )
    packing: CubePackingParams = part(CubePackingParams)


class FamilySearch:
    """A pattern that is to keep off every single contributor; see the head of the module.

    Attributes
    ----------
    hidden
        The pattern; grows.
    left
        What is not settled yet.
    """

    def __init__(
        self,
        insiders: SelfKnowing,
        hidden: Bool,
        deadline: Deadline,
        params: FamilySearchParams | None = None,
        *,
        seed: int = 0,
    ) -> None:
        self.insiders, self.deadline, self.params = insiders, deadline, params or FamilySearchParams()
        self.families = Families(insiders.own)
        self._cells, self._up = self.families.open_demands()
        self._amounts = self.families.amounts(self._cells, self._up)
        self._claims: list[Claims] = []
        self.left: StillOpen = self.families.left(Claims.nothing(), self._cells, self._up)
        problem = insiders.problem
        idle = np.where(problem.status == Status.FROZEN, Status.FROZEN, Status.SAFE).astype(np.int8)
        nothing = np.zeros_like(problem.lpl)
        plain = problem.replace(status=idle, lpl=nothing, upl=nothing, spl=nothing, reasons={}, origins={})
        self._ledger, self._start = Ledger(plain, hidden), hidden
        self._for_programs = deadline
        slopes = MovementParams().slopes if problem.table.num_cells <= self.params.most_cells else ()
        movable = problem.status != Status.FROZEN
        self._moves = Movement(
            problem.table.relations,
            movable,
            problem.weight,
            deadline=deadline,
            params=MovementParams(slopes=slopes),
        )
        self._packing = Packing(self._ledger, self.params.packing, seed=seed)
        self._packing.hide(np.zeros(0, dtype=np.int64))

    @property
    def num_lps(self) -> int:
        """How many programs were solved."""
        return self._moves.num_lps

    @property
    def hidden(self) -> Bool:
        """The pattern."""
        return self._ledger.hidden.copy()

    @property
    def claims(self) -> Claims:
        """All deviations found, with the demands for which they are named."""
        return Claims.joined(self._claims)

    def believe(self, claims: Claims) -> None:
        """Take claims into account: of deviations of hidden cells."""
        if not len(claims):
            return
        self._claims.append(claims)
        mine = np.flatnonzero(~self.left.settled)
        again = self.families.left(self.claims, self._cells[mine], self._up[mine])
        listed, is_open = self.left.listed.copy(), self.left.is_open.copy()
        listed[mine], is_open[mine] = again.listed, again.is_open
        self.left = StillOpen(self._cells, self._up, listed, is_open, mine[again.demands], again.who)

    def reuse(self, witnesses: Witnesses) -> None:
        """Try deviations for all demands that they touch."""
        is_asked = self.insiders.own.row >= 0
        self.believe(Claims.of_all(witnesses, is_asked, self.params.longest, self.params.most_reused))

    def run(self) -> None:
        """Settle what can be settled by cubes and few programs."""
        self._meet_by_one_cube()
        self._in_rounds(self._free, self.params.free_rounds)
        self._in_rounds(self._paid, self.params.paid_rounds)
        self._in_batches()
        self._clean_up()

    def _clean_up(self) -> None:
        """Publish what was hidden here again, the dearest first, where other deviations do as well."""
        added = np.flatnonzero(self._ledger.hidden & ~self._start)
        for cell in added[np.argsort(-self._ledger.problem.weight[added], kind="stable")].tolist():
            if self.deadline.is_over or not self.left.settled.all():
                return
            self._spare(cell)

    def _spare(self, cell: int) -> None:
        """Publish one cell if the demands whose deviations move it are settled without it."""
        claims = self.claims
        owner = np.repeat(np.arange(len(claims.witnesses)), np.diff(claims.witnesses.starts))
        moves_it = np.zeros(len(claims.witnesses), dtype=bool)
        moves_it[owner[claims.witnesses.cells == cell]] = True
        lost = moves_it[claims.numbers]
        kept, before = claims.take(~lost), (self._claims, self.left)
        is_touched = np.zeros((2, self._ledger.problem.table.num_cells), dtype=bool)
        is_touched[claims.up[lost].astype(np.int64), claims.cells[lost]] = True
        touched = is_touched[self._up.astype(np.int64), self._cells]
        listed, is_open = self.left.listed.copy(), self.left.is_open.copy()
        again = self.families.left(kept, self._cells[touched], self._up[touched])
        listed[touched], is_open[touched] = again.listed, again.is_open
        numbers = np.flatnonzero(touched)
        self._claims = [kept]
        self.left = StillOpen(self._cells, self._up, listed, is_open, numbers[again.demands], again.who)
        self._packing.publish(cell)
        self._in_rounds(self._free, 1)
        if not self.left.settled.all():
            self._claims, self.left = before
            self._packing.hide(np.array([cell]))

    def _meet_by_one_cube(self) -> None:
        """One free cube for each open demand, against nobody in particular."""
        found, rooms = [], self.families.unlisted
        with self._rooms(np.arange(len(rooms[0])), *rooms):
            for demand in self._open():
                if self.deadline.is_over:
                    break
                found.append((demand, self._serve(demand, int(self._amounts[demand].max()), beams=0)))
        self._take(found)

    def _in_rounds(self, search: Callable[[int, Int], Iterator[Witness]], rounds: int) -> None:
        """Search for each open demand, against those who are in its way; again while that settles some."""
        before = -1
        for _ in range(rounds):
            now = int(self.left.settled.sum())
            if self.deadline.is_over or now == before or now == len(self._cells):
                break
            before = now
            self._one_round(search)

    def _in_batches(self) -> None:
        """What is dear, a few demands at a time: what is hidden for some often settles others."""
        tries = np.zeros(len(self._cells), dtype=np.int64)
        self._for_programs = self.deadline.share(self.params.for_programs)
        while not self.deadline.is_over:
            some = [demand for demand in self._open() if tries[demand] < self.params.dear_rounds]
            some = some[: self.params.dear_batch]
            if not some:
                return
            tries[some] += 1
            self._one_round(self._dear, some)

    def _one_round(
        self, search: Callable[[int, Int], Iterator[Witness]], some: list[int] | None = None
    ) -> None:
        demands, who = self.left.pairs(self.insiders.parts.who)
        order = np.argsort(demands, kind="stable")
        demands, who = demands[order], who[order]
        ends = np.searchsorted(demands, np.arange(len(self._cells) + 1))
        found = []
        for demand in self._open() if some is None else some:
            if self.deadline.is_over:
                break
            found += [(demand, one) for one in search(demand, who[ends[demand] : ends[demand + 1]])]
        self._take(found)

    def _free(self, demand: int, who: Int) -> Iterator[Witness]:
        """Cubes of hidden cells: against all of these insiders, or against one after the other."""
        together, _ = self._against(demand, who, 0)
        if together is not None:
            yield together
            return
        for one in who[: self.params.most_single].tolist() if len(who) > 1 else ():
            alone, _ = self._against(demand, np.array([one]), 0)
            if alone is not None:
                yield alone

    @property
    def _cheap(self) -> float:
        """The cost up to which a sum of cubes is taken without asking for programs."""
        return self.params.cheap * self._ledger.cost

    def _paid(self, demand: int, who: Int) -> Iterator[Witness]:
        """A sum of cubes for which more is hidden, if that costs little."""
        witness, cost = self._against(demand, who, self.params.paid_beams, self._cheap)
        if witness is not None and cost <= self._cheap:
            yield witness

    def _dear(self, demand: int, who: Int) -> Iterator[Witness]:
        """Deviations by programs or cubes, whichever cost less; by cubes where there is no time."""
        budget = np.inf if self._for_programs.is_over else self._cheap
        witness, cost = self._against(demand, who, self.params.paid_beams, budget)
        if witness is not None and cost <= budget:
            yield witness
            return
        plans = [[witness]] if witness is not None else []
        if witness is None or not self._for_programs.is_over:
            plans.append(self._by_programs(demand, [who]))
            is_small = self._ledger.problem.table.num_cells <= self.params.most_cells
            if 1 < len(who) <= self.params.most_single and (is_small or not plans[-1]):
                plans.append(self._by_programs(demand, [np.array([one]) for one in who.tolist()]))
        plans = [plan for plan in plans if plan]
        if plans:
            best = min(plans, key=self._price)
            self._packing.hide(self._moved(best))
            yield from best

    def _by_programs(self, demand: int, groups: Sequence[Int]) -> list[Witness]:
        """The cheapest deviations against each of these groups, one after the other; none if one has none."""
        found: list[Witness] = []
        hidden, cell = self._ledger.hidden.copy(), int(self._cells[demand])
        for who in groups:
            cells, down, up = self._known_to(who, cell)
            rooms = self.families.unlisted[0].copy(), self.families.unlisted[1].copy()
            rooms[0][cells], rooms[1][cells] = down, up
            amount = self._needed(demand, who)
            move = self._moves.push(cell, amount, rooms, hidden, up=bool(self._up[demand]))
            if move.witness is None:
                return []
            hidden[move.witness.cells] = True
            found.append(move.witness)
        return found

    def _moved(self, plan: Sequence[Witness]) -> Int:
        return np.unique(np.concatenate([witness.cells for witness in plan]))

    def _price(self, plan: Sequence[Witness]) -> float:
        """What is to be hidden for some deviations."""
        cells = self._moved(plan)
        return float(self._ledger.problem.weight[cells][~self._ledger.hidden[cells]].sum())

    def _needed(self, demand: int, who: Int) -> int:
        """The largest amount that one of them must be kept from, or somebody without a part."""
        amounts = self._amounts[demand]
        if not len(who):
            return int(amounts[-1])
        rank = self.insiders.own.rank(np.full(len(who), self._cells[demand]), who)
        return int(amounts[rank].max())

    def _against(
        self, demand: int, who: Int, most: int, budget: float = np.inf
    ) -> tuple[Witness | None, float]:
        """A deviation within what all of these insiders cannot rule out, and its cost."""
        cell, up, amount = int(self._cells[demand]), bool(self._up[demand]), self._needed(demand, who)
        with self._rooms(*self._known_to(who, cell)):
            return self._packing.meet(cell, up, amount, beams=most, budget=budget)

    def _known_to(self, who: Int, target: int) -> tuple[Int, Int, Int]:
        """The cells of some insiders, and how far these can move as far as all of them can tell."""
        parts = self.insiders.parts
        places = [parts.places[one] for one in who.tolist() if one in parts.places]
        nothing = np.zeros(0, dtype=np.int64)
        cells = np.concatenate([nothing, *(cells for cells, _ in places)])
        own = np.concatenate([nothing, *(own for _, own in places)])
        order = np.lexsort((-own, cells))
        cells, own = cells[order], own[order]
        first = np.ones(len(cells), dtype=bool)
        first[1:] = cells[1:] != cells[:-1]
        cells, own = cells[first], own[first]
        down, up = self.families.with_own(cells, own)
        alone = (parts.count[cells] == 1) & (cells != target)
        down[alone] = up[alone] = 0
        return cells, down, up

    @contextmanager
    def _rooms(self, cells: Int, down: Int, up: Int) -> Iterator[None]:
        """Other rooms for some cells."""
        book = self._ledger
        before = book.room_down[cells].copy(), book.room_up[cells].copy()
        book.room_down[cells], book.room_up[cells] = down, up
        try:
            yield
        finally:
            self._ledger.room_down[cells], self._ledger.room_up[cells] = before

    def _open(self) -> list[int]:
        """Demands that are not settled, the largest first."""
        demands = np.flatnonzero(~self.left.settled)
        order = np.argsort(-self._amounts[demands].max(axis=1, initial=0), kind="stable")
        return [int(demand) for demand in demands[order]]

    def _serve(self, demand: int, amount: int, *, beams: int) -> Witness | None:
        """One cube or, with so many beams, a sum of cubes that moves the cell by the amount."""
        return self._packing.meet(int(self._cells[demand]), bool(self._up[demand]), amount, beams=beams)[0]

    def _take(self, found: Sequence[tuple[int, Witness | None]]) -> None:
        """Take in what was found, each for its demand, the small ones for all demands that they touch."""
        kept = [(demand, witness) for demand, witness in found if witness is not None]
        if not kept:
            return
        demands = np.array([demand for demand, _ in kept])
        witnesses = Witnesses.of([witness for _, witness in kept])
        own = Claims(witnesses, self._cells[demands], self._up[demands], np.arange(len(kept)))
        short = Claims.of_all(witnesses, self._is_open_cell, self.params.longest, self.params.most_reused)
        both = Claims(
            witnesses,
            np.concatenate([own.cells, short.cells]),
            np.concatenate([own.up, short.up]),
            np.concatenate([own.numbers, short.numbers]),
        )
        self.believe(both)

    @property
    def _is_open_cell(self) -> Bool:
        """Cells with a demand that is not settled."""
        found = np.zeros(self._ledger.problem.table.num_cells, dtype=bool)
        found[self._cells[~self.left.settled]] = True
        return found
