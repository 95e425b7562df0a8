"""`audit`: attack what would be published as every attacker named, and judge it. One object, one verdict.

Requires a problem, and a pattern or an adjusted table of it. Ensures: `Audit.objections` is empty only if
every primary cell is hidden and was shown protected against every attacker that was asked, where outsiders
are among them and the exact verifier accepts the certificates (or the verdict says why it rests on the audit
alone); or, for an adjusted table, if it keeps everything asked and no sensitive cell could be pinned down. No
answer, an unclear one, or no time left speaks against publishing. The verdict says in words against whom it
holds, and who was not asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.attackers.attacker import Attacker, as_attackers, in_words
from cellveil.attackers.default_attackers import attackers_in_words, attackers_tested, untested_in_words
from cellveil.attackers.unlisted_parts import AllParts
from cellveil.certificate import Certificate, Verification
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.deviations.witness import Witnesses
from cellveil.errors import InputError, counted, name_some
from cellveil.judge.adjusted import AdjustedAudit, audit_adjusted
from cellveil.judge.adjusted_attack import AdjustedAttackParams
from cellveil.judge.attack_report import AttackReport, Ending
from cellveil.judge.audited_thing import AdjustedTable, audited_thing
from cellveil.judge.beside import Beside
from cellveil.judge.cell_judge import OutsiderParams
from cellveil.judge.explanations import ExplanationParams, explanations
from cellveil.judge.insider import InsiderReport, audit_insiders
from cellveil.judge.insider_certificate import joint_certificate
from cellveil.judge.outsider import OutsiderReport, audit_outsider
from cellveil.judge.verdict import NAMED, Verdict
from cellveil.live_progress import shown_progress
from cellveil.params import Params, part
from cellveil.pattern import Pattern
from cellveil.problem import Problem, check_problem
from cellveil.progress import Progress
from cellveil.public_view import PublicView
from cellveil.shown import Shown
from cellveil.tables.link import LinkedTable

OUTSIDER = Attacker()

ADJUSTED = "outsiders who know the method, the levels and the limits"
"""Against whom the verdict on an adjusted table holds."""


@dataclass(frozen=True, kw_only=True)
class AuditParams(Params):
    """Tuning numbers of `audit`."""

    outsider: OutsiderParams = part(OutsiderParams)
    explanations: ExplanationParams = part(ExplanationParams)
    adjusted: AdjustedAttackParams = part(AdjustedAttackParams)


@dataclass(frozen=True, repr=False, eq=False)
class Audit(Shown):
    """The verdict on one view, against all attackers that were asked. Made by `audit`.

    Parameters
    ----------
    problem
        What has to be protected.
    view
        What would be published: the verdict holds for this and nothing else.
    verdicts
        What each attack came to; none for an adjusted table.
    pattern
        The pattern of the view; None for an adjusted table.
    adjusted
        The judgement of an adjusted table; None for a pattern.
    explanations
        For cells not shown safe, by number: how they can be worked out, in words without values.
    together
        The verdict on the view beside former releases; None where there are none.
    """

    problem: Problem
    view: PublicView
    verdicts: tuple[Verdict, ...] = ()
    pattern: Pattern | None = None
    adjusted: AdjustedAudit | None = None
    explanations: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    together: Beside | None = None

    @classmethod
    def of(
        cls,
        problem: Problem,
        pattern: Pattern,
        verdicts: Sequence[Verdict],
        params: ExplanationParams | None = None,
    ) -> Audit:
        """Bring the verdicts on a pattern together, and explain what is not safe."""
        view = PublicView.of(problem, pattern)
        found = cls(problem, view, tuple(verdicts), pattern)
        open_to_outsiders = [v.unsafe_cells for v in verdicts if v.attacker.is_plain_outsider]
        told = explanations(
            problem, view, np.concatenate(open_to_outsiders or [problem.primaries[:0]]), params
        )
        return replace(found, explanations=told)

    @cached_property
    def findings(self) -> tuple[str, ...]:
        """What the attacks found, in words; empty exactly where everybody who was asked is kept off."""
        return (*self._findings_alone, *(() if self.together is None else self.together.findings))

    @property
    def _findings_alone(self) -> tuple[str, ...]:
        """What the attacks on the view alone found."""
        if self.adjusted is not None:
            pinned = int(self.adjusted.pinned.sum())
            told = [f"{pinned} sensitive cells could be pinned down"] if pinned else []
            return (*self.adjusted.faults, *told)
        found = [] if self.verdicts else ["nobody was asked"]
        bare = self.problem.primaries[~self.view.hidden[self.problem.primaries]]
        if len(bare):
            names = name_some(self.problem.table.cell_names(bare), NAMED)
            found.append(f"{len(bare)} primary cells are not hidden: {names}")
        for verdict in self.verdicts:
            found += verdict.objections(self.view)
        return tuple(found)

    @property
    def objections(self) -> tuple[str, ...]:
        """What speaks against publishing the view, in words; a release needs that nothing does."""
        if self.adjusted is None and self.outsider is None:
            return (*self.findings, "the audit did not ask what outsiders can work out")
        return self.findings

    @property
    def is_safe(self) -> bool:
        """Whether everybody who was asked is kept off."""
        return not self.findings

    @property
    def attackers(self) -> tuple[Attacker, ...]:
        """Who was asked."""
        return tuple(verdict.attacker for verdict in self.verdicts)

    @property
    def against(self) -> str:
        """Against whom the verdict holds, in words."""
        who = ADJUSTED if self.adjusted is not None else attackers_in_words(self.problem, self.attackers)
        assumed = f", assuming that {self.problem.assumption}" if self.problem.assumption else ""
        if self.together is None:
            return f"{who}{assumed}"
        there = self.together.against.partition(", assuming")[0]
        fewer = "" if there == who else f" (there {there} only)"
        beside = self.together.beside
        return f"{who}{beside}{fewer if beside else ''}{assumed}"

    @property
    def not_asked(self) -> str:
        """Whom it says nothing about, in words."""
        if self.adjusted is not None:
            return "contributors who know their own part, alone or together"
        found, table = [untested_in_words(self.problem, self.attackers)], self.problem.table
        if self.together is not None:
            found += filter(None, [self.together.not_tested])
        elif isinstance(table, LinkedTable):
            found += [note.rstrip(".") for note in table.notes]
        return "; ".join(found)

    @property
    def verdict(self) -> str:
        """The result in one sentence."""
        if not self.is_safe:
            return f"NOT SAFE: {'; '.join(self.findings)}"
        number, reason = len(self.problem.primaries), self.problem.bounds_reason
        safe = f"Safe against {self.against}"
        if self.problem.assumption and reason:
            safe += f" (reason: {reason})"
        if not number:
            return f"{safe}: the table has no primary cells"
        if self.adjusted is not None:
            moved = counted(number, "sensitive cell was moved", "sensitive cells were moved")
            own = "its" if number == 1 else "their"
            return f"{safe}: {moved} beyond {own} levels"
        cells = "the one primary cell" if number == 1 else f"every one of the {number:,} primary cells"
        return f"{safe}: {cells} was shown to be protected by the audit{self._unproven}"

    @property
    def _unproven(self) -> str:
        """Who is kept off by the audit alone, and why no certificate says so."""
        told = [f"{v.attacker.words}: {v.uncertified}" for v in self.verdicts if v.uncertified]
        return f" (audited, without certificate, against {'; '.join(told)})" if told else ""

    @property
    def cells(self) -> Int:
        """Numbers of the primary cells."""
        return self.problem.primaries

    @cached_property
    def unsafe_cells(self) -> Int:
        """Numbers of the cells not shown safe against everybody who was asked."""
        if self.adjusted is not None:
            return self.adjusted.sensitive[self.adjusted.pinned]
        bare = self.cells[~self.view.hidden[self.cells]]
        return np.unique(np.concatenate([bare, *(verdict.unsafe_cells for verdict in self.verdicts)]))

    @property
    def safe(self) -> Bool:
        """Per primary cell: whether it was shown safe against everybody who was asked."""
        return ~np.isin(self.cells, self.unsafe_cells)

    @property
    def _standard(self) -> Verdict | None:
        return next((verdict for verdict in self.verdicts if verdict.attacker.is_plain_outsider), None)

    @property
    def outsider(self) -> OutsiderReport | None:
        """The judgement by the standard criterion, with the intervals; None where it was not asked for."""
        standard = self._standard
        return standard.report if standard and isinstance(standard.report, OutsiderReport) else None

    @cached_property
    def certificate(self) -> Certificate:
        """The proof against outsiders, and everybody else who was asked and is proven to be kept off.

        Raises
        ------
        InputError
            Where outsiders were not asked.
        """
        if self.outsider is None:
            raise InputError("this audit has no certificate", remedy="Audit a pattern against outsiders.")
        others = [verdict for verdict in self.verdicts if verdict is not self._standard and verdict.is_proven]
        if not others:
            return self.outsider.certificate
        proofs = [(OUTSIDER, self.outsider.certificate)]
        proofs += [
            (verdict.attacker, verdict.certificate) for verdict in others if verdict.certificate is not None
        ]
        return joint_certificate(self.problem, self.view.hidden, proofs)

    @property
    def verification(self) -> Verification | None:
        """The exact check of the certificate."""
        return self._standard.verification if self._standard else None

    @property
    def reason(self) -> str:
        """Why the attacks ended: "complete", or what cut them short."""
        reasons = dict.fromkeys(verdict.report.reason for verdict in self.verdicts)
        if len(reasons) > 1:
            reasons.pop(Ending.COMPLETE, None)
        return "; ".join(reasons) or Ending.COMPLETE

    @property
    def num_lps(self) -> int:
        """Linear programs solved."""
        return sum(verdict.report.num_lps for verdict in self.verdicts)

    @property
    def seconds(self) -> float:
        """Seconds of all attacks."""
        return sum(verdict.report.seconds for verdict in self.verdicts)

    def with_exact_intervals(self, progress: Progress | None = None) -> Audit:
        """The same audit, the outsider's intervals computed to their ends."""
        standard = self._standard
        if standard is None or self.pattern is None:
            return self
        assert self.outsider is not None
        claims = Witnesses.proven_by(self.outsider.certificate)
        report = audit_outsider(self.problem, self.pattern, exact=True, claims=claims, progress=progress)
        sharper = Verdict.of(standard.attacker, standard.known, self.pattern, report)
        verdicts = [sharper if verdict is standard else verdict for verdict in self.verdicts]
        return replace(Audit.of(self.problem, self.pattern, verdicts), together=self.together)

    def without_unused(self, deadline: Deadline = NO_LIMIT) -> Audit:
        """The audit of the pattern without the secondaries that no deviation of the proofs moves.

        A deviation that leaves a cell at rest proves the same where that cell is published. A suppressed cell
        whose feasibility interval is a point is such a cell: everybody computes it, and it protects nothing.
        The smaller pattern is audited as the first one was; where it is less well shown, the audit stays.
        """
        if self.pattern is None or not self.is_safe:
            return self
        used = self.problem.hidden_at_start.copy()
        for verdict in self.verdicts:
            used[verdict.deviations.cells] = True
        if not (self.pattern.hidden & ~used).any():
            return self
        smaller = Pattern.hiding(self.problem, self.pattern.hidden & used, self.pattern.method)
        verdicts = [
            _attacked(verdict.attacker, self.problem, smaller, verdict.report, deadline)
            for verdict in self.verdicts
        ]
        found = Audit.of(self.problem, smaller, verdicts)
        is_as_proven = all(
            after.is_proven or not before.is_proven
            for before, after in zip(self.verdicts, verdicts, strict=True)
        )
        return found if found.is_safe and is_as_proven else self

    def __repr__(self) -> str:
        if self.is_safe:
            return f"Audit(safe against {self.against}, {counted(len(self.cells), 'primary cell')})"
        cells = counted(len(self.unsafe_cells), "cell")
        return f"Audit(NOT SAFE: {cells} not shown protected, against {self.against})"


