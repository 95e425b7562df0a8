"""The separation problem of capacity cuts: an attack under fractional x, and the dual solution behind it.

For shares x of hidden cells, in units of the amount wanted,

    max t = ± y_p   subject to   M y = 0,   −down_i x_i ≤ y_i ≤ up_i x_i,   t ≤ 1,

with capacities cut at `reach` (1 in networks, where a movement of 1 never needs more; elsewhere a matter of
taste, since whatever comes out is turned into an exact row, see `capacity_cuts`). Where t < 1 the dual
variables give a combination of the relations, which is rounded to whole numbers.

Two engines: an LP for any relations, and a maximum flow where the part is a network.

References: Fischetti & Salazar (1999) for flows, (2000, 2001) for any relations; equation numbers as in
`capacity_cuts`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Float, Int
from cellveil.deviations.movement_program import MovementProgram
from cellveil.deviations.network_form import Network, recognise
from cellveil.params import Params, param
from cellveil.solvers.lp import LiveLP
from cellveil.solvers.max_flow import max_flow
from cellveil.solvers.tolerances import GUESS
from cellveil.suppression.exact.parts import Part

FLOW_UNITS = 2**20
"""Flows are whole numbers: so many to the unit."""


@dataclass(frozen=True, kw_only=True)
class AttackParams(Params):
    """Parameters of whole multipliers."""

    denominators: tuple[float, ...] = param(
        (1, 2, 3, 4, 6, 12, 5, 60), "Common denominators of multipliers that are tried first.", least=1
    )
    most_denominator: int = param(1_000_000, "Common denominator of multipliers at most.", least=1)


@dataclass(frozen=True, eq=False)
class Push:
    """What an attack came to.

    Parameters
    ----------
    share
        How much of the amount is reached, between 0 and 1.
    combinations
        Whole combinations of the relations that show why it is not more.
    moved
        Movement of each cell, in units of the amount; None where the engine does not tell.
    """

    share: float
    combinations: tuple[Int, ...] = ()
    moved: Float | None = None


class FractionalAttack(Protocol):
    """Pushes single cells of a part."""

    def push(self, own: int, up: bool, caps: Float) -> Push | None:
        """Move the cell as far as 1 at most; `caps` are the capacities upwards, then downwards."""


def attacker_of(part: Part, params: AttackParams | None = None) -> FractionalAttack:
    """The fitting engine."""
    network = recognise(part.component)
    if network is not None and len(network.component.cells) == part.num_cells:
        return FlowAttacker(network)
    return LPAttacker(part, params)


class LPAttacker:
    """By linear programs, one live LP for all.

    Attributes
    ----------
    is_fresh
        Whether each starts from nothing, which takes longer but finds short combinations as long as few cells
        are hidden; else from the basis of the last.
    """

    def __init__(self, part: Part, params: AttackParams | None = None) -> None:
        self.params = params or AttackParams()
        self.part, self.n, self.is_fresh = part, part.num_cells, True
        self._matrix = part.component.matrix.astype(np.float64).tocsc()
        self._lp = LiveLP(self._matrix, self._zeros(0), self._zeros(1), self._zeros(1))
        self._costs = np.zeros(self.n)

    def _zeros(self, axis: int) -> Float:
        return np.zeros(self._matrix.shape[axis])

    def push(self, own: int, up: bool, caps: Float) -> Push | None:
        """See `FractionalAttack`; None where the solver gave no clear answer."""
        lower, upper = -caps[self.n :], caps[: self.n].copy()
        lower[own], upper[own] = (0.0, min(upper[own], 1.0)) if up else (max(lower[own], -1.0), 0.0)
        self._costs[own] = -1.0 if up else 1.0
        self._lp.set_costs(self._costs)
        self._lp.set_bounds(lower, upper)
        answer = self._lp.solve(fresh=self.is_fresh)
        self._costs[own] = 0.0
        if answer.point is None:
            return None
        if -answer.objective >= 1 - GUESS:
            return Push(-answer.objective, (), answer.point)
        multipliers = whole_multiple(self._lp.multipliers(), self.params)
        found = () if multipliers is None else (self.part.combination(multipliers),)
        return Push(-answer.objective, found, answer.point)

    def cheapest(self, own: int, up: bool, caps: Float) -> Float | None:
        """The least movement that takes the cell to 1, if it gets there; else None."""
        lower, upper = -caps[self.n :], caps[: self.n].copy()
        if caps[own + (0 if up else self.n)] < 1.0:
            return None
        lower[own] = upper[own] = 1.0 if up else -1.0
        return self._program.cheapest(lower, upper, 1, np.zeros(self.n, dtype=bool), slopes=()).point

    @cached_property
    def _program(self) -> MovementProgram:
        """The program in which every cell costs the same."""
        return MovementProgram(self.part.component, np.ones(self.n))


class FlowAttacker:
    """By maximum flows: the cell's movement returns through the other cells, from its head to its tail."""

    def __init__(self, network: Network) -> None:
        from scipy.sparse import csr_matrix

        self.network, self.n = network, len(network.tail)
        start = np.concatenate([network.tail, network.head])  # upwards, then downwards
        end = np.concatenate([network.head, network.tail])
        self.useful = np.flatnonzero(start != end)
        size = network.num_nodes
        pairs, self.place = np.unique(start[self.useful] * size + end[self.useful], return_inverse=True)
        self.arc_start, self.arc_end = (pairs // size).astype(np.int32), (pairs % size).astype(np.int32)
        indptr = np.searchsorted(pairs, np.arange(size + 1) * size).astype(np.int32)
        self.graph = csr_matrix((np.zeros(len(pairs), dtype=np.int32), self.arc_end, indptr), (size, size))

    def push(self, own: int, up: bool, caps: Float) -> Push | None:
        """See `FractionalAttack`."""
        source, sink = int(self.network.head[own]), int(self.network.tail[own])
        if not up:
            source, sink = sink, source
        if caps[own + (0 if up else self.n)] < 1.0:
            return None
        if source == sink:
            return Push(1.0)
        units = np.floor(np.minimum(caps, 1.0) * FLOW_UNITS).astype(np.int64)
        units[[own, own + self.n]] = 0
        value, sides = self._cut(source, sink, units)  # (16): the largest movement is a minimum cut
        if value >= FLOW_UNITS * (1 - GUESS):
            return Push(1.0)
        combinations = tuple(self._combination(side) for side in sides)
        return Push(value / FLOW_UNITS, combinations)

    def _cut(self, source: int, sink: int, units: Int) -> tuple[int, list[Bool]]:
        """Value of the flow, and the nodes on the source's side of the first and of the last minimum cut."""
        room = np.bincount(self.place, weights=units[self.useful], minlength=len(self.arc_end))
        self.graph.data = np.minimum(room, 4 * FLOW_UNITS).astype(np.int32)
        value, flow = max_flow(self.graph, source, sink)
        left = self.graph.data > np.asarray(flow[self.arc_start, self.arc_end]).ravel()
        first = self._reached(source, self.arc_start[left], self.arc_end[left])
        last = ~self._reached(sink, self.arc_end[left], self.arc_start[left])
        return value, [first] if (first == last).all() else [first, last]

    def _reached(self, root: int, start: NDArray[np.int32], end: NDArray[np.int32]) -> Bool:
        """The nodes that arcs lead to from the root."""
        reached = np.zeros(self.network.num_nodes, dtype=bool)
        reached[root] = True
        while True:
            further = end[reached[start]]
            if reached[further].all():
                return reached
            reached[further] = True

    def _combination(self, side: Bool) -> Int:
        potential = side.astype(np.int64)
        return np.asarray(potential[self.network.head] - potential[self.network.tail])


def whole_multiple(multipliers: Float, params: AttackParams | None = None) -> Int | None:
    """Whole numbers in the same proportion, as far as rounding tells; None where they need large ones.

    Examples
    --------
    >>> whole_multiple(np.array([0.5, 1 / 3, -1.0]))
    array([ 3,  2, -6])
    """
    params = params or AttackParams()
    for denominator in params.denominators:
        scaled = multipliers * denominator
        whole = np.rint(scaled)
        if np.abs(scaled - whole).max(initial=0.0) <= GUESS * denominator:
            return np.asarray(whole.astype(np.int64))
    common = 1
    for value in np.unique(np.round(multipliers, 9)).tolist():
        common = lcm(common, Fraction(value).limit_denominator(1000).denominator)
        if common > params.most_denominator:
            return None
    return np.asarray(np.rint(multipliers * common).astype(np.int64))
