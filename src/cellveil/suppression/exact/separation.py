"""Separation: the cuts that a point breaks, and whether a whole pattern is safe; the branch-and-cut oracle.

*Fractional points*: capacities that are known already are looked through first, with other cells taken for
granted; then demands are attacked under the shares x, those that were broken last first, and the combination
found becomes a row if x breaks it by enough. A movement that takes its own cell far enough settles all
demands it meets.

*Whole patterns*: every demand gets an exact deviation inside the pattern, or a row that the pattern breaks,
in exact arithmetic as well. From a row Σ a_i x_i ≥ 1 that a pattern breaks it follows that some further cell
of it must be hidden, Σ_{i not hidden} x_i ≥ 1 over its cells, and this row cuts the pattern off whatever the
solver's tolerance. A demand with neither is *unclear*: the pattern is then cut off (some further cell must be
hidden), and its cost is remembered, since no bound above it would be proven.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.attack.network_intervals import NetworkFlows
from cellveil.deviations.exact_rounding import lift
from cellveil.deviations.integer_kernel import Lattice
from cellveil.deviations.witness import LARGEST_NUMERATOR, Witness, movable_multiple
from cellveil.params import Params, param, part
from cellveil.problem import Problem
from cellveil.solvers.cutting_planes import Row
from cellveil.solvers.tolerances import REACH, ROUNDING
from cellveil.suppression.exact.cut_pool import Capacities, CutPoolParams, Pool
from cellveil.suppression.exact.fractional_attack import SHORT, FlowAttacker, LPAttacker, attacker_of
from cellveil.suppression.exact.parts import (
    Asked,
    Capacity,
    Need,
    Part,
    Width,
    bridgeless_row,
    need_capacity,
    relation_capacities,
    width_capacity,
)
from cellveil.tables.scaled import UNBOUNDED

Stop = Callable[[], bool]


@dataclass(frozen=True, kw_only=True)
class SeparationParams(Params):
    """Parameters of the separation of capacity cuts and bridge-less inequalities."""

    deep: float = param(1e-2, "Least violation of a cut by a fractional point.", least=0)
    shallow: float = param(5e-4, "The same where no deeper cut is found.", least=0)
    most_fine: int = param(1_000, "Cells up to which linear programs separate finely.", least=0)
    aside: float = param(5e-3, "Added to x in fine separation, so that cuts stay sparse.", least=0, most=1)
    granted: tuple[float, ...] = param(
        (1.0 - 1e-6, 0.6), "Values of x from which on cells are fixed at 1 in an attack.", least=0
    )
    rounded: tuple[float, ...] = param(
        (0.9, 0.6, 0.3, 0.1, 1e-3), "Thresholds at which a point is rounded to a whole pattern.", least=0
    )
    fading: float = param(0.5, "Factor on the urgency of a demand that is met.", least=0, most=1)
    looked_at: int = param(8, "Known capacities looked at for each cut wanted.", least=1)
    most_cells: int = param(20_000, "Cells up to which demands are attacked.", least=0)
    bridgeless: float = param(
        0.05, "Bridge-less inequalities are separated for cells with x above this.", least=0, most=1
    )
    pool: CutPoolParams = part(CutPoolParams)


def _never() -> bool:
    return False


@dataclass
class Judgement:
    """Of a whole pattern: witnesses of all demands, or rows that cut it off."""

    rows: list[Row] = field(default_factory=list)
    witnesses: list[Witness] = field(default_factory=list)
    unmet: list[Asked] = field(default_factory=list)
    is_unclear: bool = False

    @property
    def is_safe(self) -> bool:
        """Whether every demand has a witness."""
        return not self.rows and not self.is_unclear


class Separation:
    """The oracle of one part.

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
    """

    def __init__(
        self,
        problem: Problem,
        part: Part,
        stop: Stop = _never,
        params: SeparationParams | None = None,
    ) -> None:
        self.params = params or SeparationParams()
        self.part, self.relations = part, problem.table.relations
        cells, values = part.component.cells, problem.table.values
        ub, lb = problem.ub[cells], problem.lb[cells]
        self.room_up = np.where(ub == UNBOUNDED, UNBOUNDED, ub - values[cells])
        self.room_down = np.where(lb == -UNBOUNDED, UNBOUNDED, values[cells] - lb)
        self.attacker = attacker_of(part)
        self.lp = self.attacker if isinstance(self.attacker, LPAttacker) else LPAttacker(part)
        self.asked = part.asked
        self.urgency = np.array([float(asked.amount) for asked in self.asked])
        self.urgency /= max(self.urgency.max(initial=1.0), 1.0)
        self.num_attacks = 0
        self._is_fine = False
        self._own = np.array([need.own for need in part.needs], dtype=np.int64)
        self._turn = np.array([1.0 if need.up else -1.0 for need in part.needs])
        self._least = np.array([need.amount * (1 - SHORT) for need in part.needs])
        self._caps = np.concatenate([part.up, part.down])
        self._needs_of: dict[int, list[Need]] = {}
        for need in part.needs:
            self._needs_of.setdefault(need.own, []).append(need)
        self._owners = np.array(sorted(self._needs_of), dtype=np.int64)
        self.capacities = Capacities(self.params.pool)
        for capacity in relation_capacities(part):
            self.capacities.add(capacity)
        self.pool = Pool(part.num_cells)
        self.pool.add(capacity.row() for capacity in self.capacities.items)
        self._flows: tuple[Bool, NetworkFlows] | None = None
        self._from_start, self._shown = Judgement(), _Shown(part.num_cells)
        self._always = self._met_from_the_start(stop)

    def refine(self) -> None:
        """Attack more finely from now on: when coarse rows gain little, and not in large parts."""
        if isinstance(self.attacker, LPAttacker) and self.part.num_cells <= self.params.most_fine:
            self._is_fine, self.attacker.is_fresh = True, False

    # -- fractional points ---------------------------------------------------------------------------------

    def broken_rows(self, x: Float, *, most: int, attacks: int, stop: Stop = _never) -> list[Row]:
        """New rows that a fractional point breaks: about so many at most, by at most so many attacks."""
        found = self.pool.add(self.capacities.broken_rows(x, self.params.deep, self.params.looked_at * most))[
            :most
        ]
        met = self._always.copy()
        for number in np.argsort(-self.urgency, kind="stable").tolist():
            if len(found) >= most or attacks <= 0 or self.is_large or stop():
                break
            self.urgency[number] *= self.params.fading
            if met[number]:
                continue
            attacks -= 1
            rows = self.pool.add(self._attack(self.asked[number], x, met))
            if rows:
                self.urgency[number] = 1.0 + max(row.violation(x) for row in rows)
            found += rows
        return found or self.pool.add(self.capacities.broken_rows(x, self.params.shallow, most))

    def bridgeless_rows(self, x: Float, *, most: int, attacks: int, stop: Stop = _never) -> list[Row]:
        """New bridge-less inequalities that a fractional point breaks."""
        found: list[Row] = []
        candidates = np.flatnonzero(~self.part.held & (x > self.params.bridgeless) & (not self.is_large))
        for own in candidates[np.argsort(-x[candidates], kind="stable")][:attacks].tolist():
            if len(found) >= most or stop():
                break
            relative = np.tile(x, 2) / x[own]
            relative[[own, own + self.part.num_cells]] = 1.0
            push = self.attacker.push(own, True, relative)
            self.num_attacks += 1
            rows = [] if push is None else [bridgeless_row(self.part, h, own) for h in push.combinations]
            found += self.pool.add(
                row for row in rows if row is not None and row.violation(x) > self.params.deep
            )
        return found

    def rows_by_rounding(self, x: Float, *, stop: Stop = _never) -> list[Row]:
        """New rows that a fractional point breaks, among those of whole patterns near it."""
        found: list[Row] = []
        is_slow = self.is_large or (self.attacker is self.lp and self.part.num_cells > self.params.most_fine)
        for share in () if is_slow else self.params.rounded:
            known = len(self.pool)
            judgement = self.judge(self.part.held | (x >= share), stop=stop)
            if not judgement.rows:
                break
            found += [row for row in self.pool.rows[known:] if row.violation(x) > self.params.deep]
        return found

    def _attack(self, asked: Asked, x: Float, met: Bool) -> list[Row]:
        caps = np.minimum(self._caps / asked.amount, 1.0)
        if isinstance(asked, Width):
            return self._attack_width(asked, caps * np.tile(x, 2), x)
        push = self.attacker.push(asked.own, asked.up, caps * np.tile(x, 2))
        self.num_attacks += 1
        if push is None:
            return []
        if push.moved is not None and push.share >= 1 - SHORT:
            moved = push.moved[self._own] * self._turn * asked.amount
            met[: len(moved)] |= moved >= self._least
        if push.share < 1 - self.params.deep and self._is_fine:
            sparse = self.attacker.push(
                asked.own, asked.up, caps * np.tile(np.minimum(x + self.params.aside, 1.0), 2)
            )
            self.num_attacks += 1
            rows = [] if sparse is None else self._rows_of(sparse.combinations, x)
            if rows:
                return rows
        rows = self._rows_of(push.combinations, x)
        return rows or self._attack_granting(asked, x)

    def _rows_of(self, combinations: Iterable[Int], x: Float) -> list[Row]:
        """What combinations say about all demands in them: rows that the point breaks."""
        needs = (
            (combination, need)
            for combination in combinations
            for own in self._owners[combination[self._owners] != 0].tolist()
            for need in self._needs_of[own]
        )
        return self._rows_against(x, (need_capacity(self.part, h, need) for h, need in needs))

    def _attack_granting(self, need: Need, x: Float) -> list[Row]:
        """Attack with cells hidden for the most part taken for granted, and the others for the rest only."""
        caps = np.minimum(self._caps / need.amount, 1.0)
        for share in self.params.granted:
            granted = np.tile(x >= share, 2)
            alone = self.attacker.push(need.own, need.up, np.where(granted, caps, 0.0))
            self.num_attacks += 1
            if alone is None or alone.share >= 1 - SHORT:
                return []
            rest = np.minimum(caps, 1.0 - alone.share) * np.tile(x, 2)
            push = self.attacker.push(need.own, need.up, np.where(granted, caps, rest))
            self.num_attacks += 1
            if push is None:
                return []
            rows = self._rows_of(push.combinations, x)
            if rows:
                return rows
        return []

    def _attack_width(self, width: Width, caps: Float, x: Float) -> list[Row]:
        own, n = width.own, self.part.num_cells
        sides: list[tuple[Int | None, ...]] = []
        total = 0.0
        for up in (True, False):
            room = caps[own + (0 if up else n)]
            wide = caps.copy()
            wide[[own, own + n]] = 1.0
            push = self.attacker.push(own, up, wide)
            self.num_attacks += 1
            if push is None:
                return []
            total += min(push.share, room)
            sides.append(push.combinations if push.share < room and push.combinations else (None,))
        if total >= 1 - SHORT:
            return []
        pairs = ((above, below) for above in sides[0] for below in sides[1])
        return self._rows_against(x, (width_capacity(self.part, *pair, width) for pair in pairs))

    def _rows_against(self, x: Float, capacities: Iterable[Capacity | None]) -> list[Row]:
        """The rows of new capacities that the point breaks by enough; all of them are kept."""
        rows = []
        for capacity in capacities:
            if capacity is not None and self.capacities.add(capacity):
                row = capacity.rounded_against(x)
                if row.violation(x) > self.params.deep:
                    rows.append(row)
        return rows

    # -- whole patterns ------------------------------------------------------------------------------------

    def judge(self, hidden: Bool, *, most: int = 4, stop: Stop = _never) -> Judgement:
        """Prove a pattern safe, or find about so many rows it breaks; unclear where it had to stop."""
        judgement, shown = Judgement(witnesses=list(self._from_start.witnesses)), self._shown.copy()
        for number in np.argsort(-self.urgency, kind="stable").tolist():
            asked = self.asked[number]
            if self._always[number] or shown.meets(asked):
                continue
            if stop():
                judgement.is_unclear = True
                break
            rows = self._prove(asked, hidden, judgement, shown)
            self.urgency[number] *= self.params.fading
            if rows:
                self.urgency[number] = 2.0
                judgement.rows += rows
                judgement.unmet.append(asked)
                if len(judgement.rows) >= most:
                    break
        if judgement.rows:
            judgement.rows += [further_cell(row, hidden) for row in judgement.rows]
            self.pool.add(judgement.rows)
        return judgement

    @property
    def is_large(self) -> bool:
        """Whether attacks would take too long: then single relations alone are looked at."""
        return self.part.num_cells > self.params.most_cells

    def farthest(self, own: int, up: bool, amount: int) -> int:
        """How far a cell moves if everything is hidden, in whole units, up to the amount."""
        everything = np.ones(self.part.num_cells, dtype=bool)
        push = self.lp.push(own, up, self._whole_caps(amount, everything, REACH))
        return 0 if push is None else math.floor(push.share * amount + ROUNDING)

    def _met_from_the_start(self, stop: Stop) -> Bool:
        """Which demands are met by what is hidden at the start: their witnesses hold in every pattern."""
        always = np.zeros(len(self.asked), dtype=bool)
        for number in np.argsort(-self.urgency, kind="stable").tolist():
            asked = self.asked[number]
            if self.is_large or stop():
                break
            if not self._shown.meets(asked):
                self._prove(asked, self.part.held, self._from_start, self._shown)
        for number, asked in enumerate(self.asked):
            always[number] = self._shown.meets(asked)
        return always

    def _prove(self, asked: Asked, hidden: Bool, judgement: Judgement, shown: _Shown) -> list[Row]:
        """Write down a witness; where there is none, the rows that say so."""
        if isinstance(asked, Width):
            return self._prove_width(asked, hidden, judgement, shown)
        if isinstance(self.attacker, FlowAttacker):
            rows = self._prove_by_flow(asked, hidden, judgement, shown)
            if rows or shown.meets(asked):
                return rows
        for reach in (REACH, np.inf):
            caps = self._whole_caps(asked.amount, hidden, reach)
            moved = self.lp.cheapest(asked.own, asked.up, caps)
            if moved is not None:
                self._take(moved * asked.amount, hidden, judgement, shown)
                break
            push = self.lp.push(asked.own, asked.up, caps)
            if push is not None:
                capacities = (need_capacity(self.part, h, asked) for h in push.combinations)
                rows = self._rows_broken_by(hidden, capacities)
                if rows:
                    return rows
        if not shown.meets(asked):
            judgement.is_unclear = True
        return []

    def _prove_by_flow(self, need: Need, hidden: Bool, judgement: Judgement, shown: _Shown) -> list[Row]:
        """The same by a maximum flow."""
        witness = self._flows_in(hidden).find(
            int(self.part.component.cells[need.own]), need.amount, up=need.up
        )
        if witness is not None:
            self._note(witness, judgement, shown)
            return []
        push = self.attacker.push(need.own, need.up, self._whole_caps(need.amount, hidden, 1.0))
        found = () if push is None else push.combinations
        return self._rows_broken_by(hidden, (need_capacity(self.part, h, need) for h in found))

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

    def _prove_width(self, width: Width, hidden: Bool, judgement: Judgement, shown: _Shown) -> list[Row]:
        caps = self._whole_caps(width.amount, hidden, REACH)
        sides: list[list[Int | None]] = []
        for up in (True, False):
            push = self.lp.push(width.own, up, caps)
            if push is None:
                judgement.is_unclear = True
                return []
            if push.moved is not None:
                self._take(push.moved * width.amount, hidden, judgement, shown)
            sides.append([*push.combinations, None])
        if shown.meets(width):
            return []
        pairs = ((above, below) for above in sides[0] for below in sides[1])
        rows = self._rows_broken_by(hidden, (width_capacity(self.part, *pair, width) for pair in pairs))
        judgement.is_unclear |= not rows
        return rows

    def _rows_broken_by(self, hidden: Bool, capacities: Iterable[Capacity | None]) -> list[Row]:
        rows = []
        for capacity in capacities:
            if capacity is not None and is_broken(capacity.row(), hidden):
                rows.append(capacity.row())
                self.capacities.add(capacity)
        return rows

    def _whole_caps(self, amount: int, hidden: Bool, reach: float) -> Float:
        return np.where(np.tile(hidden, 2), np.minimum(self._caps / amount, reach), 0.0)

    def _take(self, moved: Float, hidden: Bool, judgement: Judgement, shown: _Shown) -> None:
        """Make a deviation exact, and note it."""
        witness = self._exact(moved, hidden)
        if witness is not None:
            self._note(witness, judgement, shown)

    def _note(self, witness: Witness, judgement: Judgement, shown: _Shown) -> None:
        """Note a deviation and what it shows, each way."""
        own = np.searchsorted(self.part.component.cells, witness.cells)
        for turned in (witness, witness.reversed()):
            steps = movable_multiple(turned, self.room_down[own], self.room_up[own])
            steps = min(steps, LARGEST_NUMERATOR // int(np.abs(turned.numerators).max()))
            if steps:
                stretched = Witness(turned.cells, turned.numerators * steps, turned.denominator)
                judgement.witnesses.append(stretched)
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


def is_broken(row: Row, hidden: Bool) -> bool:
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
