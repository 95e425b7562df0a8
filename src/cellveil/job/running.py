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
from cellveil.errors import AdjustmentError, InfeasibleError, InputError, NotSafeError
from cellveil.files import write_text
from cellveil.formats.adjusted_file import write_adjusted
from cellveil.formats.instance import read_instance
from cellveil.formats.pattern_file import write_pattern
from cellveil.formats.tidy_folder import check_dimension_names, write_folder
from cellveil.job.attackers_asked import attackers_asked, depth_asked
from cellveil.job.build_tables import BuiltTables, Labels, build_tables, read_labels
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
from cellveil.job.sections import AdjustJob
from cellveil.judge import Audit
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.progress import NoteTaker, Progress
from cellveil.public_view import PublicView
from cellveil.publishing import Publication, Release, TablePart, check_room, release
from cellveil.publishing.imprint import Imprint, subject_of
from cellveil.publishing.public_folder import PUBLIC
from cellveil.publishing.releasing import check_formats, check_names
from cellveil.report import Report, build_report
from cellveil.report.adjustment_figures import adjusted_figures, infeasible_adjustment
from cellveil.report.infeasible_figures import infeasible_figures
from cellveil.rules import Rule, rule_from_dict
from cellveil.rules.apply import Primary, find_primaries, num_excused
from cellveil.suppression import Suppression, suppress
from cellveil.tables.cells import cell_number

FILES = {
    "report": "report.html",
    "figures": "report.json",
    "pattern": "pattern.csv",
    "instance": "instance",
    "certificate": "certificate",
    "adjusted": "adjusted.csv",
}
"""The internal files of a run."""

EXACT_WORK = 50_000
"""Up to this product of primary and hidden cells (seconds of work) the report has exact intervals."""

MIN_DEPTH = 3
"""Least number of largest contributions kept for each cell."""


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

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


def run_job(
    job: Job, *, records: Any = None, keep_best: bool = False, progress: Progress | None = None
) -> JobResult:
    """Run a job and write its results into its output folder.

    Public files go into ``public``, everything else into ``internal``. A table that is not shown safe is
    reported but not released, and the release of an earlier run is removed. An error before the verdict
    leaves the folder as it was.

    Parameters
    ----------
    records
        A pandas, polars or Arrow frame, or a DuckDB relation, in place of the files of [microdata].
    keep_best
        Whether an interrupt during the search ends the search only: then the best certified pattern so far
        goes on to the release, and its reason says so. Otherwise the interrupt ends the job.

    Raises
    ------
    InfeasibleError
        When some cells cannot be protected. Then ``public`` has no release, and ``internal`` the figures.
    """
    for name in (PUBLIC, INTERNAL):
        check_folder(job.output / name)
    check_apart(job.confidential_inputs(), job.output / PUBLIC)
    with open_output(job.output, FILES.values()) as output:
        return _run(job, output, records, keep_best, progress or Progress())


def _run(job: Job, output: Output, records: Any, keep_best: bool, progress: Progress) -> JobResult:
    taker = NoteTaker(progress)
    prepared = prepare(job, taker, records)
    past = Past.of(job, prepared.problem)
    problem, labels = past.problem, prepared.labels
    _check_release(job, prepared)
    asked_whom = attackers_asked(job, problem)
    try:
        suppression = suppress(
            problem,
            **job.suppress.model_dump(),
            attackers=asked_whom.attackers,
            may_free=past.may_free,
            progress=progress,
        )
    except InfeasibleError as error:
        with output.replaced() as new:
            _write_infeasible(job, new.internal, problem, error)
        raise
    if suppression.was_interrupted and not keep_best:
        raise KeyboardInterrupt
    asked = prepared.problem  # an adjusted table has no part in what a pattern makes it necessary to relax
    if suppression.relaxation is not None:
        problem = suppression.relaxation.problem
    verdict = suppression.audit
    if len(problem.primaries) * suppression.pattern.hidden.sum() <= EXACT_WORK:
        verdict = verdict.with_exact_intervals(progress)
    verdict = past.beside(verdict, progress)
    progress.stage("write")
    with output.replaced() as new:
        write_folder(problem, new.internal / FILES["instance"])
        write_pattern(problem, suppression.pattern, new.internal / FILES["pattern"])
        if verdict.is_safe:
            write_certificate(verdict.certificate, new.internal / FILES["certificate"])
        adjusted, adjustment = _adjusted(job, asked, suppression, new.internal, progress)
        instead: Audit | str | None = None
        if job.adjust is not None and job.adjust.publish:
            instead = "no adjusted table was found"
            if adjusted is not None:
                instead = past.beside(adjusted.audit, progress)
        released = _release(job, instead or verdict, prepared, new)
        report = build_report(
            problem,
            suppression,
            verdict,
            title=job.title,
            parameters=_parameters(job) | dict(prepared.facts),
            labels=labels,
            release=released,
            adjustment=adjustment,
            instead=instead,
            why_no_insiders=asked_whom.why_no_insiders,
            notes=taker.notes,
            tables=prepared.tables,
            changes=past.changes_to(suppression.pattern),
        )
        write_text(new.internal / FILES["report"], report.to_html())
        _write_figures(new.internal, report.to_dict())
    return JobResult(problem, suppression, verdict, report, released, internal_files(job))


