"""Exchanges in a covering program: one or two chosen columns for one or two others that are no dearer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cellveil.kernels.compiled import inner, outer
from cellveil.kernels.random import stirred

Float = NDArray[np.float64]
Int = NDArray[np.int64]
Bool = NDArray[np.bool_]


@inner
def _drawn(state: NDArray[np.uint64], among: int) -> np.int64:
    """A random number below `among`."""
    state[0] = x = stirred(state[0])
    return np.int64((x >> np.uint64(33)) % np.uint64(among))


@outer
def exchange(
    cost: Float, coefs: Float, rows_of: tuple[Int, Int], columns_of: tuple[Int, Int], room: Float,
    chosen: Bool, span: float, steps: int, state: NDArray[np.uint64],
) -> None:  # fmt: skip
    """Try random exchanges, and make those that are no dearer and keep every row; `chosen` is changed.

    Parameters
    ----------
    cost
        Of the columns, the cheapest first.
    coefs
        The rows Σ a x ≥ b, one line for each column; those that are soon broken are best put first.
    rows_of, columns_of
        Where they are not 0: starts and rows, by column; starts and columns, by row.
    room
        What each row has beyond b; changed with `chosen`.
    span
        The second column makes the exchange cheaper by no more than this.
    steps
        So many coefficients are looked at, and exchanges drawn, before it ends.
    state
        Of the random numbers.
    """
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
        first, end = rows_of[0][out], rows_of[0][out + 1]
        if first == end:
            continue
        r = rows_of[1][first + _drawn(state, end - first)]
        first, end = columns_of[0][r], columns_of[0][r + 1]
        into = columns_of[1][first + _drawn(state, end - first)]
        if chosen[into] or cost[into] > spare:
            continue
        spare -= cost[into]
        second_into = -1
        if _drawn(state, 4) > 0:
            low = np.searchsorted(cost, spare - span)
            high = np.searchsorted(cost, spare, side="right")
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
            if left < -1e-9:
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
