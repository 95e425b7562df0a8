"""Growing patterns by splitting: the demands that carry the cost one by one, the others together.

Most of the cost sits in a few large demands: these are protected one by one, both directions together. The
others, grouped by size and each in a direction drawn at random, share one deviation as far as they do not
stand in each other's way. Such *tasks* are done by `exact_tasks`, as many at a time as there are workers; in
tables too large for that as a whole, through windows.

Requires any relations. Ensures that what a ledger holds is exact. Does not ensure that no demand stays open.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cellveil.clock import NO_LIMIT, Deadline, counted_time
from cellveil.deviations.joint_witness import Task, grouped
from cellveil.deviations.ledger import Ledger
from cellveil.params import param
from cellveil.problem import Problem
from cellveil.solvers.projection import Projection
from cellveil.suppression.engines.exact_tasks import Assignment, ExactTasksParams, TaskTeam
from cellveil.suppression.engines.local_search import drop_unused, trial
from cellveil.suppression.engines.one_demand import OneDemand, OneDemandParams, Strategy
from cellveil.suppression.engines.reweighted_splitting import Terms, window


@dataclass(frozen=True, kw_only=True)
class SplittingSearchParams(ExactTasksParams):
    """Parameters of the search by splitting."""

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
        "What a demand of a group may cost, in median weights, from round to round; fewer if time is short.",
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


class SplittingSearch:
    """The splitting engine on the demands of one problem.

    Parameters
    ----------
    workers
        How many tasks are done side by side.
    """

    def __init__(
        self,
        problem: Problem,
        params: SplittingSearchParams | None = None,
        *,
        seed: int = 0,
        deadline: Deadline = NO_LIMIT,
        workers: int = 1,
    ) -> None:
        self.problem, self.params = problem, params or SplittingSearchParams()
        self.rng = np.random.default_rng(seed)
        self._largest = float(np.maximum(problem.upl, problem.lpl).max(initial=0))
        self._pace = 0.0  # seconds that a single demand takes
        self.deadline = deadline
        self._team = TaskTeam(problem, self.params, workers, rng=self.rng, seed=seed, deadline=deadline)
        first, most = self._team.first, 2 * self.params.window
        self.is_windowed = not first.is_irregular and first.whole.projection.size > most

    def within(self, deadline: Deadline) -> SplittingSearch:
        """The same, with another time limit from now on."""
        self.deadline = self._team.deadline = deadline
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
            own, self._team.deadline = self._team.deadline, deadline if is_hurried else self.deadline
            try:
                self._team.harvest(ledger, rounds=usual if rounds is None else rounds)
            finally:
                self._team.deadline = own

    def build(self, ledger: Ledger, deadline: Deadline) -> None:
        """Hide what open demands need, and meet them: one by one, the largest first, then in groups.

        Demands that share a deviation cost a little more than one after the other, and a small part of the
        time: with a time limit only those that cost much are met one by one. In very large tables they are
        looked at through windows, and not all of the rest is.

        Several workers do as many of these as one does, in a part of the time.
        """
        params = self.params
        singly = deadline.share(params.single_share / self._team.size)
        self._one_by_one(ledger, deadline, most=params.giants, only_dear=True, starts=singly)
        if deadline.limit is None:
            self._one_by_one(ledger, deadline, most=params.tail, starts=singly)
        if self.is_windowed:
            self._protect_in_windows(ledger, deadline)
            return
        self._protect_in_groups(ledger, deadline)
        if self._team.size > 1:
            self._one_by_one(ledger, deadline, most=self._team.size, starts=deadline)

    def _protect_in_groups(self, ledger: Ledger, deadline: Deadline) -> None:
        """Rounds of groups at rising prices: as many as there is time for, the last one among them."""
        prices, pace = self.params.prices, self.params.round_demands * self._pace
        while prices and ledger.num_open and not deadline.is_over:
            begin, left = counted_time(), deadline.left
            if left is not None and pace > 0:
                prices = _spread(prices, max(int(left / pace), 1))
            self.harvest(ledger, deadline)
            terms = Terms(self.params.slack, prices[0])
            groups = [Assignment([task], terms) for task in grouped(ledger, self.rng)]
            while groups and not deadline.is_over:
                self._team.do(ledger, groups[: self._team.size], deadline)
                del groups[: self._team.size]
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
        """The largest open demands: as long as they cost much, or all.

        None begins when `starts` is over, or would be if it took as long as the last one.
        """
        tried: set[int] = set()
        cheap, begin, params = 0, counted_time(), self.params
        last = begin
        while len(tried) < most and not (only_dear and cheap >= params.cheap_ones):
            chosen = self._largest_open(ledger, tried, min(self._team.size, most - len(tried)))
            now = counted_time()
            is_late = starts.left is not None and starts.left < now - last
            if not chosen or is_late or starts.is_over or deadline.is_over:
                break
            last = now
            before, harvests = ledger.cost, len(tried) // params.harvest_every
            tried.update(chosen)
            for added in self._team.do(ledger, [self._both_ways(ledger, cell) for cell in chosen], deadline):
                before += added
                cheap = cheap + 1 if added < params.cheap * before else 0
            if len(tried) // params.harvest_every > harvests:
                self.harvest(ledger, deadline, rounds=1)
        self._pace = (counted_time() - begin) / max(len(tried), 1)

    def _protect_in_windows(self, ledger: Ledger, deadline: Deadline) -> None:
        """Windows around the largest open demands: what each shows of others like it as a group."""
        tried: set[int] = set()
        is_hurried = deadline.limit is not None
        most = self.params.windows_in_time if is_hurried else self.params.windowed_groups
        while len(tried) < most and not deadline.is_over:
            chosen = self._largest_open(ledger, tried, min(self._team.size, most - len(tried)))
            if not chosen:
                return
            tried.update(chosen)
            groups, seen = [], np.zeros(len(ledger.hidden), dtype=bool)
            for cell, amount in chosen.items():
                near = self._window(ledger, cell, amount, is_wide=not is_hurried)
                assert near is not None
                self._meet_inside(ledger, near)
                for task in grouped(ledger, self.rng, near.cells[~seen[near.cells]])[:1]:
                    groups.append(Assignment([task], Terms(self.params.slack), near))
                seen[near.cells] = True
            if groups:
                self._team.do(ledger, groups, deadline)

    def _meet_inside(self, ledger: Ledger, near: Projection) -> None:
        """Meet demands of a window inside what it shows of the pattern."""
        inside = np.zeros(len(ledger.hidden), dtype=bool)
        inside[near.cells] = True
        for _ in range(self.params.free_tries):
            for task in grouped(ledger, self.rng, near.cells)[:1]:
                self._team.first.settle(ledger, task, inside & ledger.hidden)

    def settle_inside(self, ledger: Ledger, deadline: Deadline) -> None:
        """Meet open demands one by one inside what is hidden, as far as that is enough for them."""
        cells, ups, _ = (each.tolist() for each in ledger.open_demands())
        for cell, up in zip(cells, ups, strict=True):
            if deadline.is_over:
                return
            if ledger.is_open(cell, up):
                for task in self._both_ways(ledger, cell).tasks:
                    self._team.first.settle(ledger, task, ledger.hidden)

    def _largest_open(self, ledger: Ledger, tried: set[int], most: int) -> dict[int, float]:
        """Cells with the largest open demands, up to so many, and their amounts."""
        cells, _, amounts = ledger.open_demands()
        chosen: dict[int, float] = {}
        for place in np.flatnonzero(~np.isin(cells, list(tried))).tolist():
            if len(chosen) == most:
                break
            chosen.setdefault(int(cells[place]), float(amounts[place]))
        return chosen

    def protect(self, ledger: Ledger, cell: int, up: bool, deadline: Deadline) -> bool:
        """Hide what an open demand needs, and its opposite if that is open too; tells whether it was met."""
        self._team.do(ledger, [self._both_ways(ledger, cell)], deadline)
        return bool((ledger.witness_up if up else ledger.witness_down)[cell] >= 0)

    def _both_ways(self, ledger: Ledger, cell: int) -> Assignment:
        """The open demands of a cell."""
        tasks = [
            Task(np.array([cell]), np.array([sign]), np.array([float(need[cell])]), False)
            for sign, need, witness in (
                (1.0, ledger.need_up, ledger.witness_up),
                (-1.0, ledger.need_down, ledger.witness_down),
            )
            if need[cell] > 0 and witness[cell] < 0
        ]
        amount = tasks[0].unit
        near = self._window(ledger, cell, amount, is_wide=self._is_wide(amount))
        return Assignment(tasks, Terms(self.params.slack), near)

    def protect_together(self, ledger: Ledger, task: Task, deadline: Deadline) -> None:
        """Hide what a group of demands needs, and meet as many as one deviation can.

        In very large tables through windows around its largest demands, until each has been in one.
        """
        terms = Terms(self.params.slack)
        if not self.is_windowed:
            self._team.do(ledger, [Assignment([task], terms)], deadline)
            return
        for first in np.argsort(-task.amounts, kind="stable").tolist():
            cell, rises = int(task.cells[first]), bool(task.signs[first] > 0)
            if deadline.is_over:
                return
            if not ledger.is_open(cell, rises):
                continue
            near = self._window(ledger, cell, float(task.amounts[first]))
            assert near is not None
            inside = np.isin(task.cells, near.cells)
            inside &= [ledger.is_open(one, rises) for one in task.cells.tolist()]
            part = Task(task.cells[inside], task.signs[inside], task.amounts[inside], task.both_ways)
            self._team.do(ledger, [Assignment([part], terms, near)], deadline)

    def _window(self, ledger: Ledger, cell: int, amount: float, *, is_wide: bool = True) -> Projection | None:
        """A window around a demand; none where the whole table is not much larger."""
        if not self.is_windowed:
            return None
        free, most = (
            self.params.reweighting.free_counts,
            self.params.window if is_wide else self.params.narrow,
        )
        return window(self.problem, ledger.hidden, cell, amount, most, free)

    def _is_wide(self, amount: float) -> bool:
        """Whether a demand is among the largest, or time does not matter."""
        return self.deadline.limit is None or amount >= self.params.largest * self._largest


def _spread(prices: tuple[float, ...], number: int) -> tuple[float, ...]:
    """So many of the prices, from low to high: the last one always.

    Examples
    --------
    >>> _spread((10.0, 100.0, 1e3, 1e4, 1e5, 1e6), 2), _spread((10.0, 100.0), 5)
    ((1000.0, 1000000.0), (10.0, 100.0))
    """
    count = len(prices)
    return tuple(prices[count * (k + 1) // number - 1] for k in range(number)) if number < count else prices


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
