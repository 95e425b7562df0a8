"""What a job finds: a pattern for its tables, judged against everybody it names, and the report on it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellveil.job.attackers_asked import AttackersAsked, attackers_asked
from cellveil.job.job_model import Job
from cellveil.job.past import Past
from cellveil.job.preparing import Prepared
from cellveil.judge import Audit
from cellveil.problem import Problem
from cellveil.progress import Phase, Progress
from cellveil.report import Report, build_report
from cellveil.suppression import Suppression, suppress

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
    asked
        Whom the job keeps off.
    """

    job: Job
    prepared: Prepared
    past: Past
    problem: Problem
    suppression: Suppression
    audit: Audit
    asked: AttackersAsked

    def report(self, notes: tuple[str, ...], **further: Any) -> Report:
        """The report; `further` are release, adjustment and what is published instead."""
        return build_report(
            self.problem,
            self.suppression,
            self.audit,
            title=self.job.title,
            parameters=parameters_of(self.job) | dict(self.prepared.facts),
            labels=self.prepared.labels,
            why_no_insiders=self.asked.why_no_insiders,
            notes=notes,
            tables=self.prepared.tables,
            changes=self.past.changes_to(self.suppression.pattern),
            **further,
        )


def search(
    job: Job, prepared: Prepared, past: Past, progress: Progress, *, keep_best: bool = False
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
    asked = attackers_asked(job, problem)
    progress.plan(phases_of(job, bool(asked.attackers)))
    suppression = suppress(
        problem,
        **job.suppress.model_dump(),
        attackers=asked.attackers,
        may_free=past.may_free,
        progress=progress,
    )
    if suppression.was_interrupted and not keep_best:
        raise KeyboardInterrupt
    if suppression.relaxation is not None:
        problem = suppression.relaxation.problem
    audit = suppression.audit
    if len(problem.primaries) * suppression.pattern.hidden.sum() <= EXACT_WORK:
        audit = audit.with_exact_intervals(progress)
    return JudgedPattern(job, prepared, past, problem, suppression, past.beside(audit, progress), asked)


def phases_of(job: Job, has_attackers: bool) -> list[Phase]:
    """The phases of a run."""
    data = [Phase.READ] if job.instance is not None else [Phase.READ, Phase.RULES]
    others = [Phase.OTHERS] if has_attackers else []
    adjusted = [Phase.ADJUST] if job.adjust is not None else []
    return [*data, Phase.SEARCH, *others, Phase.AUDIT, *adjusted, Phase.WRITE]


def parameters_of(job: Job) -> dict[str, Any]:
    """What was set, without machine paths."""
    data = job.model_dump(mode="json", exclude_defaults=True, exclude={"output", "labels"})
    return {key: _short(value) for key, value in data.items()}


def _short(value: Any) -> Any:
    """Replace paths by file names."""
    if isinstance(value, dict):
        return {key: _short(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_short(part) for part in value]
    return Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value
