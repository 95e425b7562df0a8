"""The linear program for fixed senses, kept alive: a change of senses is a change of bounds (warm start).

Solves  min Σ w |y|  (or Σ w y², see `piecewise_cost`)  subject to  M y = 0  and the bounds that the senses
leave: step 2 of the heuristics of Cox and Dandekar (2002), with weights as in Dula, Fagan and Massell (2004).
The next solve starts from the last basis. The answer is a vertex; it is then rounded (`integers`).

Requires a few ten thousand cells at most. Ensures that what comes back keeps everything, exactly. Cost: one
simplex run; few steps after a change of few senses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.adjustment.integers import whole_near
from cellveil.adjustment.model import Model
from cellveil.adjustment.piecewise_cost import Breakpoints, pieces_of
from cellveil.arrays import Bool, Float, Int
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.solvers.lp import LiveLP, LPStatus
from cellveil.solvers.tolerances import SQUARES_GAP, WHOLE


@dataclass(frozen=True, eq=False)
class Fit:
    """An adjustment that keeps everything, and its cost."""

    y: Int
    senses: Bool
    cost: float


@dataclass(frozen=True, eq=False)
class Slack:
    """A solve before it is made whole.

    Parameters
    ----------
    y
        The movement.
    cost
        Of the program: no adjustment with these senses costs less.
    slopes
        For each sensitive cell, what one unit more of y would cost at its bound: where it is far from 0
        against the sense, the other sense looks cheaper.
    lack
        How far each sensitive cell stays short of its level; 0 unless that was allowed.
    """

    y: Float
    cost: float
    slopes: Float
    lack: Float


class FixedSenses:
    """The live program of one model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._marks = Breakpoints(model)
        self._clock = NO_LIMIT
        self._build()

    def _build(self) -> None:
        from scipy.sparse import csc_matrix

        model = self.model
        self._pieces = pieces = pieces_of(model, self._marks, from_levels=False)
        columns = model.relations.matrix.tocsc()[:, pieces.cell]
        counts = np.diff(columns.indptr)
        data = columns.data * np.repeat(pieces.sign, counts)
        matrix = csc_matrix((data, columns.indices, columns.indptr), shape=columns.shape)
        self._unit, self._money = pieces.unit(), pieces.money()
        high = pieces.length / self._unit
        self._lp = LiveLP(matrix, np.zeros(matrix.shape[0]), np.zeros(len(high)), high)
        self._prices = pieces.price / self._money
        self._lp.set_costs(self._prices)
        number = model.place[pieces.cell]
        self._mine = np.flatnonzero(number >= 0)
        self._number = number[self._mine]

    def relax(
        self, senses: Bool, clock: Deadline = NO_LIMIT, *, penalty: float | None = None
    ) -> Slack | None:
        """The program's answer; None where the senses are impossible or there is no clear answer.

        With a penalty (a multiple of the middle price) sensitive cells may fall short of their levels: there
        is always an answer, and it says by how much.
        """
        self._set(senses, penalty)
        self._clock = clock
        found = self._solve()
        if found is None:
            return None
        y, cost = found
        return Slack(y, cost, self._slopes(senses), self._lack(y, senses))

    def _solve(self) -> tuple[Float, float] | None:
        """The movement and what it costs; None where there is none, or no clear answer."""
        answer = self._lp.solve(self._clock)
        if answer.status is not LPStatus.OPTIMAL or answer.point is None:
            return None
        y = self._pieces.movement(answer.point * self._unit, self.model.problem.table.num_cells)
        return y, answer.objective * self._unit * self._money

    def _set(self, senses: Bool, penalty: float | None) -> None:
        """Open the pieces of the senses from the levels on; with a penalty, also a way back."""
        model, pieces, mine, number = self.model, self._pieces, self._mine, self._number
        up = pieces.sign[mine] > 0
        level, other = model.rise[number], model.fall[number]
        level, other = np.where(up, level, other), np.where(up, other, level)
        is_open, first = senses[number] == up, pieces.start[mine] == 0
        low = np.where(is_open, np.clip(level - pieces.start[mine], 0.0, pieces.length[mine]), 0.0)
        high, prices = np.where(is_open, pieces.length[mine], 0.0), self._prices[mine]
        if penalty is not None:
            back = ~is_open & first
            high = np.where(back, other + pieces.length[mine], high)
            prices = np.where(back, penalty, prices)
        self._lp.set_bounds(low / self._unit, high / self._unit, mine)
        self._lp.set_costs(prices, mine)

    def _lack(self, y: Float, senses: Bool) -> Float:
        """How far sensitive cells stay short of their levels."""
        own, model = y[self.model.cells], self.model
        return np.maximum(np.where(senses, model.rise - own, own + model.fall), 0.0)

    def _slopes(self, senses: Bool) -> Float:
        """Reduced costs of the pieces at the levels, in the direction of the sense."""
        costs = self._lp.reduced_costs()[self._mine] * self._money
        pieces, number = self._pieces, self._number
        up = pieces.sign[self._mine] > 0
        level = np.where(up, self.model.rise[number], self.model.fall[number])
        at_level = (senses[number] == up) & (pieces.start[self._mine] < level)
        slopes = np.zeros(len(self.model.cells))
        np.maximum.at(slopes, number[at_level], costs[at_level])
        return slopes

    def fit(self, senses: Bool, clock: Deadline = NO_LIMIT) -> Fit | None:
        """The best whole adjustment with these senses, as far as vertices and dives from them go."""
        best: Fit | None = None
        for _ in range(self.model.params.rounding.approximations if self.model.power > 1 else 1):
            slack = self.relax(senses, clock)
            y = None if slack is None else self._whole(slack, senses)
            if y is None or slack is None:
                break
            cost = self.model.cost(y)
            if best is None or cost < best.cost:
                best = Fit(y, senses.copy(), cost)
            if best.cost <= slack.cost * (1 + SQUARES_GAP):
                break
            if self.model.power > 1:
                self._marks.add(y)
                self._build()
        return best

    def _whole(self, slack: Slack, senses: Bool) -> Int | None:
        """Round; where that does not do, fix fractional cells at whole numbers until the rest are whole too.

        Cells with small values first: fixing the parts one by one leaves the totals free to follow.
        """
        model, y, params = self.model, slack.y, self.model.params.rounding
        low, high = model.rooms(senses)
        fixed: list[Int] = []
        for _ in range(params.dives):
            near = np.clip(np.rint(y), low, high).astype(np.int64)
            fractional = np.flatnonzero(np.abs(y - near) > WHOLE)
            if model.fits(near) or not len(fractional):
                break
            sizes = np.abs(model.problem.table.values[fractional])
            chosen = fractional[np.argsort(sizes, kind="stable")[: 1 + len(fractional) // params.at_a_time]]
            found = self._fix(chosen, near)
            if found is None and len(chosen) == 1:  # the other neighbour
                near[chosen] = np.where(near[chosen] > y[chosen], np.floor(y[chosen]), np.ceil(y[chosen]))
                found = self._fix(chosen, near)
            fixed.append(chosen)
            if found is None:
                break
            y = found
        for cells in fixed:
            self._free(cells, senses)
        return near if model.fits(near) else whole_near(model, slack.y, senses)

    def _fix(self, cells: Int, y: Int) -> Float | None:
        """Hold some cells where they are; None where the others cannot follow."""
        columns = self._columns_of(cells)
        there = self._pieces.filled(y)[columns] / self._unit
        self._lp.set_bounds(there, there, columns)
        found = self._solve()
        return None if found is None else found[0]

    def _free(self, cells: Int, senses: Bool) -> None:
        """Give fixed cells their rooms back."""
        columns = self._columns_of(cells)
        self._lp.set_bounds(np.zeros(len(columns)), self._pieces.length[columns] / self._unit, columns)
        self._set(senses, None)

    def _columns_of(self, cells: Int) -> Int:
        chosen = np.zeros(self.model.problem.table.num_cells, dtype=bool)
        chosen[cells] = True
        return np.flatnonzero(chosen[self._pieces.cell])
