"""`optimal`: the cheapest safe pattern, proven; or the best one found, with a bound.

Solves, for each part of the table that hangs together,

    min Σ w_i x_i   over x in {0, 1},  x_i = 1 where hidden at the start,
    such that every demand has a deviation y with M y = 0,  −down_i x_i ≤ y_i ≤ up_i x_i  that meets it,

without the y: what they imply for x are the capacity rows of `exact_model`, found when they are broken. Cells
that every deviation moves alike are one cell (`ties`), unless the table is a network.

1. The relaxation with rows until they gain no more (`exact_relaxation`).
2. Patterns to start from, by incremental programs or flows, clean-up and trials (`exact_start`).
3. The program of the rows that matter, solved by itself, at first roughly; its optimum is judged, after
   exchanges that make it cheaper (`solvers.exchange`); then again with the rows that it breaks.
4. Where the gap is still large, a first search and local branching: patterns near the best one.
5. Branch and cut with SCIP: fractional points are cut off by rows, whole ones are judged exactly, points in
   between give new patterns by rounding and repair.

Requires any relations; in practice some hundred cells in three dimensions, some thousand in two.
Ensures that the pattern is safe: every demand has an exact deviation inside it, which is handed over. Ensures
that `lower_bound` is below the cost of every safe pattern: the rows are exact, the search rests on SCIP's
arithmetic, of which `DOUBT` is taken off where it was cut short. Where it ran to its end and no pattern was
unclear, the cost itself is the bound.
Does not ensure an end within any time: at a time limit, or an interrupt, the best pattern so far comes back.

References: Fischetti & Salazar (1999) for two-way tables, (2000, 2001) for any relations; Kelly, Golden &
Assad (1992) for the model with the deviations in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Bool, Float
from cellveil.clock import Deadline, counted_time
from cellveil.deviations.demand import Demand
from cellveil.deviations.witness import Witness, Witnesses
from cellveil.params import param, part
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.solvers.branch_and_cut import Searched, search, solve_rows
from cellveil.solvers.cutting_planes import Row
from cellveil.solvers.exchange_descent import exchanged
from cellveil.suppression.bounds.relaxation import Relaxation, RelaxationParams, relax, until, whole_bound
from cellveil.suppression.draft import Draft
from cellveil.suppression.engines.flow_search import Networks
from cellveil.suppression.exact.fractional_attack import FlowAttacker
from cellveil.suppression.exact.parts import Need, parts_of
from cellveil.suppression.exact.primal_heuristics import HeuristicsParams, starter_of
from cellveil.suppression.exact.separation import Judgement, Separation, SeparationParams, Stop
from cellveil.suppression.presolve.merge_ties import merged
from cellveil.suppression.presolve.preparation import ProtectParams

DOUBT = 1e-6
"""Taken off the bound of a search that was cut short, as a share."""

TINY = 5e-10
"""The same where it ran to its end, and weights are not whole."""


@dataclass(frozen=True, kw_only=True)
class OptimalParams(ProtectParams):
    """Parameters of `optimal`."""

    small: int = param(60, "Cells up to which branch and cut comes at once.", least=0)
    preparing: float = param(0.25, "Share of the time before the search.", least=0, most=1)
    relaxing: float = param(0.7, "Share of that for the relaxation.", least=0, most=1)
    programs: float = param(0.15, "Share of the time for programs of all cuts.", least=0, most=1)
    network_programs: float = param(0.5, "The same in networks, where cuts are short.", least=0, most=1)
    far: float = param(
        0.25, "Gap beyond which local branching comes before branch and cut.", least=-1, most=1
    )
    near: float = param(0.02, "Gap below which programs of all cuts are solved again.", least=0, most=1)
    first: float = param(0.15, "Share of the time for a first branch and cut before that.", least=0, most=1)
    around: float = param(0.35, "Share of the time for local branching.", least=0, most=1)
    slices: int = param(15, "Searches that this share is cut into.", least=1)
    distance: int = param(20, "Hamming distance from the incumbent in local branching.", least=1)
    patience: int = param(2, "Failures in a row that end local branching, exchanges or programs.", least=0)
    nodes: int = param(100, "Nodes of the first program of all cuts; twice as many each time.", least=1)
    most_nodes: int = param(6_400, "Nodes of such a program at most, in networks.", least=1)
    fewer_nodes: int = param(200, "The same elsewhere.", least=1)
    worth: float = param(0.05, "Share of the gap that a program must close.", least=0, most=1)
    rough: float = param(1e-3, "Gap to which programs are solved at first.", least=0)
    exchanges: int = param(10, "Descents by exchanges between two programs, in networks.", least=1)
    fewer_exchanges: int = param(2, "The same elsewhere, where judging is slow.", least=1)
    steps: int = param(100, "Steps of such a descent for each cut and cell.", least=1)
    most_steps: int = param(30_000_000, "The same at most.", least=1)
    most_to_repair: int = param(3_000, "Cells up to which fractional points are repaired.", least=0)
    repairing: float = param(0.1, "Share of the time so far for repairs at nodes.", least=0, most=1)
    often: int = param(10, "One fractional point in this many is rounded up.", least=2)
    node_cuts: int = param(8, "Cuts for a fractional point below the root.", least=1)
    node_attacks: int = param(6, "Attacks on a fractional point below the root.", least=1)
    root_cuts: int = param(30, "Cuts for a fractional point at the root.", least=1)
    root_attacks: int = param(40, "Attacks on a fractional point at the root.", least=1)
    relaxation: RelaxationParams = part(RelaxationParams)
    separation: SeparationParams = part(SeparationParams)
    heuristics: HeuristicsParams = part(HeuristicsParams)


def optimal(
    problem: Problem,
    *,
    time_limit: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    params: OptimalParams | None = None,
) -> Draft:
    """Find the cheapest safe pattern; see the head of the module.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> problem = two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
    >>> draft = optimal(problem)
    >>> draft.lower_bound, float(problem.weight[draft.hidden & ~problem.hidden_at_start].sum()), draft.reason
    (39.0, 39.0, 'complete')
    """
    params, progress = params or OptimalParams(), progress or Progress()
    progress.stage("optimal")
    deadline = None if time_limit is None else counted_time() + time_limit
    tied = None if Networks.of(problem).rest() is None else merged(problem)
    if tied is None:
        return _optimal(problem, deadline, seed, progress, params)
    return tied.unfold(_optimal(tied.problem, deadline, seed, progress, params))


def _optimal(
    problem: Problem, deadline: float | None, seed: int, progress: Progress, params: OptimalParams
) -> Draft:
    """Part by part."""
    parts, stuck = parts_of(problem)
    if stuck:
        return Draft(problem.hidden_at_start.copy(), infeasible=stuck)
    end = until(deadline)
    solvers = [
        _PartSolver(problem, Separation(problem, each, end, params.separation), seed, progress, end, params)
        for each in parts
    ]
    infeasible = [demand for solver in solvers for demand in solver.impossible()]
    if infeasible:
        return Draft(problem.hidden_at_start.copy(), infeasible=infeasible)
    try:
        for share, work in ((params.preparing, _PartSolver.prepare), (1.0, _PartSolver.search)):
            for left, solver in zip(range(len(solvers), 0, -1), sorted(solvers, key=len), strict=True):
                work(solver, None if deadline is None else (deadline - counted_time()) * share / left)
    except KeyboardInterrupt:
        for solver in solvers:
            solver.reason = "complete" if solver.is_proven else "interrupted"
    return _together(problem, solvers)


def _together(problem: Problem, solvers: Sequence[_PartSolver]) -> Draft:
    hidden = problem.hidden_at_start.copy()
    witnesses: list[Witness] = []
    for solver in solvers:
        hidden[solver.part.component.cells[solver.best.hidden]] = True
        witnesses += solver.best.witnesses
    hurried = np.zeros_like(hidden)
    for solver in solvers:
        if solver.is_as_at_first and solver.reason == "time limit":
            hurried[solver.part.component.cells[solver.best.hidden & ~solver.part.held]] = True
    reasons = [solver.reason for solver in solvers if solver.reason != "complete"]
    return Draft(
        hidden,
        reason=reasons[0] if reasons else "complete",
        lower_bound=math.fsum(solver.bound for solver in solvers),
        num_lps=sum(solver.separation.num_attacks for solver in solvers),
        witnesses=Witnesses.of(witnesses),
        hurried=hurried if hurried.any() else None,
        figures={
            "nodes": sum(solver.nodes for solver in solvers),
            "rows": sum(len(solver.separation.pool) for solver in solvers),
        },
    )


@dataclass(frozen=True, eq=False)
class _Found:
    """A safe pattern of a part, with its proof."""

    hidden: Bool
    witnesses: list[Witness]
    cost: float


class _PartSolver:
    """One part: the oracle of its branch and cut.

    Attributes
    ----------
    best
        The cheapest pattern proven safe so far.
    bound
        Proven least cost.
    reason
        "complete", or what cut the search short.
    nodes
        Of all searches.
    """

    def __init__(
        self,
        problem: Problem,
        separation: Separation,
        seed: int,
        progress: Progress,
        end: Stop,
        params: OptimalParams,
    ) -> None:
        self.params = params
        self.part, self.separation, self.seed, self.progress = separation.part, separation, seed, progress
        self.starter = starter_of(problem, separation, seed=seed, params=params.heuristics)
        self._is_network = isinstance(separation.attacker, FlowAttacker)
        self._is_repaired = self._is_network or len(self) <= self.params.most_to_repair
        self.bound, self.reason, self.nodes = 0.0, "complete", 0
        self._unclear = math.inf
        self._verdicts: dict[bytes, Sequence[Row]] = {}
        self._points = 0
        self._began = 0.0
        self._repairing, self._repairs = 0.0, 0
        self._offered = math.inf
        self._stop: Stop = end
        self._end: float | None = None
        self._rows: Sequence[Row] = ()
        self._relaxation: Relaxation | None = None
        self._everything = separation.judge(np.ones(self.part.num_cells, dtype=bool), stop=end)
        self.best = self._first = self._reduced(np.ones(self.part.num_cells, dtype=bool), self._everything)

    @property
    def is_as_at_first(self) -> bool:
        """Whether nothing better was found than everything that some witness moves."""
        return self.best is self._first

    def __len__(self) -> int:
        return self.part.num_cells

    @property
    def is_proven(self) -> bool:
        """Whether no pattern is cheaper than the best."""
        return self.bound >= self.best.cost * (1.0 if _is_whole(self.part.price) else 1.0 - 2 * TINY)

    def impossible(self) -> list[Demand]:
        """Demands that cannot be met even if everything is hidden."""
        cells = self.part.component.cells
        return [
            Demand(int(cells[asked.own]), asked.up if isinstance(asked, Need) else True, asked.amount)
            for asked in self._everything.unmet
        ]

    def prepare(self, seconds: float | None) -> None:
        """Relaxation, and patterns to start from."""
        now = counted_time()
        stop = until(None if seconds is None else now + seconds * self.params.relaxing)
        relaxation = relax(self.separation, stop, self.params.relaxation)
        self._take(relaxation)
        end = None if seconds is None else now + seconds
        self._try(self.starter.around(relaxation.point, end))
        if self.best.cost - self.bound > self.params.near * self.best.cost and len(self) > self.params.small:
            self._try(self.starter.from_scratch(end))

    def _take(self, relaxation: Relaxation) -> None:
        """The bound and the rows of a relaxation."""
        bound = min(whole_bound(relaxation.bound, self.part.price), self.best.cost)
        self.bound, self._rows, self._relaxation = max(self.bound, bound), relaxation.active, relaxation

    def _barred(self) -> Bool:
        """Cells that no pattern cheaper than the best hides, by their reduced costs."""
        assert self._relaxation is not None
        room = (self.best.cost - self._relaxation.bound) * (1 + 1e-9)
        return np.asarray((self._relaxation.extra > room) & ~self.best.hidden)

    def search(self, seconds: float | None) -> None:
        """Until the optimum is proven or the time is over."""
        end = None if seconds is None else counted_time() + seconds
        self._stop, self._end, self._began = until(end), end, counted_time()
        if not self.is_proven and not self._stop():
            self._search(seconds)
        if self.is_proven:
            self.reason = "complete"
        elif self._unclear < self.best.cost:
            self.reason = "a cheaper pattern could not be decided"
        else:
            self.reason = "time limit"

    def _search(self, seconds: float | None) -> None:
        is_far = self.best.cost - self.bound > self.params.far * self.best.cost
        if len(self) > self.params.small and (self._is_network or not is_far):
            share = self.params.network_programs if self._is_network else self.params.programs
            self._solve_programs(None if seconds is None else seconds * share)
        if seconds is not None and len(self) > self.params.small and (self._is_network or is_far):
            self._search_in_stages(seconds)
        if not self.is_proven:
            self._conclude(self._branch_and_cut((), None if seconds is None else self._within(seconds)))

    def _search_in_stages(self, seconds: float) -> None:
        """A first search for rows, the relaxation with them, exchanges, patterns near the best, programs.

        For parts where one search will hardly come to its end, so that good patterns matter more.
        """
        if not self.is_proven:
            self._conclude(self._branch_and_cut((), self._within(seconds * self.params.first)))
        if self.is_proven:
            return
        self._take(
            relax(
                self.separation,
                until(counted_time() + self._within(seconds * self.params.first)),
                self.params.relaxation,
            )
        )
        self._exchange_and_judge(self._rows, self.best.hidden)
        self._look_around(
            self._within(seconds * self.params.around)
        )  # the better the best pattern, the more is barred
        if self.best.cost - self.bound < self.params.near * self.best.cost:
            self._solve_programs(seconds * self.params.programs)

    def _within(self, seconds: float) -> float:
        """So many seconds, or what is left."""
        return seconds if self._end is None else max(min(seconds, self._end - counted_time()), 0.0)

    def _branch_and_cut(
        self, further: Sequence[Row], seconds: float | None, *, eager: bool = False, shift: int = 0
    ) -> Searched:
        searched = search(
            self.part.price, self.part.held, [*self._rows, *further], self, [self.best.hidden],
            barred=self._barred(), eager=eager,
            deadline=Deadline(seconds), seed=self.seed + shift, on_node=self._tell,
        )  # fmt: skip
        self.nodes += searched.nodes
        if searched.was_interrupted:
            raise KeyboardInterrupt
        return searched

    def _solve_programs(self, seconds: float | None) -> None:
        """Solve the program of all rows so far, judge its optimum, add the rows that it breaks; and so on.

        The optimum is a bound; once it is safe it is the cheapest pattern.
        """
        end = math.inf if self._end is None else self._end
        end = end if seconds is None else min(end, counted_time() + seconds)
        pool, gap, nodes = self.separation.pool, self.params.rough, self.params.nodes
        rows, known = list(self._rows), len(pool)
        if self._is_network:
            self._exchange_and_judge(rows, self.best.hidden)
        slow, most = 0, self.params.most_nodes if self._is_network else self.params.fewer_nodes
        while not self.is_proven and (left := end - counted_time()) > 0.0 and nodes <= most:
            rows += pool.rows[known:]
            known, barred = len(pool), self._barred()
            solved = solve_rows(
                self.part.price, self.part.held, rows, self.best.hidden, barred=barred, gap=gap,
                deadline=Deadline(None if math.isinf(left) else left), nodes=nodes, seed=self.seed,
                on_node=self._tell,
            )  # fmt: skip
            before = self.bound
            bound = whole_bound(solved.bound * (1 - DOUBT), self.part.price)
            self.bound = max(self.bound, min(bound, self.best.cost, self._unclear))
            if solved.point is None:
                return
            self._exchange_and_judge(rows, solved.point)
            slow = 0 if self.bound - before > self.params.worth * (self.best.cost - before) else slow + 1
            if slow > self.params.patience and not self._is_network:
                return
            if not solved.is_optimal:
                nodes *= 2
            elif gap == 0.0 and len(pool) == known:
                return
            elif len(pool) == known or self.bound == before:
                gap = 0.0

    def _exchange_and_judge(self, rows: Sequence[Row], point: Bool) -> None:
        """Judge the optimum of a program of rows, and what exchanges make of it and of the best pattern."""
        pool, known = self.separation.pool, len(self.separation.pool)
        failures = 0
        for turn in range(self.params.exchanges if self._is_network else self.params.fewer_exchanges):
            if self.is_proven or failures > self.params.patience or self._stop():
                return
            start = point if turn == 0 else self.best.hidden
            better = self._exchanged([*rows, *pool.rows[known:]], start, turn)
            if turn and float(self.part.price[better].sum()) >= self.best.cost:
                failures += 1
            elif self._judge_in_time(better) and self._may_repair():
                self._try(self.starter.around(better.astype(np.float64), self._end))

    def _judge_in_time(self, chosen: Bool) -> bool:
        """Learn all rows that a whole pattern breaks, and tell if there are any; take it if it is safe."""
        judgement = self.separation.judge(chosen, most=len(self.separation.asked), stop=self._stop)
        if judgement.is_safe:
            self._accept(chosen, judgement)
        return bool(judgement.rows)

    def _may_repair(self) -> bool:
        """Always in networks; elsewhere ever more rarely, and not at first: the next program may end it."""
        self._repairs += 1
        return self._is_network or (self._repairs > 1 and self._repairs & (self._repairs - 1) == 0)

    def _exchanged(self, rows: Sequence[Row], start: Bool, shift: int) -> Bool:
        asked = [row for row in rows if row.rhs > 0]
        free, seed = ~self._barred() & ~self.part.held, self.seed + shift
        steps = min(self.params.steps * int(free.sum()) * len(asked), self.params.most_steps)
        return exchanged(self.part.price, asked, start, free, least=self.bound, steps=steps, seed=seed)

    def _look_around(self, seconds: float) -> None:
        """Local branching: search the patterns that differ in few cells from the best, while it pays."""
        end, failures = counted_time() + seconds, 0
        while (left := end - counted_time()) > 0.0 and failures < self.params.patience:
            before, hidden = self.best.cost, self.best.hidden
            sides = np.where(hidden, 1.0, -1.0)
            near = Row(np.arange(len(self)), sides, float(hidden.sum()) - self.params.distance)
            slice_ = min(left, seconds / self.params.slices)
            searched = self._branch_and_cut([near], slice_, eager=True, shift=failures)
            failures = 0 if self.best.cost < before else failures + 1
            if self.is_proven or (failures and searched.is_complete):
                return

    def _conclude(self, searched: Searched) -> None:
        """The bound that a search has proven."""
        if searched.is_complete:
            bound = self.best.cost if _is_whole(self.part.price) else self.best.cost * (1 - TINY)
        else:
            bound = whole_bound(searched.bound * (1 - DOUBT), self.part.price)
        self.bound = max(self.bound, min(bound, self.best.cost, self._unclear))

    # -- the oracle ----------------------------------------------------------------------------------------

    def rows_against(self, x: Float, *, is_root: bool) -> Sequence[Row]:
        """See `Oracle`."""
        if known := self.known_against(x):
            return known
        most, attacks = (
            (self.params.root_cuts, self.params.root_attacks)
            if is_root
            else (self.params.node_cuts, self.params.node_attacks)
        )
        rows = self.separation.broken_rows(x, most=most, attacks=attacks, stop=self._stop)
        rows += self.separation.bridgeless_rows(x, most=most // 2, attacks=attacks, stop=self._stop)
        return sorted(rows, key=lambda row: -row.violation(x))

    def known_against(self, x: Float) -> Sequence[Row]:
        """See `Oracle`."""
        return self.separation.pool.broken(x, self.params.separation.deep)

    def judge(self, chosen: Bool) -> Sequence[Row]:
        """See `Oracle`."""
        key = chosen.tobytes()
        if key not in self._verdicts:
            known = self.separation.pool.broken(chosen.astype(np.float64), 0.5)
            self._verdicts[key] = known[: self.params.node_cuts] or self._judged(chosen)
        return self._verdicts[key]

    def suggest(self, x: Float) -> Sequence[Bool]:
        """See `Oracle`: repaired fractional points, ever more rarely, and what was found elsewhere."""
        self._points += 1
        began = counted_time()
        is_dear = self._end is not None and self._repairing > self.params.repairing * (began - self._began)
        if not is_dear and self._points % self.params.often == 1:
            self._round_up(x)
        if not is_dear and self._points & (self._points - 1) == 0 and self._is_repaired:
            self._try(self.starter.around(x, self._end))
        self._repairing += counted_time() - began
        if self.best.cost < self._offered:
            self._offered = self.best.cost
            return [self.best.hidden]
        return []

    def _round_up(self, x: Float) -> None:
        """Hide all that the point hides in part, then publish again what can be spared."""
        chosen = self.part.held | (x > 1e-6)
        if self._judged(chosen):
            return
        doubtful = np.flatnonzero(chosen & ~self.part.held & (x < 1.0 - 1e-6))
        for cell in doubtful[np.lexsort((-self.part.price[doubtful], x[doubtful] > 0.5))].tolist():
            if self._stop():
                return
            chosen[cell] = False
            if self.separation.pool.broken(
                chosen.astype(np.float64), 0.5 * self.params.separation.deep
            ) or self._judged(chosen):
                chosen[cell] = True

    def _judged(self, chosen: Bool) -> Sequence[Row]:
        judgement = self.separation.judge(chosen)
        if judgement.rows:
            return judgement.rows
        if judgement.is_unclear:
            self._unclear = min(self._unclear, float(self.part.price[chosen].sum()))
            others = np.flatnonzero(~chosen)
            return [Row(others, np.ones(len(others)), 1.0)]
        self._accept(chosen, judgement)
        return []

    def _accept(self, chosen: Bool, judgement: Judgement) -> None:
        found = self._reduced(chosen, judgement)
        if found.cost < self.best.cost:
            self.best = found

    def _try(self, chosen: Bool | None) -> None:
        if chosen is not None and float(self.part.price[chosen].sum()) < self.best.cost:
            self._judged(chosen)

    def _reduced(self, chosen: Bool, judgement: Judgement) -> _Found:
        """The pattern without the cells that no witness moves, if all demands have one."""
        moved = np.full(len(chosen), judgement.is_unclear)
        for witness in judgement.witnesses:
            moved[np.searchsorted(self.part.component.cells, witness.cells)] = True
        hidden = self.part.held | (chosen & moved)
        return _Found(hidden, judgement.witnesses, math.fsum(self.part.price[hidden]))

    def _tell(self, bound: float, nodes: int) -> None:
        bound = max(bound, self.bound)
        gap = (self.best.cost - bound) / self.best.cost if self.best.cost > 0 else 0.0
        self.progress.advance(nodes, None, gap=round(max(gap, 0.0), 4))


def _is_whole(price: Float) -> bool:
    return bool((price == np.floor(price)).all())