def audit(
    problem: Problem,
    published: Any,
    *,
    attackers: Any = None,
    exact: bool = True,
    workers: int = 1,
    time_limit: float | None = None,
    claims: Witnesses | None = None,
    everything: AllParts | None = None,
    limits: Mapping[str, float | None] | None = None,
    params: AuditParams | None = None,
    progress: Progress | bool | None = None,
) -> Audit:
    """Attack what would be published as each attacker, and judge it.

    Parameters
    ----------
    published
        A suppression or its pattern; an adjustment; or the values of an adjusted table, one scaled integer
        per cell.
    attackers
        Everybody whose attack is tried: `Attacker` objects, or their names. A release needs the outsider
        among them. By default outsiders, and those that `suppress` tests by default.
    exact
        Compute every interval an outsider is left with to its ends. Otherwise stop at each cell as soon as
        enough is shown, which needs far fewer linear programs and gives the same verdict.
    workers
        Processes to use. Neither verdict nor exact intervals depend on it.
    time_limit
        Seconds for all attacks; what is not shown by then is not safe.
    claims
        Deviations somebody says there are, such as the method that made the pattern. Each is checked exactly
        before it counts, so they save work and cannot mislead.
    everything
        A list of all contributions: what insiders beyond the largest of a cell know.
    limits
        With the values of an adjusted table: per cent that ``interior`` cells, ``marginals`` and the
        ``total`` were allowed to move.
    params
        Tuning numbers. No verdict rests on them, but what is not shown in time is not safe.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> problem = two_way([[20, 50, 10], [8, 19, 22]], primaries={(0, 0): 3})
    >>> audit(problem, Pattern.hiding(problem, problem.hidden_at_start, "primaries only"))
    Audit(NOT SAFE: 1 cell not shown protected, against outsiders)
    >>> pattern = Pattern.hiding(problem, problem.table.values < 51, "all but the larger totals")
    >>> found = audit(problem, pattern, attackers=[Attacker(), Attacker(prior=50)])
    >>> found.verdict[:70]
    'Safe against outsiders and outsiders who know every value to within 50'
    """
    if isinstance(progress, bool):
        given = {"attackers": attackers, "exact": exact, "workers": workers, "time_limit": time_limit}
        given |= {"claims": claims, "everything": everything, "limits": limits, "params": params}
        with shown_progress(progress) as observer:
            return audit(problem, published, **given, progress=observer)
    check_problem(problem)
    params, published = params or AuditParams(), audited_thing(published)
    if attackers is None:
        further = attackers_tested(problem).attackers if isinstance(published, Pattern) else ()
        attackers = (OUTSIDER, *further)
    attackers = as_attackers(attackers)
    if not isinstance(published, Pattern):
        return _audit_adjusted(problem, published, attackers, limits, Deadline(time_limit), params.adjusted)
    if not attackers:
        raise InputError("no attacker is named", remedy="Name at least the outsider: Attacker().")
    deadline, verdicts = Deadline(time_limit), []
    for attacker in attackers:
        if attacker.is_outsider:
            options: dict[str, Any] = {
                "exact": exact,
                "claims": claims,
                "params": replace(params.outsider, workers=workers),
            }
            known, report = attack_as_outsider(
                problem, published, attacker, deadline=deadline, progress=progress, **options
            )
            verdicts.append(Verdict.of(attacker, known, published, report))
        else:
            options = {"everything": everything, "time_limit": deadline.left, "progress": progress}
            insiders = attack_as_insiders(problem, published, attacker, **options)
            verdicts.append(Verdict.of(attacker, problem, published, insiders))
    return Audit.of(problem, published, verdicts, params.explanations)


