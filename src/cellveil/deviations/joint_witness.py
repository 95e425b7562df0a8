"""JointWitness: a task done inside a given set of cells, by an interior point made exact.

Whoever has chosen which cells to hide asks here for a deviation of just these cells that moves some of them
far enough. An interior point of all such deviations leaves a little room everywhere, so the lattice of the
cells makes it exact almost without loss. Where the cells do not suffice, others may be offered at a price.

A *harvest* asks so for many open demands at once, inside what is hidden: one deviation that does for as many
as it can, the signs drawn at random, and again with others as long as that pays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.deviations.integer_kernel import Lattice
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.witness import Witness
from cellveil.params import Params, param
from cellveil.problem import Problem, Status
from cellveil.solvers.parallel import side_by_side


@dataclass(frozen=True, kw_only=True)
class JointWitnessParams(Params):
    """Parameters of joint witnesses."""

    enough: float = param(1.0005, "How much of each amount is asked for: leaves space for rounding.", least=1)
    outer: float = param(0.9999, "How much of the capacities is used.", least=0, most=1)
    reach: float = param(100.0, "Largest movement of a cell, in units of the task.", least=1)
    seconds: float = param(60.0, "Time limit of one interior-point solve.", least=0)
    size_class: float = param(1.5, "Range of decimal logarithms of amounts solved for together.", least=0)
    fewest: float = param(0.1, "Least share of open demands a round must meet to go on.", least=0, most=1)
    rounds: int = param(6, "Rounds of a harvest.", least=0)


@dataclass(frozen=True, eq=False)
class Task:
    """One deviation to look for.

    Parameters
    ----------
    cells, signs, amounts
        How far which cells are to be moved, and which way.
    both_ways
        Whether the reversed deviation is to fit the capacities as well.
    """

    cells: Int
    signs: Float
    amounts: Float
    both_ways: bool

    @classmethod
    def single(cls, cell: int, up: bool, amount: int) -> Task:
        """Move one cell."""
        return cls(np.array([cell]), np.array([1.0 if up else -1.0]), np.array([float(amount)]), False)

    @property
    def unit(self) -> float:
        """Deviations are measured in units of the largest amount."""
        return float(self.amounts.max())


class JointWitness:
    """Deviations of given cells of one problem.

    Parameters
    ----------
    deadline
        When to stop; each solve has a limit of its own besides.
    """

    def __init__(
        self,
        problem: Problem,
        deadline: Deadline = NO_LIMIT,
        params: JointWitnessParams | None = None,
    ) -> None:
        self.deadline = deadline
        self.params = params or JointWitnessParams()
        self._lattice: Lattice | None = None
        movable = problem.status != Status.FROZEN
        self.problem = problem
        self.down = np.where(movable, np.minimum(problem.down, 2.0**52), 0.0)
        self.up = np.where(movable, np.minimum(problem.up, 2.0**52), 0.0)

    def rooms(self, task: Task) -> tuple[Float, Float]:
        """How far each cell may fall and rise, in units of the task."""
        falls, rises = self.down / task.unit, self.up / task.unit
        if task.both_ways:
            falls = rises = np.minimum(np.minimum(falls, rises), self.params.reach)
        return falls, rises

    def missing(
        self, task: Task, allowed: Bool, candidates: Bool, *, slope: Float | None = None
    ) -> Float | None:
        """The movements, in units of the task, for which the least weight of candidates is needed.

        `slope` multiplies the weight of each cell per unit moved.
        """
        return _TaskProgram(self, task, allowed, candidates, slope).solve(self._solve_limit())

    def exact(self, ledger: Ledger, task: Task, allowed: Bool) -> Witness | None:
        """An exact deviation of the allowed cells that does the task, or much of it."""
        moved = _TaskProgram(self, task, allowed, None, None).solve(self._solve_limit())
        if moved is None:
            return None
        cells = np.flatnonzero(allowed)
        lattice = self._lattice_of(cells)
        return lattice.lift(moved[cells] * task.unit, ledger.room_down[cells], ledger.room_up[cells])

    def _lattice_of(self, cells: Int) -> Lattice:
        """The lattice of these cells: often the same ones are asked for several times in a row."""
        if self._lattice is None or not np.array_equal(self._lattice.cells, cells):
            room = np.minimum(self.down, self.up)[cells]
            self._lattice = Lattice(self.problem.table.relations, cells, room)
        return self._lattice

    def harvest(
        self,
        ledger: Ledger,
        rng: np.random.Generator,
        *,
        rounds: int | None = None,
        others: Sequence[JointWitness] = (),
    ) -> None:
        """Meet open demands inside what is hidden, as many as possible by one deviation.

        `others` work beside it, on further groups of demands.
        """
        team = [self, *others]
        for _ in range(self.params.rounds if rounds is None else rounds):
            left, tasks = ledger.num_open, grouped(ledger, rng, params=self.params)
            while tasks:
                if self.is_over:
                    return
                pairs = zip(team, tasks, strict=False)
                works = [partial(each._inside, ledger, task) for each, task in pairs]
                for witness in side_by_side(works, self.deadline):
                    if witness is not None:
                        ledger.add(witness, stretch=True)
                del tasks[: len(team)]
            if ledger.num_open > (1 - self.params.fewest) * left:
                return

    def _inside(self, ledger: Ledger, task: Task, deadline: Deadline) -> Witness | None:
        return self.exact(ledger, task, ledger.hidden)

    @property
    def is_over(self) -> bool:
        """Whether time is up."""
        return self.deadline.is_over

    def _solve_limit(self) -> Deadline:
        left = self.deadline.left
        return Deadline(self.params.seconds if left is None else min(left, self.params.seconds))


def grouped(
    ledger: Ledger,
    rng: np.random.Generator,
    among: Int | None = None,
    params: JointWitnessParams | None = None,
) -> list[Task]:
    """Open demands by size, the largest first: each cell once, in a direction drawn at random."""
    cells, up, _ = ledger.open_demands()
    if among is not None:
        inside = np.isin(cells, among)
        cells, up = cells[inside], up[inside]
    either = np.unique(cells)
    rises, falls = np.isin(either, cells[up]), np.isin(either, cells[~up])
    drawn = rng.choice([-1.0, 1.0], len(either))
    signs = np.where(rises & falls, drawn, np.where(rises, 1.0, -1.0))
    amounts = np.where(signs > 0, ledger.need_up[either], ledger.need_down[either]).astype(float)
    size = np.floor(np.log10(np.maximum(amounts, 1)) / (params or JointWitnessParams()).size_class).astype(
        int
    )
    return [
        Task(either[mine], signs[mine], amounts[mine], True)
        for mine in (size == s for s in np.unique(size)[::-1])
    ]


class _TaskProgram:
    """The linear program of one task inside some cells.

    Variables are the movements of the cells; for cells at a price rises and falls apart; and for tasks of
    several goals how far each is reached, which is rewarded.
    """

    def __init__(
        self,
        settling: JointWitness,
        task: Task,
        allowed: Bool,
        candidates: Bool | None,
        slope: Float | None,
    ) -> None:
        from scipy.sparse import block_array, coo_array

        params = settling.params
        open_ = allowed if candidates is None else allowed | candidates
        self.cells = np.flatnonzero(open_)
        self.size = len(open_)
        matrix = settling.problem.table.relations.matrix[:, self.cells].tocsr()
        matrix = matrix[np.flatnonzero(np.diff(matrix.indptr))]
        falls, rises = (
            np.minimum(room[self.cells] * params.outer, params.reach) for room in settling.rooms(task)
        )
        self.priced = np.flatnonzero(~allowed[self.cells])
        price = settling.problem.weight[self.cells[self.priced]] / settling.problem.weight.max(initial=1.0)
        if slope is not None:
            price = price * slope[self.cells[self.priced]]
        own = np.searchsorted(self.cells, task.cells)
        wanted = task.amounts / task.unit
        soft = len(own) > 1
        goals = len(own) if soft else 0
        self.low, self.high = -falls, rises
        full_fall, full_rise = (room[task.cells] for room in settling.rooms(task))
        self.low[own], self.high[own] = -full_fall, np.minimum(full_rise, params.reach)
        if not soft:
            enough = np.minimum(wanted * params.enough, np.where(task.signs > 0, full_rise, full_fall))
            self.low[own] = np.where(task.signs > 0, enough, self.low[own])
            self.high[own] = np.where(task.signs < 0, -enough, self.high[own])
        self.low[self.priced] = 0.0
        reached = coo_array(
            (task.signs / wanted, (np.arange(len(own)), own)), shape=(len(own), len(self.cells))
        )
        minus = coo_array((-np.ones(goals), (np.arange(goals), np.arange(goals))), shape=(goals, goals))
        blocks = [[matrix, -matrix[:, self.priced], None], [reached, None, minus]]
        self.matrix = block_array(blocks if soft else [blocks[0][:2]], format="csc")
        self.rows = (
            np.zeros(self.matrix.shape[0]),
            np.concatenate([np.zeros(matrix.shape[0]), np.full(goals, np.inf)]),
        )
        reward = 1.0 if candidates is None else 1e3
        free = np.zeros(len(self.cells))
        free[self.priced] = price
        self.cost = np.concatenate([free, price, np.full(goals, -reward)])
        self.bounds = (
            np.concatenate([self.low, np.zeros(len(self.priced)), np.full(goals, -params.reach)]),
            np.concatenate([self.high, falls[self.priced], np.full(goals, params.enough)]),
        )

    def solve(self, deadline: Deadline) -> Float | None:
        """The movements of all cells, in units of the task; None where the task cannot be done in time."""
        from cellveil.solvers.interior_point import interior_point

        if (self.bounds[0] > self.bounds[1]).any() or not len(self.cells) or deadline.is_over:
            return None
        point = interior_point(self.matrix, self.rows, self.cost, self.bounds, deadline=deadline)
        if point is None:
            return None
        moved = np.zeros(self.size)
        moved[self.cells] = point[: len(self.cells)]
        moved[self.cells[self.priced]] -= point[len(self.cells) : len(self.cells) + len(self.priced)]
        return moved
