"""Exchanges in a covering program: one or two chosen columns for one or two others that are no dearer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.jit.compiled import inner, outer
from cellveil.jit.kinds import Arrays, Bits, Bool, Float, FloatTable, Int
from cellveil.jit.random_words import stirred
from cellveil.solvers.tolerances import EQUAL


@dataclass(frozen=True, eq=False)
class CoveringArrays(Arrays):
    """A covering program.

    Parameters
    ----------
    cost
        Of the columns, the cheapest first.
    coefs
        The rows Σ a x ≥ b, one line for each column; those that are soon broken are best put first.
    row_starts, rows, column_starts, columns
        Where they are not 0: starts and rows, by column; starts and columns, by row.
    """

    cost: Float
    coefs: FloatTable
    row_starts: Int
    rows: Int
    column_starts: Int
    columns: Int


@inner
def _drawn(state: Bits, among: int) -> int:
    """A random number below `among`."""
    state[0] = x = stirred(state[0])
    return int((x >> np.uint64(33)) % np.uint64(among))


@inner
def _num_below(cost: Float, bound: float, or_equal: bool) -> int:
    """How many of the sorted costs are below a bound, or equal to it."""
    low, high = 0, len(cost)
    while low < high:
        middle = (low + high) >> 1
        if cost[middle] < bound or (or_equal and cost[middle] == bound):
            low = middle + 1
        else:
            high = middle
    return low


@outer
def exchange(
    program: CoveringArrays, room: Float, chosen: Bool, span: float, steps: int, state: Bits
) -> None:
    """Try random exchanges, and make those that are no dearer and keep every row; `chosen` is changed.

    Parameters
    ----------
    room
        What each row has beyond b; changed with `chosen`.
    span
        The second column makes the exchange cheaper by no more than this.
    steps
        So many coefficients are looked at, and exchanges drawn, before it ends.
    state
        Of the random numbers.
    """
    cost, coefs = program.cost, program.coefs
    size, rows = coefs.shape
    inside, count = np.empty(size, dtype=np.int64), 0
    for i in range(size):
        if chosen[i]:
            inside[count] = i
            count += 1
    while steps > 0 and count > 0:
        steps -= 1
        place, other = _drawn(state, count), _drawn(state, 2 * count)
        out = inside[place]
        second_out = inside[other] if other < count and other != place else -1
        spare = cost[out] + (cost[second_out] if second_out >= 0 else 0.0)
        first, end = program.row_starts[out], program.row_starts[out + 1]
        if first == end:
            continue
        r = program.rows[first + _drawn(state, end - first)]
        first, end = program.column_starts[r], program.column_starts[r + 1]
        into = program.columns[first + _drawn(state, end - first)]
        if chosen[into] or cost[into] > spare:
            continue
        spare -= cost[into]
        second_into = -1
        if _drawn(state, 4) > 0:
            low = _num_below(cost, spare - span, False)
            high = _num_below(cost, spare, True)
            if high <= low:
                continue
            second_into = low + _drawn(state, high - low)
            if second_into == into or chosen[second_into]:
                continue
        r = 0
        while r < rows:
            left = room[r] - coefs[out, r] + coefs[into, r]
            if second_out >= 0:
                left -= coefs[second_out, r]
            if second_into >= 0:
                left += coefs[second_into, r]
            if left < -EQUAL:
                break
            r += 1
        steps -= r
        if r < rows:
            continue
        for r in range(rows):
            room[r] += coefs[into, r] - coefs[out, r]
            if second_out >= 0:
                room[r] -= coefs[second_out, r]
            if second_into >= 0:
                room[r] += coefs[second_into, r]
        chosen[out], chosen[into] = False, True
        if second_out >= 0:
            chosen[second_out] = False
        if second_into >= 0:
            chosen[second_into] = True
        count = 0
        for i in range(size):
            if chosen[i]:
                inside[count] = i
                count += 1
