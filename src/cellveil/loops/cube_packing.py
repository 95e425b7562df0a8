"""Loops of cube packing: which sums of cubes to hide for a demand; ruin and recreate.

See `cubes.c` for what a cube is, `cube_sums.c` for how the cheapest are found.
"""

from __future__ import annotations

from dataclasses import dataclass

from cellveil.loops.cube_sums import Sums
from cellveil.loops.ledger import LedgerArrays
from cellveil.loops.library import Arrays, Bool, Float, Int, loop

TUNING = ("nearly", "hardly", "cheaper")

LIMITS = ("repairs", "free_moves")

REPAIRS, FREE_MOVES, BEAMS, NEEDED = range(4)
"""Those that are counts, beam searches for one sum, entries of the ledger that one demand may need: places in
`Policy.limits`."""


@dataclass(frozen=True, eq=False)
class Policy(Arrays):
    """The sum of cubes in the making, and what decides about it."""

    sums: Sums
    tuning: Float
    limits: Int


@loop
def serve(ledger: LedgerArrays, policy: Policy, cells: Int, up: Bool, start: int, ruining: bool) -> int:
    """Meet demands, from number `start` on; return where it stopped."""
