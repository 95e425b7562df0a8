"""Loops over generalised cubes of hidden cells: moves along dimensions, bits of lines, depth-first search.

A cube is a product of one move per dimension; a move is given by a leaf a and a leaf b (or OUTSIDE): +1 on
the codes that cover a but not b, −1 on those that cover b but not a. Places are positions in the full table,
in row-major order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.deviations._ledger_jit import (
    HIDDEN,
    PUBLISHED,
    TRAIL,
    LedgerArrays,
    add,
    asked,
    has_room,
    is_open,
    roll_back,
)
from cellveil.jit.compiled import inner, outer
from cellveil.jit.kinds import Arrays, Bits, BitsTable, Bool, Int, Int32, Int32Table, IntTable, Number

OUTSIDE = -1
"""In place of the second leaf: the move is the whole chain from the first leaf to the total."""

UNSET = -2

UNLIMITED = 2**63 - 1

SYNCED, WORK, MOST_WORK = range(3)
"""Places in `Grid.counts`: how far the bits follow the trail, the work since the loop was called, and the
work after which it returns. A unit of work is a corner whose line is looked at under one code."""

MAX_CUBE = 2048
"""Cubes with more cells are not looked at."""

MAX_SUPPORT = 40
"""Most codes of a move that are looked at."""


@dataclass(frozen=True, eq=False)
class Grid(Arrays):
    """The full table and its dimensions, and room to work in.

    Codes of all dimensions are numbered through: code c of dimension k is ``first_code[k] + c``. Leaves are
    covered by ``cover_codes[cover_starts[leaf]:cover_starts[leaf + 1]]`` (ascending, within the dimension),
    codes consist of ``leaf_codes[leaf_starts[code]:leaf_starts[code + 1]]``. ``bits`` holds, dimension by
    dimension and line by line, which cells of the line are hidden.
    """

    sizes: Int
    strides: Int
    first_code: Int
    cover_starts: Int
    cover_codes: Int32
    leaf_starts: Int
    leaf_codes: Int32
    is_leaf: Bool
    keys: Int32Table
    number: Int32
    bits: Bits
    first_word: Int
    words: Int
    counts: Int
    room_up: Int
    room_down: Int
    cube_places: Int
    cube_signs: Int
    cube_cells: Int32
    cube_moves: Int
    stack: IntTable
    rows: BitsTable
    codes: IntTable


@inner
def line_start(grid: Grid, place: Number, axis: Number) -> Number:
    """Where the bits of the line through a place along an axis begin."""
    stride = grid.strides[axis]
    line = place // (stride * grid.sizes[axis]) * stride + place % stride
    start: Number = grid.first_word[axis] + line * grid.words[axis]
    return start


@inner
def home_of(grid: Grid, cell: Number) -> Number:
    """The place of a cell."""
    place = 0
    for axis in range(len(grid.sizes)):
        place += grid.keys[cell, axis] * grid.strides[axis]
    return place


@inner
def set_bits(grid: Grid, cell: Number, value: bool) -> None:
    """Note in all lines of a cell whether it is hidden."""
    place = home_of(grid, cell)
    for axis in range(len(grid.sizes)):
        code = grid.keys[cell, axis]
        word = line_start(grid, place, axis) + (code >> 6)
        bit = np.uint64(1) << np.uint64(code & 63)
        if value:
            grid.bits[word] |= bit
        else:
            grid.bits[word] &= ~bit


@outer
def sync(ledger: LedgerArrays, grid: Grid) -> None:
    """Bring the bits up to the end of the trail."""
    for place in range(grid.counts[SYNCED], ledger.counts[TRAIL]):
        kind = ledger.trail[place, 0]
        if kind in (HIDDEN, PUBLISHED):
            set_bits(grid, ledger.trail[place, 1], kind == HIDDEN)
    grid.counts[SYNCED] = ledger.counts[TRAIL]


@outer
def go_back(ledger: LedgerArrays, grid: Grid, trail: Number, witnesses: Number, cost: float) -> None:
    """Roll the ledger back, and the bits with it."""
    for place in range(grid.counts[SYNCED] - 1, trail - 1, -1):
        kind = ledger.trail[place, 0]
        if kind in (HIDDEN, PUBLISHED):
            set_bits(grid, ledger.trail[place, 1], kind == PUBLISHED)
    grid.counts[SYNCED] = trail
    roll_back(ledger, trail, witnesses, cost)


@inner
def move(grid: Grid, axis: Number, a: Number, b: Number, codes: Int, signs: Int) -> Number:
    """Write the codes and signs of a move; return how many there are, 0 if too many."""
    i = grid.cover_starts[grid.first_code[axis] + a]
    end_i = grid.cover_starts[grid.first_code[axis] + a + 1]
    j = end_j = 0
    if b != OUTSIDE:
        j = grid.cover_starts[grid.first_code[axis] + b]
        end_j = grid.cover_starts[grid.first_code[axis] + b + 1]
    found = 0
    while i < end_i or j < end_j:
        mine = grid.cover_codes[i] if i < end_i else grid.sizes[axis]
        theirs = grid.cover_codes[j] if j < end_j else grid.sizes[axis]
        if mine == theirs:
            i += 1
            j += 1
            continue
        if found == MAX_SUPPORT:
            return 0
        if mine < theirs:
            codes[found], signs[found] = mine, 1
            i += 1
        else:
            codes[found], signs[found] = theirs, -1
            j += 1
        found += 1
    return found


@inner
def next_leaf(grid: Grid, axis: Number, row: Bits, after: Number) -> Number:
    """The next leaf after a code whose bit is set; OUTSIDE if there is none."""
    code = after + 1
    while code < grid.sizes[axis]:
        rest = row[code >> 6] >> np.uint64(code & 63)
        if rest == 0:
            code = ((code >> 6) + 1) << 6
            continue
        while rest & np.uint64(1) == 0:
            rest >>= np.uint64(1)
            code += 1
        if grid.is_leaf[grid.first_code[axis] + code]:
            return code
        code += 1
    return OUTSIDE


@inner
def holds(row: Bits, code: Number) -> bool:
    """Whether the bit of a code is set."""
    return bool(row[code >> 6] >> np.uint64(code & 63) & np.uint64(1) == 1)


@inner
def axes_by_choice(grid: Grid, place: Number, order: Int) -> None:
    """Sort the dimensions: the one whose line through the place has the fewest hidden cells first."""
    dims = len(grid.sizes)
    chosen = np.zeros(dims, dtype=np.int64)
    for axis in range(dims):
        order[axis] = axis
        start = line_start(grid, place, axis)
        for word in range(grid.words[axis]):
            rest = grid.bits[start + word]
            while rest:
                rest &= rest - np.uint64(1)
                chosen[axis] += 1
    for i in range(1, dims):
        j = i
        while j > 0 and chosen[order[j]] < chosen[order[j - 1]]:
            order[j], order[j - 1] = order[j - 1], order[j]
            j -= 1


@inner
def fill_row(grid: Grid, bits: Bits, axis: Number, size: Number, row: Bits) -> None:
    """The codes of an axis under which the bits of all corners so far are set."""
    grid.counts[WORK] += size * grid.sizes[axis]
    for word in range(grid.words[axis]):
        row[word] = ~np.uint64(0)
    for i in range(size):
        start = line_start(grid, grid.cube_places[i], axis)
        for word in range(grid.words[axis]):
            row[word] &= bits[start + word]


@inner
def usable_move(
    grid: Grid, axis: Number, own: Number, a: Number, b: Number, row: Bits, codes: Int, signs: Int
) -> Number:
    """Write a move if all its codes are usable and it moves the cell's own code; return its length or 0."""
    length = move(grid, axis, a, b, codes, signs)
    has_own = False
    for i in range(length):
        has_own |= codes[i] == own and signs[i] > 0
        if not holds(row, codes[i]):
            return 0
    return length if has_own else 0


