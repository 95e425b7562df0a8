"""Tabu search over the senses: one change at a time, with tenure, aspiration and restarts.

It starts from a feasible adjustment, keeps the incumbent, and uses any objective that can be evaluated: the
program for fixed senses minimises the model's own, and the *judge* says which of two results is better.

Reduced costs say what each change of a sense may gain at most to first order; the most promising are solved,
from the last basis, and the best of them is taken even where it is worse, unless the cell was changed lately
(its *tenure*) and the result is no new incumbent (*aspiration*). What is cheaper than the incumbent is made
whole; with a judge everything is. After a stall it restarts from the incumbent with some senses changed at
random. Where the degrees of freedom are few, changes are weighed by the null-space relaxation.

Requires a start. Ensures a result no worse than the start. References: Glover (1989); Kelly and Russell
(2003), reported in Dula, Fagan and Massell (2004), for adjustments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cellveil.adjustment.fixed_senses import Fit, FixedSenses
from cellveil.adjustment.null_space import DOWN, UP, NullSpace
from cellveil.arrays import Bool, Float, Int
from cellveil.clock import Deadline
from cellveil.progress import Progress

Judge = Callable[[Fit], float]


@dataclass(frozen=True, eq=False)
class _Tried:
    """Senses and how good they are; reduced costs (see `Slack`) and the whole adjustment where known."""

    senses: Bool
    score: float
    slopes: Float | None = None
    fit: Fit | None = None


class Tabu:
    """Tabu search over single senses."""

    def __init__(
        self,
        given: FixedSenses,
        start: Fit,
        *,
        seed: int = 0,
        judge: Judge | None = None,
        coordinates: NullSpace | None = None,
    ) -> None:
        self.given, self.model, self._coordinates = given, given.model, coordinates
        self.judge: Judge = judge or (lambda fit: fit.cost)
        self._judges_programs = judge is None and coordinates is None and self.model.power == 1
        self.best, self.best_score = start, self.judge(start)
        self.current = _Tried(start.senses, self.best_score)
        self._rng, self._params = np.random.default_rng(seed), self.model.params.tabu
        self._free_from = np.zeros(len(self.model.cells), dtype=np.int64)
        self._can_change = self.model.can_rise & self.model.can_fall

    def run(self, steps: int, clock: Deadline, progress: Progress | None = None) -> Fit:
        """Take so many steps."""
        since_best = 0
        for step in range(steps):
            if clock.is_over or not self._can_change.any():
                break
            before = self.best_score
            if not self._step(step, clock):
                since_best = self._params.stall
            since_best = 0 if self.best_score < before else since_best + 1
            if since_best >= self._params.stall:
                self._restart(step, clock)
                since_best = 0
            if progress is not None:
                progress.advance(step + 1, steps, cost=self.best.cost)
        return self.best

    def _step(self, step: int, clock: Deadline) -> bool:
        """The best of the promising changes; tells whether there was one."""
        chosen: tuple[_Tried, int] | None = None
        for cell in self._promising(clock).tolist():
            if clock.is_over:
                break
            found = self._changed(np.array([cell]), clock)
            if found is None:
                continue
            is_tabu = self._free_from[cell] > step and found.score >= self.best_score
            if not is_tabu and (chosen is None or found.score < chosen[0].score):
                chosen = found, cell
        if chosen is None:
            return False
        self._take(chosen[0], clock)
        tenure = self._params.tenure
        self._free_from[chosen[1]] = step + tenure + int(self._rng.integers(0, tenure))
        return True

    def _promising(self, clock: Deadline) -> Int:
        """The cells whose change looks best, the best first."""
        if self._coordinates is not None:
            return self._promising_in_coordinates(self._coordinates, clock)
        slopes = self.current.slopes
        if slopes is None:
            slack = self.given.relax(self.current.senses, clock)
            if slack is None:
                return np.zeros(0, dtype=np.int64)
            slopes = slack.slopes
        gains = slopes * (self.model.rise + self.model.fall)
        gains = np.where(self._can_change, gains, -np.inf)
        order = np.argsort(-gains, kind="stable")[: self._params.candidates]
        return np.asarray(order[np.isfinite(gains[order])])

    def _promising_in_coordinates(self, coordinates: NullSpace, clock: Deadline) -> Int:
        """By what the relaxation costs after the change, with all senses chosen."""
        choice = np.where(self.current.senses, UP, DOWN).astype(np.int8)
        here = coordinates.solve(choice)
        able = self._rng.permutation(np.flatnonzero(self._can_change))[: self._params.weighed]
        costs = np.full(len(choice), np.inf)
        for cell in able.tolist():
            if clock.is_over:
                break
            changed = choice.copy()
            changed[cell] = -choice[cell]
            found = coordinates.solve(changed, None if here is None else here.basis)
            costs[cell] = np.inf if found is None else found.bound
        order = np.argsort(costs, kind="stable")[: self._params.fitted]
        return np.asarray(order[np.isfinite(costs[order])])

    def _restart(self, step: int, clock: Deadline) -> None:
        """From the best, with some senses changed."""
        able = np.flatnonzero(self._can_change)
        count = max(2, int(self._rng.uniform(0, self._params.kick) * len(able)))
        self.current = _Tried(self.best.senses, self.best_score)
        found = self._changed(self._rng.choice(able, min(count, len(able)), replace=False), clock)
        if found is not None:
            self._take(found, clock)
        self._free_from[:] = step

    def _changed(self, cells: Int, clock: Deadline) -> _Tried | None:
        """The current senses with these changed, and how good they are."""
        senses = self.current.senses.copy()
        senses[cells] = ~senses[cells]
        if self._judges_programs:
            slack = self.given.relax(senses, clock)
            return None if slack is None else _Tried(senses, slack.cost, slack.slopes)
        fit = self.given.fit(senses, clock)
        return None if fit is None else _Tried(senses, self.judge(fit), fit=fit)

    def _take(self, tried: _Tried, clock: Deadline) -> None:
        self.current = tried
        if tried.score >= self.best_score:
            return
        fit = tried.fit or self.given.fit(tried.senses, clock)
        if fit is not None and (score := self.judge(fit)) < self.best_score:
            self.best, self.best_score = fit, score
