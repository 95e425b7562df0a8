"""`adjust`: find an adjustment, have it judged, and say how far from the best it can be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import cached_property, partial
from typing import Literal, get_args

import numpy as np

from cellveil.adjustment.annealed_splitting import Annealing, search_senses
from cellveil.adjustment.branch_and_bound import Tree
from cellveil.adjustment.feasible_start import conflict, pump
from cellveil.adjustment.fixed_senses import Fit, Given
from cellveil.adjustment.large_tables import annealed, best_senses
from cellveil.adjustment.lower_bound import cover_bound
from cellveil.adjustment.merge_tied import merged_model
from cellveil.adjustment.mixed_integer import Mixed, Proof, prove
from cellveil.adjustment.model import Limits, Model, build_model
from cellveil.adjustment.null_space import Coordinates
from cellveil.adjustment.outcome import Adjustment, Outcome
from cellveil.adjustment.sense_search import Judge, Tabu, descend
from cellveil.adjustment.start_rules import STARTS, Start, start_senses
from cellveil.arrays import Bool, Float
from cellveil.clock import Deadline, Stopwatch
from cellveil.errors import InputError, NotSafeError, nearest_name
from cellveil.judge import audit
from cellveil.problem import Problem
from cellveil.progress import Progress

Method = Literal["auto", "exact", "tabu", "descent", "start"]
METHODS: tuple[Method, ...] = get_args(Method)

FIRST_STARTS: tuple[Start, ...] = ("least", "alternating-down", "alternating-up")
NODES, TABU_STEPS, BLOCKS, TRIES = 500, 40, 20, 40
"""How much is done without a time limit."""
NODE_WORK = 30_000_000
"""Squared number of movable cells times nodes of branch and cut; a fifth in the first attempt."""

LARGE, HUGE = 5_000, 200_000
"""From so many movable cells on there are no programs over all of them; from so many on, fewer iterations."""

LARGE_IRREGULAR, MOST_FACTORED = 30_000, 1_500
"""The same without dimensions; and up to so many cells these are annealed at all."""

STRAIGHT = 150
"""Up to so many sensitive cells, tables without dimensions are left to SCIP for all the time."""

HEATS, FEW_HEATS = 2_000, 300

ANOTHER = 1.2
"""Large tables are annealed once more while there is so many times the time left that the first took."""

MOST_COORDINATES, MOST_BRANCHED = 1_000, 60
"""Up to so many degrees of freedom and sensitive cells (tied ones count once) there is a tree of our own."""

FIRST_PROOF, FIRST_NODES = 0.15, 100
"""Share of the time, and nodes, for a first attempt to solve the whole exactly."""

ANNEALING = 0.4
SHARES = {
    "auto": (0.05, 0.2),
    "tabu": (0.9, 0.0),
    "descent": (0.0, 0.9),
    "exact": (0.0, 0.0),
    "start": (0.0, 0.0),
}
"""How much of the time goes to tabu search and to descent; branch and bound gets the rest."""

BLOCKS_IN_COORDINATES = 0.5
"""The share of descent where blocks are searched in coordinates, which is worth more."""


def adjust(
    problem: Problem,
    method: str = "auto",
    *,
    objective: str = "l1",
    limits: Limits | None = None,
    weight: Float | None = None,
    start: str | Bool | None = None,
    judge: Callable[[Float, Float], float] | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Adjustment:
    """Move sensitive cells to or beyond their levels, the others as little as possible; have it judged.

    Parameters
    ----------
    method
        auto, exact (branch and bound), tabu, descent (block by block), or start (only the senses of `start`).
    objective
        l1, value (weighted by values), given (by the problem's weights), or l2 (squares).
    limits
        How far cells that are not sensitive may move; by default as far as their bounds allow.
    weight
        Weights of the cells in place of those of the objective.
    start
        A rule for the first senses (see `adjustment.start_rules`), or the senses themselves, True for up.
    judge
        For tabu and descent: a function of true and adjusted values to minimise, in place of the objective,
        which then only leads the programs.
    time_limit
        Seconds for the search; the best that was found is returned.

    Raises
    ------
    AdjustmentError
        When no adjustment keeps everything; it names the relations that conflict and the way out.
    NotSafeError
        When the time was over before one was found.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> problem = two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
    >>> adjust(problem)
    Adjustment('auto', optimal, l1 12, gap 0.00 %)
    """
    if method not in METHODS:
        raise InputError(f"unknown method {method!r}", remedy=nearest_name(method, METHODS))
    if time_limit is not None and not time_limit > 0:
        raise InputError("the time limit is not above 0", remedy="Give seconds, for example 60.")
    if isinstance(start, str) and start not in STARTS:
        raise InputError(f"unknown start {start!r}", remedy=nearest_name(start, STARTS))
    watch, progress = Stopwatch(), progress or Progress()
    with watch.time("model"):
        model = build_model(problem, objective, limits, weight)
        ties = None if method == "start" else merged_model(model)
    run = _Run(ties.model if ties else model, method, Deadline(time_limit), time_limit, seed, progress, watch)
    if judge is not None:
        unit, unfold = 10.0**problem.table.decimals, ties.unfold if ties else lambda fit: fit
        run.judge = lambda fit: judge(problem.table.floats(), (problem.table.values + unfold(fit).y) / unit)
    if ties and isinstance(start, np.ndarray):
        start = ties.fold_senses(start)
    run.whole = model
    run.search(start)
    if ties and run.best is not None:
        run.model, run.best = model, ties.unfold(run.best)
    if run.best is None:
        raise NotSafeError(
            "no adjustment was found in time. Give it more time, wider limits or lower levels."
        )
    return _conclude(problem, run, method, objective, limits or Limits(), seed)


class _Run:
    """One search: the best so far, the bound, and why it ended."""

    def __init__(
        self,
        model: Model,
        method: str,
        clock: Deadline,
        seconds: float | None,
        seed: int,
        progress: Progress,
        watch: Stopwatch,
    ) -> None:
        self.model, self.method, self.clock, self.seed = model, method, clock, seed
        self.seconds, self.progress, self.watch = seconds, progress, watch
        self.judge: Judge | None = None
        self.best: Fit | None = None
        self.bound = -np.inf
        self.reason = "complete"
        self.whole = model

    def search(self, start: str | Bool | None) -> None:
        """All stages; an interrupt keeps the best."""
        if not len(self.model.cells):
            nothing = np.zeros(self.model.relations.num_cells, dtype=np.int64)
            self.best, self.bound = Fit(nothing, np.zeros(0, dtype=bool), 0.0), 0.0
            return
        try:
            if self.is_large:
                self._search_large(start)
                return
            given = Given(self.model)
            self._stage("start", lambda: self._start(given, start))
            if self.method == "start":
                self._stage("bound", self._relax)
                return
            if self.method in ("auto", "exact") and self._searches_in_coordinates(given):
                return
            is_irregular = not self.model.problem.table.is_structured
            goes_straight = self.method == "auto" and is_irregular and len(self.model.cells) <= STRAIGHT
            if self.method == "auto" and not goes_straight and self._is_proven_soon(given):
                return
            if self.best is not None and not goes_straight:  # SCIP makes more of the time in such tables
                self._improve(given)
            name = "bound" if self.method in ("tabu", "descent") else "prove"
            self._stage(name, lambda: self._prove(given))
        except KeyboardInterrupt:
            if self.best is None:
                raise
            self.reason = "interrupted"

    @property
    def is_large(self) -> bool:
        """Whether programs over all cells would take too long."""
        most = LARGE if self.model.problem.table.is_structured else LARGE_IRREGULAR
        return self.method != "exact" and int(self.model.is_movable.sum()) > most

    @property
    def _is_annealed_soon(self) -> bool:
        """Whether projections are cheap: from dimensions, or from a small factorisation."""
        table = self.model.problem.table
        return table.is_structured or table.num_cells <= MOST_FACTORED

    def _search_large(self, start: str | Bool | None) -> None:
        """Annealed senses, whole numbers, and the bound of covers."""
        senses = self._first_senses(start or "least")[0]
        iterations = HEATS if self.model.relations.num_cells <= HUGE else FEW_HEATS

        def anneal(number: int) -> None:
            self._offer(annealed(self.model, senses, iterations, self.clock, seed=self.seed + number))

        self._stage("anneal", partial(anneal, 0))
        self._stage("bound", self._cover)
        first, number = self.watch.seconds["anneal"], 1
        while (left := self.clock.left) is not None and left > ANOTHER * first:
            self._stage("anneal", partial(anneal, number))
            number += 1

    def _cover(self) -> None:
        self.bound = max(self.bound, cover_bound(self.model, self.clock.left))

    def _first_senses(self, start: str | Bool) -> list[Bool]:
        if isinstance(start, np.ndarray):
            return [np.asarray(start, dtype=bool)]
        return [start_senses(self.model, start, seed=self.seed)]  # type: ignore[arg-type]

    def _stage(self, name: str, work: Callable[[], None]) -> None:
        self.progress.stage(name)
        with self.watch.time(name):
            work()

    def _start(self, given: Given, start: str | Bool | None) -> None:
        rules = FIRST_STARTS if start is None else (start,)
        first = [senses for rule in rules for senses in self._first_senses(rule)]
        clock = Deadline(None if self.seconds is None else 0.3 * self.seconds)
        for senses in first:
            self._offer(given.fit(senses, clock.left))
        if self.method != "start" and self._is_annealed_soon:
            self._offer(annealed(self.model, first[0], HEATS, clock, seed=self.seed, given=given))
        if self.best is None and start is None:  # if all cells grow alike, all relations hold
            for rule in ("up", "down"):
                if self.best is None:
                    self._offer(given.fit(self._first_senses(rule)[0], self.clock.left))
        for senses in first:
            if self.best is None and not clock.is_over:
                self._offer(pump(given, senses, clock, seed=self.seed))

    def _improve(self, given: Given) -> None:
        assert self.best is not None
        if self.method != "exact" and self._is_annealed_soon:
            self._stage("anneal", lambda: self._anneal_again(given, self._share(ANNEALING)))
        best, (tabu, blocks) = self.best, SHARES[self.method]
        if self.method == "auto" and self._coordinates is not None:
            blocks = BLOCKS_IN_COORDINATES
        if tabu:
            steps = TABU_STEPS if self.seconds is None else 10**6
            search = Tabu(given, best, seed=self.seed, judge=self.judge, coordinates=self._coordinates)
            self._stage("tabu", lambda: self._take(search.run(steps, self._share(tabu), self.progress)))
        if blocks:
            rounds = BLOCKS if self.seconds is None else 10**6
            self._stage("descent", lambda: self._take(self._descend(given, rounds, self._share(blocks))))

    def _anneal_again(self, given: Given, clock: Deadline) -> None:
        """As in large tables, and many short annealings from random senses: half of the time for each."""
        assert self.best is not None
        half = Deadline(None if clock.left is None else clock.left / 2)
        annealing = Annealing(self.model, half)
        rounds, tries = (1, TRIES) if self.seconds is None else (None, None)
        senses = best_senses(annealing, self.best.senses, HEATS, half, seed=self.seed, rounds=rounds)
        self._offer(given.fit(senses, self.clock.left))
        annealing = Annealing(self.model, clock)
        senses = search_senses(annealing, self.best.senses, clock, seed=self.seed, tries=tries)
        self._offer(given.fit(senses, self.clock.left))

    def _descend(self, given: Given, rounds: int, clock: Deadline) -> Fit:
        assert self.best is not None
        return descend(
            given,
            self.best,
            rounds,
            clock,
            seed=self.seed,
            judge=self.judge,
            progress=self.progress,
            coordinates=self._coordinates,
        )

    def _share(self, share: float) -> Deadline:
        left = self.clock.left
        return Deadline(None if left is None or self.seconds is None else min(left, share * self.seconds))

    def _relax(self) -> None:
        found = Mixed(self.model, None).relaxation(self.clock.left)
        self.bound = self.bound if found is None else max(self.bound, found[0])

    def _is_proven_soon(self, given: Given) -> bool:
        """A first, short branch and bound: small tables are done then."""
        seconds = None if self.seconds is None else FIRST_PROOF * self.seconds
        self._stage("first proof", lambda: self._branch(given, seconds, self._nodes(FIRST_NODES)))
        return self.reason == "complete"

    def _prove(self, given: Given) -> None:
        if self.method in ("tabu", "descent"):
            self._cover()
            self._relax()
            return
        has_end = self.seconds is not None or self.method == "exact"
        self._branch(given, self.clock.left, None if has_end else self._nodes(NODES))

    @cached_property
    def _coordinates(self) -> Coordinates | None:
        """Where the degrees of freedom are few."""
        if self.model.power != 1:
            return None
        most = min(MOST_COORDINATES, int(self.model.is_movable.sum()) // 2)
        coordinates = Coordinates(self.model, most)
        return coordinates if coordinates.is_built else None

    def _searches_in_coordinates(self, given: Given) -> bool:
        """Branch and bound in coordinates, where these are few and so are the sensitive cells."""
        if len(self.model.cells) > MOST_BRANCHED or self.judge is not None:
            return False
        coordinates = self._coordinates
        if coordinates is None:
            return False
        self._stage("prove", lambda: self._grow(Tree(coordinates, given, self.best, _step(self.model))))
        return True

    def _grow(self, tree: Tree) -> None:
        self._cover()
        nodes = None if self.seconds is not None or self.method == "exact" else NODES
        self._conclude(tree.run(self.clock, nodes))

    def _nodes(self, most: int) -> int:
        """So many nodes of branch and cut, fewer where one takes long."""
        cells = max(int(self.model.is_movable.sum()), 1)
        return int(np.clip(most / NODES * NODE_WORK / cells**2, 1, most))

    def _branch(self, given: Given, seconds: float | None, nodes: int | None) -> None:
        if self.bound == -np.inf:
            self._cover()
        self._conclude(prove(self.model, given, self.best, seconds=seconds, nodes=nodes))

    def _conclude(self, proof: Proof) -> None:
        if proof.reason == "infeasible" and self.best is None:
            raise conflict(self.whole, Deadline(self.seconds))
        self._offer(proof.fit)
        if np.isfinite(proof.bound):
            self.bound = max(self.bound, proof.bound)
        self.reason = "complete" if proof.reason == "optimal" else proof.reason

    def _offer(self, fit: Fit | None) -> None:
        if fit is not None and (self.best is None or self._score(fit) < self._score(self.best)):
            self.best = fit

    def _take(self, fit: Fit) -> None:
        self.best = fit

    def _score(self, fit: Fit) -> float:
        return fit.cost if self.judge is None else self.judge(fit)


def _conclude(
    problem: Problem, run: _Run, method: str, objective: str, limits: Limits, seed: int
) -> Adjustment:
    assert run.best is not None
    values = problem.table.values + run.best.y
    with run.watch.time("audit"):
        verdict = audit(problem, values, limits=asdict(limits))
    assert verdict.adjusted is not None
    is_kept, faults = verdict.adjusted.is_safe, verdict.adjusted.faults
    bound = run.bound if np.isfinite(run.bound) else None
    outcome: Outcome = "safe" if is_kept else "not_safe"
    if is_kept and bound is not None and _is_best(run.model, run.best.cost, bound):
        outcome, bound = "optimal", run.best.cost
    return Adjustment(
        values,
        run.best.senses,
        method,
        objective,
        outcome,
        run.reason if is_kept else f"the audit found: {'; '.join(faults)}",
        run.best.cost,
        bound,
        verdict,
        run.watch.seconds,
        seed,
        asdict(limits),
    )


def _is_best(model: Model, cost: float, bound: float) -> bool:
    """Whether no adjustment is better: costs are multiples of a step, and the bound is within one of them."""
    step = _step(model)
    return bool(cost - bound < max(step * (1 - 1e-4), 1e-7 * cost))


def _step(model: Model) -> float:
    """All costs are multiples of this; 0 where nothing is known."""
    unit = 10.0**model.problem.table.decimals
    steps = model.weight * unit**model.power
    return 1.0 / unit**model.power if np.array_equal(steps, np.rint(steps)) else 0.0
