"""Parameters of the protection of tables in batch files."""

from __future__ import annotations

from dataclasses import dataclass

from cellveil.params import Params, param


@dataclass(frozen=True, kw_only=True)
class BatchParams(Params):
    """What batch files leave open."""

    modular_minutes: float = param(1.0, "Minutes of MOD for the whole table, where none are given.", least=0)
    optimal_minutes: float = param(10.0, "Minutes of OPT, where none are given.", least=0)
    adjustment_minutes: float = param(1.0, "Minutes of CTA, which has no parameter for them.", least=0)
    kept_contributions: int = param(
        10, "Largest contributions kept for each cell, where contributors are to be kept off.", least=3
    )
    seed: int = param(0, "For methods that draw random numbers.", least=0)
