"""Simulated annealing of a kernel vector's support by pivots of a null-space tableau."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.deviations._residue_tableau_jit import (
    add_multiple,
    inverse,
    list_moved,
    misses,
    residue,
    size_of,
)
from cellveil.jit.compiled import inner, outer
from cellveil.jit.kinds import Arrays, Bool, Float, Int, Int32, Int32Table


@dataclass(frozen=True, eq=False)
class Space(Arrays):
    """Space of the loops: of the length of the cells, or a power of two at least twice as long."""

    filled: Int
    keys: Int
    sums: Float
    first: Int
    stamps: Int
    trial: Int
    entries: Int


@dataclass(frozen=True, eq=False)
class Chain(Arrays):
    """The state of an annealing: columns, the cells they stand for, the best vector so far.

    `costs` are weight and shortfall of the present vector, then of the best one, and what a group of cells
    may weigh at most, as far as has been seen.
    """

    columns: Int32Table
    basic: Int
    best: Int32
    costs: Float


@dataclass(frozen=True, eq=False)
class Goal(Arrays):
    """Weights, demands and capacities by the places of the cells; `places` are those with a demand."""

    weight: Float
    is_primary: Bool
    places: Int
    need_up: Float
    need_down: Float
    up: Float
    down: Float


@inner
def pivot(columns: Int32Table, cell: int, column: int, filled: Int) -> None:
    """Make the cell basic in place of the one that `column` stands for: 1 there, 0 in all other columns.

    `filled` is space for the cells that the column moves.
    """
    scale = inverse(columns[column, cell])
    for i in range(columns.shape[1]):
        columns[column, i] = residue(columns[column, i] * scale)
    entries = np.empty(columns.shape[1], dtype=np.int64)
    count = list_moved(columns[column], entries, filled)
    for other in range(len(columns)):
        if other != column and columns[other, cell] != 0:
            add_multiple(columns[other], 2147483647 - columns[other, cell], entries, filled, count)


@outer
def settle(columns: Int32Table, order: Int, primaries: Int, basic: Int, filled: Int) -> None:
    """Publish cells in turn, each unless the last column would miss a primary; all columns are kept up.

    In the end every column but the last stands for a published cell, as far as there are any to publish.
    """
    last = len(columns) - 1
    for k in range(len(order)):
        cell = order[k]
        if columns[last, cell] == 0:
            continue
        column = _column_of(columns, cell, basic)
        if column >= 0 and not misses(columns, column, cell, primaries):
            pivot(columns, cell, column, filled)
            basic[column] = cell


@inner
def _column_of(columns: Int32Table, cell: int, basic: Int) -> int:
    """A column that moves the cell and stands for a hidden one: its own if it has one; −1 for none."""
    last, found = len(columns) - 1, -1
    for column in range(last):
        if columns[column, cell] != 0 and columns[last, basic[column]] != 0:
            if basic[column] == cell:
                return column
            found = column
    return found


@inner
def _slot(space: Space, key: int, stamp: int) -> int:
    """The place of a ratio in the table of groups; a new one is empty."""
    mask = len(space.keys) - 1
    slot = (key * 40503) & mask
    while space.stamps[slot] == stamp and space.keys[slot] != key:
        slot = (slot + 1) & mask
    if space.stamps[slot] != stamp:
        space.stamps[slot], space.keys[slot] = stamp, key
        space.sums[slot], space.first[slot] = 0.0, -1
    return slot


@inner
def _added(columns: Int32Table, column: int, weight: Float, most: float) -> float:
    """The weight of the published cells that the column moves, or something above `most`."""
    last, added = len(columns) - 1, 0.0
    for i in range(columns.shape[1]):
        if columns[last, i] == 0 and columns[column, i] != 0:
            added += weight[i]
            if added > most:
                break
    return added


@inner
def _list_ratios(columns: Int32Table, column: int, space: Space) -> int:
    """List the cells that the last column and another one move, and the ratios; returns how many.

    One inverse serves all: that of the product of the entries, from which those of the factors follow.
    """
    last, count, product = len(columns) - 1, 0, 1
    for i in range(columns.shape[1]):
        if columns[column, i] != 0 and columns[last, i] != 0:
            space.entries[count], space.trial[count] = i, product
            product = residue(product * columns[column, i])
            count += 1
    scale = inverse(product)
    for k in range(count - 1, -1, -1):
        i = space.entries[k]
        space.trial[k] = residue(residue(scale * space.trial[k]) * columns[last, i])
        scale = residue(scale * columns[column, i])
    return count


@inner
def _dearest_group(columns: Int32Table, column: int, goal: Goal, space: Space) -> tuple[float, int]:
    """The largest weight of hidden cells that vanish together with a multiple of the column; one of them.

    The cell is −1 where each group has a primary.
    """
    count, met = 0, _list_ratios(columns, column, space)
    stamp = space.stamps[len(space.keys)] + 1
    space.stamps[len(space.keys)] = stamp
    for k in range(met):
        i = space.entries[k]
        slot = _slot(space, space.trial[k], stamp)
        if goal.is_primary[i]:
            space.sums[slot] = -np.inf
        else:
            space.sums[slot] += goal.weight[i]
        if space.first[slot] < 0:
            space.filled[count] = slot
            count += 1
        space.first[slot] = i
    most, chosen = -1.0, -1
    for k in range(count):
        slot = space.filled[k]
        if space.sums[slot] > most:
            most, chosen = space.sums[slot], space.first[slot]
    return most, chosen


@inner
def _stand_in(columns: Int32Table, column: int, weight: Float, basic: Int, rng: np.random.Generator) -> int:
    """A published cell that can take the place of the column's own, dear ones rather; −1 for none."""
    last, chosen = len(columns) - 1, -1
    most = weight[basic[column]] * rng.random()
    for i in range(columns.shape[1]):
        if columns[column, i] != 0 and columns[last, i] == 0 and weight[i] > most and i != basic[column]:
            key = weight[i] * rng.random()
            if key > most:
                most, chosen = key, i
    return chosen


