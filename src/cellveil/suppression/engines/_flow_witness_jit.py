"""Loops of the methods for networks: witnesses by flows, free ones over hidden cells, or the cheapest.

Arcs are cells: a cell's movement flows from `tail` to `head` (−1: the cell is in no network). A witness for a
demand is a flow of the demanded amount through the cell's own arc that returns over other cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.deviations._ledger_jit import LedgerArrays, add, has_room, is_open
from cellveil.jit.compiled import inner, outer
from cellveil.jit.kinds import Arrays, Bool, Float, Int
from cellveil.solvers._min_cost_flow_jit import (
    TOUCHED,
    Graph,
    Work,
    cheapest,
    clear,
    move,
    room_of,
    send_within,
    shortest_path,
)

LINEAR, CYCLES, BOTH, FREE = range(4)
"""How to find a witness: by cheapest flows, by cheapest cycles, the better of both, or over hidden cells."""

TUNING = (*("first_slope", "slope_decline", "thresholds", "most_cycles", "near_share", "noise", "ahead"),)
FIRST_SLOPE, SLOPE_DECLINE, THRESHOLDS, MOST_CYCLES, NEAR_SHARE, NOISE, AHEAD = range(7)
"""Parameters that loops use, and their places in `Plan.tuning`."""

SPARE = 200
"""So many witnesses more must fit into the ledger before a search begins."""


@dataclass(frozen=True, eq=False)
class Plan(Arrays):
    """The graph, ends of the cells' arcs, the cells of the networks, weights to plan with, scratch space."""

    graph: Graph
    work: Work
    tail: Int
    head: Int
    cells: Int
    weight: Float
    largest: Int
    cost_up: Int
    cost_down: Int
    kept: Int
    kept_moves: Int
    path: Int
    tuning: Float


@inner
def record(work: Work, ledger: LedgerArrays) -> None:
    """Enter the flow into the ledger, hiding what it moves, and clear it."""
    count = 0
    for i in range(work.counts[TOUCHED]):
        count += work.flow[work.touched[i]] != 0
    cells, moves = np.empty(count, dtype=np.int32), np.empty(count, dtype=np.int64)
    count = 0
    for i in range(work.counts[TOUCHED]):
        cell = work.touched[i]
        if work.flow[cell] != 0:
            cells[count] = cell
            moves[count] = work.flow[cell]
            count += 1
    clear(work)
    add(ledger, cells, moves, 1, True)


@inner
def take_free(ledger: LedgerArrays, plan: Plan, cell: int, up: bool) -> bool:
    """Meet a demand by a flow over hidden cells, if there is one."""
    graph, work = plan.graph, plan.work
    amount = ledger.need_up[cell] if up else ledger.need_down[cell]
    if plan.tail[cell] < 0 or amount > (graph.up[cell] if up else graph.down[cell]):
        return False
    source, sink = plan.head[cell], plan.tail[cell]
    if not up:
        source, sink = sink, source
    sent = amount if source == sink else send_within(graph, ledger.hidden, work, cell, source, sink, amount)
    if sent < amount:
        clear(work)
        return False
    move(work, cell, amount if up else -amount)
    record(work, ledger)
    return True


@outer
def take_free_all(ledger: LedgerArrays, plan: Plan, cells: Int, ups: Bool, begin: int) -> int:
    """Meet demands over hidden cells one after the other; return where to go on if the ledger is full."""
    for i in range(begin, len(cells)):
        if is_open(ledger, cells[i], ups[i]):
            if not has_room(ledger, SPARE, len(plan.cells)):
                return i
            take_free(ledger, plan, cells[i], ups[i])
    return len(cells)


@inner
def fill_costs(ledger: LedgerArrays, plan: Plan, amount: int, share: float) -> None:
    """Cost per unit: the weight over how far the cell is expected to move.

    Expected is as much as the room and the amount allow; with a `share` below 1 what the present flow moves
    it, and that share of the amount in addition. Hidden cells cost next to nothing.
    """
    graph, work = plan.graph, plan.work
    top = 0.0
    for turn in range(2):
        scale = plan.largest[0] / top if top > 0 else 0.0
        for cell in plan.cells:
            if ledger.hidden[cell]:
                cost = 1 if ledger.is_free[cell] else 2
                plan.cost_up[cell] = plan.cost_down[cell] = 0 if work.flow[cell] != 0 else cost
                continue
            expected = float(amount)
            if share < 1:
                expected = min(expected, abs(work.flow[cell]) + share * amount)
            up = plan.weight[cell] / max(min(expected, graph.up[cell]), 1.0)
            down = plan.weight[cell] / max(min(expected, graph.down[cell]), 1.0)
            if turn == 0:
                top = max(top, up, down)
            else:
                plan.cost_up[cell] = max(int(up * scale), 4)
                plan.cost_down[cell] = max(int(down * scale), 4)


