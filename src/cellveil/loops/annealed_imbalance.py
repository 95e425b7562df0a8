"""Simulated annealing over the senses of sensitive cells: one cell changes its sense at a time."""

from __future__ import annotations

from cellveil.loops.library import Bool, Float, Int, Word, loop


@loop
def anneal(
    starts: Int,
    rows: Int,
    jumps: Int,
    extra: Float,
    price: Float,
    senses: Bool,
    sums: Int,
    temperatures: Float,
    state: Word,
) -> None:
    """One sweep over all cells at each temperature; `senses`, `sums` and the random `state` are changed."""
