"""Exchanges in a covering program: one or two chosen columns for one or two others that cost no more together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cellveil.kernels.compiled import inner, outer

Float = NDArray[np.float64]
Int = NDArray[np.int64]
Bool = NDArray[np.bool_]


@inner
def _drawn(state: NDArray[np.uint64], among: int) -> int:
    """A random number below `among`."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    return np.int64((x >> np.uint64(33)) % np.uint64(among))


@outer
def exchange(
    cost: Float, by_column: tuple[Int, Int, Float], by_row: tuple[Int, Int], room: Float, chosen: Bool,
    ranked: Int, price: Float, span: float, turns: int, state: NDArray[np.uint64],
) -> int:  # fmt: skip
    """Try so many random exchanges, and make those that are no dearer and keep every row; `chosen` is changed.

    Parameters
    ----------
    by_column, by_row
        The rows Σ a x ≥ b both ways: starts, rows and coefficients; starts and columns.
    room
        What each row has beyond b; changed with `chosen`.
    ranked, price
        Columns that may be exchanged, the cheapest first, and their costs.
    span
        The second column makes the exchange cheaper by no more than this.
    state
        Of the random numbers.

    Returns
    -------
    How many exchanges were made.
    """
    starts, rows, coefs = by_column
    row_starts, columns = by_row
    is_free = np.zeros(len(cost), dtype=np.bool_)
    for i in range(len(ranked)):
        is_free[ranked[i]] = True
    inside = np.empty(len(ranked), dtype=np.int64)
    count = 0
    for i in range(len(ranked)):
        if chosen[ranked[i]]:
            inside[count] = ranked[i]
            count += 1
    change = np.zeros(len(room))
    moved = np.empty(4, dtype=np.int64)
    made = 0
    for _ in range(turns):
        if count == 0:
            break
        place = _drawn(state, count)
        out = inside[place]
        if starts[out] == starts[out + 1]:
            continue
        moved[0], moving = out, 1
        other = _drawn(state, 2 * count)
        if other < count and other != place:
            moved[1], moving = inside[other], 2
        leaving = moving
        spare = 0.0
        for i in range(leaving):
            spare += cost[moved[i]]
        row = rows[starts[out] + _drawn(state, starts[out + 1] - starts[out])]
        into = columns[row_starts[row] + _drawn(state, row_starts[row + 1] - row_starts[row])]
        if chosen[into] or not is_free[into] or cost[into] > spare:
            continue
        moved[moving] = into
        moving += 1
        spare -= cost[into]
        if _drawn(state, 3) > 0:
            low = np.searchsorted(price, spare - span)
            high = np.searchsorted(price, spare, side="right")
            if high <= low:
                continue
            second = ranked[low + _drawn(state, high - low)]
            if second == into or chosen[second]:
                continue
            moved[moving] = second
            moving += 1
        for i in range(moving):
            sign = -1.0 if i < leaving else 1.0
            for e in range(starts[moved[i]], starts[moved[i] + 1]):
                change[rows[e]] += sign * coefs[e]
        keeps = True
        for i in range(leaving):
            for e in range(starts[moved[i]], starts[moved[i] + 1]):
                if room[rows[e]] + change[rows[e]] < -1e-9:
                    keeps = False
                    break
        for i in range(moving):
            for e in range(starts[moved[i]], starts[moved[i] + 1]):
                if keeps:
                    room[rows[e]] += change[rows[e]]
                change[rows[e]] = 0.0
        if not keeps:
            continue
        made += 1
        for i in range(leaving):
            chosen[moved[i]] = False
        for i in range(leaving, moving):
            chosen[moved[i]] = True
        count = 0
        for i in range(len(ranked)):
            if chosen[ranked[i]]:
                inside[count] = ranked[i]
                count += 1
    return made
