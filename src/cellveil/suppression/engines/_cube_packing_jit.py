"""Loops of cube packing: sums of cubes by beam search, ruin and recreate.

See `cellveil.deviations._cubes_jit` for what a cube is.
"""

from __future__ import annotations

import numpy as np

from cellveil.deviations._cubes_jit import (
    CHEAPER,
    HARDLY,
    MAX_CUBE,
    NEARLY,
    OUTSIDE,
    REPAIRS,
    TOLL,
    UNLIMITED,
    UNSET,
    Beam,
    Grid,
    add_cube,
    draw,
    fill_row,
    find_free,
    go_back,
    home_of,
    move,
    next_leaf,
    sync,
    usable_move,
)
from cellveil.deviations._ledger_jit import (
    ENTRIES,
    TRAIL,
    WITNESSES,
    BookArrays,
    add,
    is_open,
    num_met,
    num_users,
    publish,
    users,
)
from cellveil.jit.compiled import inner, outer
from cellveil.jit.kinds import Bool, Int, Number


@inner
def room_left(book: BookArrays, grid: Grid, cell: Number, sign: Number) -> Number:
    """How far a cell can still move beyond what was packed so far."""
    if sign > 0:
        return UNLIMITED if book.room_up[cell] == UNLIMITED else book.room_up[cell] - grid.moved[cell]
    return UNLIMITED if book.room_down[cell] == UNLIMITED else book.room_down[cell] + grid.moved[cell]


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
    book: BookArrays,
    grid: Grid,
    size: Number,
    shift: Number,
    turn: Number,
    cost: float,
    cap: Number,
    limit: float,
) -> tuple[float, Number]:
    """Add the corners, shifted, to cost and room; room 0 where one cannot move or it gets too dear."""
    for i in range(size):
        corner = grid.number[grid.cube_places[i] + shift]
        if corner < 0 or grid.barred[corner] or not book.movable[corner]:
            return cost, 0
        if not book.hidden[corner] and grid.moved[corner] == 0:
            cost += book.weight[corner]
        cap = min(cap, room_left(book, grid, corner, grid.cube_signs[i] * turn))
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
def walk_down(grid: Grid, cell: Number, trial: Int) -> None:
    """Draw a leaf cell below a cell: one dimension after the other, along cells that are there."""
    dims = len(grid.sizes)
    place = home_of(grid, cell)
    offset = draw(grid, dims)
    for turn in range(dims):
        k = (turn + offset) % dims
        own = grid.keys[cell, k]
        first = grid.leaf_starts[grid.first_code[k] + own]
        choice = grid.leaf_starts[grid.first_code[k] + own + 1] - first
        begin = draw(grid, choice) if choice > 1 else 0
        trial[k] = own
        for step in range(choice):
            code = grid.leaf_codes[first + (begin + step) % choice]
            there = place + (code - own) * grid.strides[k]
            if grid.number[there] >= 0:
                trial[k], place = code, there
                break


@inner
def begin_beam(
    book: BookArrays, grid: Grid, cell: Number, sign: Number, amount: Number, limit: float
) -> None:
    """Choose leaf cells below a cell to start from: the cell itself if it is one."""
    beam, drawn = grid.beam, grid.drawn
    tries = 1
    for k in range(len(grid.sizes)):
        if not grid.is_leaf[grid.first_code[k] + grid.keys[cell, k]]:
            tries = len(drawn)
    beam.scores[:], beam.caps[:] = np.inf, 0
    for number in range(tries):
        walk_down(grid, cell, drawn[number])
        size = corners_without(grid, cell, sign, drawn[number], grid.unset, -1)
        cost, cap = price(book, grid, size, 0, 1, 0.0, UNLIMITED, limit)
        if cap > 0:
            keep_best(beam, (cost + grid.tuning[TOLL]) / min(cap, amount), cost, cap, number, UNSET)
    for i in range(len(beam.caps)):
        if beam.caps[i] == 0:
            break
        for k in range(len(grid.sizes)):
            beam.a[i, k], beam.b[i, k] = drawn[beam.parents[i], k], UNSET


