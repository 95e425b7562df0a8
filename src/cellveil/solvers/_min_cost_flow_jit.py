"""Loops of flows in networks whose arcs run both ways: cheapest flow, and flow within chosen arcs.

An arc carries a signed flow f, −down ≤ f ≤ up, and costs cost_up · f where f > 0, cost_down · (−f) where
f < 0. Every arc stands at both its ends: entry e of node u is arc ``arc[e]`` to node ``end[e]``,
forward where ``sign[e]`` is 1, and ``twin[e]`` is the entry of the same arc at the other end. Costs and flows
are whole numbers, so everything is exact.

Rooms are at most 2**61, and costs times nodes must stay below 2**61.
"""

from __future__ import annotations

from dataclasses import dataclass

from cellveil.jit.compiled import inner, outer
from cellveil.jit.kinds import Arrays, Bool, Int

FAR = 2**62

TOUCHED, STAMP = 0, 1
"""Places in `Work.counts`."""


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


@outer
def clear(work: Work) -> None:
    """Forget the flow."""
    for i in range(work.counts[TOUCHED]):
        work.flow[work.touched[i]] = 0
        work.is_touched[work.touched[i]] = False
    work.counts[TOUCHED] = 0


@inner
def move(work: Work, arc: int, amount: int) -> None:
    """Add to the flow of an arc."""
    if not work.is_touched[arc]:
        work.is_touched[arc] = True
        work.touched[work.counts[TOUCHED]] = arc
        work.counts[TOUCHED] += 1
    work.flow[arc] += amount


@inner
def room_of(graph: Graph, work: Work, entry: int) -> int:
    """How much more an entry's arc can carry in the entry's direction."""
    arc = graph.arc[entry]
    if graph.sign[entry] > 0:
        return int(graph.up[arc] - work.flow[arc])
    return int(graph.down[arc] + work.flow[arc])


@inner
def push_back(graph: Graph, work: Work, source: int, sink: int, most: int) -> int:
    """Send as much as fits, at most `most`, along the path that `work.entry` tells from the sink back."""
    node, step = sink, most
    while node != source:
        entry = work.entry[node]
        step = min(step, room_of(graph, work, entry))
        node = graph.end[graph.twin[entry]]
    node = sink
    while node != source:
        entry = work.entry[node]
        move(work, graph.arc[entry], graph.sign[entry] * step)
        node = graph.end[graph.twin[entry]]
    return step


@inner
def sift_up(work: Work, size: int, distance: int, node: int) -> None:
    """Put a node into the heap of this size: the nearest is on top, of equally near ones the first."""
    place = size
    while place > 0:
        above = (place - 1) >> 1
        far, other = work.heap_distance[above], work.heap_node[above]
        if far < distance or (far == distance and other <= node):
            break
        work.heap_distance[place], work.heap_node[place] = far, other
        place = above
    work.heap_distance[place], work.heap_node[place] = distance, node


@inner
def sift_down(work: Work, size: int) -> None:
    """Take the top off the heap, which has this size then."""
    distance, node = work.heap_distance[size], work.heap_node[size]
    place, below = 0, 1
    while below < size:
        far, other = work.heap_distance[below], work.heap_node[below]
        if below + 1 < size:
            next_far, next_other = work.heap_distance[below + 1], work.heap_node[below + 1]
            if next_far < far or (next_far == far and next_other < other):
                far, other, below = next_far, next_other, below + 1
        if distance < far or (distance == far and node <= other):
            break
        work.heap_distance[place], work.heap_node[place] = far, other
        place, below = below, 2 * below + 1
    work.heap_distance[place], work.heap_node[place] = distance, node


@inner
def shortest_path(
    graph: Graph, cost_up: Int, cost_down: Int, work: Work, own: int, source: int, sink: int, least: int
) -> int:
    """Number of nodes settled, the sink last, by arcs that still carry `least`; −1 if it is out of reach.

    Distances are reduced by the potentials; arc `own` is left out. Settled nodes stand in `work.queue`.
    """
    work.distance[:] = FAR
    work.seen[:] = 0
    work.distance[source] = 0
    work.heap_distance[0], work.heap_node[0] = 0, source
    waiting, settled = 1, 0
    while waiting > 0:
        distance, node = work.heap_distance[0], work.heap_node[0]
        waiting -= 1
        sift_down(work, waiting)
        if work.seen[node] == 1:
            continue
        work.seen[node] = 1
        work.queue[settled] = node
        settled += 1
        if node == sink:
            return settled
        base = distance + work.potential[node]
        for entry in range(graph.first[node], graph.first[node + 1]):
            other, arc = graph.end[entry], graph.arc[entry]
            if work.seen[other] == 1 or arc == own or room_of(graph, work, entry) < least:
                continue
            reached = base - work.potential[other] + _cost(graph, cost_up, cost_down, work, entry)
            if reached < work.distance[other]:
                work.distance[other] = reached
                work.entry[other] = entry
                sift_up(work, waiting, reached, other)
                waiting += 1
    return -1


@inner
def _cost(graph: Graph, cost_up: Int, cost_down: Int, work: Work, entry: int) -> int:
    """Cost of one more unit in the entry's direction; taking a flow back returns its cost."""
    arc = graph.arc[entry]
    if graph.sign[entry] > 0:
        return int(cost_up[arc] if work.flow[arc] >= 0 else -cost_down[arc])
    return int(cost_down[arc] if work.flow[arc] <= 0 else -cost_up[arc])


