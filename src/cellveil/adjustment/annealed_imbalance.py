"""Simulated annealing of the senses on the imbalances of relations: fast, for tables of any size.

For given senses the levels leave s = Σ coefficient · (rise or −fall) out of balance in each relation, and the
least that other cells must move to make up for it costs F(s) = max λ·s over |Mᵀ λ| ≤ w. With *prices* π ≥ 0
of the relations, |M|ᵀ π ≤ w, Σ π |s| is never above F(s), and for absolute changes in three-way tables mostly
not far below it: a cell of the interior that moves serves three lines at once. So

    Σ w · level + Σ π |s|

is minimised over the senses, one change at a time, each of which touches the relations of one cell only: some
ten million changes a second. Prices are those that maximise Σ σ log π for the imbalances σ that senses drawn
at random leave: in the middle of what |M|ᵀ π ≤ w allows, where the best for one σ would lie at a corner and
price many relations at 0. They are found by multiplicative steps, as in maximum likelihood of Poisson counts.

Requires nothing. Ensures nothing: rooms are not looked at, and the movement is found afterwards. Cost: linear
in the sensitive cells for each sweep. Reference: Kirkpatrick, Gelatt and Vecchi (1983).
"""

from __future__ import annotations

import numpy as np

from cellveil.adjustment.model import Model
from cellveil.arrays import Bool, Float, Int
from cellveil.loops.annealed_imbalance import anneal


class ImbalanceAnnealing:
    """The imbalances of one model, and annealing over them."""

    def __init__(self, model: Model, price: Float | None = None) -> None:
        self.model, self._params = model, model.params.imbalance
        matrix = model.relations.matrix.tocsc()[:, model.cells]
        counts = np.diff(matrix.indptr)
        coefs = np.rint(matrix.data).astype(np.int64)
        self._rows, self._coefs = matrix.indices.astype(np.int64), coefs
        self._counts, self._both = counts, model.can_rise & model.can_fall
        self._rise, self._fall = np.repeat(model.rise, counts), np.repeat(model.fall, counts)
        weight = model.weight[model.cells]
        self._extra = weight * (
            model.rise.astype(float) ** model.power - model.fall.astype(float) ** model.power
        )
        self.price = fair_prices(model, self._typical()) if price is None else price

    def _typical(self) -> Float:
        """The imbalance of each relation with senses drawn at random: its standard deviation."""
        half = np.abs(self._coefs) * (self._rise + self._fall) / 2.0
        squares = np.bincount(self._rows, weights=half**2, minlength=len(self.model.relations))
        return np.asarray(np.sqrt(squares))

    def sums(self, senses: Bool) -> Int:
        """What the levels leave out of balance."""
        amounts = self._coefs * np.where(np.repeat(senses, self._counts), self._rise, -self._fall)
        return np.rint(np.bincount(self._rows, weights=amounts, minlength=len(self.model.relations))).astype(
            np.int64
        )

    def estimate(self, senses: Bool) -> float:
        """Σ π |s|, and what the levels cost beyond all falling."""
        return float(self.price @ np.abs(self.sums(senses)) + self._extra[senses].sum())

    def anneal(self, senses: Bool, sweeps: int, *, seed: int = 0) -> Bool:
        """Anneal from these senses; at the end no single change is an improvement, nearly always."""
        able = np.flatnonzero(self._both)
        chosen = np.repeat(self._both, self._counts)
        starts = np.concatenate([[0], np.cumsum(self._counts[able])]).astype(np.int64)
        jumps = (self._coefs * (self._rise + self._fall))[chosen]
        rows = self._rows[chosen]
        worth = np.abs(jumps) * self.price[rows]
        scale = float(np.median(worth[worth > 0])) if (worth > 0).any() else 1.0
        heat = scale * np.append(np.geomspace(self._params.hot, self._params.cold, sweeps), [1e-12] * 2)
        senses, sums = senses.copy(), self.sums(senses)
        mine = senses[able]
        state = np.array([2 * seed + 88172645463325253], dtype=np.uint64)
        anneal(starts, rows, jumps, self._extra[able], self.price, mine, sums, heat, state)
        senses[able] = mine
        return senses


def fair_prices(model: Model, amounts: Float) -> Float:
    """Prices π of the relations, near the maximum of Σ amount · log π over |M|ᵀ π ≤ w."""
    rows, prices = np.flatnonzero(amounts), np.zeros(len(amounts))
    movable = np.flatnonzero(model.is_movable & (model.weight > 0))
    matrix = abs(model.relations.matrix[rows]).tocsr()[:, movable]
    columns, wanted, weight = matrix.T.tocsr(), amounts[rows], model.weight[movable]
    used = 1.0 / weight
    for _ in range(model.params.imbalance.pricing):
        used *= columns @ (wanted / np.maximum(matrix @ used, 1e-300)) / weight
    prices[rows] = wanted / np.maximum(matrix @ used, 1e-300)
    return prices
