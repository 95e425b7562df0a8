"""Growing patterns by splitting: the demands that carry the cost one by one, the others together.

Most of the cost sits in a few large demands: these are protected one by one, both directions together. The
others, grouped by size and each in a direction drawn at random, share one deviation as far as they do not
stand in each other's way. The splitting engine looks for the deviations of such a *task*:

    min Σ_j c_j ‖(y¹_j, …, y^K_j)‖   subject to   M y^k = 0,  bounds,  goals

where c_j = 0 for what is hidden anyway. The cost is made to resemble the true one, which is paid once for a
cell however far it moves, by *slopes*: c_j = w_j / (max_k |y^k_j| + ε) with falling ε. What moves is hidden.

A float is not a proof: each deviation is then settled inside what is hidden, made exact by the lattice of
these cells, and only then written into the book. What does not come out exact stays open and comes up again,
with what it lacked at a price.

Requires any relations. Ensures that what a book holds is exact. Does not ensure that no demand stays open.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cellveil.problem import Problem, Status
from cellveil.solvers.projection import Projection, SparseProjection, projection_of
from cellveil.solvers.splitting import Goals, Splitting, State
from cellveil.suppression.book import Book
from cellveil.suppression.search import Stop
from cellveil.suppression.settling import Settling, Task

Float = NDArray[np.float64]
Bool = NDArray[np.bool_]

SLACK = 0.01
"""So much more than the amount is looked for, in so much less than the rooms: space for settling."""

MORE_SLACK = 3.0
"""By this factor the slack grows from round to round, for what would not settle."""

FIRST_STEP, LAST_STEP = 0.005, 0.0005
SLOPES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
STEPS_PER_SLOPE = 600
ATTEMPTS = 4
SUPPORT = 1e-7
MOST_FOR_PROGRAMS = 15_000
PROGRAM_SLOPES, PROGRAM_SUPPORT = (0.1, 0.01), 1e-6
"""Tables without a cheap projection, up to so many cells, are left to interior points."""

MOST_TO_SETTLE = 60_000
"""Interior points are looked for among up to so many cells."""

GIANTS = 20
"""So many of the largest demands are protected one by one."""

GIANT_WORK, FEWEST_GIANTS = 4_000_000, 4
"""In large tables fewer, so that places times demands stay near this."""

ROUNDS = 5
CHEAP, CHEAP_ONES = 0.01, 3
"""After so many demands in a row that added less than this share of the cost, the rest is done in groups."""

SIZE_CLASS = 1.5
"""Demands whose decimal logarithms differ by less share a deviation."""


class Growth:
    """The splitting engine on the demands of one problem."""

    def __init__(self, problem: Problem, *, seed: int = 0, projection: Projection | None = None) -> None:
        self.problem = problem
        self.projection = projection or projection_of(problem.table)
        self.engine = Splitting(self.projection)
        self.rng = np.random.default_rng(seed)
        self._movable = problem.status != Status.FROZEN
        self._settling = Settling(problem)
        priced = problem.weight[self._movable & ~problem.hidden_at_start]
        self._unit = float(np.median(priced[priced > 0])) if (priced > 0).any() else 1.0

    # -- what to do ----------------------------------------------------------------------------------------

    def harvest(self, book: Book, stop: Stop, *, rounds: int = 6) -> None:
        """Meet open demands inside what is hidden, free of cost: as many as possible by one deviation."""
        if int(book.hidden.sum()) > MOST_TO_SETTLE:
            return
        for _ in range(rounds):
            left = book.num_open
            for task in self._grouped(book):
                if stop():
                    return
                self._settle(book, task, book.hidden)
            if book.num_open > 0.9 * left:
                return

    def build(self, book: Book, stop: Stop) -> None:
        """Hide what open demands need, and meet them: the largest one by one, the rest in groups.

        In very large tables only a few of the largest are taken on.
        """
        giants = int(np.clip(GIANT_WORK // self.projection.size, FEWEST_GIANTS, GIANTS))
        self._protect_giants(book, stop, giants)
        if int(book.hidden.sum()) > MOST_TO_SETTLE:
            return
        slack = SLACK
        for _ in range(ROUNDS):
            self.harvest(book, stop)
            left = book.num_open
            for task in self._grouped(book):
                if not stop():
                    self._pay(book, [task], stop, slack)
            if not book.num_open or stop():
                return
            if 2 * book.num_open > left:
                slack = min(slack * MORE_SLACK, 0.1)
        self._protect_giants(book, stop, GIANTS)

    def _protect_giants(self, book: Book, stop: Stop, most: int) -> None:
        """The largest open demands, as long as they still cost something."""
        tried: set[int] = set()
        cheap = 0
        while len(tried) < most and cheap < CHEAP_ONES:
            cells, up, _ = book.open_demands()
            untried = np.flatnonzero(~np.isin(cells, list(tried)))
            if not len(untried) or stop():
                return
            cell = int(cells[untried[0]])
            tried.add(cell)
            before = book.cost
            self.protect(book, cell, bool(up[untried[0]]), stop)
            cheap = cheap + 1 if book.cost - before < CHEAP * book.cost else 0

    def protect(self, book: Book, cell: int, up: bool, stop: Stop) -> bool:
        """Hide what an open demand needs, and its opposite if that is open too; tells whether it was met."""
        tasks = [
            Task(np.array([cell]), np.array([sign]), np.array([float(need[cell])]), False)
            for sign, need, witness in (
                (1.0, book.need_up, book.witness_up),
                (-1.0, book.need_down, book.witness_down),
            )
            if need[cell] > 0 and witness[cell] < 0
        ]
        self._pay(book, tasks, stop, SLACK)
        return bool((book.witness_up if up else book.witness_down)[cell] >= 0)

    def _pay(self, book: Book, tasks: list[Task], stop: Stop, slack: float) -> None:
        """Look for the deviations, hide what they move, and make them exact.

        Where something was read off too early to be feasible, the least that is missing is looked for among
        what was moved at one time or other; then from where the search stands, with what is hidden by now for
        free and more slack.
        """
        if isinstance(self.projection, SparseProjection) and self._movable.sum() <= MOST_FOR_PROGRAMS:
            for task in tasks:
                if not stop():
                    self._pay_by_programs(book, task)
            return
        state, touched = self._cheapest(book, tasks, stop, slack)
        for _ in range(ATTEMPTS):
            moved = self._hide_moved(book, state)
            few = moved | self.problem.hidden_at_start
            if int(few.sum()) > MOST_TO_SETTLE:
                few = moved
            left = [
                k
                for k, task in enumerate(tasks)
                if not self._settle(book, task, few) and not self._settle(book, task, few, touched)
            ]
            if not left or stop():
                return
            tasks, state = [tasks[k] for k in left], state.part(left)
            slack = min(slack * MORE_SLACK, 0.2)
            state = self._closer(book, tasks, state, slack)

    def _pay_by_programs(self, book: Book, task: Task) -> None:
        """The same by interior points on the whole table, where there is no cheap projection."""
        moved = self._settling.missing(task, book.hidden, self._movable)
        for slope in PROGRAM_SLOPES:
            if moved is None:
                return
            again = self._settling.missing(
                task, book.hidden, self._movable, slope=1 / (np.abs(moved) + slope)
            )
            moved = moved if again is None else again
        if moved is not None:
            book.hide(np.flatnonzero((np.abs(moved) > PROGRAM_SUPPORT) & ~book.hidden & self._movable))
            self._settle(book, task, book.hidden)

    # -- tasks ---------------------------------------------------------------------------------------------

    def _grouped(self, book: Book) -> list[Task]:
        """Open demands of about the same size, each cell once, in a random direction; the largest first."""
        cells, up, _ = book.open_demands()
        either = np.unique(cells)
        rises, falls = np.isin(either, cells[up]), np.isin(either, cells[~up])
        drawn = self.rng.choice([-1.0, 1.0], len(either))
        signs = np.where(rises & falls, drawn, np.where(rises, 1.0, -1.0))
        amounts = np.where(signs > 0, book.need_up[either], book.need_down[either]).astype(float)
        size = np.floor(np.log10(np.maximum(amounts, 1)) / SIZE_CLASS).astype(int)
        return [
            Task(either[mine], signs[mine], amounts[mine], True)
            for mine in (size == s for s in np.unique(size)[::-1])
        ]

    # -- looking -------------------------------------------------------------------------------------------

    def _cheapest(self, book: Book, tasks: list[Task], stop: Stop, slack: float) -> tuple[State, Bool]:
        """Deviations of least slope cost that do the tasks, and all cells that were moved on the way."""
        state = self.engine.start(len(tasks), FIRST_STEP)
        touched = np.zeros(len(self._movable), dtype=bool)
        for slope in SLOPES:
            if stop():
                break
            state = self._at_slope(book, tasks, state, slope, slack, 1e-3)
            touched |= self._moved(state)
        return state, touched

    def _closer(self, book: Book, tasks: list[Task], state: State, slack: float) -> State:
        """Go on from a state with what is hidden by now for free, to a higher accuracy."""
        fresh = State(state.z, state.x, np.zeros_like(state.u), LAST_STEP, state.errors)
        return self._at_slope(book, tasks, fresh, SLOPES[-1], slack, 1e-5)

    def _at_slope(
        self, book: Book, tasks: list[Task], state: State, slope: float, slack: float, tolerance: float
    ) -> State:
        weight = np.where(book.hidden | ~self._movable, 0.0, self.problem.weight / self._unit)
        moved = np.abs(state.z[self.projection.places]).max(axis=1)
        cost = weight / (moved + slope) + 1e-5 * self.rng.random(len(weight))
        return self.engine.run(
            state,
            self._placed(cost),
            self._bounds(tasks, 1 - slack),
            self._goals(tasks, 100.0 * float(weight.max(initial=1.0)), slack),
            tolerance=tolerance,
            iterations=STEPS_PER_SLOPE,
        )

    def _hide_moved(self, book: Book, state: State) -> Bool:
        """Hide what the deviations move, and return it."""
        moved = self._moved(state)
        book.hide(np.flatnonzero(moved & ~book.hidden))
        return moved

    def _moved(self, state: State) -> Bool:
        moved = np.abs(state.x[self.projection.places]) > 1e-9
        return np.asarray(moved.any(axis=1) & self._movable)

    # -- exactness -----------------------------------------------------------------------------------------

    def _settle(self, book: Book, task: Task, allowed: Bool, candidates: Bool | None = None) -> bool:
        """Do the task inside the allowed cells, exactly, and write the deviation down; tells whether it met.

        With `candidates` further cells may be used at their price, and are hidden.
        """
        if candidates is not None:
            moved = self._settling.missing(task, allowed, candidates)
            if moved is None:
                return False
            new = (np.abs(moved) > SUPPORT) & ~book.hidden
            book.hide(np.flatnonzero(new))
            allowed = allowed | new
        witness = self._settling.exact(book, task, allowed)
        return witness is not None and book.add(witness, stretch=True) > 0

    # -- arrays --------------------------------------------------------------------------------------------

    def _bounds(self, tasks: list[Task], share: float) -> tuple[Float, Float]:
        """So much of the capacities, in units of each task."""
        low, high = np.zeros((self.projection.size, len(tasks))), np.zeros((self.projection.size, len(tasks)))
        for k, task in enumerate(tasks):
            falls, rises = self._settling.rooms(task)
            lowest, highest = -falls * share, rises * share
            lowest[task.cells], highest[task.cells] = -falls[task.cells], rises[task.cells]
            low[self.projection.places, k] = lowest
            high[self.projection.places, k] = highest
        return low, high

    def _goals(self, tasks: list[Task], reward: float, slack: float) -> Goals:
        number = np.repeat(np.arange(len(tasks)), [len(task.cells) for task in tasks])
        cells = np.concatenate([task.cells for task in tasks])
        amounts = np.concatenate([task.signs * task.amounts / task.unit for task in tasks]) * (1 + slack)
        return Goals(self.projection.places[cells], number, amounts, np.full(len(cells), reward))

    def _placed(self, column: Float) -> Float:
        """Figures of the cells at their places."""
        placed = np.zeros(self.projection.size)
        placed[self.projection.places] = column
        return placed
