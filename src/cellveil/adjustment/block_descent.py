"""Block-coordinate descent over the senses: a block is free, the others are held (a large neighbourhood).

A block is a set of sensitive cells that share relations, around one drawn at random. It is solved as a
mixed-integer program, or, where the degrees of freedom are few, by branch and bound in a null-space basis.
Where single changes are impossible, as in tables whose relations tie most sensitive cells together, blocks
still move.

Requires a start. Ensures a result no worse than the start.
"""

from __future__ import annotations

import numpy as np

from cellveil.adjustment.branch_and_bound import SenseTree
from cellveil.adjustment.fixed_senses import Fit, FixedSenses
from cellveil.adjustment.mixed_integer import SenseProgram
from cellveil.adjustment.model import Model
from cellveil.adjustment.null_space import NullSpace
from cellveil.adjustment.piecewise_cost import Breakpoints
from cellveil.adjustment.tabu import Judge
from cellveil.arrays import Bool
from cellveil.clock import Deadline
from cellveil.progress import Progress
from cellveil.solvers.mip import Budget


def descend(
    given: FixedSenses,
    start: Fit,
    rounds: int,
    clock: Deadline,
    *,
    seed: int = 0,
    judge: Judge | None = None,
    progress: Progress | None = None,
    coordinates: NullSpace | None = None,
) -> Fit:
    """Block-coordinate descent over the senses."""
    model, rng = given.model, np.random.default_rng(seed)
    score: Judge = judge or (lambda fit: fit.cost)
    best, in_vain = start, 0
    solver = _BlockPrograms(given) if coordinates is None else _BlockTrees(given, coordinates)
    for number in range(rounds):
        if clock.is_over or not len(model.cells):
            break
        block = _block(model, rng, int(solver.sizes[number % len(solver.sizes)]))
        found = solver.best(best, block, clock, in_vain)
        in_vain += 1
        if found is not None and score(found) < score(best):
            best, in_vain = found, 0
        if progress is not None:
            progress.advance(number + 1, rounds, cost=best.cost)
        if block.all() and in_vain and not solver.goes_deeper:
            break  # the same block again has the same answer
    return best


class _BlockPrograms:
    """Blocks by mixed-integer programs over the cells."""

    goes_deeper = False

    def __init__(self, given: FixedSenses) -> None:
        self.given, self._params = given, given.model.params.descent
        self.sizes = self._params.sizes
        self._mixed: SenseProgram | None = None
        self._at: Fit | None = None

    def best(self, best: Fit, free: Bool, clock: Deadline, in_vain: int) -> Fit | None:
        """The best adjustment that differs in these senses only; None where that is the one at hand."""
        mixed = self._program_at(best)
        answer = mixed.search(best, Budget(clock, nodes=self._params.nodes, gap=1e-5), free)
        senses = mixed.senses_of(answer)
        if senses is None or (senses == best.senses).all():
            return None
        return self.given.fit(senses, clock)

    def _program_at(self, best: Fit) -> SenseProgram:
        """Squares are taken by lines around the best, so that their program changes with it."""
        if self._mixed is None or (self.given.model.power > 1 and self._at is not best):
            self._mixed, self._at = SenseProgram(self.given.model, _marks_at(self.given.model, best)), best
        return self._mixed


class _BlockTrees:
    """The same by branch and bound in coordinates; longer after each block in vain."""

    goes_deeper = True

    def __init__(self, given: FixedSenses, coordinates: NullSpace) -> None:
        self.given, self.coordinates, self._params = given, coordinates, given.model.params.descent
        self.sizes = self._params.tree_sizes

    def best(self, best: Fit, free: Bool, clock: Deadline, in_vain: int) -> Fit | None:
        """See `_BlockPrograms`."""
        tree = SenseTree(self.coordinates, self.given, best, 0.0)
        return tree.run(clock, self._params.tree_nodes * (1 + in_vain), free).fit


def _marks_at(model: Model, fit: Fit) -> Breakpoints:
    marks = Breakpoints(model)
    if model.power > 1:
        marks.add(fit.y)
    return marks


def _block(model: Model, rng: np.random.Generator, size: int) -> Bool:
    """Sensitive cells around one drawn at random: those nearest to it through common relations."""
    count = len(model.cells)
    free = np.zeros(count, dtype=bool)
    if count <= size:
        return ~free
    relations = model.relations
    free[int(rng.integers(count))] = True
    while free.sum() < size:
        rows = np.zeros(len(relations), dtype=bool)
        mine = model.place[relations.cells]
        rows[relations.row_of_entry[(mine >= 0) & free[mine]]] = True
        near = np.unique(mine[rows[relations.row_of_entry] & (mine >= 0)])
        near = near[~free[near]]
        if not len(near):
            near = np.flatnonzero(~free)
        free[rng.permutation(near)[: size - int(free.sum())]] = True
    return free
