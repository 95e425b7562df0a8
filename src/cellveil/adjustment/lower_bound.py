"""A lower bound for tables of any size: what the levels cost, and what balancing them costs at the least.

Every adjustment costs at least Σ w · (the smaller level) over the sensitive cells, and what moves besides
(other cells, and sensitive ones beyond their levels) covers the imbalance δ of each relation (`imbalance`):

    bound = Σ w · min(rise, fall) + min { Σ w t : Σ |coefficient| · t ≥ δ for every relation, t ≥ 0 }.

The second part is a covering program; any π ≥ 0 with Aᵀ π ≤ w proves δ·π of it, so an interior point scaled
into the constraints is enough, and rounding errors do no harm. For absolute changes only (power 1).
"""

from __future__ import annotations

import numpy as np

from cellveil.adjustment.imbalance_rows import imbalances
from cellveil.adjustment.model import Model
from cellveil.arrays import Float

MOST_ROWS = 12_000
"""Up to so many relations the covering program is solved; beyond, its dual is built up greedily."""


def cover_bound(model: Model, seconds: float | None = None) -> float:
    """No adjustment costs less."""
    least = np.minimum(
        np.where(model.can_rise, model.rise, np.iinfo(np.int64).max),
        np.where(model.can_fall, model.fall, np.iinfo(np.int64).max),
    ).astype(float)
    levels = float((model.weight[model.cells] * least**model.power).sum())
    found = imbalances(model)
    if model.power != 1 or not len(found.rows):
        return levels
    amounts = np.zeros(len(model.relations))
    amounts[found.rows] = found.amounts
    return levels + float(prices_of(model, amounts, seconds) @ amounts) * (1 - 1e-12)


def prices_of(model: Model, amounts: Float, seconds: float | None = None) -> Float:
    """Prices π ≥ 0 of the relations with |M|ᵀ π ≤ w, the best that were found for these amounts."""
    rows, prices = np.flatnonzero(amounts), np.zeros(len(amounts))
    movable = np.flatnonzero(model.is_movable)
    matrix = abs(model.relations.matrix[rows]).tocsc()[:, movable]
    weight, wanted = model.weight[movable], np.asarray(amounts[rows], dtype=np.float64)
    mine = None
    if len(rows) <= MOST_ROWS:
        mine = _by_program(matrix, weight, wanted, seconds)
    if mine is None:
        mine = _greedily(matrix.tocsr(), weight, wanted)
    load = matrix.T @ mine
    over = load > 0
    prices[rows] = mine * (min(1.0, float((weight[over] / load[over]).min())) if over.any() else 1.0)
    return prices


def _by_program(matrix: object, weight: Float, amounts: Float, seconds: float | None) -> Float | None:
    """The dual prices of the covering program: max δ·π, Aᵀ π ≤ w."""
    from scipy.sparse import csc_matrix

    from cellveil.solvers.interior_point import interior_point

    dual = csc_matrix(csc_matrix(matrix).T)
    return _nonnegative(
        interior_point(
            dual,
            (np.full(len(weight), -np.inf), weight),
            -amounts,
            (np.zeros(len(amounts)), np.full(len(amounts), np.inf)),
            time_limit=seconds,
        )
    )


def _nonnegative(point: Float | None) -> Float | None:
    return None if point is None else np.maximum(point, 0.0)


def _greedily(matrix: object, weight: Float, amounts: Float) -> Float:
    """The largest imbalances first, each at the highest price that its cells have left."""
    from scipy.sparse import csr_matrix

    rows = csr_matrix(matrix)
    left, prices = weight.copy(), np.zeros(len(amounts))
    for row in np.argsort(-amounts, kind="stable").tolist():
        part = slice(rows.indptr[row], rows.indptr[row + 1])
        cells, sizes = rows.indices[part], rows.data[part]
        if len(cells):
            prices[row] = max(float((left[cells] / sizes).min()), 0.0)
            left[cells] -= prices[row] * sizes
    return prices
