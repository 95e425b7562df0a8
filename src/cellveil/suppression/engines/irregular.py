"""Irregular tables (linked ones, relations of any kind): linear programs, joint witnesses, local search.

Here no projection is cheap, and cubes are few or none. But a linear program for one demand is: with almost
everything hidden for free, dual simplex from the slack basis reaches the cheapest deviation in as many steps
as cells have to move, some hundredths of a second for most demands of a table of 20,000 cells. So

1. a complete pattern comes first, to have one: sums of cubes, or else everything movable, with the witnesses
   that harvests find in it;
2. then demand after demand, the largest first, by its cheapest deviation (`one_demand`). After 8, 16, 32, …
   of them a harvest inside what is hidden meets most of the small ones together;
3. when time runs short before all are met, the rest in groups, by a few joint solves;
4. clean-up, and ruin and recreate, until time is up.

Cells that every deviation moves alike have been merged before (`merge_ties`).

Requires any relations. Ensures exact witnesses for all it calls met. Does not ensure the least cost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cellveil.clock import Deadline
from cellveil.deviations.joint_witness import JointWitness, Task, grouped
from cellveil.deviations.ledger import Ledger
from cellveil.params import Params, param, part
from cellveil.problem import Problem, Status
from cellveil.suppression.engines.local_search import drop_unused
from cellveil.suppression.engines.one_demand import OneDemand, OneDemandParams, Strategy


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
    problem: Problem, deadline: Deadline, *, seed: int = 0, params: IrregularParams | None = None
) -> Ledger:
    """Everything movable, with the witnesses harvested in it; what none of them moves is published again."""
    ledger = Ledger(problem, problem.status != Status.FROZEN)
    settling = JointWitness(problem, deadline, (params or IrregularParams()).one_demand.joint_witness)
    settling.harvest(ledger, np.random.default_rng(seed))
    for cell, up, amount in zip(*(each.tolist() for each in ledger.open_demands()), strict=True):
        if settling.is_over:
            break
        if ledger.is_open(cell, up):
            witness = settling.exact(ledger, Task.single(cell, up, amount), ledger.hidden)
            if witness is not None:
                ledger.add(witness, stretch=True)
    if not ledger.num_open:
        drop_unused(ledger)
    return ledger


def finish_jointly(
    ledger: Ledger, deadline: Deadline, *, seed: int = 0, params: IrregularParams | None = None
) -> None:
    """Hide what groups of open demands need together, and meet them: less good than one by one, but fast."""
    params = params or IrregularParams()
    joint = params.one_demand.joint_witness
    settling, rng = JointWitness(ledger.problem, deadline, joint), np.random.default_rng(seed)
    movable = ledger.problem.status != Status.FROZEN
    for _ in range(params.joint_rounds):
        for task in grouped(ledger, rng, params=joint):
            if not ledger.num_open:
                return
            moved = settling.missing(task, ledger.hidden, movable)
            if moved is None:
                return
            ledger.hide(np.flatnonzero((np.abs(moved) > params.moved) & ~ledger.hidden & movable))
            settling.harvest(ledger, rng, rounds=2)
        if not ledger.num_open:
            return


class Harvests(Strategy):
    """Joint witnesses inside what is hidden, after 8, 16, 32, … demands; slopes are given up where vain."""

    def __init__(self, joint: JointWitness, params: IrregularParams, *, seed: int = 0) -> None:
        self._joint, self._params = joint, params
        self._rng = np.random.default_rng(seed)
        self._asked, self._next = 0, params.first_harvest

    def try_first(self, engine: OneDemand, cell: int, up: bool, deadline: Deadline, budget: float) -> bool:
        """In a trial, which opens many demands at once: whether what is hidden still does for them."""
        work = engine.ledger.num_open * engine.steps_per_lp
        if budget == math.inf or work < self._params.worth_reproving:
            return False
        self._joint.harvest(engine.ledger, self._rng, rounds=1)
        return not engine.ledger.is_open(cell, up)

    def follow_up(self, engine: OneDemand) -> None:
        """See `Strategy`."""
        self._asked += 1
        if self._asked != self._next:
            return
        self._next *= 2
        is_slow = engine.steps_per_lp > self._params.many_steps
        if engine.slopes and is_slow and engine.movement.slope_gain < self._params.worth_slopes:
            engine.slopes = ()
        if engine.ledger.num_open >= self._params.worth_harvesting:
            self._joint.harvest(engine.ledger, self._rng)


def harvesting(
    ledger: Ledger, deadline: Deadline, *, seed: int = 0, params: IrregularParams | None = None
) -> OneDemand:
    """Programs one demand at a time, with harvests."""
    params = params or IrregularParams()
    joint = JointWitness(ledger.problem, deadline, params.one_demand.joint_witness)
    return OneDemand(ledger, params.one_demand, strategy=Harvests(joint, params, seed=seed))
