"""The outsider's attack: the smallest and the largest value each hidden cell can have.

    min / max x_p   subject to   M x = rhs,  x = published value where published,  lb ≤ x ≤ ub where hidden

Requires a `PublicView`, and nothing else: the interval is a property of the view. The search starts from any
table that agrees with the view (`origin`) and moves along deviations y = x − origin with M y = 0, which is
numerically far kinder than the totals themselves and starts feasible; where no origin is given, one is found.
Ensures: every recorded value stands in a table that agrees with the view (to the LP's tolerance); an extreme
is recorded only when the solver proved it. Each solution is harvested: its values for all other cells are
recorded too. Hidden cells split into independent components, one live LP each.

Reference: equations (3) of Serpell, Smith, Clark & Staggemeier (2013).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cellveil.attack.components import Component, split
from cellveil.errors import InputError, SolverError
from cellveil.solvers.lp import LiveLP, LPAnswer, LPStatus, power_of_two_scale
from cellveil.solvers.tolerances import REACH
from cellveil.tables.numbers import unscale
from cellveil.view import PublicView

Float = NDArray[np.float64]


@dataclass
class _Front:
    """The live LP of one component, over how far each cell rises (first half) and falls (second half).

    `is_whole` tells that its capacities are those of the view, not cut; `costed` are then the columns with a
    cost.
    """

    component: Component
    lp: LiveLP
    capacity: Float
    costed: NDArray[np.int64]
    is_whole: bool = False


class OutsiderAttack:
    """Attack a public view, one extreme at a time.

    Parameters
    ----------
    view
        What is published.
    origin
        A table that agrees with the view, where one is known: only a starting point, it changes no answer.
    observe
        Called with each deviation that a solve ends with: its component, and the movement of each of its
        cells in units of the last digit.

    Attributes
    ----------
    lowest, highest
        For each hidden cell the smallest and largest value seen in a table that agrees with the view, in
        units of the last digit; the value itself where published.
    """

    def __init__(
        self,
        view: PublicView,
        origin: NDArray[np.int64] | None = None,
        time_limit: float | None = None,
        observe: Callable[[Component, Float], None] | None = None,
    ) -> None:
        self.view = view
        self._observe = observe
        self._deadline = None if time_limit is None else time.monotonic() + time_limit
        self.component_of, self._components = split(view.relations, view.hidden)
        self.num_lps = 0
        self._lower, self._upper = unscale(view.lb, 0), unscale(view.ub, 0)
        self._front: tuple[int, _Front] | None = None
        self._origin = self._find_origin() if origin is None else _checked(view, origin)
        self.lowest, self.highest = self._origin.copy(), self._origin.copy()

    def push(self, cell: int, *, up: bool, enough: float | None = None) -> float | None:
        """The largest (or smallest) value the cell can have.

        Parameters
        ----------
        enough
            Ask only whether the cell can get so far, which is easier to answer.

        Returns
        -------
        The extreme; with `enough`, that value or the one at the origin; None where the solver gave no clear
        answer in time.
        """
        if not self.view.hidden[cell]:
            return float(self.view.published[cell])
        wanted = None if enough is None else abs(enough - self._origin[cell])
        if wanted == 0:
            return float(self._origin[cell])
        if wanted is None:
            found = self._farthest(cell, up)
        else:
            found = self._move(cell, up, wanted, REACH) or self._move(cell, up, wanted, np.inf)
        return None if found is None else float(self._origin[cell] + (found if up else -found))

    def push_whole(self, cell: int, *, up: bool, enough: float) -> float | None:
        """Like `push` towards `enough` and beyond, but all cells move by whole units: an integer program."""
        left = None if self._deadline is None else self._deadline - time.monotonic()
        if not self.view.hidden[cell] or (left is not None and left <= 0):
            return None
        front = self._open(int(self.component_of[cell]))
        n = len(front.component.cells)
        column = int(np.searchsorted(front.component.cells, cell)) + (0 if up else n)
        wanted = abs(enough - self._origin[cell])
        upper = np.minimum(front.capacity, REACH * max(wanted, 1.0))
        upper[(column + n) % (2 * n)] = 0.0
        costs = np.zeros(2 * n)
        costs[column] = -1.0
        front.is_whole, front.costed = False, np.arange(2)
        front.lp.set_bounds(np.zeros(2 * n), upper)
        front.lp.set_costs(costs)
        answer = front.lp.solve_whole(left)
        front.lp.set_costs(np.zeros(2 * n))
        self.num_lps += 1
        if answer.point is None:
            return None
        moved = np.rint(answer.point[:n] - answer.point[n:])
        if self._observe is not None:
            self._observe(front.component, moved)
        return float(self._origin[cell] + (moved[column] if up else moved[column - n]))

    def _move(self, cell: int, up: bool, wanted: float, reach: float) -> float | None:
        """Move the cell by `wanted`, the others as little as needed; 0 where that is impossible.

        In units of `wanted`, with capacities cut at `reach`. All costs are positive, so that the slack basis
        is optimal but for the cell that must move: much easier than to look for the farthest movement.
        """
        front, column = self._front_of(cell, up)
        n = len(front.component.cells)
        lower, upper = np.zeros(2 * n), np.minimum(front.capacity / wanted, reach)
        if upper[column] < 1.0:
            return 0.0
        lower[column] = upper[column] = 1.0
        upper[(column + n) % (2 * n)] = 0.0
        front.lp.set_costs(np.ones(2 * n))
        front.lp.set_bounds(lower, upper)
        front.is_whole = False
        answer = self._ask(front, fresh=True)
        if answer is None or answer.status is LPStatus.INFEASIBLE:
            return None if answer is None else 0.0
        return self._harvest(front, column, up, answer, wanted)

    def _farthest(self, cell: int, up: bool) -> float | None:
        """How far the cell moves at most; infinite where nothing stops it."""
        front, column = self._front_of(cell, up)
        n = len(front.component.cells)
        unit = power_of_two_scale(front.capacity)
        if not front.is_whole:
            front.lp.set_costs(np.zeros(2 * n))
            front.lp.set_bounds(np.zeros(2 * n), front.capacity / unit)
            front.is_whole, front.costed = True, np.arange(2)
        front.lp.set_costs(np.zeros(2), front.costed)
        front.costed = np.array([column, (column + n) % (2 * n)])
        front.lp.set_costs(np.array([-1.0, 1.0]), front.costed)
        answer = self._ask(front, fresh=False)
        if answer is not None and answer.status is LPStatus.UNBOUNDED:
            (self.highest if up else self.lowest)[cell] = np.inf if up else -np.inf
            return np.inf
        return None if answer is None else self._harvest(front, column, up, answer, unit)

    def _front_of(self, cell: int, up: bool) -> tuple[_Front, int]:
        """The cell's component, and the column of its movement in a direction."""
        front = self._open(int(self.component_of[cell]))
        column = int(np.searchsorted(front.component.cells, cell))
        return front, column if up else column + len(front.component.cells)

    def _ask(self, front: _Front, *, fresh: bool) -> LPAnswer | None:
        """Solve; None where there is no time left."""
        left = None if self._deadline is None else self._deadline - time.monotonic()
        if left is not None and left <= 0:
            return None
        self.num_lps += 1
        return front.lp.solve(left, fresh=fresh)

    def _harvest(self, front: _Front, column: int, up: bool, answer: LPAnswer, unit: float) -> float | None:
        """Record what a solution shows of all cells; how far it moves the one that was asked for."""
        if answer.point is None:
            return None
        n = len(front.component.cells)
        moved = (answer.point[:n] - answer.point[n:]) * unit
        self._record(front.component.cells, moved)
        if self._observe is not None:
            self._observe(front.component, moved)
        return float(moved[column] if up else -moved[column - n])

    def _record(self, cells: NDArray[np.int64], moved: Float) -> None:
        point = self._origin[cells] + moved
        self.highest[cells] = np.maximum(self.highest[cells], point)
        self.lowest[cells] = np.minimum(self.lowest[cells], point)

    def _open(self, number: int) -> _Front:
        if self._front is None or self._front[0] != number:
            self._front = (number, self._build(self._components[number]))
        return self._front[1]

    def _build(self, component: Component) -> _Front:
        from scipy.sparse import hstack

        cells = component.cells
        up, down = self._upper[cells] - self._origin[cells], self._origin[cells] - self._lower[cells]
        capacity = np.maximum(np.concatenate([up, down]), 0.0)
        matrix = hstack([component.matrix, -component.matrix]).tocsc()
        lp = LiveLP(matrix, np.zeros(len(component.rows)), np.zeros(len(capacity)), capacity)
        return _Front(component, lp, capacity, np.arange(2))

    def _find_origin(self) -> Float:
        """Some table that agrees with the view, component by component."""
        origin = self.view.published.astype(np.float64)
        known = self.view.relations.rhs - _published_part(self.view)
        for component in self._components:
            rhs = known[component.rows].astype(np.float64)
            unit = power_of_two_scale(rhs)
            lower, upper = self._lower[component.cells] / unit, self._upper[component.cells] / unit
            answer = LiveLP(component.matrix, rhs / unit, lower, upper).solve()
            self.num_lps += 1
            if answer.status is LPStatus.INFEASIBLE:
                raise InputError(
                    "the published values contradict each other: no table agrees with all of them",
                    remedy="Check the relations, the bounds and the values.",
                )
            if answer.point is None:
                raise SolverError("no table was found that agrees with the published values")
            origin[component.cells] = answer.point * unit
        return origin


def _checked(view: PublicView, origin: NDArray[np.int64]) -> Float:
    """The origin, once it is seen to agree with the view exactly."""
    agrees = bool((np.where(view.hidden, 0, origin) == view.published).all())
    within = bool(((origin >= view.lb) & (origin <= view.ub))[view.hidden].all())
    if not (agrees and within and not view.relations.residuals(origin)):
        raise InputError("the origin of an attack does not agree with the view", remedy="Pass no origin.")
    return origin.astype(np.float64)


def _published_part(view: PublicView) -> NDArray[np.int64]:
    """What the published cells contribute to each relation; hidden ones count 0 in the view."""
    relations = view.relations
    running = np.concatenate([[0], np.cumsum(relations.coefs * view.published[relations.cells])])
    return np.asarray(running[relations.indptr[1:]] - running[relations.indptr[:-1]], dtype=np.int64)
