"""Growing patterns by splitting: all costly demands together, so that they share what they hide.

Open demands are spread over a few *tasks*: the largest have one deviation each; the others, grouped by size
and each in a direction drawn at random, share one as far as they do not stand in each other's way. The
splitting engine then looks for all these deviations at once,

    min Σ_j c_j ‖(y¹_j, …, y^K_j)‖   subject to   M y^k = 0,  bounds,  goals

where c_j = 0 for what is hidden anyway. The cost is made to resemble the true one, which is paid once for a
cell however far it moves, by *slopes*: c_j = w_j / (max_k |y^k_j| + ε) with falling ε. What moves is hidden.

A float is not a proof: each deviation is then settled inside what is hidden, made exact by the lattice of
these cells, and only then written into the book. What does not come out exact stays open and comes up again,
with what it lacked at a price. `polish` takes a finished book and solves for all its paid witnesses again,
together: the costs of the early ones no longer ignore the later ones.

Requires any relations. Ensures that what a book holds is exact. Does not ensure that no demand stays open.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cellveil.attack.lattice import Lattice
from cellveil.problem import Problem, Status
from cellveil.solvers.projection import Projection, projection_of
from cellveil.solvers.splitting import Goals, Splitting, State
from cellveil.suppression.book import Book
from cellveil.suppression.search import drop_unused
from cellveil.tables.keys import Int

Float = NDArray[np.float64]
Bool = NDArray[np.bool_]
Stop = Callable[[], bool]

SLACK = 0.005
"""So much more than the amount is looked for, in so much less than the rooms: space for settling."""

MORE_SLACK = 3.0
"""By this factor the slack grows from round to round, for what would not settle."""

ENOUGH, OUTER = 1.0005, 0.9999
"""What is kept of the amount's surplus, and used of the rooms, when settled: space for exactness."""

FIRST_STEP = 0.005
SLOPES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
STEPS_PER_SLOPE = 600
BURST = 400
BURSTS = 10
SINGLE_ROUNDS = 4
SETTLED = 1e-9
NEARLY = 1e-7
"""A deviation less settled than this is not tried to be made exact."""

FEWEST_ALONE, MOST_ALONE = 24, 200
"""How many demands have a deviation of their own, depending on the size of the table."""

MOST_ENTRIES = 12_000_000
"""Places times deviations held at a time."""

SIZE_CLASS = 1.5
"""Demands whose decimal logarithms differ by less share a deviation."""


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

    @property
    def unit(self) -> float:
        """Deviations are measured in units of the largest amount."""
        return float(self.amounts.max())


