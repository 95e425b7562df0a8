"""The linear program over deviations of one component: how far, or how cheaply, can a cell move?

In units of an amount d, with rises y⁺ and falls y⁻ as columns,

    min Σ c_j (y⁺_j + y⁻_j)   subject to   M (y⁺ − y⁻) = 0,   lower ≤ d (y⁺ − y⁻) ≤ upper.

Attackers and protectors differ in limits and costs only. The *farthest* deviation has costs −1 and 1 for the
cell's own columns, and 0 elsewhere. The *cheapest* one has c_j = w_j, or next to nothing for hidden cells;
then iteratively reweighted ℓ1 (slope scaling) takes c_j = w_j / (|y_j| + ε), which comes nearer to the true
cost of hiding: a fixed charge, paid once however far a cell moves.

Requires components small enough for simplex (some thousand cells). Ensures nothing in floating point; what is
returned as a `Witness` is exact.

References: Kelly, Golden & Assad (1992); equations (1)–(8) of Serpell, Smith, Clark & Staggemeier (2011).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from cellveil.arrays import Bool, Float
from cellveil.clock import Deadline
from cellveil.deviations.components import Component
from cellveil.params import Params, param
from cellveil.solvers.lp import LiveLP, LPAnswer, LPStatus
from cellveil.solvers.tolerances import REACH, SUPPORT

ENDLESS = Deadline(None)


class Feasibility(Enum):
    """Whether there is a deviation that does what is asked."""

    MET = "met"
    IMPOSSIBLE = "impossible"
    UNCLEAR = "unclear"


@dataclass(frozen=True, kw_only=True)
class MovementParams(Params):
    """Parameters of the program."""

    hidden_cost: float = param(1e-5, "Cost of moving a hidden cell, in units of the median weight.", least=0)
    weight_range: float = param(1e6, "Largest weight that counts, in units of the median weight.", least=1)
    slopes: tuple[float, ...] = param(
        (0.1, 0.01), "Values of epsilon in the rounds of iteratively reweighted l1 (slope scaling).", least=0
    )


class MovementProgram:
    """The live LP of one component, for limits and costs that change from question to question.

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

    def __init__(self, component: Component, weight: Float, params: MovementParams | None = None) -> None:
        from scipy.sparse import hstack

        self.component, self.cells, self.params = component, component.cells, params or MovementParams()
        self.flat_cost = self.slope_cost = 0.0
        positive = weight[weight > 0]
        unit = float(np.median(positive)) if len(positive) else 1.0
        self.weight = np.clip(weight / unit, self.params.hidden_cost, self.params.weight_range)
        nothing = np.zeros(2 * len(self.cells))
        both = hstack([component.matrix, -component.matrix]).tocsc()
        self._lp = LiveLP(both, np.zeros(len(component.rows)), nothing, nothing)

    @property
    def num_lps(self) -> int:
        """How many programs were solved."""
        return self._lp.num_solves

    @property
    def num_steps(self) -> int:
        """How many simplex steps they took."""
        return self._lp.num_steps

    def column(self, cell: int) -> int:
        """The place of a cell in the component."""
        return int(np.searchsorted(self.cells, cell))

    def cheapest(
        self,
        lower: Float,
        upper: Float,
        amount: int,
        is_hidden: Bool,
        *,
        slopes: tuple[float, ...] | None = None,
        deadline: Deadline = ENDLESS,
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
        self._set_costs(self.weight, is_hidden)
        answer = self._within(lower / amount, upper / amount, deadline)
        if answer.point is None:
            return answer
        best = self._net(answer)
        first = self._new_weight(best, is_hidden)
        for slope in slopes:
            if not self._new_weight(best, is_hidden):
                break
            self._set_costs(self.weight / (np.abs(best) + slope), is_hidden)
            again = self._lp.solve(deadline, fresh=True)
            if again.point is None:
                break
            moved = self._net(again)
            if self._new_weight(moved, is_hidden) < self._new_weight(best, is_hidden):
                best = moved
        cost = self._new_weight(best, is_hidden)
        if slopes:
            self.flat_cost, self.slope_cost = self.flat_cost + first, self.slope_cost + cost
        return LPAnswer(LPStatus.OPTIMAL, cost, best * amount)

    def cheapest_whole(
        self, lower: Float, upper: Float, is_hidden: Bool, *, deadline: Deadline = ENDLESS
    ) -> LPAnswer:
        """The same among deviations by whole units, by an integer program without slopes."""
        self._set_costs(self.weight, is_hidden)
        self._lp.set_bounds(*_both_ways(lower, upper))
        answer = self._lp.solve_whole(deadline)
        if answer.point is None:
            return answer
        moved = np.rint(self._net(answer))
        return LPAnswer(LPStatus.OPTIMAL, self._new_weight(moved, is_hidden), moved)

    def farthest(
        self,
        column: int,
        up: bool,
        lower: Float,
        upper: Float,
        amount: int,
        *,
        reach: float = np.inf,
        deadline: Deadline = ENDLESS,
    ) -> LPAnswer:
        """How far a cell can move within the limits, up to `amount`: the objective, as a share of that.

        Capacities are cut at `reach` times the amount.
        """
        n = len(self.cells)
        moving = column + (0 if up else n)
        costs = np.zeros(2 * n)
        costs[[moving, (moving + n) % (2 * n)]] = -1.0, 1.0
        least, most = _both_ways(lower / amount, upper / amount)
        most = np.maximum(np.minimum(most, reach), least)
        most[moving] = min(most[moving], 1.0)
        self._lp.set_costs(costs)
        self._lp.set_bounds(least, most)
        answer = self._lp.solve(deadline, fresh=True)
        if answer.point is None:
            return answer
        moved = (answer.point[:n] - answer.point[n:]) * amount
        return LPAnswer(answer.status, -answer.objective, moved)

    def _within(self, lower: Float, upper: Float, deadline: Deadline) -> LPAnswer:
        """With short reach first, for the sake of numerics, then with all."""
        least, most = _both_ways(lower, upper)
        answer = LPAnswer(LPStatus.UNKNOWN)
        for reach in (REACH, np.inf):
            self._lp.set_bounds(least, np.maximum(np.minimum(most, reach), least))
            answer = self._lp.solve(deadline, fresh=True)
            if answer.status is not LPStatus.INFEASIBLE:
                break
        return answer

    def _set_costs(self, costs: Float, is_hidden: Bool) -> None:
        self._lp.set_costs(np.tile(np.where(is_hidden, self.params.hidden_cost, costs), 2))

    def _new_weight(self, moved: Float, is_hidden: Bool) -> float:
        return float(self.weight[(np.abs(moved) > SUPPORT) & ~is_hidden].sum())

    def _net(self, answer: LPAnswer) -> Float:
        assert answer.point is not None
        n = len(self.cells)
        moved = answer.point[:n] - answer.point[n:]
        return np.where(np.abs(moved) > SUPPORT, moved, 0.0)


def _both_ways(lower: Float, upper: Float) -> tuple[Float, Float]:
    """Limits of the movements upwards, then of those downwards."""
    return (
        np.maximum(np.concatenate([lower, -upper]), 0.0),
        np.maximum(np.concatenate([upper, -lower]), 0.0),
    )
