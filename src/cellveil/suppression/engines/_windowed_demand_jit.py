"""The loop behind windows of incremental linear programs: Dijkstra's algorithm over cells and relations."""

from __future__ import annotations

from dataclasses import dataclass

from cellveil.jit.compiled import inner, outer
from cellveil.jit.kinds import Arrays, Bool, Float, Int, Int32


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


@outer
def ball(space: Incidence, price: Float, step: float, start: int, most: int, radius: float) -> int:
    """Write the cells nearest to one into `space.near`, up to a number and a radius; tells how many.

    Each relation is entered once, from its nearest cell. Entering a cell costs its price and one step.
    """
    space.stamp[0] += 1
    stamp, size, count = space.stamp[0], 1, 0
    space.heap_distance[0], space.heap_cell[0] = 0.0, start
    space.distance[start], space.reached[start] = 0.0, stamp
    while size > 0 and count < most:
        distance, nearest = space.heap_distance[0], space.heap_cell[0]
        size -= 1
        _sift_down(space, size)
        if space.settled[nearest] == stamp:
            continue
        space.settled[nearest] = stamp
        space.near[count] = nearest
        count += 1
        for k in range(space.cell_starts[nearest], space.cell_starts[nearest + 1]):
            row = space.rows[k]
            if space.entered[row] == stamp:
                continue
            space.entered[row] = stamp
            for e in range(space.row_starts[row], space.row_starts[row + 1]):
                cell = space.cells[e]
                far = distance + price[cell] + step
                if not space.movable[cell] or far > radius:
                    continue
                if space.reached[cell] != stamp or far < space.distance[cell]:
                    space.reached[cell] = stamp
                    space.distance[cell] = far
                    _sift_up(space, size, far, cell)
                    size += 1
    return count


@inner
def _sift_up(space: Incidence, size: int, distance: float, cell: int) -> None:
    """Put a cell into the heap of this size: the nearest is on top, of equally near ones the first."""
    place = size
    while place > 0:
        above = (place - 1) >> 1
        far, other = space.heap_distance[above], space.heap_cell[above]
        if far < distance or (far == distance and other <= cell):
            break
        space.heap_distance[place], space.heap_cell[place] = far, other
        place = above
    space.heap_distance[place], space.heap_cell[place] = distance, cell


@inner
def _sift_down(space: Incidence, size: int) -> None:
    """Take the top off the heap, which has this size then."""
    distance, cell = space.heap_distance[size], space.heap_cell[size]
    place, below = 0, 1
    while below < size:
        far, other = space.heap_distance[below], space.heap_cell[below]
        if below + 1 < size:
            next_far, next_other = space.heap_distance[below + 1], space.heap_cell[below + 1]
            if next_far < far or (next_far == far and next_other < other):
                far, other, below = next_far, next_other, below + 1
        if distance < far or (distance == far and cell <= other):
            break
        space.heap_distance[place], space.heap_cell[place] = far, other
        place, below = below, 2 * below + 1
    space.heap_distance[place], space.heap_cell[place] = distance, cell
