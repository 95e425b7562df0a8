"""The outsider's attack: the smallest and the largest value each hidden cell can have.

    min / max x_p   subject to   M x = rhs,  x = published value where published,  lb ≤ x ≤ ub where hidden

Requires a `PublicView`; sees nothing else. Ensures: every recorded value stands in a table that agrees with
the view (to the LP's tolerance); an extreme is recorded only when the solver proved it. Each solution is
harvested: its values for all other cells are recorded too. Hidden cells split into independent components,
one live LP each.

Reference: equations (3) of Serpell, Smith, Clark & Staggemeier (2013).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cellveil.attack.components import Component, split
from cellveil.solvers.lp import LiveLP, LPStatus, power_of_two_scale
from cellveil.tables.numbers import unscale
from cellveil.view import PublicView

Float = NDArray[np.float64]


@dataclass
class _Front:
    """The live LP of one component; `scale` is the unit its amounts are in."""

    component: Component
    lp: LiveLP
    scale: float
    costed: int = 0


class OutsiderAttack:
    """Attack a public view, one extreme at a time.

    Attributes
    ----------
    lowest, highest
        For each hidden cell the smallest and largest value seen in a table that agrees with the view, in
        units of the last digit; NaN while nothing is known, the value itself where published.
    """

    def __init__(self, view: PublicView, time_limit: float | None = None) -> None:
        self.view = view
        self._deadline = None if time_limit is None else time.monotonic() + time_limit
        self.component_of, self._components = split(view.relations, view.hidden)
        unknown = np.where(view.hidden, np.nan, view.published.astype(np.float64))
        self.lowest, self.highest = unknown, unknown.copy()
        self.num_lps = 0
        self._lower, self._upper = unscale(view.lb, 0), unscale(view.ub, 0)
        self._known = view.relations.rhs - _published_part(view)
        self._front: tuple[int, _Front] | None = None

    def push(self, cell: int, *, up: bool) -> float | None:
        """The largest (or smallest) value the cell can have; None where the solver gave no clear answer."""
        if not self.view.hidden[cell]:
            return float(self.view.published[cell])
        left = None if self._deadline is None else self._deadline - time.monotonic()
        if left is not None and left <= 0:
            return None
        front = self._open(int(self.component_of[cell]))
        column = int(np.searchsorted(front.component.cells, cell))
        front.lp.set_costs(np.zeros(1), np.array([front.costed]))
        front.lp.set_costs(np.array([-1.0 if up else 1.0]), np.array([column]))
        front.costed = column
        answer = front.lp.solve(left)
        self.num_lps += 1
        if answer.status is LPStatus.UNBOUNDED:
            extreme = np.inf if up else -np.inf
            (self.highest if up else self.lowest)[cell] = extreme
            return float(extreme)
        if answer.status is not LPStatus.OPTIMAL or answer.point is None:
            return None
        point = answer.point * front.scale
        self._record(front.component, point)
        return float(point[column])

    def _record(self, component: Component, point: Float) -> None:
        cells = component.cells
        self.highest[cells] = np.fmax(self.highest[cells], point)
        self.lowest[cells] = np.fmin(self.lowest[cells], point)

    def _open(self, number: int) -> _Front:
        if self._front is None or self._front[0] != number:
            self._front = (number, self._build(self._components[number]))
        return self._front[1]

    def _build(self, component: Component) -> _Front:
        rhs = self._known[component.rows].astype(np.float64)
        lower, upper = self._lower[component.cells], self._upper[component.cells]
        scale = power_of_two_scale(rhs)
        return _Front(component, LiveLP(component.matrix, rhs / scale, lower / scale, upper / scale), scale)


def _published_part(view: PublicView) -> NDArray[np.int64]:
    """What the published cells contribute to each relation; hidden ones count 0 in the view."""
    relations = view.relations
    running = np.concatenate([[0], np.cumsum(relations.coefs * view.published[relations.cells])])
    return np.asarray(running[relations.indptr[1:]] - running[relations.indptr[:-1]], dtype=np.int64)
