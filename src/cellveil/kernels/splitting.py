"""The two halves of a splitting step, over places × deviations (the deviations of a place side by side).

Loops over all places take the first and the last of the part they are to do, and give up the interpreter's
lock meanwhile.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Float = NDArray[np.float64]
Int = NDArray[np.int64]


@njit(cache=True, nogil=True)
def shrink(
    z: Float, u: Float, cost: Float, low: Float, high: Float, step: float, relax: float, x: Float, v: Float,
    first: int, last: int,
) -> None:  # fmt: skip
    """Move each place to the best point near z − u for its cost, within its bounds; v is what to project.

    x = argmin cost · ‖x_j‖ + ‖x_j − (z_j − u_j)‖² / (2 step), then cut to [low, high], for the deviations of
    place j together: a place is paid once, by the norm over all deviations. v = relax·x + (1 − relax)·z + u.
    """
    columns = z.shape[1]
    for j in range(first, last):
        share = 1.0
        if cost[j] > 0.0:
            square = 0.0
            for k in range(columns):
                square += (z[j, k] - u[j, k]) ** 2
            length, threshold = np.sqrt(square), step * cost[j]
            share = 0.0 if length <= threshold else 1.0 - threshold / length
        for k in range(columns):
            w = min(max((z[j, k] - u[j, k]) * share, low[j, k]), high[j, k])
            x[j, k] = w
            v[j, k] = relax * w + (1.0 - relax) * z[j, k] + u[j, k]


@njit(cache=True)
def lean(
    z: Float, u: Float, low: Float, high: Float, step: float, relax: float, x: Float, v: Float,
    place: Int, column: Int, goal: Float, reward: Float,
) -> None:  # fmt: skip
    """After `shrink`: pull the places that have a goal towards it, for a reward · max(0, 1 − x / goal)."""
    for i in range(len(place)):
        j, k = place[i], column[i]
        w = z[j, k] - u[j, k]
        pull = step * reward[i] / abs(goal[i])
        if goal[i] > 0.0:
            w = w + pull if w + pull < goal[i] else max(w, goal[i])
        else:
            w = w - pull if w - pull > goal[i] else min(w, goal[i])
        w = min(max(w, low[j, k]), high[j, k])
        x[j, k] = w
        v[j, k] = relax * w + (1.0 - relax) * z[j, k] + u[j, k]


@njit(cache=True, nogil=True)
def centre(y: Float, normal: Float, rows: tuple[int, int], columns: tuple[int, int]) -> None:
    """Take away, along the middle axis of y, the part in the direction of the unit vector `normal`.

    `rows` and `columns` say from where to where on the first and the last axis.
    """
    length = y.shape[1]
    begin, end = columns
    part = np.empty(end - begin)
    for i in range(rows[0], rows[1]):
        part[:] = 0.0
        for s in range(length):
            for a in range(end - begin):
                part[a] += normal[s] * y[i, s, begin + a]
        for s in range(length):
            for a in range(end - begin):
                y[i, s, begin + a] -= normal[s] * part[a]
