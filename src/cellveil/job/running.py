"""Run a job: data in; release, report and pattern out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cellveil.adjustment import Adjustment, Limits, adjust
from cellveil.certificate import write_certificate
from cellveil.clock import Deadline
from cellveil.errors import AdjustmentError, InfeasibleError, NotSafeError, check_kind
from cellveil.files import write_text
from cellveil.formats.adjusted_file import write_adjusted
from cellveil.formats.pattern_file import write_pattern
from cellveil.formats.tidy_folder import check_dimension_names, write_folder
from cellveil.job.attackers_asked import depth_asked
from cellveil.job.job_model import Job
from cellveil.job.output_folder import (
    INTERNAL,
    NewFiles,
    Output,
    check_apart,
    check_folder,
    open_output,
)
from cellveil.job.past import Past
from cellveil.job.preparing import Prepared, prepare
from cellveil.job.reading import read_job
from cellveil.job.report_facts import parameters, report_facts
from cellveil.job.searched import phases_of, search
from cellveil.job.sections import AdjustJob
from cellveil.judge import Audit
from cellveil.live_progress import shown_progress
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.progress import NoteTaker, Phase, Progress
from cellveil.public_view import PublicView
from cellveil.publishing import Publication, Release, check_room, release
from cellveil.publishing.imprint import Imprint
from cellveil.publishing.internal_observations import write_internal_observations
from cellveil.publishing.public_folder import PUBLIC
from cellveil.publishing.releasing import check_formats, check_names
from cellveil.report import Report
from cellveil.report.adjustment_figures import adjusted_figures, infeasible_adjustment
from cellveil.report.infeasible_report import InfeasibleReport
from cellveil.shown import Shown
from cellveil.suppression import Suppression

FILES = {
    "report": "report.html",
    "figures": "report.json",
    "pattern": "pattern.csv",
    "instance": "instance",
    "certificate": "certificate",
    "adjusted": "adjusted.csv",
    "observations": "sdmx",
}
"""The internal files of a run."""


@dataclass(frozen=True, repr=False)
class JobResult(Shown):
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
    audit: Audit
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


def run_job(
    job: Job | Path | str,
    *,
    records: Any = None,
    keep_best: bool = False,
    progress: Progress | bool | None = None,
) -> JobResult:
    """Run a job and write its results into its output folder.

    Public files go into ``public``, everything else into ``internal``. A table that is not shown safe is
    reported but not released, and the release of an earlier run is removed. An error before the verdict
    leaves the folder as it was.

    Parameters
    ----------
    job
        What `read_job` returns, or the path of a job file.
    records
        A pandas, polars or Arrow frame, or a DuckDB relation, in place of the files of [microdata].
    keep_best
        Whether an interrupt during the search ends the search only: then the best certified pattern so far
        goes on to the release, and its reason says so. Otherwise the interrupt ends the job.
    progress
        True shows a line in terminals and notebooks; or an observer of your own.

    Raises
    ------
    InfeasibleError
        When some cells cannot be protected. Then ``public`` has no release, and ``internal`` the figures.
    """
    job = read_job(job) if isinstance(job, str | Path) else job
    check_kind(job, Job, "the job", 'Give what read_job("job.toml") returns, or its path.')
    for name in (PUBLIC, INTERNAL):
        check_folder(job.output / name)
    check_apart(job.confidential_inputs(), job.output / PUBLIC)
    with open_output(job.output, FILES.values()) as output, shown_progress(progress) as observer:
        observer.plan(phases_of(job, depth_asked(job) > 1))
        observer.phase(Phase.READ)
        return _run(job, output, records, keep_best, observer)


def _run(job: Job, output: Output, records: Any, keep_best: bool, progress: Progress) -> JobResult:
    taker = NoteTaker(progress)
    prepared = prepare(job, taker, records)
    past = Past.of(job, prepared.problem)
    check_release(job, prepared)
    try:
        found = search(job, prepared, past, progress, keep_best=keep_best)
    except InfeasibleError as error:
        with output.replaced() as new:
            error.report = _write_infeasible(job, new.internal, prepared.of(past.problem), taker.notes, error)
        raise
    problem, suppression, verdict = found.problem, found.suppression, found.audit
    asked = prepared.problem  # an adjusted table has no part in what a pattern makes it necessary to relax
    progress.phase(Phase.WRITE)
    with output.replaced() as new:
        _write_pattern(job, prepared, problem, suppression.pattern, new.internal)
        if verdict.is_safe:
            write_certificate(verdict.certificate, new.internal / FILES["certificate"])
        adjusted, adjustment = _adjusted(job, asked, suppression, new.internal, progress)
        instead: Audit | str | None = None
        if job.adjust is not None and job.adjust.publish:
            instead = "no adjusted table was found"
            if adjusted is not None:
                instead = past.beside(adjusted.audit, progress)
        released = _release(job, instead or verdict, prepared, new)
        report = found.report(taker.notes, release=released, adjustment=adjustment, instead=instead)
        _write_report(new.internal, report)
    return JobResult(problem, suppression, verdict, report, released, internal_files(job))


def _write_pattern(job: Job, prepared: Prepared, problem: Problem, pattern: Pattern, folder: Path) -> None:
    """Write the problem and what is hidden of it, for the office."""
    write_folder(problem, folder / FILES["instance"])
    write_pattern(problem, pattern, folder / FILES["pattern"])
    if "sdmx" in job.release.formats and not (job.adjust is not None and job.adjust.publish):
        target = folder / FILES["observations"]
        write_internal_observations(problem, pattern, prepared.tables, target, job.title)


def internal_files(job: Job) -> dict[str, Path]:
    """Where a run writes its internal files, by name."""
    return {name: job.output / INTERNAL / file for name, file in FILES.items()}


def _adjusted(
    job: Job, problem: Problem, suppression: Suppression, folder: Path, progress: Progress
) -> tuple[Adjustment | None, dict[str, Any] | None]:
    """Where the job asks for it: the adjusted table, and its figures beside those of the pattern."""
    asked = job.adjust
    if asked is None:
        return None, None
    options: dict[str, Any] = {"time_limit": asked.time_limit, "seed": asked.seed, "progress": progress}
    options["options"] = asked.options
    progress.phase(Phase.ADJUST, Deadline(asked.time_limit))
    try:
        found = adjust(problem, objective=asked.objective, limits=_limits(asked), **options)
    except AdjustmentError as error:
        return None, infeasible_adjustment(problem, "auto", asked.objective, error)
    if found.was_interrupted:
        raise KeyboardInterrupt
    if found.is_safe:
        write_adjusted(problem, found.values, folder / FILES["adjusted"])
    progress.phase(Phase.WRITE)
    return found, adjusted_figures(problem, found, suppression)


def _limits(asked: AdjustJob) -> Limits:
    return Limits(
        asked.limit,
        asked.limit if asked.limit_marginals is None else asked.limit_marginals,
        asked.limit if asked.limit_total is None else asked.limit_total,
    )


def check_release(job: Job, prepared: Prepared) -> None:
    """Raise now what would speak against writing the public files after a long run."""
    problem = prepared.problem
    everything = Pattern.hiding(problem, np.ones(problem.table.num_cells, dtype=bool), "everything")
    settings = job.release
    check_formats(settings.formats)
    check_dimension_names(problem.table.dimensions)
    with job.placing_errors("release"):
        publication = Publication.of(
            problem.table,
            PublicView.of(problem, everything),
            imprint=Imprint(unit=settings.unit, language=job.language),
            symbol=settings.symbol,
            labels=prepared.labels,
            decimals=settings.decimals,
        ).in_tables(prepared.tables, prepared.labels)
        check_names(publication, settings.formats)
    check_room(job.output / PUBLIC, settings.formats, publication)


def _release(job: Job, verdict: Audit | str, prepared: Prepared, new: NewFiles) -> Release | None:
    """The release of what was audited, or None; then that of an earlier run is withdrawn."""
    if isinstance(verdict, str):
        return None
    try:
        return new.in_place(release(verdict, new.public, **wishes_of(job, prepared)))
    except NotSafeError:
        return None


def wishes_of(job: Job, prepared: Prepared) -> dict[str, Any]:
    """How the public files are to look."""
    settings = job.release
    return {
        "formats": settings.formats,
        "symbol": settings.symbol,
        "title": job.title,
        "labels": prepared.labels,
        "tables": prepared.tables,
        "decimals": settings.decimals,
        "note": settings.note,
        "date": settings.date,
        "source": settings.source,
        "unit": settings.unit,
        "contact": settings.contact,
        "language": job.language,
    }


def _write_infeasible(
    job: Job, folder: Path, prepared: Prepared, notes: tuple[str, ...], error: InfeasibleError
) -> InfeasibleReport:
    """The instance, the figures and the page; returns the report."""
    write_folder(prepared.problem, folder / FILES["instance"])
    report = InfeasibleReport(
        prepared.problem,
        error,
        job.suppress.method,
        job.suppress.seed,
        title=job.title,
        parameters=parameters(job) | dict(prepared.facts),
        labels=prepared.labels,
        tables=prepared.tables,
        notes=notes,
        facts=report_facts(job),
    )
    _write_report(folder, report)
    return report


def _write_report(folder: Path, report: Report | InfeasibleReport) -> None:
    """The page and the figures."""
    write_text(folder / FILES["report"], report.to_html())
    figures = json.dumps(report.to_dict(), indent=2, ensure_ascii=False)
    write_text(folder / FILES["figures"], figures + "\n")