@inner
def _fits(space: Space, count: int, scale: int) -> bool:
    """Whether all residues of the trial, times the scale, are small numbers."""
    k = 0
    while k < count and size_of(residue(space.trial[k] * scale)) <= 1048576:
        k += 1
    return k == count


@inner
def _scale_of(space: Space, count: int, rng: np.random.Generator) -> int:
    """A factor that turns the trial into small whole numbers, one of them 1; 0 where none was found."""
    if _fits(space, count, 1):
        return 1
    for _ in range(24):
        scale = inverse(space.trial[int(rng.random() * count)])
        if _fits(space, count, scale):
            return scale
    return 0


@inner
def _shortfall(
    columns: Int32Table, column: int, factor: int, goal: Goal, space: Space, rng: np.random.Generator
) -> float:
    """How far the last column, plus a multiple of another, falls short of the demands within the capacities.

    The factor that makes it small is written to the end of `space.trial`.
    """
    last, count = len(columns) - 1, 0
    for i in range(columns.shape[1]):
        entry = columns[last, i]
        if columns[column, i] != 0:
            entry = residue(entry + factor * columns[column, i])
        space.entries[i] = entry
        if entry != 0:
            space.trial[count] = entry
            space.filled[count] = i
            count += 1
    scale = _scale_of(space, count, rng)
    space.trial[columns.shape[1]] = scale
    if scale == 0:
        return 2.0 * len(goal.places)
    forwards, backwards = 1e30, 1e30
    for k in range(count):
        i = space.filled[k]
        entry = residue(space.trial[k] * scale)
        is_turned = entry >= 1073741824
        size = float(size_of(entry))
        forwards = min(forwards, (goal.down[i] if is_turned else goal.up[i]) / size)
        backwards = min(backwards, (goal.up[i] if is_turned else goal.down[i]) / size)
    short = 0.0
    for k in range(len(goal.places)):
        i = goal.places[k]
        entry = residue(space.entries[i] * scale)
        is_turned = entry >= 1073741824
        size = float(size_of(entry))
        rise = size * (backwards if is_turned else forwards)
        fall = size * (forwards if is_turned else backwards)
        if rise < goal.need_up[i]:
            short += 1.2 - rise / goal.need_up[i]
        if fall < goal.need_down[i]:
            short += 1.2 - fall / goal.need_down[i]
    return short


@outer
def anneal(
    chain: Chain, goal: Goal, space: Space, heats: Float, turns: float, price: float, rng: np.random.Generator
) -> int:
    """One trial at each temperature; falling short of a demand has a price.

    Returns
    -------
    How many exchanges were made.
    """
    columns, basic, best, costs = chain.columns, chain.basic, chain.best, chain.costs
    last, made = len(columns) - 1, 0
    for t in range(len(heats)):
        column = int(rng.random() * last)
        if rng.random() < turns:
            cell = (
                _stand_in(columns, column, goal.weight, basic, rng)
                if columns[last, basic[column]] == 0
                else -1
            )
            if cell >= 0:
                pivot(columns, cell, column, space.filled)
                basic[column] = cell
        heat = heats[t]
        bearable = 20.0 * heat + price * costs[1]
        added = _added(columns, column, goal.weight, bearable + costs[4])
        if added > bearable + costs[4]:
            continue
        gained, cell = _dearest_group(columns, column, goal, space)
        costs[4] = max(2.0 * gained, 0.999 * costs[4])  # what a group may weigh: more is hardly seen
        worse = added - gained
        if cell < 0 or worse > bearable:
            continue
        weight, short = costs[0] + worse, 0.0
        if price > 0.0:
            factor = 2147483647 - residue(columns[last, cell] * inverse(columns[column, cell]))
            short = _shortfall(columns, column, factor, goal, space, rng)
            worse += price * (short - costs[1])
        if worse > 0.0 and (worse > 20.0 * heat or rng.random() >= np.exp(-worse / heat)):
            continue
        scale = space.trial[columns.shape[1]] if price > 0.0 else 1
        pivot(columns, cell, column, space.filled)
        basic[column] = cell
        if scale > 1:
            for i in range(columns.shape[1]):
                columns[last, i] = residue(columns[last, i] * scale)
        costs[0], costs[1] = weight, short
        made += 1
        if weight + price * short < costs[2] + price * costs[3] - 0.5:
            costs[2], costs[3] = weight, short
            for i in range(columns.shape[1]):
                best[i] = columns[last, i]
    return made


@outer
def shortfall(columns: Int32Table, goal: Goal, space: Space, rng: np.random.Generator) -> float:
    """Of the last column as it is."""
    return _shortfall(columns, 0, 0, goal, space, rng)


@outer
def install(columns: Int32Table, best: Int32, basic: Int, filled: Int) -> None:
    """Put another deviation last, and let columns stand for cells that it does not move where they can."""
    last = len(columns) - 1
    for i in range(columns.shape[1]):
        columns[last, i] = best[i]
    for column in range(last):
        if columns[last, basic[column]] == 0:
            continue
        for i in range(columns.shape[1]):
            if columns[column, i] != 0 and columns[last, i] == 0:
                pivot(columns, i, column, filled)
                basic[column] = i
                break