@inner
def extend(grid: Grid, axis: Number, own: Number, amount: Number, length: Number, size: Number) -> Number:
    """Put the corners so far under the other codes of a move too; return their number, 0 for want of room."""
    total, codes, signs = size, grid.codes[0], grid.codes[1]
    if length * size > MAX_CUBE:
        return 0
    for j in range(length):
        if codes[j] == own:
            continue
        shift = (codes[j] - own) * grid.strides[axis]
        for i in range(size):
            place, sign = grid.cube_places[i] + shift, grid.cube_signs[i] * signs[j]
            corner = grid.number[place]
            if (grid.room_up[corner] if sign > 0 else grid.room_down[corner]) < amount:
                return 0
            grid.cube_places[total], grid.cube_signs[total] = place, sign
            total += 1
    return total


@outer
def find_free(grid: Grid, cell: Number, sign: Number, amount: Number, work: Number) -> Number:
    """Look for a cube of hidden cells that moves a cell by the amount; return its size, 0 if none.

    Depth-first, dimension by dimension. The bits of all lines through the corners so far, taken together,
    say which codes of the next dimension can be used at all.
    """
    dims = len(grid.sizes)
    home = home_of(grid, cell)
    order, a_place, b_code = grid.stack[0], grid.stack[1], grid.stack[2]
    sizes = grid.stack[3]
    axes_by_choice(grid, home, order)
    grid.cube_places[0], grid.cube_signs[0], sizes[0] = home, sign, 1
    depth, entering = 0, True
    while True:
        axis = order[depth]
        row, own = grid.rows[depth], grid.keys[cell, axis]
        last = grid.leaf_starts[grid.first_code[axis] + own + 1]
        if entering:
            fill_row(grid, grid.bits, axis, sizes[depth], row)
            a_place[depth] = grid.leaf_starts[grid.first_code[axis] + own]
            b_code[depth], entering = UNSET, False
        # The next pair of leaves: b runs over the hidden ones, OUTSIDE last, then a goes on.
        found: Number = 0
        while found == 0 and a_place[depth] < last:
            a = grid.leaf_codes[a_place[depth]]
            if b_code[depth] == OUTSIDE or not holds(row, a):
                a_place[depth] += 1
                b_code[depth] = UNSET
                continue
            work -= 1
            if work < 0:
                return 0
            b_code[depth] = next_leaf(grid, axis, row, max(b_code[depth], OUTSIDE))
            if b_code[depth] != a:
                found = usable_move(grid, axis, own, a, b_code[depth], row, grid.codes[0], grid.codes[1])
            if found:
                found = extend(grid, axis, own, amount, found, sizes[depth])
        if found == 0:
            depth -= 1
            if depth < 0:
                return 0
        elif depth + 1 == dims:
            return found
        else:
            depth += 1
            sizes[depth], entering = found, True


