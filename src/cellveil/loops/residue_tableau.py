"""Pivots of a null-space tableau modulo the prime 2³¹ − 1, column by column."""

from __future__ import annotations

from cellveil.loops.library import Int, Int32Table, loop


@loop
def follow(rows: Int32Table, pivot: Int, pivot_coef: Int, starts: Int, columns: Int, coefs: Int) -> None:
    """Set rows[pivot[k]] = −(Σ coefs · rows) / pivot_coef[k], one after the other."""


@loop
def combine(columns: Int32Table, factors: Int) -> None:
    """Set the last column to the sum of the others with these factors."""


@loop
def publish_in_turn(
    columns: Int32Table, order: Int, primaries: Int, basic: Int, sizes: Int, largest: int, filled: Int
) -> int:
    """Publish cells in turn, each unless it would make the last column, which moves all, miss a primary."""
