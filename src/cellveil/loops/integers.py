"""Moves that empty the totals of a whole three-way adjustment: unit steps, pairs of steps, rectangles."""

from __future__ import annotations

from cellveil.loops.library import FloatCube, IntCube, Word, loop


@loop
def units_and_pairs(y: IntCube, weight: FloatCube, power: int, low: IntCube, high: IntCube) -> int:
    """Bring the grand total, then the totals y[i, 0, 0] back while it pays; return how many moves."""


@loop
def rectangles(
    y: IntCube, weight: FloatCube, power: int, low: IntCube, high: IntCube, planes: int, state: Word
) -> int:
    """Move what stands in the totals y[i, j, 0] into planes y[:, :, k]; returns how many moves were made."""
