"""One search for an adjustment: the incumbent, the bound, and the work of each stage of `adjusting.PLANS`."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from cellveil.adjustment.annealed_splitting import SplittingAnnealing, search_senses
from cellveil.adjustment.block_descent import descend
from cellveil.adjustment.branch_and_bound import SenseTree
from cellveil.adjustment.feasibility_pump import pump
from cellveil.adjustment.fixed_senses import Fit, FixedSenses
from cellveil.adjustment.infeasible import conflict
from cellveil.adjustment.large_tables import annealed, best_senses
from cellveil.adjustment.lower_bound import cover_bound
from cellveil.adjustment.mixed_integer import Proof, SenseProgram, prove
from cellveil.adjustment.model import Model
from cellveil.adjustment.null_space import NullSpace
from cellveil.adjustment.outcome import Reason
from cellveil.adjustment.start_rules import Start, start_senses
from cellveil.adjustment.tabu import Judge, Tabu
from cellveil.arrays import Bool
from cellveil.clock import Deadline, counted_time
from cellveil.progress import Progress
from cellveil.solvers.highs import LPStatus

FIRST_STARTS: tuple[Start, ...] = ("least", "alternating-down", "alternating-up")
"""The start rules that are tried where none is asked for."""

REASONS = {
    LPStatus.OPTIMAL: Reason.COMPLETE,
    LPStatus.TIME_LIMIT: Reason.TIME_LIMIT,
    LPStatus.NODE_LIMIT: Reason.NODE_LIMIT,
    LPStatus.INTERRUPTED: Reason.INTERRUPTED,
}
"""What a proof's end means for the run; anything else is no clear answer."""

NO_END = 10**6
"""Rounds of a search that only the clock ends."""


