"""Totals: what a contributor has in several cells together, as the target of the (p, q) insider.

Each cell may be protected by itself while a sum of hidden cells follows from the table, and with it what one
contributor has in them together. So the rule is put to contributors: attacker s must not know to within p
what contributor h has in any sum of its hidden cells, nor in any combination of cells that follows from the
table. With x_k and own_k the parts of h and s in cell k, that is met exactly if there is

    y with  M y = 0,  y = 0 on published cells,  lb ≤ a + y ≤ ub,
            |y_k − p·x_k| ≤ q·(X_k − x_k − own_k)  on each hidden cell k:

another table in which everything that h contributes is larger by p at once (sign included: a negative part
falls), and the parts of all others are
off by q at most. Every sum of parts of h is then off by p; proof and converse are in docs/guarantees.md.
One linear program for a contributor and an attacker: the largest θ for which all parts of h can rise by θ·p.

Tables keep absolute parts. The sign of one follows where it is more than all parts of the other sign in the
cell together; where it does not follow, both signs are asked for at once: |y_k| ≤ q·(…) − p·x_k.

The cells of h are those in which it is listed. Not asked of a contributor that is listed in a single finest
hidden cell: there it is the demand on that cell. Hidden cells that do not hang together move independently,
so each connected component is asked by itself. Where bounds make a difference between up and down, both are
asked. Deviations are exact, as everywhere; what is not shown counts as not safe. Cost: at most one linear
program per contributor and attacker, as a rule one per contributor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.attackers.insiders import PriorPosteriorInsiders
from cellveil.attackers.own_parts import EVERYBODY, NOBODY
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.deviations.components import Component, split
from cellveil.deviations.exact_rounding import lift
from cellveil.deviations.witness import Witness
from cellveil.solvers import tolerances
from cellveil.solvers.lp import LiveLP
from cellveil.solvers.tolerances import REACH
from cellveil.tables.scaled import unscale

STILL = Witness(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), 1)
"""Nothing moves."""


@dataclass(frozen=True)
class TotalVerdict:
    """Whether a contributor's totals over hidden cells that hang together are protected.

    Parameters
    ----------
    contributor
        Whose; internal, like all ids.
    cells
        The finest hidden cells in which it is listed.
    safe
        Whether every sum of its parts was shown protected against everybody else.
    closest
        Who is not kept off, or comes closest.
    reach
        How far all its parts can rise at once against that attacker, as a share of what is needed; 1 where
        more was not asked.
    """

    contributor: str
    cells: tuple[int, ...]
    safe: bool
    closest: str
    reach: float


class Totals:
    """The contributors that stand in several hidden cells, and the question put to each of them."""

    def __init__(self, rule: PriorPosteriorInsiders, hidden: Bool, deadline: Deadline = NO_LIMIT) -> None:
        self.rule, self.parts = rule, rule.parts
        self.component_of, self._components = split(rule.problem.table.relations, hidden)
        self.deadline = deadline
        self.num_lps = 0
        self.unclear = 0

    def targets(self) -> Iterator[tuple[int, int, Int]]:
        """Contributors at risk: with the number of the component, and their finest cells there."""
        parts = self.parts
        for target in sorted(self._candidates()):
            cells, _ = parts.places[target]
            cells = cells[(self.component_of[cells] >= 0) & ~parts.is_sum[cells]]
            for number in np.unique(self.component_of[cells]).tolist():
                here = np.sort(cells[self.component_of[cells] == number])
                if len(here) > 1 and self._is_at_risk(target, here):
                    yield target, number, here

    def judge(self, target: int, number: int, cells: Int) -> TotalVerdict:
        """Put the question against every attacker; stops at the first that is not kept off."""
        closest, reach, safe = "", 1.0, True
        for up in (True,) if self.rule.is_symmetric else (True, False):
            question = _SumQuestion(self, target, self._components[number], up)
            who, how_far, is_kept_off = self._closest(question)
            if not is_kept_off or how_far < reach:
                closest, reach, safe = who, how_far, is_kept_off
            if not safe:
                break
        return TotalVerdict(self.parts.name(target), tuple(cells.tolist()), safe, closest, reach)

    def _closest(self, question: _SumQuestion) -> tuple[str, float, bool]:
        """Who comes closest, how far all parts can rise against it, and whether everybody is kept off."""
        everybody = question.ask(EVERYBODY)
        if everybody.witness is not None:
            return "", everybody.reach, True
        if self.rule.coalition > 1:
            return f"a coalition of {self.rule.coalition}", everybody.reach, False
        nobody = question.ask(NOBODY)
        if nobody.witness is None:
            return "everybody", nobody.reach, False
        left = question.stopped_by(nobody.witness)
        closest, reach = "", 1.0
        while left:
            attacker = min(left)
            found = question.ask(attacker)
            if not closest or found.reach < reach:
                closest, reach = self.parts.name(attacker), found.reach
            if found.witness is None:
                return closest, reach, False
            left = (left & question.stopped_by(found.witness)) - {attacker}
        return closest, reach, True

    def _candidates(self) -> set[int]:
        """Whoever is among the largest of a hidden cell, one more than attack together: others are safe."""
        leading = self.parts.who[self.component_of >= 0, : self.rule.coalition + 1]
        return set(leading[leading >= 0].tolist())

    def _is_at_risk(self, target: int, cells: Int) -> bool:
        """Whether in some cell p of its part is more than q of what the next attacker does not know."""
        rule, own = self.rule, self.besides(target, cells)
        x = self.listed(target)[cells]
        others = np.maximum(self.parts.total[cells] - x - own, 0)
        return bool((x * int(rule.p * rule.scale) > others * int(rule.q * rule.scale)).any())

    def listed(self, target: int) -> Int:
        """The parts of the target where it is listed, 0 elsewhere."""
        part = np.zeros_like(self.parts.total)
        cells, amounts = self.parts.places[target]
        part[cells] = amounts
        return part

    def shifts(self, target: int, cells: Int) -> tuple[Int, Int]:
        """How far each cell rises when the parts of the target grow by p; and how far it may, sign open."""
        parts, values = self.parts, self.rule.problem.table.values[cells]
        part, total = self.listed(target)[cells], parts.total[cells]
        is_positive, is_negative = 2 * part > total - values, 2 * part > total + values
        amount = part * int(self.rule.p * self.rule.scale)
        shift = np.where(is_positive, amount, np.where(is_negative, -amount, 0))
        return shift, np.where(is_positive | is_negative, 0, amount)

    def besides(self, target: int, cells: Int) -> Int:
        """The most that the members of a coalition without the target can have made of each cell."""
        parts, members = self.parts, self.rule.coalition
        amounts = np.where(parts.who[cells] == target, 0, parts.amount[cells])
        largest = -np.sort(-amounts, axis=1)[:, :members]
        is_short = np.maximum(members - (parts.who[cells] != target).sum(axis=1), 0)
        return np.asarray(largest.sum(axis=1) + is_short * parts.unlisted[cells])


@dataclass(frozen=True)
class _Answer:
    """How far all parts rise at once (a solver's figure), and the exact deviation if that is far enough."""

    reach: float
    witness: Witness | None = None


class _SumQuestion:
    """Can all parts of one contributor in one component rise by p at once, or, turned round, fall?"""

    def __init__(self, totals: Totals, target: int, component: Component, up: bool) -> None:
        self.totals, self.rule, self.parts = totals, totals.rule, totals.parts
        self.target, self.component = target, component
        cells = component.cells
        self.part = totals.listed(target)[cells]
        self.shift, self.doubt = totals.shifts(target, cells)
        self.mine = np.flatnonzero(self.shift)
        below, above = (gap[cells] for gap in self.rule.bounds)
        self.below, self.above = (below, above) if up else (above, below)
        self._lp = self._opened()

    def ask(self, attacker: int) -> _Answer:
        """The answer against one attacker."""
        lower, upper = self._limits(attacker)
        if (lower > upper).any():
            return _Answer(0.0)
        if ((lower <= 0) & (upper >= 0)).all():
            return _Answer(1.0, STILL)
        moved, reach = self._solve(attacker, REACH)
        if moved is not None and reach < 1 - tolerances.EQUAL:
            moved, reach = self._solve(attacker, np.inf)
        if moved is None or reach < 1 - tolerances.EQUAL:
            return _Answer(reach)
        witness = lift(self.component, moved, np.maximum(-lower, 0), np.maximum(upper, 0))
        if witness is None or not _reaches(witness, self.component.cells, lower, upper):
            self.totals.unclear += 1
            return _Answer(reach)
        return _Answer(reach, witness)

    def stopped_by(self, witness: Witness) -> set[int]:
        """The attackers against whom the witness does not settle the question."""
        cells = self.component.cells
        moved = dict(zip(witness.cells.tolist(), witness.numerators.tolist(), strict=True))
        places = np.union1d(np.flatnonzero(self.part), np.searchsorted(cells, witness.cells)).tolist()
        stopped = set()
        for place in places:
            cell = int(cells[place])
            step = Fraction(moved.get(cell, 0), witness.denominator) - int(self.shift[place])
            rest = int(self.parts.total[cell]) - int(self.part[place])
            for who, own in self.parts.in_cell(cell).items():
                allowed = max(rest - own, 0) * int(self.rule.q * self.rule.scale) - int(self.doubt[place])
                if who != self.target and abs(step) > allowed:
                    stopped.add(who)
        return stopped

    def _own(self, attacker: int) -> Int:
        if attacker == EVERYBODY:
            return self.totals.besides(self.target, self.component.cells)
        return self.parts.known_to(attacker)[self.component.cells]

    def _others(self, attacker: int) -> Int:
        """The share q of what neither target nor attacker contributes to each cell, less the doubt."""
        rest = self.parts.total[self.component.cells] - self.part - self._own(attacker)
        return np.asarray(np.maximum(rest, 0) * int(self.rule.q * self.rule.scale) - self.doubt)

    def _limits(self, attacker: int) -> tuple[Int, Int]:
        """Between what the movement of each cell must lie when all parts rise by p."""
        others = self._others(attacker)
        return np.maximum(self.shift - others, -self.below), np.minimum(self.shift + others, self.above)

    def _opened(self) -> LiveLP:
        """The linear program, bounds still to be set.

        Columns: the movement of each cell, the others' share of it in the cells of the target, and θ. Rows:
        the relations; and movement = θ · shift + the others' share.
        """
        from scipy.sparse import bmat, csc_matrix, identity

        n, m = len(self.component.cells), len(self.mine)
        self._unit = float(np.abs(self.shift).max(initial=1))
        pick = identity(n, format="csc")[self.mine]
        theta = csc_matrix(-self.shift[self.mine, None] / self._unit)
        matrix = bmat([[self.component.matrix, None, None], [pick, -identity(m), theta]], format="csc")
        zeros = np.zeros(n + m + 1)
        return LiveLP(matrix, np.zeros(matrix.shape[0]), zeros, zeros)

    def _solve(self, attacker: int, cut: float) -> tuple[Float | None, float]:
        """The movement at the largest θ up to 1, and θ; no movement where the solver gave no answer."""
        if self.totals.deadline.is_over:
            self.totals.unclear += 1
            return None, 0.0
        n, mine = len(self.component.cells), self.mine
        others, below, above = (
            np.minimum(unscale(gap, 0) / self._unit, cut)
            for gap in (self._others(attacker), self.below, self.above)
        )
        lower, upper = -np.minimum(below, others), np.minimum(above, others)
        lower[mine], upper[mine] = -below[mine], above[mine]
        self._lp.set_bounds(
            np.concatenate([lower, -others[mine], [0.0]]), np.concatenate([upper, others[mine], [1.0]])
        )
        self._lp.set_costs(np.concatenate([np.zeros(n + len(mine)), [-1.0]]))
        answer = self._lp.solve(self.totals.deadline, fresh=True)
        self.totals.num_lps += 1
        if answer.point is None:
            self.totals.unclear += 1
            return None, 0.0
        return answer.point[:n] * self._unit, float(answer.point[-1])


def _reaches(witness: Witness, cells: Int, lower: Int, upper: Int) -> bool:
    """Whether each cell moves as far up or down as it must, exactly."""
    rises, falls = lower > 0, upper < 0
    needs = rises | falls
    least, asked = np.where(rises, lower, -upper)[needs], cells[needs]
    sign = np.where(rises, 1, -1)[needs]
    place = np.searchsorted(witness.cells, asked)
    found = place < len(witness.cells)
    found[found] = witness.cells[place[found]] == asked[found]
    if not found.all():
        return False
    numerators = witness.numerators[place] * sign
    return all(
        int(numerator) >= int(needed) * witness.denominator
        for numerator, needed in zip(numerators.tolist(), least.tolist(), strict=True)
    )