def internal_files(job: Job) -> dict[str, Path]:
    """Where a run writes its internal files, by name."""
    return {name: job.output / INTERNAL / file for name, file in FILES.items()}


@dataclass(frozen=True, repr=False, eq=False)
class Prepared:
    """What a job protects.

    Parameters
    ----------
    problem
        The table with its unsafe cells.
    facts
        What the rules made of levels and waivers.
    labels
        Labels of codes.
    tables
        The tables of the job, where there are several, or one has a name.
    """

    problem: Problem
    facts: Mapping[str, Any]
    labels: Labels
    tables: tuple[TablePart, ...] = ()


def prepare(job: Job, progress: Progress, records: Any = None) -> Prepared:
    """Read or tabulate the tables of a job and apply its rules; `progress` is told what was guessed."""
    if job.instance is not None:
        with job.placing_errors("instance"):
            problem = read_instance(job.instance)
        return Prepared(problem, {}, read_labels(job.labels, problem.table))
    for note in job.inferred:
        progress.note(note)
    rule = rule_from_dict(job.rules) if job.rules else None
    depth = max(rule.depth if rule else 1, MIN_DEPTH, depth_asked(job))
    built = build_tables(job, depth, progress, records)
    labels = read_labels(job.labels, built.table)
    progress.stage("rules")
    primary = _primaries(job, built, rule)
    facts = {"levels cut at known bounds": primary.num_clipped, "cells waived": primary.num_waived}
    excused = num_excused(built.table, rule) if rule else None
    if excused is not None:
        facts["cells safe by waivers of contributors"] = excused
    return Prepared(primary.problem, facts, labels, _parts(job, built))


def _parts(job: Job, built: BuiltTables) -> tuple[TablePart, ...]:
    """The tables under their names; none where there is one that has none."""
    if len(job.tables) == 1 and job.tables[0].name is None:
        return ()
    return tuple(
        TablePart(asked.name or subject_of(table.variable, table.dimensions, job.language), table, cells)
        for asked, (table, cells) in zip(job.tables, built.parts, strict=True)
    )


def _primaries(job: Job, built: BuiltTables, rule: Rule | None) -> Primary:
    table = built.table
    by_hand: dict[int, int] = {}  # cell → the first of the job's settings of it
    statuses: list[tuple[int, str]] = []
    waived: list[int] = []
    for position, cell in enumerate(job.cells):
        with job.placing_errors("cells", position):
            number = cell_number(table, cell.key)
        by_hand.setdefault(number, position)
        statuses.append((number, cell.status))
        waived += [number] if cell.waived else []
    try:
        return find_primaries(
            table,
            rule,
            weight=job.weights.kind,
            power=job.weights.power,
            box_cox=job.weights.box_cox,
            distance=job.weights.distance,
            statuses=statuses,
            waived=waived,
            given=built.given,
            bounds=job.bounds,
            lower_factor=job.levels.lower_factor,
            upper_factor=job.levels.upper_factor,
            spl=job.levels.sliding,
            safety_range=job.levels.safety_range,
        )
    except InputError as error:
        named = [place for cell, place in by_hand.items() if table.cell_name(cell) == error.cell]
        with job.placing_errors(*(("cells", named[0]) if named else ("rules",))):
            raise


def _adjusted(
    job: Job, problem: Problem, suppression: Suppression, folder: Path, progress: Progress
) -> tuple[Adjustment | None, dict[str, Any] | None]:
    """Where the job asks for it: the adjusted table, and its figures beside those of the pattern."""
    asked = job.adjust
    if asked is None:
        return None, None
    options: dict[str, Any] = {"time_limit": asked.time_limit, "seed": asked.seed, "progress": progress}
    options["options"] = asked.options
    try:
        found = adjust(problem, objective=asked.objective, limits=_limits(asked), **options)
    except AdjustmentError as error:
        return None, infeasible_adjustment(problem, "auto", asked.objective, error)
    if found.was_interrupted:
        raise KeyboardInterrupt
    if found.is_safe:
        write_adjusted(problem, found.values, folder / FILES["adjusted"])
    return found, adjusted_figures(problem, found, suppression)


def _limits(asked: AdjustJob) -> Limits:
    return Limits(
        asked.limit,
        asked.limit if asked.limit_marginals is None else asked.limit_marginals,
        asked.limit if asked.limit_total is None else asked.limit_total,
    )


def _check_release(job: Job, prepared: Prepared) -> None:
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
        return new.in_place(release(verdict, new.public, **_wishes(job, prepared)))
    except NotSafeError:
        return None


def _wishes(job: Job, prepared: Prepared) -> dict[str, Any]:
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


def _write_infeasible(job: Job, folder: Path, problem: Problem, error: InfeasibleError) -> None:
    """The instance and the figures."""
    write_folder(problem, folder / FILES["instance"])
    _write_figures(folder, infeasible_figures(problem, job.suppress.method, job.suppress.seed, error))


def _write_figures(folder: Path, figures: dict[str, Any]) -> None:
    write_text(folder / FILES["figures"], json.dumps(figures, indent=2, ensure_ascii=False) + "\n")