class SenseSearch:
    """One search; the docstring of each stage's work is its line in the docs.

    Parameters
    ----------
    whole
        The model before tied cells were merged: conflicts are told in its terms.
    judge
        What is minimised in place of the model's objective, if anything.
    """

    def __init__(
        self,
        model: Model,
        clock: Deadline,
        seed: int,
        progress: Progress,
        *,
        whole: Model,
        start: str | Bool | None = None,
        judge: Judge | None = None,
        is_exact: bool = False,
    ) -> None:
        self.model, self.clock, self.seed, self.progress = model, clock, seed, progress
        self.whole, self._start, self.judge, self._is_exact = whole, start, judge, is_exact
        self.params = model.params
        self.best: Fit | None = None
        self.bound, self.reason = -np.inf, Reason.COMPLETE
        self.is_done, self._first_seconds = False, 0.0

    # -- when a stage applies: the docstrings are the docs ----------------------------------------

    def always(self) -> bool:
        """Always."""
        return True

    def is_large(self) -> bool:
        """The table is too large for programs over all cells."""
        is_structured, large = self.model.problem.table.is_structured, self.params.large
        most = large.most_movable if is_structured else large.most_irregular
        return int(self.model.is_movable.sum()) > most

    def has_time(self) -> bool:
        """A time limit is left."""
        return self.clock.left is not None

    def is_small_null_space(self) -> bool:
        """Degrees of freedom and sensitive cells are few, costs are absolute, and no judge is given."""
        few = len(self.model.cells) <= self.params.tree.most_cells and self.judge is None
        return few and self._null_space is not None

    def is_not_straight(self) -> bool:
        """The table has dimensions, or many sensitive cells."""
        is_structured = self.model.problem.table.is_structured
        return is_structured or len(self.model.cells) > self.params.proof.straight

    def can_improve(self) -> bool:
        """There is an incumbent, and the table has dimensions or many sensitive cells."""
        return self.best is not None and self.is_not_straight()

    def can_improve_in_null_space(self) -> bool:
        """The same, and degrees of freedom are few."""
        return self.can_improve() and self._null_space is not None

    def can_improve_over_cells(self) -> bool:
        """The same, and degrees of freedom are many."""
        return self.can_improve() and self._null_space is None

    def has_incumbent(self) -> bool:
        """There is an incumbent."""
        return self.best is not None

    def can_anneal(self) -> bool:
        """There is an incumbent, and projections are cheap."""
        return self.best is not None and self._projects_cheaply

    def can_anneal_and_improve(self) -> bool:
        """Projections are cheap, there is an incumbent, and dimensions or many sensitive cells."""
        return self.can_improve() and self._projects_cheaply

    # -- what a stage runs ------------------------------------------------------------------------

    def anneal_large(self, clock: Deadline) -> None:
        """Annealed senses, then rounding, without a program."""
        began = counted_time()
        self._anneal_large(clock, 0)
        self._first_seconds = counted_time() - began

    def _anneal_large(self, clock: Deadline, number: int) -> None:
        is_huge = self.model.relations.num_cells > self.params.large.huge
        iterations = self.params.large.huge_iterations if is_huge else self.params.iterations
        senses = self._senses(self._start if self._start is not None else "least")
        self._offer(annealed(self.model, senses, iterations, clock, seed=self.seed + number))

    def anneal_on(self, clock: Deadline) -> None:
        """The same from other seeds, while time is left."""
        number, enough = 1, self.params.large.another * self._first_seconds
        while clock.left is not None and clock.left > enough:
            self._anneal_large(clock, number)
            number += 1

    def cover(self, clock: Deadline) -> None:
        """The covering bound."""
        self.bound = max(self.bound, cover_bound(self.model, clock))

    def first_senses(self, clock: Deadline) -> None:
        """Start rules, a first annealing, and the feasibility pump where these find nothing."""
        self._first_senses(clock, iterations=self.params.iterations if self._projects_cheaply else 0)

    def rule_senses(self, clock: Deadline) -> None:
        """The senses of the start rule alone, and the feasibility pump where they are infeasible."""
        self._first_senses(clock, iterations=0)

    def _first_senses(self, clock: Deadline, iterations: int) -> None:
        first = [self._senses(rule) for rule in (FIRST_STARTS if self._start is None else (self._start,))]
        for senses in first:
            self._offer(self._given.fit(senses, clock))
        if iterations:
            found = annealed(self.model, first[0], iterations, clock, seed=self.seed, given=self._given)
            self._offer(found)
        for rule in ("up", "down") if self._start is None else ():  # where all cells grow alike, all adds up
            if self.best is None:
                self._offer(self._given.fit(self._senses(rule), self.clock))
        for senses in first:
            if self.best is None and not clock.is_over:
                self._offer(pump(self._given, senses, clock, seed=self.seed))

    def anneal(self, clock: Deadline) -> None:
        """Long annealings, then many short ones: half of the time for each."""
        assert self.best is not None
        half = clock.share(0.5)
        rounds, tries = (1, self.params.splitting.tries) if clock.left is None else (None, None)
        annealing = SplittingAnnealing(self.model, half)
        iterations = self.params.iterations
        senses = best_senses(annealing, self.best.senses, iterations, half, seed=self.seed, rounds=rounds)
        self._offer(self._given.fit(senses, self.clock))
        annealing = SplittingAnnealing(self.model, clock)
        senses = search_senses(annealing, self.best.senses, clock, seed=self.seed, tries=tries)
        self._offer(self._given.fit(senses, self.clock))

    def tabu(self, clock: Deadline) -> None:
        """Tabu search over single senses."""
        assert self.best is not None
        steps = self.params.tabu.steps if clock.left is None else NO_END
        search = Tabu(self._given, self.best, seed=self.seed, judge=self.judge, coordinates=self._null_space)
        self.best = search.run(steps, clock, self.progress)

    def descend(self, clock: Deadline) -> None:
        """Block descent over the senses."""
        assert self.best is not None
        self.best = descend(
            self._given,
            self.best,
            self.params.descent.rounds if clock.left is None else NO_END,
            clock,
            seed=self.seed,
            judge=self.judge,
            progress=self.progress,
            coordinates=self._null_space,
        )

    def relax(self, clock: Deadline) -> None:
        """The linear relaxation with imbalance rows."""
        found = SenseProgram(self.model, None).relaxation(clock)
        self.bound = self.bound if found is None else max(self.bound, found)

    def cover_and_relax(self, clock: Deadline) -> None:
        """The covering bound and the linear relaxation."""
        self.cover(clock)
        self.relax(clock)

    def grow_tree(self, clock: Deadline) -> None:
        """Branch and bound with null-space relaxations."""
        assert self._null_space is not None
        self.cover(clock)
        nodes = None if clock.left is not None or self._is_exact else self.params.tree.nodes
        tree = SenseTree(self._null_space, self._given, self.best, cost_step(self.model))
        self._conclude(tree.run(clock, nodes))
        self.is_done = True

    def prove_soon(self, clock: Deadline) -> None:
        """A first, short branch and cut: small tables are done then."""
        self._prove(clock, self._nodes(self.params.proof.first_nodes))
        self.is_done = self.reason is Reason.COMPLETE

    def prove(self, clock: Deadline) -> None:
        """Branch and cut over all cells."""
        has_end = clock.left is not None or self._is_exact
        self._prove(clock, None if has_end else self._nodes(self.params.proof.nodes))

    # -- what they share --------------------------------------------------------------------------

    @cached_property
    def _given(self) -> FixedSenses:
        return FixedSenses(self.model)

    @property
    def _projects_cheaply(self) -> bool:
        """Whether projections come from dimensions, or from a small factorisation."""
        table = self.model.problem.table
        return table.is_structured or table.num_cells <= self.params.most_factored

    @cached_property
    def _null_space(self) -> NullSpace | None:
        """Where the degrees of freedom are few."""
        if self.model.power != 1:
            return None
        most = min(self.params.tree.most_rows, int(self.model.is_movable.sum()) // 2)
        found = NullSpace(self.model, most)
        return found if found.is_built else None

    def _senses(self, start: str | Bool) -> Bool:
        if isinstance(start, np.ndarray):
            return np.asarray(start, dtype=bool)
        return start_senses(self.model, start, seed=self.seed)  # type: ignore[arg-type]

    def _nodes(self, most: int) -> int:
        """Nodes of branch and cut, fewer where one takes long."""
        cells, params = max(int(self.model.is_movable.sum()), 1), self.params.proof
        return int(np.clip(most / params.nodes * params.work / cells**2, 1, most))

    def _prove(self, clock: Deadline, nodes: int | None) -> None:
        if self.bound == -np.inf:
            self.cover(clock)
        self._conclude(prove(self.model, self._given, self.best, clock, nodes))

    def _conclude(self, proof: Proof) -> None:
        if proof.ended is LPStatus.INFEASIBLE and self.best is None:
            raise conflict(self.whole, Deadline(self.clock.limit))
        self._offer(proof.fit)
        if np.isfinite(proof.bound):
            self.bound = max(self.bound, proof.bound)
        self.reason = REASONS.get(proof.ended, Reason.UNCLEAR)

    def _offer(self, fit: Fit | None) -> None:
        if fit is not None and (self.best is None or self._score(fit) < self._score(self.best)):
            self.best = fit

    def _score(self, fit: Fit) -> float:
        return fit.cost if self.judge is None else self.judge(fit)


def cost_step(model: Model) -> float:
    """All costs are multiples of this; 0 where nothing is known."""
    unit = 10.0**model.problem.table.decimals
    steps = model.weight * unit**model.power
    return 1.0 / unit**model.power if np.array_equal(steps, np.rint(steps)) else 0.0
