"""Cheapest flows in whole numbers, by successive shortest paths.

Solves   min Σ (cost_up f⁺ + cost_down f⁻)   subject to   flow conservation at every node but source and sink,
−down ≤ f ≤ up, f = f⁺ − f⁻, and a given amount sent from source to sink (or as much as there is room for).

Requires whole rooms ≥ 0 and costs ≥ 0. Ensures a flow in whole numbers that is the cheapest of its amount for
the costs as they are rounded to whole numbers. Cost: one shortest-path search (Dijkstra with
potentials) per batch of equally cheap augmenting paths.

References: Edmonds & Karp (1972); Tomizawa (1971).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Float, Int
from cellveil.loops import min_cost_flow as loops
from cellveil.loops.min_cost_flow import Graph, Work

LARGEST_ROOM = 2**61
"""Rooms are cut here, so that sums of two stay within 64 bits."""

COST_BITS = 60
"""The cost of a path without repeated nodes stays below 2 to this."""


@dataclass(frozen=True, eq=False)
class Flow:
    """A flow: what each arc carries (negative: backwards), and what arrives at the sink."""

    arcs: Int
    amount: int


def graph_of(num_nodes: int, tail: Int, head: Int, down: Int, up: Int) -> Graph:
    """The arcs as the compiled loops take them; those from a node to itself are left out."""
    arcs = np.flatnonzero(tail != head)
    start = np.concatenate([tail[arcs], head[arcs]])
    order = np.argsort(start, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    half = len(arcs)
    return Graph(
        first=np.searchsorted(start[order], np.arange(num_nodes + 1)).astype(np.int64),
        arc=np.tile(arcs, 2)[order],
        end=np.concatenate([head[arcs], tail[arcs]])[order].astype(np.int64),
        sign=np.repeat([1, -1], half)[order].astype(np.int64),
        twin=place[np.concatenate([np.arange(half, 2 * half), np.arange(half)])][order],
        up=np.minimum(up, LARGEST_ROOM).astype(np.int64),
        down=np.minimum(down, LARGEST_ROOM).astype(np.int64),
    )


def work_for(graph: Graph) -> Work:
    """Room for what a search writes down."""
    arcs, nodes = len(graph.up), len(graph.first) - 1

    def zeros(length: int) -> Int:
        return np.zeros(length, dtype=np.int64)

    return Work(
        flow=zeros(arcs),
        touched=zeros(arcs),
        is_touched=np.zeros(arcs, dtype=bool),
        potential=zeros(nodes),
        distance=zeros(nodes),
        entry=zeros(nodes),
        near=zeros(nodes),
        seen=zeros(nodes),
        place=zeros(nodes),
        queue=zeros(nodes + 1),
        heap_distance=zeros(len(graph.arc) + 1),
        heap_node=zeros(len(graph.arc) + 1),
        counts=np.array([0, 1], dtype=np.int64),
    )


def largest_cost(num_nodes: int) -> int:
    """Whole costs up to this add up within 64 bits along every path."""
    return 1 << (COST_BITS - max(num_nodes, 1).bit_length())


def min_cost_flow(
    num_nodes: int,
    tail: Int,
    head: Int,
    rooms: tuple[Int, Int],
    costs: tuple[Float, Float],
    source: int,
    sink: int,
    amount: int,
) -> Flow:
    """Send an amount as cheaply as possible; see the head of the module.

    Parameters
    ----------
    tail, head
        Nodes of each arc.
    rooms, costs
        How much each arc carries backwards, and forwards; what a unit costs backwards, and forwards. Whole
        costs are taken as they are where they are small enough, others are rounded.

    Examples
    --------
    >>> nodes = np.array([0, 0, 1]), np.array([1, 2, 2])
    >>> rooms = np.array([0, 0, 0]), np.array([5, 2, 5])
    >>> min_cost_flow(3, *nodes, rooms, (np.ones(3), np.array([1.0, 5.0, 1.0])), 0, 2, 6).arcs
    array([5, 1, 5])
    """
    graph = graph_of(num_nodes, tail, head, *rooms)
    work = work_for(graph)
    down, up = _whole(costs, largest_cost(num_nodes))
    sent = 0
    if source != sink:
        sent = loops.cheapest(graph, up, down, work, -1, source, sink, min(amount, LARGEST_ROOM))
    return Flow(work.flow, int(sent))


def _whole(costs: tuple[Float, Float], largest: int) -> tuple[Int, Int]:
    down, up = (np.asarray(cost, dtype=np.float64) for cost in costs)
    top = max(float(down.max(initial=0.0)), float(up.max(initial=0.0)))
    are_whole = bool((down == np.rint(down)).all() and (up == np.rint(up)).all()) and top <= largest
    scale = 1.0 if are_whole or top == 0 else largest / top
    return np.rint(down * scale).astype(np.int64), np.rint(up * scale).astype(np.int64)
