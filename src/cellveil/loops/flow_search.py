"""Loops of the search for cheaper patterns of networks: clean-up, ruin and recreate.

See `flow_witness.c` for the witnesses.
"""

from __future__ import annotations

import numpy as np

from cellveil.loops.flow_witness import Plan
from cellveil.loops.ledger import LedgerArrays
from cellveil.loops.library import Int, loop


@loop
def publish_each(ledger: LedgerArrays, plan: Plan, candidates: Int, begin: int) -> int:
    """Publish cells, one after the other, where all demands find a witness within what stays hidden."""


@loop
def improve(
    ledger: LedgerArrays,
    plan: Plan,
    rng: np.random.Generator,
    turns: int,
    most: int,
    slack: float,
    target: float,
) -> int:
    """Ruin and recreate: publish some secondaries, meet what this reopens, keep it if it costs no more."""
