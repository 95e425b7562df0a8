"""Loops of the beam search for cubes that cost least per unit moved, and of their sums.

See `cellveil.deviations._cubes_jit` for what a cube is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.deviations._cubes_jit import (
    MAX_CUBE,
    MOST_WORK,
    OUTSIDE,
    UNLIMITED,
    UNSET,
    WORK,
    Grid,
    fill_row,
    home_of,
    move,
    next_leaf,
    usable_move,
)
from cellveil.deviations._ledger_jit import LedgerArrays, add, asked, has_room, is_open
from cellveil.jit.compiled import inner, outer
from cellveil.jit.kinds import Arrays, Bits, Bool, Float, Int, Int32, IntTable, Number
from cellveil.jit.random_words import stirred


@dataclass(frozen=True, eq=False)
class Beam(Arrays):
    """Beginnings of cubes, the best first: leaves chosen so far, cost and room; and whence each came."""

    a: IntTable
    b: IntTable
    scores: Float
    costs: Float
    caps: Int
    parents: Int
    choices: Int


@dataclass(frozen=True, eq=False)
class Sums(Arrays):
    """A sum of cubes in the making, and room for the beams that look for the next one.

    ``movable`` holds, as ``grid.bits`` does for hidden cells, which cells can be hidden; ``barred`` ones are
    not to be moved. ``moved`` is the sum, ``touched`` its cells. ``toll`` is the fixed cost of a cube.
    """

    grid: Grid
    movable: Bits
    barred: Bool
    moved: Int
    is_touched: Bool
    touched: Int32
    sum_moves: Int
    unset: Int
    drawn: IntTable
    beam: Beam
    old_beam: Beam
    toll: Float
    random: Bits


@inner
def draw(sums: Sums, below: Number) -> Number:
    """A random number from 0 to below − 1."""
    sums.random[0] = x = stirred(sums.random[0])
    drawn: Number = np.int64((x >> np.uint64(11)) % np.uint64(below))
    return drawn


@inner
def room_left(ledger: LedgerArrays, sums: Sums, cell: Number, sign: Number) -> Number:
    """How far a cell can still move beyond what was packed so far."""
    if sign > 0:
        return UNLIMITED if ledger.room_up[cell] == UNLIMITED else ledger.room_up[cell] - sums.moved[cell]
    return UNLIMITED if ledger.room_down[cell] == UNLIMITED else ledger.room_down[cell] + sums.moved[cell]


@inner
def certain_codes(
    grid: Grid, cell: Number, axis: Number, a: Number, b: Number, codes: Int, signs: Int
) -> Number:
    """Codes of a dimension that a cube has for certain: the whole move once b is set, before only two."""
    if b != UNSET:
        return move(grid, axis, a, b, codes, signs)
    own = grid.keys[cell, axis]
    codes[0], signs[0] = own, 1
    if a == own:
        return 1
    codes[1], signs[1] = a, 1
    return 2


@inner
def corners_without(grid: Grid, cell: Number, sign: Number, a: Int, b: Int, axis: Number) -> Number:
    """Write the corners so far, with code 0 along an axis (−1: as they are); return their number."""
    grid.cube_places[0], grid.cube_signs[0] = 0, sign
    codes, signs = grid.codes[2], grid.codes[3]
    size: Number = 1
    for k in range(len(grid.sizes)):
        if k == axis:
            continue
        length = certain_codes(grid, cell, k, a[k], b[k], codes, signs)
        if length == 0 or size * length > MAX_CUBE:
            return 0
        for j in range(length - 1, -1, -1):  # the first code last, in place
            shift = codes[j] * grid.strides[k]
            for i in range(size):
                grid.cube_places[j * size + i] = grid.cube_places[i] + shift
                grid.cube_signs[j * size + i] = grid.cube_signs[i] * signs[j]
        size *= length
    return size


@inner
def price(
    ledger: LedgerArrays,
    sums: Sums,
    size: Number,
    shift: Number,
    turn: Number,
    cost: float,
    cap: Number,
    limit: float,
) -> tuple[float, Number]:
    """Add the corners, shifted, to cost and room; room 0 where one cannot move or it gets too dear."""
    grid = sums.grid
    for i in range(size):
        corner = grid.number[grid.cube_places[i] + shift]
        if corner < 0 or sums.barred[corner] or not ledger.movable[corner]:
            return cost, 0
        if not ledger.hidden[corner] and sums.moved[corner] == 0:
            cost += ledger.weight[corner]
        cap = min(cap, room_left(ledger, sums, corner, grid.cube_signs[i] * turn))
        if cap <= 0 or cost > limit:
            return cost, 0
    return cost, cap


@inner
def keep_best(beam: Beam, score: float, cost: float, cap: Number, parent: Number, b: Number) -> None:
    """Insert a candidate into the sorted list of the best, unless it is worse than all of them."""
    place = len(beam.scores) - 1
    if score >= beam.scores[place]:
        return
    while place > 0 and score < beam.scores[place - 1]:
        beam.scores[place], beam.costs[place] = beam.scores[place - 1], beam.costs[place - 1]
        beam.caps[place], beam.parents[place] = beam.caps[place - 1], beam.parents[place - 1]
        beam.choices[place] = beam.choices[place - 1]
        place -= 1
    beam.scores[place], beam.costs[place], beam.caps[place] = score, cost, cap
    beam.parents[place], beam.choices[place] = parent, b


@inner
def walk_down(sums: Sums, cell: Number, trial: Int) -> None:
    """Draw a leaf cell below a cell: one dimension after the other, along cells that are there."""
    grid, dims = sums.grid, len(sums.grid.sizes)
    place = home_of(grid, cell)
    offset = draw(sums, dims)
    for turn in range(dims):
        k = (turn + offset) % dims
        own = grid.keys[cell, k]
        first = grid.leaf_starts[grid.first_code[k] + own]
        choice = grid.leaf_starts[grid.first_code[k] + own + 1] - first
        begin = draw(sums, choice) if choice > 1 else 0
        trial[k] = own
        for step in range(choice):
            code = grid.leaf_codes[first + (begin + step) % choice]
            there = place + (code - own) * grid.strides[k]
            if grid.number[there] >= 0:
                trial[k], place = code, there
                break


@inner
def begin_beam(
    ledger: LedgerArrays, sums: Sums, cell: Number, sign: Number, amount: Number, limit: float
) -> None:
    """Choose leaf cells below a cell to start from: the cell itself if it is one."""
    grid, beam, drawn, toll = sums.grid, sums.beam, sums.drawn, sums.toll[0]
    tries = 1
    for k in range(len(grid.sizes)):
        if not grid.is_leaf[grid.first_code[k] + grid.keys[cell, k]]:
            tries = len(drawn)
    beam.scores[:], beam.caps[:] = np.inf, 0
    for number in range(tries):
        walk_down(sums, cell, drawn[number])
        size = corners_without(grid, cell, sign, drawn[number], sums.unset, -1)
        cost, cap = price(ledger, sums, size, 0, 1, 0.0, UNLIMITED, limit)
        if cap > 0:
            keep_best(beam, (cost + toll) / min(cap, amount), cost, cap, number, UNSET)
    for i in range(len(beam.caps)):
        if beam.caps[i] == 0:
            break
        for k in range(len(grid.sizes)):
            beam.a[i, k], beam.b[i, k] = drawn[beam.parents[i], k], UNSET


@inner
def copy_beam(sums: Sums) -> None:
    """Put the beam aside, to choose the next one from it."""
    beam, old = sums.beam, sums.old_beam
    for i in range(len(beam.caps)):
        old.costs[i], old.caps[i] = beam.costs[i], beam.caps[i]
        for k in range(len(sums.unset)):
            old.a[i, k], old.b[i, k] = beam.a[i, k], beam.b[i, k]
        beam.scores[i], beam.caps[i] = np.inf, 0


@inner
def find_paid(
    ledger: LedgerArrays, sums: Sums, cell: Number, sign: Number, amount: Number, limit: float
) -> bool:
    """Look for cubes through a cell that cost least per unit moved; the beam holds them, if there are any.

    A beam search: dimension by dimension the best of all extensions go on.
    """
    grid, toll, beam, old = sums.grid, sums.toll[0], sums.beam, sums.old_beam
    dims = len(grid.sizes)
    codes, signs = grid.codes[0], grid.codes[1]
    begin_beam(ledger, sums, cell, sign, amount, limit)
    offset = draw(sums, dims)
    worst = len(beam.scores) - 1
    for turn in range(dims):
        k = (turn + offset) % dims
        own = grid.keys[cell, k]
        copy_beam(sums)
        for state in range(len(old.caps)):
            if old.caps[state] == 0:
                break
            size = corners_without(grid, cell, sign, old.a[state], old.b[state], k)
            if size == 0:
                continue
            leaf, row = old.a[state, k], grid.rows[0]
            other: Number = UNSET
            fill_row(grid, sums.movable, k, size, row)
            while other != OUTSIDE:
                other = next_leaf(grid, k, row, max(other, OUTSIDE))
                if other == leaf:
                    continue
                length = usable_move(grid, k, own, leaf, other, row, codes, signs)
                if length == 0 or length * size > MAX_CUBE:
                    continue
                cost, cap = old.costs[state], old.caps[state]
                for j in range(length):
                    if codes[j] == own or codes[j] == leaf:
                        continue
                    cost, cap = price(
                        ledger, sums, size, codes[j] * grid.strides[k], signs[j], cost, cap, limit
                    )
                    if cap == 0 or (cost + toll) / min(cap, amount) >= beam.scores[worst]:
                        cap = 0
                        break
                if cap > 0:
                    keep_best(beam, (cost + toll) / min(cap, amount), cost, cap, state, other)
        for i in range(len(beam.caps)):
            if beam.caps[i] == 0:
                break
            for j in range(dims):
                beam.a[i, j], beam.b[i, j] = old.a[beam.parents[i], j], old.b[beam.parents[i], j]
            beam.b[i, k] = beam.choices[i]
    return bool(beam.caps[0] > 0)


@inner
def apply(sums: Sums, size: Number, step: Number, touched: Number) -> Number:
    """Add a multiple of the cube to the sum; return how many cells are touched then."""
    grid = sums.grid
    for i in range(size):
        corner = grid.number[grid.cube_places[i]]
        sums.moved[corner] += grid.cube_signs[i] * step
        if not sums.is_touched[corner]:
            sums.is_touched[corner] = True
            sums.touched[touched] = corner
            touched += 1
    return touched


@inner
def gather(
    ledger: LedgerArrays,
    sums: Sums,
    cell: Number,
    sign: Number,
    amount: Number,
    budget: float,
    nearly: float,
    beams: Number,
) -> tuple[Number, float]:
    """Add up cubes until a cell moves by the amount; return how many cells are touched, and the cost.

    Of each beam all cubes are taken that are nearly as good as the best. The cost is above the budget where
    so many beams or the budget do not suffice.
    """
    touched: Number = 0
    left, spent = amount, 0.0
    beam, toll = sums.beam, sums.toll[0]
    for _ in range(beams):
        if not find_paid(ledger, sums, cell, sign, left, budget - spent):
            break
        good = nearly * beam.scores[0]
        for i in range(len(beam.caps)):
            if beam.caps[i] == 0 or beam.scores[i] > good:
                break
            size = corners_without(sums.grid, cell, sign, beam.a[i], beam.b[i], -1)
            cost, cap = price(ledger, sums, size, 0, 1, 0.0, UNLIMITED, budget - spent)
            if cap == 0 or (i > 0 and (cost + toll) / min(cap, left) > good):
                continue
            if touched + size > len(sums.touched):
                return touched, np.inf
            touched = apply(sums, size, min(cap, left), touched)
            spent += cost
            left -= min(cap, left)
            if left == 0:
                return touched, spent
    return touched, np.inf


@inner
def conclude(ledger: LedgerArrays, sums: Sums, touched: Number, taken: bool, hiding: bool) -> Number:
    """Clear the sum away, and take it into the ledger if that is wanted; return how many demands it meets.

    Hiding, what it moves gets hidden.
    """
    moving = 0
    for i in range(touched):
        corner = sums.touched[i]
        if sums.moved[corner] != 0:
            sums.touched[moving], sums.sum_moves[moving] = corner, sums.moved[corner]
            moving += 1
        sums.moved[corner] = 0
        sums.is_touched[corner] = False
    if not taken:
        return 0
    return add(ledger, sums.touched[:moving], sums.sum_moves[:moving], 1, hiding)


@outer
def prove_sums(
    ledger: LedgerArrays,
    sums: Sums,
    cells: Int,
    up: Bool,
    start: Number,
    nearly: float,
    beams: Number,
    most: Number,
) -> Number:
    """Meet demands by sums of cubes of hidden cells, from number `start` on; see `prove_all` of cubes."""
    counts = sums.grid.counts
    for i in range(start, len(cells)):
        cell = cells[i]
        amount, sign = asked(ledger, cell, up[i]), 1 if up[i] else -1
        if not is_open(ledger, cell, up[i]) or amount > room_left(ledger, sums, cell, sign):
            continue
        if counts[WORK] > counts[MOST_WORK] or not has_room(ledger, 4, most):
            return i
        touched, spent = gather(ledger, sums, cell, sign, amount, 0.0, nearly, beams)
        conclude(ledger, sums, touched, spent < np.inf, False)
    return len(cells)
