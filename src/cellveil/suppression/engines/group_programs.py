"""The incremental linear program for a group of primaries: one deviation for all its members.

Members rise together, or fall together, each by its level at least; what moves is hidden. In large components
the splitting engine takes the members of a group by size. What a group leaves open, because its members
cannot all move at once or a vertex does not come out exact, is protected one by one in the end.

Requires any relations. Ensures exact witnesses for all it calls met. Does not ensure the least cost.

Reference: equations (9) to (16) of Serpell, Smith, Clark & Staggemeier (2011).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cellveil.arrays import Int
from cellveil.clock import Deadline
from cellveil.deviations.exact_rounding import lift
from cellveil.deviations.joint_witness import JointWitness, Task
from cellveil.deviations.ledger import Ledger
from cellveil.params import part
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.suppression.draft import Draft
from cellveil.suppression.engines.grouping import GroupingParams, groups_of
from cellveil.suppression.engines.meet_demands import Completion, MeetDemandsParams
from cellveil.suppression.engines.one_demand import OneDemand
from cellveil.suppression.engines.splitting_search import SplittingFirst


@dataclass(frozen=True, kw_only=True)
class GroupProgramsParams(GroupingParams):
    """How primaries are grouped, and protected."""

    meet_demands: MeetDemandsParams = part(MeetDemandsParams)


def protect_in_order(
    problem: Problem,
    first: Sequence[Int],
    deadline: Deadline,
    progress: Progress | None = None,
    *,
    seed: int = 0,
    params: GroupProgramsParams | None = None,
) -> Draft:
    """Protect these groups in this order, then groups of all other primaries, then what is left open."""
    progress = progress or Progress()
    progress.stage("grouped")
    params = params or GroupProgramsParams()
    make = partial(OneDemand, params=replace(params.meet_demands.one_demand, slopes=()))
    completion = Completion(Ledger(problem), make, deadline, progress, seed=seed)
    together, ledger = GroupPrograms(completion.protector, seed=seed), completion.ledger
    completion.prove_by_cubes()
    is_first = np.isin(problem.primaries, np.concatenate([np.zeros(0, dtype=np.int64), *first]))
    rest = groups_of(problem, problem.primaries[~is_first], wanted=params.groups, by=params.by)
    order = [*first, *rest]
    for done, group in enumerate(order):
        if done == len(first):
            together.harvest(deadline)
        for up in (True, False):
            if not deadline.is_over:
                together.protect_group(group, up, deadline)
        progress.advance(done + 1, len(order), hidden=int(ledger.hidden.sum()))
    together.harvest(deadline)
    completion.run()
    return completion.draft()


class GroupPrograms:
    """Programs for several demands of a ledger at once.

    Parameters
    ----------
    engine
        The programs for single demands; its ledger may be exchanged for another one of the same problem.
    """

    def __init__(self, engine: OneDemand, *, seed: int = 0) -> None:
        self.engine, self._splitting = engine, SplittingFirst(engine.ledger.problem, seed=seed)

    @property
    def ledger(self) -> Ledger:
        """The present ledger."""
        return self.engine.ledger

    def protect_group(self, cells: Int, up: bool, deadline: Deadline, *, thorough: bool = True) -> None:
        """Hide what the open demands of these cells on one side need together, and write down the witness.

        Without `thorough` a deviation that does not come out exact only leaves its cells hidden.
        """
        component_of = self.engine.movement.component_of
        open_ = self._open(cells[component_of[cells] >= 0], up)
        for number in np.unique(component_of[open_]).tolist():
            mine = open_[component_of[open_] == number]
            if self.engine.size_of(int(mine[0])) > self.engine.params.most_cells:
                self._by_splitting(mine, up, deadline)
            else:
                self._by_program(mine, up, deadline, thorough)

    def harvest(self, deadline: Deadline) -> None:
        """Meet open demands inside what is hidden, where splitting has been at work."""
        if self._splitting.is_in_use:
            self._splitting.search(deadline).harvest(self.ledger, deadline)

    def _open(self, cells: Int, up: bool) -> Int:
        return cells[[self.ledger.is_open(cell, up) for cell in cells.tolist()]]

    def _by_program(self, cells: Int, up: bool, deadline: Deadline, thorough: bool) -> None:
        engine, program = self.engine, self.engine.movement.program(int(cells[0]))
        assert program is not None
        amounts = (self.ledger.need_up if up else self.ledger.need_down)[cells].astype(np.float64)
        within = (engine.up if up else engine.down)[cells] >= amounts
        cells, amounts = cells[within], amounts[within]
        if not len(cells):
            return
        lower, upper = -engine.down[program.cells], engine.up[program.cells]
        places = np.searchsorted(program.cells, cells)
        if up:
            lower[places] = amounts
        else:
            upper[places] = -amounts
        unit = max(round(float(np.exp(np.log(amounts).mean()))), 1)
        is_hidden = self.ledger.hidden[program.cells]
        answer = program.cheapest(lower, upper, unit, is_hidden, slopes=(), deadline=deadline)
        if answer.point is None:
            return
        witness = lift(program.component, answer.point, *engine.rooms(program))
        if witness is not None and self.ledger.add(witness, hide=True, stretch=True):
            return
        self.ledger.hide(program.cells[(answer.point != 0) & ~is_hidden])
        if thorough:
            task = Task(cells, np.full(len(cells), 1.0 if up else -1.0), amounts, False)
            joint = JointWitness(self.ledger.problem, deadline, engine.params.joint_witness)
            witness = joint.exact(self.ledger, task, self.ledger.hidden)
            if witness is not None:
                self.ledger.add(witness, stretch=True)

    def _by_splitting(self, cells: Int, up: bool, deadline: Deadline) -> None:
        search = self._splitting.search(deadline)
        need = self.ledger.need_up if up else self.ledger.need_down
        size = np.floor(np.log10(need[cells]) / self.engine.params.joint_witness.size_class).astype(int)
        for number in np.unique(size)[::-1].tolist():
            mine = self._open(cells[size == number], up)
            if len(mine):
                task = Task(mine, np.full(len(mine), 1.0 if up else -1.0), need[mine].astype(float), False)
                search.protect_together(self.ledger, task, deadline)