@inner
def _fill_weights(work: Work, ledger: LedgerArrays, plan: Plan) -> None:
    """Cost of a cell, however far it moves; nothing where it moves already."""
    top = 0.0
    for cell in plan.cells:
        if not ledger.hidden[cell]:
            top = max(top, plan.weight[cell])
    scale = plan.largest[0] / top if top > 0 else 0.0
    for cell in plan.cells:
        if work.flow[cell] != 0:
            cost = 0
        elif ledger.hidden[cell]:
            cost = 1 if ledger.is_free[cell] else 2
        else:
            cost = max(int(plan.weight[cell] * scale), 4)
        plan.cost_up[cell] = plan.cost_down[cell] = cost


@inner
def send_cycles(ledger: LedgerArrays, plan: Plan, own: int, source: int, sink: int, amount: int) -> int:
    """Send the amount along one path after the other, each the cheapest per unit of those tried.

    A path costs the weights of its cells; those that earlier paths use are free.
    """
    graph, work = plan.graph, plan.work
    _fill_weights(work, ledger, plan)
    work.potential[:] = 0
    left = amount
    for _ in range(int(plan.tuning[MOST_CYCLES])):
        if left == 0:
            break
        best, length, best_step, shortest = np.inf, 0, 0, 0.0
        for turn in range(int(plan.tuning[THRESHOLDS])):
            # All that is missing first, then anything at all: what that costs bounds the ratios in between.
            least = left if turn == 0 else 1 if turn == 1 else left >> (2 * (turn - 1))
            if turn > 0 and left == 1:
                break
            if turn > 1 and (least <= 1 or shortest * 4.0 ** (turn - 2) >= best * left):
                break
            if shortest_path(graph, plan.cost_up, plan.cost_down, work, own, source, sink, least) < 0:
                if turn == 1:
                    break
                continue
            step, node = left, sink
            while node != source:
                step = min(step, room_of(graph, work, work.entry[node]))
                node = graph.end[graph.twin[work.entry[node]]]
            if turn == 1:
                shortest = float(work.distance[sink])
            if work.distance[sink] / step < best:
                best, best_step, length, node = work.distance[sink] / step, step, 0, sink
                while node != source:
                    plan.path[length] = work.entry[node]
                    length += 1
                    node = graph.end[graph.twin[work.entry[node]]]
        if length == 0:
            break
        for i in range(length):
            arc = graph.arc[plan.path[i]]
            move(work, arc, graph.sign[plan.path[i]] * best_step)
            plan.cost_up[arc] = plan.cost_down[arc] = 0
        left -= best_step
    return int(amount - left)


@inner
def price(work: Work, ledger: LedgerArrays) -> float:
    """Weight of the published cells that the flow moves."""
    total = 0.0
    for i in range(work.counts[TOUCHED]):
        cell = work.touched[i]
        if work.flow[cell] != 0 and not ledger.hidden[cell]:
            total += ledger.weight[cell]
    return total


@inner
def _keep(work: Work, plan: Plan) -> int:
    """Set the flow aside."""
    count = work.counts[TOUCHED]
    for i in range(count):
        plan.kept[i] = work.touched[i]
        plan.kept_moves[i] = work.flow[work.touched[i]]
    return int(count)


@outer
def take_paid(
    ledger: LedgerArrays,
    plan: Plan,
    cell: int,
    up: bool,
    way: int,
    rounds: int,
) -> int:
    """Meet a demand over hidden cells, or by a flow that hides as little weight as it can.

    Returns how far the cell gets. Nothing is entered where that falls short of the amount.
    """
    graph, work = plan.graph, plan.work
    amount = ledger.need_up[cell] if up else ledger.need_down[cell]
    if take_free(ledger, plan, cell, up):
        return int(amount)
    reach = min(amount, graph.up[cell] if up else graph.down[cell])
    if plan.tail[cell] < 0:
        return 0
    source, sink = plan.head[cell], plan.tail[cell]
    if not up:
        source, sink = sink, source
    if source == sink:
        return int(reach)
    best, kept = np.inf, 0
    for start in range(2):
        if way != BOTH and way != start:
            continue
        clear(work)
        if start == CYCLES:
            sent = send_cycles(ledger, plan, cell, source, sink, reach)
        if start == LINEAR or sent < reach:
            clear(work)
            fill_costs(ledger, plan, amount, 1.0)
            sent = cheapest(graph, plan.cost_up, plan.cost_down, work, cell, source, sink, reach)
        if sent < amount:
            clear(work)
            return int(sent)
        share = plan.tuning[FIRST_SLOPE]
        for turn in range(rounds + 1):
            weight = price(work, ledger)
            if weight < best:
                best, kept = weight, _keep(work, plan)
            elif turn > 0:
                break
            if turn < rounds and weight > 0:
                fill_costs(ledger, plan, amount, share)
                clear(work)
                cheapest(graph, plan.cost_up, plan.cost_down, work, cell, source, sink, amount)
                share *= plan.tuning[SLOPE_DECLINE]
    clear(work)
    for i in range(kept):
        move(work, plan.kept[i], plan.kept_moves[i])
    move(work, cell, amount if up else -amount)
    record(work, ledger)
    return int(amount)
