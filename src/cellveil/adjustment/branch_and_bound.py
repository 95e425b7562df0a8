"""Branch and bound over the senses, with null-space relaxations and pseudo-costs.

A node has chosen some senses; it branches at a sensitive cell that the relaxation leaves between its levels.
The most promising cells by pseudo-cost are tried on both sides (strong branching), and the one whose weaker
side is best is taken. The search dives into the better side and goes on with the node of the
lowest bound when a dive has ended. Where no cell is left between its levels, the movement is made whole
(`fixed_senses`), which may cost a little more than the relaxation. When the search is done, such leaves are
searched once more in whole movements, within a number of nodes; what is not settled then, the bound counts.

Requires what `null_space` requires. Ensures that no adjustment costs less than the bound, up to the solver's
tolerance. Cost: exponential in the worst case; anytime.
"""

from __future__ import annotations

import heapq
from functools import cached_property

import numpy as np

from cellveil.adjustment.fixed_senses import Fit, FixedSenses
from cellveil.adjustment.mixed_integer import Proof, SenseProgram
from cellveil.adjustment.null_space import DOWN, OPEN, UP, Node, NullSpace
from cellveil.arrays import Bool, Float, Int
from cellveil.clock import Deadline
from cellveil.solvers.highs import LPStatus
from cellveil.solvers.mip import Budget, MIPAnswer
from cellveil.solvers.tolerances import BETWEEN_LEVELS


