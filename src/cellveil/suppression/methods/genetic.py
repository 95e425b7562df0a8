"""`genetic`: a genetic algorithm looks for the order in which groups of primaries are best protected.

For comparison: it has never been cheapest in our own figures, and `auto` does not use it.

The cost of an order is that of the pattern which the grouped program (`methods.grouped`) builds
when it protects the groups in this order. What is searched is cheaper to compute than a whole pattern, a
*surrogate*: only the candidates that unpicking finds (K_u) stand in the groups, and only those of them are
protected whose upper level is not kept, and only upwards. In the end the best order is protected in full: the
groups on both sides, then groups of all other primaries, then what is left open.

With three groups or fewer all orders are tried; with more a pool of orders evolves
(`engines.evolution`), from the order of increasing levels and random ones. Where nothing else is
asked for, every candidate is a group of its own in tables of up to 30,000 cells, and there are two groups, or
as few as the rule allows, in larger ones.

Costs are computed in several processes where there are several workers and it pays. With `checkpoint` the
state is written to a file after each generation, and a file of the same problem, options and seed is
continued; `evaluations` may then be raised. `plot` writes the cost against the evaluations as SVG.

Requires any relations whatever. Ensures an exact witness for every demand, or names those that no pattern
meets. Does not ensure the least cost: orders reach few patterns, and the surrogate ranks roughly.
Cost: so many evaluations, each of one program per group at most.

Reference: sections 1.2 and 3.4 to 3.5 of Serpell, Smith, Clark & Staggemeier (2011).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from cellveil.arrays import Int
from cellveil.clock import NO_LIMIT, Deadline, counted_time
from cellveil.deviations.ledger import Ledger
from cellveil.errors import InputError
from cellveil.files import read_text, sha256, write_text
from cellveil.judge.exposure import unpickable
from cellveil.params import param, part
from cellveil.plots import line_chart
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.solvers.parallel import num_workers
from cellveil.suppression.draft import Draft, MethodEnding
from cellveil.suppression.engines.evolution import Evolution, EvolutionParams, Order
from cellveil.suppression.engines.group_programs import GroupPrograms, GroupProgramsParams, protect_in_order
from cellveil.suppression.engines.grouping import ORDERS, groups_of
from cellveil.suppression.engines.meet_demands import Completion, MeetDemandsParams
from cellveil.suppression.engines.one_demand import OneDemand, OneDemandParams
from cellveil.suppression.presolve.preparation import PreselectParams
from cellveil.tables.structure import structured
from cellveil.tasks import task_pool


@dataclass(frozen=True, kw_only=True)
class GeneticParams(PreselectParams, EvolutionParams):
    """Parameters of `genetic`."""

    groups: int = param(
        -1, "Wanted number of groups; 0: every cell by itself; -1: as the size of the table asks.", least=-1
    )
    by: str = param("level", "What brings cells together.", choices=ORDERS)
    meet_demands: MeetDemandsParams = part(MeetDemandsParams)
    evaluations: int = param(100, "How many orders to evaluate, to the end of a generation.", least=1)
    surrogate: bool = param(True, "Evaluate orders by K_u and upper levels only.")
    checkpoint: str = param("", "File to save the state to after each generation, and to go on from.")
    plot: str = param("", "File for a plot of cost against evaluations, SVG.")
    enumerate_up_to: int = param(3, "Every order is tried where there are no more groups.", least=0)
    most_alone: int = param(30_000, "Up to so many cells each candidate is a group.", least=0)
    few_groups: int = param(2, "Groups to ask for in larger tables.", least=1)
    search_share: float = param(0.7, "Share of the time for the search of an order.", least=0, most=1)
    worth_a_process: float = param(0.5, "Seconds from which on evaluations run in processes.", least=0)


def genetic(
    problem: Problem,
    *,
    deadline: Deadline = NO_LIMIT,
    seed: int = 0,
    progress: Progress | None = None,
    params: GeneticParams | None = None,
) -> Draft:
    """Look for an order of groups, and protect them in the best one; see the head of the module.

    Examples
    --------
    >>> from cellveil.datasets import random_table
    >>> problem = random_table((14, 9), hierarchical=[0], contributors=2, seed=4)
    >>> draft = genetic(problem, params=GeneticParams(evaluations=30))
    >>> draft.figures["groups"], draft.figures["evaluations"] >= 30
    (17, True)
    """
    params, progress = params or GeneticParams(), progress or Progress()
    search_end = deadline.share(params.search_share)
    problem = problem.replace(table=structured(problem.table))
    search = OrderSearch(problem, params, seed=seed)
    if params.checkpoint:
        search.resume(Path(params.checkpoint))
    progress.stage("genetic")
    reason = search.run(search_end, progress)
    if params.plot:
        write_text(Path(params.plot), search.plot())
    first = [search.groups[k] for k in search.best_order]
    grouped = GroupProgramsParams(groups=search.wanted, by=params.by, meet_demands=params.meet_demands)
    draft = protect_in_order(problem, first, deadline, progress, seed=seed, params=grouped)
    figures = {"evaluations": search.evaluations, "groups": len(search.groups)}
    is_whole = draft.reason is MethodEnding.COMPLETE
    return replace(
        draft,
        reason=reason if is_whole else draft.reason,
        figures=figures,
        num_lps=draft.num_lps + search.num_lps,
    )


def wanted_groups(problem: Problem, params: GeneticParams) -> int:
    """How many groups to ask for, where the parameters leave it to the size of the table."""
    if params.groups >= 0:
        return params.groups
    return 0 if problem.table.num_cells <= params.most_alone else params.few_groups


class OrderSearch:
    """The search for the best order of groups.

    Parameters
    ----------
    params
        Of the method: groups, evolution, surrogate.
    """

    def __init__(self, problem: Problem, params: GeneticParams, *, seed: int = 0) -> None:
        self.params, self.wanted = params, wanted_groups(problem, params)
        found = unpickable(problem)
        chosen = np.flatnonzero(found.candidates) if params.surrogate else problem.primaries
        self.groups = groups_of(problem, chosen, wanted=self.wanted, by=params.by)
        asked = problem
        if params.surrogate:
            dangerous = found.candidates & found.upper & (problem.upl > 0)
            none = np.zeros_like(problem.lpl)
            asked = problem.only(dangerous, lpl=none, spl=np.minimum(problem.spl, problem.upl))
        self.fitness = Fitness(asked, self.groups, (True,) if params.surrogate else (True, False), seed)
        names = ("by", "surrogate", *EvolutionParams.described())
        settings = (self.wanted, *(getattr(params, name) for name in names), seed)
        self._fingerprint = sha256(problem.content_hash.encode(), repr(settings).encode())
        self._key = f"{self._fingerprint} {id(self)}"
        self._lps_elsewhere = 0
        self._deadline = Deadline(None)
        self._checkpoint: Path | None = None
        self.evolution = Evolution(len(self.groups), self._costs, np.random.default_rng(seed), params)

    @property
    def best_order(self) -> Order:
        """The best order known; the one of the groups where none was evaluated."""
        pool = self.evolution.pool
        return pool[0].order if pool and np.isfinite(pool[0].cost) else tuple(range(len(self.groups)))

    @property
    def evaluations(self) -> int:
        """How many orders were evaluated."""
        return self.evolution.evaluations

    @property
    def num_lps(self) -> int:
        """How many programs were solved."""
        return self.fitness.num_lps + self._lps_elsewhere

    def run(self, deadline: Deadline, progress: Progress) -> MethodEnding:
        """Evolve, or try all orders; returns why it ended."""
        self._deadline = deadline
        try:
            if len(self.groups) <= self.params.enumerate_up_to:
                self.evolution.try_all(list(permutations(range(len(self.groups)))))
                self._tell(progress)
            else:
                self.evolution.run(self.params.evaluations, lambda: self._tell(progress))
        except KeyboardInterrupt:
            return MethodEnding.INTERRUPTED_ORDER
        return MethodEnding.ORDER_CUT_SHORT if deadline.is_over else MethodEnding.COMPLETE

    def plot(self) -> str:
        """The least cost so far against evaluations."""
        curve = [(k + 1.0, cost) for k, cost in enumerate(self.evolution.best_so_far) if np.isfinite(cost)]
        return line_chart({"best so far": curve}, title="Cost of the pattern", x="evaluations", y="cost")

    def resume(self, path: Path) -> None:
        """Save the state to this file from now on, and go on from it where it is there."""
        self._checkpoint = path
        if not path.exists():
            return
        again = "Name another file, or remove this one to start anew."
        try:
            saved = json.loads(read_text(path))
            fingerprint, state = saved["for"], saved["state"]
        except (ValueError, KeyError, TypeError):
            raise InputError("this is no checkpoint", file=path, remedy=again) from None
        if fingerprint != self._fingerprint:
            raise InputError("the checkpoint is of another problem, seed or setting", file=path, remedy=again)
        self.evolution.restore(state)

    def _tell(self, progress: Progress) -> bool:
        """Say how far it is, save the state; returns whether time is up."""
        best = self.evolution.best.cost if self.evolution.pool else np.inf
        progress.advance(self.evaluations, self.params.evaluations, cost=best)
        if self._checkpoint is not None and not self._deadline.is_over:
            saved = {"for": self._fingerprint, "state": self.evolution.state()}
            write_text(self._checkpoint, json.dumps(saved))
        return self._deadline.is_over

    def _costs(self, orders: Sequence[Order]) -> list[float]:
        """Costs in the order asked for; what time does not allow costs infinitely much."""
        if not orders:
            return []
        start = counted_time()
        first, rest = self.fitness.cost(orders[0], self._deadline), orders[1:]
        pool = task_pool(num_workers())
        seconds, workers = counted_time() - start, min(pool.num_workers, len(rest))
        if workers < 2 or seconds < self.params.worth_a_process:
            return [first, *(self.fitness.cost(order, self._deadline) for order in rest)]
        parts = [(rest[k::workers], self._deadline) for k in range(workers)]
        found = pool.run(_costs_elsewhere, (self._key, self.fitness.recipe), parts)
        costs = [np.inf] * len(rest)
        for k, (own, num_lps) in enumerate(found):
            costs[k::workers] = own
            self._lps_elsewhere += num_lps
        return [first, *costs]


class Fitness:
    """The cost of protecting groups in an order."""

    def __init__(self, problem: Problem, groups: Sequence[Int], sides: tuple[bool, ...], seed: int) -> None:
        self.recipe = (problem, groups, sides, seed)
        self.problem, self.groups, self.sides, self.seed = self.recipe
        flat = OneDemandParams(slopes=())
        start = Completion(Ledger(problem), partial(OneDemand, params=flat), Deadline(None), seed=seed)
        start.prove_by_cubes()
        self._known, self._together = start.ledger.witnesses(), GroupPrograms(start.protector, seed=seed)

    @property
    def num_lps(self) -> int:
        """How many programs were solved."""
        return self._together.engine.num_lps

    def cost(self, order: Order, deadline: Deadline) -> float:
        """Weight hidden in the end; infinite where time ran out."""
        ledger = Ledger(self.problem)
        ledger.add_all(self._known)
        self._together.engine.ledger = ledger
        for number in order:
            for up in self.sides:
                if deadline.is_over:
                    return np.inf
                self._together.protect_group(self.groups[number], up, deadline, thorough=False)
        return np.inf if deadline.is_over else ledger.cost


_KEPT: dict[str, Fitness] = {}
"""In a process of the pool: what it works on."""


def _costs_elsewhere(
    shared: tuple[str, tuple[Any, ...]], task: tuple[Sequence[Order], Deadline]
) -> tuple[list[float], int]:
    """Costs, and how many programs they took."""
    (key, recipe), (orders, deadline) = shared, task
    if key not in _KEPT:
        _KEPT.clear()
        _KEPT[key] = Fitness(*recipe)
    before = _KEPT[key].num_lps
    return [_KEPT[key].cost(order, deadline) for order in orders], _KEPT[key].num_lps - before
