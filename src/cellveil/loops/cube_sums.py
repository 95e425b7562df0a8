"""Loops of the beam search for cubes that cost least per unit moved, and of their sums.

See `cubes.c` for what a cube is.
"""

from __future__ import annotations

from dataclasses import dataclass

from cellveil.loops.cubes import Grid
from cellveil.loops.ledger import LedgerArrays
from cellveil.loops.library import Arrays, Bool, Float, Int, Int32, IntTable, Word, loop


@dataclass(frozen=True, eq=False)
class Beam(Arrays):
    """Beginnings of cubes, the best first: leaves chosen so far, cost and room; and whence each came."""

    a: IntTable
    b: IntTable
    scores: Float
    costs: Float
    caps: Int
    parents: Int
    choices: Int


@dataclass(frozen=True, eq=False)
class Sums(Arrays):
    """A sum of cubes in the making, and room for the beams that look for the next one.

    ``movable`` holds, as ``grid.bits`` does for hidden cells, which cells can be hidden; ``barred`` ones are
    not to be moved. ``moved`` is the sum, ``touched`` its cells. ``toll`` is the fixed cost of a cube.
    """

    grid: Grid
    movable: Word
    barred: Bool
    moved: Int
    is_touched: Bool
    touched: Int32
    sum_moves: Int
    unset: Int
    drawn: IntTable
    beam: Beam
    old_beam: Beam
    toll: Float
    random: Word


@loop
def prove_sums(
    ledger: LedgerArrays, sums: Sums, cells: Int, up: Bool, start: int, nearly: float, beams: int, most: int
) -> int:
    """Meet demands by sums of cubes of hidden cells, from number `start` on; see `prove_all` of cubes."""
