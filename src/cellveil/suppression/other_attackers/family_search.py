"""Families of witnesses against single contributors, by cubes: for tables with thousands of insiders.

A demand is settled when each insider is kept off by one deviation of its family (`attackers.families`). The
search goes from what costs nothing to what costs most:

1. *reuse*: the witnesses against outsiders, for all demands of the cells that they move;
2. *free cubes*: against nobody in particular, then against exactly those who are still in the way, all of
   them together, then one by one; of the cells that are hidden already;
3. *paid cubes*: sums of cubes that hide the least weight more, as long as that is cheap; then programs over
   the cells that are hidden by now;
4. *dear ones*, the largest first: the cheapest deviations by linear programs, against all in the way at once
   or one after the other, or sums of cubes, whichever cost less. A program may take minutes in a large table,
   so each has a share of the time; a demand for which nothing was found then waits until all others are met;
5. *at any cost*, where time runs short: sums of cubes from few beams, then free cubes with everything
   suppressed, which are found in a moment;
6. *ruin and recreate* of all secondaries, those against outsiders too (`family_exchange`).

Requires a table in which cubes can be packed (`engines.cube_packing`). Ensures nothing: the claims are for
the judge, and what is still open is for linear programs. Cost: some ten microseconds for a free cube, linear
in the table for a program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.attackers.enough_claims import enough_claims
from cellveil.attackers.families import Claims
from cellveil.attackers.insiders import SelfKnowing
from cellveil.clock import Deadline, counted_time
from cellveil.deviations.witness import Witness, Witnesses
from cellveil.params import Params, param, part
from cellveil.problem import Status
from cellveil.suppression.engines.cube_packing import CubePackingParams
from cellveil.suppression.other_attackers.family_exchange import ExchangeParams, FamilyExchange
from cellveil.suppression.other_attackers.family_pool import FamilyPool
from cellveil.suppression.other_attackers.group_moves import Crowd, Group, GroupMoves, moved_by


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
    for_costly: float = param(
        0.5,
        "Most of the time left, as a share, that is kept for deviations at any cost.",
        least=0,
        most=1,
    )
    costly_pace: float = param(
        12.0, "How many times as long as a first look at others' deviations these take, a member.", least=0
    )
    costly_rounds: int = param(4, "Rounds of these.", least=0)
    costly_beams: int = param(20, "Most beam searches for one of them.", least=0)
    for_programs: float = param(0.6, "Share of the time left for programs.", least=0, most=1)
    for_one_program: float = param(
        0.1, "Share of that which one demand gets, while others are open.", least=0, most=1
    )
    for_late_program: float = param(
        0.5, "Share of the time left for a program of a demand that was put off.", least=0, most=1
    )
    for_judge: float = param(
        0.3, "Most of the time left, as a share, that is kept for judge and verifier.", least=0, most=1
    )
    judge_pace: float = param(
        16.0, "How many times as long as a first look at others' deviations these take, a member.", least=0
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
        self._is_joint = insiders.coalition > 1
        self._is_small = insiders.problem.table.num_cells <= self.params.most_cells
        self._moves = GroupMoves(
            insiders, hidden, deadline, by_slopes=self._is_small, packing=self.params.packing, seed=seed
        )
        self.pool, self._seed = FamilyPool(self._moves.families), seed
        self._unhurried, self._for_programs, self._tries = (
            deadline,
            deadline,
            np.zeros(len(self.pool.cells), dtype=np.int64),
        )
        self._until = deadline  # of the stage that runs
        self._is_put_off = np.zeros(len(self.pool.cells), dtype=bool)
        self._is_late = False  # whether it is the turn of those put off
        self._first_look: float | None = None
        self._cheap = 0.0  # the cost up to which a sum of cubes is taken without asking for programs

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
        """Deviations found, with the demands for which they are named: those of use."""
        together, claims = self.insiders.together, self.pool.claims
        return enough_claims(self.pool.families, claims) if together is None else together.enough(claims)

    def reuse(self, witnesses: Witnesses) -> None:
        """Try deviations for all demands that they touch; long ones for outsiders' levels only."""
        began = counted_time()
        is_primary = np.zeros(self.insiders.problem.table.num_cells, dtype=bool)
        is_primary[self.pool.cells] = True
        self.pool.add(Claims.of_all(witnesses, is_primary, self.params.longest, self.params.most_reused))
        self.pool.vouch(witnesses)
        self._first_look = counted_time() - began

    def _leaving_time(self) -> Deadline:
        """An earlier end, by what judge and verifier will take, told by how long a first look took.

        For what makes a pattern cheaper. What keeps somebody off may go on: without it nothing is safe.
        """
        left, share = self.deadline.left, self.params.for_judge
        if left and self._first_look is not None:
            share = min(share, self.params.judge_pace * self.insiders.coalition * self._first_look / left)
        return self.deadline.share(1 - share)

    def run(self) -> None:
        """Settle what can be settled by cubes and few programs, and make it cheaper."""
        self._unhurried = self._leaving_time()
        self._until = self._before_costly()
        self._meet_by_one_cube()
        self._in_rounds(self._free, self.params.free_rounds * self.insiders.coalition)
        self._in_rounds(self._paid, self.params.paid_rounds)
        if self._is_small:
            self._by_free_programs()
        self._in_batches()
        if self.deadline.left is not None and len(self.pool.open_demands()):
            self._until = self.deadline.overtime()
            self._at_any_cost()
            self._until = self.deadline
            self._in_batches()
        exchange = FamilyExchange(
            self.pool, self._moves, self._unhurried, self.params.exchange, seed=self._seed
        )
        exchange.run(self._moves.hidden & ~self.insiders.problem.hidden_at_start)

    def _meet_by_one_cube(self) -> None:
        """One free cube for each open demand, against outsiders, or nobody in particular."""
        found, nobody = [], np.zeros(0, dtype=np.int64)
        for demand in self.pool.open_demands().tolist():
            if self._until.is_over:
                break
            amount, target = int(self.pool.size[demand]), self._target(demand)
            witness = None
            if self._is_joint and self.pool.is_asked[demand]:
                crowd = Crowd(0, amount, self.insiders.coalition)
                witness = self._moves.by_cubes(*target, amount, crowd, beams=0)[0]
            if witness is None:
                who = None if self.pool.is_short[demand] else nobody
                witness = self._moves.by_cubes(*target, amount, who, beams=0)[0]
            found.append((demand, witness))
        self._take(found)

    def _target(self, demand: int) -> tuple[int, bool]:
        return int(self.pool.cells[demand]), bool(self.pool.up[demand])

    def _in_rounds(self, search: Search, rounds: int) -> None:
        """Search for each open demand, against those who are in its way; again while that settles some."""
        before = -1
        for _ in range(rounds):
            now = int(self.pool.settled.sum())
            if self._until.is_over or now == before or now == len(self.pool.cells):
                break
            before = now
            self._one_round(search, self.pool.open_demands())

    def _by_free_programs(self) -> None:
        """Programs over hidden cells, for all who are in the way together, or else one by one."""
        deadline = self._unhurried.share(self.params.for_free_programs)
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

    def _before_costly(self) -> Deadline:
        """When to stop looking for cheap deviations, and take any: told by how long a first look took."""
        left, share = self._unhurried.left, self.params.for_costly
        if left and self._first_look is not None:
            share = min(share, self.params.costly_pace * self.insiders.coalition * self._first_look / left)
        return self._unhurried.share(1 - share)

    def _at_any_cost(self) -> None:
        """Sums of cubes from few beams for open demands, whatever they cost; then free cubes in everything.

        Everything is suppressed for these, and what none of them moves is published again. So there is a safe
        pattern of large tables, too, for which the time does not suffice to look for cheap deviations.
        """
        rounds = self.params.costly_rounds * self.insiders.coalition
        self._in_rounds(self._costly, rounds)
        if not len(self.pool.open_demands()):
            return
        used, problem = self._moves.hidden.copy(), self.insiders.problem
        self._moves.hide(np.flatnonzero(~used & (problem.status != Status.FROZEN)))
        self._in_rounds(self._free, rounds)
        used[self.pool.claims.witnesses.cells] = True
        self._moves.publish(np.flatnonzero(self._moves.hidden & ~used))

    def _costly(self, demand: int, who: Int | None) -> Iterator[Witness]:
        """A sum of cubes, whatever it costs: against all of these insiders, or one after the other."""
        for group in (who, *_apart(who)[: self.params.most_single]):
            witness, _ = self._against(demand, group, self.params.costly_beams)
            if witness is not None:
                yield witness
                if group is who:
                    return

    def _in_batches(self) -> None:
        """What is dear, one demand at a time: what is hidden for one often settles others.

        Those for which neither cubes nor programs in their time have found anything come after the others.
        """
        self._for_programs = self._unhurried.share(self.params.for_programs)
        for self._is_late in (False, True):
            while len(some := self._next_dear()) and not self._until.is_over:
                self._tries[some] += 1
                self._one_round(self._dear, some, self.params.longest_dear)

    def _next_dear(self) -> Int:
        """The largest open demand that may be tried now, if there is one."""
        some = self.pool.open_demands()
        may_be_tried = self._tries[some] < self.params.dear_rounds
        if not self._is_late:
            may_be_tried &= ~self._is_put_off[some]
        return some[may_be_tried][:1]

    def _one_round(self, search: Search, some: Int, longest: int | None = None) -> None:
        found, self._cheap = [], self.params.cheap * self._moves.cost
        for demand in some.tolist():
            if self._until.is_over:
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

    def _paid(self, demand: int, who: Int | None) -> Iterator[Witness]:
        """A sum of cubes for which more is hidden, if that costs little."""
        witness, cost = self._against(demand, who, self.params.paid_beams, self._cheap)
        if witness is not None and cost <= self._cheap:
            yield witness

    def _dear(self, demand: int, who: Int | None) -> Iterator[Witness]:
        """Deviations by programs or cubes, whichever cost less; by cubes alone where there is no time.

        Where coalitions were left in the way, those against the crowd: there are too many to meet in turn.
        """
        plans: list[list[Witness]] = []
        if self._is_joint and who is not None and self._tries[demand] > 1:
            plans = self._against_crowd(demand)
        if not plans:
            plans = [self._by_cubes(demand, [who])]
            if not plans[0] or self._moves.price(plans[0]) > self._cheap:
                plans += self._in_turn(demand, who)
        if plans := [plan for plan in plans if plan]:
            best = min(plans, key=self._moves.price)
            self._moves.hide(moved_by(best))
            yield from best
        else:
            self._is_put_off[demand] = True

    def _against_crowd(self, demand: int) -> list[list[Witness]]:
        """Deviations against all coalitions at once, by cubes and by a program.

        Where there are none, against those inside the cell, those asked much and those asked little apart: a
        contributor that makes up most of the cell knows most of what is around it, and is asked little.
        """
        members, most = self.insiders.coalition, int(self.pool.size[demand])
        if found := self._by_either(demand, [Crowd(0, most, members)]):
            return found
        assert self.insiders.together is not None
        amounts, inside = self.insiders.together.asked_of(*self._target(demand))
        groups: list[Group] = list(inside[:, None])
        ends = [0, *(amounts[[np.argmax(amounts[1:] / amounts[:-1])]] if len(amounts) > 1 else ()), most]
        groups += [Crowd(int(low), int(high), members - 1) for low, high in pairwise(ends)]
        return self._by_either(demand, groups)

    def _by_either(self, demand: int, groups: Sequence[Group]) -> list[list[Witness]]:
        """Deviations against each of these groups by cubes, and by programs in time or if need be."""
        plans = [self._by_cubes(demand, groups)]
        if self._has_time_for_programs:
            plans.append(self._by_programs(demand, groups))
        return [plan for plan in plans if plan]

    def _in_turn(self, demand: int, who: Int | None) -> list[list[Witness]]:
        """Deviations against some insiders one by one, by halves, or all of them by a program."""
        singles, plans = _apart(who), []
        if len(singles) > self.params.most_single:
            singles = []
            plans.append(self._by_halves(demand, who))
        plans.append(self._by_cubes(demand, singles))
        if self._has_time_for_programs:
            plans.append(self._by_programs(demand, [who]))
            if singles and (self._is_small or not plans[-1]):
                plans.append(self._by_programs(demand, singles))
        return plans

    @property
    def _has_time_for_programs(self) -> bool:
        return self._is_late or not self._for_programs.is_over

    def _by_cubes(self, demand: int, groups: Sequence[Group]) -> list[Witness]:
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

    def _by_programs(self, demand: int, groups: Sequence[Group]) -> list[Witness]:
        """The cheapest deviations against each of these groups, one after the other; none if one has none."""
        found: list[Witness] = []
        params, hidden = self.params, self._moves.hidden.copy()
        until = (
            self.deadline.share(params.for_late_program)
            if self._is_late
            else self._for_programs.share(params.for_one_program)
        )
        for who in groups:
            amount = self._needed(demand, who)
            witness = self._moves.by_program(*self._target(demand), amount, who, hidden, deadline=until)
            if witness is None:
                return []
            hidden[witness.cells] = True
            found.append(witness)
        return found

    def _against(
        self, demand: int, who: Group, most: int, budget: float = np.inf
    ) -> tuple[Witness | None, float]:
        """A deviation within what all of these insiders cannot rule out, and its cost."""
        amount = self._needed(demand, who)
        return self._moves.by_cubes(*self._target(demand), amount, who, beams=most, budget=budget)

    def _needed(self, demand: int, who: Group) -> int:
        """How far the cell must move against a group."""
        return who.most if isinstance(who, Crowd) else self.pool.needed(demand, who)

    def _take(self, found: Sequence[tuple[int, Witness | None]], longest: int | None = None) -> None:
        """Take in what was found, each for its demand, the small ones for all demands that they touch."""
        kept = [(demand, witness) for demand, witness in found if witness is not None]
        if not kept:
            return
        pool, demands = self.pool, np.array([demand for demand, _ in kept])
        is_open = np.zeros(self.insiders.problem.table.num_cells, dtype=bool)
        is_open[pool.cells[~pool.settled]] = True
        witnesses = Witnesses.of([witness for _, witness in kept])
        own = Claims(witnesses, pool.cells[demands], pool.up[demands], np.arange(len(kept)))
        short = Claims.of_all(witnesses, is_open, self.params.longest, self.params.most_reused)
        found_claims = [own, short]
        if longest is not None:
            long = Claims.of_all(witnesses, is_open, longest, self.params.most_reused)
            found_claims = [own, pool.settling(long), short] if self._is_joint else [own, long]
        pool.add(Claims.joined(found_claims))


def _apart(who: Int | None) -> list[Int]:
    """Several insiders, one by one."""
    return [] if who is None or len(who) < 2 else list(who[:, None])