class SenseTree:
    """One search."""

    def __init__(self, coordinates: NullSpace, given: FixedSenses, best: Fit | None, step: float) -> None:
        self.coordinates, self.model, self._given = coordinates, coordinates.model, given
        self.best, self._step, self._params = best, step, self.model.params.tree
        count = len(self.model.cells)
        self._raised, self._times = np.zeros((2, count)), np.zeros((2, count))
        self._heap: list[tuple[float, int, Node]] = []
        self._leaves: list[tuple[float, int, Node]] = []
        self.nodes = 0

    @property
    def _goal(self) -> float:
        """Nodes from this bound on are of no use: costs are multiples of a step."""
        if self.best is None:
            return np.inf
        return self.best.cost - max(self._step - 1e-4, 1e-9 * self.best.cost)

    def run(self, clock: Deadline, nodes: int | None = None, free: Bool | None = None) -> Proof:
        """Search until it is done, or the time or the nodes are over; with `free` only over these senses.

        The others are then as in the best adjustment known, and the bound holds for these alone.
        """
        is_open = self.model.can_rise & self.model.can_fall
        senses = self.model.can_rise
        if free is not None and self.best is not None:
            is_open, senses = is_open & free, self.best.senses
        fixed = np.where(is_open, OPEN, np.where(senses, UP, DOWN))
        current = self.coordinates.solve(fixed.astype(np.int8))
        if current is None:
            return Proof(self.best, -np.inf, LPStatus.UNKNOWN, 0)
        node: Node | None = current
        while node is not None and not clock.is_over and self.nodes != nodes:
            self.nodes += 1
            node = self._branch(node, clock) or self._next()
        if node is None and free is None:
            self._prove_leaves(clock)
        bound = self._bound(node)
        if node is not None:
            ended = LPStatus.TIME_LIMIT if clock.is_over else LPStatus.NODE_LIMIT
        elif self.best is not None:
            ended = LPStatus.OPTIMAL
        else:
            ended = LPStatus.INFEASIBLE if np.isinf(bound) else LPStatus.UNKNOWN
        return Proof(self.best, bound, ended, self.nodes)

    def _bound(self, node: Node | None) -> float:
        """What is proven: the least of all open nodes, of leaves, and of the best."""
        least = min(np.inf if node is None else node.bound, self._heap[0][0] if self._heap else np.inf)
        least = min(least, *(bound for bound, _, _ in self._leaves), np.inf)
        return least if self.best is None else min(least, self.best.cost)

    def _next(self) -> Node | None:
        while self._heap:
            bound, _, node = heapq.heappop(self._heap)
            if bound < self._goal:
                return node
        return None

    def _branch(self, node: Node, clock: Deadline) -> Node | None:
        """The better side of the best cell; the other one is kept for later."""
        if node.bound >= self._goal or node.own is None:
            return None
        model, own = self.model, node.own
        up, down = model.rise - own, own + model.fall
        cells = np.flatnonzero((node.choice == OPEN) & (up > BETWEEN_LEVELS) & (down > BETWEEN_LEVELS))
        if not len(cells):
            self._settle(node, clock)
            return None
        chosen: tuple[float, list[Node]] | None = None
        for cell in self._promising(cells, up, down).tolist():
            sides = self._sides(node, cell, float(up[cell]), float(down[cell]))
            if sides is None:
                continue
            bounds = sorted(min(side.bound, self._goal) for side in sides)
            score = bounds[0] + 0.1 * min(bounds[1], 10 * bounds[0] + 1)
            if chosen is None or score > chosen[0]:
                chosen = score, sides
            if bounds[0] >= self._goal or self._times[:, cell].min() >= self._params.reliable:
                break
        if chosen is None:  # no clear answer: the node stays open, and nothing below its bound is claimed
            self._leaves.append((node.bound, self.nodes, node))
            return None
        left = sorted((side for side in chosen[1] if side.bound < self._goal), key=lambda side: side.bound)
        for side in left[1:]:
            heapq.heappush(self._heap, (side.bound, self.nodes, side))
        return left[0] if left else None

    def _promising(self, cells: Int, up: Float, down: Float) -> Int:
        """The cells whose branches should raise the bound most, by pseudo-costs."""
        weight = self.model.weight[self.model.cells]
        rates = np.where(self._times > 0, self._raised / np.maximum(self._times, 1), weight)
        gains = rates[:, cells] * np.stack([up[cells], down[cells]])
        score = gains.min(axis=0) + 0.2 * gains.max(axis=0)
        return cells[np.argsort(-score, kind="stable")[: self._params.tried]]

    def _sides(self, node: Node, cell: int, up: float, down: float) -> list[Node] | None:
        sides = []
        for k, (sense, way) in enumerate(((UP, up), (DOWN, down))):
            choice = node.choice.copy()
            choice[cell] = sense
            found = self.coordinates.solve(choice, node.basis)
            if found is None:
                return None
            top = self._goal if np.isfinite(self._goal) else 3 * node.bound
            self._raised[k, cell] += max(min(found.bound, top) - node.bound, 0.0) / way
            self._times[k, cell] += 1
            sides.append(found)
        return sides

    def _settle(self, node: Node, clock: Deadline) -> None:
        """A leaf: all senses are clear."""
        assert node.own is not None
        middle = (self.model.rise - self.model.fall) / 2.0
        senses = np.where(node.choice == OPEN, node.own > middle, node.choice == UP)
        fit = self._given.fit(senses, clock)
        if fit is not None and (self.best is None or fit.cost < self.best.cost):
            self.best = fit
        self._leaves.append((node.bound, self.nodes, node))

    def _prove_leaves(self, clock: Deadline) -> None:
        """Search leaves in whole movements, those of the lowest bounds first; these bounds rise."""
        left, waiting = self._params.whole_nodes, sorted(self._leaves, key=lambda leaf: leaf[:2])
        self._leaves = []
        for bound, number, leaf in waiting:
            if bound < self._goal and left > 0 and self.best is not None and not clock.is_over:
                answer = self._program.search_whole(self.best, leaf.choice, Budget(clock, nodes=left))
                if answer is not None:
                    left -= max(answer.nodes, 1)
                    bound = max(bound, answer.bound)
                    self._take(answer)
            self._leaves.append((bound, number, leaf))

    def _take(self, answer: MIPAnswer) -> None:
        """The movement found, where it keeps everything and is cheaper."""
        movement, senses = self._program.movement_of(answer), self._program.senses_of(answer)
        if movement is None or senses is None or self.best is None:
            return
        y = np.rint(movement).astype(np.int64)
        if self.model.fits(y) and self.model.cost(y) < self.best.cost:
            self.best = Fit(y, senses, self.model.cost(y))

    @cached_property
    def _program(self) -> SenseProgram:
        return SenseProgram(self.model, None)
