"""Bound propagation by its definition, in plain Python."""

from __future__ import annotations

import math

import numpy as np

from cellveil.public_view import PublicView
from cellveil.tables.scaled import UNBOUNDED

Bounds = list[float | int]


def reference(view: PublicView, rounds: int) -> tuple[Bounds, Bounds]:
    """The same by the definition, entry by entry, in integers of any size and ±inf."""
    published = view.published.tolist()
    low: Bounds = [-math.inf if b == -UNBOUNDED else b for b in view.lb.tolist()]
    high: Bounds = [math.inf if b == UNBOUNDED else b for b in view.ub.tolist()]
    for cell in np.flatnonzero(~view.hidden).tolist():
        low[cell] = high[cell] = published[cell]
    for _ in range(rounds):
        new_low, new_high = low.copy(), high.copy()
        for row in range(len(view.relations)):
            cells, coefs = (column.tolist() for column in view.relations.row(row))
            for place, cell in enumerate(cells):
                own = coefs[place]
                if not view.hidden[cell] or own == 0:
                    continue
                rest_low: int | float = 0
                rest_high: int | float = 0
                for other, coef in zip(cells, coefs, strict=True):
                    if other != cell and coef != 0:
                        ends = (coef * low[other], coef * high[other])
                        rest_low, rest_high = rest_low + min(ends), rest_high + max(ends)
                rhs = int(view.relations.rhs[row])
                least, most = rhs - rest_high, rhs - rest_low
                if own < 0:
                    least, most, own = -most, -least, -own
                if least > -UNBOUNDED * own:  # what does not fit into 64 bits is left open
                    new_low[cell] = max(new_low[cell], least // own)
                if most < UNBOUNDED * own:
                    new_high[cell] = min(new_high[cell], -(-most // own))
        if (new_low, new_high) == (low, high):
            break
        low, high = new_low, new_high
    return low, high
