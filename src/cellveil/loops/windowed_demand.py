"""The loop behind windows of incremental linear programs: Dijkstra's algorithm over cells and relations."""

from __future__ import annotations

from dataclasses import dataclass

from cellveil.loops.library import Arrays, Bool, Float, Int, Int32, loop


@dataclass(frozen=True, eq=False)
class Incidence(Arrays):
    """Cells by relation and relations by cell; then space for a search, by which `stamp` is counted."""

    row_starts: Int
    cells: Int32
    cell_starts: Int
    rows: Int
    movable: Bool
    distance: Float
    reached: Int
    settled: Int
    entered: Int
    heap_distance: Float
    heap_cell: Int
    near: Int
    stamp: Int


@loop
def ball(space: Incidence, price: Float, step: float, start: int, most: int, radius: float) -> int:
    """Write the cells nearest to one into `space.near`, up to a number and a radius; tells how many."""
