"""The two halves of a splitting step, over places × deviations (the deviations of a place side by side).

Loops over all places take the first and the last of the part they are to do, so that threads can share them.
"""

from __future__ import annotations

from cellveil.loops.library import Float, FloatCube, FloatTable, Int, loop


@loop
def shrink(
    z: FloatTable,
    u: FloatTable,
    cost: Float,
    low: FloatTable,
    high: FloatTable,
    step: float,
    relax: float,
    x: FloatTable,
    v: FloatTable,
    first: int,
    last: int,
) -> None:
    """Move each place to the best point near z − u for its cost, within its bounds; v is what to project."""


@loop
def lean(
    z: FloatTable,
    u: FloatTable,
    low: FloatTable,
    high: FloatTable,
    step: float,
    relax: float,
    x: FloatTable,
    v: FloatTable,
    place: Int,
    column: Int,
    goal: Float,
    reward: Float,
) -> None:
    """After `shrink`: pull the places that have a goal towards it, for a reward · max(0, 1 − x / goal)."""


@loop
def centre(y: FloatCube, normal: Float, first: int, last: int, begin: int, end: int) -> None:
    """Take away, along the middle axis of y, the part in the direction of the unit vector `normal`."""
