"""Recognise components that are networks, from the relations alone.

Relations are the nodes of a network if each can be given a sign such that every cell stands in at most one
relation with +1 and in at most one with −1: then a movement of the cell is a flow on an arc from the one to
the other, and M y = 0 says that at every node as much leaves as enters. Cells in one relation only lead to
or from a node *outside*.

In a two-way table every cell stands in two relations, its row's and its column's. With a tree in one
dimension the cells of inner codes stand in three; but the relation across an inner code follows from those
across its leaves and those of the tree, so it can be dropped. Such relations are found from below:

0. cells that cannot move are left out: a relation with one cell fixes it, and so on;
1. kept are at first the relations that hold a cell of at most two relations;
2. a relation that the kept ones imply is dropped;
3. a relation that shares a cell with a dropped one is kept; on with 2 until all are decided.

What is kept must be a network throughout. Which relations it implies is then a question of potentials: a
combination of relations with multipliers μ gives each arc the difference of μ between its ends.

Requires a component with coefficients ±1. Ensures: the network has the same deviations as the component; each
dropped relation was checked to be a whole combination of kept ones, exactly. Does not ensure that every
component that could be written as a network is recognised. Cost: nearly linear in the entries, per round of 2
and 3 (about as many as the tree has levels).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.deviations.components import Component

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


BATCH = 4_000_000
"""About so many potentials are held at a time."""


@dataclass(frozen=True, eq=False)
class Network:
    """A component as a network: the cell's movement flows from `tail` to `head`.

    Parameters
    ----------
    component
        Without the cells that were seen to be fixed, and the relations that hold no others.
    tail, head
        Nodes of each cell, in the order of the component; the same where no relation holds the cell.
    num_nodes
        How many nodes there are, among them the one outside.
    """

    component: Component
    tail: Int
    head: Int
    num_nodes: int


def recognise(component: Component) -> Network | None:
    """The component as a network; None where it is not seen to be one."""
    if not (np.abs(component.matrix.data) == 1).all():
        return None
    entries = _Incidence(_without_fixed(component))
    kept, dropped = entries.rows_to_keep(), np.zeros(entries.num_rows, dtype=bool)
    while True:
        network = entries.network(kept)
        if network is None:
            return None
        undecided = ~kept & ~dropped
        if not undecided.any():
            return network if _implies(network, entries.matrix[np.flatnonzero(dropped)]) else None
        # A movement along the kept relations, drawn at random, breaks what they do not imply.
        implied = undecided & (entries.matrix @ _random_circulation(network) == 0)
        dropped |= implied
        undecided &= ~implied
        forced = undecided & entries.rows_meeting(dropped)
        kept |= forced if implied.any() or forced.any() else undecided


def _without_fixed(component: Component) -> Component:
    """The component without the cells that stand alone in a relation, once those before are left out."""
    entries = component.matrix.tocoo()
    rows, cells = entries.row, entries.col
    is_free = np.ones(len(component.cells), dtype=bool)
    while True:
        alone = np.bincount(rows, minlength=len(component.rows))[rows] == 1
        if not alone.any():
            break
        is_free[cells[alone]] = False
        left = is_free[cells]
        rows, cells = rows[left], cells[left]
    free, used = np.flatnonzero(is_free), np.unique(rows)
    return Component(component.cells[free], component.rows[used], component.matrix[:, free][used])


class _Incidence:
    """The entries of a component's matrix, one by one."""

    def __init__(self, component: Component) -> None:
        matrix = component.matrix.tocoo()
        self.component = component
        self.rows, self.cells = matrix.row.astype(np.int64), matrix.col.astype(np.int64)
        self.coefs = matrix.data.astype(np.int64)
        self.num_rows, self.num_cells = matrix.shape
        self.matrix: csr_matrix = component.matrix.tocsr().astype(np.int64)

    def rows_to_keep(self) -> Bool:
        """Rows that hold a cell of at most two rows."""
        kept = np.zeros(self.num_rows, dtype=bool)
        few = np.bincount(self.cells, minlength=self.num_cells) <= 2
        kept[self.rows[few[self.cells]]] = True
        return kept

    def rows_meeting(self, chosen: Bool) -> Bool:
        """Rows that share a cell with a chosen row."""
        touched, meeting = np.zeros(self.num_cells, dtype=bool), np.zeros(self.num_rows, dtype=bool)
        touched[self.cells[chosen[self.rows]]] = True
        meeting[self.rows[touched[self.cells]]] = True
        return meeting

    def network(self, kept: Bool) -> Network | None:
        """The network of the kept rows, if they are one."""
        mine = kept[self.rows]
        rows, cells, coefs = self.rows[mine], self.cells[mine], self.coefs[mine]
        count = np.bincount(cells, minlength=self.num_cells)
        if count.max(initial=0) > 2:
            return None
        order = np.argsort(cells, kind="stable")
        paired = order[count[cells[order]] == 2].reshape(-1, 2)
        signs = _signs(self.num_rows, rows[paired], coefs[paired])
        turned = coefs * signs[rows]
        if (turned[paired].sum(axis=1) != 0).any():
            return None
        outside = self.num_rows
        tail, head = (np.full(self.num_cells, outside) for _ in range(2))
        head[cells[turned > 0]] = rows[turned > 0]
        tail[cells[turned < 0]] = rows[turned < 0]
        return Network(self.component, tail, head, outside + 1)


