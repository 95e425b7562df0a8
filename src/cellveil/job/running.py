"""Run a job: data in; release, report and pattern out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellveil.certificate import write_certificate
from cellveil.errors import InfeasibleError, NotSafeError, check_kind
from cellveil.files import write_text
from cellveil.formats.adjusted_file import write_adjusted
from cellveil.formats.pattern_file import write_pattern
from cellveil.formats.tidy_folder import write_folder
from cellveil.job.finding import Finding, find
from cellveil.job.job_attackers import depth_of_attackers
from cellveil.job.job_files import FILES, internal_files
from cellveil.job.job_model import Job
from cellveil.job.output_folder import NewFiles, Output
from cellveil.job.past import Past, basis_facts
from cellveil.job.preparing import Prepared
from cellveil.job.reading import read_job
from cellveil.job.ready_job import ReadyJob, locked_output
from cellveil.job.report_facts import parameters, report_facts
from cellveil.job.searched import phases_of
from cellveil.judge import Audit
from cellveil.live_progress import shown_progress
from cellveil.pattern import Pattern
from cellveil.previous.together import JointAudit
from cellveil.problem import Problem
from cellveil.progress import Phase, Progress
from cellveil.publishing import Release, release
from cellveil.publishing.internal_observations import write_internal_observations
from cellveil.report import Report
from cellveil.report.infeasible_report import InfeasibleReport
from cellveil.shown import Shown
from cellveil.suppression import Suppression


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
    workers: int | None = None,
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
    workers
        Threads of the search and processes of the audit, at most: see `suppress`. Inside
        ``with cluster(address):`` the audit is done there.
    progress
        True shows a line in terminals and notebooks; or an observer of your own.

    Raises
    ------
    InfeasibleError
        When some cells cannot be protected. Then ``public`` has no release, and ``internal`` the figures.
    """
    job = read_job(job) if isinstance(job, str | Path) else job
    check_kind(job, Job, "the job", 'Give what read_job("job.toml") returns, or its path.')
    with locked_output(job) as output, shown_progress(progress) as observer:
        observer.plan(phases_of(job, depth_of_attackers(job) > 1))
        observer.phase(Phase.READ)
        ready = ReadyJob.of(job, observer, records)
        try:
            found = find(ready, observer, keep_best=keep_best, workers=workers)
        except InfeasibleError as error:
            write_infeasible(ready, output, error)
            raise
        observer.phase(Phase.WRITE)
        return write_found(ready, output, found)


def write_found(ready: ReadyJob, output: Output, found: Finding) -> JobResult:
    """Write what was found for a job: the release where it is safe, and the internal files."""
    job, judged = ready.job, found.judged
    ready.past.check_unchanged(job)
    with output.replaced() as new:
        _write_pattern(job, ready.prepared, judged.problem, judged.suppression.pattern, new.internal)
        if judged.audit.is_safe:
            write_certificate(judged.audit.certificate, new.internal / FILES["certificate"])
        if isinstance(judged.audit.together, JointAudit):
            _write_joint(judged.audit.together, new.internal / FILES["joint"])
        if found.adjusted is not None and found.adjusted.is_safe:
            write_adjusted(ready.prepared.problem, found.adjusted.values, new.internal / FILES["adjusted"])
        released = _release(ready, found.instead or judged.audit, new)
        report = judged.report(
            ready.notes, release=released, adjustment=found.adjustment, instead=found.instead
        )
        _write_report(new.internal, report)
    files = internal_files(job)
    return JobResult(judged.problem, judged.suppression, judged.audit, report, released, files)


def write_infeasible(ready: ReadyJob, output: Output, error: InfeasibleError) -> None:
    """Write the report on a job that cannot be done, and withdraw its release; the error gets the report."""
    with output.replaced() as new:
        prepared = ready.prepared.of(ready.past.problem)
        error.report = _write_infeasible(ready.job, new.internal, prepared, ready.notes, error)


def _write_pattern(job: Job, prepared: Prepared, problem: Problem, pattern: Pattern, folder: Path) -> None:
    """Write the problem and what is hidden of it, for the office."""
    write_folder(problem, folder / FILES["instance"])
    write_pattern(problem, pattern, folder / FILES["pattern"])
    if "sdmx" in job.release.written and not (job.adjust is not None and job.adjust.publish):
        target = folder / FILES["observations"]
        write_internal_observations(problem, pattern, prepared.tables, target, job.title)


def _write_joint(found: JointAudit, folder: Path) -> None:
    """Write the problem of all that readers know, its pattern, and where it is safe the certificate."""
    problem, pattern = found.audit.problem, found.audit.pattern
    assert pattern is not None  # an adjusted table is never audited jointly
    write_folder(problem, folder / FILES["instance"])
    write_pattern(problem, pattern, folder / FILES["pattern"])
    if found.audit.is_safe:
        write_certificate(found.audit.certificate, folder / FILES["certificate"])


def _release(ready: ReadyJob, verdict: Audit | str, new: NewFiles) -> Release | None:
    """The release of what was audited, or None; then that of an earlier run is withdrawn."""
    if isinstance(verdict, str):
        return None
    try:
        wishes = wishes_of(ready.job, ready.prepared, ready.past)
        return new.in_place(release(verdict, new.public, **wishes))
    except NotSafeError:
        return None


def wishes_of(job: Job, prepared: Prepared, past: Past) -> dict[str, Any]:
    """How the public files are to look."""
    settings = job.release
    return {
        "formats": settings.written,
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
        "basis": basis_facts(job, past.joint),
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
