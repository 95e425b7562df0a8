"""Loops of cube packing: which sums of cubes to hide for a demand; ruin and recreate.

See `cellveil.deviations._cubes_jit` for what a cube is, `_cube_sums_jit` for how the cheapest are found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.deviations._cube_sums_jit import (
    Sums,
    apply,
    conclude,
    corners_without,
    find_paid,
    gather,
)
from cellveil.deviations._cubes_jit import MOST_WORK, UNSET, WORK, go_back, prove, sync
from cellveil.deviations._ledger_jit import (
    TRAIL,
    UP,
    WITNESSES,
    LedgerArrays,
    asked,
    has_room,
    is_open,
    publish,
)
from cellveil.jit.compiled import inner, outer
from cellveil.jit.kinds import Arrays, Bool, Float, Int, Number

TUNING = ("nearly", "hardly", "cheaper")
NEARLY, HARDLY, CHEAPER = range(3)
"""Parameters that loops use, and their places in `Policy.tuning`."""

LIMITS = ("repairs", "free_moves")
REPAIRS, FREE_MOVES, BEAMS, NEEDED = range(4)
"""Those that are counts, beam searches for one sum, entries of the ledger that one demand may need: places in
`Policy.limits`."""


@dataclass(frozen=True, eq=False)
class Policy(Arrays):
    """The sum of cubes in the making, and what decides about it."""

    sums: Sums
    tuning: Float
    limits: Int


@inner
def refine(ledger: LedgerArrays, policy: Policy, cell: Number, touched: Number, spent: float) -> Number:
    """Put newly hidden cells of a sum back to where they were, by one more cube that costs less than they do.

    Cells that hardly count are left alone. Return how many cells are touched then.
    """
    sums, first = policy.sums, 0
    beam, sums.barred[cell] = sums.beam, True
    while first < touched:
        other = sums.touched[first]
        first += 1
        moved, weight = sums.moved[other], ledger.weight[other]
        if other == cell or moved == 0 or ledger.hidden[other] or weight < policy.tuning[HARDLY] * spent:
            continue
        sign = -1 if moved > 0 else 1
        limit = weight * policy.tuning[CHEAPER]
        if not find_paid(ledger, sums, other, sign, abs(moved), limit) or beam.caps[0] < abs(moved):
            continue
        size = corners_without(sums.grid, other, sign, beam.a[0], beam.b[0], -1)
        if touched + size <= len(sums.touched):
            touched = apply(sums, size, abs(moved), touched)
    sums.barred[cell] = False
    return touched


@inner
def pack(
    ledger: LedgerArrays, policy: Policy, cell: Number, sign: Number, amount: Number, budget: float
) -> Number:
    """Move a cell by a sum of cubes, and hide what moves; return how many demands are met.

    Nothing is changed where the beams or the budget do not suffice.
    """
    nearly, beams = policy.tuning[NEARLY], policy.limits[BEAMS]
    touched, spent = gather(ledger, policy.sums, cell, sign, amount, budget, nearly, beams)
    if 0.0 < spent < np.inf:
        touched = refine(ledger, policy, cell, touched, spent)
    return conclude(ledger, policy.sums, touched, spent < np.inf and spent <= budget, True)


@inner
def repair(
    ledger: LedgerArrays, policy: Policy, cell: Number, number: Number, target: Number, limit: float
) -> Number:
    """Do without a cell in a witness: add cubes until it rests; return how many demands are met then."""
    sums = policy.sums
    begin, touched = ledger.starts[number], ledger.starts[number + 1] - ledger.starts[number]
    if ledger.denominators[number] != 1 or touched > len(sums.touched):
        return 0
    for i in range(touched):
        corner = ledger.cells[begin + i]
        sums.touched[i], sums.is_touched[corner] = corner, True
        sums.moved[corner] = ledger.numerators[begin + i]
    sums.barred[cell], sums.barred[target] = False, True
    beam = sums.beam
    for _ in range(policy.limits[REPAIRS]):
        moved = sums.moved[cell]
        sign = -1 if moved > 0 else 1
        if moved == 0 or not find_paid(ledger, sums, cell, sign, abs(moved), limit):
            break
        size = corners_without(sums.grid, cell, sign, beam.a[0], beam.b[0], -1)
        if touched + size > len(sums.touched):
            break
        touched = apply(sums, size, min(beam.caps[0], abs(moved)), touched)
        limit -= beam.costs[0]
    sums.barred[cell], sums.barred[target] = True, False
    return conclude(ledger, sums, touched, sums.moved[cell] == 0, True)


@inner
def ruin(ledger: LedgerArrays, cell: Number) -> Number:
    """Publish a cell, and what no witness needs any more then; return how many demands are open again."""
    first = ledger.counts[TRAIL] + 1
    count = publish(ledger, cell)
    for place in range(first, first + count):
        number = ledger.trail[place, 2]
        if place > first and ledger.trail[place - 1, 2] == number:
            continue
        for entry in range(ledger.starts[number], ledger.starts[number + 1]):
            other = ledger.cells[entry]
            if ledger.hidden[other] and not ledger.is_free[other] and not is_used(ledger, other):
                publish(ledger, other)
    return count


@inner
def is_used(ledger: LedgerArrays, cell: Number) -> bool:
    """Whether a witness that meets a demand moves the cell."""
    entry = ledger.head[cell]
    while entry >= 0 and ledger.meets[ledger.owner[entry]] == 0:
        entry = ledger.following[entry]
    return bool(entry >= 0)


@inner
def meet(
    ledger: LedgerArrays,
    policy: Policy,
    cell: Number,
    up: bool,
    ruined: Number,
    old: Number,
    cost: float,
) -> bool:
    """Meet a demand by one free cube, else by a sum of cubes; return whether it is met.

    Where a cell was ruined, the witness `old` may be repaired, and no more is spent than down to `cost`.
    """
    amount, budget = asked(ledger, cell, up), np.inf
    if amount > (ledger.room_up[cell] if up else ledger.room_down[cell]):
        return False
    if prove(ledger, policy.sums.grid, cell, up, policy.limits[FREE_MOVES]):
        return True
    if policy.limits[BEAMS] == 0:
        return False
    if ruined >= 0:
        budget = cost - ledger.cost[0]
        repair(ledger, policy, ruined, old, cell, budget)
    if is_open(ledger, cell, up):
        pack(ledger, policy, cell, 1 if up else -1, amount, budget)
    sync(ledger, policy.sums.grid)
    return not is_open(ledger, cell, up)


@outer
def serve(
    ledger: LedgerArrays,
    policy: Policy,
    cells: Int,
    up: Bool,
    start: Number,
    ruining: bool,
) -> Number:
    """Meet demands, from number `start` on; return where it stopped.

    It stops where the ledger needs more room or the work is done that one call may do.

    A demand is met by one free cube, else by a sum of cubes. Ruining, the cells are
    secondaries: each is published, and the demands which that opens are served, the old witnesses repaired if
    possible; all of it is undone unless they are met and the pattern got no dearer.
    """
    sums, grid, needed = policy.sums, policy.sums.grid, policy.limits[NEEDED]
    for i in range(start, len(cells)):
        if grid.counts[WORK] > grid.counts[MOST_WORK]:
            return i
        trail, witnesses, cost = ledger.counts[TRAIL], ledger.counts[WITNESSES], ledger.cost[0]
        cell = cells[i]
        count: Number = 1
        if ruining:
            if not ledger.hidden[cell] or ledger.is_free[cell]:
                continue
            if trail + 12 * needed > len(ledger.trail):
                return i
            count = ruin(ledger, cell)
            sync(ledger, grid)
            sums.barred[cell] = True
        fine, short = True, False
        for j in range(count, 0, -1):  # what the oldest witness met comes first: it is mostly the largest
            asking, rises, ruined, old = cell, up[i], UNSET, UNSET
            if ruining:
                asking, rises = ledger.trail[trail + j, 1], ledger.trail[trail + j, 0] == UP
                ruined, old = cell, ledger.trail[trail + j, 2]
            if not is_open(ledger, asking, rises):
                continue
            short = not has_room(ledger, 4, needed)
            fine = not short and meet(ledger, policy, asking, rises, ruined, old, cost)
            if not fine:
                break
        sums.barred[cell] = False
        if ruining and not (fine and ledger.cost[0] <= cost):
            go_back(ledger, grid, trail, witnesses, cost)
        if short:
            return i
    return len(cells)
