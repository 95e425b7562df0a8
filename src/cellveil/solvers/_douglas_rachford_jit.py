"""The two halves of a splitting step, over places × deviations (the deviations of a place side by side).

Loops over all places take the first and the last of the part they are to do, so that threads can share them.
"""

from __future__ import annotations

import numpy as np

from cellveil.jit.compiled import outer
from cellveil.jit.kinds import Float, FloatCube, FloatTable, Int


@outer
def shrink(
    z: FloatTable, u: FloatTable, cost: Float, low: FloatTable, high: FloatTable, step: float, relax: float,
    x: FloatTable, v: FloatTable, first: int, last: int,
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


@outer
def lean(
    z: FloatTable, u: FloatTable, low: FloatTable, high: FloatTable, step: float, relax: float,
    x: FloatTable, v: FloatTable,
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


@outer
def centre(y: FloatCube, normal: Float, first: int, last: int, begin: int, end: int) -> None:
    """Take away, along the middle axis of y, the part in the direction of the unit vector `normal`.

    From `first` to `last` on the first axis, and from `begin` to `end` on the last one.
    """
    length = y.shape[1]
    part = np.empty(end - begin)
    for i in range(first, last):
        part[:] = 0.0
        for s in range(length):
            for a in range(end - begin):
                part[a] += normal[s] * y[i, s, begin + a]
        for s in range(length):
            for a in range(end - begin):
                y[i, s, begin + a] -= normal[s] * part[a]
