"""The oracle of branch and cut for one part: cuts for every point, and the incumbent with its witnesses.

Fractional points are separated, whole ones judged exactly; now and then a fractional point is rounded up or
repaired to a pattern. The incumbent is the cheapest pattern that was proven safe.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Bool, Float
from cellveil.clock import Deadline, counted_time
from cellveil.deviations.demand import Demand
from cellveil.deviations.witness import Witness
from cellveil.params import Params, param, part
from cellveil.problem import Problem
from cellveil.solvers.cutting_planes import Row
from cellveil.solvers.tolerances import INTEGRALITY
from cellveil.suppression.exact.fractional_attack import FlowAttacker
from cellveil.suppression.exact.parts import Need, Part
from cellveil.suppression.exact.primal_heuristics import HeuristicsParams, starter_of
from cellveil.suppression.exact.safety_oracle import SafetyCheck
from cellveil.suppression.exact.separation import Separation, SeparationParams


@dataclass(frozen=True, kw_only=True)
class PartOracleParams(Params):
    """Parameters of the oracle."""

    most_to_repair: int = param(3_000, "Cells up to which fractional points are repaired.", least=0)
    repairing: float = param(0.1, "Share of the time so far for repairs at nodes.", least=0, most=1)
    often: int = param(10, "One fractional point in this many is rounded up.", least=2)
    node_cuts: int = param(8, "Cuts for a fractional point below the root.", least=1)
    node_attacks: int = param(6, "Attacks on a fractional point below the root.", least=1)
    root_cuts: int = param(30, "Cuts for a fractional point at the root.", least=1)
    root_attacks: int = param(40, "Attacks on a fractional point at the root.", least=1)
    separation: SeparationParams = part(SeparationParams)
    heuristics: HeuristicsParams = part(HeuristicsParams)


@dataclass(frozen=True, eq=False)
class SafePattern:
    """A safe pattern of a part, with its proof."""

    hidden: Bool
    witnesses: list[Witness]
    cost: float


class PartOracle:
    """See `cellveil.solvers.branch_and_cut.Oracle`.

    Attributes
    ----------
    best
        The incumbent.
    deadline
        When the search of this part ends.
    unclear
        Cost of the cheapest pattern that was neither proven safe nor unsafe: no bound above it is proven.
    """

    def __init__(
        self, problem: Problem, own: Part, deadline: Deadline, seed: int, params: PartOracleParams
    ) -> None:
        self.part, self.params, self.seed, self.deadline = own, params, seed, deadline
        self.separation = self._separation_of(problem)
        self.starter = starter_of(problem, self.separation, seed=seed, params=params.heuristics)
        self.is_network = isinstance(self.separation.attacker, FlowAttacker)
        self.unclear = math.inf
        self._is_repaired = self.is_network or len(self) <= params.most_to_repair
        self._known: dict[bytes, Sequence[Row]] = {}
        self._began = counted_time()
        self._points, self._repairing, self._offered = 0, 0.0, math.inf
        everything = np.ones(len(self), dtype=bool)
        self._everything = self.separation.judge(everything, deadline=deadline)
        self.best = self._first = self._reduced(everything, self._everything)

    def __len__(self) -> int:
        return self.part.num_cells

    def _separation_of(self, problem: Problem) -> Separation:
        """What tells whom a pattern does not keep off."""
        return Separation(problem, self.part, self.deadline, self.params.separation)

    @property
    def is_as_at_first(self) -> bool:
        """Whether nothing better was found than everything that some witness moves."""
        return self.best is self._first

    def impossible(self) -> list[Demand]:
        """Demands that cannot be met even if everything is hidden."""
        cells = self.part.component.cells
        return [
            Demand(int(cells[asked.own]), asked.up if isinstance(asked, Need) else True, asked.amount)
            for asked in self._everything.unmet
        ]

    def begin(self, deadline: Deadline) -> None:
        """Search until then."""
        self.deadline, self._began, self._repairing = deadline, counted_time(), 0.0

    def rows_against(self, x: Float, *, is_root: bool) -> Sequence[Row]:
        """See `Oracle`."""
        if known := self.known_against(x):
            return known
        most, attacks = (
            (self.params.root_cuts, self.params.root_attacks)
            if is_root
            else (self.params.node_cuts, self.params.node_attacks)
        )
        separation, deadline = self.separation, self.deadline
        rows = separation.violated_cuts(x, most=most, attacks=attacks, deadline=deadline)
        rows += separation.bridgeless_cuts(x, most=most // 2, attacks=attacks, deadline=deadline)
        return sorted(rows, key=lambda row: -row.violation(x))

    def known_against(self, x: Float) -> Sequence[Row]:
        """See `Oracle`."""
        return self.separation.pool.broken(x, self.params.separation.deep)

    def judge(self, chosen: Bool) -> Sequence[Row]:
        """See `Oracle`; cached by pattern."""
        key = chosen.tobytes()
        if key not in self._known:
            known = self.separation.pool.broken(chosen.astype(np.float64), 0.5)
            self._known[key] = known[: self.params.node_cuts] or self._judged(chosen)
        return self._known[key]

    def suggest(self, x: Float) -> Sequence[Bool]:
        """See `Oracle`: repaired fractional points, ever more rarely, and what was found elsewhere."""
        self._points += 1
        began = counted_time()
        has_limit, passed = self.deadline.limit is not None, began - self._began
        is_dear = has_limit and self._repairing > self.params.repairing * passed
        if not is_dear and self._points % self.params.often == 1:
            self._round_up(x)
        if not is_dear and self._points & (self._points - 1) == 0 and self._is_repaired:
            self.try_pattern(self.starter.around(x, self.deadline))
        self._repairing += counted_time() - began
        if self.best.cost < self._offered:
            self._offered = self.best.cost
            return [self.best.hidden]
        return []

    def try_pattern(self, chosen: Bool | None) -> None:
        """Judge a pattern, if it would be the cheapest."""
        if chosen is not None and float(self.part.price[chosen].sum()) < self.best.cost:
            self._judged(chosen)

    def learn(self, chosen: Bool) -> bool:
        """Add all cuts that a whole pattern violates, and tell if there are any; take it if it is safe."""
        separation = self.separation
        check = separation.judge(chosen, most=len(separation.asked), deadline=self.deadline)
        if check.is_safe:
            self._accept(chosen, check)
        return bool(check.rows)

    def _round_up(self, x: Float) -> None:
        """Hide all that the point hides in part, then publish again what can be spared."""
        chosen = self.part.held | (x > INTEGRALITY)
        if self._judged(chosen):
            return
        doubtful = np.flatnonzero(chosen & ~self.part.held & (x < 1.0 - INTEGRALITY))
        shallow = 0.5 * self.params.separation.deep
        for cell in doubtful[np.lexsort((-self.part.price[doubtful], x[doubtful] > 0.5))].tolist():
            if self.deadline.is_over:
                return
            chosen[cell] = False
            if self.separation.pool.broken(chosen.astype(np.float64), shallow) or self._judged(chosen):
                chosen[cell] = True

    def _judged(self, chosen: Bool) -> Sequence[Row]:
        check = self.separation.judge(chosen)
        if check.rows:
            return check.rows
        if check.is_unclear:
            self.unclear = min(self.unclear, float(self.part.price[chosen].sum()))
            others = np.flatnonzero(~chosen)
            return [Row(others, np.ones(len(others)), 1.0)]
        self._accept(chosen, check)
        return []

    def _accept(self, chosen: Bool, check: SafetyCheck) -> None:
        found = self._reduced(chosen, check)
        if found.cost < self.best.cost:
            self.best = found

    def _reduced(self, chosen: Bool, check: SafetyCheck) -> SafePattern:
        """The pattern without the cells that no witness moves, if all demands have one."""
        moved = np.full(len(chosen), check.is_unclear)
        for witness in check.witnesses:
            moved[np.searchsorted(self.part.component.cells, witness.cells)] = True
        hidden = self.part.held | (chosen & moved)
        return SafePattern(hidden, check.witnesses, math.fsum(self.part.price[hidden]))
