"""Growing patterns by splitting: the demands that carry the cost one by one, the others together.

Most of the cost sits in a few large demands: these are protected one by one, both directions together. The
others, grouped by size and each in a direction drawn at random, share one deviation as far as they do not
stand in each other's way. What to hide for such a *task* is found by the splitting engine (`slopes`); in
tables too large for that as a whole, one demand at a time through windows.

A float is not a proof: each deviation is then settled inside what is hidden, made exact by the lattice of
these cells, and only then written into the book. What does not come out exact stays open and comes up again,
with what it lacked at a price.

Requires any relations. Ensures that what a book holds is exact. Does not ensure that no demand stays open.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cellveil.problem import Problem, Status
from cellveil.solvers.projection import SparseProjection, projection_of
from cellveil.suppression.book import Book
from cellveil.suppression.search import Stop, drop_unused
from cellveil.suppression.settling import Settling, Task, TimeLeft
from cellveil.suppression.slopes import Slopes, window
from cellveil.tables.keys import Int

Bool = NDArray[np.bool_]

SLACK = 0.01
"""So much more than the amount is looked for, in so much less than the rooms: space for settling."""

MORE_SLACK = 3.0
"""By this factor the slack grows from round to round, for what would not settle."""

ATTEMPTS = 4
SUPPORT = 1e-7
MOST_FOR_PROGRAMS = 15_000
PROGRAM_SLOPES, PROGRAM_SUPPORT = (0.1, 0.01), 1e-6
"""Tables without a cheap projection, up to so many cells, are left to interior points."""

MOST_TO_SETTLE = 60_000
"""Interior points are looked for among up to so many cells."""

GIANTS = 20
"""So many of the largest demands are protected one by one."""

WINDOW, WINDOWED_GIANTS, WINDOWED_GROUPS = 50_000, 100, 60
"""Tables of more places are looked at through windows of so many, for demands and for groups of them."""

FREE_TRIES = 2
"""So often what a window shows as hidden is asked to do for a group."""

ROUNDS = 5
CHEAP, CHEAP_ONES = 0.01, 3
"""After so many demands in a row that added less than this share of the cost, the rest is done in groups."""

RUINED = 0.3
"""Such a share of the secondaries is published for building anew."""

SIZE_CLASS = 1.5
"""Demands whose decimal logarithms differ by less share a deviation."""


class Growth:
    """The splitting engine on the demands of one problem."""

    def __init__(self, problem: Problem, *, seed: int = 0, time_left: TimeLeft | None = None) -> None:
        self.problem = problem
        self.rng = np.random.default_rng(seed)
        self._movable = problem.status != Status.FROZEN
        self._settling = Settling(problem, time_left)
        self._whole = Slopes(problem, projection_of(problem.table), self._settling, self.rng)
        projection = self._whole.projection
        self._is_irregular = isinstance(projection, SparseProjection)
        self.is_windowed = not self._is_irregular and projection.size > 2 * WINDOW

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

        In very large tables both through windows, and not all of the rest.
        """
        if self.is_windowed:
            self._protect_giants(book, stop, WINDOWED_GIANTS)
            self._protect_in_windows(book, stop)
            return
        self._protect_giants(book, stop, GIANTS)
        slack = SLACK
        for _ in range(ROUNDS):
            self.harvest(book, stop)
            left = book.num_open
            for task in self._grouped(book):
                if not stop():
                    self._pay(book, [task], stop, slack, self._whole)
            if not book.num_open or stop():
                return
            if 2 * book.num_open > left:
                slack = min(slack * MORE_SLACK, 0.1)
        self._protect_giants(book, stop, GIANTS)

    def regrow(self, book: Book, stop: Stop, tell: Callable[[Book], None]) -> None:
        """Ruin and recreate on a complete book: publish some secondaries, build anew, keep what is cheaper.

        Not in tables that are looked at through windows: the rest would have to be proved without harvests.
        """
        while not self.is_windowed and not stop():
            if self._finds_cheaper(book, stop):
                tell(book)

    def _finds_cheaper(self, book: Book, stop: Stop) -> bool:
        before, mark = book.cost, book.mark()
        secondaries = book.secondaries()
        for cell in secondaries[self.rng.random(len(secondaries)) < RUINED].tolist():
            book.publish(cell)

        def is_vain() -> bool:
            return book.cost >= before or stop()

        self.harvest(book, is_vain)
        self.build(book, is_vain)
        if not book.num_open:
            drop_unused(book)
        if book.num_open or book.cost >= before:
            book.rollback(mark)
            return False
        book.tidy()
        return True

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

    def _protect_in_windows(self, book: Book, stop: Stop) -> None:
        """Window after window around the largest open demand: what it shows of others like it as a group."""
        tried: set[int] = set()
        for _ in range(WINDOWED_GROUPS):
            cells, _, amounts = book.open_demands()
            untried = np.flatnonzero(~np.isin(cells, list(tried)))
            if not len(untried) or stop():
                return
            first = untried[0]
            tried.add(int(cells[first]))
            slopes = self._through_window(book, int(cells[first]), float(amounts[first]))
            for _ in range(FREE_TRIES):
                for task in self._grouped(book, slopes.projection.cells)[:1]:
                    self._settle(book, task, slopes.inside(book.hidden))
            group = self._grouped(book, slopes.projection.cells)
            if group and not stop():
                self._pay(book, group[:1], stop, SLACK, slopes)

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
        slopes = self._through_window(book, cell, tasks[0].unit) if self.is_windowed else self._whole
        self._pay(book, tasks, stop, SLACK, slopes)
        return bool((book.witness_up if up else book.witness_down)[cell] >= 0)

    def protect_together(self, book: Book, task: Task, stop: Stop) -> None:
        """Hide what a group of demands needs, and meet as many as one deviation can.

        In very large tables through windows around its largest demands, until each has been in one.
        """
        if not self.is_windowed:
            self._pay(book, [task], stop, SLACK, self._whole)
            return
        for first in np.argsort(-task.amounts, kind="stable").tolist():
            cell, rises = int(task.cells[first]), bool(task.signs[first] > 0)
            if stop():
                return
            if not book.is_open(cell, rises):
                continue
            slopes = self._through_window(book, cell, float(task.amounts[first]))
            inside = np.isin(task.cells, slopes.projection.cells)
            inside &= [book.is_open(one, rises) for one in task.cells.tolist()]
            part = Task(task.cells[inside], task.signs[inside], task.amounts[inside], task.both_ways)
            self._pay(book, [part], stop, SLACK, slopes)

    def _pay(self, book: Book, tasks: list[Task], stop: Stop, slack: float, slopes: Slopes) -> None:
        """Look for the deviations, hide what they move, and make them exact.

        Where something was read off too early to be feasible, the least that is missing is looked for among
        what was moved at one time or other; then from where the search stands, with what is hidden by now for
        free and more slack.
        """
        if self._is_irregular and self._movable.sum() <= MOST_FOR_PROGRAMS:
            for task in tasks:
                if not stop():
                    self._pay_by_programs(book, task)
            return
        state, touched = slopes.cheapest(book.hidden, tasks, stop, slack)
        for _ in range(ATTEMPTS):
            moved = slopes.moved(state)
            book.hide(np.flatnonzero(moved & ~book.hidden))
            few = moved | slopes.inside(self.problem.hidden_at_start)
            left = [
                k
                for k, task in enumerate(tasks)
                if not self._settle(book, task, few) and not self._settle(book, task, few, touched)
            ]
            if not left or stop():
                return
            tasks, state = [tasks[k] for k in left], state.part(left)
            slack = min(slack * MORE_SLACK, 0.2)
            state = slopes.closer(book.hidden, tasks, state, slack)

    def _through_window(self, book: Book, cell: int, amount: float) -> Slopes:
        part = window(self.problem, book.hidden, cell, amount, WINDOW)
        return Slopes(self.problem, part, self._settling, self.rng)

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

    def _grouped(self, book: Book, among: Int | None = None) -> list[Task]:
        """Open demands of about the same size, each cell once, in a random direction; the largest first."""
        cells, up, _ = book.open_demands()
        if among is not None:
            inside = np.isin(cells, among)
            cells, up = cells[inside], up[inside]
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
