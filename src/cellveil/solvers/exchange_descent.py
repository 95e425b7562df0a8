"""Descent by exchanges in a covering program: min cost·x over x in {0, 1} under rows Σ a x ≥ b, a ≥ 0.

Where a row asks for a sum that many columns can make, and they cost about what they give (a large demand
under value weights), programs come near the optimum at once and then look long for the sum that just fits.
Exchanges of one or two columns for one or two others find it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.loops.exchange_descent import CoveringArrays, exchange
from cellveil.solvers import tolerances
from cellveil.solvers.cutting_planes import Row

MOST_ENTRIES = 30_000_000
"""Coefficients held in memory; beyond, only the rows with the least room are looked at on the way."""


def exchanged(
    cost: Float, rows: Sequence[Row], start: Bool, free: Bool, *, least: float, steps: int, seed: int = 0
) -> Bool:
    """A point no dearer than the one to start from that meets the same rows.

    Parameters
    ----------
    start
        A point that meets the rows.
    free
        Columns that may be exchanged.
    least
        No point costs less: exchanges that would are not tried.
    steps
        How much work is done: coefficients looked at.

    Examples
    --------
    >>> row = Row(np.arange(4), np.array([5.0, 4.0, 3.0, 2.0]), 6.0)
    >>> start = np.array([True, True, False, False])
    >>> point = exchanged(row.shares, [row], start, np.ones(4, dtype=bool), least=6.0, steps=1000)
    >>> float(row.shares[point].sum())
    6.0
    """
    from scipy.sparse import csr_array

    span = float(cost[start].sum()) - least
    ranked = np.flatnonzero(free)
    if span <= 0 or not rows or not len(ranked):
        return start
    ranked = ranked[np.argsort(cost[ranked], kind="stable")]
    ends = np.cumsum([0, *(len(row.columns) for row in rows)])
    shares, columns = (np.concatenate([getattr(row, name) for row in rows]) for name in ("shares", "columns"))
    matrix, rhs = csr_array((shares, columns, ends), (len(rows), len(cost))), np.array([r.rhs for r in rows])
    room = matrix @ start - rhs
    tight = np.argsort(room, kind="stable")[: MOST_ENTRIES // len(ranked)]
    chosen = start[ranked]
    by_row = matrix[tight][:, ranked]
    by_column = by_row.T.tocsr()
    program = CoveringArrays(cost[ranked], by_column.toarray(), *_lists(by_column), *_lists(by_row))
    exchange(program, room[tight], chosen, span, steps, np.array([2 * seed + 1], dtype=np.uint64))
    point = start.copy()
    point[ranked] = chosen
    return point if (matrix @ point >= rhs - tolerances.EQUAL).all() else start


def _lists(matrix: Any) -> tuple[Int, Int]:
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
