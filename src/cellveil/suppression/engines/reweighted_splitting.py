"""Cheapest deviations by splitting: what to hide so that a task can be done.

The splitting engine looks for the deviations of some tasks together:

    min Σ_j c_j ‖(y¹_j, …, y^K_j)‖   subject to   M y^k = 0,  bounds,  goals

where c_j = 0 for what is hidden anyway. The cost is made to resemble the true one, which is paid once for a
cell however far it moves, by *slopes*: c_j = w_j / (max_k |y^k_j| + ε) with falling ε. What moves is hidden.

In very large tables a demand is looked at through a *window*: some codes of each dimension, chosen so that
what is near the cell can move. A deviation inside a window is one of the whole table. A window of a twentieth
of the places costs a few per cent of quality, and a twentieth of the time.

The deviations are floating-point numbers and no proof; `joint_witness` makes them exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import inf, prod

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.clock import Deadline
from cellveil.deviations.joint_witness import JointWitness, Task
from cellveil.params import Params, param, part
from cellveil.problem import Problem, Status
from cellveil.solvers import tolerances
from cellveil.solvers.douglas_rachford import DouglasRachfordParams, Goals, Splitting, State
from cellveil.solvers.parallel import side_by_side
from cellveil.solvers.projection import Projection, TensorProjection
from cellveil.tables.dimension import Dimension


@dataclass(frozen=True, kw_only=True)
class ReweightedSplittingParams(Params):
    """Parameters of iteratively reweighted splitting."""

    first_step: float = param(0.005, "Step of Douglas–Rachford at the start.", least=0)
    last_step: float = param(0.0005, "Step of the last, more accurate run.", least=0)
    slopes: tuple[float, ...] = param(
        (1.0, 0.3, 0.1, 0.03, 0.01, 0.003), "Falling ε of the weights.", least=0
    )
    iterations: int = param(600, "Most iterations for one ε.", least=1)
    accuracy: float = param(1e-3, "Residual at which the weights are updated.", least=0)
    last_accuracy: float = param(1e-5, "Residual of the last run.", least=0)
    reward: float = param(100.0, "Most that an amount not reached costs, in largest weights.", least=0)
    trace: float = param(1e-5, "Random cost on every cell, in median weights: breaks ties.", least=0)
    iteration: DouglasRachfordParams = part(DouglasRachfordParams)
    free_counts: float = param(10.0, "How often a hidden cell counts in the choice of a window.", least=0)


@dataclass(frozen=True)
class Terms:
    """On which terms amounts are to be reached: some margin beyond them, and what one may cost at most.

    The price is counted in median weights. It decides which demands of a group are left for later, and the
    less it is above what they cost, the better conditioned is the iteration.
    """

    slack: float
    price: float = inf


class ReweightedSplitting:
    """The splitting engine on one problem, or on a window of it."""

    def __init__(
        self,
        problem: Problem,
        projection: Projection,
        joint: JointWitness,
        rng: np.random.Generator,
        params: ReweightedSplittingParams,
    ) -> None:
        self.problem, self.projection, self.rng, self.params = problem, projection, rng, params
        self.engine = Splitting(projection, params.iteration)
        self._joint = joint
        self._movable = problem.status != Status.FROZEN
        priced = problem.weight[self._movable & ~problem.hidden_at_start]
        self._unit = float(np.median(priced[priced > 0])) if (priced > 0).any() else 1.0

    def start(self, tasks: list[Task]) -> State:
        """Deviations of nothing."""
        return self.engine.start(len(tasks), self.params.first_step)

    def closer(self, hidden: Bool, tasks: list[Task], state: State, terms: Terms) -> State:
        """Go on from a state with what is hidden by now for free, to a higher accuracy."""
        fresh = State(state.z, state.x, np.zeros_like(state.u), self.params.last_step, state.errors)
        at = self.params.slopes[-1], self.how_far(state)
        return self.at_slope(hidden, tasks, fresh, at, terms, self.params.last_accuracy)

    def how_far(self, state: State) -> Float:
        """How far a state moves each cell of the table at most, in units of its tasks."""
        far = np.zeros(len(self._movable))
        far[self.projection.cells] = np.abs(state.z[self.projection.places]).max(axis=1)
        return far

    def moved(self, state: State) -> Bool:
        """The cells that a state moves."""
        moved = np.zeros(len(self._movable), dtype=bool)
        moved[self.projection.cells] = (np.abs(state.x[self.projection.places]) > tolerances.SUPPORT).any(
            axis=1
        )
        return np.asarray(moved & self._movable)

    def inside(self, cells: Bool) -> Bool:
        """Those of the cells that are in the window."""
        inside = np.zeros(len(cells), dtype=bool)
        inside[self.projection.cells] = True
        return np.asarray(inside & cells)

    def at_slope(
        self,
        hidden: Bool,
        tasks: list[Task],
        state: State,
        at: tuple[float, Float],
        terms: Terms,
        tolerance: float,
    ) -> State:
        """Go on from a state with the weights of an ε, and of how far each cell is moved already."""
        (slope, far), cells, places = at, self.projection.cells, self.projection.places
        is_free = (hidden | ~self._movable)[cells]
        weight = np.where(is_free, 0.0, self.problem.weight[cells] / self._unit)
        cost = np.zeros(self.projection.size)
        cost[places] = weight / (far[cells] + slope) + self.params.trace * self.rng.random(len(weight))
        reward = min(self.params.reward * float(weight.max(initial=1.0)), terms.price)
        return self.engine.run(
            state,
            cost,
            self._bounds(tasks, 1 - terms.slack),
            self._goals(tasks, reward, terms.slack),
            tolerance=tolerance,
            iterations=self.params.iterations,
        )

    def _bounds(self, tasks: list[Task], share: float) -> tuple[Float, Float]:
        """So much of the capacities, in units of each task."""
        cells, places = self.projection.cells, self.projection.places
        low, high = np.zeros((2, self.projection.size, len(tasks)))
        for k, task in enumerate(tasks):
            falls, rises = self._joint.rooms(task)
            lowest, highest = -falls * share, rises * share
            lowest[task.cells], highest[task.cells] = -falls[task.cells], rises[task.cells]
            low[places, k], high[places, k] = lowest[cells], highest[cells]
        return low, high

    def _goals(self, tasks: list[Task], reward: float, slack: float) -> Goals:
        number = np.repeat(np.arange(len(tasks)), [len(task.cells) for task in tasks])
        cells = np.concatenate([task.cells for task in tasks])
        amounts = np.concatenate([task.signs * task.amounts / task.unit for task in tasks]) * (1 + slack)
        places = self.projection.places[np.searchsorted(self.projection.cells, cells)]
        return Goals(places, number, amounts, np.full(len(cells), reward))


@dataclass(frozen=True)
class Quest:
    """Tasks whose deviations share what they move, and where and on which terms they are looked for."""

    tasks: list[Task]
    terms: Terms
    slopes: ReweightedSplitting


def cheapest(hidden: Bool, quests: list[Quest], deadline: Deadline) -> list[tuple[State, Bool]]:
    """For each quest deviations of least slope cost that do the tasks, and all cells moved on the way.

    Quests are worked on side by side. Weights follow from how far a cell is moved by any of them, so that
    what one of them needs much becomes cheap for all.
    """
    states = [quest.slopes.start(quest.tasks) for quest in quests]
    touched = [np.zeros(len(hidden), dtype=bool) for _ in quests]
    params = quests[0].slopes.params
    for slope in params.slopes:
        if deadline.is_over:
            break
        far = np.max(
            [quest.slopes.how_far(state) for quest, state in zip(quests, states, strict=True)], axis=0
        )
        works = [
            partial(_reweighted, hidden, quest, state, (slope, far))
            for quest, state in zip(quests, states, strict=True)
        ]
        states = side_by_side(works, deadline)
        for mine, quest, state in zip(touched, quests, states, strict=True):
            mine |= quest.slopes.moved(state)
    return list(zip(states, touched, strict=True))


def _reweighted(
    hidden: Bool, quest: Quest, state: State, at: tuple[float, Float], deadline: Deadline
) -> State:
    slopes = quest.slopes
    return slopes.at_slope(hidden, quest.tasks, state, at, quest.terms, slopes.params.accuracy)


def window(
    problem: Problem, hidden: Bool, cell: int, amount: float, most: int, free_counts: float
) -> TensorProjection:
    """A part of a table with dimensions, of up to about `most` places, in which a cell can move so far.

    A code counts by what its cells can take that share another code with the cell, hidden ones
    `free_counts` times. Leaves come with the codes that cover them.
    """
    table = problem.table
    keys = table.keys
    own = [int(column[cell]) for column in keys]
    takes = np.minimum(problem.down, amount) * np.where(hidden, free_counts, 1.0)
    takes[problem.status == Status.FROZEN] = 0.0
    shared = np.sum([column == code for column, code in zip(keys, own, strict=True)], axis=0)
    codes = []
    for axis, dimension in enumerate(table.dimensions):
        near = np.flatnonzero(shared > (keys[axis] == own[axis]))
        score = np.bincount(keys[axis][near], takes[near], minlength=len(dimension)).astype(float)
        codes.append(_best_codes(dimension, score, own[axis], _codes_per_dimension(table.sizes, most)))
    return TensorProjection(table, codes)


def _codes_per_dimension(sizes: tuple[int, ...], most: int) -> int:
    """The largest number of codes that all dimensions may have, as far as they do, within so many places."""
    number = max(sizes)
    while number > 2 and prod(min(size, number) for size in sizes) > most:
        number -= 1
    return number


def _best_codes(dimension: Dimension, score: Float, own: int, most: int) -> Int:
    """Own code and the leaves of the highest scores, with all that covers them; half of them below `own`."""
    leaves, codes = dimension.closure
    own_leaves = leaves[codes == own]
    best = np.argsort(-score, kind="stable")
    best = best[np.isin(best, leaves)]
    is_below = np.isin(best, own_leaves)
    first = best[is_below][: max(most // 2, 1)]
    chosen = np.zeros(len(dimension), dtype=bool)
    chosen[own] = True
    for leaf in [*first.tolist(), *best.tolist()]:
        if chosen.sum() >= most:
            break
        chosen[codes[leaves == leaf]] = True
    return np.flatnonzero(chosen)
