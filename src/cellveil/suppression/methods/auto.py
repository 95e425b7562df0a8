"""`auto`: what a user gets who does not choose.

1. The cover bound: what any safe pattern must cost.
2. Networks (two-way tables) go to the flows of `network`, which are near the best there is.
3. Everything else starts with witnesses inside what is hidden anyway: cubes, then harvests of the splitting
   engine.
4. Small components: linear programs one demand at a time from several beginnings, then clean-up and ruin and
   recreate; with a time limit, branch and cut for the rest of it, in larger tables where the search came
   close to a bound.
5. Irregular tables (linked ones, relations of any kind) up to some ten thousand cells: programs one demand at
   a time, with harvests; see `cellveil.suppression.engines.irregular`.
6. Large regular ones: cubes are packed as a safe start, certified within seconds. Then the splitting engine
   looks for the deviations that carry the cost, and settles them exactly; what is left is completed by cubes
   and programs. The cheaper pattern is kept.

Small and irregular tables are looked at with tied cells merged: `cellveil.suppression.presolve.merge_ties`.

At every moment after the first seconds there is a complete pattern with exact witnesses; a time limit, or an
interrupt, returns the cheapest so far. Without a limit the work is bounded, and the result depends on problem
and seed alone.

Requires any relations whatever. Ensures an exact witness for every demand, or names those that no pattern
meets. Does not ensure the least cost; the bound says how far off it can be at most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cellveil.arrays import Bool
from cellveil.clock import Deadline, counted_time
from cellveil.deviations.ledger import Book
from cellveil.params import Params, param
from cellveil.problem import Problem, Status
from cellveil.progress import Progress
from cellveil.suppression.bounds.cover import CoverBound, cover_bound
from cellveil.suppression.bounds.relaxation import lower_bound as relaxed_bound
from cellveil.suppression.draft import Draft
from cellveil.suppression.engines.cube_packing import Packing, applies
from cellveil.suppression.engines.flow_search import Networks
from cellveil.suppression.engines.irregular import (
    MOST_CELLS,
    Harvesting,
    everything,
    finish_jointly,
)
from cellveil.suppression.engines.local_search import Search, drop_unused
from cellveil.suppression.engines.meet_demands import Completion
from cellveil.suppression.engines.one_demand import Incremental
from cellveil.suppression.engines.splitting_search import Growth
from cellveil.suppression.methods.network import network
from cellveil.suppression.methods.optimal import optimal
from cellveil.suppression.methods.sequential import SMALL, Stepwise
from cellveil.suppression.presolve.merge_ties import Merged, merged
from cellveil.tables.structure import is_product, structured

INTERRUPTED = "interrupted: the cheapest complete pattern so far"

TRIALS, STEPS = 100, 100_000
"""Random trials of ruin and recreate, and simplex steps of clean-up and trials, without a time limit; with
one, as many as there is time for."""

BARREN = 2_000
"""Trials in vain after which more time is not worth it."""

ROUNDS, SLACK = 20, 0.03
"""Trials at a time; how much dearer than the best a pattern may be from which they go on, at first."""

FINISH_SHARE = 0.12
"""Share of the time limit that the splitting engine leaves for polishing, beside the time that packing cubes
around what it leaves open takes."""

FEW = 40
"""More demands than this, left open by splitting, are left to cubes."""

MOST_TO_RELAX = 20_000
"""Up to so many cells a better bound is looked for, where there is a time limit."""

MOST_FOR_EXACT, MOST_FLOWS_FOR_EXACT, EXACT_SHARE = 1_500, 5_000, 0.6
"""Up to so many cells (and in networks), so much of the time limit is for branch and cut."""

MOST_IF_CLOSE, CLOSE = 5_000, 0.05
"""The same in tables where the search came so close to the bound."""

JOINT_SHARE = 0.6
"""Share of the time that joint solves for a first pattern of an irregular table may take: with a short limit
they are most of what can be done, and five times cheaper than hiding everything."""

BOUND_SHARE, START_SHARE, PROGRAM_SHARE = 0.1, 0.1, 0.5
"""Shares of the time limit that each bound may take, at the beginning and at the end, a first pattern where
there are no cubes, and of what is then left programs one demand at a time."""

FIRST_BOUND, BOUND_NODES = 20.0, 200
"""Seconds for the first bound at most; and how much is searched for the last one without a time limit."""

POLISH_SHARE, POLISH_TRIALS = 0.15, 2_000
"""Share of the time for ruin and recreate by cubes in the first pattern, and trials without a limit."""

ONE_BY_ONE_SHARE, HASTY_SHARE, MANY = 0.55, 0.3, 8_000
"""Share of the time left for programs one demand at a time, in irregular tables; less from so many cells on,
where joint solves for the rest take longer."""

MOST_TO_MERGE, MOST_REGULAR, WORTH_MERGING = 60_000, 700, 0.05
"""Up to so many movable cells of an irregular table, and of one with dimensions, which merging does away
with, are looked through for ties; and the share worth merging."""


GOOD_ENOUGH, ALWAYS_BOUNDED = 0.2, 1_500
"""A bound within this share of the cost tells enough: no time is spent on a better one unless asked to, but
in tables of up to so many cells, where it takes next to none."""


@dataclass(frozen=True, kw_only=True)
class AutoParams(Params):
    """Parameters of `auto`."""

    better_bound: bool = param(
        False, "Spend a tenth of the time on a better bound even where it is close already."
    )


def auto(
    problem: Problem,
    *,
    time_limit: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    params: AutoParams | None = None,
) -> Draft:
    """Protect all demands by the best means for the table at hand; see the head of the module."""
    deadline = Deadline(None if time_limit is None else (1 - BOUND_SHARE) * time_limit)
    progress = progress or Progress()
    progress.stage("bound")
    problem = problem.replace(table=structured(problem.table))
    tied, wanted = _tied(problem), (params or AutoParams()).better_bound
    if tied is None:
        return _auto(problem, deadline, seed, progress, wanted)
    return tied.unfold(_auto(tied.problem, deadline, seed, progress, wanted))


def _tied(problem: Problem) -> Merged | None:
    """The problem with tied cells merged, where that pays and nothing needs the dimensions."""
    movable = int((problem.status != Status.FROZEN).sum())
    if movable > (MOST_REGULAR if is_product(problem.table) else MOST_TO_MERGE):
        return None
    if Networks.of(problem).rest() is None:
        return None
    tied = merged(problem)
    pays = tied is not None and tied.problem.table.num_cells <= (1 - WORTH_MERGING) * movable
    return tied if pays else None


def _auto(problem: Problem, deadline: Deadline, seed: int, progress: Progress, better_bound: bool) -> Draft:
    limit = deadline.limit
    cover = cover_bound(problem, time_limit=None if limit is None else min(BOUND_SHARE * limit, FIRST_BOUND))
    run = _Run(problem, cover, deadline, seed, progress)
    run.wants_better_bound = better_bound
    try:
        draft = run.by_the_best_means()
    except KeyboardInterrupt:
        if run.kept is None:
            raise
        draft = replace(run.kept, reason=INTERRUPTED)
    bound = run.lower_bound(draft)
    if draft.reason == "complete" and deadline.is_over and (bound is None or run.cost_of(draft) > bound):
        draft = replace(draft, reason="time limit")
    return replace(draft, lower_bound=bound)


class _Run:
    """One problem on its way through the stages."""

    def __init__(
        self, problem: Problem, bound: CoverBound, deadline: Deadline, seed: int, progress: Progress
    ) -> None:
        self.problem, self.bound, self.deadline = problem, bound, deadline
        self.seed, self.progress = seed, progress
        self.kept: Draft | None = None
        self._least = np.inf
        self._proven = 0.0
        self._packing = 0.0
        self.wants_better_bound = False

    def by_the_best_means(self) -> Draft:
        """Choose by structure and size."""
        if not np.isinf(self.bound.bound) and Networks.of(self.problem).rest() is None:
            return self.by_flows()
        if np.isinf(self.bound.bound) or self.largest_component() <= SMALL:
            return self.by_programs()
        if self.largest_component() <= MOST_CELLS and not is_product(self.problem.table):
            return self.by_harvests()
        return self.by_splitting()

    def lower_bound(self, draft: Draft) -> float | None:
        """What every safe pattern costs: the best of what is known, and of what is cheap to find out now."""
        if np.isinf(self.bound.bound):
            return None
        bound = max(self.bound.bound, self._proven, draft.lower_bound or 0.0)
        limit, size = self.deadline.limit, self.problem.table.num_cells
        is_final = draft.infeasible or draft.reason == INTERRUPTED or self.cost_of(draft) <= bound
        if self._proven or is_final or (limit is None and size > MOST_TO_RELAX):
            return bound
        is_close = self.cost_of(draft) - bound <= GOOD_ENOUGH * self.cost_of(draft)
        if is_close and size > ALWAYS_BOUNDED and not self.wants_better_bound:
            return bound
        return max(bound, self._better_bound())

    def _better_bound(self) -> float:
        """By whole covers, and in tables that are not too large by the relaxation of branch and cut."""
        self.progress.stage("better bound")
        limit, size = self.deadline.limit, self.problem.table.num_cells
        end = Deadline(None if limit is None else BOUND_SHARE * limit)
        tied = merged(self.problem) if size <= MOST_TO_RELAX else None
        problem, forced = (self.problem, 0.0) if tied is None else (tied.problem, tied.forced)
        half = end.share(0.5).left
        bound = cover_bound(problem, time_limit=half, integral=True, nodes=BOUND_NODES).bound
        if size <= MOST_TO_RELAX and limit is not None and not end.is_over:
            bound = max(bound, relaxed_bound(problem, time_limit=end.left))
        return bound + forced

    def cost_of(self, draft: Draft) -> float:
        """Of what the draft hides beyond the start."""
        return float(self.problem.weight[draft.hidden & ~self.problem.hidden_at_start].sum())

    def is_over(self) -> bool:
        """Whether the time is up."""
        return self.deadline.is_over

    def largest_component(self) -> int:
        """Cells of the largest component that has a demand."""
        program = Incremental(Book(self.problem))
        return max((program.size_of(int(cell)) for cell in self.problem.primaries), default=0)

    def tell(self, book: Book, hurried: Bool | None = None) -> None:
        """Report cost, bound, gap and open demands; keep the pattern if it is complete and the cheapest.

        `hurried` are cells that nothing but lack of time will have hidden, if this is the one that stays.
        """
        if not book.num_open and book.cost < self._least:
            self._least = book.cost
            self.kept = Draft(book.hidden.copy(), witnesses=book.witnesses())
            self.kept.add_hurried(None if hurried is None else hurried & book.hidden)
        gap = (book.cost - self.bound.bound) / book.cost if book.cost > 0 else 0.0
        figures = {"cost": book.cost, "bound": self.bound.bound, "gap": gap, "open": book.num_open}
        self.progress.advance(len(self.problem.primaries) * 2 - book.num_open, None, **figures)

    def by_flows(self) -> Draft:
        """Cheapest flows; in tables that are not too large branch and cut for the rest of the time."""
        limit, left = self.deadline.limit, self.deadline.left
        is_exact = limit is not None and self.problem.table.num_cells <= MOST_FLOWS_FOR_EXACT
        seconds = left if left is None or not is_exact else (1 - EXACT_SHARE) * left
        draft = network(self.problem, time_limit=seconds, seed=self.seed, progress=self.progress)
        self._proven = draft.lower_bound or 0.0
        return draft if draft.infeasible or not is_exact else self._exact(draft)

    # -- small components ----------------------------------------------------------------------------------

    def by_programs(self) -> Draft:
        """Linear programs from several beginnings, and ruin and recreate on the cheapest.

        Where there are too many demands for the time, the splitting engine does the rest.
        """
        start = self._packed(Book(self.problem))
        best: Completion | None = None
        for hidden in (None, self.bound.suggestion):
            if best is not None and (self.is_over() or best.infeasible or best.book.cost <= self.bound.bound):
                break
            self.progress.stage("programs")
            left = self.deadline.left
            until = None if left is None else Deadline(PROGRAM_SHARE * left)
            completion = self._completed(Book(self.problem, hidden), self._harvesting, until)
            self.tell(completion.book, completion.hurried)
            if best is None or _is_better(completion, best):
                best = completion
        assert best is not None
        if best.infeasible:
            return best.draft()
        if best.book.num_open:
            return self._grown(best.book, start)
        limit, size = self.deadline.limit, self.problem.table.num_cells
        may_be_exact = limit is not None and size <= MOST_IF_CLOSE
        self._search(best, partial(self._is_late, EXACT_SHARE * limit if may_be_exact and limit else 0.0))
        if may_be_exact and (size <= MOST_FOR_EXACT or self._is_close(best.book.cost)):
            return self._exact(best.draft())
        if may_be_exact:
            self._search(best, self.is_over)
        return best.draft()

    def _is_close(self, cost: float) -> bool:
        """Whether a better bound, looked for now, leaves so little that branch and cut may close it."""
        if cost > self.bound.bound and not self.is_over():
            self._proven = self._better_bound()
        return cost - max(self._proven, self.bound.bound) <= CLOSE * cost

    def _exact(self, draft: Draft) -> Draft:
        """Branch and cut for the rest of the time, in small tables: a cheaper pattern, or a better bound."""
        cost = self.cost_of(draft)
        if cost <= self.bound.bound or self.is_over():
            return draft
        self.progress.stage("branch and cut")
        left, limit = self.deadline.left, self.deadline.limit
        if left is not None and limit is not None:
            left += limit * BOUND_SHARE / (1 - BOUND_SHARE)  # no other bound is looked for afterwards
        other = optimal(self.problem, time_limit=left, seed=self.seed, progress=self.progress)
        self._proven = max(self._proven, other.lower_bound or 0.0)
        better = other if not other.infeasible and self.cost_of(other) < cost else draft
        was_interrupted = other.reason.startswith("interrupted")
        return replace(better, reason=INTERRUPTED) if was_interrupted else better

    def _completed(
        self, book: Book, make: Callable[[Book], Incremental] | None = None, until: Deadline | None = None
    ) -> Completion:
        """The book with what open demands need; not finished where another deadline is given and passes."""
        completion = Completion(
            book,
            make or partial(Stepwise, seed=self.seed),
            until or self.deadline,
            self.progress,
            seed=self.seed,
            is_spare=until is not None or self.kept is not None,
        )
        completion.prove_by_cubes()
        completion.run()
        if not completion.book.num_open:
            drop_unused(completion.book)
        return completion

    def _search(self, completion: Completion, is_late: Callable[[], bool]) -> None:
        """Clean-up, then random trials while they pay."""
        self.progress.stage("search")
        book, seconds = completion.book, self.deadline.seconds
        protector = Harvesting(book, seconds, seed=self.seed)
        search = Search(book, protector, seed=self.seed, time_left=seconds)
        trials, steps = (TRIALS, STEPS) if self.deadline.left is None else (10**9, 10**12)

        def stop() -> bool:
            self.tell(book)
            return is_late() or protector.num_steps >= steps

        search.clean_up(stop)
        self.tell(book)
        while search.trials < trials and search.barren < BARREN and not stop():
            if search.least <= self.bound.bound:
                break
            search.shake(stop, ROUNDS, SLACK * (1 - search.barren / BARREN))
        self.tell(book)
        if self.kept is not None and self._least == search.least < book.cost:
            completion.book = Book(book.problem, self.kept.hidden)
            completion.book.add_all(self.kept.witnesses)

    # -- irregular tables ----------------------------------------------------------------------------------

    def by_harvests(self) -> Draft:
        """A complete pattern to start from, then programs with harvests, then search; the cheapest counts."""
        book = Book(self.problem)
        self.progress.stage("start")
        self._start_irregular(book)
        self.progress.stage("programs")
        completion = self._one_by_one_then_jointly(book)
        self.tell(completion.book, completion.hurried)
        if not completion.book.num_open:
            self._search(completion, self.is_over)
        if completion.infeasible or self.kept is None:
            return completion.draft()
        return replace(self.kept, reason="time limit" if self.is_over() else "complete")

    def _start_irregular(self, book: Book) -> None:
        """A first complete pattern: by cubes, else by a few joint solves, else everything that moves."""
        start = book
        if applies(self.problem.table):
            share = self.deadline.share(START_SHARE)
            Packing(book, seed=self.seed).prove(share.moment)
            start = self._copied(book)
            Packing(start, seed=self.seed).protect(share.moment)
        if start.num_open:
            start = self._copied(book)
            finish_jointly(start, self.deadline.share(JOINT_SHARE).seconds, seed=self.seed)
        if 0 < start.num_open <= FEW:
            start = self._completed(start, self._harvesting, self.deadline.share(JOINT_SHARE)).book
        if not start.num_open:
            drop_unused(start)
            self.tell(start)
            return
        share = self.deadline.share(START_SHARE)
        self.tell(everything(self.problem, share.seconds, seed=self.seed), ~self.problem.hidden_at_start)

    def _harvesting(self, book: Book) -> Incremental:
        return Harvesting(book, self.deadline.seconds, seed=self.seed)

    def _one_by_one_then_jointly(self, book: Book) -> Completion:
        """Programs one demand at a time as long as there is time for that."""
        left = self.deadline.left
        share = ONE_BY_ONE_SHARE if self.problem.table.num_cells < MANY else HASTY_SHARE
        until = None if left is None else Deadline(share * left)
        completion = self._completed(book, self._harvesting, until)
        if completion.infeasible or not completion.book.num_open:
            return completion
        finish_jointly(completion.book, self.deadline.seconds, seed=self.seed)
        return self._completed(completion.book, self._harvesting)

    # -- large components ----------------------------------------------------------------------------------

    def by_splitting(self) -> Draft:
        """A safe start by cubes, then the splitting engine while there is time; the cheapest is kept."""
        book = Book(self.problem)
        return self._grown(book, self._packed(book))

    def _packed(self, book: Book) -> Book | None:
        """A complete pattern by cubes; and what single cubes of hidden cells meet, in the book."""
        if not applies(self.problem.table):
            return None
        self.progress.stage("cubes")
        began = counted_time()
        Packing(book, seed=self.seed).prove(self.deadline.moment)
        start = self._copied(book)
        Packing(start, seed=self.seed).protect(self.deadline.moment)
        self._packing = counted_time() - began
        self.tell(start)
        self._polish(start, POLISH_SHARE)
        return start

    def _polish(self, book: Book, share: float = 1.0) -> None:
        """Do without secondaries of a complete pattern where cubes can take their place."""
        if book.num_open or book.cost <= self.bound.bound or not applies(self.problem.table):
            return
        self.progress.stage("polish")
        left = self.deadline.left
        until = Deadline(None if left is None else share * left)
        Packing(book, seed=self.seed).improve(until.moment, trials=POLISH_TRIALS if left is None else None)
        self.tell(book)

    def _grown(self, book: Book, start: Book | None) -> Draft:
        """The splitting engine on what is open; what the clock leaves open as in the start."""
        reserve = self._packing + FINISH_SHARE * (self.deadline.limit or 0.0)
        if start is not None and self._is_late(reserve):
            return self._as_packed(start)

        def is_late() -> bool:
            self.tell(book)
            return self._is_late(reserve)

        growth = Growth(book.problem, seed=self.seed, time_left=self.deadline.seconds)
        self.progress.stage("harvest")
        growth.harvest(book, is_late)
        self.progress.stage("splitting")
        growth.build(book, is_late)
        if start is not None and (book.num_open > FEW or is_late()):
            self.progress.stage("cubes for the rest")
            Packing(book, seed=self.seed).protect(self.deadline.moment)
            book.add_all(start.witnesses(), hide=True)
        completion = self._completed(book)
        self.tell(completion.book, completion.hurried)
        if completion.infeasible or self.kept is None:
            return completion.draft()
        if self.deadline.limit is not None and completion.book is book and not book.num_open:
            self._polish(book)
            self.progress.stage("search")
            growth.regrow(book, self.is_over, self.tell)
        return replace(self.kept, reason="time limit" if self.is_over() else "complete")

    def _as_packed(self, start: Book) -> Draft:
        """Where cubes took so long that there is no time for anything else, nor to pack them twice."""
        if start.num_open:
            completion = self._completed(start)
            self.tell(completion.book, completion.hurried)
            return completion.draft()
        self._polish(start)
        assert self.kept is not None
        return replace(self.kept, reason="time limit")

    def _is_late(self, reserve: float) -> bool:
        left = self.deadline.left
        return left is not None and left <= reserve

    def _copied(self, book: Book) -> Book:
        copy = Book(self.problem, book.hidden)
        copy.add_all(book.witnesses())
        return copy


def _is_better(one: Completion, other: Completion) -> bool:
    return (one.book.num_open, one.book.cost) < (other.book.num_open, other.book.cost)
