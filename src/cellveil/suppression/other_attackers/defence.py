"""Protection against several attackers: a pattern for the outsider, and what the others make necessary.

`suppress` finds a pattern against the outsider: the one who knows most beforehand, if several are named. Then
each attacker in turn judges the pattern; where one gets through, its shield hides what the cheapest deviation
moves that keeps it off; and so on, until everybody is kept off or nothing is left to hide. Hiding more never
helps an attacker against a single cell, so few rounds are needed. In the end secondaries are published again,
the dearest first, where all attackers are still kept off. If single contributors are the only ones besides
outsiders, and the table is not too large, branch and cut with the cuts of both looks for less
(`insider_search`), where insiders had to be paid for.

Requires for insiders the contributions in the table. Ensures nothing by itself: the joint audit of the result
is part of it, and decides. What no pattern protects is named, with the attacker. Does not ensure the least
cost: where insiders make a difference, it is a heuristic.

Cost: per round one audit for each attacker that is not kept off yet, and one linear program over the cells
that hang together for each open cell (see the shields); the clean-up is bounded by
`trials` and `trial_work` of `DefenceParams`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.attackers.attacker import OUTSIDERS, Attacker
from cellveil.attackers.default_attackers import remedy_for_contributors
from cellveil.attackers.insiders import SelfKnowing
from cellveil.clock import Deadline
from cellveil.deviations.movement import Movement
from cellveil.deviations.witness import Witnesses
from cellveil.errors import name_some
from cellveil.judge import Verdict
from cellveil.judge.insider import InsiderReport
from cellveil.judge.outsider import OutsiderReport
from cellveil.params import Params, param, part
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.suppression.draft import MethodEnding
from cellveil.suppression.engines.equal_cost import preferred_weights
from cellveil.suppression.other_attackers.family_search import FamilySearchParams
from cellveil.suppression.other_attackers.insider_search import cheaper_pattern
from cellveil.suppression.other_attackers.insider_shield import InsiderShield
from cellveil.suppression.other_attackers.outsider_shield import OutsiderShield, WholeShield, with_prior
from cellveil.suppression.other_attackers.shield import Judged, Shield


@dataclass(frozen=True, kw_only=True)
class DefenceParams(Params):
    """Parameters of protection against further attackers."""

    rounds: int = param(8, "Rounds after which all that hangs together with an open cell is hidden.", least=1)
    trials: int = param(60, "Secondaries that are tried for publication in the end.", least=0)
    trial_work: int = param(
        1_000_000, "Linear programs times hidden cells that these trials may take.", least=0
    )
    exact_cells: int = param(300, "Cells up to which branch and cut is tried against insiders.", least=0)
    exact_seconds: float = param(10.0, "Seconds that it may take at most.", least=0)
    endless_cells: int = param(60, "The same where there is no time limit.", least=0)
    families: FamilySearchParams = part(FamilySearchParams)


class Defence:
    """Protects a problem against all of these attackers, and the outsider.

    Parameters
    ----------
    attackers
        Whom to keep off besides the outsider.
    if_time
        Those of them that are tested only as far as there is time.

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
        params: DefenceParams | None = None,
        if_time: Sequence[Attacker] = (),
    ) -> None:
        self.problem, self._progress = problem, progress or Progress()
        self._params = params or DefenceParams()
        self._attackers, self._seed = tuple(attackers), seed
        families = self._params.families
        self._shields = [_shield(problem, one, seed, families, one in if_time) for one in attackers]
        self._outsider = OutsiderShield(problem, seed=seed)
        priors = [attacker.prior for attacker in attackers if attacker.prior is not None]
        self.basis = problem.known_within(min(priors, default=None))
        self.basis_name = with_prior("outsider", min(priors)) if priors else ""
        self.num_lps = 0
        self._claims: Witnesses | None = None
        self.reason = MethodEnding.COMPLETE
        self._hurried = np.zeros(problem.table.num_cells, dtype=bool)
        self._deadline = Deadline(None)

    def strengthened(self, hidden: Bool, deadline: Deadline, claims: Witnesses | None = None) -> Bool:
        """A pattern against all attackers, made from one against the outsider.

        Stops where some cells proved infeasible (see `infeasible`), and when time is up. What was found open
        by then is hidden with all that hangs together with it, and judged as far as overtime goes; what was
        not judged by then is not safe.
        """
        moves = Movement.of(self.problem, deadline, weight=preferred_weights(self.problem))
        self._deadline = overtime = deadline.overtime()
        self._claims = claims
        self._believe(claims)
        self._progress.stage("other attackers")
        start = hidden
        for number in range(self._params.rounds):
            before = hidden
            for shield in self._everybody:
                goes_ahead = shield.goes_ahead
                is_open = goes_ahead or not shield.accepts(shield.judge(hidden, deadline))
                if is_open and not deadline.is_over:
                    shield.proven = self._outsider.proven
                    hidden = shield.strengthen(hidden, moves)
                    if goes_ahead:
                        self._believe(self.witnesses)
            self._progress.advance(number + 1, None, **self._figures(hidden))
            if self._is_infeasible or np.array_equal(before, hidden) or deadline.is_over:
                break
        self.num_lps += moves.num_lps
        if self._is_infeasible:
            return hidden
        if not self._is_safe(hidden, overtime) and len(self._unsafe(hidden, overtime)):
            self.reason = MethodEnding.SURROUNDINGS_HIDDEN if deadline.is_over else MethodEnding.NOT_KEPT_OFF
            hidden = self._hidden_whole(hidden, moves, deadline)
        if not self._is_safe(hidden, overtime):
            return hidden
        return self._cheaper(self._thinned(hidden, start, deadline), start, deadline)

    @property
    def witnesses(self) -> Witnesses | None:
        """Deviations that were found for the pattern, by the method or here."""
        found = [shield.witnesses for shield in self._shields if isinstance(shield, InsiderShield)]
        known = [each for each in (self._claims, self._outsider.proven, *found) if each is not None]
        return Witnesses.joined(known) if known else None

    def _believe(self, claims: Witnesses | None) -> None:
        for shield in self._everybody:
            shield.believe(claims)

    def _cheaper(self, hidden: Bool, start: Bool, deadline: Deadline) -> Bool:
        """The pattern, or a cheaper one by branch and cut, if insiders alone made more necessary."""
        insiders = [shield for shield in self._shields if isinstance(shield, InsiderShield)]
        others = [shield for shield in self._shields if not isinstance(shield, InsiderShield | WholeShield)]
        shield = insiders[0] if len(insiders) == 1 and not others else None
        most = self._params.endless_cells if deadline.limit is None else self._params.exact_cells
        is_small = self.problem.table.num_cells <= most
        is_dearer = self._cost(hidden) > self._cost(start)
        if not (isinstance(shield, InsiderShield) and shield.is_for_cuts and is_small and is_dearer):
            return hidden
        assert isinstance(shield.insiders, SelfKnowing)
        self._progress.stage("branch and cut against insiders")
        until = deadline.share(1.0, self._params.exact_seconds)
        found, witnesses = cheaper_pattern(shield.insiders, hidden, until, seed=self._seed)
        if self._cost(found) >= self._cost(hidden):
            return hidden
        before = [each.last for each in self._everybody]
        shield.claim(witnesses)
        self._believe(self.witnesses)
        if self._is_safe(found, self._deadline):
            return found
        self._recall(before)
        return hidden

    def _cost(self, hidden: Bool) -> float:
        return float(self.problem.weight[hidden & ~self.problem.hidden_at_start].sum())

    def hurried(self, hidden: Bool) -> Bool:
        """Those of the cells that are hidden only because time ran out."""
        hurried = self._hurried.copy()
        for shield in self._everybody:
            hurried |= shield.hurried
        return hurried & hidden

    def _hidden_whole(self, hidden: Bool, moves: Movement, deadline: Deadline) -> Bool:
        """The last resort: all that hangs together with what is open, where that can be shown to be safe."""
        before = [shield.last for shield in self._everybody]
        whole = hidden | moves.neighbours(self._unsafe(hidden, self._deadline))
        if deadline.is_over and not self._is_safe(whole, self._deadline):
            self._recall(before)
            self.reason = MethodEnding.TIME_LIMIT
            return hidden
        if deadline.is_over:
            self._hurried = whole & ~hidden
        return whole

    def _recall(self, verdicts: Sequence[Judged | None]) -> None:
        """Go back to earlier verdicts: those on the pattern that is kept."""
        for shield, last in zip(self._everybody, verdicts, strict=True):
            shield.last = last

    def infeasible(self, hidden: Bool) -> tuple[Int, str] | None:
        """Cells that no pattern protects, and against whom, by the name in its verdict on the pattern."""
        for shield in self._everybody:
            if shield.infeasible:
                return np.array(sorted(shield.infeasible)), shield.judge(hidden, self._deadline).attacker
        return None

    def outsiders(self, pattern: Pattern) -> OutsiderReport | None:
        """The verdict on outsiders, if they were shown to be kept off by this very pattern on the way."""
        last = self._outsider.last
        if last is None or not np.array_equal(last.hidden, pattern.hidden) or not last.report.is_safe:
            return None
        assert isinstance(last.report, OutsiderReport)
        return last.report

    def verdicts(self, pattern: Pattern) -> list[Verdict]:
        """The verdicts on all attackers named, outsiders of the standard criterion aside.

        On insiders as far as the time for the search allows; the audit against outsiders takes the time it
        needs, as in every suppression.
        """
        pairs = zip(self._attackers, self._shields, strict=True)
        return [
            Verdict.of(
                attacker,
                shield.known,
                pattern,
                self._at_last(shield, pattern.hidden),
            )
            for attacker, shield in pairs
            if not attacker.is_plain_outsider and not self._is_left_out(shield, pattern.hidden)
        ]

    def _is_left_out(self, shield: Shield, hidden: Bool) -> bool:
        """Whether the time was not enough to test an attacker that is tested only if there is time."""
        report = self._at_last(shield, hidden)
        return not report.is_safe and shield.accepts(report)

    def _at_last(self, shield: Shield, hidden: Bool) -> OutsiderReport | InsiderReport:
        """The final verdict: on outsiders without a limit, on others as far as the time goes."""
        takes_time = isinstance(shield, OutsiderShield) and not shield.if_time
        return shield.judge(hidden, Deadline(None) if takes_time else self._deadline)

    @property
    def _everybody(self) -> list[Shield]:
        return [self._outsider, *self._shields]

    @property
    def _is_infeasible(self) -> bool:
        return any(shield.infeasible for shield in self._everybody)

    def _is_safe(self, hidden: Bool, deadline: Deadline) -> bool:
        return all(shield.accepts(shield.judge(hidden, deadline)) for shield in self._everybody)

    def _unsafe(self, hidden: Bool, deadline: Deadline) -> Int:
        """Cells that somebody gets at; all primary ones where only totals are open."""
        reports = [(shield, shield.judge(hidden, deadline)) for shield in self._everybody]
        unsafe = [report.exposed_cells for shield, report in reports if not shield.accepts(report)]
        cells = np.unique(np.concatenate(unsafe or [self.problem.primaries[:0]]))
        if not len(cells):
            return self.problem.primaries
        return np.setdiff1d(cells, np.fromiter(self.hopeless, np.int64, len(self.hopeless)))

    @property
    def hopeless(self) -> dict[int, float]:
        """Cells that no pattern protects from some insider, and which share of the movement needed it can."""
        insiders = [shield for shield in self._shields if isinstance(shield, InsiderShield)]
        return {cell: share for shield in insiders for cell, share in shield.hopeless.items()}

    def told_hopeless(self) -> str:
        """The same in words; empty where there are none."""
        if not self.hopeless:
            return ""
        cells = sorted(self.hopeless)
        names = self.problem.table.cell_names(cells)
        shares = [
            f"{name} ({self.hopeless[cell]:.0%} of it)" for cell, name in zip(cells, names, strict=True)
        ]
        missing = remedy_for_contributors(self.problem)
        first = f"{missing[:1].upper()}{missing[1:]}. " if missing else ""
        return (
            "whatever is hidden, bounds and cells that must be published leave some contributor closer to "
            "the others than the rule allows; of the movement needed can be reached: "
            f"{name_some(shares)}. {first}Free such cells, or exempt these from this attacker"
        )

    def _figures(self, hidden: Bool) -> dict[str, float]:
        """What to tell of a pattern on the way."""
        cost = float(self.problem.weight[hidden & ~self.problem.hidden_at_start].sum())
        return {"cost": cost, "published": 1 - float(hidden.mean())}

    def _thinned(self, hidden: Bool, start: Bool, deadline: Deadline) -> Bool:
        """Without secondaries that can be published again: those added last first, the dearest first."""
        secondary = np.flatnonzero(hidden & ~self.problem.hidden_at_start)
        weight = preferred_weights(self.problem)
        order = secondary[np.lexsort((secondary, -weight[secondary], start[secondary]))]
        self._progress.stage("clean up")
        insiders = [shield for shield in self._shields if isinstance(shield, InsiderShield)]
        if len(insiders) == len(self._shields) and all(shield.is_cleaned for shield in insiders):
            return hidden
        judges, work = self._everybody, 0
        for done, cell in enumerate(order[: self._params.trials].tolist()):
            if work > self._params.trial_work or deadline.is_over:
                break
            trial, before = hidden.copy(), [judge.last for judge in self._everybody]
            trial[cell] = False
            objector, num_lps = _first_to_object(judges, trial, self._primaries_near(cell), deadline)
            work += num_lps * int(hidden.sum())
            if objector is None:
                hidden = trial
            else:  # who objects is asked first the next time
                self._recall(before)
                judges = [objector, *(judge for judge in judges if judge is not objector)]
            self._progress.advance(done + 1, min(len(order), self._params.trials), **self._figures(hidden))
        return hidden

    def _primaries_near(self, cell: int) -> Int:
        """Primary cells that stand in a relation with the cell: the first to be laid open by it."""
        relations = self.problem.table.relations
        rows = np.unique(relations.row_of_entry[relations.cells == cell])
        return np.intersect1d(relations.take_rows(rows).cells, self.problem.primaries)


def _shield(
    problem: Problem, attacker: Attacker, seed: int, families: FamilySearchParams, if_time: bool
) -> Shield:
    if attacker.kind not in OUTSIDERS:
        return InsiderShield(problem, attacker, families)
    if attacker.kind == "integer":
        return WholeShield(problem, attacker.prior, seed=seed, if_time=if_time)
    return OutsiderShield(problem, attacker.prior, seed=seed)


def _first_to_object(
    judges: Sequence[Shield], hidden: Bool, near: Int, deadline: Deadline
) -> tuple[Shield | None, int]:
    """Somebody who gets at one of the primary cells near, or else at any; and the programs spent on it."""
    spent = 0
    for is_whole in (False, True) if len(near) else (True,):
        for judge in judges:
            report = judge.judge(hidden, deadline) if is_whole else judge.judge_part(hidden, near, deadline)
            spent += 1 + report.num_lps
            if not judge.accepts(report):
                return judge, spent
    return None, spent
