"""Growing patterns by splitting: the demands that carry the cost one by one, the others together.

Most of the cost sits in a few large demands: these are protected one by one, both directions together. The
others, grouped by size and each in a direction drawn at random, share one deviation as far as they do not
stand in each other's way. What to hide for such a *task* is found by `reweighted_splitting`; in tables too
large for that as a whole, one demand at a time through windows.

A float is not a proof: each deviation is then settled inside what is hidden, made exact by the lattice of
these cells, and only then written into the ledger. What does not come out exact stays open and comes up
again, with what it lacked at a price.

Requires any relations. Ensures that what a ledger holds is exact. Does not ensure that no demand stays open.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from cellveil.arrays import Bool
from cellveil.clock import NO_LIMIT, Deadline, counted_time
from cellveil.deviations.joint_witness import JointWitness, Task, grouped
from cellveil.deviations.ledger import Ledger
from cellveil.params import Params, param, part
from cellveil.problem import Problem, Status
from cellveil.solvers import tolerances
from cellveil.solvers.projection import Projection, SparseProjection, projection_of
from cellveil.suppression.engines.local_search import drop_unused, trial
from cellveil.suppression.engines.one_demand import OneDemand, OneDemandParams, Strategy
from cellveil.suppression.engines.reweighted_splitting import (
    ReweightedSplitting,
    ReweightedSplittingParams,
    Terms,
    window,
)


@dataclass(frozen=True, kw_only=True)
class SplittingSearchParams(Params):
    """Parameters of the search by splitting."""

    slack: float = param(0.01, "Margin on amounts and rooms, for rounding to exact witnesses.", least=0)
    more_slack: float = param(3.0, "Factor on the margin from try to try.", least=1)
    most_slack: float = param(0.2, "Largest margin.", least=0, most=1)
    attempts: int = param(4, "Tries to make a deviation exact before its demands stay open.", least=1)
    most_for_programs: int = param(
        15_000, "Movable cells of an irregular table up to which interior points find what to hide.", least=0
    )
    program_slopes: tuple[float, ...] = param((0.1, 0.01), "Falling ε of their reweighting.", least=0)
    most_to_settle: int = param(60_000, "Hidden cells up to which joint witnesses are looked for.", least=0)
    most_in_time: int = param(25_000, "The same with a time limit.", least=0)
    harvest_rounds: int = param(6, "Rounds of joint witnesses inside the pattern.", least=0)
    rounds_in_time: int = param(1, "The same with a time limit.", least=0)
    harvest_every: int = param(20, "Demands met one by one between two such rounds.", least=1)
    giants: int = param(
        100, "Most of the largest demands met one by one, as long as they cost much.", least=0
    )
    cheap: float = param(0.01, "A demand costs little where it adds less than this share.", least=0)
    cheap_ones: int = param(3, "Demands in a row of little cost that end the largest.", least=1)
    tail: int = param(
        400, "Most further ones; with a time limit only in tables looked at through windows.", least=0
    )
    single_share: float = param(0.5, "Share of the time for demands met one by one.", least=0, most=1)
    prices: tuple[float, ...] = param(
        (10.0, 100.0, 1e3, 1e4, 1e5, math.inf, math.inf),
        "What a demand of a group may cost, in median weights, from round to round.",
        least=0,
    )
    round_demands: float = param(
        2.0, "How many times as long as a single demand such a round takes, to begin with.", least=0
    )
    window: int = param(
        50_000, "Places of a window; tables of twice as many are looked at through it.", least=8
    )
    narrow: int = param(8_000, "Places of a narrow window, for all but the largest demands.", least=8)
    largest: float = param(
        0.2, "Share of the largest demand from which others need the wide window too.", least=0, most=1
    )
    windowed_groups: int = param(60, "Most windows in which groups are met.", least=0)
    windows_in_time: int = param(10_000, "The same with a time limit, narrow ones.", least=0)
    free_tries: int = param(2, "Joint witnesses tried inside the pattern of a window.", least=0)
    ruined: float = param(0.3, "Share of the secondaries published in ruin and recreate.", least=0, most=1)
    barren: int = param(4, "Trials in vain, one after the other, that end it.", least=1)
    reweighting: ReweightedSplittingParams = part(ReweightedSplittingParams)


class SplittingSearch:
    """The splitting engine on the demands of one problem."""

    def __init__(
        self,
        problem: Problem,
        params: SplittingSearchParams | None = None,
        *,
        seed: int = 0,
        deadline: Deadline = NO_LIMIT,
    ) -> None:
        self.problem, self.params = problem, params or SplittingSearchParams()
        self.rng = np.random.default_rng(seed)
        self._movable = problem.status != Status.FROZEN
        self._largest = float(np.maximum(problem.upl, problem.lpl).max(initial=0))
        self._pace = 0.0  # seconds that a single demand takes
        self.deadline, self._joint = deadline, JointWitness(problem, deadline)
        self._whole = self._engine(projection_of(problem.table))
        projection = self._whole.projection
        self._is_irregular = isinstance(projection, SparseProjection)
        self.is_windowed = not self._is_irregular and projection.size > 2 * self.params.window

    def within(self, deadline: Deadline) -> SplittingSearch:
        """The same, with another time limit from now on."""
        self.deadline = self._joint.deadline = deadline
        return self

    # -- what to do ----------------------------------------------------------------------------------------

    def harvest(self, ledger: Ledger, deadline: Deadline, *, rounds: int | None = None) -> None:
        """Meet open demands inside what is hidden, free of cost: as many as possible by one deviation.

        The programs of a harvest grow with the square of the hidden cells, so that with a time limit larger
        patterns go without.
        """
        params, is_hurried = self.params, deadline.limit is not None
        most = params.most_in_time if is_hurried else params.most_to_settle
        if int(ledger.hidden.sum()) <= most and not deadline.is_over:
            usual = params.rounds_in_time if is_hurried else params.harvest_rounds
            own, self._joint.deadline = self._joint.deadline, deadline if is_hurried else self.deadline
            try:
                self._joint.harvest(ledger, self.rng, rounds=usual if rounds is None else rounds)
            finally:
                self._joint.deadline = own

    def build(self, ledger: Ledger, deadline: Deadline) -> None:
        """Hide what open demands need, and meet them: one by one, the largest first, then in groups.

        Demands that share a deviation cost a little more than one after the other, and a small part of the
        time: with a time limit only those that cost much are met one by one. In very large tables they are
        looked at through windows, and not all of the rest is.
        """
        params = self.params
        singly = deadline.share(params.single_share)
        self._one_by_one(ledger, deadline, most=params.giants, only_dear=True, starts=singly)
        if deadline.limit is None:
            self._one_by_one(ledger, deadline, most=params.tail, starts=singly)
        if self.is_windowed:
            self._protect_in_windows(ledger, deadline)
            return
        self._protect_in_groups(ledger, deadline)

    def _protect_in_groups(self, ledger: Ledger, deadline: Deadline) -> None:
        """Rounds of groups at rising prices: the last ones, as many as there is time for."""
        prices, pace = self.params.prices, self.params.round_demands * self._pace
        while prices and ledger.num_open and not deadline.is_over:
            begin, left = counted_time(), deadline.left
            if left is not None and pace > 0:
                prices = prices[-max(int(left / pace), 1) :]
            self.harvest(ledger, deadline)
            for task in grouped(ledger, self.rng):
                if not deadline.is_over:
                    self._pay(ledger, [task], deadline, Terms(self.params.slack, prices[0]), self._whole)
            prices, pace = prices[1:], counted_time() - begin

    def regrow(self, ledger: Ledger, deadline: Deadline, tell: Callable[[Ledger], None]) -> None:
        """Ruin and recreate on a complete ledger: publish some secondaries, build anew, keep what is cheaper.

        Not in tables that are looked at through windows: the rest would have to be proved without harvests.
        """
        barren = self.params.barren if self.is_windowed else 0
        while barren < self.params.barren and not deadline.is_over:
            barren += 1
            if self._finds_cheaper(ledger, deadline):
                tell(ledger)
                barren = 0

    def _finds_cheaper(self, ledger: Ledger, deadline: Deadline) -> bool:
        before, secondaries = ledger.cost, ledger.secondaries()
        until_vain = deadline.or_when(lambda: ledger.cost >= before)

        def recreate() -> None:
            self.harvest(ledger, until_vain)
            self.build(ledger, until_vain)
            if not ledger.num_open:
                drop_unused(ledger)

        ruined = secondaries[self.rng.random(len(secondaries)) < self.params.ruined]
        return trial(ledger, ruined, recreate, float(np.nextafter(before, -np.inf)))

    def _one_by_one(
        self, ledger: Ledger, deadline: Deadline, *, most: int, starts: Deadline, only_dear: bool = False
    ) -> None:
        """The largest open demands: as long as they cost much, or all; none begins when `starts` is over."""
        tried: set[int] = set()
        cheap, begin = 0, counted_time()
        while len(tried) < most and not (only_dear and cheap >= self.params.cheap_ones):
            cells, up, _ = ledger.open_demands()
            untried = np.flatnonzero(~np.isin(cells, list(tried)))
            if not len(untried) or starts.is_over or deadline.is_over:
                break
            cell = int(cells[untried[0]])
            tried.add(cell)
            before = ledger.cost
            self.protect(ledger, cell, bool(up[untried[0]]), deadline)
            cheap = cheap + 1 if ledger.cost - before < self.params.cheap * ledger.cost else 0
            if len(tried) % self.params.harvest_every == 0:
                self.harvest(ledger, deadline, rounds=1)
        self._pace = (counted_time() - begin) / max(len(tried), 1)

    def _protect_in_windows(self, ledger: Ledger, deadline: Deadline) -> None:
        """Window after window around the largest open demand: what it shows of others like it as a group."""
        tried: set[int] = set()
        is_hurried = deadline.limit is not None
        for _ in range(self.params.windows_in_time if is_hurried else self.params.windowed_groups):
            cells, _, amounts = ledger.open_demands()
            untried = np.flatnonzero(~np.isin(cells, list(tried)))
            if not len(untried) or deadline.is_over:
                return
            first = untried[0]
            tried.add(int(cells[first]))
            slopes = self._near(ledger, int(cells[first]), float(amounts[first]), is_wide=not is_hurried)
            for _ in range(self.params.free_tries):
                for task in grouped(ledger, self.rng, slopes.projection.cells)[:1]:
                    self._settle(ledger, task, slopes.inside(ledger.hidden))
            group = grouped(ledger, self.rng, slopes.projection.cells)
            if group and not deadline.is_over:
                self._pay(ledger, group[:1], deadline, Terms(self.params.slack), slopes)

    def protect(self, ledger: Ledger, cell: int, up: bool, deadline: Deadline) -> bool:
        """Hide what an open demand needs, and its opposite if that is open too; tells whether it was met."""
        tasks = [
            Task(np.array([cell]), np.array([sign]), np.array([float(need[cell])]), False)
            for sign, need, witness in (
                (1.0, ledger.need_up, ledger.witness_up),
                (-1.0, ledger.need_down, ledger.witness_down),
            )
            if need[cell] > 0 and witness[cell] < 0
        ]
        amount = tasks[0].unit
        near = self._near(ledger, cell, amount, is_wide=self._is_wide(amount))
        self._pay(ledger, tasks, deadline, Terms(self.params.slack), near)
        return bool((ledger.witness_up if up else ledger.witness_down)[cell] >= 0)

    def protect_together(self, ledger: Ledger, task: Task, deadline: Deadline) -> None:
        """Hide what a group of demands needs, and meet as many as one deviation can.

        In very large tables through windows around its largest demands, until each has been in one.
        """
        if not self.is_windowed:
            self._pay(ledger, [task], deadline, Terms(self.params.slack), self._whole)
            return
        for first in np.argsort(-task.amounts, kind="stable").tolist():
            cell, rises = int(task.cells[first]), bool(task.signs[first] > 0)
            if deadline.is_over:
                return
            if not ledger.is_open(cell, rises):
                continue
            slopes = self._near(ledger, cell, float(task.amounts[first]))
            inside = np.isin(task.cells, slopes.projection.cells)
            inside &= [ledger.is_open(one, rises) for one in task.cells.tolist()]
            part = Task(task.cells[inside], task.signs[inside], task.amounts[inside], task.both_ways)
            self._pay(ledger, [part], deadline, Terms(self.params.slack), slopes)

    def _pay(
        self, ledger: Ledger, tasks: list[Task], deadline: Deadline, terms: Terms, slopes: ReweightedSplitting
    ) -> None:
        """Look for the deviations, hide what they move, and make them exact.

        Where something was read off too early to be feasible, the least that is missing is looked for among
        what was moved at one time or other; then from where the search stands, with what is hidden by now for
        free and more slack.
        """
        if self._is_irregular and self._movable.sum() <= self.params.most_for_programs:
            for task in tasks:
                if not deadline.is_over:
                    self._pay_by_programs(ledger, task)
            return
        state, touched = slopes.cheapest(ledger.hidden, tasks, deadline, terms)
        if deadline.is_over:  # what moves at large ε is far too much
            return
        for _ in range(self.params.attempts):
            moved = slopes.moved(state)
            ledger.hide(np.flatnonzero(moved & ~ledger.hidden))
            few = moved | slopes.inside(self.problem.hidden_at_start)
            left = [
                k
                for k, task in enumerate(tasks)
                if not (
                    _is_met(ledger, task)
                    or self._settle(ledger, task, few)
                    or self._settle(ledger, task, few, touched)
                )
            ]
            if not left or deadline.is_over:
                return
            tasks, state = [tasks[k] for k in left], state.part(left)
            more = min(terms.slack * self.params.more_slack, self.params.most_slack)
            terms = replace(terms, slack=more)
            state = slopes.closer(ledger.hidden, tasks, state, terms)

    def _near(self, ledger: Ledger, cell: int, amount: float, *, is_wide: bool = True) -> ReweightedSplitting:
        """The engine in a window around a demand, or on the whole table if that is not much larger."""
        if not self.is_windowed:
            return self._whole
        free, most = (
            self.params.reweighting.free_counts,
            self.params.window if is_wide else self.params.narrow,
        )
        part = window(self.problem, ledger.hidden, cell, amount, most, free)
        return self._engine(part)

    def _is_wide(self, amount: float) -> bool:
        """Whether a demand is among the largest, or time does not matter."""
        return self.deadline.limit is None or amount >= self.params.largest * self._largest

    def _engine(self, projection: Projection) -> ReweightedSplitting:
        return ReweightedSplitting(self.problem, projection, self._joint, self.rng, self.params.reweighting)

    def _pay_by_programs(self, ledger: Ledger, task: Task) -> None:
        """The same by interior points on the whole table, where there is no cheap projection."""
        moved = self._joint.missing(task, ledger.hidden, self._movable)
        for slope in self.params.program_slopes:
            if moved is None:
                return
            again = self._joint.missing(task, ledger.hidden, self._movable, slope=1 / (np.abs(moved) + slope))
            moved = moved if again is None else again
        if moved is not None:
            ledger.hide(
                np.flatnonzero((np.abs(moved) > tolerances.PROGRAM_SUPPORT) & ~ledger.hidden & self._movable)
            )
            self._settle(ledger, task, ledger.hidden)

    # -- exactness -----------------------------------------------------------------------------------------

    def _settle(self, ledger: Ledger, task: Task, allowed: Bool, candidates: Bool | None = None) -> bool:
        """Do the task inside the allowed cells, exactly, and write the deviation down; tells whether it met.

        With `candidates` further cells may be used at their price, and are hidden.
        """
        if candidates is not None:
            moved = self._joint.missing(task, allowed, candidates)
            if moved is None:
                return False
            new = (np.abs(moved) > tolerances.SOLVED_SUPPORT) & ~ledger.hidden
            ledger.hide(np.flatnonzero(new))
            allowed = allowed | new
        witness = self._joint.exact(ledger, task, allowed)
        return witness is not None and ledger.add(witness, stretch=True) > 0


class SplittingFirst(Strategy):
    """The splitting engine first in components too large for programs; not in trials with a budget."""

    def __init__(self, problem: Problem, *, seed: int = 0) -> None:
        self._problem, self._seed = problem, seed
        self._search: SplittingSearch | None = None

    def search(self, deadline: Deadline) -> SplittingSearch:
        """The engine, made when it is needed."""
        self._search = self._search or SplittingSearch(self._problem, seed=self._seed)
        return self._search.within(deadline)

    @property
    def is_in_use(self) -> bool:
        """Whether the engine has been needed."""
        return self._search is not None

    def try_first(self, engine: OneDemand, cell: int, up: bool, deadline: Deadline, budget: float) -> bool:
        """See `Strategy`."""
        if engine.size_of(cell) <= engine.params.most_cells or budget < math.inf:
            return False
        return self.search(deadline).protect(engine.ledger, cell, up, deadline)


def stepwise(ledger: Ledger, *, seed: int = 0, params: OneDemandParams | None = None) -> OneDemand:
    """Linear programs for small components, the splitting engine for large ones."""
    return OneDemand(ledger, params, strategy=SplittingFirst(ledger.problem, seed=seed))


def _is_met(ledger: Ledger, task: Task) -> bool:
    """Whether nothing of a task is open any more: the deviation of another one, reversed, may do it."""
    return not any(
        ledger.is_open(cell, sign > 0)
        for cell, sign in zip(task.cells.tolist(), task.signs.tolist(), strict=True)
    )
