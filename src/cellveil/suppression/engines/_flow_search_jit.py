"""Loops of the search for cheaper patterns of networks: clean-up, ruin and recreate.

See `_flow_witness_jit` for the witnesses.
"""

from __future__ import annotations

import numpy as np

from cellveil.deviations._ledger_jit import (
    HIDDEN,
    TRAIL,
    UP,
    WITNESSES,
    LedgerArrays,
    has_room,
    is_open,
    publish,
    roll_back,
)
from cellveil.jit.compiled import inner, outer
from cellveil.jit.kinds import Float, Int
from cellveil.solvers._min_cost_flow_jit import Work, cheapest, clear, move, send_within
from cellveil.solvers.tolerances import GUARD
from cellveil.suppression.engines._flow_witness_jit import (
    AHEAD,
    CYCLES,
    FREE,
    NEAR_SHARE,
    NOISE,
    SPARE,
    Plan,
    fill_costs,
    price,
    record,
    send_cycles,
)


@inner
def _load(work: Work, ledger: LedgerArrays, number: int, cell: int, up: bool) -> None:
    """Take a witness up again as a flow, in the direction in which it moves the cell as wanted."""
    begin, end = ledger.starts[number], ledger.starts[number + 1]
    sign = 1
    for entry in range(begin, end):
        if ledger.cells[entry] == cell and (ledger.numerators[entry] > 0) != up:
            sign = -1
    for entry in range(begin, end):
        move(work, ledger.cells[entry], sign * ledger.numerators[entry])


@inner
def _secondaries(ledger: LedgerArrays, plan: Plan, found: Int) -> int:
    """Write the hidden cells that were not hidden at the start; return how many there are."""
    count = 0
    for cell in plan.cells:
        if ledger.hidden[cell] and not ledger.is_free[cell]:
            found[count] = cell
            count += 1
    return count


@inner
def _ruined(
    ledger: LedgerArrays, plan: Plan, rng: np.random.Generator, found: Int, most: int, chosen: Int
) -> int:
    """Choose of those `found` the dearer of two at random, and up to `most` − 1 others: near it, or anywhere.

    Near are those in its relations. Returns how many are chosen.
    """
    centre, other = found[int(rng.random() * len(found))], found[int(rng.random() * len(found))]
    if ledger.weight[other] > ledger.weight[centre]:
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
    ledger: LedgerArrays,
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
    graph, work = plan.graph, plan.work
    _load(work, ledger, number, cell, up)
    for entry in range(ledger.starts[number], ledger.starts[number + 1]):
        gone = ledger.cells[entry]
        amount = work.flow[gone]
        if ledger.hidden[gone] or amount == 0:
            continue
        move(work, gone, -amount)
        source, sink = plan.tail[gone], plan.head[gone]
        if amount < 0:
            source, sink, amount = sink, source, -amount
        if way == FREE:
            sent = send_within(graph, ledger.hidden, work, cell, source, sink, amount)
        elif way == CYCLES:
            sent = send_cycles(ledger, plan, cell, source, sink, amount)
        else:
            fill_costs(ledger, plan, amount, 1.0)
            sent = cheapest(graph, plan.cost_up, plan.cost_down, work, cell, source, sink, amount)
        if sent < amount:
            clear(work)
            return False
    if price(work, ledger) > budget:
        clear(work)
        return False
    record(work, ledger)
    return not is_open(ledger, cell, up)


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
def _reopened(ledger: LedgerArrays, trail: int, places: Int) -> int:
    """Write the places of the trail, after the given one, where demands lost their witness; largest first."""
    end = ledger.counts[TRAIL]
    amounts = np.empty(end - trail)
    count = 0
    for place in range(trail, end):
        kind, cell, before = ledger.trail[place, 0], ledger.trail[place, 1], ledger.trail[place, 2]
        if kind >= UP and before >= 0:
            places[count] = place
            amounts[count] = ledger.need_up[cell] if kind == UP else ledger.need_down[cell]
            count += 1
    _sort_descending(places, amounts, count)
    return count


