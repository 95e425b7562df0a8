"""Loops of flows in networks whose arcs run both ways: cheapest flow, and flow within chosen arcs.

An arc carries a signed flow f, −down ≤ f ≤ up, and costs cost_up · f where f > 0, cost_down · (−f) where
f < 0. Every arc stands at both its ends: entry e of node u is arc ``arc[e]`` to node ``end[e]``,
forward where ``sign[e]`` is 1, and ``twin[e]`` is the entry of the same arc at the other end. Costs and flows
are whole numbers, so everything is exact.

Rooms are at most 2**61, and costs times nodes must stay below 2**61.
"""

from __future__ import annotations

from dataclasses import dataclass

from cellveil.loops.library import Arrays, Bool, Int, loop


@dataclass(frozen=True, eq=False)
class Graph(Arrays):
    """Entries by node, and the rooms of each arc."""

    first: Int
    arc: Int
    end: Int
    sign: Int
    twin: Int
    up: Int
    down: Int


@dataclass(frozen=True, eq=False)
class Work(Arrays):
    """What a search writes down; `flow` is 0 everywhere between two searches."""

    flow: Int
    touched: Int
    is_touched: Bool
    potential: Int
    distance: Int
    entry: Int
    near: Int
    seen: Int
    place: Int
    queue: Int
    heap_distance: Int
    heap_node: Int
    counts: Int


@loop
def clear(work: Work) -> None:
    """Forget the flow."""


@loop
def cheapest(
    graph: Graph, cost_up: Int, cost_down: Int, work: Work, own: int, source: int, sink: int, amount: int
) -> int:
    """Send `amount` from source to sink as cheaply as possible, or as much as there is room for."""


@loop
def send_within(
    graph: Graph, allowed: Bool, work: Work, own: int, source: int, sink: int, amount: int
) -> int:
    """Send `amount` along allowed arcs, in few and short paths; stop early where it cannot be done."""
