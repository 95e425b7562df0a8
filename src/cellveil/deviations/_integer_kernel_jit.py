"""Back substitution in whole numbers."""

from __future__ import annotations

from cellveil.jit.compiled import outer
from cellveil.jit.kinds import Int

LIMIT = 2.0**61


@outer
def back_substitute(values: Int, pivot: Int, pivot_coef: Int, starts: Int, columns: Int, coefs: Int) -> bool:
    """Set values[pivot[k]] = −(Σ coefs · values) / pivot_coef[k], one after the other.

    Returns
    -------
    Whether all divisions came out even and nothing came near the limits of 64 bits.
    """
    for k in range(len(pivot)):
        total, size = 0, 0.0
        for e in range(starts[k], starts[k + 1]):
            total += coefs[e] * values[columns[e]]
            size += abs(float(coefs[e]) * float(values[columns[e]]))
        if size > LIMIT or total % pivot_coef[k] != 0:
            return False
        values[pivot[k]] = -(total // pivot_coef[k])
    return True