@inner
def _newly_hidden(ledger: LedgerArrays, trail: int, cells: Int) -> int:
    """Write the cells hidden since a place of the trail, the dearest first."""
    end = ledger.counts[TRAIL]
    weights = np.empty(end - trail)
    count = 0
    for place in range(trail, end):
        if ledger.trail[place, 0] == HIDDEN:
            cells[count] = ledger.trail[place, 1]
            weights[count] = ledger.weight[cells[count]]
            count += 1
    _sort_descending(cells, weights, count)
    return count


@inner
def _recreate(ledger: LedgerArrays, plan: Plan, trail: int, way: int, allowed: float) -> bool:
    """Meet the demands reopened since a place of the trail, if the cost stays within what is allowed."""
    places = np.empty(ledger.counts[TRAIL] - trail, dtype=np.int64)
    count = _reopened(ledger, trail, places)
    for place in places[:count]:
        cell, number = ledger.trail[place, 1], ledger.trail[place, 2]
        up = ledger.trail[place, 0] == UP
        if not is_open(ledger, cell, up):
            continue
        if not has_room(ledger, SPARE, 2 * len(plan.cells)):
            return False
        if _repair(ledger, plan, number, cell, up, FREE, np.inf):
            continue
        left = allowed - ledger.cost[0]
        if way == FREE or not _repair(ledger, plan, number, cell, up, way, left):
            return False
    return True


@outer
def publish_each(ledger: LedgerArrays, plan: Plan, candidates: Int, begin: int) -> int:
    """Publish cells, one after the other, where all demands find a witness within what stays hidden.

    Returns where to go on if the ledger is full.
    """
    for i in range(begin, len(candidates)):
        if not has_room(ledger, SPARE, 2 * len(plan.cells)):
            return i
        cell = candidates[i]
        if not ledger.hidden[cell]:
            continue
        trail, witnesses, cost = ledger.counts[TRAIL], ledger.counts[WITNESSES], ledger.cost[0]
        publish(ledger, cell)
        if not _recreate(ledger, plan, trail, FREE, cost):
            roll_back(ledger, trail, witnesses, cost)
    return len(candidates)


@outer
def improve(
    ledger: LedgerArrays,
    plan: Plan,
    rng: np.random.Generator,
    turns: int,
    most: int,
    slack: float,
    target: float,
) -> int:
    """Ruin and recreate: publish some secondaries, meet what this reopens anew, keep it if it is no dearer.

    "No dearer" allows for a share `slack` above the present cost, but not for more than `target`. Returns how
    many turns were made before the ledger was full.
    """
    for turn in range(turns):
        if not has_room(ledger, SPARE, 4 * len(plan.cells) + 1000):
            return turn
        trail, witnesses, cost = ledger.counts[TRAIL], ledger.counts[WITNESSES], ledger.cost[0]
        found = np.empty(len(plan.cells), dtype=np.int64)
        count = _secondaries(ledger, plan, found)
        if count == 0:
            return turns
        chosen = np.empty(count, dtype=np.int64)
        count = _ruined(ledger, plan, rng, found[:count], most, chosen)
        for cell in chosen[:count]:
            publish(ledger, cell)
        noise = rng.random() * plan.tuning[NOISE]
        for cell in plan.cells:
            plan.weight[cell] = ledger.weight[cell] * (1 + noise * rng.random())
        way = int(rng.random() * 2)
        allowed = min(cost * (1 + slack), target)
        ahead = cost + plan.tuning[AHEAD] * (cost - ledger.cost[0])  # what clean-up may bring down again
        done = _recreate(ledger, plan, trail, way, max(allowed, ahead))
        if done:
            hidden = np.empty(ledger.counts[TRAIL] - trail, dtype=np.int64)
            count = _newly_hidden(ledger, trail, hidden)
            publish_each(ledger, plan, hidden[:count], 0)
        if not done or ledger.cost[0] > allowed * (1 + GUARD):
            roll_back(ledger, trail, witnesses, cost)
    return turns
