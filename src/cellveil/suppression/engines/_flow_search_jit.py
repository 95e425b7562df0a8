"""Loops of the methods for networks: witnesses by flows, and the search for cheaper patterns.

Arcs are cells: a cell's movement flows from `tail` to `head` (−1: the cell is in no network). A witness for a
demand is a flow of the demanded amount through the cell's own arc that returns over other cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.deviations._ledger_jit import (
    ENTRIES,
    HIDDEN,
    TRAIL,
    UP,
    WITNESSES,
    BookArrays,
    add,
    is_open,
    num_met,
    num_users,
    publish,
    roll_back,
    users,
)
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
from cellveil.solvers.tolerances import GUARD

LINEAR, CYCLES, BOTH, FREE = range(4)
"""How to find a witness: by cheapest flows, by cheapest cycles, the better of both, or over hidden cells."""

TUNING = (*("first_slope", "slope_decline", "thresholds", "most_cycles", "near_share", "noise", "ahead"),)
FIRST_SLOPE, SLOPE_DECLINE, THRESHOLDS, MOST_CYCLES, NEAR_SHARE, NOISE, AHEAD = range(7)
"""Parameters that loops use, and their places in `Plan.tuning`."""

SPARE = 200
"""So many witnesses more must fit into the book before a search begins."""


@dataclass(frozen=True, eq=False)
class Plan(Arrays):
    """Ends of the cells' arcs, the cells of the networks, weights to plan with, and scratch space."""

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
def has_room(book: BookArrays, entries: int) -> bool:
    """Whether the book has room for so many more entries, and for a few hundred witnesses."""
    return bool(
        book.counts[WITNESSES] + SPARE <= len(book.denominators)
        and book.counts[ENTRIES] + entries <= len(book.cells)
        and book.counts[TRAIL] + 3 * entries <= len(book.trail)
    )


@inner
def record(work: Work, book: BookArrays) -> None:
    """Enter the flow into the book, hiding what it moves, and clear it."""
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
    add(book, cells, moves, 1, True)


@inner
def take_free(graph: Graph, work: Work, book: BookArrays, plan: Plan, cell: int, up: bool) -> bool:
    """Meet a demand by a flow over hidden cells, if there is one."""
    amount = book.need_up[cell] if up else book.need_down[cell]
    if plan.tail[cell] < 0 or amount > (graph.up[cell] if up else graph.down[cell]):
        return False
    source, sink = plan.head[cell], plan.tail[cell]
    if not up:
        source, sink = sink, source
    sent = amount if source == sink else send_within(graph, book.hidden, work, cell, source, sink, amount)
    if sent < amount:
        clear(work)
        return False
    move(work, cell, amount if up else -amount)
    record(work, book)
    return True


@outer
def take_free_all(
    graph: Graph, work: Work, book: BookArrays, plan: Plan, cells: Int, ups: Bool, begin: int
) -> int:
    """Meet demands over hidden cells one after the other; return where to go on if the book is full."""
    for i in range(begin, len(cells)):
        if is_open(book, cells[i], ups[i]):
            if not has_room(book, len(plan.cells)):
                return i
            take_free(graph, work, book, plan, cells[i], ups[i])
    return len(cells)


@inner
def _fill_costs(graph: Graph, work: Work, book: BookArrays, plan: Plan, amount: int, share: float) -> None:
    """Cost per unit: the weight over how far the cell is expected to move.

    Expected is as much as the room and the amount allow; with a `share` below 1 what the present flow moves
    it, and that share of the amount in addition. Hidden cells cost next to nothing.
    """
    top = 0.0
    for turn in range(2):
        scale = plan.largest[0] / top if top > 0 else 0.0
        for cell in plan.cells:
            if book.hidden[cell]:
                cost = 1 if book.is_free[cell] else 2
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
def _fill_weights(work: Work, book: BookArrays, plan: Plan) -> None:
    """Cost of a cell, however far it moves; nothing where it moves already."""
    top = 0.0
    for cell in plan.cells:
        if not book.hidden[cell]:
            top = max(top, plan.weight[cell])
    scale = plan.largest[0] / top if top > 0 else 0.0
    for cell in plan.cells:
        if work.flow[cell] != 0:
            cost = 0
        elif book.hidden[cell]:
            cost = 1 if book.is_free[cell] else 2
        else:
            cost = max(int(plan.weight[cell] * scale), 4)
        plan.cost_up[cell] = plan.cost_down[cell] = cost


