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

from cellveil.arrays import Bool
from cellveil.deviations.joint_witness import JointWitness, Task, TimeLeft, grouped
from cellveil.deviations.ledger import Book
from cellveil.problem import Problem, Status
from cellveil.solvers.projection import SparseProjection, projection_of
from cellveil.suppression.engines.local_search import Stop, drop_unused
from cellveil.suppression.engines.reweighted_splitting import Slopes, window

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

GIANTS, WINDOW = 100, 50_000
"""Most of the largest demands that are protected first, and the places they are looked for in."""

CHEAP, CHEAP_ONES = 0.01, 3
"""A demand is none of the largest any more after so many in a row that added less than this share."""

TAIL, TAIL_SHARE = 400, 0.7
"""So many of the others follow one by one, for such a share of the time left."""

HARVEST_EVERY = 20
"""After so many of them it is seen what they have made free for the rest."""

ROUNDS, WINDOWED_GROUPS, FREE_TRIES = 5, 60, 2
"""Rounds of groups, groups in windows, and how often what a window shows as hidden is asked to do."""

RUINED = 0.3
"""Such a share of the secondaries is published for building anew."""


class Growth:
    """The splitting engine on the demands of one problem."""

    def __init__(self, problem: Problem, *, seed: int = 0, time_left: TimeLeft | None = None) -> None:
        self.problem = problem
        self.rng = np.random.default_rng(seed)
        self._time_left = time_left or (lambda: None)
        self._movable = problem.status != Status.FROZEN
        self._settling = JointWitness(problem, time_left)
        self._whole = Slopes(problem, projection_of(problem.table), self._settling, self.rng)
        projection = self._whole.projection
        self._is_irregular = isinstance(projection, SparseProjection)
        self.is_windowed = not self._is_irregular and projection.size > 2 * WINDOW

    # -- what to do ----------------------------------------------------------------------------------------

    def harvest(self, book: Book, stop: Stop, *, rounds: int = 6) -> None:
        """Meet open demands inside what is hidden, free of cost: as many as possible by one deviation."""
        if int(book.hidden.sum()) <= MOST_TO_SETTLE and not stop():
            self._settling.harvest(book, self.rng, rounds=rounds)

    def build(self, book: Book, stop: Stop) -> None:
        """Hide what open demands need, and meet them: one by one, the largest first, then in groups.

        Demands that share a deviation cost more than one after the other, so groups are for what is left
        when the time for that is over. In very large tables they are looked at through windows, and not all
        of the rest is.
        """
        self._one_by_one(book, stop, most=GIANTS, only_dear=True)
        self._one_by_one(book, self._for_share(TAIL_SHARE, stop), most=TAIL)
        if self.is_windowed:
            self._protect_in_windows(book, stop)
            return
        slack = SLACK
        for _ in range(ROUNDS):
            if not book.num_open or stop():
                return
            self.harvest(book, stop)
            left = book.num_open
            for task in grouped(book, self.rng):
                if not stop():
                    self._pay(book, [task], stop, slack, self._whole)
            if 2 * book.num_open > left:
                slack = min(slack * MORE_SLACK, 0.1)

    def _for_share(self, share: float, stop: Stop) -> Stop:
        """Stops when such a share of the time left is over, too."""
        at_first = self._time_left()

        def is_over() -> bool:
            left = self._time_left()
            return stop() or (at_first is not None and left is not None and left < (1 - share) * at_first)

        return is_over

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

    def _one_by_one(self, book: Book, stop: Stop, *, most: int, only_dear: bool = False) -> None:
        """The largest open demands: as long as they cost much, or all."""
        tried: set[int] = set()
        cheap = 0
        while len(tried) < most and not (only_dear and cheap >= CHEAP_ONES):
            cells, up, _ = book.open_demands()
            untried = np.flatnonzero(~np.isin(cells, list(tried)))
            if not len(untried) or stop():
                return
            cell = int(cells[untried[0]])
            tried.add(cell)
            before = book.cost
            self.protect(book, cell, bool(up[untried[0]]), stop)
            cheap = cheap + 1 if book.cost - before < CHEAP * book.cost else 0
            if len(tried) % HARVEST_EVERY == 0:
                self.harvest(book, stop, rounds=1)

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
            slopes = self._near(book, int(cells[first]), float(amounts[first]))
            for _ in range(FREE_TRIES):
                for task in grouped(book, self.rng, slopes.projection.cells)[:1]:
                    self._settle(book, task, slopes.inside(book.hidden))
            group = grouped(book, self.rng, slopes.projection.cells)
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
        self._pay(book, tasks, stop, SLACK, self._near(book, cell, tasks[0].unit))
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
            slopes = self._near(book, cell, float(task.amounts[first]))
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
                if not (
                    _is_met(book, task)
                    or self._settle(book, task, few)
                    or self._settle(book, task, few, touched)
                )
            ]
            if not left or stop():
                return
            tasks, state = [tasks[k] for k in left], state.part(left)
            slack = min(slack * MORE_SLACK, 0.2)
            state = slopes.closer(book.hidden, tasks, state, slack)

    def _near(self, book: Book, cell: int, amount: float) -> Slopes:
        """The engine in a window around a demand, or on the whole table if that is not much larger."""
        if not self.is_windowed:
            return self._whole
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


def _is_met(book: Book, task: Task) -> bool:
    """Whether nothing of a task is open any more: the deviation of another one, reversed, may do it."""
    return not any(
        book.is_open(cell, sign > 0)
        for cell, sign in zip(task.cells.tolist(), task.signs.tolist(), strict=True)
    )
