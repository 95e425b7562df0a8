"""Protection against several attackers: a pattern for the outsider, and what the others make necessary.

`suppress` finds a pattern against the outsider: the one who knows most beforehand, if several are named. Then
each attacker in turn judges the pattern; where one gets through, its shield hides what the cheapest deviation
moves that keeps it off; and so on, until everybody is kept off or nothing is left to hide. Hiding more never
helps an attacker against a single cell, so few rounds are needed. In the end secondaries are published again,
the dearest first, where all attackers are still kept off.

Requires for insiders the contributions in the table. Ensures nothing by itself: the joint audit of the result
is part of it, and decides. What no pattern protects is named, with the attacker. Does not ensure the least
cost: where insiders make a difference, it is a heuristic.

Cost: per round one audit for each attacker that is not kept off yet, and one linear program over the cells
that hang together for each open cell (see the shields); the clean-up is bounded by `TRIALS` and `TRIAL_WORK`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cellveil.attack.knowledge import OUTSIDERS
from cellveil.attack.witness import Witnesses
from cellveil.joint_audit import Attacker, JointAudit
from cellveil.problem import Problem
from cellveil.progress import Deadline, Progress
from cellveil.suppression.insider_shield import InsiderShield
from cellveil.suppression.outsider_shield import OutsiderShield, WholeShield, with_prior
from cellveil.suppression.shield import Bool, Moves, Shield
from cellveil.tables.keys import Int

ROUNDS = 8
"""After so many rounds everything that hangs together with an open cell is hidden."""

TRIALS = 60
"""So many secondaries are tried for publication in the end."""

TRIAL_WORK = 1_000_000
"""And no more than so many linear programs times hidden cells are spent on it."""


class Defence:
    """Protects a problem against all of these attackers, and the outsider.

    Parameters
    ----------
    attackers
        Whom to keep off besides the outsider.

    Raises
    ------
    InputError
        When an attacker lacks a parameter, or the table the contributions that it needs.
    """

    def __init__(
        self,
        problem: Problem,
        attackers: Sequence[Attacker],
        *,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> None:
        self.problem, self._progress = problem, progress or Progress()
        self._shields = [_shield(problem, attacker, seed) for attacker in attackers]
        self._outsider = OutsiderShield(problem, seed=seed)
        priors = [attacker.prior for attacker in attackers if attacker.prior is not None]
        self.basis = problem.known_within(min(priors)) if priors else problem
        self.basis_name = with_prior("outsider", min(priors)) if priors else ""
        self.num_lps = 0
        self.reason = "complete"

    def strengthened(self, hidden: Bool, time_limit: float | None, claims: Witnesses | None = None) -> Bool:
        """A pattern against all attackers, made from one against the outsider.

        Stops where some cells proved infeasible: see `infeasible`.
        """
        deadline = Deadline(time_limit)
        moves = Moves(self.problem, deadline)
        self._outsider = OutsiderShield(self.problem, claims=claims)
        self._progress.stage("other attackers")
        start = hidden
        for number in range(ROUNDS):
            before = hidden
            for shield in self._everybody:
                if not shield.judge(hidden).is_safe and not deadline.is_over:
                    hidden = shield.strengthen(hidden, moves)
            self._progress.advance(number + 1, None, hidden=int(hidden.sum()))
            if self._is_infeasible or np.array_equal(before, hidden):
                break
        self.num_lps += moves.num_lps
        if self._is_infeasible:
            return hidden
        if not self._is_safe(hidden):
            self.reason = _cut_short(deadline)
            hidden = hidden | moves.neighbours(self._unsafe(hidden))
        return self._thinned(hidden, start, deadline) if self._is_safe(hidden) else hidden

    def infeasible(self, hidden: Bool) -> tuple[Int, str] | None:
        """Cells that no pattern protects, and against whom, by the name in its verdict on the pattern."""
        for shield in self._everybody:
            if shield.infeasible:
                return np.array(sorted(shield.infeasible)), shield.judge(hidden).attacker
        return None

    def judge(self, hidden: Bool) -> JointAudit:
        """The verdict of all attackers named."""
        reports = tuple(shield.judge(hidden) for shield in self._shields)
        return JointAudit(tuple(shield.known for shield in self._shields), reports)

    @property
    def _everybody(self) -> list[Shield]:
        return [self._outsider, *self._shields]

    @property
    def _is_infeasible(self) -> bool:
        return any(shield.infeasible for shield in self._everybody)

    def _is_safe(self, hidden: Bool) -> bool:
        return all(shield.judge(hidden).is_safe for shield in self._everybody)

    def _unsafe(self, hidden: Bool) -> Int:
        """Cells not shown protected against somebody; all primary ones where only totals are open."""
        unsafe = [shield.judge(hidden).unsafe_cells for shield in self._everybody]
        cells = np.unique(np.concatenate(unsafe))
        return cells if len(cells) else self.problem.primaries

    def _thinned(self, hidden: Bool, start: Bool, deadline: Deadline) -> Bool:
        """Without secondaries that can be published again: those added last first, the dearest first."""
        secondary = np.flatnonzero(hidden & ~self.problem.hidden_at_start)
        order = secondary[np.lexsort((secondary, -self.problem.weight[secondary], start[secondary]))]
        self._progress.stage("clean up")
        judges, work = self._everybody, 0
        for done, cell in enumerate(order[:TRIALS].tolist()):
            if work > TRIAL_WORK or deadline.is_over:
                break
            trial = hidden.copy()
            trial[cell] = False
            objector, num_lps = _first_to_object(judges, trial, self._primaries_near(cell))
            work += num_lps * int(hidden.sum())
            if objector is None:
                hidden = trial
            else:  # who objects is asked first the next time
                judges = [objector, *(judge for judge in judges if judge is not objector)]
            self._progress.advance(done + 1, min(len(order), TRIALS), hidden=int(hidden.sum()))
        return hidden

    def _primaries_near(self, cell: int) -> Int:
        """Primary cells that stand in a relation with the cell: the first to be laid open by it."""
        relations = self.problem.table.relations
        rows = np.unique(relations.row_of_entry[relations.cells == cell])
        return np.intersect1d(relations.take_rows(rows).cells, self.problem.primaries)


def _shield(problem: Problem, attacker: Attacker, seed: int) -> Shield:
    if attacker.kind not in OUTSIDERS:
        return InsiderShield(problem, attacker)
    kind = WholeShield if attacker.kind == "integer" else OutsiderShield
    return kind(problem, attacker.prior, seed=seed)


def _first_to_object(judges: Sequence[Shield], hidden: Bool, near: Int) -> tuple[Shield | None, int]:
    """Somebody who gets at one of the primary cells near, or else at any; and the programs spent on it."""
    spent = 0
    for is_whole in (False, True) if len(near) else (True,):
        for judge in judges:
            report = judge.judge(hidden) if is_whole else judge.judge_part(hidden, near)
            spent += 1 + report.num_lps
            if not report.is_safe:
                return judge, spent
    return None, spent


def _cut_short(deadline: Deadline) -> str:
    why = "time limit" if deadline.is_over else "some attackers were not kept off otherwise"
    return f"{why}: more than needed was hidden around what was open"