@inner
def _send_cycles(
    graph: Graph, work: Work, book: BookArrays, plan: Plan, own: int, source: int, sink: int, amount: int
) -> int:
    """Send the amount along one path after the other, each the cheapest per unit of those tried.

    A path costs the weights of its cells; those that earlier paths use are free.
    """
    _fill_weights(work, book, plan)
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
def _price(work: Work, book: BookArrays) -> float:
    """Weight of the published cells that the flow moves."""
    total = 0.0
    for i in range(work.counts[TOUCHED]):
        cell = work.touched[i]
        if work.flow[cell] != 0 and not book.hidden[cell]:
            total += book.weight[cell]
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
    graph: Graph,
    work: Work,
    book: BookArrays,
    plan: Plan,
    cell: int,
    up: bool,
    way: int,
    rounds: int,
) -> int:
    """Meet a demand over hidden cells, or by a flow that hides as little weight as it can.

    Returns how far the cell gets. Nothing is entered where that falls short of the amount.
    """
    amount = book.need_up[cell] if up else book.need_down[cell]
    if take_free(graph, work, book, plan, cell, up):
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
            sent = _send_cycles(graph, work, book, plan, cell, source, sink, reach)
        if start == LINEAR or sent < reach:
            clear(work)
            _fill_costs(graph, work, book, plan, amount, 1.0)
            sent = cheapest(graph, plan.cost_up, plan.cost_down, work, cell, source, sink, reach)
        if sent < amount:
            clear(work)
            return int(sent)
        share = plan.tuning[FIRST_SLOPE]
        for turn in range(rounds + 1):
            price = _price(work, book)
            if price < best:
                best, kept = price, _keep(work, plan)
            elif turn > 0:
                break
            if turn < rounds and price > 0:
                _fill_costs(graph, work, book, plan, amount, share)
                clear(work)
                cheapest(graph, plan.cost_up, plan.cost_down, work, cell, source, sink, amount)
                share *= plan.tuning[SLOPE_DECLINE]
    clear(work)
    for i in range(kept):
        move(work, plan.kept[i], plan.kept_moves[i])
    move(work, cell, amount if up else -amount)
    record(work, book)
    return int(amount)


@inner
def _load(work: Work, book: BookArrays, number: int, cell: int, up: bool) -> None:
    """Take a witness up again as a flow, in the direction in which it moves the cell as wanted."""
    begin, end = book.starts[number], book.starts[number + 1]
    sign = 1
    for entry in range(begin, end):
        if book.cells[entry] == cell and (book.numerators[entry] > 0) != up:
            sign = -1
    for entry in range(begin, end):
        move(work, book.cells[entry], sign * book.numerators[entry])


@inner
def _secondaries(book: BookArrays, plan: Plan, found: Int) -> int:
    """Write the hidden cells that were not hidden at the start; return how many there are."""
    count = 0
    for cell in plan.cells:
        if book.hidden[cell] and not book.is_free[cell]:
            found[count] = cell
            count += 1
    return count