class Growth:
    """The splitting engine on the demands of one problem."""

    def __init__(self, problem: Problem, *, seed: int = 0, projection: Projection | None = None) -> None:
        self.problem = problem
        self.projection = projection or projection_of(problem.table)
        self.engine = Splitting(self.projection)
        self.rng = np.random.default_rng(seed)
        self._movable = problem.status != Status.FROZEN
        self._down = np.where(self._movable, np.minimum(problem.down, 2.0**52), 0.0)
        self._up = np.where(self._movable, np.minimum(problem.up, 2.0**52), 0.0)
        priced = problem.weight[self._movable & ~problem.hidden_at_start]
        self._unit = float(np.median(priced[priced > 0])) if (priced > 0).any() else 1.0
        self._most = max(1, MOST_ENTRIES // self.projection.size)

    # -- what to do ----------------------------------------------------------------------------------------

    def harvest(self, book: Book, stop: Stop, *, rounds: int = 6) -> None:
        """Meet open demands inside what is hidden, free of cost."""
        for _ in range(rounds):
            left = book.num_open
            if not left or stop():
                return
            tasks = self._grouped(book, *book.open_demands()[:2], draws=2)[: self._most]
            bounds = self._bounds(tasks, book.hidden, 1 - SLACK)
            state = self.engine.run(
                self.engine.start(len(tasks), 0.05), np.zeros(self.projection.size), bounds,
                self._goals(tasks, 1.0, SLACK), tolerance=1e-5, iterations=BURST,
            )  # fmt: skip
            self._settle(book, tasks, state, book.hidden, stop)
            if book.num_open > 0.8 * left:
                return

    def build(self, book: Book, stop: Stop, *, rounds: int = 8) -> None:
        """Hide what open demands need, and meet them."""
        slack = SLACK
        for _ in range(rounds):
            left = book.num_open
            if not left or stop():
                return
            tasks = self._tasks(book)
            state = self._cheapest(book, tasks, self.engine.start(len(tasks), FIRST_STEP), stop, slack)
            self._settle(book, tasks, state, self._hide_moved(book, state), stop)
            if book.num_open and left > book.num_open:
                self.harvest(book, stop, rounds=2)
            if 2 * book.num_open > left:
                slack = min(slack * MORE_SLACK, 0.2)

    def protect(self, book: Book, cell: int, up: bool, stop: Stop) -> bool:
        """Hide what one open demand needs, and meet it; tells whether that succeeded."""
        amount = float((book.need_up if up else book.need_down)[cell])
        task = Task(np.array([cell]), np.array([1.0 if up else -1.0]), np.array([amount]), False)
        slack = SLACK
        for _ in range(SINGLE_ROUNDS):
            if stop():
                break
            state = self._cheapest(book, [task], self.engine.start(1, FIRST_STEP), stop, slack)
            self._settle(book, [task], state, self._hide_moved(book, state), stop)
            if (book.witness_up if up else book.witness_down)[cell] >= 0:
                return True
            slack *= MORE_SLACK
        return False

    def polish(self, book: Book, stop: Stop) -> Book:
        """A book for the same problem in which all paid witnesses were looked for together, if cheaper."""
        free, tasks, start = self._paid_witnesses(book)
        if not tasks:
            return book
        fresh = Book(self.problem)
        fresh.add_all(book.witnesses().take(free))
        state = self._cheapest(fresh, tasks, start, stop, SLACK)
        if stop():
            return book
        self._settle(fresh, tasks, state, self._hide_moved(fresh, state), stop)
        self.harvest(fresh, stop)
        self.build(fresh, stop)
        drop_unused(fresh)
        return fresh if not fresh.num_open and fresh.cost < book.cost else book

    # -- tasks ---------------------------------------------------------------------------------------------

    def _tasks(self, book: Book) -> list[Task]:
        """The largest open demands one by one, the others in groups."""
        cells, up, amounts = book.open_demands()
        alone = int(np.clip(500_000 // self.projection.size, FEWEST_ALONE, MOST_ALONE))
        alone = min(alone, max(1, self._most - 6), len(cells))
        tasks = [
            Task(cells[[i]], np.array([1.0 if up[i] else -1.0]), amounts[[i]].astype(float), False)
            for i in range(alone)
        ]
        return (tasks + self._grouped(book, cells[alone:], up[alone:], draws=1))[: self._most]

    def _grouped(self, book: Book, cells: Int, up: Bool, *, draws: int) -> list[Task]:
        """Demands of about the same size, each cell once, in a random direction; the largest first."""
        rises, falls = np.unique(cells[up]), np.unique(cells[~up])
        either = np.union1d(rises, falls)
        fixed = np.where(np.isin(either, rises), 1.0, -1.0)
        both = np.isin(either, rises) & np.isin(either, falls)
        tasks = []
        for _ in range(draws):
            signs = np.where(both, self.rng.choice([-1.0, 1.0], len(either)), fixed)
            amounts = np.where(signs > 0, book.need_up[either], book.need_down[either]).astype(float)
            size = np.floor(np.log10(np.maximum(amounts, 1)) / SIZE_CLASS).astype(int)
            for s in np.unique(size)[::-1]:
                mine = size == s
                tasks.append(Task(either[mine], signs[mine], amounts[mine], True))
        return tasks

    def _paid_witnesses(self, book: Book) -> tuple[Int, list[Task], State]:
        """Numbers of the witnesses that move no secondary; tasks and deviations of the others."""
        witnesses = book.witnesses()
        owner = np.repeat(np.arange(len(witnesses)), np.diff(witnesses.starts))
        secondary = book.hidden & ~self.problem.hidden_at_start
        paid = np.zeros(len(witnesses), dtype=bool)
        paid[owner[secondary[witnesses.cells]]] = True
        trial = Book(self.problem, book.hidden)
        trial.add_all(witnesses.take(np.flatnonzero(~paid)))
        tasks, columns = [], []
        lengths = np.diff(witnesses.starts)
        for number in sorted(np.flatnonzero(paid).tolist(), key=lambda w: -lengths[w]):
            witness = witnesses[number]
            was_up, was_down = trial.witness_up < 0, trial.witness_down < 0
            if not trial.add(witness):
                continue
            rises = np.flatnonzero(was_up & (trial.witness_up >= 0))
            falls = np.flatnonzero(was_down & (trial.witness_down >= 0))
            moved = np.zeros(len(secondary))
            moved[witness.cells] = witness.numerators / witness.denominator
            cells = np.concatenate([rises, falls])
            amounts = np.concatenate([trial.need_up[rises], trial.need_down[falls]]).astype(float)
            # Demands met by the reversed deviation ask for the opposite sign.
            as_is = np.concatenate([moved[rises] > 0, moved[falls] < 0])
            if not as_is.any():
                moved, as_is = -moved, ~as_is
            tasks.append(Task(cells, np.sign(moved[cells]), amounts, not bool(as_is.all())))
            columns.append(moved / tasks[-1].unit)
        state = self.engine.start(len(tasks), FIRST_STEP)
        for k, column in enumerate(columns):
            state.z[self.projection.places, k] = column
        return np.flatnonzero(~paid), tasks[: self._most], _first(state, self._most)

    # -- looking -------------------------------------------------------------------------------------------

    def _cheapest(self, book: Book, tasks: list[Task], state: State, stop: Stop, slack: float) -> State:
        """Deviations of least slope cost that do the tasks, as far as they can be done."""
        weight = np.where(book.hidden | ~self._movable, 0.0, self.problem.weight / self._unit)
        tiny = 1e-5 * self.rng.random(len(weight))
        bounds = self._bounds(tasks, self._movable, 1 - slack)
        goals = self._goals(tasks, 100.0 * float(weight.max(initial=1.0)), slack)
        places = self.projection.places
        for slope in SLOPES:
            if stop():
                break
            moved = np.abs(state.z[places]).max(axis=1)
            cost = self._placed(weight / (moved + slope) + tiny)
            state = self.engine.run(state, cost, bounds, goals, tolerance=1e-3, iterations=STEPS_PER_SLOPE)
        return state

    def _hide_moved(self, book: Book, state: State) -> Bool:
        """Hide what the deviations move."""
        moved = (np.abs(state.x[self.projection.places]) > 1e-9).any(axis=1) & self._movable
        book.hide(np.flatnonzero(moved & ~book.hidden))
        return book.hidden

    # -- exactness -----------------------------------------------------------------------------------------

    def _settle(self, book: Book, tasks: list[Task], state: State, allowed: Bool, stop: Stop) -> None:
        """Make the deviations exact inside the allowed cells and write them down."""
        places = self.projection.places
        there = [
            task.signs * state.z[places[task.cells], k] >= task.amounts / task.unit * ENOUGH * (1 - 1e-3)
            for k, task in enumerate(tasks)
        ]
        live = [k for k in range(len(tasks)) if there[k].any()]
        state = State(
            state.z[:, live], state.x[:, live], 0.0 * state.u[:, live], state.step, state.errors[live]
        )
        lattice = self._lattice(book, allowed)
        nothing = np.zeros(self.projection.size)
        stuck = dict.fromkeys(live, 0)
        for _ in range(BURSTS):
            if not live or stop():
                return
            bounds = self._bounds([tasks[k] for k in live], allowed, OUTER, [there[k] for k in live])
            before = state.errors
            state = self.engine.run(state, nothing, bounds, Goals.none(), tolerance=SETTLED, iterations=BURST)
            keep = []
            for position, k in enumerate(live):
                error = state.errors[position]
                if error < NEARLY and self._write(book, lattice, state.z[places, position] * tasks[k].unit):
                    continue
                if error < SETTLED:
                    continue
                if error > 0.3 * before[position]:  # some stand in each other's way
                    stuck[k] += 1
                    z = state.z[places[tasks[k].cells], position]
                    held = tasks[k].signs * z >= tasks[k].amounts / tasks[k].unit * ENOUGH * (1 - 1e-6)
                    if stuck[k] > 1:
                        if len(held) == 1 or (held | ~there[k]).all() or not (held & there[k]).any():
                            continue
                        there[k] = there[k] & held
                        stuck[k] = 0
                keep.append(position)
            live = [live[position] for position in keep]
            state = State(
                state.z[:, keep], state.x[:, keep], state.u[:, keep], state.step, state.errors[keep]
            )

    def _lattice(self, book: Book, allowed: Bool) -> Lattice:
        cells = np.flatnonzero(allowed)
        return Lattice(self.problem.table.relations, cells, np.minimum(self._down, self._up)[cells])

    def _write(self, book: Book, lattice: Lattice, moved: Float) -> int:
        """Make a deviation exact and write it into the book; return how many demands it meets."""
        cells = lattice.cells
        witness = lattice.lift(moved[cells], book.room_down[cells], book.room_up[cells])
        return 0 if witness is None else book.add(witness, stretch=True)

    # -- arrays --------------------------------------------------------------------------------------------

    def _bounds(
        self, tasks: list[Task], allowed: Bool, share: float, there: list[Bool] | None = None
    ) -> tuple[Float, Float]:
        """Capacities in units of each task; the goals that are `there` must be kept."""
        low, high = np.zeros((self.projection.size, len(tasks))), np.zeros((self.projection.size, len(tasks)))
        down, up = np.where(allowed, self._down, 0.0), np.where(allowed, self._up, 0.0)
        for k, task in enumerate(tasks):
            falls, rises = down / task.unit, up / task.unit
            if task.both_ways:
                falls = rises = np.minimum(np.minimum(falls, rises), 8.0)
            lowest, highest = -falls * share, rises * share
            own, wanted = task.cells, task.amounts / task.unit
            lowest[own], highest[own] = -falls[own], rises[own]
            if there is not None:
                own, wanted, signs = own[there[k]], wanted[there[k]] * ENOUGH, task.signs[there[k]]
                lowest[own] = np.where(signs > 0, np.minimum(wanted, rises[own]), lowest[own])
                highest[own] = np.where(signs < 0, np.maximum(-wanted, -falls[own]), highest[own])
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


def _first(state: State, count: int) -> State:
    """The first deviations of a state."""
    return State(
        np.ascontiguousarray(state.z[:, :count]),
        np.ascontiguousarray(state.x[:, :count]),
        np.ascontiguousarray(state.u[:, :count]),
        state.step,
        state.errors[:count],
    )
