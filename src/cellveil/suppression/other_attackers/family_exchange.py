"""Ruin and recreate with families of witnesses: publish a secondary, and settle what that opens for less.

A trial publishes one secondary. The demands whose families lose a deviation, and are open then, are settled
anew: by free cubes, then by what may be hidden for less than the secondary's weight, cubes or the cheapest
deviations by programs. It is kept where it is cheaper. Outsiders count as well, so that their secondaries can
be exchanged too, as long as the pool knows a deviation for each of their levels.

Reference: ruin and recreate (Schrimpf et al. 2000), as in `engines.cube_packing`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.attackers.families import Claims
from cellveil.clock import Deadline
from cellveil.deviations.witness import Witness, Witnesses
from cellveil.params import Params, param
from cellveil.solvers import tolerances
from cellveil.suppression.other_attackers.family_pool import FamilyPool
from cellveil.suppression.other_attackers.group_moves import GroupMoves


@dataclass(frozen=True, kw_only=True)
class ExchangeParams(Params):
    """Parameters of ruin and recreate with families."""

    rounds: int = param(6, "Rounds over all secondaries.", least=0)
    least_gain: float = param(1e-3, "A round below this gain is the last.", least=0)
    beams: int = param(20, "Most beam searches for a sum of cubes.", least=0)
    tries: int = param(6, "Deviations that are looked for to settle one demand.", least=1)
    most_open: int = param(1000, "Demands that a trial may open.", least=1)
    most_cells: int = param(20_000, "Cells of a table up to which programs help.", least=0)


class FamilyExchange:
    """Makes a pattern cheaper; see the head of the module."""

    def __init__(
        self,
        pool: FamilyPool,
        moves: GroupMoves,
        deadline: Deadline,
        params: ExchangeParams,
        *,
        seed: int = 0,
    ) -> None:
        self._pool, self._moves, self._deadline, self._params = pool, moves, deadline, params
        self._rng = np.random.default_rng(seed)
        self._weight = moves.problem.weight
        self._has_programs = moves.problem.table.num_cells <= params.most_cells

    def run(self, candidates: Bool) -> None:
        """Try to do without each of the candidates, the dearest first, then in random order."""
        order = np.flatnonzero(candidates & self._moves.hidden)
        order = order[np.argsort(-self._weight[order], kind="stable")]
        for _ in range(self._params.rounds):
            before = self._cost(candidates)
            for cell in order.tolist():
                if self._deadline.is_over:
                    return
                if self._moves.hidden[cell] and self._weight[cell] > 0:
                    candidates[self._exchange(cell)] = True
            if self._cost(candidates) > before * (1 - self._params.least_gain):
                return
            order = self._rng.permutation(np.flatnonzero(candidates & self._moves.hidden))

    def _cost(self, candidates: Bool) -> float:
        return float(self._weight[candidates & self._moves.hidden].sum())

    def _exchange(self, cell: int) -> Int:
        """Publish the cell if that is cheaper; return what was hidden in its place."""
        pool, moves = self._pool, self._moves
        before, budget = moves.hidden.copy(), float(self._weight[cell]) * (1 - tolerances.EQUAL)
        broken = pool.lose(cell)
        moves.publish(np.array([cell]))
        is_settled = len(broken) <= self._params.most_open
        for demand in broken[np.argsort(-pool.size[broken], kind="stable")].tolist() if is_settled else ():
            spent = float(self._weight[moves.hidden & ~before].sum())
            is_settled = not self._deadline.is_over and self._settle(demand, budget - spent)
            if not is_settled:
                break
        added = np.flatnonzero(moves.hidden & ~before)
        if is_settled and float(self._weight[added].sum()) < budget:
            pool.keep()
            return added
        pool.back()
        moves.publish(added)
        moves.hide(np.array([cell]))
        return added[:0]

    def _settle(self, demand: int, budget: float) -> bool:
        """Settle a demand within the budget, which is too small for the cell that was published."""
        pool = self._pool
        for _ in range(self._params.tries):
            if pool.settled[demand]:
                return True
            who = pool.left(demand)
            witness, cost = self._found(demand, who, budget)
            if witness is None and who is not None and len(who) > 1:
                witness, cost = self._found(demand, who[:1], budget)
            if witness is None:
                return False
            budget -= cost
            up = bool(pool.up[demand])
            pool.add(_claimed([witness], [int(pool.cells[demand])], [up]))
        return bool(pool.settled[demand])

    def _found(self, demand: int, who: Int | None, budget: float) -> tuple[Witness | None, float]:
        """A deviation within the budget, and its cost; what it moves is hidden."""
        pool, moves, amount = self._pool, self._moves, self._pool.needed(demand, who)
        cell, up = int(pool.cells[demand]), bool(pool.up[demand])
        witness, cost = moves.by_cubes(cell, up, amount, who, beams=self._params.beams, budget=budget)
        if witness is not None and cost <= budget:
            return witness, cost
        if not self._has_programs:
            return None, 0.0
        found = moves.by_program(cell, up, amount, who, moves.hidden, budget, deadline=self._deadline)
        if found is None or (cost := moves.price([found])) > budget:
            return None, 0.0
        moves.hide(found.cells)
        return found, cost


def _claimed(witnesses: list[Witness], cells: list[int], up: list[bool]) -> Claims:
    numbers = np.arange(len(witnesses))
    return Claims(Witnesses.of(witnesses), np.array(cells), np.array(up), numbers)
