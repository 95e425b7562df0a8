"""Senses by annealed splitting: adjustments of tables of any size, without a simplex step.

Minimises Σ w |y|^power over {M y = 0} and the rooms, sensitive cells at or beyond one of their levels, by the
iteration of Douglas and Rachford: each cell moves to the best point near z − u for its price, within its
room, a sensitive one on whichever side is nearer; then everything is projected onto {M y = 0}. The set is not
convex, so the iteration is a heuristic for the senses: with long steps cells change sides freely, and the
step shrinks by a constant factor until hardly any do (annealing). With the senses held (`settle`) the problem
is convex and the iteration converges to its optimum.

What comes out is rounded: cells that are no totals to whole numbers within their rooms, totals computed from
them (`rounded`); or a linear program over the cells that move finds a vertex (`given`).

Requires relations with a projection (`solvers.projection`). Ensures nothing about the senses; what is handed
back as whole keeps everything exactly. Cost: linear in cells for each iteration of a table with dimensions.
Reference: Takapoui, Moehle, Boyd and Bemporad (2017) for the heuristic use of splitting on such sets.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cellveil.adjustment.model import INTERIOR, Model, kinds_of_cells
from cellveil.arrays import Bool, Float, Int
from cellveil.clock import Deadline
from cellveil.solvers.projection import projection_of

RELAX = 1.6
HOT, COLD = 10.0, 0.05
"""The first and the last step, in multiples of a typical level over a typical price."""

SHORT, SETTLED = (500, 2_000), 200
"""Iterations of the annealings of `search_senses` in turn, and iterations to settle."""
HEATS = (0.5, 0.7, 1.0, 1.4, 2.0, 3.0)
"""First steps of those that start from the best; the next one in turn after each that was in vain."""

SETTLING = 0.2
DIVES = 24
FRACTION = 1e-3


class Annealing:
    """The iteration on one model, until the clock is over."""

    def __init__(self, model: Model, clock: Deadline | None = None) -> None:
        self.model, self._clock = model, clock or Deadline(None)
        self._projection = projection_of(model.problem.table)
        places = self._projection.places
        self._places = places
        size = self._projection.size
        self._weight, self._low, self._high = (np.zeros(size) for _ in range(3))
        self._weight[places] = model.weight[self._projection.cells]
        self._true_weight = self._weight
        self._low[places] = -model.down[self._projection.cells]
        self._high[places] = model.up[self._projection.cells]
        spot = np.full(model.relations.num_cells, -1)
        spot[self._projection.cells] = places
        self._own = spot[model.cells]
        self._middle = (model.rise - model.fall) / 2.0
        price = float(np.median(model.weight[model.weight > 0])) if (model.weight > 0).any() else 1.0
        level = float(np.median(np.maximum(model.rise, model.fall)))
        self._state = np.zeros(0), np.zeros(0)
        self._is_total = kinds_of_cells(model.problem.table)[model.cells] != INTERIOR
        self.spare(0)
        self.scale = level / price if model.power == 1 else 1.0 / price

    @property
    def is_over(self) -> bool:
        """Whether the time is up: what comes back then may be unfinished."""
        return self._clock.is_over

    def spare(self, units: int) -> None:
        """Move sensitive totals so much farther than they must: rounding their parts moves them back."""
        room_up, room_down = self.model.up[self.model.cells], self.model.down[self.model.cells]
        more = np.where(self._is_total, units, 0)
        self._rise = np.minimum(self.model.rise + more, np.maximum(room_up, self.model.rise))
        self._fall = np.minimum(self.model.fall + more, np.maximum(room_down, self.model.fall))

    def jitter(self, share: float, *, seed: int = 0) -> None:
        """Let prices be too high by up to this share, each by chance; 0 for the true ones."""
        draws = np.random.default_rng(seed).random(len(self._true_weight))
        self._weight = self._true_weight * (1.0 + share * draws)

    def senses(self, iterations: int, senses: Bool, *, seed: int = 0, hot: float = HOT) -> Bool:
        """Anneal from a start for so many iterations."""
        factor = (hot / COLD) ** (1.0 / max(iterations, 1))
        rng = np.random.default_rng(seed)
        z, u = np.zeros(self._projection.size), np.zeros(self._projection.size)
        z[self._own] = np.where(senses, self.model.rise, -self.model.fall) * rng.uniform(
            0.9, 1.1, len(senses)
        )
        step = hot * self.scale
        for _ in range(iterations):
            if self._clock.is_over:
                break
            x, senses = self._nearest(z - u, step, None)
            z, u = self._step(x, z, u)
            u /= factor  # u is the step times the multipliers
            step /= factor
        return senses

    def settle(self, senses: Bool, iterations: int) -> Float:
        """The best movement with these senses, up to the accuracy that so many iterations give."""
        self._state = np.zeros(self._projection.size), np.zeros(self._projection.size)
        return self._iterate(senses, iterations)

    def dive(self, y: Float, senses: Bool, iterations: int) -> Float:
        """Fix cells that are no totals at whole numbers, half of those left at a time; the others follow.

        To be called after `settle`; totals keep out of it as long as other cells can make up for rounding.
        """
        cells = self._projection.cells
        is_inner = kinds_of_cells(self.model.problem.table)[cells] == INTERIOR
        low, high = self._low.copy(), self._high.copy()
        least, most = self.model.rooms(senses)
        is_fixed = ~is_inner
        for _ in range(0 if self._clock.is_over else DIVES):
            free = np.flatnonzero(~is_fixed & (np.abs(y[cells]) > FRACTION))
            own = y[cells[free]]
            off = np.abs(own - np.rint(own))
            if not (off > FRACTION).any():
                break
            near = free[np.argsort(off, kind="stable")[: (len(free) + 1) // 2]]
            there = np.clip(np.rint(y[cells[near]]), least[cells[near]], most[cells[near]])
            self._low[self._places[near]] = self._high[self._places[near]] = there
            is_fixed[near] = True
            y = self._iterate(senses, iterations)
        self._low, self._high = low, high
        return y

    def _iterate(self, senses: Bool, iterations: int) -> Float:
        z, u = self._state
        x = z
        for done in range(iterations):
            if done and self._clock.is_over:
                break
            x, _ = self._nearest(z - u, SETTLING * self.scale, senses)
            z, u = self._step(x, z, u)
        self._state = z, u
        y = np.zeros(self.model.relations.num_cells)
        y[self._projection.cells] = x[self._places]
        return y

    def _step(self, x: Float, z: Float, u: Float) -> tuple[Float, Float]:
        wanted = RELAX * x + (1.0 - RELAX) * z + u
        kept = self._projection.apply(wanted[:, None])[:, 0]
        return kept, wanted - kept

    def _nearest(self, v: Float, step: float, senses: Bool | None) -> tuple[Float, Bool]:
        """The best point near v for its price, cell by cell, and the senses taken."""
        model, own = self.model, self._own
        x = self._shrunk(v, step * self._weight)
        np.clip(x, self._low, self._high, out=x)
        if senses is None:
            senses = ((v[own] > self._middle) & model.can_rise) | ~model.can_fall
        near = self._shrunk(v[own], step * self._weight[own])
        near = np.where(senses, np.maximum(near, self._rise), np.minimum(near, -self._fall))
        x[own] = np.clip(near, self._low[own], self._high[own])
        return x, np.asarray(senses)

    def _shrunk(self, v: Float, price: Float) -> Float:
        if self.model.power == 1:
            return np.sign(v) * np.maximum(np.abs(v) - price, 0.0)
        return v / (1.0 + 2.0 * price)


def search_senses(
    annealing: Annealing,
    senses: Bool,
    clock: Deadline,
    *,
    seed: int = 0,
    tries: int | None = None,
    sampled: float = 0.5,
) -> Bool:
    """Senses whose settled movement is cheap, by many short annealings: from random ones, then from the best.

    Parameters
    ----------
    tries
        How many annealings at most; None for as many as the clock allows.
    sampled
        The share of the tries, or of the time, for those from random senses.
    """
    model, rng = annealing.model, np.random.default_rng(seed)
    least, in_vain = model.cost(annealing.settle(senses, SETTLED)), 0
    sampling = Deadline(None if clock.left is None else sampled * clock.left)
    for number in range(10**9 if tries is None else tries):
        from_best = sampling.is_over or (tries is not None and number >= sampled * tries)
        first = senses if from_best else rng.random(len(model.cells)) < 0.5
        hot = HEATS[in_vain % len(HEATS)] if from_best else HOT
        found = annealing.senses(SHORT[number % len(SHORT)], first, seed=seed + number, hot=hot)
        cost = model.cost(annealing.settle(found, SETTLED))
        if clock.is_over or annealing.is_over:
            break  # neither may be finished
        in_vain += from_best and cost >= least
        if cost < least:
            senses, least = found, cost
    return senses


def rounded(model: Model, y: Float, senses: Bool) -> Int | None:
    """Cells that are no totals rounded within their rooms, totals computed; None where that does not fit."""
    low, high = model.rooms(senses)
    whole = np.clip(np.rint(y), low, high).astype(np.int64)
    kinds = kinds_of_cells(model.problem.table)
    whole[kinds != INTERIOR] = 0
    for rows, totals in totals_by_depth(model, kinds):
        part = model.relations.take_rows(rows)
        signed = part.coefs * whole[part.cells]
        sums = np.bincount(part.row_of_entry, weights=signed, minlength=len(rows))
        coefs = part.coefs[part.cells == totals[part.row_of_entry]]
        whole[totals] = np.rint(-sums / coefs).astype(np.int64)
    return whole if model.fits(whole) else None


def totals_by_depth(model: Model, kinds: NDArray[np.int8]) -> list[tuple[Int, Int]]:
    """Relations and their totals, in an order in which all parts are known: level by level."""
    relations = model.relations
    row, cells = relations.row_of_entry, relations.cells
    is_known = kinds == INTERIOR
    found: list[tuple[Int, Int]] = []
    while not is_known.all():
        unknown = np.bincount(row[~is_known[cells]], minlength=len(relations))
        ready = np.flatnonzero(unknown == 1)
        if not len(ready):
            return []
        is_ready = np.zeros(len(relations), dtype=bool)
        is_ready[ready] = True
        entries = np.flatnonzero(is_ready[row] & ~is_known[cells])
        totals, first = np.unique(cells[entries], return_index=True)
        found.append((row[entries[first]], totals.astype(np.int64)))
        is_known[totals] = True
    return found