@inner
def copy_beam(grid: Grid) -> None:
    """Put the beam aside, to choose the next one from it."""
    beam, old = grid.beam, grid.old_beam
    for i in range(len(beam.caps)):
        old.costs[i], old.caps[i] = beam.costs[i], beam.caps[i]
        for k in range(len(grid.sizes)):
            old.a[i, k], old.b[i, k] = beam.a[i, k], beam.b[i, k]
        beam.scores[i], beam.caps[i] = np.inf, 0


@inner
def find_paid(book: BookArrays, grid: Grid, cell: Number, sign: Number, amount: Number, limit: float) -> bool:
    """Look for cubes through a cell that cost least per unit moved; the beam holds them, if there are any.

    A beam search: dimension by dimension the best of all extensions go on.
    """
    dims, toll, beam, old = len(grid.sizes), grid.tuning[TOLL], grid.beam, grid.old_beam
    codes, signs = grid.codes[0], grid.codes[1]
    begin_beam(book, grid, cell, sign, amount, limit)
    offset = draw(grid, dims)
    worst = len(beam.scores) - 1
    for turn in range(dims):
        k = (turn + offset) % dims
        own = grid.keys[cell, k]
        copy_beam(grid)
        for state in range(len(old.caps)):
            if old.caps[state] == 0:
                break
            size = corners_without(grid, cell, sign, old.a[state], old.b[state], k)
            if size == 0:
                continue
            leaf, row = old.a[state, k], grid.rows[0]
            other: Number = UNSET
            fill_row(grid, grid.movable, k, size, row)
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
                        book, grid, size, codes[j] * grid.strides[k], signs[j], cost, cap, limit
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
def apply(grid: Grid, size: Number, step: Number, touched: Number) -> Number:
    """Add a multiple of the cube to the sum; return how many cells are touched then."""
    for i in range(size):
        corner = grid.number[grid.cube_places[i]]
        grid.moved[corner] += grid.cube_signs[i] * step
        if not grid.is_touched[corner]:
            grid.is_touched[corner] = True
            grid.touched[touched] = corner
            touched += 1
    return touched


@inner
def gather(
    book: BookArrays, grid: Grid, cell: Number, sign: Number, amount: Number, budget: float, most: Number
) -> tuple[Number, float]:
    """Add up cubes until a cell moves by the amount; return how many cells are touched, and the cost.

    Of each beam all cubes are taken that are nearly as good as the best. The cost is above the budget where
    `most` beams or the budget do not suffice.
    """
    touched: Number = 0
    left, spent, beam, toll = amount, 0.0, grid.beam, grid.tuning[TOLL]
    for _ in range(most):
        if not find_paid(book, grid, cell, sign, left, budget - spent):
            break
        good = grid.tuning[NEARLY] * beam.scores[0]
        for i in range(len(beam.caps)):
            if beam.caps[i] == 0 or beam.scores[i] > good:
                break
            size = corners_without(grid, cell, sign, beam.a[i], beam.b[i], -1)
            cost, cap = price(book, grid, size, 0, 1, 0.0, UNLIMITED, budget - spent)
            if cap == 0 or (i > 0 and (cost + toll) / min(cap, left) > good):
                continue
            if touched + size > len(grid.touched):
                return touched, np.inf
            touched = apply(grid, size, min(cap, left), touched)
            spent += cost
            left -= min(cap, left)
            if left == 0:
                return touched, spent
    return touched, np.inf


