"""Tables without a regular structure (linked tables, relations of any kind): programs, harvests, search.

Here no projection is cheap, and cubes are few or none. But a linear program for one demand is: with almost
everything hidden for free, dual simplex from the slack basis reaches the cheapest deviation in as many steps
as cells have to move, some hundredths of a second for most demands of a table of 20,000 cells. So

1. a complete pattern comes first, to have one: sums of cubes, or else everything movable, with the witnesses
   that harvests find in it;
2. then demand after demand, the largest first, by its cheapest deviation (`one_demand`). After 8, 16, 32, …
   of them a harvest inside what is hidden meets most of the small ones together;
3. when time runs short before all are met, the rest in groups, by a few joint solves;
4. clean-up, and ruin and recreate, until time is up.

Cells that every deviation moves alike have been merged before (`ties`).

Requires any relations. Ensures exact witnesses for all it calls met. Does not ensure the least cost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cellveil.deviations.joint_witness import JointWitness, Task, TimeLeft, grouped
from cellveil.deviations.ledger import Book
from cellveil.params import Params, param, part
from cellveil.problem import Problem, Status
from cellveil.suppression.engines.local_search import drop_unused
from cellveil.suppression.engines.one_demand import Incremental, OneDemandParams, Verdict


@dataclass(frozen=True, kw_only=True)
class IrregularParams(Params):
    """Parameters of the means for irregular tables."""

    most_cells: int = param(25_000, "Cells of a component up to which single programs are quick.", least=0)
    first_harvest: int = param(8, "Demands before the first harvest; then twice as many each time.", least=1)
    worth_harvesting: int = param(50, "Least number of open demands for a harvest.", least=0)
    worth_slopes: float = param(0.05, "Least share of the cost that slopes must save.", least=0, most=1)
    many_steps: float = param(500, "Simplex steps of a program from which on slopes must pay.", least=0)
    worth_reproving: float = param(
        10_000,
        "Simplex steps that open demands would take, from which on a trial begins with a harvest.",
        least=0,
    )
    joint_rounds: int = param(2, "Rounds of joint solves for what is left open.", least=0)
    moved: float = param(1e-6, "What counts as moved in a joint solve, in units of its task.", least=0)
    one_demand: OneDemandParams = part(OneDemandParams)


MOST_CELLS = IrregularParams().most_cells


def everything(
    problem: Problem, time_left: TimeLeft, *, seed: int = 0, params: IrregularParams | None = None
) -> Book:
    """Everything movable, with the witnesses harvested in it; what none of them moves is published again."""
    book = Book(problem, problem.status != Status.FROZEN)
    settling = JointWitness(problem, time_left, (params or IrregularParams()).one_demand.joint_witness)
    settling.harvest(book, np.random.default_rng(seed))
    for cell, up, amount in zip(*(each.tolist() for each in book.open_demands()), strict=True):
        if settling.is_over:
            break
        if (book.witness_up if up else book.witness_down)[cell] < 0:
            task = Task(np.array([cell]), np.array([1.0 if up else -1.0]), np.array([float(amount)]), False)
            witness = settling.exact(book, task, book.hidden)
            if witness is not None:
                book.add(witness, stretch=True)
    if not book.num_open:
        drop_unused(book)
    return book


def finish_jointly(
    book: Book, time_left: TimeLeft, *, seed: int = 0, params: IrregularParams | None = None
) -> None:
    """Hide what groups of open demands need together, and meet them: less good than one by one, but fast."""
    params = params or IrregularParams()
    joint = params.one_demand.joint_witness
    settling, rng = JointWitness(book.problem, time_left, joint), np.random.default_rng(seed)
    movable = book.problem.status != Status.FROZEN
    for _ in range(params.joint_rounds):
        for task in grouped(book, rng, params=joint):
            if not book.num_open:
                return
            moved = settling.missing(task, book.hidden, movable)
            if moved is None:
                return
            book.hide(np.flatnonzero((np.abs(moved) > params.moved) & ~book.hidden & movable))
            settling.harvest(book, rng, rounds=2)
        if not book.num_open:
            return


class Harvesting(Incremental):
    """Incremental programs, with harvests at growing distances."""

    def __init__(
        self, book: Book, time_left: TimeLeft, *, seed: int = 0, params: IrregularParams | None = None
    ) -> None:
        self._own = params or IrregularParams()
        super().__init__(book, params=self._own.one_demand)
        self._settling = JointWitness(book.problem, time_left, self.params.joint_witness)
        self._rng = np.random.default_rng(seed)
        self._asked, self._next = 0, self._own.first_harvest

    def protect(
        self, cell: int, up: bool, *, time_limit: float | None = None, budget: float = math.inf
    ) -> Verdict:
        """See `Incremental.protect`; now and then other demands are met on the way."""
        if budget < math.inf and self._is_met_by_harvest(cell, up):
            return "met"
        verdict = super().protect(cell, up, time_limit=time_limit, budget=budget)
        self._asked += 1
        if self._asked == self._next:
            self._next *= 2
            if self.slopes and self._slopes_are_vain:
                self.slopes = ()
            if self.book.num_open >= self._own.worth_harvesting:
                self._settling.harvest(self.book, self._rng)
        return verdict

    @property
    def _slopes_are_vain(self) -> bool:
        return self.slope_gain < self._own.worth_slopes and self.steps_per_lp > self._own.many_steps

    def _is_met_by_harvest(self, cell: int, up: bool) -> bool:
        """In a trial, which opens many demands at once: whether what is hidden still does for them."""
        if self.book.num_open * self.steps_per_lp < self._own.worth_reproving:
            return False
        self._settling.harvest(self.book, self._rng, rounds=1)
        return bool((self.book.witness_up if up else self.book.witness_down)[cell] >= 0)
