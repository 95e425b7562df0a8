"""Loops over generalised cubes of hidden cells: moves along dimensions, bits of lines, depth-first search.

A cube is a product of one move per dimension; a move is given by a leaf a and a leaf b (or OUTSIDE): +1 on
the codes that cover a but not b, −1 on those that cover b but not a. Places are positions in the full table,
in row-major order.
"""

from __future__ import annotations

from dataclasses import dataclass

from cellveil.loops.ledger import LedgerArrays
from cellveil.loops.library import Arrays, Bool, Int, Int32, Int32Table, IntTable, Word, WordTable, loop

UNSET = -2

MAX_CUBE = 2048
"""Cubes with more cells are not looked at."""

MAX_SUPPORT = 40
"""Most codes of a move that are looked at."""


@dataclass(frozen=True, eq=False)
class Grid(Arrays):
    """The full table and its dimensions, and room to work in.

    Codes of all dimensions are numbered through: code c of dimension k is ``first_code[k] + c``. Leaves are
    covered by ``cover_codes[cover_starts[leaf]:cover_starts[leaf + 1]]`` (ascending, within the dimension),
    codes consist of ``leaf_codes[leaf_starts[code]:leaf_starts[code + 1]]``. ``bits`` holds, dimension by
    dimension and line by line, which cells of the line are hidden.
    """

    sizes: Int
    strides: Int
    first_code: Int
    cover_starts: Int
    cover_codes: Int32
    leaf_starts: Int
    leaf_codes: Int32
    is_leaf: Bool
    keys: Int32Table
    number: Int32
    bits: Word
    first_word: Int
    words: Int
    counts: Int
    room_up: Int
    room_down: Int
    cube_places: Int
    cube_signs: Int
    cube_cells: Int32
    cube_moves: Int
    stack: IntTable
    rows: WordTable
    codes: IntTable


@loop
def sync(ledger: LedgerArrays, grid: Grid) -> None:
    """Bring the bits up to the end of the trail."""


@loop
def go_back(ledger: LedgerArrays, grid: Grid, trail: int, witnesses: int, cost: float) -> None:
    """Roll the ledger back, and the bits with it."""


@loop
def find_free(grid: Grid, cell: int, sign: int, amount: int, work: int) -> int:
    """Look for a cube of hidden cells that moves a cell by the amount; return its size, 0 if none."""


@loop
def prove_all(
    ledger: LedgerArrays, grid: Grid, cells: Int, up: Bool, start: int, work: int, most: int
) -> int:
    """Meet demands by single cubes, from number `start` on; return where it stopped."""
