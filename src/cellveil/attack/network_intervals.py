"""Movements in network components by max-flow instead of LP.

In a network (`deviations.network_form`) a cell can rise by d if d units can return from the head of its arc
to the tail over the other cells' arcs, each of which carries at most the cell's room: forward how far it may
rise, backward how far it may fall. With whole capacities the flow is whole, so it is an exact deviation as it
stands.

SciPy's flows are 32-bit. Nothing beyond the amount asked for can be of use, so capacities are cut there; and
larger amounts are counted in larger units, rooms rounded down.

Requires capacities in whole units. Ensures: every witness was checked, exactly, against all relations of its
component and all rooms. Does not ensure that a movement is found where there is one only by less than a unit:
no answer means that another engine must be asked.

Reference: Gusfield (1988) for flows in two-way tables; Dinic's algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.deviations.components import Component, split
from cellveil.deviations.network_form import Network, recognise
from cellveil.deviations.witness import Witness
from cellveil.solvers.max_flow import max_flow
from cellveil.tables.relations import Relations

LARGEST_FLOW = 2**30 - 1
"""Two capacities must add up within 32 bits."""


class NetworkFlows:
    """Ask for movements of hidden cells; cells of components that are no networks are answered None.

    Parameters
    ----------
    relations, hidden
        What adds up, and which cells are not published.
    rooms
        How far each cell may fall, and how far it may rise, in whole units.
    split_into
        The components, where they are known already.
    """

    def __init__(
        self,
        relations: Relations,
        hidden: Bool,
        rooms: tuple[Int, Int],
        deadline: Deadline = NO_LIMIT,
        split_into: tuple[Int, list[Component]] | None = None,
    ) -> None:
        self._room_down, self._room_up = rooms
        self._deadline, self._split_into = deadline, split_into
        self._relations, self._hidden = relations, hidden
        self._engines: dict[int, _Engine | None] = {}
        self.num_flows = 0

    def find(self, cell: int, amount: int, *, up: bool) -> Witness | None:
        """An exact deviation that moves the cell by `amount` at least; None where none was found."""
        room = self._room_up if up else self._room_down
        if not self._hidden[cell] or not 0 < amount <= room[cell] or self._deadline.is_over:
            return None
        engine = self._engine(int(self._split[0][cell]))
        if engine is None:
            return None
        self.num_flows += 1
        return engine.find(cell, amount, up)

    @cached_property
    def _split(self) -> tuple[Int, list[Component]]:
        return self._split_into or split(self._relations, self._hidden)

    def _engine(self, number: int) -> _Engine | None:
        if number not in self._engines:
            network = recognise(self._split[1][number])
            self._engines[number] = None
            if network is not None:
                cells = network.component.cells
                self._engines[number] = _Engine(network, self._room_down[cells], self._room_up[cells])
        return self._engines[number]


@dataclass(frozen=True, eq=False)
class _Arcs:
    """Every cell twice, forward and backward, sorted by the two nodes; arcs between the same two merged.

    Parameters
    ----------
    cell, forward
        Cell (its place in the component) of each arc, and whether the arc follows it.
    first
        Where the arcs of each pair of nodes begin.
    start, end
        The nodes of each pair.
    """

    cell: Int
    forward: Bool
    first: Int
    start: Int
    end: Int

    @classmethod
    def of(cls, network: Network) -> _Arcs:
        """The arcs of a network; cells that no relation holds have none."""
        cell = np.tile(np.flatnonzero(network.tail != network.head), 2)
        forward = np.arange(len(cell)) < len(cell) // 2
        start = np.where(forward, network.tail[cell], network.head[cell])
        end = np.where(forward, network.head[cell], network.tail[cell])
        pair = start * network.num_nodes + end
        order = np.argsort(pair, kind="stable")
        _, first = np.unique(pair[order], return_index=True)
        return cls(cell[order], forward[order], first, start[order][first], end[order][first])

    def split(self, flow: Int, capacity: Int) -> Int:
        """Share the flow of each pair among its arcs, one after the other as far as each carries."""
        before = np.cumsum(capacity) - capacity
        sizes = np.diff(np.append(self.first, len(capacity)))
        before -= np.repeat(before[self.first], sizes)
        return np.minimum(np.maximum(np.repeat(flow, sizes) - before, 0), capacity)


class _Engine:
    """Flows in one network; the source is an extra node, whose one open arc carries what is asked for."""

    def __init__(self, network: Network, room_down: Int, room_up: Int) -> None:
        self.network, self.arcs = network, _Arcs.of(network)
        self.room_down, self.room_up = room_down, room_up
        self.room = np.where(self.arcs.forward, room_up[self.arcs.cell], room_down[self.arcs.cell])
        self.matrix = network.component.matrix.tocsr().astype(np.int64)

    def find(self, cell: int, amount: int, up: bool) -> Witness | None:
        """An exact deviation that moves the cell by the amount at least."""
        cells = self.network.component.cells
        own = int(np.searchsorted(cells, cell))
        if own == len(cells) or cells[own] != cell:
            return None  # it is fixed
        unit = -(-amount // LARGEST_FLOW)
        units = -(-amount // unit)
        if units * unit > (self.room_up if up else self.room_down)[own]:
            return None
        movement = np.zeros(len(self.network.tail), dtype=np.int64)
        source, sink = int(self.network.head[own]), int(self.network.tail[own])
        if not up:
            source, sink = sink, source
        if source != sink:
            capacity = np.minimum(self.room // unit, units)
            capacity[self.arcs.cell == own] = 0
            shares = self.arcs.split(self._flow(source, sink, units, capacity), capacity)
            np.add.at(movement, self.arcs.cell, np.where(self.arcs.forward, shares, -shares))
        movement[own] = units if up else -units
        return self._checked(movement * unit)

    def _flow(self, source: int, sink: int, units: int, capacity: Int) -> Int:
        """What flows between each pair of nodes when as much as possible, at most `units`, is sent."""
        from scipy.sparse import csr_matrix

        merged = np.zeros(0, dtype=np.int64)
        if len(capacity):
            merged = np.minimum(np.add.reduceat(capacity, self.arcs.first), units)
        extra, n = self.network.num_nodes, self.network.num_nodes + 1
        start, end = np.append(self.arcs.start, extra), np.append(self.arcs.end, source)
        graph = csr_matrix((np.append(merged, units).astype(np.int32), (start, end)), shape=(n, n))
        _, flow = max_flow(graph, extra, sink)
        return np.asarray(flow[self.arcs.start, self.arcs.end], dtype=np.int64).ravel()

    def _checked(self, movement: Int) -> Witness | None:
        """The movement as a witness, if it keeps every relation and every room."""
        outside = (movement > self.room_up) | (-movement > self.room_down)
        # Capacities are cut at the amount, so sums over a relation stay within 64 bits.
        largest = int(np.abs(movement).max()) * int(np.diff(self.matrix.indptr).max(initial=0))
        if outside.any() or largest >= 2**63 or (self.matrix @ movement != 0).any():
            return None
        moved = np.flatnonzero(movement)
        return Witness(self.network.component.cells[moved], movement[moved], 1)
