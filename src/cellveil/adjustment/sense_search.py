"""Search over the senses: tabu search, and descent block by block.

Both start from a feasible adjustment, keep the best, and use any objective that can be evaluated: the program
for given senses minimises the model's own objective, and the *judge* says which of two results is better.

`Tabu` changes one sense at a time. The program's reduced costs say what each change may gain at most to first
order; the most promising are solved, from the last basis, and the best of them is taken even where it is
worse, unless the cell was changed lately (its *tenure*) and the result is no new best (*aspiration*). What is
cheaper than the best is made whole; with a judge everything is. After `STALL` steps without a new best it
restarts from the best with some senses changed at random, sometimes few and sometimes many.

`descend` frees a block of senses (cells that share relations with one drawn at random), keeps the others, and
solves the mixed-integer program over the block. Where the degrees of freedom are few, both work in
coordinates: changes are weighed by the relaxation there, and blocks are searched by the tree. Where single
changes are impossible, as in tables whose relations tie most sensitive cells together, blocks still move.

Requires a start. Ensures a result no worse than the start. Seeded; the number of steps is the only limit
besides the clock. Reference: Glover (1989) for tabu search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cellveil.adjustment.branch_and_bound import Tree
from cellveil.adjustment.fixed_senses import Fit, Given
from cellveil.adjustment.mixed_integer import Mixed
from cellveil.adjustment.model import Model
from cellveil.adjustment.null_space import DOWN, UP, Coordinates
from cellveil.adjustment.piecewise_cost import Marks
from cellveil.arrays import Bool, Float, Int
from cellveil.clock import Deadline
from cellveil.progress import Progress
from cellveil.solvers.mip import Budget

Judge = Callable[[Fit], float]

CANDIDATES = 8
TENURE = 7
STALL = 12
KICK = 0.3
"""Changes that are solved in a step; steps a change is forbidden, and without a new best before a restart;
the share of senses that a restart changes, at most."""
BLOCKS = (24,)
BLOCK_NODES = 30
"""Senses of a block, and nodes of its program."""

WEIGHED, FITTED = 60, 2
"""In coordinates so many changes are weighed in a step of tabu search, so many made whole,"""
TREE_BLOCKS, TREE_NODES = (14, 24, 8), 100
"""and for blocks of these sizes in turn so many nodes are looked at, more after each block in vain."""


@dataclass(frozen=True, eq=False)
class _Tried:
    """Senses and how good they are; slopes (see `given.Slack`) and the whole adjustment where known."""

    senses: Bool
    score: float
    slopes: Float | None = None
    fit: Fit | None = None


class Tabu:
    """Tabu search over single senses."""

    def __init__(
        self,
        given: Given,
        start: Fit,
        *,
        seed: int = 0,
        judge: Judge | None = None,
        coordinates: Coordinates | None = None,
    ) -> None:
        self.given, self.model, self._coordinates = given, given.model, coordinates
        self.judge: Judge = judge or (lambda fit: fit.cost)
        self._judges_programs = judge is None and coordinates is None and self.model.power == 1
        self.best, self.best_score = start, self.judge(start)
        self.current = _Tried(start.senses, self.best_score)
        self._rng = np.random.default_rng(seed)
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
                since_best = STALL
            since_best = 0 if self.best_score < before else since_best + 1
            if since_best >= STALL:
                self._restart(step, clock)
                since_best = 0
            if progress is not None:
                progress.advance(step + 1, steps, cost=f"{self.best.cost:,.0f}")
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
        self._free_from[chosen[1]] = step + TENURE + int(self._rng.integers(0, TENURE))
        return True

    def _promising(self, clock: Deadline) -> Int:
        """The cells whose change looks best, the best first."""
        if self._coordinates is not None:
            return self._promising_in_coordinates(self._coordinates, clock)
        slopes = self.current.slopes
        if slopes is None:
            slack = self.given.relax(self.current.senses, clock.left)
            if slack is None:
                return np.zeros(0, dtype=np.int64)
            slopes = slack.slopes
        gains = slopes * (self.model.rise + self.model.fall)
        gains = np.where(self._can_change, gains, -np.inf)
        order = np.argsort(-gains, kind="stable")[:CANDIDATES]
        return np.asarray(order[np.isfinite(gains[order])])

    def _promising_in_coordinates(self, coordinates: Coordinates, clock: Deadline) -> Int:
        """By what the relaxation costs after the change, with all senses chosen."""
        choice = np.where(self.current.senses, UP, DOWN).astype(np.int8)
        here = coordinates.solve(choice)
        able = self._rng.permutation(np.flatnonzero(self._can_change))[:WEIGHED]
        costs = np.full(len(choice), np.inf)
        for cell in able.tolist():
            if clock.is_over:
                break
            changed = choice.copy()
            changed[cell] = -choice[cell]
            found = coordinates.solve(changed, None if here is None else here.basis)
            costs[cell] = np.inf if found is None else found.bound
        order = np.argsort(costs, kind="stable")[:FITTED]
        return np.asarray(order[np.isfinite(costs[order])])

    def _restart(self, step: int, clock: Deadline) -> None:
        """From the best, with some senses changed."""
        able = np.flatnonzero(self._can_change)
        count = max(2, int(self._rng.uniform(0, KICK) * len(able)))
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
            slack = self.given.relax(senses, clock.left)
            return None if slack is None else _Tried(senses, slack.cost, slack.slopes)
        fit = self.given.fit(senses, clock.left)
        return None if fit is None else _Tried(senses, self.judge(fit), fit=fit)

    def _take(self, tried: _Tried, clock: Deadline) -> None:
        self.current = tried
        if tried.score >= self.best_score:
            return
        fit = tried.fit or self.given.fit(tried.senses, clock.left)
        if fit is not None and (score := self.judge(fit)) < self.best_score:
            self.best, self.best_score = fit, score


def descend(
    given: Given,
    start: Fit,
    rounds: int,
    clock: Deadline,
    *,
    seed: int = 0,
    judge: Judge | None = None,
    progress: Progress | None = None,
    coordinates: Coordinates | None = None,
) -> Fit:
    """Block-coordinate descent over the senses."""
    model, rng = given.model, np.random.default_rng(seed)
    score: Judge = judge or (lambda fit: fit.cost)
    best, in_vain = start, 0
    solver = _BlockPrograms(given) if coordinates is None else _BlockTrees(given, coordinates)
    for number in range(rounds):
        if clock.is_over or not len(model.cells):
            break
        block = _block(model, rng, solver.sizes[number % len(solver.sizes)])
        found = solver.best(best, block, clock, in_vain)
        in_vain += 1
        if found is not None and score(found) < score(best):
            best, in_vain = found, 0
        if progress is not None:
            progress.advance(number + 1, rounds, cost=f"{best.cost:,.0f}")
        if block.all() and in_vain and not solver.goes_deeper:
            break  # the same block again has the same answer
    return best


class _BlockPrograms:
    """Blocks by mixed-integer programs over the cells."""

    sizes, goes_deeper = BLOCKS, False

    def __init__(self, given: Given) -> None:
        self.given = given
        self._mixed: Mixed | None = None
        self._at: Fit | None = None

    def best(self, best: Fit, free: Bool, clock: Deadline, in_vain: int) -> Fit | None:
        """The best adjustment that differs in these senses only; None where that is the one at hand."""
        mixed = self._program_at(best)
        answer = mixed.search(best, Budget(seconds=clock.left, nodes=BLOCK_NODES, gap=1e-5), free)
        senses = mixed.senses_of(answer)
        if senses is None or (senses == best.senses).all():
            return None
        return self.given.fit(senses, clock.left)

    def _program_at(self, best: Fit) -> Mixed:
        """Squares are taken by lines around the best, so that their program changes with it."""
        if self._mixed is None or (self.given.model.power > 1 and self._at is not best):
            self._mixed, self._at = Mixed(self.given.model, _marks_at(self.given.model, best)), best
        return self._mixed


class _BlockTrees:
    """The same by branch and bound in coordinates; longer after each block in vain."""

    sizes, goes_deeper = TREE_BLOCKS, True

    def __init__(self, given: Given, coordinates: Coordinates) -> None:
        self.given, self.coordinates = given, coordinates

    def best(self, best: Fit, free: Bool, clock: Deadline, in_vain: int) -> Fit | None:
        """See `_BlockPrograms`."""
        tree = Tree(self.coordinates, self.given, best, 0.0)
        return tree.run(clock, TREE_NODES * (1 + in_vain), free).fit


def _marks_at(model: Model, fit: Fit) -> Marks:
    marks = Marks(model)
    if model.power > 1:
        marks.add(fit.y)
    return marks


def _block(model: Model, rng: np.random.Generator, size: int) -> Bool:
    """Sensitive cells around one drawn at random: those nearest to it through common relations."""
    count = len(model.cells)
    free = np.zeros(count, dtype=bool)
    if count <= size:
        return ~free
    relations, number = model.relations, np.full(model.relations.num_cells, -1)
    number[model.cells] = np.arange(count)
    free[int(rng.integers(count))] = True
    while free.sum() < size:
        rows = np.zeros(len(relations), dtype=bool)
        mine = number[relations.cells]
        rows[relations.row_of_entry[(mine >= 0) & free[mine]]] = True
        near = np.unique(mine[rows[relations.row_of_entry] & (mine >= 0)])
        near = near[~free[near]]
        if not len(near):
            near = np.flatnonzero(~free)
        free[rng.permutation(near)[: size - int(free.sum())]] = True
    return free
