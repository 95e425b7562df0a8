"""The incremental linear program on one component: the cheapest deviation within given limits.

`CheapestDeviation` solves, in units of an amount d,

    min Σ c_j |y_j|   subject to   M y = 0,   lower_j ≤ d y_j ≤ upper_j

with c_j = w_j, or next to nothing for hidden cells; then again with *slopes* c_j = w_j / (|y_j| + ε), which
come nearer to the true cost of hiding (paid once, however far a cell moves). What an attacker cannot rule out
and what it must be kept off from both are limits: for a demand (cell p, direction, amount d) of the outsider
they are −down and up, and y_p = ± 1.

`Incremental` asks this for the demands of a book. The vertex is made exact and written into the book, with
what it moves hidden.

Requires components small enough for simplex (some thousand cells). Ensures exactness of what it writes.

References: Kelly, Golden & Assad (1992); equations (1)–(8) of Serpell, Smith, Clark & Staggemeier (2011); the
slopes are those of fixed-charge problems.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from cellveil.arrays import Bool, Float
from cellveil.clock import counted_time
from cellveil.deviations.components import Component, split
from cellveil.deviations.exact_rounding import lift
from cellveil.deviations.joint_witness import JointWitness, JointWitnessParams, Task
from cellveil.deviations.ledger import Book
from cellveil.params import Params, param, part
from cellveil.problem import Status
from cellveil.solvers.lp import LiveLP, LPAnswer, LPStatus
from cellveil.solvers.tolerances import REACH, ROUNDING, SUPPORT


@dataclass(frozen=True, kw_only=True)
class OneDemandParams(Params):
    """Parameters of the incremental linear program."""

    hidden_cost: float = param(1e-5, "Cost of moving a hidden cell, in units of the median weight.", least=0)
    weight_range: float = param(1e6, "Largest weight that counts, in units of the median weight.", least=1)
    slopes: tuple[float, ...] = param(
        (0.1, 0.01), "Values of epsilon in the rounds of iteratively reweighted l1 (slope scaling).", least=0
    )
    most_cells: int = param(2_500, "Cells of a component up to which linear programs come first.", least=0)
    joint_witness: JointWitnessParams = part(JointWitnessParams)


Verdict = Literal["met", "impossible", "unclear"]


class Incremental:
    """Protects single demands of a book by linear programs over their component."""

    def __init__(self, book: Book, *, params: OneDemandParams | None = None) -> None:
        self.book, self.params = book, params or OneDemandParams()
        self.slopes = self.params.slopes
        problem = book.problem
        self.component_of, self.components = split(problem.table.relations, problem.status != Status.FROZEN)
        self._programs: dict[int, _Program] = {}

    @property
    def num_lps(self) -> int:
        """How many programs were solved."""
        return sum(program.num_lps for program in self._programs.values())

    @property
    def steps_per_lp(self) -> float:
        """How many simplex steps a program took on average."""
        return self.num_steps / max(self.num_lps, 1)

    @property
    def num_steps(self) -> int:
        """How many simplex steps all programs took."""
        return sum(program.num_steps for program in self._programs.values())

    @property
    def slope_gain(self) -> float:
        """Which share of the cost the slopes have saved so far."""
        flat = sum(program.flat_cost for program in self._programs.values())
        return 1 - sum(program.slope_cost for program in self._programs.values()) / flat if flat else 0.0

    def size_of(self, cell: int) -> int:
        """How many cells the component of the cell has."""
        number = int(self.component_of[cell])
        return 0 if number < 0 else len(self.components[number].cells)

    def protect(
        self, cell: int, up: bool, *, time_limit: float | None = None, budget: float = math.inf
    ) -> Verdict:
        """Hide what the open demand needs, as cheaply as the program knows, and write down the witness.

        Cells that cost more than the budget stay published; "impossible" then means for that price.
        """
        program = self._program(cell)
        if program is None:
            return "impossible"
        amount = int((self.book.need_up if up else self.book.need_down)[cell])
        return program.protect(cell, up, amount, self.slopes, time_limit, budget)

    def farthest(self, cell: int, up: bool, *, time_limit: float | None = None) -> int:
        """How far the cell can move if everything movable is hidden, up to what is asked."""
        program = self._program(cell)
        amount = int((self.book.need_up if up else self.book.need_down)[cell])
        return 0 if program is None else program.reach(cell, up, amount, time_limit)

    def _program(self, cell: int) -> _Program | None:
        number = int(self.component_of[cell])
        if number < 0:
            return None
        if number not in self._programs:
            self._programs[number] = _Program(self.book, self.components[number], self.params)
        return self._programs[number]


class CheapestDeviation:
    """The live LP of one component of movable cells, for limits that change from question to question.

    Parameters
    ----------
    component
        The cells that may move, and their relations.
    weight
        Cost of hiding each of these cells.

    Attributes
    ----------
    flat_cost, slope_cost
        What all deviations found with slopes would have cost to hide before, and cost with them.
    """

    def __init__(self, component: Component, weight: Float, params: OneDemandParams | None = None) -> None:
        from scipy.sparse import hstack

        self.component, self.cells = component, component.cells
        self.params = params or OneDemandParams()
        self.flat_cost = self.slope_cost = 0.0
        positive = weight[weight > 0]
        unit = float(np.median(positive)) if len(positive) else 1.0
        self.weight = np.clip(weight / unit, self.params.hidden_cost, self.params.weight_range)
        n, m = len(self.cells), len(component.rows)
        self._lp = LiveLP(
            hstack([component.matrix, -component.matrix]).tocsc(),
            np.zeros(m),
            np.zeros(2 * n),
            np.zeros(2 * n),
        )

    @property
    def num_lps(self) -> int:
        """How many programs were solved."""
        return self._lp.num_solves

    @property
    def num_steps(self) -> int:
        """How many simplex steps they took."""
        return self._lp.num_steps

    def find(
        self,
        lower: Float,
        upper: Float,
        amount: int,
        is_hidden: Bool,
        *,
        slopes: tuple[float, ...] | None = None,
        time_limit: float | None = None,
    ) -> LPAnswer:
        """The deviation between the limits for which the least must be hidden, as far as the program knows.

        Parameters
        ----------
        lower, upper
            Limits of the movement of each cell, ±inf where there is none.
        amount
            What counts as a movement of 1; limits far beyond it are tried only where nothing else is found.
        is_hidden
            Cells that cost nothing.

        Returns
        -------
        The point has one movement for each cell, in the unit of the limits.
        """
        slopes = self.params.slopes if slopes is None else slopes
        end = None if time_limit is None else counted_time() + time_limit
        answer = self._solve(
            lower, upper, amount, np.where(is_hidden, self.params.hidden_cost, self.weight), end
        )
        if answer.point is None:
            return answer
        best = self._moved(answer)
        first = self._new_weight(best, is_hidden)
        for slope in slopes:
            if not self._new_weight(best, is_hidden):
                break
            costs = np.where(is_hidden, self.params.hidden_cost, self.weight / (np.abs(best) + slope))
            self._lp.set_costs(np.concatenate([costs, costs]))
            again = self._lp.solve(_left(end), fresh=True)
            if again.point is None:
                break
            moved = self._moved(again)
            if self._new_weight(moved, is_hidden) < self._new_weight(best, is_hidden):
                best = moved
        cost = self._new_weight(best, is_hidden)
        if slopes:
            self.flat_cost, self.slope_cost = self.flat_cost + first, self.slope_cost + cost
        return LPAnswer(LPStatus.OPTIMAL, cost, best * amount)

    def find_whole(
        self, lower: Float, upper: Float, is_hidden: Bool, *, time_limit: float | None = None
    ) -> LPAnswer:
        """The same among deviations by whole units, by an integer program without slopes."""
        costs = np.where(is_hidden, self.params.hidden_cost, self.weight)
        self._lp.set_costs(np.concatenate([costs, costs]))
        self._lp.set_bounds(*_both_ways(lower, upper))
        answer = self._lp.solve_whole(time_limit)
        if answer.point is None:
            return answer
        moved = np.rint(self._moved(answer))
        return LPAnswer(LPStatus.OPTIMAL, self._new_weight(moved, is_hidden), moved)

    def farthest(
        self, column: int, up: bool, lower: Float, upper: Float, amount: int, time_limit: float | None
    ) -> int:
        """How far a cell can move within the limits if everything is hidden, up to `amount`."""
        n = len(self.cells)
        moving = column + (0 if up else n)
        costs = np.zeros(2 * n)
        costs[[moving, (moving + n) % (2 * n)]] = -1.0, 1.0
        least, most = _both_ways(lower / amount, upper / amount)
        most[moving] = min(most[moving], 1.0)
        self._lp.set_costs(costs)
        self._lp.set_bounds(least, most)
        answer = self._lp.solve(time_limit, fresh=True)
        return 0 if answer.point is None else math.floor(-answer.objective * amount + ROUNDING)

    def _new_weight(self, moved: Float, is_hidden: Bool) -> float:
        return float(self.weight[(np.abs(moved) > SUPPORT) & ~is_hidden].sum())

    def _moved(self, answer: LPAnswer) -> Float:
        assert answer.point is not None
        n = len(self.cells)
        moved = answer.point[:n] - answer.point[n:]
        return np.where(np.abs(moved) > SUPPORT, moved, 0.0)

    def _solve(self, lower: Float, upper: Float, amount: int, costs: Float, end: float | None) -> LPAnswer:
        """With short reach first, then with all."""
        self._lp.set_costs(np.concatenate([costs, costs]))
        least, most = _both_ways(lower / amount, upper / amount)
        answer = LPAnswer(LPStatus.UNKNOWN)
        for reach in (REACH, np.inf):
            self._lp.set_bounds(least, np.maximum(np.minimum(most, reach), least))
            answer = self._lp.solve(_left(end), fresh=True)
            if answer.status is not LPStatus.INFEASIBLE:
                break
        return answer


def _left(end: float | None) -> float | None:
    """Seconds until a moment on the clock of time limits."""
    return None if end is None else max(end - counted_time(), 0.0)


def _both_ways(lower: Float, upper: Float) -> tuple[Float, Float]:
    """Limits of the movements upwards, then of those downwards."""
    nothing = np.zeros_like(lower)
    return (
        np.concatenate([np.maximum(lower, nothing), np.maximum(-upper, nothing)]),
        np.concatenate([np.maximum(upper, nothing), np.maximum(-lower, nothing)]),
    )


class _Program(CheapestDeviation):
    """The same for the demands of a book, whose limits are those of the outsider."""

    def __init__(self, book: Book, component: Component, params: OneDemandParams) -> None:
        problem, cells = book.problem, component.cells
        super().__init__(component, problem.weight[cells], params)
        self.book = book
        self.down, self.up = problem.down[cells], problem.up[cells]

    def protect(
        self,
        cell: int,
        up: bool,
        amount: int,
        slopes: tuple[float, ...],
        time_limit: float | None,
        budget: float,
    ) -> Verdict:
        """See `Incremental.protect`."""
        target = int(np.searchsorted(self.cells, cell))
        if (self.up if up else self.down)[target] < amount:
            return "impossible"
        is_hidden = self.book.hidden[self.cells]
        too_dear = ~is_hidden & (self.book.problem.weight[self.cells] > budget)
        lower, upper = np.where(too_dear, 0.0, -self.down), np.where(too_dear, 0.0, self.up)
        lower[target] = upper[target] = amount if up else -amount
        end = None if time_limit is None else counted_time() + time_limit
        answer = self.find(lower, upper, amount, is_hidden, slopes=slopes, time_limit=time_limit)
        if answer.status is LPStatus.INFEASIBLE:
            return "impossible"
        if answer.point is None:
            return "unclear"
        return "met" if self._write(answer.point, cell, up, end, too_dear) else "unclear"

    def reach(self, cell: int, up: bool, amount: int, time_limit: float | None) -> int:
        """See `Incremental.farthest`."""
        target = int(np.searchsorted(self.cells, cell))
        return self.farthest(target, up, -self.down, self.up, amount, time_limit)

    def _write(self, moved: Float, cell: int, up: bool, end: float | None, too_dear: Bool) -> bool:
        """Make the deviation exact and write it into the book; tells whether the demand is met now."""
        witness = lift(self.component, moved, self.book.room_down[self.cells], self.book.room_up[self.cells])
        if witness is not None:
            self.book.add(witness, hide=True, stretch=True)
        witness_of = self.book.witness_up if up else self.book.witness_down
        return bool(witness_of[cell] >= 0 or self._settled(moved, cell, up, end, too_dear))

    def _settled(self, moved: Float, cell: int, up: bool, end: float | None, too_dear: Bool) -> bool:
        """Another deviation of the same cells, or of some more, where a vertex does not come out exact."""
        allowed = np.zeros(len(self.book.hidden), dtype=bool)
        allowed[self.cells] = self.book.hidden[self.cells] | (moved != 0)
        everything = np.zeros_like(allowed)
        everything[self.cells] = ~too_dear
        amount = (self.book.need_up if up else self.book.need_down)[[cell]].astype(float)
        task = Task(np.array([cell]), np.array([1.0 if up else -1.0]), amount, False)
        settling = JointWitness(self.book.problem, partial(_left, end), self.params.joint_witness)
        witness = settling.exact(self.book, task, allowed)
        if witness is None:
            missing = settling.missing(task, allowed, everything)
            if missing is None:
                return False
            allowed |= np.abs(missing) > SUPPORT
            witness = settling.exact(self.book, task, allowed)
        return witness is not None and self.book.add(witness, hide=True, stretch=True) > 0
