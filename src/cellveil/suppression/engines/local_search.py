"""Ruin and recreate: publish a few secondaries, protect anew what that opens, keep the result if cheaper.

Works on any finished ledger, with any protector. Each trial costs what it touches; a trial that does not pay
is rolled back, so the ledger is complete and exact at every moment between trials.

* *Clean-up*: every secondary in turn, the dearest first, is published if the demands it opens can be met
  for less than it costs.
* *Ruin and recreate*: random groups of secondaries that hang together (through witnesses or relations). What
  comes out may be a little dearer than the best pattern so far, so that the search leaves dead ends; whoever
  asks for that keeps the best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cellveil.arrays import Int
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.movement_program import Feasibility
from cellveil.params import Params, param
from cellveil.solvers import tolerances


@dataclass(frozen=True, kw_only=True)
class LocalSearchParams(Params):
    """Parameters of ruin and recreate."""

    most_ruined: int = param(5, "Secondaries published in one trial, at most.", least=1)
    witnesses: int = param(3, "Witnesses of a secondary whose cells are its neighbours.", least=0)


class Protector(Protocol):
    """Meets one open demand of a ledger, hiding what it needs."""

    def protect(
        self, cell: int, up: bool, deadline: Deadline = NO_LIMIT, budget: float = np.inf
    ) -> Feasibility:
        """Tell whether it succeeded; no cell that costs more than the budget is of use."""


class Search:
    """Trials on one ledger.

    Parameters
    ----------
    deadline
        A trial that it cuts short is in vain.
    """

    def __init__(
        self,
        ledger: Ledger,
        protector: Protector,
        *,
        seed: int = 0,
        deadline: Deadline = NO_LIMIT,
        params: LocalSearchParams | None = None,
    ) -> None:
        self.params = params or LocalSearchParams()
        self.ledger, self.protector, self._deadline = ledger, protector, deadline
        self.rng = np.random.default_rng(seed)
        self.trials = self.barren = 0
        self.least = ledger.cost

    def clean_up(self, deadline: Deadline) -> None:
        """One pass over all secondaries, the dearest first."""
        drop_unused(self.ledger)
        for cell in self.ledger.secondaries(dearest_first=True).tolist():
            if deadline.is_over:
                return
            if self.ledger.hidden[cell]:
                self.attempt(np.array([cell]))

    def shake(self, deadline: Deadline, rounds: int, slack: float = 0.0) -> None:
        """Random trials; patterns dearer than the best by this share are kept as well."""
        for _ in range(rounds):
            if deadline.is_over:
                return
            ruined = self._some_neighbours()
            if not len(ruined):
                return
            self.attempt(ruined, max(self.ledger.cost, self.least * (1 + slack)))

    def attempt(self, ruined: Int, most: float | None = None) -> bool:
        """Publish these secondaries, protect anew, and keep the result if it is cheaper, or costs at most so
        much: from another pattern other ones are near.
        """
        ledger = self.ledger
        self.trials += 1
        self.barren += 1
        allowed = float(np.nextafter(ledger.cost, -np.inf)) if most is None else most

        def recreate() -> None:
            while ledger.num_open and ledger.cost <= allowed:
                cells, up, _ = ledger.open_demands()
                cell, budget = int(cells[0]), allowed - ledger.cost
                if self.protector.protect(cell, bool(up[0]), self._deadline, budget) is not Feasibility.MET:
                    return

        if not trial(ledger, ruined, recreate, allowed):
            return False
        if ledger.cost < self.least:
            self.least, self.barren = ledger.cost, 0
        return True

    def _some_neighbours(self) -> Int:
        """A secondary drawn by its weight, and some that stand in a relation or a witness with it."""
        ledger, problem = self.ledger, self.ledger.problem
        secondaries = ledger.secondaries()
        if not len(secondaries):
            return secondaries
        weight = problem.weight[secondaries] + tolerances.GUARD
        first = int(self.rng.choice(secondaries, p=weight / weight.sum()))
        size = int(self.rng.integers(1, self.params.most_ruined + 1))
        near = {first}
        columns, relations = problem.table.relations.columns, problem.table.relations
        for row in columns.rows[columns.indptr[first] : columns.indptr[first + 1]].tolist():
            near.update(relations.row(row)[0].tolist())
        for number in ledger.users(first)[: self.params.witnesses]:
            near.update(ledger.witness(number).cells.tolist())
        candidates = np.intersect1d(np.array(sorted(near - {first}), dtype=np.int64), secondaries)
        more = self.rng.permutation(candidates)[: size - 1]
        return np.concatenate([[first], more]).astype(np.int64)


def trial(ledger: Ledger, ruined: Int, recreate: Callable[[], None], most: float) -> bool:
    """Publish secondaries, recreate, and keep what comes out if it is complete and costs at most so much."""
    mark = ledger.mark()
    for cell in ruined.tolist():
        ledger.publish(cell)
    recreate()
    if ledger.num_open or ledger.cost > most:
        ledger.rollback(mark)
        return False
    drop_unused(ledger)
    ledger.tidy()
    return True


def drop_unused(ledger: Ledger) -> None:
    """Publish secondaries that no witness in use moves."""
    used = np.zeros(len(ledger.hidden), dtype=bool)
    used[ledger.witnesses().cells] = True
    for cell in ledger.secondaries().tolist():
        if not used[cell]:
            ledger.publish(cell)
