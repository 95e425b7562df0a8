"""Back substitution in whole numbers."""

from __future__ import annotations

from cellveil.loops.library import Int, loop

LIMIT = 2.0**61


@loop
def back_substitute(values: Int, pivot: Int, pivot_coef: Int, starts: Int, columns: Int, coefs: Int) -> bool:
    """Set values[pivot[k]] = −(Σ coefs · values) / pivot_coef[k], one after the other."""
