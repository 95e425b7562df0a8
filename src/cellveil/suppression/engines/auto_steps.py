"""Steps of `auto`: packing of cubes, incremental programs, splitting, ruin and recreate.

Each step works on what the ones before it left: a ledger of witnesses, a complete pattern to fall back on,
and the incumbent. The order of the steps, and their shares of the time, are the tables of
`cellveil.suppression.methods.auto`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from cellveil.clock import Deadline, counted_time
from cellveil.deviations.ledger import Ledger
from cellveil.problem import Problem
from cellveil.solvers.background import BackgroundTask
from cellveil.solvers.parallel import num_workers, using
from cellveil.suppression.engines.auto_state import AutoState
from cellveil.suppression.engines.cube_packing import Packing
from cellveil.suppression.engines.exchange_team import ExchangeTeam
from cellveil.suppression.engines.irregular import everything, finish_jointly, harvesting
from cellveil.suppression.engines.kernel_search import KernelSearch
from cellveil.suppression.engines.local_search import Search, drop_unused
from cellveil.suppression.engines.meet_demands import Completion
from cellveil.suppression.engines.one_demand import OneDemand
from cellveil.suppression.engines.other_starts import OtherStarts
from cellveil.suppression.engines.sparse_elimination import SparseElimination
from cellveil.suppression.engines.splitting_search import SplittingSearch, stepwise
from cellveil.suppression.engines.windowed_demand import WindowedDemand


class AutoRun(AutoState):
    """What the stages run."""

    # -- cubes ---------------------------------------------------------------------------------------------

    def pack(self, deadline: Deadline) -> None:
        """Single cubes of hidden cells, then sums of cubes for a complete pattern."""
        began = counted_time()
        self._packing(self.ledger).prove(deadline)
        self.start = self.ledger.copied()
        self._packing(self.start).protect(deadline)
        self.packing_time = counted_time() - began
        self.tell(self.start)

    def pack_rest(self, deadline: Deadline) -> None:
        """Sums of cubes for open demands; the pattern of cubes where there is no time for that."""
        self.join()
        assert self.start is not None
        ledger, overtime = self.ledger, self.deadline.overtime()
        needed = self.packing_time * ledger.num_open / max(2 * len(self.problem.primaries), 1)
        if overtime.left is not None and overtime.left <= needed:
            self.ledger = self.start
            return
        self._packing(ledger).protect(overtime)
        ledger.add_all(self.start.witnesses(), hide=True)
        self.tell(ledger)

    def polish_start(self, deadline: Deadline) -> None:
        """Ruin and recreate by cubes; with a time limit and several workers beside the harvest.

        Where time is not ample, beside the splitting as well, which is left to one worker then.
        """
        assert self.start is not None
        if num_workers() < 2 or deadline.limit is None:
            self._polish(self.start, deadline)
        else:
            until = deadline if self.has_ample_time() else self.deadline
            self.beside = BackgroundTask(self._packing(self.start).improve, until)

    def join(self) -> None:
        """End what runs beside the stages, and take what it has come to."""
        if self.bounding is not None:
            self.bounding.stop()
        if self.others is not None:
            self.others.end()
            if self.others.best is not None:
                self.tell(self.others.best)
        if self.beside is not None and self.start is not None:
            beside, self.beside = self.beside, None
            beside.stop()
            self.tell(self.start)

    def _wait(self) -> None:
        """Let what runs beside come to its own end, where all workers are for what follows."""
        if self.beside is not None and self.has_ample_time():
            self.beside.wait()
            self.join()

    def polish_cheapest(self, deadline: Deadline) -> None:
        """Ruin and recreate by cubes, from the cheaper pattern: that of cubes or that of splitting."""
        self.join()
        if self.start is not None and not self.start.num_open and self.start.cost < self.ledger.cost:
            self.ledger = self.start
        self._polish(self.ledger, deadline)

    def _polish(self, ledger: Ledger, deadline: Deadline) -> None:
        trials = self.params.polish_trials if deadline.left is None else None
        self._packing(ledger).improve(deadline, trials=trials)
        self.tell(ledger)

    def _packing(self, ledger: Ledger) -> Packing:
        return Packing(ledger, self.params.cubes, seed=self.seed)

    # -- the null space ------------------------------------------------------------------------------------

    def eliminate(self, deadline: Deadline) -> None:
        """Greedy elimination in the null space, from everything hidden."""
        params, longest = self.params.kernel_search, self.deadline.share(self.params.first_pattern)
        self.kernel_search = KernelSearch.of(self.problem, longest, seed=self.seed, params=params)
        if self.kernel_search is not None:
            for ledger in self.kernel_search.patterns(deadline, longest):
                self._take_ledger(ledger, deadline)

    def eliminate_again(self, deadline: Deadline) -> None:
        """Greedy elimination with weights changed a little at random."""
        assert self.kernel_search is not None
        for ledger in self.kernel_search.varied(deadline):
            self._take_ledger(ledger, deadline)

    def eliminate_sparsely(self, deadline: Deadline) -> None:
        """Greedy elimination with a sparse basis of the null space, with repair through windows."""
        params, longest = self.params.sparse_elimination, self.deadline.share(self.params.first_pattern)
        search = SparseElimination.of(
            self.problem, longest, cover=self.cover.suggestion, seed=self.seed, params=params
        )
        self.is_windowed = search is not None
        if search is not None:
            self._take_ledger(search.pattern(longest), longest)

    def anneal(self, deadline: Deadline) -> None:
        """Pivot annealing in the null space, with check and repair."""
        assert self.kernel_search is not None
        if not self.kernel_search.is_priced:
            deadline = deadline.share(1.0, self.params.most_annealing)
        longest = self.deadline.share(self.params.first_pattern)
        self.kernel_search.annealed(
            deadline, self.least, lambda ledger: self._take_ledger(ledger, deadline), longest
        )

    def exchange(self, deadline: Deadline) -> None:
        """Ruin and recreate in the null space of the pattern, by all workers side by side."""
        assert self.completion is not None
        ledger, params = self.completion.ledger, self.params.kernel_exchange
        until = deadline.or_when(lambda: self.is_cheapest(self.least))
        ExchangeTeam(ledger, num_workers(), seed=self.seed, params=params).run(until, self.tell)
        self.has_stalled = not until.is_over
        self.keep(self.completion.draft(), ledger.cost)

    def _take_ledger(self, ledger: Ledger, deadline: Deadline) -> None:
        self._take(self._completed(ledger, self._harvesting(deadline), deadline, is_spare=True))

    # -- joint solves --------------------------------------------------------------------------------------

    def start_jointly(self, deadline: Deadline) -> None:
        """Joint witnesses of groups of demands, hiding what they need."""
        self.start = self.ledger.copied()
        finish_jointly(self.start, deadline, seed=self.seed, params=self.params.irregular)
        self._keep_start()

    def start_singly(self, deadline: Deadline) -> None:
        """Incremental programs for the few demands left open."""
        assert self.start is not None
        self.start = self._completed(self.start, self._harvesting(deadline), deadline, is_spare=True).ledger
        self._keep_start()

    def start_whole(self, deadline: Deadline) -> None:
        """Everything movable, less what no witness moves."""
        ledger = everything(self.problem, deadline, seed=self.seed, params=self.params.irregular)
        self.tell(ledger, ~self.problem.hidden_at_start)

    def group_rest(self, deadline: Deadline) -> None:
        """Joint witnesses of groups of demands, hiding what they need."""
        finish_jointly(self.ledger, deadline, seed=self.seed, params=self.params.irregular)

    def _keep_start(self) -> None:
        assert self.start is not None
        if not self.start.num_open:
            drop_unused(self.start)
            self.tell(self.start)

    # -- incremental programs ------------------------------------------------------------------------------

    def protect(self, deadline: Deadline) -> None:
        """One demand after the other, with harvests of joint witnesses."""
        self._protect(self.ledger, deadline)

    def protect_afresh(self, deadline: Deadline) -> None:
        """One demand after the other, with harvests of joint witnesses."""
        self._protect(Ledger(self.problem), deadline)

    def protect_cover(self, deadline: Deadline) -> None:
        """The same, with the cells that the cover bound suggests hidden to begin with."""
        self._protect(Ledger(self.problem, self.cover.suggestion), deadline)

    def finish_by_harvests(self, deadline: Deadline) -> None:
        """Incremental programs; whole components where time is up and no pattern is complete."""
        self._finish(self._harvesting(deadline), deadline)

    def finish_by_steps(self, deadline: Deadline) -> None:
        """Programs or splitting, before them cheap sums of cubes; with cubes, as long as time is not short.

        Whole components where time is up and no pattern is complete.
        """
        if self.start is not None:
            deadline = deadline.or_when(self.is_short, in_shares=True)
            if not self.is_windowed:
                self._splitting_search().within(deadline).settle_inside(self.ledger, deadline)
            self._packing(self.ledger).protect_cheaply(self.params.cheap, deadline)
        one_demand = self.params.meet_demands.one_demand
        steps = partial(stepwise, seed=self.seed, params=one_demand)
        self._finish(self._harvesting(deadline) if self.is_windowed else steps, deadline)

    def _protect(self, ledger: Ledger, deadline: Deadline) -> None:
        self._take(self._completed(ledger, self._harvesting(deadline), deadline, is_spare=True))

    def _finish(self, make: Callable[[Ledger], OneDemand], deadline: Deadline) -> None:
        self.completion = None
        self._take(self._completed(self.ledger, make, deadline, is_spare=self.kept is not None))

    def _harvesting(self, deadline: Deadline) -> Callable[[Ledger], OneDemand]:
        if self.is_windowed:
            return partial(WindowedDemand, params=self.params.sparse_elimination.windows)
        return partial(harvesting, deadline=deadline, seed=self.seed, params=self.params.irregular)

    def _completed(
        self, ledger: Ledger, make: Callable[[Ledger], OneDemand], deadline: Deadline, *, is_spare: bool
    ) -> Completion:
        """The ledger with what open demands need; not finished where it is spare and the time is over."""
        completion = Completion(ledger, make, deadline, self.progress, seed=self.seed, is_spare=is_spare)
        completion.prove_by_cubes()
        completion.run()
        if not completion.ledger.num_open:
            drop_unused(completion.ledger)
        return completion

    def _take(self, completion: Completion) -> None:
        """Go on with a completion, where it is better than the one before."""
        self.tell(completion.ledger, completion.hurried)
        if completion.infeasible:
            self.ended = completion.draft()
        if self.completion is None or _rank(completion) < _rank(self.completion):
            self.completion, self.ledger = completion, completion.ledger
            if not self.is_open():
                self.keep(completion.draft(), completion.ledger.cost)

    # -- splitting -----------------------------------------------------------------------------------------

    def harvest(self, deadline: Deadline) -> None:
        """Joint witnesses inside what is hidden."""
        search = self._splitting_search()
        with using(1 if self.beside is not None else num_workers()):
            search.harvest(self.ledger, deadline.or_when(self._is_late))

    def split(self, deadline: Deadline) -> None:
        """Reweighted Douglas–Rachford splitting, made exact: large demands singly, the others in groups."""
        self._wait()
        self._splitting_search().build(self.ledger, deadline.or_when(self._is_late))

    def regrow(self, deadline: Deadline) -> None:
        """Ruin and recreate by splitting; by programs through windows after sparse elimination."""
        if self.is_windowed:
            self.search(deadline)
        else:
            self._splitting_search().regrow(self.ledger, deadline, self.tell)
            self.has_stalled = not deadline.is_over

    def _splitting_search(self) -> SplittingSearch:
        if self.splitting is None or self.splitting.problem is not self.ledger.problem:
            own, params = self.ledger.problem, self.params.splitting
            # Without a limit the pattern is to be the same for any number of workers.
            workers = num_workers() if self.has_ample_time() else 1
            self.splitting = SplittingSearch(
                own, params, seed=self.seed, deadline=self.deadline, workers=workers
            )
        return self.splitting

    def _is_late(self) -> bool:
        self.tell(self.ledger)
        return self.start is not None and self.is_short()

    # -- other beginnings ----------------------------------------------------------------------------------

    def begin_others(self, deadline: Deadline) -> None:
        """One demand after the other, and annealing, in a thread beside the stages."""
        self.others = self._other_starts()
        self.others.begin(self.deadline)

    def try_others(self, deadline: Deadline) -> None:
        """The same, here and now."""
        self.others = self._other_starts()
        self.others.run(deadline)
        self.take_others(deadline)

    def take_others(self, deadline: Deadline) -> None:
        """The pattern of other beginnings, once they have ended."""
        assert self.others is not None
        self.others.wait()
        ledger, before = self.others.best, self.least
        if ledger is not None:
            self._take_ledger(ledger, deadline)
        self.has_changed = self.least < before

    def _other_starts(self) -> OtherStarts:
        params = self.params
        own = (params.meet_demands, params.kernel_search, params.other_starts)
        return OtherStarts(self.problem, self.seed, *own)

    # -- search ---------------------------------------------------------------------------------

    def search(self, deadline: Deadline) -> None:
        """Clean-up, then ruin and recreate by incremental programs."""
        assert self.completion is not None
        ledger, params, has_limit = self.completion.ledger, self.params, deadline.limit is not None
        protector = self._harvesting(deadline)(ledger)
        search = Search(ledger, protector, seed=self.seed, deadline=deadline, params=params.local_search)
        trials, steps = (math.inf, math.inf) if has_limit else (params.trials, params.steps)

        def has_worked_enough() -> bool:
            self.tell(ledger)
            return protector.num_steps >= steps

        until = deadline.or_when(has_worked_enough)
        search.clean_up(until)
        self.tell(ledger)
        while search.trials < trials and search.barren < params.barren and not until.is_over:
            if self.is_cheapest(search.least):
                break
            slack = params.slack * (1 - search.barren / params.barren)
            search.shake(until, params.trials_at_once, slack)
        self.has_stalled = not until.is_over
        self.tell(ledger)
        if self.kept is not None and self.least == search.least < ledger.cost:
            self.ledger = self.completion.ledger = Ledger(ledger.problem, self.kept.hidden)
            self.ledger.add_all(self.kept.witnesses)
        self.keep(self.completion.draft(), self.completion.ledger.cost)


def largest_component(problem: Problem) -> int:
    """Cells of the largest component that has a demand."""
    program = OneDemand(Ledger(problem))
    return max((program.size_of(int(cell)) for cell in problem.primaries), default=0)


def _rank(completion: Completion) -> tuple[int, float]:
    return completion.ledger.num_open, completion.ledger.cost
