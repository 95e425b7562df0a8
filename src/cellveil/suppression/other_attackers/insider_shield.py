"""The shield against insiders: contributors who know their own parts, alone or in coalitions.

For a primary cell that some insider gets at, two plans are made and the cheaper one is carried out:

* *together*: one deviation against everybody at once, within what nobody can rule out;
* *one by one*: a deviation against somebody without a part anywhere, then one for each insider in whose way
  the deviations so far stand, until nobody is left.

Coalitions are insiders like others (`cellveil.attackers.coalition_demands`); where they cannot be told apart,
only the first plan is known. A deviation that was found for one cell is tried for the next ones as well,
stretched to each insider's capacities: most cells need none of their own. Under the (p, q) rule the
same two plans are made for contributors whose totals over several cells are at risk: with x the parts of the
contributor, deviations y with |y_k − p·x_k| ≤ q·(X_k − x_k − own_k) on every hidden cell k.

Requires contributions in the table. Ensures nothing: what was reached, the audit says. Cost: a linear program
over all movable cells of the component for each open cell and direction, a few where insiders are in the way.

Reference: de Waal & Coutinho (2020) for the criterion; see `cellveil.attackers.own_parts`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.attackers.attacker import Attacker
from cellveil.attackers.families import Claims
from cellveil.attackers.insiders import Insiders, PriorPosteriorInsiders, Rooms, SelfKnowing
from cellveil.attackers.own_parts import EVERYBODY, NOBODY, OwnParts
from cellveil.attackers.prior_posterior import Totals
from cellveil.clock import Deadline
from cellveil.deviations.cubes import has_cubes
from cellveil.deviations.movement import NO_MOVE, Move, Movement
from cellveil.deviations.movement_program import Feasibility
from cellveil.deviations.witness import Witness, Witnesses
from cellveil.judge.auditing import attack_as_insiders
from cellveil.judge.insider import InsiderReport, Kind, insiders_of
from cellveil.judge.outsider import OutsiderReport
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.solvers import tolerances
from cellveil.suppression.other_attackers.family_search import FamilySearch, FamilySearchParams
from cellveil.suppression.other_attackers.shield import Shield
from cellveil.tables.cells import cell_numbers
from cellveil.tables.scaled import UNBOUNDED, unscale


class InsiderShield(Shield):
    """Protection against all contributors; see the head of the module.

    Attributes
    ----------
    is_cleaned
        Whether secondaries were exchanged already, outsiders' among them.
    """

    def __init__(
        self, problem: Problem, attacker: Attacker, params: FamilySearchParams | None = None
    ) -> None:
        super().__init__(problem)
        self.attacker = attacker
        parts = OwnParts.of(problem, attacker.level, needs_all=attacker.needs_all_parts)
        kind: Kind = "insider" if attacker.kind == "insider" else "pq"
        exempt = cell_numbers(problem.table, attacker.exempt)
        self.insiders = insiders_of(problem, kind, attacker.p, attacker.q, attacker.coalition, parts, exempt)
        self.hopeless: dict[int, float] = {}
        self._found: dict[int, list[Witness]] = {}
        self._claims: Claims | None = None
        self._all_found: Witnesses | None = None
        self._params, self.is_cleaned = params or FamilySearchParams(), False

    @property
    def goes_ahead(self) -> bool:
        """Whether families of witnesses are looked for before anybody judges: that is how to know best."""
        return self._claims is None and self._has_families

    @property
    def witnesses(self) -> Witnesses | None:
        """All deviations that were found, if families were looked for."""
        return self._all_found

    def claim(self, witnesses: Witnesses) -> None:
        """Name deviations before the judge, for all primaries that they move."""
        is_primary = np.zeros(self.known.table.num_cells, dtype=bool)
        is_primary[self.known.primaries] = True
        found = Claims.of_all(witnesses, is_primary, len(is_primary), self._params.most_claimed)
        self._claims = found if self._claims is None else Claims.joined([self._claims, found])
        before = self._all_found
        self._all_found = witnesses if before is None else Witnesses.joined([before, witnesses])

    @cached_property
    def _has_families(self) -> bool:
        """Whether the table is one for families of witnesses."""
        table = self.known.table
        is_known = isinstance(self.insiders, SelfKnowing) and self.insiders.families is not None
        return is_known and table.num_cells >= self._params.fewest_cells and has_cubes(table)

    @property
    def is_for_cuts(self) -> bool:
        """Whether it is single contributors who know their own parts."""
        return isinstance(self.insiders, SelfKnowing) and self.insiders.coalition == 1

    def attack(self, problem: Problem, pattern: Pattern, deadline: Deadline) -> InsiderReport:
        """Attack as every contributor."""
        return self._attack(pattern, deadline)

    def judge_part(self, hidden: Bool, cells: Int, deadline: Deadline) -> InsiderReport:
        """See `Shield.judge_part`."""
        return self._attack(Pattern.hiding(self.known, hidden, ""), deadline, cells)

    def _attack(self, pattern: Pattern, deadline: Deadline, only: Int | None = None) -> InsiderReport:
        return attack_as_insiders(
            self.known, pattern, self.attacker, only=only, claims=self._claims, time_limit=deadline.left
        )

    def judge_anew(self, hidden: Bool, deadline: Deadline) -> OutsiderReport | InsiderReport:
        """See `Shield.judge_anew`; what was safe in a pattern is safe in one that hides more."""
        last = self.last
        if last is None or self.attacker.kind == "pq" or (last.hidden & ~hidden).any():
            return super().judge_anew(hidden, deadline)
        report = last.report
        others = self.judge_part(hidden, report.unsafe_cells, deadline)
        assert isinstance(report, InsiderReport)
        return report.with_anew(others)

    def strengthen(self, hidden: Bool, moves: Movement) -> Bool:
        """See `Shield.strengthen`."""
        if self.goes_ahead:
            return self._with_families(hidden, moves)
        report, insiders, before = self.judge(hidden, moves.deadline), self.insiders, hidden
        assert isinstance(report, InsiderReport)
        asked = [
            (-amount, cell, up)
            for cell in report.exposed_cells.tolist()
            if cell not in self.hopeless
            for up, amount in insiders.demands(cell)
        ]
        for amount, cell, up in sorted(asked):
            if moves.deadline.is_over:
                return hidden
            question = _CellQuestion(insiders, moves, cell, up, -amount)
            hidden = self._answered(question, self._harvest(cell, up, hidden), hidden, moves)
        if isinstance(insiders, PriorPosteriorInsiders):
            hidden = self._protect_totals(Totals(insiders, before), report, hidden, moves)
        return hidden

    def _with_families(self, hidden: Bool, moves: Movement) -> Bool:
        """The pattern with what families of witnesses need; they are claimed before the judge."""
        assert isinstance(self.insiders, SelfKnowing)
        search = FamilySearch(self.insiders, hidden, moves.deadline, self._params)
        if self.claimed is not None:
            search.reuse(self.claimed)
        if self.proven is not None:
            search.pool.vouch(self.proven)
        search.run()
        self._claims, self.is_cleaned = search.claims, bool(search.pool.settled.all())
        self._all_found = search.pool.claims.witnesses
        return search.hidden

    def _protect_totals(self, judged: Totals, report: InsiderReport, hidden: Bool, moves: Movement) -> Bool:
        rule = judged.rule
        for (target, _, cells), verdict in zip(list(judged.targets()), report.totals, strict=True):
            if verdict.safe or moves.deadline.is_over:
                continue
            for up in (True,) if rule.is_symmetric else (True, False):
                question = _TotalQuestion(judged, moves, target, int(cells[0]), up)
                hidden = self._answered(question, [], hidden, moves)
        return hidden

    def _answered(self, question: _Question, known: list[Move], hidden: Bool, moves: Movement) -> Bool:
        """The pattern with what the cheaper plan hides."""
        plan = _cheaper_plan(question, known, hidden, moves)
        if plan.verdict is Feasibility.IMPOSSIBLE:
            if isinstance(question, _CellQuestion) and isinstance(self.insiders, SelfKnowing):
                share = question.share(plan.stuck)
                if self._exists(plan.stuck) and share < 1 - tolerances.EQUAL:
                    self.hopeless[question.cell] = share
            else:
                self.infeasible |= set(question.targets)
        for move in plan.moves:
            if move.witness is not None:
                for cell in move.witness.cells.tolist():
                    self._found.setdefault(cell, []).append(move.witness)
        return plan.hidden

    def _exists(self, attacker: int) -> bool:
        """Whether it is one of the contributors, not somebody who knows more than any of them.

        Only then it is proved that no pattern protects a cell against which the attacker has no deviation.
        """
        assert isinstance(self.insiders, SelfKnowing)
        if attacker == EVERYBODY or self.insiders.coalition > 1:
            return attacker != EVERYBODY and self.insiders.together is not None
        return attacker >= 0 or not self.insiders.parts.is_vague

    def _harvest(self, cell: int, up: bool, hidden: Bool) -> list[Move]:
        """Earlier deviations that move the cell, turned so that they move it this way."""
        found = []
        for witness in self._found.get(cell, [])[-self._params.most_tried :]:
            if hidden[witness.cells].all():
                rises = witness.numerators[np.searchsorted(witness.cells, cell)] > 0
                turned = witness if rises == up else witness.reversed()
                found.append(
                    Move(Feasibility.MET, turned.cells, turned.numerators / turned.denominator, turned)
                )
        return found


class _Question(ABC):
    """What must be possible against every insider: some movement that none of them can rule out."""

    targets: Sequence[int]
    is_joint: bool

    @abstractmethod
    def ask(self, attacker: int, hidden: Bool) -> Move:
        """The cheapest deviation against one of them, or EVERYBODY, or NOBODY."""

    @abstractmethod
    def left(self, found: Sequence[Move], hidden: Bool) -> list[int]:
        """The insiders whom no deviation keeps off, the closest first."""

    def is_settled(self, found: Sequence[Move], hidden: Bool) -> bool:
        """Whether the deviations keep everybody off."""
        return not self.left(found, hidden)


@dataclass
class _Plan:
    """A pattern in the making, and the deviations for which cells were hidden."""

    hidden: Bool
    verdict: Feasibility = Feasibility.MET
    moves: list[Move] = field(default_factory=list)
    stuck: int = EVERYBODY

    def add(self, move: Move, attacker: int) -> None:
        """Hide what the deviation against an attacker moves; where there is none, note against whom."""
        if move.verdict is Feasibility.MET:
            self.hidden[move.support] = True
            self.moves.append(move)
        else:
            self.verdict, self.stuck = move.verdict, attacker

    def cost(self, before: Bool, weight: Float) -> float:
        """Of what it hides beyond the pattern before."""
        return float(weight[self.hidden & ~before].sum())


def _cheaper_plan(question: _Question, known: list[Move], hidden: Bool, moves: Movement) -> _Plan:
    """Against everybody together or one by one, whichever hides less."""
    if known and question.is_settled(known, hidden):
        return _Plan(hidden)
    together, weight = _Plan(hidden.copy()), moves.weight
    together.add(question.ask(EVERYBODY, hidden), EVERYBODY)
    cost = together.cost(hidden, weight) if together.verdict is Feasibility.MET else np.inf
    if question.is_joint or cost == 0:
        return together
    single = _one_by_one(question, known, hidden, moves, cost)
    is_better = single.verdict is Feasibility.MET and single.cost(hidden, weight) < cost
    return single if is_better or together.verdict is not Feasibility.MET else together


def _one_by_one(
    question: _Question, known: list[Move], hidden: Bool, moves: Movement, enough: float
) -> _Plan:
    """One deviation against nobody in particular, then one for each insider whom it does not keep off.

    Ends where it gets as dear as `enough`.
    """
    plan, asked = _Plan(hidden.copy()), set()
    left = question.left(known, hidden) if known else [NOBODY]
    while left and plan.verdict is Feasibility.MET and not moves.deadline.is_over:
        asked.add(left[0])
        plan.add(question.ask(left[0], plan.hidden), left[0])
        if plan.cost(hidden, moves.weight) >= enough:
            break
        left = [who for who in question.left([*known, *plan.moves], plan.hidden) if who not in asked]
    return plan


class _CellQuestion(_Question):
    """Can the primary cell move so far?"""

    def __init__(self, insiders: Insiders, moves: Movement, cell: int, up: bool, amount: int) -> None:
        self.insiders, self.moves = insiders, moves
        self.cell, self.up, self.amount = cell, up, amount
        self.targets, self._together = (
            (cell,),
            insiders.together if isinstance(insiders, SelfKnowing) else None,
        )
        self.is_joint = insiders.coalition > 1 and self._together is None
        self._shown: dict[Witness, dict[int, Fraction]] = {}

    def ask(self, attacker: int, hidden: Bool) -> Move:
        is_one = attacker != EVERYBODY and (attacker != NOBODY or self._together is not None)
        amount = self.insiders.demand(self.cell, self.up, attacker) if is_one else self.amount
        rooms = self.insiders.rooms(attacker, self.cell)
        return self.moves.push(self.cell, amount, rooms, hidden, up=self.up)

    def share(self, attacker: int) -> float:
        """How much of the movement that is needed against the attacker is possible with everything hidden."""
        is_one = attacker != EVERYBODY and (attacker != NOBODY or self._together is not None)
        amount = self.insiders.demand(self.cell, self.up, attacker) if is_one else self.amount
        return self.moves.share(self.cell, amount, self.insiders.rooms(attacker, self.cell), self.up)

    def is_settled(self, found: Sequence[Move], hidden: Bool) -> bool:
        if not self.is_joint:
            return super().is_settled(found, hidden)
        rooms = self.insiders.rooms(EVERYBODY, self.cell)
        return any(self._is_far_enough(move, rooms) for move in found)

    def _is_far_enough(self, move: Move, rooms: Rooms) -> bool:
        """Whether the deviation, taken as often as fits into the rooms, moves the cell by the amount."""
        down, up = (unscale(room[move.cells], 0) for room in rooms)
        y = move.moved
        fits = np.concatenate([up[y > 0] / y[y > 0], down[y < 0] / -y[y < 0]]).min()
        return bool(abs(y[np.searchsorted(move.cells, self.cell)]) * fits >= self.amount)

    def left(self, found: Sequence[Move], hidden: Bool) -> list[int]:
        if self._together is not None:
            witnesses = [move.witness for move in found if move.witness is not None]
            return [int(who) for who in self._together.left_by(witnesses, self.cell, self.up)]
        shares = [self._shares(move.witness) for move in found if move.witness is not None]
        attackers = {who for share in shares for who in share}
        best = {who: max(share.get(who, share.get(NOBODY, 1)) for share in shares) for who in attackers}
        return sorted((who for who in attackers if best[who] < 1), key=lambda who: (best[who], who))

    def _shares(self, witness: Witness) -> dict[int, Fraction]:
        if witness not in self._shown:
            self._shown[witness] = self.insiders.shown(witness, self.cell, self.up)
        return self._shown[witness]


class _TotalQuestion(_Question):
    """Can all parts that a contributor has in the component rise by p at once, or, turned round, fall?"""

    def __init__(self, totals: Totals, moves: Movement, target: int, cell: int, up: bool) -> None:
        component = moves.component(cell)
        assert component is not None
        rule = totals.rule
        self.rule, self.moves, self.totals, self.target = rule, moves, totals, target
        self.cell, self.cells = cell, component.cells
        self.part = totals.listed(target)[self.cells]
        below, above = (gap[self.cells] for gap in rule.bounds)
        self.below, self.above = (below, above) if up else (above, below)
        self.targets, self.is_joint = self.cells[self.part > 0].tolist(), rule.coalition > 1

    def ask(self, attacker: int, hidden: Bool) -> Move:
        lower, upper = self._limits(attacker, hidden)
        if (lower > upper).any():
            return NO_MOVE
        amount = max(int(np.abs(lower[lower > 0]).max(initial=1.0)), int(-upper.min(initial=0.0)), 1)
        return self.moves.within(self.cell, lower, upper, amount, hidden)

    def left(self, found: Sequence[Move], hidden: Bool) -> list[int]:
        parts, left = self.rule.parts, None
        for move in found:
            touched = self.cells[(move.moved != 0) | (hidden[self.cells] & (self.part > 0))]
            listed = {who for cell in touched.tolist() for who in parts.in_cell(cell)} - {self.target}
            stopped = {who for who in listed if not self._fits(move, who, hidden)}
            left = stopped if left is None else left & stopped
        return sorted(left or ())

    def _fits(self, move: Move, attacker: int, hidden: Bool) -> bool:
        lower, upper = self._limits(attacker, hidden)
        slack = tolerances.EXCEEDED * (1 + np.abs(move.moved))
        return bool(((lower - slack <= move.moved) & (move.moved <= upper + slack)).all())

    def _limits(self, attacker: int, hidden: Bool) -> tuple[Float, Float]:
        """Between what each cell must move; what is published may rest."""
        rule, parts = self.rule, self.rule.parts
        if attacker == EVERYBODY:
            own = self.totals.besides(self.target, self.cells)
        else:
            own = parts.known_to(attacker)[self.cells]
        shift, doubt = self.totals.shifts(self.target, self.cells)
        others = np.maximum(parts.total[self.cells] - self.part - own, 0) * int(rule.q * rule.scale) - doubt
        lower = np.maximum(shift - others, -self.below)
        upper = np.where(self.above == UNBOUNDED, shift + others, np.minimum(shift + others, self.above))
        published = ~hidden[self.cells]
        lower = np.where(published, np.minimum(lower, 0), lower)
        upper = np.where(published, np.maximum(upper, 0), upper)
        return unscale(lower, 0), unscale(upper, 0)
