"""The outsider's attack: the smallest and the largest value each hidden cell can have.

    min / max x_p   subject to   M x = rhs,  x = published value where published,  lb ≤ x ≤ ub where hidden

Requires a `PublicView`, and nothing else: the interval is a property of the view. The search starts from any
table that agrees with the view (`origin`) and moves along deviations y = x − origin with M y = 0, which is
numerically far kinder than the totals themselves and starts feasible; where no origin is given, one is found.
Ensures: every recorded value stands in a table that agrees with the view (to the LP's tolerance); an extreme
is recorded only when the solver proved it. Each solution is harvested: its values for all other cells are
recorded too. Hidden cells split into independent components, with a live program each
(`cellveil.attack.interval_programs`). In very large components, whether a cell can get so far may be asked in
windows first (`cellveil.attack.windows`).

Reference: equations (3) of Serpell, Smith, Clark & Staggemeier (2013).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cellveil.arrays import Float, Int
from cellveil.attack.interval_programs import CellFront, Front, IntervalParams, Moved, ProgramBasis
from cellveil.attack.windows import Windows
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.deviations.components import Component, split
from cellveil.deviations.ties import Ties
from cellveil.errors import InputError, SolverError
from cellveil.public_view import PublicView
from cellveil.solvers.lp import LiveLP, LPStatus, power_of_two_scale
from cellveil.tables.scaled import unscale


class HiddenComponents:
    """The components of what a view hides, and what their programs are made of: for several attacks on it.

    Attributes
    ----------
    component_of
        For each cell the number of its component; −1 where it is published.
    components
        Cells and relations of each.
    """

    def __init__(self, view: PublicView, params: IntervalParams | None = None) -> None:
        self.component_of, self.components = split(view.relations, view.hidden)
        self.params = params or IntervalParams()
        self._relations = view.relations
        self._last: tuple[int, ProgramBasis] | None = None

    def front(self, number: int, up: Float, down: Float) -> Front:
        """A new program of a component; the basis of the last one is kept."""
        component = self.components[number]
        if self._last is None or self._last[0] != number:
            self._last = (number, ProgramBasis.of(self._relations, component, self.params))
        return self._last[1].front(component, up, down)


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
    hidden
        The components, where they are known already.

    Attributes
    ----------
    lowest, highest
        For each hidden cell the smallest and largest value seen in a table that agrees with the view, in
        units of the last digit; the value itself where published.
    """

    def __init__(
        self,
        view: PublicView,
        origin: Int | None = None,
        deadline: Deadline = NO_LIMIT,
        observe: Callable[[Component, Float], None] | None = None,
        params: IntervalParams | None = None,
        hidden: HiddenComponents | None = None,
    ) -> None:
        self.view = view
        self._observe, self._deadline = observe, deadline
        self._hidden = hidden or HiddenComponents(view, params)
        self.component_of, self._components = self._hidden.component_of, self._hidden.components
        self.num_lps = 0
        self._lower, self._upper = unscale(view.lb, 0), unscale(view.ub, 0)
        self._front: tuple[int, Front] | None = None
        self._windows: tuple[int, Windows] | None = None
        self._origin = self._find_origin() if origin is None else _checked(view, origin)
        self.lowest, self.highest = self._origin.copy(), self._origin.copy()

    def push(
        self, cell: int, *, up: bool, enough: float | None = None, sparing: bool = False
    ) -> float | None:
        """The largest (or smallest) value the cell can have.

        Parameters
        ----------
        enough
            Ask only whether the cell can get so far, which is easier to answer.
        sparing
            Where that was answered with more movement than needed: once more with as little as needed.

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
        number = int(self.component_of[cell])
        front = self._open(number)
        if self._deadline.is_over:
            return None
        if sparing and front.sparing is front:
            return enough
        self.num_lps += 1
        if wanted is None:
            found = front.farthest(cell, up, self._deadline)
        else:
            found = (front.sparing if sparing else front).by(cell, up, wanted, self._deadline)
        if found is None:
            return None
        if found.own == np.inf:
            (self.highest if up else self.lowest)[cell] = np.inf if up else -np.inf
        self._harvest(front, found)
        own = found.own if wanted is None else wanted * (found.own > 0)
        return float(self._origin[cell] + (own if up else -own))

    def push_whole(self, cell: int, *, up: bool, enough: float) -> float | None:
        """Like `push` towards `enough` and beyond, but all cells move by whole units: an integer program."""
        if not self.view.hidden[cell] or self._deadline.is_over:
            return None
        front = self._open(int(self.component_of[cell]))
        self.num_lps += 1
        found = front.by_whole(cell, up, abs(enough - self._origin[cell]), self._deadline)
        if found is None:
            return None
        if found.cells is not None and self._observe is not None:
            self._observe(front.component, found.cells)
        return float(self._origin[cell] + (found.own if up else -found.own))

    def num_windows(self, cell: int) -> int:
        """How many windows there are around a cell: none in components that are not very large."""
        params, number = self._hidden.params, int(self.component_of[cell])
        if number < 0 or len(self._components[number].cells) <= params.most_tied:
            return 0
        return params.windows

    def window(self, cell: int, number: int) -> Component:
        """A window around a cell, the smallest first; empty where the cell cannot move in it."""
        own, size = int(self.component_of[cell]), self._hidden.params.window_size(number)
        if self._windows is None or self._windows[0] != own:
            whole = self._components[own]
            self._windows = (own, Windows(whole, np.minimum(*self._rooms(whole))))
        return self._windows[1].around(cell, size)

    def push_inside(self, window: Component, cell: int, *, up: bool, enough: float) -> None:
        """Like `push` towards `enough`, with all cells outside a window standing still; may be in vain."""
        if self._deadline.is_over:
            return
        front = CellFront(window, Ties.none(len(window.cells)), *self._rooms(window))
        self.num_lps += 1
        found = front.by(cell, up, abs(enough - self._origin[cell]), self._deadline)
        if found is not None and found.own > 0:
            self._harvest(front, found)

    def _rooms(self, component: Component) -> tuple[Float, Float]:
        """How far its cells can rise and fall from the origin."""
        cells, origin = component.cells, self._origin[component.cells]
        return self._upper[cells] - origin, origin - self._lower[cells]

    def _harvest(self, front: Front, found: Moved) -> None:
        """Record what a solution shows of all cells."""
        if found.cells is None:
            return
        self._record(front.component.cells, found.cells)
        if self._observe is not None:
            self._observe(front.component, found.cells)

    def _record(self, cells: Int, moved: Float) -> None:
        point = self._origin[cells] + moved
        self.highest[cells] = np.maximum(self.highest[cells], point)
        self.lowest[cells] = np.minimum(self.lowest[cells], point)

    def _open(self, number: int) -> Front:
        if self._front is None or self._front[0] != number:
            rooms = self._rooms(self._components[number])
            self._front = (number, self._hidden.front(number, *rooms))
        return self._front[1]

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


def _checked(view: PublicView, origin: Int) -> Float:
    """The origin, once it is seen to agree with the view exactly."""
    agrees = bool((np.where(view.hidden, 0, origin) == view.published).all())
    within = bool(((origin >= view.lb) & (origin <= view.ub))[view.hidden].all())
    if not (agrees and within and not view.relations.residuals(origin)):
        raise InputError("the origin of an attack does not agree with the view", remedy="Pass no origin.")
    return origin.astype(np.float64)


def _published_part(view: PublicView) -> Int:
    """What the published cells contribute to each relation; hidden ones count 0 in the view."""
    relations = view.relations
    running = np.concatenate([[0], np.cumsum(relations.coefs * view.published[relations.cells])])
    return np.asarray(running[relations.indptr[1:]] - running[relations.indptr[:-1]], dtype=np.int64)