@inner
def _ruined(
    book: BookArrays, plan: Plan, rng: np.random.Generator, found: Int, most: int, chosen: Int
) -> int:
    """Choose of those `found` the dearer of two at random, and up to `most` − 1 others: near it, or anywhere.

    Near are those in its relations. Returns how many are chosen.
    """
    centre, other = found[int(rng.random() * len(found))], found[int(rng.random() * len(found))]
    if book.weight[other] > book.weight[centre]:
        centre = other
    near = rng.random() < plan.tuning[NEAR_SHARE]
    wanted = 1 + int(rng.random() * rng.random() * most)
    count = 0
    for i in range(len(found)):  # the chosen ones move to the front, in random order
        cell = found[i]
        linked = (
            plan.tail[cell] == plan.tail[centre]
            or plan.head[cell] == plan.head[centre]
            or plan.tail[cell] == plan.head[centre]
            or plan.head[cell] == plan.tail[centre]
        )
        if cell != centre and (linked or not near):
            place = int(rng.random() * (count + 1))
            found[i] = found[count]
            found[count] = found[place]
            found[place] = cell
            count += 1
    count = 1 + min(count, wanted - 1)
    chosen[0] = centre
    for i in range(1, count):
        chosen[i] = found[i - 1]
    return count


@inner
def _repair(
    graph: Graph,
    work: Work,
    book: BookArrays,
    plan: Plan,
    number: int,
    cell: int,
    up: bool,
    way: int,
    budget: float,
) -> bool:
    """Meet a demand by its former witness, led around what was published, hiding at most so much weight.

    With way FREE over hidden cells only.
    """
    _load(work, book, number, cell, up)
    for entry in range(book.starts[number], book.starts[number + 1]):
        gone = book.cells[entry]
        amount = work.flow[gone]
        if book.hidden[gone] or amount == 0:
            continue
        move(work, gone, -amount)
        source, sink = plan.tail[gone], plan.head[gone]
        if amount < 0:
            source, sink, amount = sink, source, -amount
        if way == FREE:
            sent = send_within(graph, book.hidden, work, cell, source, sink, amount)
        elif way == CYCLES:
            sent = _send_cycles(graph, work, book, plan, cell, source, sink, amount)
        else:
            _fill_costs(graph, work, book, plan, amount, 1.0)
            sent = cheapest(graph, plan.cost_up, plan.cost_down, work, cell, source, sink, amount)
        if sent < amount:
            clear(work)
            return False
    if _price(work, book) > budget:
        clear(work)
        return False
    record(work, book)
    return not is_open(book, cell, up)


@inner
def _sort_descending(cells: Int, size: Float, count: int) -> None:
    """Sort the first so many by size, those of the same size in order, by merging sorted runs."""
    new, new_size = np.empty(count, dtype=np.int64), np.empty(count)
    width = 1
    while width < count:
        start = 0
        while start < count:
            end = min(start + 2 * width, count)
            left, right = start, start + width
            for place in range(start, end):
                if left < start + width and (right >= end or size[left] >= size[right]):
                    taken = left
                    left += 1
                else:
                    taken = right
                    right += 1
                new[place], new_size[place] = cells[taken], size[taken]
            start += 2 * width
        for place in range(count):
            cells[place], size[place] = new[place], new_size[place]
        width *= 2


@inner
def _reopened(book: BookArrays, trail: int, places: Int) -> int:
    """Write the places of the trail, after the given one, where demands lost their witness; largest first."""
    end = book.counts[TRAIL]
    amounts = np.empty(end - trail)
    count = 0
    for place in range(trail, end):
        kind, cell, before = book.trail[place, 0], book.trail[place, 1], book.trail[place, 2]
        if kind >= UP and before >= 0:
            places[count] = place
            amounts[count] = book.need_up[cell] if kind == UP else book.need_down[cell]
            count += 1
    _sort_descending(places, amounts, count)
    return count


@inner
def _newly_hidden(book: BookArrays, trail: int, cells: Int) -> int:
    """Write the cells hidden since a place of the trail, the dearest first."""
    end = book.counts[TRAIL]
    weights = np.empty(end - trail)
    count = 0
    for place in range(trail, end):
        if book.trail[place, 0] == HIDDEN:
            cells[count] = book.trail[place, 1]
            weights[count] = book.weight[cells[count]]
            count += 1
    _sort_descending(cells, weights, count)
    return count