@dataclass(frozen=True, eq=False)
class _Forest:
    """A spanning forest: the nodes from the roots down, and for each the arc to the node above (−1: none)."""

    order: list[int]
    above: list[int]
    arc: list[int]


def _forest(num_nodes: int, tail: Int, head: Int) -> _Forest:
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    low, high = np.minimum(tail, head), np.maximum(tail, head)
    _, labels = connected_components(
        csr_matrix((np.ones(len(low)), (low, high)), shape=(num_nodes, num_nodes)), directed=False
    )
    _, roots = np.unique(labels, return_index=True)
    top = np.full(len(roots), num_nodes)  # one more node, above all roots, to search from
    low, high = np.concatenate([low, roots]), np.concatenate([high, top])
    pairs, arcs = np.unique(low * (num_nodes + 1) + high, return_index=True)
    graph = csr_matrix((np.ones(len(arcs)), (low[arcs], high[arcs])), shape=(num_nodes + 1, num_nodes + 1))
    order, above = breadth_first_order(graph, num_nodes, directed=False)
    order, above = order[1:].astype(np.int64), above[:num_nodes].astype(np.int64)
    nodes = np.arange(num_nodes)
    wanted = np.minimum(nodes, above) * (num_nodes + 1) + np.maximum(nodes, above)
    arc = arcs[np.searchsorted(pairs, wanted)]
    arc[above == num_nodes] = -1
    return _Forest(order.tolist(), above.tolist(), arc.tolist())


def _signs(num_rows: int, ends: Int, coefs: Int) -> Int:
    """Signs by which the two coefficients of each pair become opposite, as far as a forest tells."""
    if not len(ends):
        return np.ones(num_rows, dtype=np.int64)
    forest = _forest(num_rows, ends[:, 0], ends[:, 1])
    factor = (-coefs[:, 0] * coefs[:, 1]).tolist()
    signs = [1] * num_rows
    for node in forest.order:
        if forest.arc[node] >= 0:
            signs[node] = signs[forest.above[node]] * factor[forest.arc[node]]
    return np.array(signs, dtype=np.int64)


def _random_circulation(network: Network) -> Int:
    """Whole movements that keep every relation of the network, drawn at random (always the same ones)."""
    forest = _forest(network.num_nodes, network.tail, network.head)
    flow = np.random.default_rng(0).integers(1, 2**31, len(network.tail))
    in_forest = [arc for arc in forest.arc if arc >= 0]
    flow[in_forest] = 0
    surplus = np.zeros(network.num_nodes, dtype=np.int64)
    np.add.at(surplus, network.head, flow)
    np.subtract.at(surplus, network.tail, flow)
    left, tail = surplus.tolist(), network.tail.tolist()
    for node in reversed(forest.order):
        arc = forest.arc[node]
        if arc >= 0:
            flow[arc] = left[node] if tail[arc] == node else -left[node]
            left[forest.above[node]] += left[node]
    return np.asarray(flow)


def _implies(network: Network, rows: csr_matrix) -> bool:
    """Whether each row is a whole combination of the network's relations: a difference of potentials."""
    if not rows.shape[0]:
        return True
    forest = _forest(network.num_nodes, network.tail, network.head)
    tail = network.tail.tolist()
    step = max(1, BATCH // max(len(tail), network.num_nodes))
    for start in range(0, rows.shape[0], step):
        wanted = rows[start : start + step].toarray().T
        potential = np.zeros((network.num_nodes, wanted.shape[1]), dtype=np.int64)
        for node in forest.order:
            arc = forest.arc[node]
            if arc >= 0:
                rise = wanted[arc] if tail[arc] != node else -wanted[arc]
                potential[node] = potential[forest.above[node]] + rise
        if (potential[network.head] - potential[network.tail] != wanted).any():
            return False
    return True
