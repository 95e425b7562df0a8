"""`grouped`: the incremental linear program for groups of primary cells at once.

For comparison: it has never been cheapest in our own figures, and `auto` does not use it.

For each group g of primaries, first upwards, then downwards,

    min Σ c_i (y⁺_i + y⁻_i)   subject to   M (y⁺ − y⁻) = 0,   0 ≤ y⁺_i ≤ ub_i − a_i,   0 ≤ y⁻_i ≤ a_i − lb_i,
    y⁺_p ≥ upl_p, y⁻_p = 0  for all p in g,   or   y⁻_p ≥ lpl_p, y⁺_p = 0  for all p in g

with c_i the weight of cell i, or next to nothing once it is hidden; what moves is hidden. The groups keep the
rule of `engines.grouping`. First come the primaries that unpicking shows to be candidates for
initially exposed ones (K_u), then all others, as far as nothing has protected them by then: each deviation is
made exact and counts for every demand it meets, and members that are protected are left out.

In components of some thousand cells the programs are solved by simplex. In larger ones splitting takes the
members of a group by size, the large ones first, and reaches as many of the levels together as it can; what
can then be met inside the hidden cells is harvested. What a group leaves open (cells that cannot all move at
once, or a vertex that does not come out exact) is protected one by one in the end.

Requires any relations whatever. Ensures an exact witness for every demand, or names those that no pattern
meets. Does not ensure the least cost: a group may hide more than its members need one by one.
Cost: two programs for each group, whatever the number of primaries.

Reference: equations (9) to (19) and section 3.4 of Serpell, Smith, Clark & Staggemeier (2011).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cellveil.arrays import Int
from cellveil.clock import Deadline
from cellveil.deviations.exact_rounding import lift
from cellveil.deviations.joint_witness import JointWitness, Task, TimeLeft
from cellveil.deviations.ledger import Book
from cellveil.judge.exposure import unpickable
from cellveil.params import part
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.suppression.draft import Draft
from cellveil.suppression.engines.grouping import GroupingParams, groups_of
from cellveil.suppression.engines.meet_demands import Completion, MeetDemandsParams
from cellveil.suppression.engines.one_demand import Incremental, OneDemandParams
from cellveil.suppression.engines.splitting_search import Growth
from cellveil.suppression.presolve.preparation import PreselectParams
from cellveil.tables.structure import structured


@dataclass(frozen=True, kw_only=True)
class GroupedParams(PreselectParams, GroupingParams):
    """Parameters of `grouped`."""

    meet_demands: MeetDemandsParams = part(MeetDemandsParams)


def grouped(
    problem: Problem,
    *,
    time_limit: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    params: GroupedParams | None = None,
) -> Draft:
    """Protect groups of primaries, then what they leave; see the head of the module.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> problem = two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
    >>> float(problem.weight[grouped(problem).hidden & ~problem.hidden_at_start].sum())
    39.0
    """
    problem = problem.replace(table=structured(problem.table))
    params = params or GroupedParams()
    cells = np.flatnonzero(unpickable(problem).candidates)
    first = groups_of(problem, cells, wanted=params.groups, by=params.by)
    return protect_in_order(problem, first, Deadline(time_limit), progress, seed=seed, params=params)


def protect_in_order(
    problem: Problem,
    first: Sequence[Int],
    deadline: Deadline,
    progress: Progress | None = None,
    *,
    seed: int = 0,
    params: GroupedParams | None = None,
) -> Draft:
    """Protect these groups in this order, then groups of all other primaries, then what is left open."""
    progress = progress or Progress()
    progress.stage("grouped")
    params = params or GroupedParams()
    make = partial(Together, params=params.meet_demands.one_demand)
    completion = Completion(Book(problem), make, deadline, progress, seed=seed)
    together, book = completion.protector, completion.book
    assert isinstance(together, Together)
    completion.prove_by_cubes()
    is_first = np.isin(problem.primaries, np.concatenate([np.zeros(0, dtype=np.int64), *first]))
    rest = groups_of(problem, problem.primaries[~is_first], wanted=params.groups, by=params.by)
    order = [*first, *rest]
    for done, group in enumerate(order):
        if done == len(first):
            together.harvest(deadline)
        for up in (True, False):
            if not deadline.is_over:
                together.protect_group(group, up, deadline, seed=seed)
        progress.advance(done + 1, len(order), hidden=int(book.hidden.sum()))
    together.harvest(deadline)
    completion.run()
    return completion.draft()


class Together(Incremental):
    """Programs for several demands of a book at once."""

    def __init__(self, book: Book, *, params: OneDemandParams | None = None) -> None:
        super().__init__(book, params=replace(params or OneDemandParams(), slopes=()))
        self._growth: Growth | None = None
        self._left: TimeLeft = lambda: None

    def reset(self, book: Book) -> None:
        """Go on with another book of the same problem: the programs stay in memory."""
        self.book = book
        for program in self._programs.values():
            program.book = book

    def protect_group(
        self, cells: Int, up: bool, deadline: Deadline, *, seed: int = 0, thorough: bool = True
    ) -> None:
        """Hide what the open demands of these cells on one side need together, and write down the witness.

        Without `thorough` a deviation that does not come out exact only leaves its cells hidden.
        """
        need, witness = (
            (self.book.need_up, self.book.witness_up) if up else (self.book.need_down, self.book.witness_down)
        )
        open_ = cells[(need[cells] > 0) & (witness[cells] < 0) & (self.component_of[cells] >= 0)]
        for number in np.unique(self.component_of[open_]).tolist():
            mine = open_[self.component_of[open_] == number]
            if len(self.components[number].cells) > self.params.most_cells:
                self._by_splitting(mine, up, deadline, seed)
            else:
                self._by_program(mine, up, deadline, thorough)

    def harvest(self, deadline: Deadline) -> None:
        """Meet open demands inside what is hidden, where splitting has been at work."""
        if self._growth is not None:
            self._growth.harvest(self.book, lambda: deadline.is_over)

    def _by_program(self, cells: Int, up: bool, deadline: Deadline, thorough: bool) -> None:
        program = self._program(int(cells[0]))
        assert program is not None
        amounts = (self.book.need_up if up else self.book.need_down)[cells].astype(np.float64)
        places = np.searchsorted(program.cells, cells)
        room = program.up if up else program.down
        within = room[places] >= amounts
        places, amounts = places[within], amounts[within]
        if not len(places):
            return
        lower, upper = -program.down, program.up.copy()
        if up:
            lower[places] = amounts
        else:
            upper[places] = -amounts
        unit = max(round(float(np.exp(np.log(amounts).mean()))), 1)
        is_hidden = self.book.hidden[program.cells]
        answer = program.find(lower, upper, unit, is_hidden, slopes=(), time_limit=deadline.left)
        if answer.point is None:
            return
        rooms = self.book.room_down[program.cells], self.book.room_up[program.cells]
        witness = lift(program.component, answer.point, *rooms)
        if witness is not None and self.book.add(witness, hide=True, stretch=True):
            return
        self.book.hide(program.cells[(answer.point != 0) & ~is_hidden])
        if thorough:
            signs = np.full(len(places), 1.0 if up else -1.0)
            self._settle(Task(program.cells[places], signs, amounts, False), deadline)

    def _settle(self, task: Task, deadline: Deadline) -> None:
        witness = JointWitness(self.book.problem, deadline.seconds, self.params.joint_witness).exact(
            self.book, task, self.book.hidden
        )
        if witness is not None:
            self.book.add(witness, stretch=True)

    def _by_splitting(self, cells: Int, up: bool, deadline: Deadline, seed: int) -> None:
        if self._growth is None:
            self._growth = Growth(self.book.problem, seed=seed, time_left=lambda: self._left())
        self._left = deadline.seconds
        need = self.book.need_up if up else self.book.need_down
        size = np.floor(np.log10(need[cells]) / self.params.joint_witness.size_class).astype(int)
        for number in np.unique(size)[::-1].tolist():
            mine = cells[size == number]
            mine = mine[[self.book.is_open(cell, up) for cell in mine.tolist()]]
            if len(mine):
                task = Task(mine, np.full(len(mine), 1.0 if up else -1.0), need[mine].astype(float), False)
                self._growth.protect_together(self.book, task, lambda: deadline.is_over)
