"""Deviations asked for cell by cell, within any rooms: exact farthest ones, and the cheapest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.clock import Deadline
from cellveil.deviations.components import Component, split
from cellveil.deviations.exact_rounding import lift
from cellveil.deviations.movement_program import ENDLESS, Feasibility, MovementParams, MovementProgram
from cellveil.deviations.witness import Witness
from cellveil.problem import Problem, Status
from cellveil.solvers.lp import LPStatus
from cellveil.solvers.tolerances import EQUAL, INTEGRALITY, REACH
from cellveil.tables.relations import Relations
from cellveil.tables.scaled import UNBOUNDED, unscale


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

    verdict: Feasibility
    cells: Int
    moved: Float
    witness: Witness | None = None

    @property
    def support(self) -> Int:
        """The cells that move."""
        return np.asarray(self.cells[self.moved != 0])


NO_MOVE = Move(Feasibility.IMPOSSIBLE, np.zeros(0, dtype=np.int64), np.zeros(0))


class Movement:
    """Deviations of some cells of a table, by the programs of their components.

    Rooms are whole numbers in any one unit: deviations may be scaled, so the unit does not matter.

    Parameters
    ----------
    movable
        The cells that may move: those hidden for an attacker, all but frozen ones for a protector.
    weight
        Cost of hiding each cell; none is needed where only the farthest deviations are asked for.
    live
        Most programs kept in memory.

    Attributes
    ----------
    unclear
        Questions for a farthest deviation to which the solver gave no clear answer, or whose answer could not
        be made exact.
    """

    def __init__(
        self,
        relations: Relations,
        movable: Bool,
        weight: Float | None = None,
        *,
        deadline: Deadline = ENDLESS,
        params: MovementParams | None = None,
        live: int = 2**31,
    ) -> None:
        self.component_of, self.components = split(relations, movable)
        self.deadline, self.unclear = deadline, 0
        self.weight = np.ones(len(movable)) if weight is None else weight
        self._params, self._live, self._earlier_lps = params, live, 0
        self._programs: dict[int, MovementProgram] = {}

    @classmethod
    def of(cls, problem: Problem, deadline: Deadline = ENDLESS, *, weight: Float | None = None) -> Movement:
        """Of all cells of a problem but the frozen ones, by default at their weights."""
        movable = problem.status != Status.FROZEN
        costs = problem.weight if weight is None else weight
        return cls(problem.table.relations, movable, costs, deadline=deadline)

    @property
    def num_lps(self) -> int:
        """How many programs were solved."""
        return self._earlier_lps + sum(program.num_lps for program in self._programs.values())

    @property
    def num_steps(self) -> int:
        """How many simplex steps the programs in memory took."""
        return sum(program.num_steps for program in self._programs.values())

    @property
    def slope_gain(self) -> float:
        """Which share of the cost the slopes have saved so far."""
        flat = sum(program.flat_cost for program in self._programs.values())
        return 1 - sum(program.slope_cost for program in self._programs.values()) / flat if flat else 0.0

    def neighbours(self, cells: Int) -> Bool:
        """All movable cells that are connected with one of these."""
        return np.isin(self.component_of, self.component_of[cells]) & (self.component_of >= 0)

    def component(self, cell: int) -> Component | None:
        """The movable cells that are connected with the cell; None where it cannot move."""
        number = int(self.component_of[cell])
        return None if number < 0 else self.components[number]

    def program(self, cell: int) -> MovementProgram | None:
        """The program of the cell's component; None where it cannot move."""
        number = int(self.component_of[cell])
        if number < 0:
            return None
        if number not in self._programs:
            if len(self._programs) >= self._live:
                self._earlier_lps = self.num_lps
                self._programs.clear()
            component = self.components[number]
            self._programs[number] = MovementProgram(component, self.weight[component.cells], self._params)
        return self._programs[number]

    def find(self, cell: int, amount: int, rooms: tuple[Int, Int], *, up: bool) -> Witness | None:
        """An exact deviation that moves the cell by `amount` at least; None where none was found."""
        if amount > _room(rooms, cell, up) or (program := self.program(cell)) is None:
            return None
        column = program.column(cell)
        for reach in (REACH, np.inf):
            moved = self._farthest(program, column, amount, rooms, reach, up)
            if moved is None:
                return None
            if (moved[column] if up else -moved[column]) >= amount * (1 - EQUAL):
                witness = lift(program.component, moved, *(room[program.cells] for room in rooms))
                if witness is not None and _moves(witness, cell, up) >= amount:
                    return witness
                self.unclear += 1
                return None
        return None

    def share(self, cell: int, amount: int, rooms: tuple[Int, Int], up: bool) -> float:
        """The largest possible movement as a share of `amount`, 1 at most; 0 where the solver is unclear."""
        program = self.program(cell)
        if program is None:
            return 0.0
        column = program.column(cell)
        moved = self._farthest(program, column, amount, rooms, np.inf, up)
        return 0.0 if moved is None else min(abs(float(moved[column])) / amount, 1.0)

    def _farthest(
        self,
        program: MovementProgram,
        column: int,
        amount: int,
        rooms: tuple[Int, Int],
        reach: float,
        up: bool,
    ) -> Float | None:
        moved = None
        if not self.deadline.is_over:
            lower, upper = _limits(rooms, program.cells)
            (lower if up else upper)[column] = 0.0
            moved = program.farthest(
                column, up, lower, upper, amount, reach=reach, deadline=self.deadline
            ).point
        self.unclear += moved is None
        return moved

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
        lower, upper = _limits(rooms, component.cells)
        column = int(np.searchsorted(component.cells, cell))
        least = (lower if up else upper)[column] = amount if up else -amount
        if not whole:
            (upper if up else lower)[column] = least
        move = self.within(cell, lower, upper, amount, hidden, whole=whole)
        if move.verdict is not Feasibility.MET:
            return move
        witness = lift(component, move.moved, *(room[component.cells] for room in rooms))
        return Move(move.verdict, move.cells, move.moved, witness)

    def within(
        self, cell: int, lower: Float, upper: Float, amount: int, hidden: Bool, *, whole: bool = False
    ) -> Move:
        """The cheapest deviation of the cell's component between the limits."""
        program = self.program(cell)
        if program is None:
            return NO_MOVE
        is_hidden = hidden[program.cells]
        answer = program.cheapest(lower, upper, amount, is_hidden, deadline=self.deadline)
        if whole and answer.point is not None and not _is_whole(answer.point):
            # first among the cells that are hidden or move already, then among all
            for allowed in (is_hidden | (answer.point != 0), np.ones_like(is_hidden)):
                least, most = np.where(allowed, lower, 0.0), np.where(allowed, upper, 0.0)
                answer = program.cheapest_whole(least, most, is_hidden, deadline=self.deadline)
                if answer.status is not LPStatus.INFEASIBLE:
                    break
        if answer.point is not None:
            return Move(Feasibility.MET, program.cells, answer.point)
        impossible = answer.status is LPStatus.INFEASIBLE
        verdict = Feasibility.IMPOSSIBLE if impossible else Feasibility.UNCLEAR
        return Move(verdict, program.cells, np.zeros(len(is_hidden)))


def _limits(rooms: tuple[Int, Int], cells: Int) -> tuple[Float, Float]:
    """Lower and upper limits of the cells' movements, from rooms downwards and upwards."""
    down, up = (np.maximum(unscale(room[cells], 0), 0.0) for room in rooms)
    return -down, up


def _room(rooms: tuple[Int, Int], cell: int, up: bool) -> float:
    room = int(rooms[1 if up else 0][cell])
    return np.inf if room == UNBOUNDED else room


def _is_whole(moved: Float) -> bool:
    return bool((np.abs(moved - np.rint(moved)) < INTEGRALITY).all())


def _moves(witness: Witness, cell: int, up: bool) -> int:
    """How far the witness moves the cell, in whole units."""
    place = int(np.searchsorted(witness.cells, cell))
    if place == len(witness.cells) or witness.cells[place] != cell:
        return 0
    numerator = int(witness.numerators[place])
    return (numerator if up else -numerator) // witness.denominator
