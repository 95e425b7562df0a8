"""Loops of `cellveil.tables.structure`: which relations are copies of one equation, and which cross.

Relations are given by `total[r]`, the cell that is the sum, and their parts, twice: relation r has the parts
``parts[part_ptr[r]:part_ptr[r + 1]]``, and cell z is a part in ``above[above_ptr[z]:above_ptr[z + 1]]``.
"""

from __future__ import annotations

from cellveil.loops.library import BoolTable, Int, IntTable, loop


@loop
def lifted(total: Int, part_ptr: Int, parts: Int, above_ptr: Int, above: Int, lifts: IntTable) -> bool:
    """Write for each relation r those it is lifted to: its copies one step up in another dimension."""


@loop
def copies(up: IntTable, leader: Int) -> None:
    """Write a leader for each relation: copies of one equation have the same."""


@loop
def crossings(total: Int, above_ptr: Int, above: Int, up: IntTable, kind: Int, cross: BoolTable) -> None:
    """Mark which kinds of relations cross: a part of both is lifted by both to one corner."""


@loop
def same_dimension(cell_ptr: Int, rows: Int, kind: Int, cross: BoolTable, leader: Int) -> bool:
    """Write a leader for each kind: kinds that share a cell without crossing belong to one dimension."""


@loop
def components(total: Int, part_ptr: Int, parts: Int, axis: Int, without: int, leader: Int) -> None:
    """Write a leader for each cell: cells connected by relations of other dimensions than `without`."""