@inner
def _linear_room(graph: Graph, work: Work, entry: int) -> int:
    """How much more fits before the cost changes: a flow against the entry is taken back first."""
    arc = graph.arc[entry]
    against = -graph.sign[entry] * work.flow[arc]
    return int(against if against > 0 else room_of(graph, work, entry))


@inner
def _send_admissible(
    graph: Graph, cost_up: Int, cost_down: Int, work: Work, own: int, source: int, sink: int, most: int
) -> int:
    """Send flow along paths of reduced cost 0, depth first, each entry tried once."""
    work.seen[:] = 0
    for node in range(len(work.place)):
        work.place[node] = graph.first[node]
    sent, depth, node = 0, 0, source
    work.seen[source] = 1
    while sent < most:
        if node == sink:
            step = most - sent
            for i in range(depth):
                step = min(step, _linear_room(graph, work, work.queue[i]))
            for i in range(depth):
                move(work, graph.arc[work.queue[i]], graph.sign[work.queue[i]] * step)
                work.seen[graph.end[work.queue[i]]] = 0
            sent += step
            depth, node = 0, source
            continue
        advanced = False
        while work.place[node] < graph.first[node + 1]:
            entry = work.place[node]
            other = graph.end[entry]
            if work.seen[other] == 0 and graph.arc[entry] != own and room_of(graph, work, entry) > 0:
                cost = _cost(graph, cost_up, cost_down, work, entry)
                if cost + work.potential[node] - work.potential[other] == 0:
                    work.queue[depth] = entry
                    depth += 1
                    node = other
                    work.seen[node] = 1
                    advanced = True
                    break
            work.place[node] += 1
        if not advanced:
            if node == source:
                break
            depth -= 1
            node = graph.end[graph.twin[work.queue[depth]]]
            work.place[node] += 1
    return sent


@outer
def cheapest(
    graph: Graph, cost_up: Int, cost_down: Int, work: Work, own: int, source: int, sink: int, amount: int
) -> int:
    """Send `amount` from source to sink as cheaply as possible, or as much as there is room for."""
    work.potential[:] = 0
    sent = 0
    while sent < amount:
        settled = shortest_path(graph, cost_up, cost_down, work, own, source, sink, 1)
        if settled < 0:
            break
        far = work.distance[sink]
        for i in range(settled):
            work.potential[work.queue[i]] += work.distance[work.queue[i]] - far
        sent += _send_admissible(graph, cost_up, cost_down, work, own, source, sink, amount - sent)
    return sent


@inner
def _path_within(
    graph: Graph, allowed: Bool, work: Work, own: int, source: int, sink: int, least: int
) -> bool:
    """Breadth-first search along allowed arcs that still carry `least`; nodes next to the sink end it."""
    work.counts[STAMP] += 1
    stamp = work.counts[STAMP]
    for entry in range(graph.first[sink], graph.first[sink + 1]):
        arc, twin = graph.arc[entry], graph.twin[entry]
        if allowed[arc] and arc != own and room_of(graph, work, twin) >= least:
            work.near[graph.end[entry]] = stamp
            work.place[graph.end[entry]] = twin
    work.seen[source] = stamp
    work.queue[0] = source
    begin, end, node = 0, 1, source
    found = work.near[source] == stamp
    while begin < end and not found:
        node = work.queue[begin]
        begin += 1
        for entry in range(graph.first[node], graph.first[node + 1]):
            other, arc = graph.end[entry], graph.arc[entry]
            if work.seen[other] == stamp or not allowed[arc] or arc == own:
                continue
            if room_of(graph, work, entry) < least:
                continue
            work.seen[other] = stamp
            work.entry[other] = entry
            if work.near[other] == stamp:
                node, found = other, True
                break
            work.queue[end] = other
            end += 1
    if found:
        work.entry[sink] = work.place[node]
    return bool(found)


@inner
def _carries(
    graph: Graph, allowed: Bool, work: Work, own: int, node: int, amount: int, leaving: bool
) -> bool:
    """Whether the allowed arcs at a node together carry the amount away from it, or towards it."""
    left = amount
    for entry in range(graph.first[node], graph.first[node + 1]):
        if allowed[graph.arc[entry]] and graph.arc[entry] != own:
            left -= min(left, room_of(graph, work, entry if leaving else graph.twin[entry]))
            if left == 0:
                return True
    return False


@outer
def send_within(
    graph: Graph, allowed: Bool, work: Work, own: int, source: int, sink: int, amount: int
) -> int:
    """Send `amount` along allowed arcs, in few and short paths; stop early where it cannot be done."""
    if not _carries(graph, allowed, work, own, source, amount, True):
        return 0
    if not _carries(graph, allowed, work, own, sink, amount, False):
        return 0
    left, least = amount, amount
    while left > 0:
        least = min(least, left)
        if _path_within(graph, allowed, work, own, source, sink, least):
            left -= push_back(graph, work, source, sink, left)
        elif least == 1:
            break
        else:
            least = max(least // 4, 1)
    return amount - left
