"""What a job finds: a pattern for its tables, judged against everybody it names, and the report on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cellveil.attackers.default_attackers import AttackersTested
from cellveil.job.comparing import compare_with
from cellveil.job.job_attackers import attackers_of_job
from cellveil.job.job_model import Job
from cellveil.job.past import Past
from cellveil.job.preparing import Prepared
from cellveil.job.report_facts import parameters, report_facts
from cellveil.judge import Audit
from cellveil.problem import Problem
from cellveil.progress import Phase, Progress
from cellveil.report import Report, build_report
from cellveil.report.method_comparison import Comparison
from cellveil.report.run_facts import SearchCurve, SearchPoint
from cellveil.suppression import Suppression

EXACT_WORK = 50_000
"""Up to this product of primary and hidden cells (seconds of work) the report has exact intervals."""


@dataclass(frozen=True, repr=False, eq=False)
class JudgedPattern:
    """A judged pattern, and what it was found for.

    Parameters
    ----------
    problem
        What the pattern protects: as asked, or relaxed where that was allowed and necessary.
    audit
        The verdict on the pattern, also beside former releases.
    tested
        Who attacks besides outsiders.
    curve
        Cost and bound over time.
    comparison
        Other methods beside it, where the job asks for some.
    """

    job: Job
    prepared: Prepared
    past: Past
    problem: Problem
    suppression: Suppression
    audit: Audit
    tested: AttackersTested
    curve: tuple[SearchPoint, ...]
    comparison: Comparison | None = None

    def report(self, notes: tuple[str, ...], **further: Any) -> Report:
        """The report; `further` are release, adjustment and what is published instead."""
        return build_report(
            self.problem,
            self.suppression,
            self.audit,
            title=self.job.title,
            parameters=parameters(self.job) | dict(self.prepared.facts),
            labels=self.prepared.labels,
            why_no_insiders=self.tested.why_no_insiders,
            notes=notes,
            tables=self.prepared.tables,
            changes=self.past.changes_to(self.suppression.pattern),
            facts=report_facts(self.job, self.curve, self.comparison),
            **further,
        )


def search(
    job: Job,
    prepared: Prepared,
    past: Past,
    progress: Progress,
    *,
    keep_best: bool = False,
    workers: int | None = None,
) -> JudgedPattern:
    """Find a pattern for the problem of a job, and have it judged.

    Raises
    ------
    InfeasibleError
        When some cells cannot be protected.
    KeyboardInterrupt
        When the search was interrupted, unless the best pattern so far is to be kept.
    """
    problem = past.problem
    tested = attackers_of_job(job, problem)
    progress.plan(phases_of(job, bool(tested.attackers)))
    curve = SearchCurve(progress)
    suppression = past.suppress(
        **job.suppress.model_dump(),
        attackers=tested,
        may_free=past.may_free,
        workers=workers,
        progress=curve,
    )
    if suppression.was_interrupted and not keep_best:
        raise KeyboardInterrupt
    problem = past.problem if suppression.relaxation is None else suppression.relaxation.problem
    if past.accepted:  # what earlier releases give away is then suppressed without a requirement
        problem = suppression.audit.problem
    audit = suppression.audit
    if len(problem.primaries) * suppression.pattern.hidden.sum() <= EXACT_WORK:
        audit = audit.with_exact_intervals(progress)
    comparison = compare_with(job, past, suppression, progress) if job.report.compare else None
    return JudgedPattern(job, prepared, past, problem, suppression, audit, tested, curve.points, comparison)


def phases_of(job: Job, has_attackers: bool) -> list[Phase]:
    """The phases of a run."""
    data = [Phase.READ] if job.instance is not None else [Phase.READ, Phase.RULES]
    others = [Phase.OTHERS] if has_attackers else []
    adjusted = [Phase.ADJUST] if job.adjust is not None else []
    compared = [Phase.COMPARE] if job.report.compare else []
    return [*data, Phase.SEARCH, *others, Phase.AUDIT, *compared, *adjusted, Phase.WRITE]
