"""Simulated annealing over the senses of sensitive cells: one cell changes its sense at a time."""

from __future__ import annotations

import numpy as np

from cellveil.jit.compiled import outer
from cellveil.jit.kinds import Bits, Bool, Float, Int
from cellveil.jit.random_words import stirred


@outer
def anneal(
    starts: Int, rows: Int, jumps: Int, extra: Float, price: Float, senses: Bool, sums: Int,
    temperatures: Float, state: Bits,
) -> None:  # fmt: skip
    """One sweep over all cells at each temperature; `senses`, `sums` and the random `state` are changed.

    Minimises Σ price · |sums| + Σ extra over the cells that rise. Rising instead of falling adds `jumps` to
    the sums of the cell's `rows`, which stand from starts[i] to starts[i + 1].
    """
    x = state[0]
    for t in range(len(temperatures)):
        heat = temperatures[t]
        for i in range(len(starts) - 1):
            sign = -1 if senses[i] else 1
            worse = sign * extra[i]
            for e in range(starts[i], starts[i + 1]):
                r = rows[e]
                worse += price[r] * (abs(sums[r] + sign * jumps[e]) - abs(sums[r]))
            if worse > 0.0:
                if worse > 20.0 * heat:
                    continue
                x = stirred(x)
                if (x >> np.uint64(11)) * 2.0**-53 >= np.exp(-worse / heat):
                    continue
            for e in range(starts[i], starts[i + 1]):
                sums[rows[e]] += sign * jumps[e]
            senses[i] = not senses[i]
    state[0] = x