@inner
def refine(book: BookArrays, grid: Grid, cell: Number, touched: Number, spent: float) -> Number:
    """Put newly hidden cells of a sum back to where they were, by one more cube that costs less than they do.

    Cells that hardly count are left alone. Return how many cells are touched then.
    """
    grid.barred[cell] = True
    first, beam = 0, grid.beam
    while first < touched:
        other = grid.touched[first]
        first += 1
        moved, weight = grid.moved[other], book.weight[other]
        if other == cell or moved == 0 or book.hidden[other] or weight < grid.tuning[HARDLY] * spent:
            continue
        sign = -1 if moved > 0 else 1
        if not find_paid(book, grid, other, sign, abs(moved), weight * grid.tuning[CHEAPER]) or beam.caps[
            0
        ] < abs(moved):
            continue
        size = corners_without(grid, other, sign, beam.a[0], beam.b[0], -1)
        if touched + size <= len(grid.touched):
            touched = apply(grid, size, abs(moved), touched)
    grid.barred[cell] = False
    return touched


@inner
def pack(
    book: BookArrays, grid: Grid, cell: Number, sign: Number, amount: Number, budget: float, most: Number
) -> Number:
    """Move a cell by a sum of cubes, and hide what moves; return how many demands are met.

    Nothing is changed where `most` beams or the budget do not suffice.
    """
    touched, spent = gather(book, grid, cell, sign, amount, budget, most)
    if 0.0 < spent < np.inf:
        touched = refine(book, grid, cell, touched, spent)
    return conclude(book, grid, touched, spent < np.inf and spent <= budget)


@inner
def conclude(book: BookArrays, grid: Grid, touched: Number, taken: bool) -> Number:
    """Clear the sum away, and take it into the book if that is wanted; return how many demands it meets."""
    moving = 0
    for i in range(touched):
        corner = grid.touched[i]
        if grid.moved[corner] != 0:
            grid.touched[moving], grid.sum_moves[moving] = corner, grid.moved[corner]
            moving += 1
        grid.moved[corner] = 0
        grid.is_touched[corner] = False
    if not taken:
        return 0
    return add(book, grid.touched[:moving], grid.sum_moves[:moving], 1, True)


@inner
def repair(
    book: BookArrays, grid: Grid, cell: Number, number: Number, target: Number, limit: float
) -> Number:
    """Do without a cell in a witness: add cubes until it rests; return how many demands are met then."""
    begin, touched = book.starts[number], book.starts[number + 1] - book.starts[number]
    if book.denominators[number] != 1 or touched > len(grid.touched):
        return 0
    for i in range(touched):
        corner = book.cells[begin + i]
        grid.touched[i], grid.moved[corner], grid.is_touched[corner] = (
            corner,
            book.numerators[begin + i],
            True,
        )
    grid.barred[cell], grid.barred[target] = False, True
    beam = grid.beam
    for _ in range(int(grid.tuning[REPAIRS])):
        moved = grid.moved[cell]
        sign = -1 if moved > 0 else 1
        if moved == 0 or not find_paid(book, grid, cell, sign, abs(moved), limit):
            break
        size = corners_without(grid, cell, sign, beam.a[0], beam.b[0], -1)
        if touched + size > len(grid.touched):
            break
        touched = apply(grid, size, min(beam.caps[0], abs(moved)), touched)
        limit -= beam.costs[0]
    grid.barred[cell], grid.barred[target] = True, False
    return conclude(book, grid, touched, grid.moved[cell] == 0)


