"""The oracle of whole patterns: an exact deviation for every demand, or capacity cuts that are violated.

Every demand gets an exact deviation inside the pattern, or a cut that the pattern violates, in exact
arithmetic as well. From a cut Σ a_i x_i ≥ 1 that a pattern violates it follows that some further cell of it
must be hidden, Σ_{i not hidden} x_i ≥ 1 over its cells, which cuts the pattern off whatever the solver's
tolerance. A demand with neither is *unclear*: the pattern is then cut off (some further cell must be hidden),
and its cost is remembered, since no bound above it would be proven.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.attack.network_intervals import NetworkFlows
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.deviations.exact_rounding import lift
from cellveil.deviations.integer_kernel import Lattice
from cellveil.deviations.witness import LARGEST_NUMERATOR, Witness, movable_multiple
from cellveil.params import Params, param, part
from cellveil.problem import Problem
from cellveil.solvers.cutting_planes import Row
from cellveil.solvers.tolerances import REACH, ROUNDING
from cellveil.suppression.exact.capacity_cuts import (
    Capacity,
    need_capacity,
    relation_capacities,
    width_capacity,
)
from cellveil.suppression.exact.cut_pool import Capacities, CutPoolParams, Pool
from cellveil.suppression.exact.fractional_attack import AttackParams, FlowAttacker, LPAttacker, attacker_of
from cellveil.suppression.exact.parts import Asked, Need, Part, Width
from cellveil.tables.scaled import UNBOUNDED


@dataclass(frozen=True, kw_only=True)
class OracleParams(Params):
    """Parameters of the oracle of whole patterns."""

    fading: float = param(0.5, "Factor on the urgency of a demand that is met.", least=0, most=1)
    most_cells: int = param(20_000, "Cells up to which demands are attacked.", least=0)
    pool: CutPoolParams = part(CutPoolParams)
    attack: AttackParams = part(AttackParams)


@dataclass
class SafetyCheck:
    """Of a whole pattern: witnesses of all demands, or rows that cut it off."""

    rows: list[Row] = field(default_factory=list)
    witnesses: list[Witness] = field(default_factory=list)
    unmet: list[Asked] = field(default_factory=list)
    is_unclear: bool = False

    @property
    def is_safe(self) -> bool:
        """Whether every demand has a witness."""
        return not self.rows and not self.is_unclear


class SafetyOracle:
    """What is known of one part, and the oracle of its whole patterns.

    Attributes
    ----------
    asked
        All demands: needs, then widths.
    capacities
        Those of single relations, and those found by attacks.
    pool
        All rows found so far.
    num_attacks
        How many attacks were made on fractional points.
    urgency
        Of each demand: those that were violated last come first.
    """

    def __init__(
        self,
        problem: Problem,
        part: Part,
        deadline: Deadline = NO_LIMIT,
        params: OracleParams | None = None,
    ) -> None:
        self.params = params or OracleParams()
        self.part, self.relations = part, problem.table.relations
        cells, values = part.component.cells, problem.table.values
        ub, lb = problem.ub[cells], problem.lb[cells]
        self.room_up = np.where(ub == UNBOUNDED, UNBOUNDED, ub - values[cells])
        self.room_down = np.where(lb == -UNBOUNDED, UNBOUNDED, values[cells] - lb)
        self.attacker = attacker_of(part, self.params.attack)
        self.lp = (
            self.attacker if isinstance(self.attacker, LPAttacker) else LPAttacker(part, self.params.attack)
        )
        self.asked = part.asked
        self.urgency = np.array([float(asked.amount) for asked in self.asked])
        self.urgency /= max(self.urgency.max(initial=1.0), 1.0)
        self.num_attacks = 0
        self._caps = np.concatenate([part.up, part.down])
        self.capacities = Capacities(self.params.pool)
        for capacity in relation_capacities(part):
            self.capacities.add(capacity)
        self.pool = Pool(part.num_cells)
        self.pool.add(capacity.row() for capacity in self.capacities.items)
        self._flows: tuple[Bool, NetworkFlows] | None = None
        self._from_start, self._shown = SafetyCheck(), _Shown(part.num_cells)
        self._always = self._met_from_the_start(deadline)

    def judge(self, hidden: Bool, *, most: int = 4, deadline: Deadline = NO_LIMIT) -> SafetyCheck:
        """Prove a pattern safe, or find about so many rows it breaks; unclear where it had to stop."""
        check, shown = SafetyCheck(witnesses=list(self._from_start.witnesses)), self._shown.copy()
        for number in np.argsort(-self.urgency, kind="stable").tolist():
            asked = self.asked[number]
            if self._always[number] or shown.meets(asked):
                continue
            if deadline.is_over:
                check.is_unclear = True
                break
            rows = self._prove(asked, hidden, check, shown)
            self.urgency[number] *= self.params.fading
            if rows:
                self.urgency[number] = 2.0
                check.rows += rows
                check.unmet.append(asked)
                if len(check.rows) >= most:
                    break
        if check.rows:
            check.rows += [further_cell(row, hidden) for row in check.rows]
            self.pool.add(check.rows)
        return check

    @property
    def is_large(self) -> bool:
        """Whether attacks would take too long: then single relations alone are looked at."""
        return self.part.num_cells > self.params.most_cells

    def farthest(self, own: int, up: bool, amount: int) -> int:
        """How far a cell moves if everything is hidden, in whole units, up to the amount."""
        everything = np.ones(self.part.num_cells, dtype=bool)
        push = self.lp.push(own, up, self._whole_caps(amount, everything, REACH))
        return 0 if push is None else math.floor(push.share * amount + ROUNDING)

    def _met_from_the_start(self, deadline: Deadline) -> Bool:
        """Which demands are met by what is hidden at the start: their witnesses hold in every pattern."""
        always = np.zeros(len(self.asked), dtype=bool)
        for number in np.argsort(-self.urgency, kind="stable").tolist():
            asked = self.asked[number]
            if self.is_large or deadline.is_over:
                break
            if not self._shown.meets(asked):
                self._prove(asked, self.part.held, self._from_start, self._shown)
        for number, asked in enumerate(self.asked):
            always[number] = self._shown.meets(asked)
        return always

    def _prove(self, asked: Asked, hidden: Bool, check: SafetyCheck, shown: _Shown) -> list[Row]:
        """Write down a witness; where there is none, the rows that say so."""
        if isinstance(asked, Width):
            return self._prove_width(asked, hidden, check, shown)
        if isinstance(self.attacker, FlowAttacker):
            rows = self._prove_by_flow(asked, hidden, check, shown)
            if rows or shown.meets(asked):
                return rows
        for reach in (REACH, np.inf):
            caps = self._whole_caps(asked.amount, hidden, reach)
            moved = self.lp.cheapest(asked.own, asked.up, caps)
            if moved is not None:
                self._take(moved * asked.amount, hidden, check, shown)
                break
            push = self.lp.push(asked.own, asked.up, caps)
            if push is not None:
                capacities = (need_capacity(self.part, h, asked) for h in push.combinations)
                rows = self._cuts_violated_by(hidden, capacities)
                if rows:
                    return rows
        if not shown.meets(asked):
            check.is_unclear = True
        return []

    def _prove_by_flow(self, need: Need, hidden: Bool, check: SafetyCheck, shown: _Shown) -> list[Row]:
        """The same by a maximum flow."""
        witness = self._flows_in(hidden).find(
            int(self.part.component.cells[need.own]), need.amount, up=need.up
        )
        if witness is not None:
            self._note(witness, check, shown)
            return []
        push = self.attacker.push(need.own, need.up, self._whole_caps(need.amount, hidden, 1.0))
        found = () if push is None else push.combinations
        return self._cuts_violated_by(hidden, (need_capacity(self.part, h, need) for h in found))

    def _flows_in(self, hidden: Bool) -> NetworkFlows:
        """The flows inside a pattern; kept for the next question about it."""
        if self._flows is None or not (self._flows[0] == hidden).all():
            cells, n = self.part.component.cells, self.relations.num_cells
            chosen = np.zeros(n, dtype=bool)
            chosen[cells[hidden]] = True
            down, up = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
            down[cells], up[cells] = self.room_down, self.room_up
            self._flows = hidden.copy(), NetworkFlows(self.relations, chosen, (down, up))
        return self._flows[1]

    def _prove_width(self, width: Width, hidden: Bool, check: SafetyCheck, shown: _Shown) -> list[Row]:
        caps = self._whole_caps(width.amount, hidden, REACH)
        sides: list[list[Int | None]] = []
        for up in (True, False):
            push = self.lp.push(width.own, up, caps)
            if push is None:
                check.is_unclear = True
                return []
            if push.moved is not None:
                self._take(push.moved * width.amount, hidden, check, shown)
            sides.append([*push.combinations, None])
        if shown.meets(width):
            return []
        pairs = ((above, below) for above in sides[0] for below in sides[1])
        rows = self._cuts_violated_by(hidden, (width_capacity(self.part, *pair, width) for pair in pairs))
        check.is_unclear |= not rows
        return rows

    def _cuts_violated_by(self, hidden: Bool, capacities: Iterable[Capacity | None]) -> list[Row]:
        rows = []
        for capacity in capacities:
            if capacity is not None and is_violated(capacity.row(), hidden):
                rows.append(capacity.row())
                self.capacities.add(capacity)
        return rows

    def _whole_caps(self, amount: int, hidden: Bool, reach: float) -> Float:
        return np.where(np.tile(hidden, 2), np.minimum(self._caps / amount, reach), 0.0)

    def _take(self, moved: Float, hidden: Bool, check: SafetyCheck, shown: _Shown) -> None:
        """Make a deviation exact, and note it."""
        witness = self._exact(moved, hidden)
        if witness is not None:
            self._note(witness, check, shown)

    def _note(self, witness: Witness, check: SafetyCheck, shown: _Shown) -> None:
        """Note a deviation and what it shows, each way."""
        own = np.searchsorted(self.part.component.cells, witness.cells)
        for turned in (witness, witness.reversed()):
            steps = movable_multiple(turned, self.room_down[own], self.room_up[own])
            steps = min(steps, LARGEST_NUMERATOR // int(np.abs(turned.numerators).max()))
            if steps:
                stretched = Witness(turned.cells, turned.numerators * steps, turned.denominator)
                check.witnesses.append(stretched)
                shown.note(own, stretched)

    def _exact(self, moved: Float, hidden: Bool) -> Witness | None:
        moved = np.where(hidden & (np.abs(moved) > 1e-9 * np.abs(moved).max(initial=0.0)), moved, 0.0)
        witness = lift(self.part.component, moved, self.room_down, self.room_up)
        if witness is not None or not moved.any():
            return witness
        own = np.flatnonzero(hidden)
        room = np.minimum(self.room_down, self.room_up)[own]
        lattice = Lattice(self.relations, self.part.component.cells[own], room)
        return lattice.lift(moved[own], self.room_down[own], self.room_up[own])


class _Shown:
    """How far each cell was shown to move, exactly."""

    def __init__(self, num_cells: int) -> None:
        self.rise: list[Fraction | int] = [0] * num_cells
        self.fall: list[Fraction | int] = [0] * num_cells

    def copy(self) -> _Shown:
        """To learn more without a trace here."""
        copy = _Shown(0)
        copy.rise, copy.fall = self.rise.copy(), self.fall.copy()
        return copy

    def note(self, own: Int, witness: Witness) -> None:
        """Learn from a deviation within the capacities."""
        for cell, numerator in zip(own.tolist(), witness.numerators.tolist(), strict=True):
            side = self.rise if numerator > 0 else self.fall
            side[cell] = max(side[cell], Fraction(abs(numerator), witness.denominator))

    def meets(self, asked: Asked) -> bool:
        """Whether the demand is met."""
        rise, fall = self.rise[asked.own], self.fall[asked.own]
        if isinstance(asked, Width):
            return rise + fall >= asked.amount
        return (rise if asked.up else fall) >= asked.amount


def is_violated(row: Row, hidden: Bool) -> bool:
    """Whether a whole pattern breaks the row, beyond any rounding."""
    taken = row.shares[hidden[row.columns]]
    return float(taken.sum()) * (1 + 2.0**-40) + 2.0**-40 < row.rhs


def further_cell(row: Row, hidden: Bool) -> Row:
    """Of a row Σ a x ≥ 1 that a whole pattern breaks: some further cell of it must be hidden.

    The pattern is first enlarged as long as it breaks the row, by the cells with the smallest coefficients.
    """
    is_hidden = hidden[row.columns]
    order = np.lexsort((row.shares, ~is_hidden))
    within = np.cumsum(row.shares[order]) * (1 + 2.0**-40) + 2.0**-40 < row.rhs
    columns = np.sort(row.columns[order[~within]])
    return Row(columns, np.ones(len(columns)), 1.0)
