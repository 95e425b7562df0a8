"""The state of `auto` between its stages: the ledger, the incumbent and its bound, and which stages apply.

A stage applies by the structure of the table, by what is open or complete, by the gap between the incumbent
and the lower bound, and by the time that is left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.clock import Deadline
from cellveil.deviations.cubes import has_cubes
from cellveil.deviations.ledger import Ledger
from cellveil.params import Params, param, part
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.solvers.background import BackgroundTask
from cellveil.solvers.parallel import num_workers
from cellveil.suppression.bounds.cover import CoverBound, CoverParams
from cellveil.suppression.draft import Draft
from cellveil.suppression.engines.cube_packing import CubePackingParams
from cellveil.suppression.engines.irregular import IrregularParams
from cellveil.suppression.engines.kernel_exchange import KernelExchangeParams
from cellveil.suppression.engines.kernel_search import KernelSearch, KernelSearchParams
from cellveil.suppression.engines.local_search import LocalSearchParams
from cellveil.suppression.engines.meet_demands import Completion, MeetDemandsParams
from cellveil.suppression.engines.other_starts import OtherStarts, OtherStartsParams
from cellveil.suppression.engines.sparse_elimination import SparseEliminationParams
from cellveil.suppression.engines.splitting_search import SplittingSearch, SplittingSearchParams
from cellveil.suppression.engines.stages import Incumbent
from cellveil.tables.structure import is_product


@dataclass(frozen=True, kw_only=True)
class AutoStepsParams(Params):
    """Parameters of the steps of `auto`."""

    better_bound: bool = param(
        False, "Spend a tenth of the time on a better bound even where it is close already."
    )
    first_bound: float = param(0.1, "Share of the time for the cover bound.", least=0, most=1)
    quick_bound: float = param(
        0.02, "The same in irregular tables with fewer cells than `many`.", least=0, most=1
    )
    bound_beside: float = param(0.16, "Share of the time for the bound beside it.", least=0, most=1)
    first_bound_seconds: float = param(20.0, "Seconds for it at most.", least=0)
    bound_nodes: int = param(200, "Nodes of the covering program for the better bound.", least=0)
    most_to_relax: int = param(20_000, "Cells up to which a better bound is looked for.", least=0)
    good_enough: float = param(0.2, "A gap that needs no better bound.", least=-1, most=1)
    always_bounded: int = param(1_500, "Cells up to which a better bound is looked for anyway.", least=0)
    most_begun: int = param(
        100_000, "Cells up to which those that every safe pattern hides are hidden to begin with.", least=0
    )
    most_to_merge: int = param(60_000, "Cells of irregular tables looked through for ties.", least=0)
    most_regular: int = param(700, "The same for tables with dimensions, which merging loses.", least=0)
    worth_merging: float = param(0.05, "Least share of cells that merging ties must save.", least=0, most=1)
    small: int = param(2_500, "Cells of the largest component up to which a table is small.", least=0)
    few: int = param(40, "Open demands up to which programs, not cubes or groups, meet them.", least=0)
    many: int = param(
        8_000,
        "Cells from which irregular tables have a sparse basis, and single programs get less time.",
        least=0,
    )
    cheap: float = param(
        0.002, "Share of the cost up to which cubes, not programs, meet one of few open demands.", least=0
    )
    finish: float = param(
        0.05, "Share of the time, beside that of packing, below which no cubes are packed again.", least=0
    )
    ample: float = param(
        150.0, "How many times as long as packing a limit is for all workers to do the splitting.", least=0
    )
    most_for_exact: int = param(1_500, "Cells up to which branch and cut follows the search.", least=0)
    most_flows_for_exact: int = param(5_000, "The same in networks.", least=0)
    most_if_close: int = param(5_000, "The same where the gap is small.", least=0)
    close: float = param(0.05, "A small gap.", least=-1, most=1)
    first_pattern: float = param(
        0.6,
        "Share of the time in which elimination, or annealing, may look for its first pattern.",
        least=0,
        most=1,
    )
    most_annealing: float = param(
        90.0,
        "Seconds of pivot annealing that does not know of capacities, at most: exchanges are worth more.",
        least=0,
    )
    polish_trials: int = param(2_000, "Trials of ruin and recreate by cubes, without a time limit.", least=0)
    trials: int = param(100, "Trials of ruin and recreate by programs, without a time limit.", least=0)
    steps: int = param(100_000, "Simplex steps of these and of clean-up, without a time limit.", least=0)
    barren: int = param(2_000, "Trials in vain that end ruin and recreate.", least=1)
    trials_at_once: int = param(20, "Trials between two looks at the bound.", least=1)
    slack: float = param(0.03, "Cost above the best at which trials go on, at first, as a share.", least=0)
    cover: CoverParams = part(CoverParams)
    cubes: CubePackingParams = part(CubePackingParams)
    splitting: SplittingSearchParams = part(SplittingSearchParams)
    meet_demands: MeetDemandsParams = part(MeetDemandsParams)
    irregular: IrregularParams = part(IrregularParams)
    kernel_search: KernelSearchParams = part(KernelSearchParams)
    kernel_exchange: KernelExchangeParams = part(KernelExchangeParams)
    sparse_elimination: SparseEliminationParams = part(SparseEliminationParams)
    local_search: LocalSearchParams = part(LocalSearchParams)
    other_starts: OtherStartsParams = part(OtherStartsParams)


class AutoState(Incumbent):
    """One problem on its way through the stages; each `Stage` asks it whether it applies.

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
    has_stalled
        Whether ruin and recreate ended before its time, having found nothing for a while.
    is_windowed
        Whether incremental programs look at the cells near a demand only.
    beside, bounding
        What works on `start`, and on a better bound, in threads of their own.
    others
        Other beginnings; None where none were made.
    has_changed
        Whether one of them led to a cheaper pattern.
    """

    def __init__(
        self, problem: Problem, cover: CoverBound, deadline: Deadline, seed: int, progress: Progress,
        params: AutoStepsParams,
    ) -> None:  # fmt: skip
        super().__init__(problem, cover.bound, progress)
        self.cover, self.deadline, self.seed, self.params = cover, deadline, seed, params
        self.size = problem.table.num_cells
        is_begun = np.isfinite(cover.bound) and self.size <= params.most_begun
        self.ledger = Ledger(problem, cover.forced if is_begun else None)
        self.start: Ledger | None = None
        self.completion: Completion | None = None
        self.ended: Draft | None = None
        self.proven, self.packing_time = 0.0, 0.0
        self.splitting: SplittingSearch | None = None
        self.kernel_search: KernelSearch | None = None
        self.has_stalled = self.is_windowed = self.has_changed = False
        self.beside: BackgroundTask | None = None
        self.bounding: BackgroundTask | None = None
        self.others: OtherStarts | None = None

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

    # -- when stages apply: the docstrings are the docs ----------------------------------------------------

    def always(self) -> bool:
        """Always."""
        return True

    def has_cubes(self) -> bool:
        """The table has dimensions that cubes can be packed in."""
        return has_cubes(self.problem.table)

    def has_no_pattern(self) -> bool:
        """No pattern is complete yet."""
        return self.kept is None

    def has_neither_cubes_nor_pattern(self) -> bool:
        """No pattern is complete yet, and the table has no dimensions that cubes can be packed in."""
        return self.has_no_pattern() and not self.has_cubes()

    def has_cubes_but_no_pattern(self) -> bool:
        """No pattern is complete yet, though the table has dimensions."""
        return self.has_no_pattern() and self.has_cubes()

    def is_linked_without_pattern(self) -> bool:
        """No pattern is complete yet, and the table has `many` cells and is no product of dimensions."""
        is_asked = self.has_no_pattern() and self.size >= self.params.many
        return is_asked and not is_product(self.problem.table)

    def has_few_open(self) -> bool:
        """No pattern is complete yet, and few demands are open."""
        return self.kept is None and self.start is not None and 0 < self.start.num_open <= self.params.few

    def is_without_cubes(self) -> bool:
        """There is a time limit, and the table is irregular and too large for branch and cut."""
        is_asked = self.deadline.limit is not None and self.size > self.params.most_for_exact
        return is_asked and not self.has_cubes()

    def can_anneal(self) -> bool:
        """The null space has few enough dimensions."""
        return self.kernel_search is not None and self.kernel_search.can_anneal

    def can_anneal_on(self) -> bool:
        """There is a time limit, and slower annealings have found more each time."""
        search, is_asked = self.kernel_search, self.deadline.limit is not None
        has_more = search is not None and search.is_priced and not search.is_exhausted
        return is_asked and has_more and not self.is_cheapest(self.least)

    def can_eliminate_again(self) -> bool:
        """There is a time limit, and the null space has too many dimensions for annealing."""
        is_asked = self.deadline.limit is not None and self.completion is not None
        return is_asked and self.kernel_search is not None and not self.kernel_search.can_anneal

    def can_exchange(self) -> bool:
        """There is a time limit, no demand is open, and elimination has come to a pattern."""
        is_asked = self.deadline.limit is not None and self.completion is not None
        return is_asked and self.kernel_search is not None and not self.is_open()

    def is_without_exchanges(self) -> bool:
        """No demand is open, and there are no exchanges."""
        return self.is_complete() and not self.can_exchange()

    def is_medium_start(self) -> bool:
        """Elimination has not come to a pattern, and there are fewer cells than `many`."""
        return self.completion is None and self.size < self.params.many

    def is_big_start(self) -> bool:
        """Elimination has not come to a pattern, and there are `many` cells or more."""
        return self.completion is None and self.size >= self.params.many

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
        return self.completion is None or not self.is_cheapest(self.completion.ledger.cost)

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
        """Demands are open outside windows, and there is time to pack cubes around what splitting finds."""
        return self.is_open() and not self.is_windowed and not (self.start is not None and self.is_short())

    def needs_cubes(self) -> bool:
        """More than `few` demands are open, or time is short, and there are cubes."""
        is_asked = self.ledger.num_open > self.params.few or (self.is_open() and self.is_short())
        return self.start is not None and is_asked

    def is_for_exact(self) -> bool:
        """There is a time limit, and the table is small, or not large with a small gap."""
        if self.deadline.limit is None or self.is_cheapest(self.least) or not self.is_complete():
            return False
        return self.size <= self.params.most_for_exact or (self.may_be_close() and self.is_close())

    def is_network_for_exact(self) -> bool:
        """There is a time limit, the table is not too large, and the pattern dearer than the bound."""
        is_asked = self.deadline.limit is not None and not self.is_cheapest(self.least)
        return is_asked and self.size <= self.params.most_flows_for_exact

    def may_be_close(self) -> bool:
        """There is a time limit, and the table is too large for branch and cut unless the gap is small."""
        largest = self.params.most_if_close
        return self.deadline.limit is not None and self.params.most_for_exact < self.size <= largest

    def can_begin_others(self) -> bool:
        """There is a time limit and another worker, and the table is small enough for branch and cut."""
        return self._is_for_others() and num_workers() > 1

    def has_begun_others(self) -> bool:
        """Other beginnings run beside, and the pattern is dearer than the bound."""
        return self.others is not None and not self.is_cheapest(self.least)

    def has_wide_gap(self) -> bool:
        """There is a time limit, nothing ran beside, the table is small, and the gap is wide all the same."""
        return not self.others and self._is_for_others() and not self._has_gap(self.params.other_starts.wide)

    def has_other_pattern(self) -> bool:
        """Other beginnings led to a cheaper pattern."""
        return self.has_changed and not self.is_cheapest(self.least)

    def _is_for_others(self) -> bool:
        is_asked = self.deadline.limit is not None and self.size <= self.params.most_for_exact
        return is_asked and bool(np.isfinite(self.bound)) and not self.is_cheapest(self.least)

    def can_bound_beside(self) -> bool:
        """There is a time limit and another worker, and there are fewer cells than `many`."""
        is_asked = self.deadline.limit is not None and self.size < self.params.many
        return is_asked and num_workers() > 1

    def can_bound_beside_search(self) -> bool:
        """There is a time limit and another worker, for whom a search through windows has no use."""
        is_asked = self.deadline.limit is not None and self.is_windowed and num_workers() > 1
        return is_asked and self.needs_bound()

    def is_far(self) -> bool:
        """The same, and the gap is not small."""
        return self.may_be_close() and not self.is_close() and self.is_complete()

    def may_get_close(self) -> bool:
        """The same, and no better bound is known."""
        return self.is_far() and not self.proven

    def needs_bound(self) -> bool:
        """The gap is large or a better bound is wished for; without a limit in tables not too large."""
        if self.proven or self.bounding or np.isinf(self.bound) or self.is_cheapest(self.least):
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

    def has_time_to_bound(self) -> bool:
        """There is no time limit, the search has ended before it, or a better bound is wished for."""
        has_ended = self.has_stalled and not self.can_anneal_on()
        has_time = self.deadline.limit is None or has_ended or self.params.better_bound
        return has_time and self.needs_bound()

    def has_ample_time(self) -> bool:
        """Whether there is a limit, and a pattern by splitting is to be expected long before it."""
        limit = self.deadline.limit
        return limit is not None and limit >= self.params.ample * self.packing_time

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
        return not ledger.num_open and not self.is_cheapest(ledger.cost)