def _attacked(
    attacker: Attacker, problem: Problem, pattern: Pattern, before: AttackReport, deadline: Deadline
) -> Verdict:
    """The verdict on a pattern that hides less, helped by the deviations of the verdict before."""
    if isinstance(before, InsiderReport):
        report = attack_as_insiders(
            problem, pattern, attacker, claims=before.claims, time_limit=deadline.left
        )
        return Verdict.of(attacker, problem, pattern, report)
    assert before.certificate is not None
    claims = Witnesses.proven_by(before.certificate)
    known, found = attack_as_outsider(
        problem, pattern, attacker, exact=False, claims=claims, deadline=deadline
    )
    return Verdict.of(attacker, known, pattern, found)


def attack_as_outsider(
    problem: Problem, pattern: Pattern, attacker: Attacker, **options: Any
) -> tuple[Problem, OutsiderReport]:
    """The problem as this outsider knows it, and the judgement of its attack."""
    known = problem.known_within(attacker.prior)
    report = audit_outsider(known, pattern, whole=attacker.kind == "integer", **options)
    if attacker.prior is not None:
        report = report.named(f"{report.attacker} (prior {attacker.prior:g} %)")
    return known, report


def attack_as_insiders(
    problem: Problem, pattern: Pattern, attacker: Attacker, **options: Any
) -> InsiderReport:
    """The judgement of the attacks by all contributors of the attacker's kind."""
    names = ("kind", "p", "q", "level", "coalition", "exempt")
    return audit_insiders(problem, pattern, **{name: getattr(attacker, name) for name in names}, **options)


def _audit_adjusted(
    problem: Problem,
    published: AdjustedTable | Int,
    attackers: Sequence[Attacker],
    limits: Mapping[str, float | None] | None,
    deadline: Deadline,
    params: AdjustedAttackParams,
) -> Audit:
    others = [attacker for attacker in attackers if not attacker.is_plain_outsider]
    if others:
        raise InputError(
            f"an adjusted table cannot be audited against {in_words(others)}",
            remedy="Adjusted tables are audited against outsiders only; suppress to keep others off.",
        )
    if isinstance(published, np.ndarray):
        values = published
    else:
        values, limits = published.values, published.limits
    found = audit_adjusted(problem, values, limits=limits, time_limit=deadline.left, params=params)
    return Audit(problem, PublicView.of_adjusted(problem, values), adjusted=found)
