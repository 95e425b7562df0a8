"""Shields against outsiders: with prior knowledge of the values, or who know that they are whole numbers."""

from __future__ import annotations

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.clock import Deadline
from cellveil.deviations.demand import Demands
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.movement import Movement
from cellveil.deviations.movement_program import Feasibility
from cellveil.deviations.witness import Witnesses
from cellveil.judge.attack_report import AttackReport
from cellveil.judge.insider import InsiderReport
from cellveil.judge.outsider import OutsiderReport, audit_outsider
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.suppression.draft import Draft
from cellveil.suppression.engines.meet_demands import protect_in_turn
from cellveil.suppression.other_attackers.family_pool import far_enough
from cellveil.suppression.other_attackers.shield import Shield


class OutsiderShield(Shield):
    """Protection against an outsider, by programs in turn where an audit finds a fault."""

    whole = False
    if_time = False

    def __init__(
        self,
        problem: Problem,
        prior: float | None = None,
        *,
        seed: int = 0,
        claims: Witnesses | None = None,
    ) -> None:
        super().__init__(problem.known_within(prior))
        self._prior, self._seed = prior, seed
        self.claimed = claims

    def believe(self, claims: Witnesses | None) -> None:
        """See `Shield.believe`; of many deviations those that meet demands as they stand."""
        super().believe(None if claims is None else meeting_levels(self.known, claims))

    def attack(self, problem: Problem, pattern: Pattern, deadline: Deadline) -> OutsiderReport:
        """Attack; what the method or an earlier attack showed need not be shown again."""
        report = audit_outsider(
            problem, pattern, exact=False, whole=self.whole, claims=self.claimed, deadline=deadline
        )
        if report.is_safe and problem is self.known:
            self.claimed = self.proven = Witnesses.proven_by(report.certificate)
        return report.named(with_prior(report.attacker, self._prior))

    def strengthen(self, hidden: Bool, moves: Movement) -> Bool:
        """See `Shield.strengthen`."""
        unsafe = self.judge(hidden, moves.deadline).unsafe_cells
        if moves.deadline.is_over:
            return hidden
        draft = mended(self.known, hidden, unsafe, moves.deadline, seed=self._seed)
        if draft.hurried is not None:
            self.hurried |= draft.hurried & ~hidden
        return draft.hidden


class WholeShield(OutsiderShield):
    """Protection against an outsider who knows that values are whole: what moves by whole units is hidden.

    A linear program is solved for each open demand, and an integer program where its vertex is not whole:
    first among the cells that are hidden or move, then among all.

    Parameters
    ----------
    if_time
        Whether the attacker is tested only as far as there is time.
    """

    whole = True

    def __init__(
        self, problem: Problem, prior: float | None = None, *, seed: int = 0, if_time: bool = False
    ) -> None:
        super().__init__(problem, prior, seed=seed)
        self.if_time = if_time

    def accepts(self, report: OutsiderReport | InsiderReport) -> bool:
        """See `Shield.accepts`; what is tested only if there is time may be left undecided."""
        return report.is_safe or (self.if_time and is_undecided(report))

    def strengthen(self, hidden: Bool, moves: Movement) -> Bool:
        """See `Shield.strengthen`."""
        hidden, known = hidden.copy(), self.known
        ledger = Ledger(known)
        rooms = ledger.room_down, ledger.room_up
        for demand in Demands(known).of(self.judge(hidden, moves.deadline).unsafe_cells):
            if moves.deadline.is_over:
                break
            move = moves.push(demand.cell, demand.amount, rooms, hidden, up=demand.up, whole=True)
            if move.verdict is Feasibility.IMPOSSIBLE and known.spl[demand.cell] == 0:
                self.infeasible.add(demand.cell)
            hidden[move.support] = True
        return hidden


def is_undecided(report: AttackReport) -> bool:
    """Whether a cell was not shown safe only because the attack gave no clear answer in time."""
    assert isinstance(report, OutsiderReport)
    return len(report.undecided) > 0 and not len(np.setdiff1d(report.unsafe_cells, report.undecided))


def meeting_levels(problem: Problem, witnesses: Witnesses) -> Witnesses:
    """Those of many deviations that meet the levels as they stand, the shortest for each.

    All of them where levels slide: then several may be needed together.
    """
    if problem.spl.any():
        return witnesses
    ledger = Ledger(problem)
    asked = [np.flatnonzero(need) for need in (ledger.need_up, ledger.need_down)]
    cells, up = np.concatenate(asked), np.repeat([True, False], [len(some) for some in asked])
    levels = np.concatenate([ledger.need_up[asked[0]], ledger.need_down[asked[1]]])
    found = far_enough(witnesses, (ledger.room_down, ledger.room_up), cells, up, levels)
    return witnesses.take(np.unique(found[found >= 0]))


def with_prior(name: str, prior: float | None) -> str:
    """The attacker in words."""
    return name if prior is None else f"{name} (prior {prior:g} %)"


def mended(
    problem: Problem,
    hidden: Bool,
    unsafe: Int,
    deadline: Deadline,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> Draft:
    """Protect rejected cells anew, to a hair more than asked, starting from the pattern."""
    short = np.zeros(problem.table.num_cells, dtype=bool)
    short[unsafe] = True

    def raised(level: Int, room: Float) -> Int:
        more = level + np.maximum(level >> 20, 1)
        return np.where((level > 0) & (more <= room), more, level)

    start = problem.replace(status=Pattern.hiding(problem, hidden, "").status).only(
        short, lpl=raised(problem.lpl, problem.down), upl=raised(problem.upl, problem.up)
    )
    draft = protect_in_turn(start, deadline, seed=seed, progress=progress)
    draft.hidden = draft.hidden | hidden
    return draft
