"""The cell-wise half of a splitting step."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Float = NDArray[np.float64]


@njit(cache=True)
def shrink(
    z: Float, u: Float, cost_up: Float, cost_down: Float, low: Float, high: Float,
    step: float, relax: float, x: Float, v: Float,
) -> None:  # fmt: skip
    """Move each cell to the best point near z − u for its cost, within its bounds; v is what to project.

    x = argmin cost·|x| + (x − (z − u))² / (2 step) on [low, high];  v = relax·x + (1 − relax)·z + u.
    """
    for j in range(len(z)):
        w = z[j] - u[j]
        w = max(w - step * cost_up[j], 0.0) if w > 0.0 else min(w + step * cost_down[j], 0.0)
        w = min(max(w, low[j]), high[j])
        x[j] = w
        v[j] = relax * w + (1.0 - relax) * z[j] + u[j]


@njit(cache=True)
def lean(
    z: Float, u: Float, cost_up: Float, cost_down: Float, low: Float, high: Float,
    step: float, relax: float, x: Float, v: Float,
    wanting: NDArray[np.int64], wanted: Float, reward: Float,
) -> None:  # fmt: skip
    """Like `shrink`, with a reward for each wanting cell until it has moved as far (and that way) as wanted.

    Adds reward·max(0, 1 − x / wanted) for the cells `wanting`, which have no other cost.
    """
    shrink(z, u, cost_up, cost_down, low, high, step, relax, x, v)
    for i in range(len(wanting)):
        j = wanting[i]
        w = z[j] - u[j]
        goal, pull = wanted[i], step * reward[i] / abs(wanted[i])
        if goal > 0.0:
            w = w + pull if w + pull < goal else max(w, goal)
        else:
            w = w - pull if w - pull > goal else min(w, goal)
        w = min(max(w, low[j]), high[j])
        x[j] = w
        v[j] = relax * w + (1.0 - relax) * z[j] + u[j]
