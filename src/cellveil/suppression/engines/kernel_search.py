"""Greedy elimination in the null space: a complete pattern from everything hidden, in seconds.

For tables without a regular structure, where one linear program takes seconds and there are hundreds of
demands, linear algebra comes before linear programming.

1. *Greedy elimination*: from everything hidden, cells are published one after the other, the dearest first,
   each unless that would determine a primary (`cellveil.deviations.residue_tableau`). Cells with less room
   than the demands ask for come before all others. Capacities enter through the size of the entries: the
   deviations that are left are whole, and none grows beyond a limit, so that each of them moves primaries
   far enough before a capacity stops it.
2. *Check and repair* in the few coordinates of the pattern (`cellveil.deviations.pattern_kernel`): nearly all
   demands have a witness there. For the others the columns used up last, which move cheap cells, are offered
   at a price; after each purchase all open demands are asked for again.

   Several limits of the entries are tried, as many side by side as there are workers where there is a time
   limit, and the cheapest complete pattern is kept.
3. *Pivot annealing* (`pivot_annealing`) of one vector that moves all primaries, then check and repair inside
   its own null space with paid programs (`kernel_repair`); again and again, with what the programs have
   hidden for nothing.

Requires any relations. Ensures exact witnesses for all it calls met. Does not ensure the least cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Float, Int
from cellveil.clock import Deadline
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.pattern_kernel import PatternKernel, PatternKernelParams
from cellveil.deviations.residue_tableau import Tableau
from cellveil.params import Params, param, part
from cellveil.problem import Problem, Status
from cellveil.solvers.parallel import LEAST_PART, in_parts, num_workers, side_by_side
from cellveil.suppression.engines.kernel_repair import KernelRepair, KernelRepairParams
from cellveil.suppression.engines.local_search import drop_unused
from cellveil.suppression.engines.pivot_annealing import PivotAnnealing, PivotAnnealingParams


@dataclass(frozen=True, kw_only=True)
class KernelSearchParams(Params):
    """Parameters of greedy elimination."""

    most_entries: int = param(80_000_000, "Entries of a tableau: more are not kept in memory.", least=0)
    entries_per_second: int = param(3_000_000, "Entries that can be eliminated in a second.", least=1)
    entries: tuple[int, ...] = param(
        (128, 64, 512, 256), "Limits of the entries of deviations, tried in turn.", least=1
    )
    noise: float = param(0.1, "Standard deviation of the logarithms of weights, after that.", least=0)
    offered: int = param(200, "Columns offered at a price at first; four times as many each time.", least=1)
    most_offered: int = param(1_000, "Columns offered at most.", least=1)
    most_annealed: int = param(1_000, "Degrees of freedom up to which a vector is annealed.", least=0)
    first_share: float = param(0.25, "Share of the time for the first annealing.", least=0, most=1)
    slow_share: float = param(
        0.85, "The same where falling short has a price, for every restart.", least=0, most=1
    )
    next_share: float = param(0.2, "Share of the time left for each further one.", least=0, most=1)
    chains: int = param(2, "Annealings side by side.", least=1)
    restarts: float = param(
        0.8, "Share of the time in which annealings begin afresh, where all their trials fit in.", least=0
    )
    slower: float = param(
        8.0,
        "Trials of a restart in units of those of the one before, where falling short has a price.",
        least=1,
    )
    rounds: int = param(2, "Annealings without a time limit.", least=0)
    barren: int = param(
        60, "Annealings in a row without a cheaper pattern, after which no more are made.", least=1
    )
    slow_barren: int = param(
        2, "The same for restarts, where each one is slower than the one before.", least=1
    )
    pattern_kernel: PatternKernelParams = part(PatternKernelParams)
    annealing: PivotAnnealingParams = part(PivotAnnealingParams)
    repair: KernelRepairParams = part(KernelRepairParams)


@dataclass(frozen=True)
class _Elimination:
    """What decides a greedy elimination: weights, the dearest published first, and the limit of entries."""

    weight: Float
    largest: int


class KernelSearch:
    """The null space of one problem, and patterns found in it.

    Parameters
    ----------
    tableau
        Of all movable cells.

    Attributes
    ----------
    is_exhausted
        Whether annealings ended because they found nothing any more.
    """

    def __init__(self, problem: Problem, tableau: Tableau, seed: int, params: KernelSearchParams) -> None:
        self.problem, self.tableau, self.seed, self.params = problem, tableau, seed, params
        self._least, self._largest = np.inf, params.entries[0]
        cells = tableau.cells
        self._weight = np.where(problem.hidden_at_start, 0.0, problem.weight)[cells]
        self._is_primary = problem.status[cells] == Status.PRIMARY
        ledger = Ledger(problem)
        asked = np.maximum(ledger.need_up, ledger.need_down).max(initial=0)
        self._is_tight = (np.minimum(problem.up, problem.down)[cells] < asked) & ~self._is_primary
        self._chains: list[PivotAnnealing] = []
        self._slowness, self.is_exhausted = 1.0, False

    @classmethod
    def of(
        cls, problem: Problem, deadline: Deadline, *, seed: int = 0, params: KernelSearchParams | None = None
    ) -> KernelSearch | None:
        """None where the tableau is too large for memory or time, or the elimination fails."""
        params = params or KernelSearchParams()
        cells, most = np.flatnonzero(problem.status != Status.FROZEN), params.most_entries
        if deadline.left is not None:
            most = min(most, int(deadline.left * params.entries_per_second))
        tableau = Tableau.of(
            problem.table.relations, cells, -problem.weight[cells], most_entries=most, seed=seed
        )
        return None if tableau is None else cls(problem, tableau, seed, params)

    @property
    def can_anneal(self) -> bool:
        """Whether there are few enough degrees of freedom."""
        return len(self.tableau.basic) <= self.params.most_annealed

    @property
    def is_priced(self) -> bool:
        """Whether there are so few that annealing knows of capacities, and gains by taking its time."""
        return len(self.tableau.basic) <= self.params.annealing.most_priced

    def annealed(
        self,
        deadline: Deadline,
        least: float,
        keep: Callable[[Ledger], None],
        longest: Deadline | None = None,
    ) -> None:
        """Anneal and repair, again and again; patterns cheaper than `least` are handed to `keep`.

        The repair of the first ones may take until `longest`, the deadline by default: not finished, they
        are worth nothing. Called again, it goes on with further and slower annealings.
        """
        params, chains = self.params, self._some_chains(deadline)
        repairs = [KernelRepair(params.repair) for _ in chains]
        nothing = np.zeros(len(self.tableau.cells), dtype=bool)
        best: NDArray[np.int32] | None = None
        is_free, barren = nothing, 0
        for number in count():
            is_fresh = number == 0 or (chains[0].is_finished and self._begins_afresh(deadline))
            for chain in chains:
                chain.take(chain.first if is_fresh else chain.vector if best is None else best)
            free = nothing if is_fresh else is_free
            self._run_all(deadline, free, is_fresh)
            ledgers = [self._ledger_of(chain.support | free) for chain in chains]
            _repair_all(repairs, ledgers, deadline if number or longest is None else longest, least)
            barren += is_fresh or not self.is_priced
            for chain, ledger in zip(chains, ledgers, strict=True):
                if not ledger.num_open and ledger.cost < least:
                    least, best, barren = ledger.cost, chain.vector.copy(), 0
                    is_free = ledger.hidden[self.tableau.cells] & ~chain.support
                    keep(ledger)
            self.is_exhausted = barren >= (params.slow_barren if self.is_priced else params.barren)
            is_last = number + 1 >= params.rounds if deadline.limit is None else self.is_exhausted
            if deadline.is_over or is_last:
                return

    def _run_all(self, deadline: Deadline, is_free: Bool, is_fresh: bool) -> None:
        """Run annealings side by side; those that begin afresh and know of capacities ever slower."""
        params, is_slow = self.params, is_fresh and self.is_priced
        slowness = self._slowness if is_slow else 1.0
        share = params.slow_share if is_slow else params.first_share if is_fresh else params.next_share
        until, chains = deadline.share(share), self._chains

        def run(first: int, end: int) -> None:
            for chain in chains[first:end]:
                chain.run(until, is_free=is_free, again=not is_fresh, slowness=slowness)

        in_parts(run, len(chains), LEAST_PART)
        self._slowness *= params.slower if is_slow else 1.0

    def _begins_afresh(self, deadline: Deadline) -> bool:
        """Whether restarts are worth more than another annealing of the best vector."""
        left, limit = deadline.left, deadline.limit
        return left is not None and limit is not None and left > (1 - self.params.restarts) * limit

    def _some_chains(self, deadline: Deadline) -> list[PivotAnnealing]:
        """Annealings side by side: as many as there are workers, with a time limit."""
        number = self.params.chains if deadline.limit is None else min(self.params.chains, num_workers())
        order, params = self._order(self._weight), self.params.annealing
        self._chains += [
            PivotAnnealing(
                self.problem,
                self.tableau.copy(),
                order,
                self._is_tight,
                seed=(self.seed, chain),
                params=params,
            )
            for chain in range(len(self._chains), number)
        ]
        return self._chains

    def _ledger_of(self, hidden: Bool) -> Ledger:
        """A ledger of a pattern that is given by the places of its cells."""
        pattern = np.zeros(self.problem.table.num_cells, dtype=bool)
        pattern[self.tableau.cells] = hidden
        return Ledger(self.problem, pattern)

    def patterns(self, deadline: Deadline, longest: Deadline) -> Iterator[Ledger]:
        """Patterns of greedy elimination, made safe, for each limit of the entries: each one cheaper.

        Until there is one, they may take until `longest`.
        """
        entries, at_once = self.params.entries, self._at_once(deadline)
        for number in range(0, len(entries), at_once):
            until = longest if self._least == np.inf else deadline
            if number and until.is_over:
                return
            limits = entries[number : number + at_once]
            yield from self._cheaper([_Elimination(self._weight, largest) for largest in limits], until)

    def varied(self, deadline: Deadline) -> Iterator[Ledger]:
        """The same with weights changed a little at random, until time is over."""
        rng, shape = np.random.default_rng(self.seed), (self._at_once(deadline), len(self._weight))
        while not deadline.is_over and deadline.limit is not None:
            weights = self._weight * np.exp(self.params.noise * rng.standard_normal(shape))
            yield from self._cheaper([_Elimination(weight, self._largest) for weight in weights], deadline)

    def _at_once(self, deadline: Deadline) -> int:
        """Eliminations side by side; without a time limit patterns do not depend on workers."""
        return 1 if deadline.limit is None else num_workers()

    def _cheaper(self, eliminations: Sequence[_Elimination], deadline: Deadline) -> Iterator[Ledger]:
        """Those patterns that cost less than any before."""
        works = [partial(self._pattern, elimination) for elimination in eliminations]
        ledgers = side_by_side(works, deadline)
        for elimination, ledger in zip(eliminations, ledgers, strict=True):
            if not ledger.num_open and ledger.cost < self._least:
                self._least, self._largest = ledger.cost, elimination.largest
                yield ledger

    def _pattern(self, elimination: _Elimination, deadline: Deadline) -> Ledger:
        tableau = self.tableau.copy()
        order, primaries = self._order(elimination.weight), np.flatnonzero(self._is_primary)
        tableau.publish_in_turn(order, primaries, elimination.largest)
        return self._repaired(tableau, deadline, self._least)

    def _order(self, weight: Float) -> Int:
        """Places of the cells that may be published: first those with too little room, then by weight."""
        order = np.argsort(-np.where(self._is_tight, np.inf, weight), kind="stable")
        return np.asarray(order[~self._is_primary[order]])

    def _repaired(self, tableau: Tableau, deadline: Deadline, most: float) -> Ledger:
        """A ledger of the pattern with witnesses, and more hidden where needed; given up above `most`."""
        ledger, offered = self._ledger_of(tableau.hidden), self.params.offered
        while True:
            basis = tableau.whole(min(tableau.left + offered, len(tableau.basic)))
            moved = np.flatnonzero(basis.any(axis=0))
            kernel = PatternKernel(
                ledger,
                tableau.cells[moved],
                np.ascontiguousarray(basis[:, moved].T).astype(np.int64),
                tableau.left,
                self.params.pattern_kernel,
            )
            kernel.meet(deadline)
            self._buy(ledger, kernel, deadline, most)
            is_over = deadline.is_over or ledger.cost >= most
            if not ledger.num_open or is_over or offered >= self.params.most_offered:
                break
            offered *= 4
        if not ledger.num_open:
            drop_unused(ledger)
        return ledger

    def _buy(self, ledger: Ledger, kernel: PatternKernel, deadline: Deadline, most: float) -> None:
        """Repair what is open, the largest first, and look for witnesses again each time."""
        given_up: set[tuple[int, bool]] = set()
        while not deadline.is_over and ledger.cost < most:
            cells, ups, amounts = (each.tolist() for each in ledger.open_demands())
            demands = zip(cells, ups, amounts, strict=True)
            todo = next((each for each in demands if each[:2] not in given_up), None)
            if todo is None:
                return
            if kernel.buy(*todo):
                kernel.meet(deadline)
            else:
                given_up.add(todo[:2])


def _repair_all(repairs: list[KernelRepair], ledgers: list[Ledger], deadline: Deadline, least: float) -> None:
    """Repair patterns side by side."""

    def run(first: int, end: int) -> None:
        for repair, ledger in zip(repairs[first:end], ledgers[first:end], strict=True):
            repair.repair(ledger, deadline, least)

    in_parts(run, len(ledgers), LEAST_PART)
