"""Steps of `auto`: packing of cubes, incremental programs, splitting, ruin and recreate, and lower bounds.

Each step works on what the ones before it left: a ledger of witnesses, a complete pattern to fall back on,
and the incumbent. The order of the steps, and their shares of the time, are the tables of
`cellveil.suppression.methods.auto`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from cellveil.clock import Deadline, counted_time
from cellveil.deviations.cubes import has_cubes
from cellveil.deviations.ledger import Ledger
from cellveil.params import Params, param, part
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.suppression.bounds.cover import CoverBound, cover_bound
from cellveil.suppression.bounds.relaxation import lower_bound as relaxed_bound
from cellveil.suppression.draft import Draft
from cellveil.suppression.engines.cube_packing import CubePackingParams, Packing
from cellveil.suppression.engines.irregular import IrregularParams, everything, finish_jointly, harvesting
from cellveil.suppression.engines.local_search import LocalSearchParams, Search, drop_unused
from cellveil.suppression.engines.meet_demands import Completion, MeetDemandsParams
from cellveil.suppression.engines.one_demand import OneDemand
from cellveil.suppression.engines.splitting_search import Growth, SplittingSearchParams, stepwise
from cellveil.suppression.engines.stages import Incumbent
from cellveil.suppression.presolve.merge_ties import merged


@dataclass(frozen=True, kw_only=True)
class AutoStepsParams(Params):
    """Parameters of the steps of `auto`."""

    better_bound: bool = param(
        False, "Spend a tenth of the time on a better bound even where it is close already."
    )
    first_bound: float = param(0.1, "Share of the time for the cover bound.", least=0, most=1)
    first_bound_seconds: float = param(20.0, "Seconds for it at most.", least=0)
    bound_nodes: int = param(200, "Nodes of the covering program for the better bound.", least=0)
    most_to_relax: int = param(20_000, "Cells up to which a better bound is looked for.", least=0)
    good_enough: float = param(0.2, "A gap that needs no better bound.", least=-1, most=1)
    always_bounded: int = param(1_500, "Cells up to which a better bound is looked for anyway.", least=0)
    most_to_merge: int = param(60_000, "Cells of irregular tables looked through for ties.", least=0)
    most_regular: int = param(700, "The same for tables with dimensions, which merging loses.", least=0)
    worth_merging: float = param(0.05, "Least share of cells that merging ties must save.", least=0, most=1)
    small: int = param(2_500, "Cells of the largest component up to which a table is small.", least=0)
    few: int = param(40, "Open demands up to which programs, not cubes or groups, meet them.", least=0)
    many: int = param(8_000, "Cells from which single programs of irregular tables get less time.", least=0)
    finish: float = param(
        0.12, "Share of the time, beside that of packing, below which no cubes are packed again.", least=0
    )
    most_for_exact: int = param(1_500, "Cells up to which branch and cut follows the search.", least=0)
    most_flows_for_exact: int = param(5_000, "The same in networks.", least=0)
    most_if_close: int = param(5_000, "The same where the gap is small.", least=0)
    close: float = param(0.05, "A small gap.", least=-1, most=1)
    polish_trials: int = param(2_000, "Trials of ruin and recreate by cubes, without a time limit.", least=0)
    trials: int = param(100, "Trials of ruin and recreate by programs, without a time limit.", least=0)
    steps: int = param(100_000, "Simplex steps of these and of clean-up, without a time limit.", least=0)
    barren: int = param(2_000, "Trials in vain that end ruin and recreate.", least=1)
    trials_at_once: int = param(20, "Trials between two looks at the bound.", least=1)
    slack: float = param(0.03, "Cost above the best at which trials go on, at first, as a share.", least=0)
    cubes: CubePackingParams = part(CubePackingParams)
    splitting: SplittingSearchParams = part(SplittingSearchParams)
    meet_demands: MeetDemandsParams = part(MeetDemandsParams)
    irregular: IrregularParams = part(IrregularParams)
    local_search: LocalSearchParams = part(LocalSearchParams)


class AutoRun(Incumbent):
    """One problem on its way through the stages.

    Attributes
    ----------
    ledger
        The witnesses that the next step goes on from.
    start
        A pattern by cubes or joint solves, to fall back on.
    completion
        The best one so far.
    proven
        A bound from elsewhere than the first cover; 0 for none.
    """

    def __init__(
        self, problem: Problem, cover: CoverBound, deadline: Deadline, seed: int, progress: Progress,
        params: AutoStepsParams,
    ) -> None:  # fmt: skip
        super().__init__(problem, cover.bound, progress)
        self.cover, self.deadline, self.seed, self.params = cover, deadline, seed, params
        self.size = problem.table.num_cells
        self.ledger = Ledger(problem)
        self.start: Ledger | None = None
        self.completion: Completion | None = None
        self.ended: Draft | None = None
        self.proven, self.packing_time = 0.0, 0.0
        self.growth: Growth | None = None

    @property
    def is_done(self) -> bool:
        """Whether some demand was found that no pattern meets."""
        return self.ended is not None

    def draft(self) -> Draft:
        """What the stages came to."""
        if self.ended is not None:
            return self.ended
        if self.kept is None:
            assert self.completion is not None, "a plan ends with a completion"
            return self.completion.draft()
        return self.kept

    def prove(self, bound: float) -> None:
        """Take a bound."""
        self.proven = max(self.proven, bound)
        self.bound = max(self.bound, self.proven)

    # -- when stages apply ---------------------------------------------------------------------------------

    def always(self) -> bool:
        """Always."""
        return True

    def has_cubes(self) -> bool:
        """The table has dimensions that cubes can be packed in."""
        return has_cubes(self.problem.table)

    def has_no_pattern(self) -> bool:
        """No pattern is complete yet."""
        return self.kept is None

    def has_few_open(self) -> bool:
        """No pattern is complete yet, and few demands are open."""
        return self.kept is None and self.start is not None and 0 < self.start.num_open <= self.params.few

    def is_medium(self) -> bool:
        """Fewer cells than `many`."""
        return self.size < self.params.many

    def is_big(self) -> bool:
        """`many` cells or more."""
        return not self.is_medium()

    def is_open(self) -> bool:
        """Demands are open."""
        return self.ledger.num_open > 0

    def is_left_open(self) -> bool:
        """Programs have left demands open, and there is time to pack cubes around what splitting finds."""
        return self.completion is not None and self.has_time_to_split()

    def is_unfinished(self) -> bool:
        """Demands are open, or nothing has been completed."""
        return self.completion is None or self.is_open()

    def is_complete(self) -> bool:
        """No demand is open."""
        return self.completion is None or not self.is_open()

    def is_above_bound(self) -> bool:
        """The pattern is complete and dearer than the bound."""
        return self.completion is None or (self.completion.ledger.cost > self.bound)

    def can_polish_start(self) -> bool:
        """The pattern of cubes is complete and dearer than the bound."""
        return self.start is not None and self._can_polish(self.start)

    def can_polish(self) -> bool:
        """There is a time limit, and the pattern is complete and dearer than the bound."""
        return self.deadline.limit is not None and self.has_cubes() and self._can_polish(self.ledger)

    def can_regrow(self) -> bool:
        """There is a time limit, and no demand is open."""
        return self.deadline.limit is not None and self.is_complete()

    def has_time_to_split(self) -> bool:
        """Demands are open, and there is time to pack cubes around what splitting finds."""
        return self.is_open() and not (self.start is not None and self.is_short())

    def needs_cubes(self) -> bool:
        """More than `few` demands are open, or time is short, and there are cubes."""
        is_asked = self.ledger.num_open > self.params.few or (self.is_open() and self.is_short())
        return self.start is not None and is_asked

    def is_for_exact(self) -> bool:
        """There is a time limit, and the table is small, or not large with a small gap."""
        if self.deadline.limit is None or self.least <= self.bound or not self.is_complete():
            return False
        return self.size <= self.params.most_for_exact or (self.may_be_close() and self.is_close())

    def is_network_for_exact(self) -> bool:
        """There is a time limit, the table is not too large, and the pattern dearer than the bound."""
        is_asked = self.deadline.limit is not None and self.least > self.bound
        return is_asked and self.size <= self.params.most_flows_for_exact

    def may_be_close(self) -> bool:
        """There is a time limit, and the table is too large for branch and cut unless the gap is small."""
        largest = self.params.most_if_close
        return self.deadline.limit is not None and self.params.most_for_exact < self.size <= largest

    def is_far(self) -> bool:
        """The same, and the gap is not small."""
        return self.may_be_close() and not self.is_close() and self.is_complete()

    def may_get_close(self) -> bool:
        """The same, and no better bound is known."""
        return self.is_far() and not self.proven

    def needs_bound(self) -> bool:
        """The gap is large or a better bound is wished for; without a limit in tables not too large."""
        if self.proven or np.isinf(self.bound) or self.least <= self.bound:
            return False
        if self.deadline.limit is None and self.size > self.params.most_to_relax:
            return False
        if (
            self._has_gap(self.params.good_enough)
            and self.size > self.params.always_bounded
            and not self.params.better_bound
        ):
            return False
        return not self.is_for_exact()

    def is_close(self) -> bool:
        """Whether the gap is small."""
        return self._has_gap(self.params.close)

    def is_short(self) -> bool:
        """Whether there is no time left to pack cubes again."""
        left, limit = self.deadline.left, self.deadline.limit
        return left is not None and left <= self.packing_time + self.params.finish * (limit or 0.0)

    def _has_gap(self, most: float) -> bool:
        return bool(np.isfinite(self.least)) and self.least - self.bound <= most * self.least

    def _can_polish(self, ledger: Ledger) -> bool:
        return not ledger.num_open and ledger.cost > self.bound

    # -- cubes ---------------------------------------------------------------------------------------------

    def pack(self, deadline: Deadline) -> None:
        """Single cubes of hidden cells, then sums of cubes for a complete pattern."""
        began = counted_time()
        self._packing(self.ledger).prove(deadline)
        self.start = self._copied(self.ledger)
        self._packing(self.start).protect(deadline)
        self.packing_time = counted_time() - began
        self.tell(self.start)

    def pack_rest(self, deadline: Deadline) -> None:
        """Sums of cubes for open demands; the pattern of cubes where there is no time for that."""
        assert self.start is not None
        left = self.deadline.left
        if left is not None and left <= self.packing_time:
            self.ledger = self.start
            return
        self._packing(self.ledger).protect(deadline)
        self.ledger.add_all(self.start.witnesses(), hide=True)

    def polish_start(self, deadline: Deadline) -> None:
        """Ruin and recreate by cubes."""
        assert self.start is not None
        self._polish(self.start, deadline)

    def polish(self, deadline: Deadline) -> None:
        """Ruin and recreate by cubes."""
        self._polish(self.ledger, deadline)

    def _polish(self, ledger: Ledger, deadline: Deadline) -> None:
        trials = self.params.polish_trials if deadline.left is None else None
        self._packing(ledger).improve(deadline, trials=trials)
        self.tell(ledger)

    def _packing(self, ledger: Ledger) -> Packing:
        return Packing(ledger, self.params.cubes, seed=self.seed)

    # -- joint solves --------------------------------------------------------------------------------------

    def start_jointly(self, deadline: Deadline) -> None:
        """Joint witnesses of groups of demands, hiding what they need."""
        self.start = self._copied(self.ledger)
        finish_jointly(self.start, deadline.seconds, seed=self.seed, params=self.params.irregular)
        self._keep_start()

    def start_singly(self, deadline: Deadline) -> None:
        """Incremental programs for the few demands left open."""
        assert self.start is not None
        self.start = self._completed(self.start, self._harvesting(deadline), deadline, is_spare=True).ledger
        self._keep_start()

    def start_whole(self, deadline: Deadline) -> None:
        """Everything movable, less what no witness moves."""
        ledger = everything(self.problem, deadline.seconds, seed=self.seed, params=self.params.irregular)
        self.tell(ledger, ~self.problem.hidden_at_start)

    def group_rest(self, deadline: Deadline) -> None:
        """Joint witnesses of groups of demands, hiding what they need."""
        finish_jointly(self.ledger, deadline.seconds, seed=self.seed, params=self.params.irregular)

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
        """Programs or splitting; whole components where time is up and no pattern is complete."""
        one_demand = self.params.meet_demands.one_demand
        self._finish(partial(stepwise, seed=self.seed, params=one_demand), deadline)

    def _protect(self, ledger: Ledger, deadline: Deadline) -> None:
        self._take(self._completed(ledger, self._harvesting(deadline), deadline, is_spare=True))

    def _finish(self, make: Callable[[Ledger], OneDemand], deadline: Deadline) -> None:
        self.completion = None
        self._take(self._completed(self.ledger, make, deadline, is_spare=self.kept is not None))

    def _harvesting(self, deadline: Deadline) -> Callable[[Ledger], OneDemand]:
        return partial(harvesting, time_left=deadline.seconds, seed=self.seed, params=self.params.irregular)

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

    def _copied(self, ledger: Ledger) -> Ledger:
        copy = Ledger(self.problem, ledger.hidden)
        copy.add_all(ledger.witnesses())
        return copy

    # -- splitting -----------------------------------------------------------------------------------------

    def harvest(self, deadline: Deadline) -> None:
        """Joint witnesses inside what is hidden."""
        self.growth = self._growth()
        self.growth.harvest(self.ledger, partial(self._is_late, deadline))

    def split(self, deadline: Deadline) -> None:
        """Reweighted Douglas–Rachford splitting, made exact: large demands singly, the others in groups."""
        self._growth().build(self.ledger, partial(self._is_late, deadline))

    def regrow(self, deadline: Deadline) -> None:
        """Ruin and recreate by splitting."""
        self._growth().regrow(self.ledger, lambda: deadline.is_over, self.tell)

    def _growth(self) -> Growth:
        if self.growth is None or self.growth.problem is not self.ledger.problem:
            seconds = self.deadline.seconds
            self.growth = Growth(
                self.ledger.problem, self.params.splitting, seed=self.seed, time_left=seconds
            )
        return self.growth

    def _is_late(self, deadline: Deadline) -> bool:
        self.tell(self.ledger)
        return deadline.is_over or (self.start is not None and self.is_short())

    # -- search and bounds ---------------------------------------------------------------------------------

    def search(self, deadline: Deadline) -> None:
        """Clean-up, then ruin and recreate by incremental programs."""
        assert self.completion is not None
        ledger, params, has_limit = self.completion.ledger, self.params, deadline.limit is not None
        protector = harvesting(ledger, deadline.seconds, seed=self.seed, params=params.irregular)
        search = Search(
            ledger, protector, seed=self.seed, time_left=deadline.seconds, params=params.local_search
        )
        trials, steps = (math.inf, math.inf) if has_limit else (params.trials, params.steps)

        def stop() -> bool:
            self.tell(ledger)
            return deadline.is_over or protector.num_steps >= steps

        search.clean_up(stop)
        self.tell(ledger)
        while search.trials < trials and search.barren < params.barren and not stop():
            if search.least <= self.bound:
                break
            slack = params.slack * (1 - search.barren / params.barren)
            search.shake(stop, params.trials_at_once, slack)
        self.tell(ledger)
        if self.kept is not None and self.least == search.least < ledger.cost:
            self.ledger = self.completion.ledger = Ledger(ledger.problem, self.kept.hidden)
            self.ledger.add_all(self.kept.witnesses)
        self.keep(self.completion.draft(), self.completion.ledger.cost)

    def bound_better(self, deadline: Deadline) -> None:
        """Whole covers; with a time limit, in tables not too large, the relaxation of branch and cut."""
        is_small = self.size <= self.params.most_to_relax
        tied = merged(self.problem) if is_small else None
        problem, forced = (self.problem, 0.0) if tied is None else (tied.problem, tied.forced)
        half, nodes = deadline.share(0.5).left, self.params.bound_nodes
        bound = cover_bound(problem, time_limit=half, integral=True, nodes=nodes).bound
        if is_small and deadline.limit is not None and not deadline.is_over:
            bound = max(bound, relaxed_bound(problem, time_limit=deadline.left))
        self.prove(bound + forced)


def largest_component(problem: Problem) -> int:
    """Cells of the largest component that has a demand."""
    program = OneDemand(Ledger(problem))
    return max((program.size_of(int(cell)) for cell in problem.primaries), default=0)


def _rank(completion: Completion) -> tuple[int, float]:
    return completion.ledger.num_open, completion.ledger.cost