@inner
def add_cube(ledger: LedgerArrays, grid: Grid, size: Number) -> Number:
    """Take the cube into the ledger, as far as it can be moved each way; return how many demands it meets."""
    forward = backward = UNLIMITED // 2
    for i in range(size):
        cell = grid.number[grid.cube_places[i]]
        grid.cube_cells[i] = cell
        rise, fall = grid.room_up[cell], grid.room_down[cell]
        if grid.cube_signs[i] > 0:
            forward, backward = min(forward, rise), min(backward, fall)
        else:
            forward, backward = min(forward, fall), min(backward, rise)
    met: Number = 0
    cells, moves = grid.cube_cells[:size], grid.cube_moves[:size]
    for turn in range(3):
        amount = min(forward, backward) if turn == 0 else forward if turn == 1 else -backward
        for i in range(size):
            moves[i] = grid.cube_signs[i] * amount
        met += add(ledger, cells, moves, 1, False)
    return met


@inner
def prove(ledger: LedgerArrays, grid: Grid, cell: Number, up: bool, work: Number) -> bool:
    """Meet a demand by a cube of hidden cells, if there is one."""
    size = find_free(grid, cell, 1 if up else -1, asked(ledger, cell, up), work)
    if size > 0:
        add_cube(ledger, grid, size)
    return not is_open(ledger, cell, up)


@outer
def prove_all(
    ledger: LedgerArrays, grid: Grid, cells: Int, up: Bool, start: Number, work: Number, most: Number
) -> Number:
    """Meet demands by single cubes, from number `start` on; return where it stopped.

    It stops where the ledger is full or the work is done that one call may do.

    `most` are the entries that one demand may need.
    """
    for i in range(start, len(cells)):
        cell = cells[i]
        room = grid.room_up[cell] if up[i] else grid.room_down[cell]
        if not is_open(ledger, cell, up[i]) or asked(ledger, cell, up[i]) > room:
            continue
        if grid.counts[WORK] > grid.counts[MOST_WORK] or not has_room(ledger, 4, most):
            return i
        prove(ledger, grid, cell, up[i], work)
    return len(cells)
