"""Steps of `optimal` on one part: relaxation, primal heuristics, programs of cuts, local branching, search.

The order of the steps, and their shares of the time, are the tables of
`cellveil.suppression.methods.optimal`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Bool
from cellveil.clock import Deadline
from cellveil.params import param, part
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.solvers.branch_and_cut import BinaryProgram, BranchAndCutParams, Searched, search, solve_rows
from cellveil.solvers.cutting_planes import Row
from cellveil.solvers.exchange_descent import exchanged
from cellveil.solvers.tolerances import EQUAL, INTEGRALITY
from cellveil.suppression.bounds.cover import whole_bound
from cellveil.suppression.draft import MethodEnding
from cellveil.suppression.exact.part_oracle import PartOracle, PartOracleParams
from cellveil.suppression.exact.parts import Part
from cellveil.suppression.exact.relaxation import LPRelaxation, RelaxationParams, relax


@dataclass(frozen=True, kw_only=True)
class PartSearchParams(PartOracleParams):
    """Parameters of the steps of `optimal`."""

    small: int = param(60, "Cells up to which branch and cut comes at once.", least=0)
    far: float = param(
        0.25, "Gap beyond which local branching comes before branch and cut.", least=-1, most=1
    )
    near: float = param(0.02, "Gap below which programs of all cuts are solved again.", least=0, most=1)
    slices: int = param(15, "Searches that the time of local branching is cut into.", least=1)
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
    relaxation: RelaxationParams = part(RelaxationParams)
    branch_and_cut: BranchAndCutParams = part(BranchAndCutParams)


class PartSearch(PartOracle):
    """One part on its way through the stages.

    Attributes
    ----------
    bound
        Proven least cost.
    nodes
        Of all searches.
    was_far
        Whether the gap was large when the search began.
    """

    params: PartSearchParams

    def __init__(
        self,
        problem: Problem,
        own: Part,
        deadline: Deadline,
        seed: int,
        progress: Progress,
        params: PartSearchParams,
    ) -> None:
        super().__init__(problem, own, deadline, seed, params)
        self.progress = progress
        self.bound, self.nodes, self.was_far = 0.0, 0, False
        self.cut_short: set[str] = set()
        self._repairs, self._is_given = 0, False
        self._cuts: Sequence[Row] = ()
        self._relaxation: LPRelaxation | None = None
        self._is_whole = bool((own.price == np.floor(own.price)).all())

    @property
    def is_done(self) -> bool:
        """Whether no pattern is cheaper than the incumbent."""
        return self.bound >= self.best.cost * (1.0 if self._is_whole else 1.0 - EQUAL)

    @property
    def ending(self) -> MethodEnding:
        """Why the search ended, if nobody interrupted it."""
        if self.is_done:
            return MethodEnding.COMPLETE
        return MethodEnding.UNDECIDED if self.unclear < self.best.cost else MethodEnding.TIME_LIMIT

    def begin(self, deadline: Deadline) -> None:
        """Search until then."""
        super().begin(deadline)
        self.was_far = self._has_gap(self.params.far)

    def begin_with(self, pattern: Bool) -> None:
        """Judge a pattern of the whole problem that is known already."""
        chosen = self.part.held | pattern[self.part.component.cells]
        before = self.best
        self.try_pattern(chosen)
        self._is_given = self.best is not before

    # -- when stages apply ---------------------------------------------------------------------------------

    def always(self) -> bool:
        """Always."""
        return True

    def needs_start(self) -> bool:
        """No pattern is known, the gap is not near 0, and the part is not small."""
        return not self._is_given and self._has_gap(self.params.near) and not self.is_small

    def is_for_flows(self) -> bool:
        """A network that is not small."""
        return self.is_network and not self.is_small

    def is_for_programs(self) -> bool:
        """No network, not small, and the gap was not large."""
        return not self.is_network and not self.is_small and not self.was_far

    def is_hard(self) -> bool:
        """There is a time limit, and the part is a network or the gap was large; not in small parts."""
        return self.deadline.limit is not None and not self.is_small and (self.is_network or self.was_far)

    def is_nearly_solved(self) -> bool:
        """The same, and the gap is near 0 by now."""
        return self.is_hard() and not self._has_gap(self.params.near)

    @property
    def is_small(self) -> bool:
        """Whether branch and cut comes at once."""
        return len(self) <= self.params.small

    def _has_gap(self, share: float) -> bool:
        return self.best.cost - self.bound > share * self.best.cost

    # -- the stages ----------------------------------------------------------------------------------------

    def relax(self, deadline: Deadline) -> None:
        """The relaxation by capacity cuts and bridge-less inequalities."""
        relaxation = relax(self.separation, deadline, self.params.relaxation)
        self.bound = max(self.bound, min(whole_bound(relaxation.bound, self.part.price), self.best.cost))
        self._cuts, self._relaxation = relaxation.active, relaxation

    def round_point(self, deadline: Deadline) -> None:
        """A pattern near the fractional point, by incremental programs or cheapest flows."""
        assert self._relaxation is not None
        self.try_pattern(self.starter.around(self._relaxation.point, deadline))

    def start_afresh(self, deadline: Deadline) -> None:
        """A pattern from nothing, by incremental programs or cheapest flows, and ruin and recreate."""
        self.try_pattern(self.starter.from_scratch(deadline))

    def solve_programs(self, deadline: Deadline) -> None:
        """The integer program of all cuts so far; its optimum is judged, and the cuts it violates added."""
        pool, gap, nodes = self.separation.pool, self.params.rough, self.params.nodes
        cuts, known = list(self._cuts), len(pool)
        if self.is_network:
            self._exchange_and_judge(cuts, self.best.hidden, deadline)
        slow, most = 0, self.params.most_nodes if self.is_network else self.params.fewer_nodes
        while not self.is_done and not deadline.is_over and nodes <= most:
            cuts += pool.rows[known:]
            known = len(pool)
            solved = solve_rows(
                self._program(cuts), self.best.hidden, gap=gap, deadline=deadline, nodes=nodes,
                seed=self.seed, on_node=self._tell,
            )  # fmt: skip
            before = self.bound
            self._prove(self._doubted(solved.bound))
            if solved.point is None:
                return
            self._exchange_and_judge(cuts, solved.point, deadline)
            slow = 0 if self.bound - before > self.params.worth * (self.best.cost - before) else slow + 1
            if slow > self.params.patience and not self.is_network:
                return
            if not solved.is_optimal:
                nodes *= 2
            elif gap == 0.0 and len(pool) == known:
                return
            elif len(pool) == known or self.bound == before:
                gap = 0.0

    def exchange(self, deadline: Deadline) -> None:
        """Exchanges of one or two cells in the incumbent, under the cuts so far."""
        self._exchange_and_judge(self._cuts, self.best.hidden, deadline)

    def look_around(self, deadline: Deadline) -> None:
        """Local branching: branch and cut among patterns near the incumbent, while it pays."""
        seconds, failures = (deadline.left or 0.0) / self.params.slices, 0
        while not deadline.is_over and failures < self.params.patience:
            before, hidden = self.best.cost, self.best.hidden
            sides = np.where(hidden, 1.0, -1.0)
            near = Row(np.arange(len(self)), sides, float(hidden.sum()) - self.params.distance)
            searched = self._searched([near], deadline.share(1.0, seconds), eager=True, shift=failures)
            failures = 0 if self.best.cost < before else failures + 1
            if self.is_done or (failures and searched.is_complete):
                return

    def branch_and_cut(self, deadline: Deadline) -> None:
        """Branch and cut, with the cells fixed that their reduced costs bar."""
        searched = self._searched((), deadline)
        if searched.is_complete:
            self._prove(self.best.cost if self._is_whole else self.best.cost * (1 - EQUAL / 2))
        else:
            self._prove(self._doubted(searched.bound))

    # -- what they share -----------------------------------------------------------------------------------

    def _searched(
        self, further: Sequence[Row], deadline: Deadline, *, eager: bool = False, shift: int = 0
    ) -> Searched:
        # (4) and (5), under the capacity cuts (17) in place of the deviations (10) to (13)
        searched = search(
            self._program([*self._cuts, *further]), self, [self.best.hidden], eager=eager, deadline=deadline,
            seed=self.seed + shift, on_node=self._tell, params=self.params.branch_and_cut,
        )  # fmt: skip
        self.nodes += searched.nodes
        if searched.was_interrupted:
            raise KeyboardInterrupt
        return searched

    def _program(self, cuts: Sequence[Row]) -> BinaryProgram:
        return BinaryProgram(self.part.price, self.part.held, self._barred(), cuts)

    def _prove(self, bound: float) -> None:
        self.bound = max(self.bound, min(bound, self.best.cost, self.unclear))

    def _doubted(self, bound: float) -> float:
        """The bound of a search that may have been cut short, less the solver's tolerance."""
        return whole_bound(bound * (1 - INTEGRALITY), self.part.price)

    def _barred(self) -> Bool:
        """Reduced-cost fixing: cells that no pattern cheaper than the incumbent hides."""
        assert self._relaxation is not None
        room = (self.best.cost - self._relaxation.bound) * (1 + EQUAL)
        return np.asarray((self._relaxation.extra > room) & ~self.best.hidden)

    def _exchange_and_judge(self, cuts: Sequence[Row], point: Bool, deadline: Deadline) -> None:
        """Judge the optimum of a program of cuts, and what exchanges make of it and of the incumbent."""
        pool, known = self.separation.pool, len(self.separation.pool)
        failures = 0
        for turn in range(self.params.exchanges if self.is_network else self.params.fewer_exchanges):
            if self.is_done or failures > self.params.patience or deadline.is_over:
                return
            start = point if turn == 0 else self.best.hidden
            better = self._exchanged([*cuts, *pool.rows[known:]], start, turn)
            if turn and float(self.part.price[better].sum()) >= self.best.cost:
                failures += 1
            elif self.learn(better) and self._may_repair():
                self.try_pattern(self.starter.around(better.astype(np.float64), deadline))

    def _may_repair(self) -> bool:
        """Always in networks; elsewhere ever more rarely, and not at first: the next program may end it."""
        self._repairs += 1
        return self.is_network or (self._repairs > 1 and self._repairs & (self._repairs - 1) == 0)

    def _exchanged(self, cuts: Sequence[Row], start: Bool, shift: int) -> Bool:
        asked = [row for row in cuts if row.rhs > 0]
        free, seed = ~self._barred() & ~self.part.held, self.seed + shift
        steps = min(self.params.steps * int(free.sum()) * len(asked), self.params.most_steps)
        return exchanged(self.part.price, asked, start, free, least=self.bound, steps=steps, seed=seed)

    def _tell(self, bound: float, nodes: int) -> None:
        bound = max(bound, self.bound)
        gap = (self.best.cost - bound) / self.best.cost if self.best.cost > 0 else 0.0
        self.progress.advance(nodes, None, gap=round(max(gap, 0.0), 4))