@inner
def ruin(book: BookArrays, cell: Number, using: Int, opened: Int, ways: Bool, old: Int) -> None:
    """Publish a cell, and what no witness needs any more then; write what is open again, and who met it.

    What was met by the oldest witness comes first: it is mostly the largest.
    """
    first = book.counts[TRAIL] + 1
    count = publish(book, cell, using, opened, ways)
    for i in range(count):
        old[count - 1 - i] = book.trail[first + i, 2]
    for i in range(count // 2):
        j = count - 1 - i
        opened[i], opened[j] = opened[j], opened[i]
        ways[i], ways[j] = ways[j], ways[i]
    for number in using:
        for entry in range(book.starts[number], book.starts[number + 1]):
            other = book.cells[entry]
            if book.hidden[other] and not book.is_free[other] and not is_used(book, other):
                publish(book, other, using[:0], opened[:0], ways[:0])


@inner
def prove(book: BookArrays, grid: Grid, cell: Number, up: bool, work: Number) -> bool:
    """Meet a demand by a cube of hidden cells, if there is one."""
    size = find_free(book, grid, cell, 1 if up else -1, asked(book, cell, up), work)
    if size > 0:
        add_cube(book, grid, size)
    return not is_open(book, cell, up)


@inner
def is_used(book: BookArrays, cell: Number) -> bool:
    """Whether a witness that meets a demand moves the cell."""
    entry = book.head[cell]
    while entry >= 0 and book.meets[book.owner[entry]] == 0:
        entry = book.following[entry]
    return bool(entry >= 0)


@inner
def asked(book: BookArrays, cell: Number, up: bool) -> Number:
    """How far a cell must be able to move."""
    amount: Number = book.need_up[cell] if up else book.need_down[cell]
    return amount


@inner
def meet(
    book: BookArrays,
    grid: Grid,
    cell: Number,
    up: bool,
    work: Number,
    most: Number,
    ruined: Number,
    old: Number,
    cost: float,
) -> bool:
    """Meet a demand by one free cube, else by a sum of cubes; return whether it is met.

    Where a cell was ruined, the witness `old` may be repaired, and no more is spent than down to `cost`.
    """
    amount, budget = asked(book, cell, up), np.inf
    if amount > (book.room_up if up else book.room_down)[cell]:
        return False
    if prove(book, grid, cell, up, work):
        return True
    if most == 0:
        return False
    if ruined >= 0:
        budget = cost - book.cost[0]
        repair(book, grid, ruined, old, cell, budget)
    if is_open(book, cell, up):
        pack(book, grid, cell, 1 if up else -1, amount, budget, most)
    sync(book, grid)
    return not is_open(book, cell, up)


@outer
def serve(
    book: BookArrays,
    grid: Grid,
    cells: Int,
    up: Bool,
    start: Number,
    work: Number,
    most: Number,
    ruining: bool,
    room: Int,
) -> Number:
    """Meet demands, from number `start` on; stop where the book needs more room, and say where.

    A demand is met by one free cube, else by a sum from up to `most` beams. Ruining, the cells are
    secondaries: each is published, and the demands which that opens are served, the old witnesses repaired if
    possible; all of it is undone unless they are met and the pattern got no dearer. `room` are the witnesses,
    entries and changes that must be free always.
    """
    here, upwards = np.empty(1, dtype=np.int64), np.empty(1, dtype=np.bool_)
    for i in range(start, len(cells)):
        trail, witnesses, cost = book.counts[TRAIL], book.counts[WITNESSES], book.cost[0]
        cell = cells[i]
        here[0], upwards[0] = cell, up[i]
        opened, ways, old = here, upwards, here
        if ruining:
            if not book.hidden[cell] or book.is_free[cell]:
                continue
            if trail + 4 * room[2] > len(book.trail):
                return i
            using = np.empty(num_users(book, cell), dtype=np.int64)
            users(book, cell, using)
            met = num_met(book, using)
            opened, ways = np.empty(met, dtype=np.int64), np.empty(met, dtype=np.bool_)
            old = np.empty(met, dtype=np.int64)
            ruin(book, cell, using, opened, ways, old)
            sync(book, grid)
            grid.barred[cell] = True
        fine, short = True, False
        for j in range(len(opened)):
            if not is_open(book, opened[j], ways[j]):
                continue
            short = (
                book.counts[WITNESSES] + room[0] > len(book.denominators)
                or book.counts[ENTRIES] + room[1] > len(book.cells)
                or book.counts[TRAIL] + room[2] > len(book.trail)
            )
            fine = not short and meet(
                book, grid, opened[j], ways[j], work, most, cell if ruining else -1, old[j], cost
            )
            if not fine:
                break
        grid.barred[cell] = False
        if ruining and not (fine and book.cost[0] <= cost):
            go_back(book, grid, trail, witnesses, cost)
        if short:
            return i
    return len(cells)