@inner
def _recreate(
    graph: Graph, work: Work, book: BookArrays, plan: Plan, trail: int, way: int, allowed: float
) -> bool:
    """Meet the demands reopened since a place of the trail, if the cost stays within what is allowed."""
    places = np.empty(book.counts[TRAIL] - trail, dtype=np.int64)
    count = _reopened(book, trail, places)
    for place in places[:count]:
        cell, number = book.trail[place, 1], book.trail[place, 2]
        up = book.trail[place, 0] == UP
        if not is_open(book, cell, up):
            continue
        if not has_room(book, 2 * len(plan.cells)):
            return False
        if _repair(graph, work, book, plan, number, cell, up, FREE, np.inf):
            continue
        left = allowed - book.cost[0]
        if way == FREE or not _repair(graph, work, book, plan, number, cell, up, way, left):
            return False
    return True


@inner
def _publish(book: BookArrays, cell: int) -> None:
    """Publish a cell; the trail tells what that reopens."""
    using = np.empty(num_users(book, cell), dtype=np.int64)
    users(book, cell, using)
    met = num_met(book, using)
    opened, ways = np.empty(met, dtype=np.int64), np.empty(met, dtype=np.bool_)
    publish(book, cell, using, opened, ways)


@outer
def publish_each(graph: Graph, work: Work, book: BookArrays, plan: Plan, candidates: Int, begin: int) -> int:
    """Publish cells, one after the other, where all demands find a witness within what stays hidden.

    Returns where to go on if the book is full.
    """
    for i in range(begin, len(candidates)):
        if not has_room(book, 2 * len(plan.cells)):
            return i
        cell = candidates[i]
        if not book.hidden[cell]:
            continue
        trail, witnesses, cost = book.counts[TRAIL], book.counts[WITNESSES], book.cost[0]
        _publish(book, cell)
        if not _recreate(graph, work, book, plan, trail, FREE, cost):
            roll_back(book, trail, witnesses)
            book.cost[0] = cost
    return len(candidates)


@outer
def improve(
    graph: Graph,
    work: Work,
    book: BookArrays,
    plan: Plan,
    rng: np.random.Generator,
    turns: int,
    most: int,
    slack: float,
    target: float,
) -> int:
    """Ruin and recreate: publish some secondaries, meet what this reopens anew, keep it if it is no dearer.

    "No dearer" allows for a share `slack` above the present cost, but not for more than `target`. Returns how
    many turns were made before the book was full.
    """
    for turn in range(turns):
        if not has_room(book, 4 * len(plan.cells) + 1000):
            return turn
        trail, witnesses, cost = book.counts[TRAIL], book.counts[WITNESSES], book.cost[0]
        found = np.empty(len(plan.cells), dtype=np.int64)
        count = _secondaries(book, plan, found)
        if count == 0:
            return turns
        chosen = np.empty(count, dtype=np.int64)
        count = _ruined(book, plan, rng, found[:count], most, chosen)
        for cell in chosen[:count]:
            _publish(book, cell)
        noise = rng.random() * plan.tuning[NOISE]
        for cell in plan.cells:
            plan.weight[cell] = book.weight[cell] * (1 + noise * rng.random())
        way = int(rng.random() * 2)
        allowed = min(cost * (1 + slack), target)
        ahead = cost + plan.tuning[AHEAD] * (cost - book.cost[0])  # what clean-up may bring down again
        done = _recreate(graph, work, book, plan, trail, way, max(allowed, ahead))
        if done:
            hidden = np.empty(book.counts[TRAIL] - trail, dtype=np.int64)
            count = _newly_hidden(book, trail, hidden)
            publish_each(graph, work, book, plan, hidden[:count], 0)
        if not done or book.cost[0] > allowed * (1 + GUARD):
            roll_back(book, trail, witnesses)
            book.cost[0] = cost
    return turns
