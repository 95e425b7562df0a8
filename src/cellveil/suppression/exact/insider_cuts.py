"""Capacity (Benders) cuts against insiders: each contributor bounds a cell by rooms of its own.

A pair (demand, insider s) is one more demand, under the rooms of s and for the amount that s must be kept
from (`attackers.own_demands`). A combination of relations gives a capacity cut for it as for an outsider's
demand (`exact.capacity_cuts`), with the capacities of s. Pairs are too many to be asked all. A whole pattern
is judged by the deviations known so far that it allows (`attackers.families`); where somebody is left, by a
program for that pair, which gives a deviation or a violated cut. Pairs that gave a cut are attacked under
fractional points, too.

Pairs that are broken even with everything hidden cannot be met: they are left out, and are for the judge.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cellveil.arrays import Bool, Float
from cellveil.attackers.families import Claims, Families
from cellveil.attackers.insiders import SelfKnowing
from cellveil.attackers.own_parts import NOBODY
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.deviations.movement import Movement
from cellveil.deviations.witness import Witness, Witnesses
from cellveil.problem import Problem
from cellveil.solvers.cutting_planes import Row
from cellveil.solvers.tolerances import REACH
from cellveil.suppression.exact.capacity_cuts import Capacity, need_capacity
from cellveil.suppression.exact.parts import Need, Part
from cellveil.suppression.exact.safety_oracle import SafetyCheck, further_cell
from cellveil.suppression.exact.separation import Separation, SeparationParams
from cellveil.tables.scaled import unscale

Pair = tuple[int, int]


class InsiderSeparation(Separation):
    """Separation for one part with its insiders; see the head of the module.

    Attributes
    ----------
    hopeless
        Pairs of demand and insider that no pattern meets.
    """

    def __init__(
        self,
        problem: Problem,
        part: Part,
        insiders: SelfKnowing,
        deadline: Deadline = NO_LIMIT,
        params: SeparationParams | None = None,
    ) -> None:
        self.hopeless: set[Pair] = set()
        self._insiders, self._families = insiders, Families(insiders.own)
        cells, up = self._families.open_demands()
        mine = np.isin(cells, part.component.cells)
        self._cells, self._up = cells[mine], up[mine]
        self._witnesses: list[Witness] = []
        self._names: list[int] = []
        self._pairs: dict[Pair, float] = {}
        self._parts: dict[Pair, Part] = {}
        super().__init__(problem, part, deadline, params)
        self._is_primary = np.zeros(problem.table.num_cells, dtype=bool)
        self._is_primary[self._cells] = True

    def judge(self, hidden: Bool, *, most: int = 4, deadline: Deadline = NO_LIMIT) -> SafetyCheck:
        """See `SafetyOracle.judge`; first outsiders, then every insider."""
        check = super().judge(hidden, most=most, deadline=deadline)
        if check.is_safe and len(self._cells):
            self._judge_pairs(check, hidden, most, deadline)
        if check.rows:
            check.rows += [further_cell(row, hidden) for row in check.rows]
            self.pool.add(check.rows)
        return check

    def violated_cuts(self, x: Float, *, most: int, attacks: int, deadline: Deadline = NO_LIMIT) -> list[Row]:
        """See `Separation.violated_cuts`; pairs that gave a cut before are attacked, too."""
        found = super().violated_cuts(x, most=most, attacks=attacks, deadline=deadline)
        for pair in sorted(self._pairs, key=lambda pair: -self._pairs[pair]):
            if len(found) >= most or attacks <= 0 or deadline.is_over:
                break
            self._pairs[pair] *= self.params.fading
            attacks -= 1
            rows = self.pool.add(self._rows_against(x, self._capacities_of(pair, x, (1.0,))))
            if rows:
                self._pairs[pair] = 1.0 + max(row.violation(x) for row in rows)
            found += rows
        return found

    # -- whole patterns ------------------------------------------------------------------------------------

    def _judge_pairs(self, check: SafetyCheck, hidden: Bool, most: int, deadline: Deadline) -> None:
        """Add a deviation for every insider, or rows where there is none."""
        whole = np.zeros(self.relations.num_cells, dtype=bool)
        whole[self.part.component.cells[hidden]] = True
        claims = self._claims_in(whole, Witnesses.of(check.witnesses))
        left = self._families.left(claims, self._cells, self._up)
        movement = Movement(self.relations, whole, deadline=deadline)
        for demand in np.flatnonzero(~left.settled).tolist():
            if deadline.is_over:
                check.is_unclear = True
                return
            mine = (claims.cells == self._cells[demand]) & (claims.up == self._up[demand])
            self._judge_demand(demand, claims.take(mine), movement, check, hidden)
            if len(check.rows) >= most:
                return
        check.witnesses += [witness for witness in self._witnesses if whole[witness.cells].all()]

    def _claims_in(self, whole: Bool, further: Witnesses) -> Claims:
        """The deviations known so far that move hidden cells only, and others for all cells they move."""
        kept = [number for number, one in enumerate(self._witnesses) if whole[one.cells].all()]
        named = np.array([self._names[number] for number in kept], dtype=np.int64)
        known = Claims(
            Witnesses.of([self._witnesses[number] for number in kept]),
            self._cells[named], self._up[named], np.arange(len(kept)),
        )  # fmt: skip
        both = [known, *(Claims.of_all(each, self._is_primary, each.starts[-1], len(each))
                         for each in (known.witnesses, further) if len(each))]  # fmt: skip
        return Claims.joined(both)

    def _judge_demand(
        self, demand: int, claims: Claims, movement: Movement, check: SafetyCheck, hidden: Bool
    ) -> None:
        """A deviation against everybody from whom one demand is not kept, or rows."""
        cell, up, insiders = int(self._cells[demand]), bool(self._up[demand]), self._insiders
        asked: set[int] = set()
        while True:
            left = self._families.left(claims, self._cells[[demand]], self._up[[demand]])
            _, named = left.pairs(insiders.parts.who)
            everybody = [NOBODY] if left.is_open[0] else named.tolist()
            who = next((w for w in everybody if w not in asked and (demand, w) not in self.hopeless), None)
            if who is None:
                return
            asked.add(who)
            amount = insiders.demand(cell, up, who)
            witness = movement.find(cell, amount, insiders.rooms(who, cell), up=up)
            if witness is None:
                self._refuse((demand, who), check, hidden)
                continue
            self._witnesses.append(witness)
            self._names.append(demand)
            claims = Claims.joined([
                claims, Claims(Witnesses.of([witness]), np.array([cell]), np.array([up]), np.array([0]))
            ])  # fmt: skip

    def _refuse(self, pair: Pair, check: SafetyCheck, hidden: Bool) -> None:
        """Rows that a pattern breaks for a pair."""
        rows = self._cuts_violated_by(hidden, self._capacities_of(pair, hidden.astype(np.float64)))
        if not rows:
            check.is_unclear = True
        elif any(not len(further_cell(row, hidden).columns) for row in rows):
            self.hopeless.add(pair)
        else:
            self._pairs[pair] = 2.0
            check.rows += rows

    # -- the programs of a pair ----------------------------------------------------------------------------

    def _capacities_of(
        self, pair: Pair, x: Float, reaches: tuple[float, ...] = (1.0, REACH, np.inf)
    ) -> Iterator[Capacity | None]:
        """What combinations say that bound a pair under shares x; cells move by so many amounts at most."""
        need, part = self._need(pair), self._part_of(pair)
        rooms, shares = np.concatenate([part.up, part.down]) / need.amount, np.tile(x, 2)
        for reach in reaches:
            attacker = self.attacker if reach == 1.0 else self.lp
            caps = np.where(shares > 0, np.minimum(rooms, reach), 0.0)
            push = attacker.push(need.own, need.up, caps * np.where(shares > 0, shares, 1.0))
            self.num_attacks += 1
            if push is not None and push.combinations:
                yield from (need_capacity(part, h, need) for h in push.combinations)

    def _need(self, pair: Pair) -> Need:
        demand, who = pair
        cell, up = int(self._cells[demand]), bool(self._up[demand])
        own = int(np.searchsorted(self.part.component.cells, cell))
        return Need(own, up, self._insiders.demand(cell, up, who))

    def _part_of(self, pair: Pair) -> Part:
        """The part with the capacities of an insider."""
        if pair not in self._parts:
            cells = self.part.component.cells
            down, up = self._insiders.rooms(pair[1], int(self._cells[pair[0]]))
            self._parts[pair] = Part(
                self.part.component, unscale(up[cells], 0), unscale(down[cells], 0), self.part.weight,
                self.part.held, (), (),
            )  # fmt: skip
        return self._parts[pair]
