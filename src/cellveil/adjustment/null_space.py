"""The null-space relaxation: one row for each degree of freedom of the table.

Every movement with M y = 0 is y = K z for a null-space basis K (`deviations.integer_kernel`). By duality

    min Σ f(K z)  =  max −Σ f*(λ)  over  Kᵀ λ = 0

with convex costs f of one cell each, the relaxation of an adjustment has one row for each coordinate, where
the program over the cells has one for each relation. In tables of several hierarchies these are far fewer
(hier13: 126 and 2,707), and so a node of branch and bound takes milliseconds. f is w·|y| within the room of a
cell; for a sensitive one the lower hull of that over both senses, or the one sense that was chosen. f* is
piecewise linear: each piece is a column.

Requires absolute changes (power 1) and a whole K. Any λ proves its bound, up to the solver's tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellveil.adjustment.model import Model
from cellveil.adjustment.piecewise_cost import middle_price, unit_for
from cellveil.arrays import Float, Int
from cellveil.deviations.integer_kernel import Lattice
from cellveil.solvers.highs import HighsModel, LPStatus

Int8 = NDArray[np.int8]

OPEN, UP, DOWN = 0, 1, -1


@dataclass(frozen=True, eq=False)
class Node:
    """The relaxation with some senses chosen.

    Parameters
    ----------
    bound
        No adjustment with these senses costs less; ∞ where there is none.
    own
        The movement of the sensitive cells; None where there is none.
    basis
        To start from when senses are added.
    """

    choice: Int8
    bound: float
    own: Float | None
    basis: Any = None


class NullSpace:
    """The live program; None of it is exact, but every bound holds up to the solver's tolerance."""

    def __init__(self, model: Model, most_rows: int) -> None:
        self.model = model
        self.is_built = False
        cells = np.flatnonzero(model.is_movable)
        large = np.abs(model.problem.table.values[cells]).astype(np.float64)
        lattice = Lattice(model.relations, cells, large)
        found = lattice.basis()
        if found is None or model.power != 1 or not 0 < len(found[0]) <= most_rows:
            return
        self._build(cells, found[1])
        self.is_built = True

    def _build(self, cells: Int, basis: Any) -> None:
        from scipy.sparse import csc_matrix, hstack

        model = self.model
        place = np.searchsorted(cells, model.cells)
        plain = np.flatnonzero(model.place[cells] < 0)
        self._unit = unit_for(float(max(model.up.max(), model.down.max(), 1)))
        self._money = middle_price(model.weight[cells])
        weight = model.weight[cells] / self._money
        up, down = model.up[cells] / self._unit, model.down[cells] / self._unit
        self._rise, self._fall = model.rise / self._unit, model.fall / self._unit
        own = weight[place]
        middle = own * (self._rise - self._fall) / (self._rise + self._fall)  # the slope between both levels
        self._above, self._below = own - middle, own + middle
        columns = csc_matrix(basis.T)
        mine = columns[:, place]
        self._own = csc_matrix(basis)[place]
        self._first = np.cumsum([0, len(plain), len(cells), len(cells), len(place)])
        self._over = self._first[1] + place, self._first[2] + place
        count = 2 * len(cells)
        self._constant = float(((middle - own) * self._rise).sum())
        self._solver = self._start(
            hstack([columns[:, plain], columns, -columns, mine, -mine]).tocsc(),
            np.concatenate([np.zeros(len(plain)), up, down, self._rise, self._fall]),
            np.concatenate([-weight[plain], np.zeros(count + 2 * len(place))]),
            np.concatenate([weight[plain], np.full(count, np.inf), self._above, self._below]),
            -(mine @ middle),
        )
        self._choice = np.zeros(len(place), dtype=np.int8)

    def _start(self, matrix: Any, cost: Float, low: Float, high: Float, right: Float) -> HighsModel:
        return HighsModel(matrix, (right, right), cost, (low, high), presolve="off", simplex_strategy=4)

    def solve(self, choice: Int8, basis: Any = None) -> Node | None:
        """The relaxation with these senses; None where there is no clear answer."""
        self._set(choice)
        if basis is not None:
            self._solver.basis = basis
        status = self._solver.run()
        if status is LPStatus.UNBOUNDED:
            return Node(choice, np.inf, None)
        if status is not LPStatus.OPTIMAL:
            return None
        value = -(self._solver.info.objective_function_value + self._constant) * self._unit * self._money
        z = np.array(self._solver.solution.row_dual)
        return Node(choice, value, self._own @ z * self._unit, self._solver.basis)

    def _set(self, choice: Int8) -> None:
        """A chosen sense: the other side's piece turns into the level's own, without an end."""
        changed = np.flatnonzero(choice != self._choice)
        if not len(changed):
            return
        rises, falls = choice[changed] == UP, choice[changed] == DOWN
        rise, fall = self._rise[changed], self._fall[changed]
        upper, lower = self._first[3] + changed, self._first[4] + changed
        over, under = self._over[0][changed], self._over[1][changed]
        columns = np.concatenate([upper, lower, over, under]).astype(np.int32)
        high = np.concatenate(
            [
                np.where(falls, np.inf, self._above[changed]),
                np.where(rises, np.inf, self._below[changed]),
                np.where(falls, 0.0, np.inf),
                np.where(rises, 0.0, np.inf),
            ]
        )
        both = columns[: 2 * len(changed)]
        cost = np.concatenate([np.where(falls, -fall, rise), np.where(rises, -rise, fall)])
        self._solver.set_costs(cost, both)
        self._solver.set_bounds(np.zeros(len(columns)), high, columns)
        self._choice = choice.copy()
