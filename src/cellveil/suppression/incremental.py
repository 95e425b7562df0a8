"""The incremental linear program on one component, with the book's exact witnesses.

For a demand (cell p, direction, amount d) it solves, in units of d,

    min Σ c_j (y⁺_j + y⁻_j)   subject to   M (y⁺ − y⁻) = 0,   0 ≤ y⁺_j ≤ up_j / d,   0 ≤ y⁻_j ≤ down_j / d,
    y_p = ± 1

with c_j = w_j, or next to nothing for hidden cells; then again with *slopes* c_j = w_j / (|y_j| + ε), which
come nearer to the true cost of hiding (paid once, however far a cell moves). The vertex is made exact and
written into the book, with what it moves hidden.

Requires components small enough for simplex (some thousand cells). Ensures exactness of what it writes.

References: Kelly, Golden & Assad (1992); equations (1)–(8) of Serpell, Smith, Clark & Staggemeier (2011); the
slopes are those of fixed-charge problems.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cellveil.attack.components import Component, split
from cellveil.attack.lattice import Lattice
from cellveil.attack.lift import lift
from cellveil.attack.witness import Witness
from cellveil.problem import Status
from cellveil.solvers.lp import LiveLP, LPAnswer, LPStatus
from cellveil.solvers.tolerances import REACH, ROUNDING, SUPPORT
from cellveil.suppression.book import Book

Float = NDArray[np.float64]

NEARLY_FREE = 1e-5
"""Cost of a hidden cell: enough to keep deviations small, too little to prefer hiding another cell."""

WEIGHT_RANGE = 1e6
"""Weights above this multiple of the median are taken as equally forbidding."""

SLOPES = (0.1, 0.01)

Verdict = Literal["met", "impossible", "unclear"]


class Incremental:
    """Protects single demands of a book by linear programs over their component."""

    def __init__(self, book: Book, *, slopes: tuple[float, ...] = SLOPES) -> None:
        self.book, self.slopes = book, slopes
        problem = book.problem
        self.component_of, self.components = split(problem.table.relations, problem.status != Status.FROZEN)
        self._programs: dict[int, _Program] = {}

    @property
    def num_lps(self) -> int:
        """How many programs were solved."""
        return sum(program.lp.num_solves for program in self._programs.values())

    def size_of(self, cell: int) -> int:
        """How many cells the component of the cell has."""
        number = int(self.component_of[cell])
        return 0 if number < 0 else len(self.components[number].cells)

    def protect(self, cell: int, up: bool, *, time_limit: float | None = None) -> Verdict:
        """Hide what the open demand needs, as cheaply as the program knows, and write down the witness."""
        program = self._program(cell)
        if program is None:
            return "impossible"
        amount = int((self.book.need_up if up else self.book.need_down)[cell])
        return program.protect(cell, up, amount, self.slopes, time_limit)

    def farthest(self, cell: int, up: bool, *, time_limit: float | None = None) -> int:
        """How far the cell can move if everything movable is hidden, up to what is asked."""
        program = self._program(cell)
        amount = int((self.book.need_up if up else self.book.need_down)[cell])
        return 0 if program is None else program.farthest(cell, up, amount, time_limit)

    def _program(self, cell: int) -> _Program | None:
        number = int(self.component_of[cell])
        if number < 0:
            return None
        if number not in self._programs:
            self._programs[number] = _Program(self.book, self.components[number])
        return self._programs[number]


class _Program:
    """The live LP of one component of movable cells."""

    def __init__(self, book: Book, component: Component) -> None:
        from scipy.sparse import hstack

        problem, cells = book.problem, component.cells
        self.book, self.component, self.cells = book, component, cells
        self.down, self.up = problem.down[cells], problem.up[cells]
        weight = problem.weight[cells]
        positive = weight[weight > 0]
        unit = float(np.median(positive)) if len(positive) else 1.0
        self.weight = np.clip(weight / unit, NEARLY_FREE, WEIGHT_RANGE)
        n, m = len(cells), len(component.rows)
        self.lp = LiveLP(
            hstack([component.matrix, -component.matrix]).tocsc(),
            np.zeros(m),
            np.zeros(2 * n),
            np.zeros(2 * n),
        )

    def protect(
        self, cell: int, up: bool, amount: int, slopes: tuple[float, ...], time_limit: float | None
    ) -> Verdict:
        """See `Incremental.protect`."""
        free = self.book.hidden[self.cells]
        answer = self._solve(cell, up, amount, np.where(free, NEARLY_FREE, self.weight), time_limit)
        if answer.status is LPStatus.INFEASIBLE:
            return "impossible"
        if answer.point is None:
            return "unclear"
        best = self._moved(answer)
        for slope in slopes:
            if not self._new_weight(best):
                break
            costs = np.where(free, NEARLY_FREE, self.weight / (np.abs(best) + slope))
            answer = self._resolve(costs, time_limit)
            if answer.point is None:
                break
            moved = self._moved(answer)
            if self._new_weight(moved) < self._new_weight(best):
                best = moved
        return "met" if self._write(best * amount, cell, up) else "unclear"

    def _new_weight(self, moved: Float) -> float:
        return float(self.weight[(np.abs(moved) > SUPPORT) & ~self.book.hidden[self.cells]].sum())

    def _moved(self, answer: LPAnswer) -> Float:
        assert answer.point is not None
        n = len(self.cells)
        moved = answer.point[:n] - answer.point[n:]
        return np.where(np.abs(moved) > SUPPORT, moved, 0.0)

    def _solve(self, cell: int, up: bool, amount: int, costs: Float, time_limit: float | None) -> LPAnswer:
        """With short reach first, then with all."""
        n, target = len(self.cells), int(np.searchsorted(self.cells, cell))
        if (self.up if up else self.down)[target] < amount:
            return LPAnswer(LPStatus.INFEASIBLE)
        moving, resting = (target, target + n) if up else (target + n, target)
        self.lp.set_costs(np.concatenate([costs, costs]))
        answer = LPAnswer(LPStatus.UNKNOWN)
        for reach in (REACH, np.inf):
            lower, upper = np.zeros(2 * n), np.minimum(np.concatenate([self.up, self.down]) / amount, reach)
            lower[moving], upper[moving], upper[resting] = 1.0, 1.0, 0.0
            self.lp.set_bounds(lower, upper)
            answer = self.lp.solve(time_limit, fresh=True)
            if answer.status is not LPStatus.INFEASIBLE:
                break
        return answer

    def _resolve(self, costs: Float, time_limit: float | None) -> LPAnswer:
        self.lp.set_costs(np.concatenate([costs, costs]))
        return self.lp.solve(time_limit)

    def _write(self, moved: Float, cell: int, up: bool) -> bool:
        """Make the deviation exact and write it into the book; tells whether the demand is met now."""
        witness = self._exact(moved)
        if witness is not None:
            self.book.add(witness, hide=True, stretch=True)
        return bool((self.book.witness_up if up else self.book.witness_down)[cell] >= 0)

    def _exact(self, moved: Float) -> Witness | None:
        down, up = self.book.room_down[self.cells], self.book.room_up[self.cells]
        witness = lift(self.component, moved, down, up)
        if witness is not None:
            return witness
        own = np.flatnonzero(self.book.hidden[self.cells] | (moved != 0))
        lattice = Lattice(self.book.problem.table.relations, self.cells[own], np.minimum(down, up)[own])
        return lattice.lift(moved[own], down[own], up[own])

    def farthest(self, cell: int, up: bool, amount: int, time_limit: float | None) -> int:
        """See `Incremental.farthest`."""
        n = len(self.cells)
        column = int(np.searchsorted(self.cells, cell)) + (0 if up else n)
        costs = np.zeros(2 * n)
        costs[[column, (column + n) % (2 * n)]] = -1.0, 1.0
        upper = np.concatenate([self.up, self.down]) / amount
        upper[column] = min(upper[column], 1.0)
        self.lp.set_costs(costs)
        self.lp.set_bounds(np.zeros(2 * n), upper)
        answer = self.lp.solve(time_limit, fresh=True)
        return 0 if answer.point is None else math.floor(-answer.objective * amount + ROUNDING)
