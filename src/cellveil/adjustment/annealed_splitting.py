"""Annealed Douglas–Rachford splitting: senses for tables of any size, without a simplex step.

Minimises Σ w |y|^power over {M y = 0} and the rooms, sensitive cells at or beyond one of their levels, by the
iteration of Douglas and Rachford: each cell moves to the best point near z − u for its price, within its
room, a sensitive one on whichever side is nearer; then everything is projected onto {M y = 0}. The set is not
convex, so the iteration is a heuristic for the senses: with long steps cells change sides freely, and the
step shrinks by a constant factor until hardly any do (annealing). With the senses held (`settle`) the problem
is convex and the iteration converges to its optimum.

What comes out is rounded (`integers.rounded`), or a linear program finds a vertex (`fixed_senses`).

Requires relations with a projection (`solvers.projection`). Ensures nothing about the senses; what is handed
back as whole keeps everything exactly. Cost: linear in cells for each iteration of a table with dimensions.
Reference: Takapoui, Moehle, Boyd and Bemporad (2017) for the heuristic use of splitting on such sets.
"""

from __future__ import annotations

import numpy as np

from cellveil.adjustment.model import Model
from cellveil.arrays import Bool, Float
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.solvers.douglas_rachford import iterate
from cellveil.solvers.projection import projection_of
from cellveil.solvers.tolerances import SPLIT_WHOLE


class SplittingAnnealing:
    """The iteration on one model, until the clock is over."""

    def __init__(self, model: Model, clock: Deadline = NO_LIMIT) -> None:
        self.model, self._clock, self._params = model, clock, model.params.splitting
        self._projection = projection_of(model.problem.table)
        self._places, size = self._projection.places, self._projection.size
        places = self._places
        self._weight, self._low, self._high = (np.zeros(size) for _ in range(3))
        self._weight[places] = model.weight[self._projection.cells]
        self._true_weight = self._weight
        self._low[places] = -model.down[self._projection.cells]
        self._high[places] = model.up[self._projection.cells]
        spot = np.full(model.relations.num_cells, -1)
        spot[self._projection.cells] = places
        self._own = spot[model.cells]
        self._middle = (model.rise - model.fall) / 2.0  # nearer to one level than to the other
        price = float(np.median(model.weight[model.weight > 0])) if (model.weight > 0).any() else 1.0
        level = float(np.median(np.maximum(model.rise, model.fall)))
        self._state = np.zeros(0), np.zeros(0)
        self._is_total = ~model.is_inner[model.cells]
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

    def senses(self, iterations: int, senses: Bool, *, seed: int = 0, hot: float | None = None) -> Bool:
        """Anneal from a start, the first proximal step being `hot`."""
        hot = hot or self._params.hot
        factor = (hot / self._params.cold) ** (1.0 / max(iterations, 1))
        rng = np.random.default_rng(seed)
        z, u = np.zeros(self._projection.size), np.zeros(self._projection.size)
        z[self._own] = np.where(senses, self.model.rise, -self.model.fall) * rng.uniform(
            0.9, 1.1, len(senses)
        )
        step = hot * self.scale

        def proximal(z: Float, u: Float) -> Float:
            nonlocal senses
            x, senses = self._nearest(z - u, step, None)
            return self._relaxed(x, z, u)

        after = iterate(self._project, proximal, z, u)
        for _ in range(iterations):
            if self._clock.is_over:
                break
            next(after)
            u /= factor  # the scaled dual variable: step times multipliers
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
        low, high = self._low.copy(), self._high.copy()
        least, most = self.model.rooms(senses)
        is_fixed = ~self.model.is_inner[cells]
        for _ in range(0 if self._clock.is_over else self._params.dives):
            free = np.flatnonzero(~is_fixed & (np.abs(y[cells]) > SPLIT_WHOLE))
            own = y[cells[free]]
            off = np.abs(own - np.rint(own))
            if not (off > SPLIT_WHOLE).any():
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

        def proximal(z: Float, u: Float) -> Float:
            nonlocal x
            x, _ = self._nearest(z - u, self._params.settling * self.scale, senses)
            return self._relaxed(x, z, u)

        after = iterate(self._project, proximal, z, u)
        for done in range(iterations):
            if done and self._clock.is_over:
                break
            z = next(after)
        self._state = z, u
        y = np.zeros(self.model.relations.num_cells)
        y[self._projection.cells] = x[self._places]
        return y

    def _relaxed(self, x: Float, z: Float, u: Float) -> Float:
        relax = self._params.relaxation
        return np.asarray(relax * x + (1.0 - relax) * z + u)

    def _project(self, v: Float) -> Float:
        return self._projection.apply(v[:, None])[:, 0]

    def _nearest(self, v: Float, step: float, senses: Bool | None) -> tuple[Float, Bool]:
        """The best point near v for its price, cell by cell, and the senses taken."""
        own = self._own
        x = self._shrunk(v, step * self._weight)
        np.clip(x, self._low, self._high, out=x)
        if senses is None:
            senses = self.model.possible(v[own] > self._middle)
        near = self._shrunk(v[own], step * self._weight[own])
        near = np.where(senses, np.maximum(near, self._rise), np.minimum(near, -self._fall))
        x[own] = np.clip(near, self._low[own], self._high[own])
        return x, np.asarray(senses)

    def _shrunk(self, v: Float, price: Float) -> Float:
        """The proximal step: soft thresholding for absolute changes, scaling for squares."""
        if self.model.power == 1:
            return np.sign(v) * np.maximum(np.abs(v) - price, 0.0)
        return v / (1.0 + 2.0 * price)


def search_senses(
    annealing: SplittingAnnealing,
    senses: Bool,
    clock: Deadline,
    *,
    seed: int = 0,
    tries: int | None = None,
    sampled: float | None = None,
) -> Bool:
    """Senses whose settled movement is cheap, by many short annealings: from random ones, then from the best.

    Parameters
    ----------
    tries
        How many annealings at most; None for as many as the clock allows.
    sampled
        The share of the tries, or of the time, for those from random senses; by default as `params` say.
    """
    model, rng = annealing.model, np.random.default_rng(seed)
    params = model.params.splitting
    sampled = params.sampled if sampled is None else sampled
    least, in_vain = model.cost(annealing.settle(senses, params.settled)), 0
    sampling = Deadline(None if clock.left is None else sampled * clock.left)
    for number in range(10**9 if tries is None else tries):
        from_best = sampling.is_over or (tries is not None and number >= sampled * tries)
        first = senses if from_best else rng.random(len(model.cells)) < 0.5
        hot = params.heats[in_vain % len(params.heats)] if from_best else params.hot
        iterations = int(params.short[number % len(params.short)])
        found = annealing.senses(iterations, first, seed=seed + number, hot=hot)
        cost = model.cost(annealing.settle(found, params.settled))
        if clock.is_over or annealing.is_over:
            break  # neither may be finished
        in_vain += from_best and cost >= least
        if cost < least:
            senses, least = found, cost
    return senses
