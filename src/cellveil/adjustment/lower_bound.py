"""The covering bound: a lower bound for tables of any size, proven by any dual solution.

Every adjustment costs at least Σ w · (the smaller level) over the sensitive cells, and what moves besides
(other cells, and sensitive ones beyond their levels) covers the imbalance δ of each relation
(`imbalance_rows`):

    bound = Σ w · min(rise, fall) + min { Σ w t : Σ |coefficient| · t ≥ δ for every relation, t ≥ 0 }.

By weak duality any π ≥ 0 with Aᵀ π ≤ w proves δ·π of the second part, so an interior point scaled into the
constraints is enough, and rounding errors do no harm. For absolute changes only (power 1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cellveil.adjustment.imbalance_rows import imbalances
from cellveil.adjustment.model import Model
from cellveil.arrays import Float
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.solvers.interior_point import interior_point

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix


def cover_bound(model: Model, clock: Deadline = NO_LIMIT) -> float:
    """No adjustment costs less."""
    farthest = np.iinfo(np.int64).max
    rise, fall = (
        np.where(model.can_rise, model.rise, farthest),
        np.where(model.can_fall, model.fall, farthest),
    )
    least = np.minimum(rise, fall).astype(float)
    levels = float((model.weight[model.cells] * least**model.power).sum())
    found = imbalances(model)
    if model.power != 1 or not len(found.rows):
        return levels
    movable, wanted = np.flatnonzero(model.is_movable), found.amounts.astype(np.float64)
    matrix = abs(model.relations.matrix[found.rows]).tocsc()[:, movable]
    prices = _feasible_prices(matrix, model.weight[movable], wanted, model.params.imbalance.most_rows, clock)
    return levels + float(prices @ wanted) * (1 - 1e-12)


def _feasible_prices(
    matrix: csc_matrix, weight: Float, wanted: Float, most_rows: int, clock: Deadline
) -> Float:
    """Dual prices π ≥ 0 with Aᵀ π ≤ w; the best that were found for max δ·π."""
    prices, count = None, len(wanted)
    if count <= most_rows:
        prices = interior_point(
            matrix.T.tocsc(),
            (np.full(len(weight), -np.inf), weight),
            -wanted,
            (np.zeros(count), np.full(count, np.inf)),
            deadline=clock,
        )
    prices = _greedy_prices(matrix, weight, wanted) if prices is None else np.maximum(prices, 0.0)
    load = matrix.T @ prices
    over = load > 0
    return prices * (min(1.0, float((weight[over] / load[over]).min())) if over.any() else 1.0)


def _greedy_prices(matrix: csc_matrix, weight: Float, wanted: Float) -> Float:
    """Dual ascent: the largest imbalances first, each at the highest price that its cells have left."""
    rows, left, prices = matrix.tocsr(), weight.copy(), np.zeros(len(wanted))
    for row in np.argsort(-wanted, kind="stable").tolist():
        part = slice(rows.indptr[row], rows.indptr[row + 1])
        cells, sizes = rows.indices[part], rows.data[part]
        if len(cells):
            prices[row] = max(float((left[cells] / sizes).min()), 0.0)
            left[cells] -= prices[row] * sizes
    return prices
