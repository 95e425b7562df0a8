"""What to hide for demands that share deviations, found by splitting and made exact.

A *task* asks for one deviation that meets a demand, or a group of them. `reweighted_splitting` says what to
hide for it. A float is not a proof: each deviation is then settled inside what is hidden, made exact by the
lattice of these cells, and only then written into the ledger. What does not come out exact stays open and
comes up again, with what it lacked at a price.

Several quests are worked on side by side: what to hide for them in common rounds of weights, then each is
made exact on a copy of the ledger, and what the copies have found is written down in the order of the quests.
Work is counted, not timed, so that the result does not depend on threads.

Requires any relations. Ensures that what a ledger holds is exact. Does not ensure that no demand stays open.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cellveil.arrays import Bool
from cellveil.clock import Deadline
from cellveil.deviations.joint_witness import JointWitness, Task
from cellveil.deviations.ledger import Ledger
from cellveil.params import Params, param, part
from cellveil.problem import Problem, Status
from cellveil.solvers import tolerances
from cellveil.solvers.douglas_rachford import State
from cellveil.solvers.parallel import side_by_side
from cellveil.solvers.projection import Projection, SparseProjection, projection_of
from cellveil.suppression.engines.reweighted_splitting import (
    Quest,
    ReweightedSplitting,
    ReweightedSplittingParams,
    Terms,
    cheapest,
)


@dataclass(frozen=True, kw_only=True)
class ExactTasksParams(Params):
    """Parameters of tasks."""

    slack: float = param(0.01, "Margin on amounts and rooms, for rounding to exact witnesses.", least=0)
    more_slack: float = param(3.0, "Factor on the margin from try to try.", least=1)
    most_slack: float = param(0.2, "Largest margin.", least=0, most=1)
    attempts: int = param(4, "Tries to make a deviation exact before its demands stay open.", least=1)
    most_for_programs: int = param(
        15_000, "Movable cells of an irregular table up to which interior points find what to hide.", least=0
    )
    program_slopes: tuple[float, ...] = param((0.1, 0.01), "Falling ε of their reweighting.", least=0)
    reweighting: ReweightedSplittingParams = part(ReweightedSplittingParams)


class ExactTasks:
    """Does tasks of one problem, one after the other.

    Parameters
    ----------
    rng
        Breaks ties.
    deadline
        Of interior points.
    """

    def __init__(
        self,
        problem: Problem,
        params: ExactTasksParams,
        rng: np.random.Generator,
        deadline: Deadline,
        projection: Projection | None = None,
    ) -> None:
        self.problem, self.params, self.rng = problem, params, rng
        self.joint = JointWitness(problem, deadline)
        self._movable = problem.status != Status.FROZEN
        self.whole = self.engine(projection or projection_of(problem.table))
        self.is_irregular = isinstance(self.whole.projection, SparseProjection)

    def engine(self, projection: Projection) -> ReweightedSplitting:
        """The splitting engine on the table or a window of it."""
        return ReweightedSplitting(self.problem, projection, self.joint, self.rng, self.params.reweighting)

    @property
    def is_for_programs(self) -> bool:
        """Whether interior points find what to hide: there is no cheap projection."""
        return self.is_irregular and bool(self._movable.sum() <= self.params.most_for_programs)

    def do_by_programs(self, ledger: Ledger, task: Task) -> None:
        """Hide what a task needs by interior points on the whole table, and do it."""
        moved = self.joint.missing(task, ledger.hidden, self._movable)
        for slope in self.params.program_slopes:
            if moved is None:
                return
            again = self.joint.missing(task, ledger.hidden, self._movable, slope=1 / (np.abs(moved) + slope))
            moved = moved if again is None else again
        if moved is not None:
            ledger.hide(
                np.flatnonzero((np.abs(moved) > tolerances.PROGRAM_SUPPORT) & ~ledger.hidden & self._movable)
            )
            self.settle(ledger, task, ledger.hidden)

    def make_exact(
        self, ledger: Ledger, quest: Quest, state: State, touched: Bool, deadline: Deadline
    ) -> None:
        """Hide what deviations move, and make them exact.

        Where something was read off too early to be feasible, the least that is missing is looked for among
        what was moved at one time or other; then from where the search stands, with what is hidden by now for
        free and more slack.
        """
        tasks, terms, slopes = quest.tasks, quest.terms, quest.slopes
        for _ in range(self.params.attempts):
            moved = slopes.moved(state)
            ledger.hide(np.flatnonzero(moved & ~ledger.hidden))
            few = moved | slopes.inside(self.problem.hidden_at_start)
            left = [
                k
                for k, task in enumerate(tasks)
                if not (
                    _is_met(ledger, task)
                    or self.settle(ledger, task, few)
                    or self.settle(ledger, task, few, touched)
                )
            ]
            if not left or deadline.is_over:
                return
            tasks, state = [tasks[k] for k in left], state.part(left)
            more = min(terms.slack * self.params.more_slack, self.params.most_slack)
            terms = replace(terms, slack=more)
            state = slopes.closer(ledger.hidden, tasks, state, terms)

    def settle(self, ledger: Ledger, task: Task, allowed: Bool, candidates: Bool | None = None) -> bool:
        """Do the task inside the allowed cells, exactly, and write the deviation down; tells whether it met.

        With `candidates` further cells may be used at their price, and are hidden.
        """
        if candidates is not None:
            moved = self.joint.missing(task, allowed, candidates)
            if moved is None:
                return False
            new = (np.abs(moved) > tolerances.SOLVED_SUPPORT) & ~ledger.hidden
            ledger.hide(np.flatnonzero(new))
            allowed = allowed | new
        witness = self.joint.exact(ledger, task, allowed)
        return witness is not None and ledger.add(witness, stretch=True) > 0


@dataclass(frozen=True)
class Assignment:
    """Tasks that share what they move, for a member of a team: on the whole table or a window of it."""

    tasks: list[Task]
    terms: Terms
    window: Projection | None = None


class TaskTeam:
    """Members that do tasks side by side.

    Parameters
    ----------
    rng
        Of the first member; the others have their own, from the seed.
    """

    def __init__(
        self,
        problem: Problem,
        params: ExactTasksParams,
        workers: int,
        *,
        rng: np.random.Generator,
        seed: int,
        deadline: Deadline,
    ) -> None:
        self.first = ExactTasks(problem, params, rng, deadline)
        projection = self.first.whole.projection
        sources = (np.random.default_rng((seed, number)) for number in range(1, workers))
        others = (ExactTasks(problem, params, source, deadline, projection) for source in sources)
        self.members = [self.first, *others]

    @property
    def deadline(self) -> Deadline:
        """Of interior points."""
        return self.first.joint.deadline

    @deadline.setter
    def deadline(self, deadline: Deadline) -> None:
        for member in self.members:
            member.joint.deadline = deadline

    @property
    def size(self) -> int:
        """How many assignments are done at a time."""
        return 1 if self.first.is_for_programs else len(self.members)

    def do(self, ledger: Ledger, assignments: list[Assignment], deadline: Deadline) -> list[float]:
        """Hide what assignments need, up to one for each member, and write down what is exact.

        Returns
        -------
        What each has added to the cost.
        """
        if self.first.is_for_programs:
            return [self._do_by_programs(ledger, each, deadline) for each in assignments]
        quests = [
            Quest(each.tasks, each.terms, member.engine(each.window) if each.window else member.whole)
            for member, each in zip(self.members, assignments, strict=False)
        ]
        found = cheapest(ledger.hidden, quests, deadline)
        if deadline.is_over:  # what moves at large ε is far too much
            return [0.0] * len(quests)
        before = ledger.cost
        ledgers = [ledger] if len(quests) == 1 else [ledger.copied() for _ in quests]
        works = [
            partial(member.make_exact, own, quest, *states)
            for member, own, quest, states in zip(self.members, ledgers, quests, found, strict=False)
        ]
        side_by_side(works, deadline)
        added: list[float] = []
        for own in ledgers:
            if own is not ledger:
                ledger.hide(np.flatnonzero(own.hidden & ~ledger.hidden))
                ledger.add_all(own.witnesses())
            added.append(ledger.cost - before - sum(added))
        return added

    def harvest(self, ledger: Ledger, *, rounds: int) -> None:
        """Meet open demands inside what is hidden, as many as possible by one deviation."""
        first, *others = (member.joint for member in self.members)
        first.harvest(ledger, self.first.rng, rounds=rounds, others=others)

    def _do_by_programs(self, ledger: Ledger, assignment: Assignment, deadline: Deadline) -> float:
        before = ledger.cost
        for task in assignment.tasks:
            if not deadline.is_over:
                self.first.do_by_programs(ledger, task)
        return ledger.cost - before


def _is_met(ledger: Ledger, task: Task) -> bool:
    """Whether nothing of a task is open any more: the deviation of another one, reversed, may do it."""
    return not any(
        ledger.is_open(cell, sign > 0)
        for cell, sign in zip(task.cells.tolist(), task.signs.tolist(), strict=True)
    )
