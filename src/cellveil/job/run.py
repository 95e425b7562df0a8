"""Run a job: data in; release, report and pattern out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellveil.auditing import AuditReport, audit
from cellveil.errors import NotSafeError
from cellveil.files import write_text
from cellveil.formats.folder import write_folder
from cellveil.formats.instance import read_instance
from cellveil.formats.pattern import write_pattern
from cellveil.job.model import Job
from cellveil.job.tables import Labels, build_table, read_labels
from cellveil.primary import find_primaries
from cellveil.problem import Problem
from cellveil.progress import Progress, Stopwatch
from cellveil.publishing import Release, release
from cellveil.report import Report, build_report
from cellveil.sensitivity import rule_from_dict
from cellveil.suppression import Suppression, suppress

EXACT_INTERVALS = 1000
"""Up to so many primary cells the report has every interval to its ends."""

MIN_DEPTH = 3
"""At least so many of the largest contributions are kept for each cell."""


@dataclass(frozen=True, repr=False)
class JobResult:
    """Everything a job came to.

    Parameters
    ----------
    release
        The public files; None when the table is not safe, so that nothing was released.
    files
        The internal files, by name.
    """

    problem: Problem
    suppression: Suppression
    audit: AuditReport
    report: Report
    release: Release | None
    files: Mapping[str, Path]

    @property
    def is_safe(self) -> bool:
        """Whether the audit passed."""
        return self.report.is_safe

    def __repr__(self) -> str:
        return f"JobResult({self.report.verdict!r})"

    def summary(self) -> str:
        """The officials' table as text."""
        return self.report.summary()

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


def run_job(job: Job, *, progress: Progress | None = None) -> JobResult:
    """Run a job and write its results into its output folder.

    Public files go into ``public``, everything else into ``internal``. A table that is not shown safe is
    reported but not released.
    """
    progress = progress or Progress()
    watch = Stopwatch()
    with watch.time("data"):
        problem, facts, labels = _problem(job, progress)
    suppression = suppress(
        problem,
        job.suppress.method,
        time_limit=job.suppress.time_limit,
        seed=job.suppress.seed,
        progress=progress,
    )
    with watch.time("audit"):
        verdict = suppression.audit
        if len(problem.primaries) <= EXACT_INTERVALS:
            verdict = audit(problem, suppression.pattern, exact=True, progress=progress)
    progress.stage("write")
    released = _release(job, problem, suppression, verdict, labels)
    report = build_report(
        problem,
        suppression,
        verdict,
        title=job.title,
        parameters=_parameters(job) | facts,
        labels=labels,
        release=released,
    )
    files = _write_internal(job.output / "internal", problem, suppression, report)
    return JobResult(problem, suppression, verdict, report, released, files)


def _problem(job: Job, progress: Progress) -> tuple[Problem, dict[str, Any], Labels]:
    if job.instance is not None:
        problem = read_instance(job.instance)
        return problem, {}, read_labels(job.labels, problem.table)
    rule = rule_from_dict(job.rules) if job.rules else None
    table = build_table(job, max(rule.depth if rule else 1, MIN_DEPTH), progress)
    progress.stage("rules")
    primary = find_primaries(
        table,
        rule,
        weight=job.weights.kind,
        power=job.weights.power,
        statuses=[(cell.key, cell.status) for cell in job.cells],
        bounds=job.bounds,
        lower_factor=job.levels.lower_factor,
        upper_factor=job.levels.upper_factor,
        spl=job.levels.sliding,
        safety_range=job.levels.safety_range,
    )
    facts = {"levels cut at known bounds": primary.num_clipped, "cells waived": primary.num_waived}
    return primary.problem, facts, read_labels(job.labels, table)


def _release(
    job: Job, problem: Problem, suppression: Suppression, verdict: AuditReport, labels: Labels
) -> Release | None:
    settings = job.release
    try:
        return release(
            problem,
            suppression.pattern,
            verdict,
            job.output / "public",
            formats=settings.formats,
            symbol=settings.symbol,
            title=job.title,
            labels=labels,
            decimals=settings.decimals,
            note=settings.note,
            date=settings.date,
        )
    except NotSafeError:
        return None


def _parameters(job: Job) -> dict[str, Any]:
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


def _write_internal(
    folder: Path, problem: Problem, suppression: Suppression, report: Report
) -> dict[str, Path]:
    files = {
        "report": folder / "report.html",
        "figures": folder / "report.json",
        "pattern": folder / "pattern.csv",
        "instance": folder / "instance",
    }
    write_text(files["report"], report.to_html())
    write_text(files["figures"], json.dumps(report.to_dict(), indent=2, ensure_ascii=False) + "\n")
    write_pattern(problem, suppression.pattern, files["pattern"])
    write_folder(problem, files["instance"])
    return files
