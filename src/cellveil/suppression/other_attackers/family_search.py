"""Families of witnesses against single contributors, by cubes: for tables with thousands of insiders.

A demand is settled when each insider is kept off by one deviation of its family (`attackers.families`). The
search goes from what costs nothing to what costs most:

1. *reuse*: the witnesses against outsiders, for all demands of the cells that they move;
2. *free cubes*: against nobody in particular, then against exactly those who are still in the way, all of
   them together, then one by one; of the cells that are hidden already;
3. *paid cubes*: sums of cubes that hide the least weight more, as long as that is cheap; then programs over
   the cells that are hidden by now;
4. *dear ones*, the largest first: the cheapest deviations by linear programs, against all in the way at once
   or one after the other, or sums of cubes, whichever cost less;
5. *ruin and recreate* of all secondaries, those against outsiders too (`family_exchange`).

Requires a table in which cubes can be packed (`engines.cube_packing`). Ensures nothing: the claims are for
the judge, and what is still open is for linear programs. Cost: some ten microseconds for a free cube, linear
in the table for a program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.attackers.families import Claims
from cellveil.attackers.insiders import SelfKnowing
from cellveil.clock import Deadline
from cellveil.deviations.witness import Witness, Witnesses
from cellveil.params import Params, param, part
from cellveil.suppression.engines.cube_packing import CubePackingParams
from cellveil.suppression.other_attackers.family_exchange import ExchangeParams, FamilyExchange
from cellveil.suppression.other_attackers.family_pool import FamilyPool
from cellveil.suppression.other_attackers.group_moves import GroupMoves, moved_by


@dataclass(frozen=True, kw_only=True)
class FamilySearchParams(Params):
    """Parameters of the search for families of witnesses."""

    fewest_cells: int = param(500, "Cells of a table below which programs do without families.", least=0)
    most_reused: int = param(4, "Deviations of others, the shortest, that are tried for a demand.", least=0)
    longest: int = param(64, "Most cells of a deviation that is tried for all demands it touches.", least=1)
    free_rounds: int = param(1, "Rounds of free cubes against those still in the way.", least=0)
    paid_rounds: int = param(3, "Rounds of cheap ones.", least=0)
    dear_rounds: int = param(6, "How often a dear demand is tried, by programs or cubes.", least=0)
    longest_dear: int = param(2000, "The same for deviations that were dear.", least=1)
    paid_beams: int = param(400, "Most beam searches for one sum of cubes.", least=0)
    cheap: float = param(0.001, "Share of the pattern's cost up to which cubes do without programs.", least=0)
    for_free_programs: float = param(
        0.25, "Share of the time left for programs over hidden cells.", least=0, most=1
    )
    for_programs: float = param(0.6, "Share of the time left for programs.", least=0, most=1)
    for_judge: float = param(
        0.15, "Share of the time left that is kept for the judge, who visits coalitions.", least=0, most=1
    )
    most_cells: int = param(3000, "Cells of a table up to which programs also go one by one.", least=0)
    most_single: int = param(8, "Insiders of one demand up to which each is tried for itself.", least=0)
    most_claimed: int = param(
        8, "Deviations of branch and cut, the shortest, that are named for a primary.", least=1
    )
    most_tried: int = param(
        4, "Earlier deviations of a cell, the latest ones, tried against an insider.", least=1
    )
    exchange: ExchangeParams = part(ExchangeParams)
    packing: CubePackingParams = part(CubePackingParams)


Search = Callable[[int, Int | None], Iterator[Witness]]


class FamilySearch:
    """A pattern that is to keep off every single contributor; see the head of the module."""

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
        self._is_small = insiders.problem.table.num_cells <= self.params.most_cells
        self._moves = GroupMoves(
            insiders, hidden, deadline, by_slopes=self._is_small, packing=self.params.packing, seed=seed
        )
        self.pool, self._seed = FamilyPool(self._moves.families), seed
        self._for_programs = deadline

    @property
    def num_lps(self) -> int:
        """How many programs were solved."""
        return self._moves.num_lps

    @property
    def hidden(self) -> Bool:
        """The pattern."""
        return self._moves.hidden.copy()

    @property
    def claims(self) -> Claims:
        """Deviations found, with the demands for which they are named; against coalitions, those of use."""
        together = self.insiders.together
        return self.pool.claims if together is None else together.enough(self.pool.claims)

    def reuse(self, witnesses: Witnesses) -> None:
        """Try deviations for all demands that they touch; long ones for outsiders' levels only."""
        is_primary = np.zeros(self.insiders.problem.table.num_cells, dtype=bool)
        is_primary[self.pool.cells] = True
        self.pool.add(Claims.of_all(witnesses, is_primary, self.params.longest, self.params.most_reused))
        self.pool.vouch(witnesses)

    def run(self) -> None:
        """Settle what can be settled by cubes and few programs, and make it cheaper."""
        self._meet_by_one_cube()
        self._in_rounds(self._free, self.params.free_rounds)
        self._in_rounds(self._paid, self.params.paid_rounds)
        if self._is_small:
            self._by_free_programs()
        self._in_batches()
        exchange = FamilyExchange(
            self.pool, self._moves, self.deadline, self.params.exchange, seed=self._seed
        )
        exchange.run(self._moves.hidden & ~self.insiders.problem.hidden_at_start)

    def _meet_by_one_cube(self) -> None:
        """One free cube for each open demand, against outsiders, or nobody in particular."""
        found, nobody = [], np.zeros(0, dtype=np.int64)
        for demand in self.pool.open_demands().tolist():
            if self.deadline.is_over:
                break
            who, amount = None if self.pool.is_short[demand] else nobody, int(self.pool.size[demand])
            found.append((demand, self._moves.by_cubes(*self._target(demand), amount, who, beams=0)[0]))
        self._take(found)

    def _target(self, demand: int) -> tuple[int, bool]:
        return int(self.pool.cells[demand]), bool(self.pool.up[demand])

    def _in_rounds(self, search: Search, rounds: int) -> None:
        """Search for each open demand, against those who are in its way; again while that settles some."""
        before = -1
        for _ in range(rounds):
            now = int(self.pool.settled.sum())
            if self.deadline.is_over or now == before or now == len(self.pool.cells):
                break
            before = now
            self._one_round(search, self.pool.open_demands())

    def _by_free_programs(self) -> None:
        """Programs over hidden cells, for all who are in the way together, or else one by one."""
        deadline = self.deadline.share(self.params.for_free_programs)
        inside, found = self._moves.inside(deadline), []
        for demand in self.pool.open_demands().tolist():
            if deadline.is_over:
                break
            who = self.pool.left(demand)
            for group in (who, *_apart(who)[: self.params.most_single]):
                witness = self._moves.by_free_program(
                    inside, *self._target(demand), self.pool.needed(demand, group), group
                )
                if witness is not None:
                    found.append((demand, witness))
                if deadline.is_over or (witness is not None and group is who):
                    break
        self._take(found)

    def _in_batches(self) -> None:
        """What is dear, one demand at a time: what is hidden for one often settles others."""
        tries = np.zeros(len(self.pool.cells), dtype=np.int64)
        self._for_programs = self.deadline.share(self.params.for_programs)
        while not self.deadline.is_over:
            some = self.pool.open_demands()
            some = some[tries[some] < self.params.dear_rounds][:1]
            if not len(some):
                return
            tries[some] += 1
            self._one_round(self._dear, some, self.params.longest_dear)

    def _one_round(self, search: Search, some: Int, longest: int | None = None) -> None:
        found = []
        for demand in some.tolist():
            if self.deadline.is_over:
                break
            found += [(demand, one) for one in search(demand, self.pool.left(demand))]
        self._take(found, longest)

    def _free(self, demand: int, who: Int | None) -> Iterator[Witness]:
        """Cubes of hidden cells: against all of these insiders, or against one after the other."""
        together, _ = self._against(demand, who, 0)
        if together is not None:
            yield together
            return
        for one in _apart(who)[: self.params.most_single]:
            alone, _ = self._against(demand, one, 0)
            if alone is not None:
                yield alone

    @property
    def _cheap(self) -> float:
        """The cost up to which a sum of cubes is taken without asking for programs."""
        return self.params.cheap * self._moves.cost

    def _paid(self, demand: int, who: Int | None) -> Iterator[Witness]:
        """A sum of cubes for which more is hidden, if that costs little."""
        witness, cost = self._against(demand, who, self.params.paid_beams, self._cheap)
        if witness is not None and cost <= self._cheap:
            yield witness

    def _dear(self, demand: int, who: Int | None) -> Iterator[Witness]:
        """Deviations by programs or cubes, whichever cost less; by cubes alone where there is no time."""
        plans = [self._by_cubes(demand, [who])]
        if plans[0] and self._moves.price(plans[0]) <= self._cheap:
            self._moves.hide(moved_by(plans[0]))
            yield from plans[0]
            return
        singles = _apart(who)
        if len(singles) > self.params.most_single:
            singles = []
            plans.append(self._by_halves(demand, who))
        plans.append(self._by_cubes(demand, singles))
        if not any(plans) or not self._for_programs.is_over:
            plans.append(self._by_programs(demand, [who]))
            if singles and (self._is_small or not plans[-1]):
                plans.append(self._by_programs(demand, singles))
        plans = [plan for plan in plans if plan]
        if plans:
            best = min(plans, key=self._moves.price)
            self._moves.hide(moved_by(best))
            yield from best

    def _by_cubes(self, demand: int, groups: Sequence[Int | None]) -> list[Witness]:
        """Sums of cubes against each of these groups; none if one has none. Nothing is hidden."""
        found = []
        for who in groups:
            witness, _ = self._against(demand, who, self.params.paid_beams, -1.0)
            if witness is None:
                return []
            found.append(witness)
        return found

    def _by_halves(self, demand: int, who: Int | None) -> list[Witness]:
        """Sums of cubes against halves of a group, halved again where one is too many for them."""
        if who is None or len(who) < 2:
            return []
        found = []
        for half in np.array_split(who, 2):
            plan = self._by_cubes(demand, [half]) or self._by_halves(demand, half)
            if not plan:
                return []
            found += plan
        return found

    def _by_programs(self, demand: int, groups: Sequence[Int | None]) -> list[Witness]:
        """The cheapest deviations against each of these groups, one after the other; none if one has none."""
        found: list[Witness] = []
        hidden = self._moves.hidden.copy()
        for who in groups:
            amount = self.pool.needed(demand, who)
            witness = self._moves.by_program(*self._target(demand), amount, who, hidden)
            if witness is None:
                return []
            hidden[witness.cells] = True
            found.append(witness)
        return found

    def _against(
        self, demand: int, who: Int | None, most: int, budget: float = np.inf
    ) -> tuple[Witness | None, float]:
        """A deviation within what all of these insiders cannot rule out, and its cost."""
        amount = self.pool.needed(demand, who)
        return self._moves.by_cubes(*self._target(demand), amount, who, beams=most, budget=budget)

    def _take(self, found: Sequence[tuple[int, Witness | None]], longest: int | None = None) -> None:
        """Take in what was found, each for its demand, the small ones for all demands that they touch."""
        kept = [(demand, witness) for demand, witness in found if witness is not None]
        if not kept:
            return
        pool, demands = self.pool, np.array([demand for demand, _ in kept])
        is_open = np.zeros(self.insiders.problem.table.num_cells, dtype=bool)
        is_open[pool.cells[~pool.settled]] = True
        witnesses = Witnesses.of([witness for _, witness in kept])
        short = Claims.of_all(witnesses, is_open, longest or self.params.longest, self.params.most_reused)
        pool.add(
            Claims(
                witnesses,
                np.concatenate([pool.cells[demands], short.cells]),
                np.concatenate([pool.up[demands], short.up]),
                np.concatenate([np.arange(len(kept)), short.numbers]),
            )
        )


def _apart(who: Int | None) -> list[Int]:
    """Several insiders, one by one."""
    return [] if who is None or len(who) < 2 else list(who[:, None])
