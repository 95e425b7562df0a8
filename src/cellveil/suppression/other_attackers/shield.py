"""A shield judges a pattern against one attacker, and hides more where that attacker gets through.

Every attacker asks the same: is there a deviation within what it cannot rule out that moves a cell as far as
it must be kept off? So every shield hides what the cheapest such deviation moves, found by the incremental
program under that attacker's capacities.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.clock import Deadline
from cellveil.deviations.components import Component, split
from cellveil.deviations.exact_rounding import lift
from cellveil.deviations.witness import Witness
from cellveil.judge.insider import InsiderReport
from cellveil.judge.outsider import OutsiderReport
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.solvers import tolerances
from cellveil.solvers.lp import LPAnswer, LPStatus
from cellveil.suppression.engines.one_demand import CheapestDeviation
from cellveil.tables.scaled import UNBOUNDED, unscale

Verdict = Literal["met", "impossible", "unclear"]


@dataclass(frozen=True, eq=False)
class Judged:
    """A pattern with the verdict on it, and whether time ran out meanwhile."""

    hidden: Bool
    report: OutsiderReport | InsiderReport
    was_cut: bool


class Shield(ABC):
    """Protection against one attacker.

    Parameters
    ----------
    known
        The problem as the attacker knows it.

    Attributes
    ----------
    infeasible
        Cells that no pattern protects against this attacker.
    hurried
        Cells that were hidden only because time ran out.
    last
        The last verdict.
    """

    def __init__(self, known: Problem) -> None:
        self.known = known
        self.infeasible: set[int] = set()
        self.hurried = np.zeros(known.table.num_cells, dtype=bool)
        self.last: Judged | None = None

    def judge(self, hidden: Bool, deadline: Deadline) -> OutsiderReport | InsiderReport:
        """The verdict on the pattern as far as time allows; asked for again, it is not worked out again.

        Unless there is time now for what there was none before.
        """
        last = self.last
        if last is None or not np.array_equal(last.hidden, hidden) or (last.was_cut and not deadline.is_over):
            report = self.judge_anew(hidden, deadline)
            last = self.last = Judged(hidden.copy(), report, deadline.is_over)
        return last.report

    def judge_anew(self, hidden: Bool, deadline: Deadline) -> OutsiderReport | InsiderReport:
        """The verdict on a pattern that was not judged before."""
        return self.attack(self.known, Pattern.hiding(self.known, hidden, ""), deadline)

    def judge_part(self, hidden: Bool, cells: Int, deadline: Deadline) -> OutsiderReport | InsiderReport:
        """The verdict on these primary cells only."""
        part = self.known.only(np.isin(np.arange(len(hidden)), cells))
        return self.attack(part, Pattern.hiding(part, hidden, ""), deadline)

    @abstractmethod
    def attack(
        self, problem: Problem, pattern: Pattern, deadline: Deadline
    ) -> OutsiderReport | InsiderReport:
        """Attack the pattern of the problem, or of a part of it; what there is no time for is not shown."""

    @abstractmethod
    def strengthen(self, hidden: Bool, moves: Moves) -> Bool:
        """The pattern with more cells hidden where the attacker gets through; notes what is infeasible."""


@dataclass(frozen=True, eq=False)
class Move:
    """A deviation that is wanted: whether there is one, and what it moves.

    Parameters
    ----------
    cells, moved
        The cells of the component, and how far each moves, in floating point.
    witness
        The same exactly, where that was possible.
    """

    verdict: Verdict
    cells: Int
    moved: Float
    witness: Witness | None = None

    @property
    def support(self) -> Int:
        """The cells that move."""
        return np.asarray(self.cells[self.moved != 0])


NO_MOVE = Move("impossible", np.zeros(0, dtype=np.int64), np.zeros(0))


class Moves:
    """Cheapest deviations of the movable cells, under capacities that change from question to question."""

    def __init__(self, problem: Problem, deadline: Deadline) -> None:
        self.problem, self.deadline = problem, deadline
        self.component_of, self._components = split(problem.table.relations, problem.status != Status.FROZEN)
        self._programs: dict[int, CheapestDeviation] = {}

    @property
    def num_lps(self) -> int:
        """How many programs were solved."""
        return sum(program.num_lps for program in self._programs.values())

    def neighbours(self, cells: Int) -> Bool:
        """All movable cells that hang together with one of these."""
        return np.isin(self.component_of, self.component_of[cells]) & (self.component_of >= 0)

    def component(self, cell: int) -> Component | None:
        """The movable cells that hang together with the cell; None where it cannot move."""
        number = int(self.component_of[cell])
        return None if number < 0 else self._components[number]

    def push(
        self,
        cell: int,
        amount: int,
        rooms: tuple[Int, Int],
        hidden: Bool,
        *,
        up: bool,
        whole: bool = False,
    ) -> Move:
        """The cheapest deviation within the rooms that moves the cell by `amount`.

        With `whole`, every cell moves by whole units, and this one by `amount` at least.
        """
        component = self.component(cell)
        if component is None or amount > _room(rooms, cell, up):
            return NO_MOVE
        down_room, up_room = (room[component.cells] for room in rooms)
        lower, upper = -np.maximum(unscale(down_room, 0), 0.0), np.maximum(unscale(up_room, 0), 0.0)
        column = int(np.searchsorted(component.cells, cell))
        least = (lower if up else upper)[column] = amount if up else -amount
        if not whole:
            (upper if up else lower)[column] = least
        move = self.within(cell, lower, upper, amount, hidden, whole=whole)
        if move.verdict != "met":
            return move
        witness = lift(component, move.moved, down_room, up_room)
        return Move(move.verdict, move.cells, move.moved, witness)

    def within(
        self, cell: int, lower: Float, upper: Float, amount: int, hidden: Bool, *, whole: bool = False
    ) -> Move:
        """The cheapest deviation of the cell's component between the limits."""
        component = self.component(cell)
        if component is None:
            return NO_MOVE
        program, is_hidden = self._program(cell), hidden[component.cells]
        answer = program.find(lower, upper, amount, is_hidden, time_limit=self.deadline.left)
        if whole and answer.point is not None and not _is_whole(answer):
            answer = self._whole(program, lower, upper, is_hidden, answer.point)
        if answer.point is not None:
            return Move("met", component.cells, answer.point)
        impossible = answer.status is LPStatus.INFEASIBLE
        return Move("impossible" if impossible else "unclear", component.cells, np.zeros(len(is_hidden)))

    def _whole(
        self, program: CheapestDeviation, lower: Float, upper: Float, is_hidden: Bool, moved: Float
    ) -> LPAnswer:
        """A whole deviation: first among the cells that are hidden or move already, then among all."""
        for allowed in (is_hidden | (moved != 0), np.ones_like(is_hidden)):
            least, most = np.where(allowed, lower, 0.0), np.where(allowed, upper, 0.0)
            answer = program.find_whole(least, most, is_hidden, time_limit=self.deadline.left)
            if answer.status is not LPStatus.INFEASIBLE:
                break
        return answer

    def _program(self, cell: int) -> CheapestDeviation:
        number = int(self.component_of[cell])
        if number not in self._programs:
            component = self._components[number]
            weight = self.problem.weight[component.cells]
            self._programs[number] = CheapestDeviation(component, weight)
        return self._programs[number]


def _room(rooms: tuple[Int, Int], cell: int, up: bool) -> float:
    room = int(rooms[1 if up else 0][cell])
    return np.inf if room == UNBOUNDED else room


def _is_whole(answer: LPAnswer) -> bool:
    assert answer.point is not None
    return bool((np.abs(answer.point - np.rint(answer.point)) < tolerances.INTEGRALITY).all())
