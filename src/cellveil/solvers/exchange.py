"""Descent by exchanges in a covering program: min cost·x over x in {0, 1} under rows Σ a x ≥ b, a ≥ 0.

Where a row asks for a sum that many columns can make, and they cost about what they give (a large demand
under value weights), programs come near the optimum at once and then look long for the sum that just fits.
Exchanges of one or two columns for one or two others find it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cellveil.solvers.cutting import Row

Float = NDArray[np.float64]
Bool = NDArray[np.bool_]


def exchanged(
    cost: Float, rows: Sequence[Row], start: Bool, free: Bool, *, least: float, turns: int, seed: int = 0
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

    Examples
    --------
    >>> row = Row(np.arange(4), np.array([5.0, 4.0, 3.0, 2.0]), 6.0)
    >>> start = np.array([True, True, False, False])
    >>> point = exchanged(row.shares, [row], start, np.ones(4, dtype=bool), least=6.0, turns=1000)
    >>> float(row.shares[point].sum())
    6.0
    """
    from scipy.sparse import csr_array

    from cellveil.kernels.exchange import exchange

    point = start.copy()
    span = float(cost[start].sum()) - least
    if span <= 0 or not rows:
        return point
    ends = np.cumsum([0, *(len(row.columns) for row in rows)])
    shares, columns = np.concatenate([row.shares for row in rows]), np.concatenate([row.columns for row in rows])
    matrix = csr_array((shares, columns, ends), shape=(len(rows), len(cost)))
    by_column = matrix.tocsc()
    ranked = np.flatnonzero(free)
    ranked = ranked[np.argsort(cost[ranked], kind="stable")]
    exchange(
        cost,
        (by_column.indptr.astype(np.int64), by_column.indices.astype(np.int64), by_column.data),
        (ends.astype(np.int64), columns.astype(np.int64)),
        matrix @ point - np.array([row.rhs for row in rows]),
        point, ranked, cost[ranked], span, turns, np.array([2 * seed + 1], dtype=np.uint64),
    )  # fmt: skip
    return point
