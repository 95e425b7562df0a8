"""The command line: thin, calls the same verbs as the library. Exit codes are those of the contract.

0 done and safe; 1 done, not safe (nothing released); 2 bad input or usage; 3 infeasible; 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from shutil import which
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from cellveil.cli.adjust import adjust
from cellveil.cli.options import (
    AsJson,
    AttackerName,
    AttackerNames,
    Coalition,
    Instance,
    Level,
    MethodOptions,
    P,
    PatternFile,
    Prior,
    Q,
    Quiet,
    Relax,
    RelaxedInstance,
    ReportFile,
    Weights,
    WhoAttacks,
    attackers_of,
)
from cellveil.cli.shell import INTERRUPTED, Kept
from cellveil.cli.shell import check_targets as _check_targets
from cellveil.cli.shell import leave_interrupted as _leave_interrupted
from cellveil.cli.shell import leave_with as _exit
from cellveil.cli.shell import progress as _progress
from cellveil.cli.shell import remove as _remove
from cellveil.cli.shell import say as _say
from cellveil.cli.shell import write_json as _write_json
from cellveil.errors import CellveilError, InfeasibleError, InputError, nearest_name

if TYPE_CHECKING:
    from cellveil.job import Job, JobResult
    from cellveil.judge.published import PublishedTable
    from cellveil.problem import Problem
    from cellveil.suppression.infeasible.relaxing import Relaxation

app = typer.Typer(
    name="cellveil",
    help="Protect published statistical tables: find what discloses, hide as little as possible, prove it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    epilog="Exit codes: 0 safe, 1 not safe (nothing is released), 2 bad input or usage, 3 infeasible, "
    "130 interrupted.",
)


INTERNAL_SHOWN = ("figures", "pattern", "certificate", "instance")
PUBLISHED = "Without PATTERN.csv: a table that somebody published"
MAX_LISTED = 20
"""So many unprotected cells are printed."""


def _published(text: str, metavar: str | None = None) -> Any:
    """An option of the audit of a table that somebody published."""
    return typer.Option(help=text, metavar=metavar, rich_help_panel=PUBLISHED)


def _tell_version(wanted: bool) -> None:
    if wanted:
        from cellveil import __version__

        typer.echo(f"cellveil {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_tell_version, is_eager=True, help="Print the version and leave."),
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where data, release and report go.")] = Path(
        "cellveil-demo"
    ),
    firms: Annotated[int, typer.Option(min=100, help="How many firms to invent.")] = 50_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the invented data.")] = 1,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Run the main job on built-in data: firms in, audited release and report out."""
    from cellveil.datasets import business
    from cellveil.datasets.demo import check_demo_folder, write_demo_job
    from cellveil.job import read_job

    check_demo_folder(out)
    with _progress(quiet or as_json) as progress:
        progress.stage("invent firms")
        job_file = write_demo_job(business(firms, seed), out)
    _run_job(read_job(job_file), quiet, as_json, job_file)


@app.command()
def run(
    job_file: Annotated[Path, typer.Argument(metavar="JOB.toml", help="The job file.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where the results go, in place of the job's output."),
    ] = None,
    keep_best: Annotated[
        bool,
        typer.Option(
            "--keep-best",
            help="When interrupted during the search, go on with the best certified pattern and release it.",
        ),
    ] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Run a job file: microdata or table in; audited release and report out.

    Public files go into the folder public of the output folder, all others into internal. When the table is
    not shown safe, nothing is released, and the release of an earlier run is removed from public.

    Ctrl-C leaves everything as it was (exit code 130); with --keep-best it ends the search, and the best
    certified pattern is released, with the same exit code.
    """
    from cellveil.job import read_job

    job = read_job(job_file)
    if out is not None:
        job = job.model_copy(update={"output": out})
    _run_job(job, quiet, as_json, None, keep_best)


@app.command()
def suppress(
    instance: Instance,
    out: Annotated[Path, typer.Option(metavar="PATTERN.csv", help="Write the pattern to this file.")],
    method: Annotated[str, typer.Option(help="Which method; `cellveil methods` lists them.")] = "auto",
    option: MethodOptions = None,
    weights: Annotated[
        Weights,
        typer.Option(
            help="Cost of hiding a cell: as given in the instance, its value, or one for each cell."
        ),
    ] = Weights.given,
    attacker: AttackerNames = None,
    p: P = None,
    q: Q = 100.0,
    level: WhoAttacks = Level.unit,
    coalition: Coalition = 1,
    prior: Prior = None,
    time_limit: Annotated[
        float | None, typer.Option(min=0.0, metavar="SECONDS", help="Time for the search; none by default.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="For methods that draw random numbers.")] = 0,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Cores to use, two by default; the result does not depend on it."),
    ] = None,
    relax: Relax = False,
    relaxed: RelaxedInstance = None,
    report: ReportFile = None,
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="CERT", help="Write the proof of safety to this file."),
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Find a pattern that protects an instance, audit it, and write it if it is safe.

    Outsiders are always kept off, and with them all attackers that are named.

    When no safe pattern is found, no pattern and no certificate is left: older ones are removed. Where no
    pattern can be safe, the message says what stands in the way and what would help; --relax does it.
    """
    from cellveil.certificate import write_certificate
    from cellveil.formats.instance import read_instance, write_instance
    from cellveil.formats.pattern_file import write_pattern
    from cellveil.params import parse_options
    from cellveil.report import build_report
    from cellveil.report.infeasible_figures import infeasible_figures
    from cellveil.suppression import suppress as find_pattern

    options = parse_options(option or [])
    _check_targets(instance, out, report, certificate)
    named = attacker or ([] if prior is None else [AttackerName.outsider])
    others = attackers_of(named, p, q, level, coalition, prior)
    problem = _weighted(read_instance(instance), weights)
    try:
        with _progress(quiet or as_json) as progress:
            found = find_pattern(
                problem,
                method,
                attackers=others,
                time_limit=time_limit,
                seed=seed,
                workers=workers,
                relax=relax,
                options=options,
                progress=progress,
            )
    except InfeasibleError as error:
        _remove(out, certificate)
        _write_json(report, as_json, infeasible_figures(problem, method, seed, error))
        raise
    if found.relaxation is not None:
        problem = found.relaxation.problem
        _tell_relaxed(found.relaxation)
    settings: dict[str, Any] = {"instance": instance.name, "weights": weights.value, "time_limit": time_limit}
    settings |= {"attackers": [asdict(other) for other in others]} if others else {}
    settings |= {"options": options} if options else {}
    figures = build_report(problem, found, found.audit, title=instance.name, parameters=settings)
    if found.is_safe:
        write_pattern(problem, found.pattern, out)
        if relaxed is not None:
            write_instance(problem, relaxed)
        if certificate is not None:
            write_certificate(found.certificate, certificate)
    else:
        _remove(out, certificate)
    _write_json(report, as_json, figures.to_dict())
    _say(quiet or as_json, figures.summary())
    _say(quiet or as_json, f"Pattern: {out}" if found.is_safe else "Not shown safe: no pattern was written.")
    if found.was_interrupted:
        _leave_interrupted(
            "the best certified pattern was kept." if found.is_safe else "no pattern was kept."
        )
    _exit(0 if found.is_safe else 1)


@app.command()
def audit(
    instance: Annotated[
        Path,
        typer.Argument(
            metavar="INSTANCE",
            help="A JJ file or a folder; without PATTERN.csv, a table that somebody published: a file, or a "
            "folder whose cells.csv leaves hidden values empty.",
        ),
    ],
    pattern: Annotated[
        Path | None,
        typer.Argument(metavar="PATTERN.csv", help="The status of each cell; u and m are hidden."),
    ] = None,
    attacker: AttackerNames = None,
    p: P = None,
    q: Q = 100.0,
    level: WhoAttacks = Level.unit,
    coalition: Coalition = 1,
    prior: Prior = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            min=0.0, metavar="SECONDS", help="Time for all attacks; what is not shown by then is not safe."
        ),
    ] = None,
    hierarchy: Annotated[
        list[str] | None,
        _published("A dimension and its .hrc or parent,child file; COLUMN alone: flat.", "COLUMN=FILE"),
    ] = None,
    value: Annotated[str, _published("Column of the values.", "COLUMN")] = "value",
    hidden: Annotated[list[str] | None, _published("A value that means hidden: empty, x, *, c, D…")] = None,
    zero: Annotated[list[str] | None, _published("A value that means nothing there, 0.")] = None,
    flag: Annotated[str | None, _published("Column of flags.", "COLUMN")] = None,
    hidden_flag: Annotated[list[str] | None, _published("A flag that means hidden.")] = None,
    zero_flag: Annotated[list[str] | None, _published("A flag that means 0.")] = None,
    lower: Annotated[str | None, _published("Known least values of hidden cells.", "COLUMN")] = None,
    upper: Annotated[str | None, _published("Known largest values of hidden cells.", "COLUMN")] = None,
    rounding: Annotated[str, _published("Values are rounded to multiples of this.", "UNIT")] = "0",
    total: Annotated[str, _published("Code of the total of flat dimensions and .hrc files.")] = "Total",
    absent_hidden: Annotated[bool, _published("Cells without a row are hidden, not 0.")] = False,
    signed: Annotated[bool, _published("Values may be negative.")] = False,
    within: Annotated[
        float, _published("A cell with an interval at most so wide is disclosed.", "PERCENT")
    ] = 0.0,
    report: ReportFile = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Attack a pattern, and judge every primary cell of the instance.

    Without a pattern: attack a table that somebody published, of which the true values are not known, and
    count the hidden cells that can be worked out (exit code 1 if there is one).
    """
    if pattern is None:
        from cellveil.formats.published_file import open_publication

        if any(name is not AttackerName.outsider for name in attacker or []):
            raise InputError("such an attack needs a pattern", remedy="Name INSTANCE and PATTERN.csv.")
        marks = {"hidden": hidden, "zero": zero, "hidden_flags": hidden_flag, "zero_flags": zero_flag}
        options: dict[str, Any] = {key: texts for key, texts in marks.items() if texts is not None}
        options |= {"rounding": rounding, "nonnegative": not signed}
        options |= {"absent": "hidden" if absent_hidden else "zero"}
        names = {"value": value, "flag": flag, "lower": lower, "upper": upper, "total_code": total}
        _check_targets(instance, report)
        if report is not None and str(report) in [given.partition("=")[2] for given in hierarchy or []]:
            raise InputError(
                "the report would overwrite a hierarchy", file=report, remedy="Name another file."
            )
        published = open_publication(instance, hierarchy or [], names, options)
        _audit_publication(published, within, time_limit, report, quiet, as_json)
        return
    if hierarchy:
        raise InputError("a pattern and hierarchies are given", remedy="Give one or the other.")
    from cellveil.formats.instance import read_instance
    from cellveil.formats.pattern_file import read_pattern
    from cellveil.judge import audit as judge
    from cellveil.report.audit_figures import audit_figures

    _check_targets(instance, report)
    if report is not None and report.resolve() == pattern.resolve():
        raise InputError("the report would overwrite the pattern", file=report, remedy="Name another file.")
    attackers = attackers_of(attacker or [AttackerName.outsider], p, q, level, coalition, prior)
    problem = read_instance(instance)
    given = read_pattern(pattern, problem)
    with _progress(quiet or as_json) as progress:
        verdict = judge(problem, given, attackers=attackers, time_limit=time_limit, progress=progress)
    figures = audit_figures(verdict)
    _write_json(report, as_json, figures)
    unsafe = problem.table.cell_names(verdict.unsafe_cells)
    lines = [f"  not protected: {name}" for name in unsafe[:MAX_LISTED]]
    if len(unsafe) > MAX_LISTED:
        lines.append(f"  … and {len(unsafe) - MAX_LISTED} more; see --report")
    lines += [f"{verdict.verdict}.", f"Not asked: {verdict.not_asked}."]
    _say(quiet or as_json, "\n".join(lines))
    _exit(0 if verdict.is_safe else 1)


@app.command()
def verify(
    instance: Instance,
    pattern: PatternFile,
    certificate: Annotated[Path, typer.Argument(metavar="CERT", help="The certificate of the pattern.")],
    report: ReportFile = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Check a certificate in exact arithmetic, without a solver."""
    from cellveil.certificate import read_certificate
    from cellveil.certificate import verify as check
    from cellveil.formats.instance import read_instance
    from cellveil.formats.pattern_file import read_pattern

    _check_targets(instance, report)
    problem = read_instance(instance)
    proof = check(problem, read_pattern(pattern, problem), read_certificate(certificate))
    unsafe = problem.table.cell_names(proof.cells[~proof.protected])
    figures = {
        "valid": proof.is_valid,
        "faults": list(proof.faults),
        "demands": proof.demands,
        "certified_demands": proof.met,
        "unsafe_cells": unsafe,
    }
    _write_json(report, as_json, figures)
    for fault in proof.faults:
        _say(quiet or as_json, f"Fault: {fault}.")
    verdict = "Valid" if proof.is_valid else "NOT VALID"
    _say(quiet or as_json, f"{verdict}: {proof.met} of {proof.demands} demands are proven met.")
    _exit(0 if proof.is_valid else 1)


@app.command()
def methods(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A method: list its options.")] = None,
) -> None:
    """List the suppression methods, or the options of one."""
    from cellveil.suppression import METHODS

    if name is None:
        for each, entry in METHODS.items():
            typer.echo(f"{each:12} {entry.summary}{' (for comparison)' if entry.is_for_comparison else ''}")
        return
    if name not in METHODS:
        raise InputError(f"unknown method {name!r}", remedy=nearest_name(name, list(METHODS)))
    for key, option in METHODS[name].options.items():
        shown = str(option.default).lower() if isinstance(option.default, bool) else option.default
        typer.echo(
            f"{key:12} {option.what} {option.domain[:1].upper()}{option.domain[1:]}; default {shown!r}."
        )


app.command()(adjust)


def main() -> None:
    """Run the command line and end the process."""
    _leave(run_command(sys.argv[1:]))


def run_command(arguments: Sequence[str], commands: typer.Typer = app) -> int:
    """Run one command; every error ends with a sentence on standard error and the documented exit code."""
    try:
        commands(list(arguments), prog_name=commands.info.name)
    except SystemExit as done:
        if done.code == INTERRUPTED and not isinstance(done, Kept):
            typer.echo("cellveil: interrupted; everything is as it was.", err=True)
        return done.code if isinstance(done.code, int) else 0 if done.code is None else 1
    except CellveilError as error:
        typer.echo(f"cellveil: {error}", err=True)
        return error.exit_code
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        typer.echo(
            f"cellveil: {place}{error.strerror or type(error).__name__}. Nothing was released.", err=True
        )
        return InputError.exit_code
    except Exception as error:  # a bug: say so, without what the exception carries
        _tell_unexpected(error)
        return 1
    return 0


def _leave(code: int) -> NoReturn:
    """End the process at once: thread pools of libraries, torn down in the wrong order, have been seen to
    abort it after all work was done, which would hide the exit code.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _audit_publication(
    published: PublishedTable,
    within: float,
    time_limit: float | None,
    report: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    from cellveil.judge.published import audit_published

    with _progress(quiet or as_json) as progress:
        verdict = audit_published(published, within=within, time_limit=time_limit, progress=progress)
    _write_json(report, as_json, verdict.to_dict())
    _say(quiet or as_json, verdict.summary())
    disclosed = int(verdict.is_disclosed.sum())
    ending = "No hidden cell is disclosed." if verdict.is_safe else f"NOT SAFE: {disclosed} cells disclosed."
    _say(quiet or as_json, ending)
    _exit(0 if verdict.is_safe else 1)


def _weighted(problem: Problem, weights: Weights) -> Problem:
    from cellveil.rules.weights import weights as weights_of

    if weights is Weights.given:
        return problem
    return problem.replace(weight=weights_of(problem.table, weights.value))


def _tell_relaxed(relaxation: Relaxation) -> None:
    """On standard error, also where nothing else is printed: the pattern is not for what was asked."""
    lines = [f"cellveil: the requirements could not be met and were relaxed: {relaxation}."]
    typer.echo("\n".join([*lines, *relaxation.lines()]), err=True)


def _run_job(job: Job, quiet: bool, as_json: bool, job_file: Path | None, keep_best: bool = False) -> None:
    from cellveil.files import read_text
    from cellveil.job import run_job
    from cellveil.job.running import internal_files

    try:
        with _progress(quiet or as_json) as progress:
            result = run_job(job, keep_best=keep_best, progress=progress)
    except InfeasibleError:
        files = internal_files(job)
        if as_json:
            typer.echo(read_text(files["figures"]).rstrip())
        _say(quiet or as_json, f"Nothing was released.\nInternal    {_shown(files['figures'])}")
        raise
    try:
        _finish_job(result, quiet, as_json, job_file)
    except (OSError, KeyboardInterrupt) as error:  # what was released stays so, also if nobody was told
        done = "the release is made" if result.release is not None else "nothing was released"
        raise CellveilError(
            f"{job.output}: the run is complete and {done}; only printing it failed ({type(error).__name__})."
        ) from None


def _finish_job(result: JobResult, quiet: bool, as_json: bool, job_file: Path | None) -> None:
    if as_json:
        _write_json(None, as_json, result.report.to_dict())
    lines = [result.summary(), ""]
    if job_file is not None:
        lines.append(f"Job file    {_shown(job_file)}")
        lines.append(f"Run it      {_program()} run {quote(str(_shown(job_file)))}")
    if result.release is not None:
        lines += [f"Public      {_shown(result.release.folder / name)}" for name in result.release.files]
        lines += [f"Left out    {name}: {why}" for name, why in result.release.skipped.items()]
    else:
        lines.append("Nothing was released: the public folder holds no release.")
    lines += [
        f"Internal    {_shown(result.files[name])}" for name in INTERNAL_SHOWN if result.files[name].exists()
    ]
    lines.append(f"Open this   {_shown(result.files['report'])}")
    _say(quiet or as_json, "\n".join(lines))
    if result.suppression.was_interrupted:
        released = "released" if result.release is not None else "not safe, and nothing was released"
        _leave_interrupted(f"the best pattern so far was kept: it was {released}.")
    _exit(0 if result.is_safe and result.release is not None else 1)


def _program() -> str:
    """What to type for this program from here: its name where that finds it, else its place."""
    own = Path(sys.argv[0]).absolute()
    if own.stem != "cellveil":
        return "cellveil"
    found = which("cellveil")
    return "cellveil" if found and Path(found).samefile(own) else quote(str(_shown_as_is(own)))


def _shown_as_is(path: Path) -> Path:
    """Relative to the working folder where it lies below it; links are not followed."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _shown(path: Path) -> Path:
    """Relative to the working folder where that is shorter."""
    try:
        return path.resolve().relative_to(Path.cwd())
    except ValueError:
        return path


def _tell_unexpected(error: Exception) -> None:
    """Where it happened and nothing else: what an exception carries may be confidential."""
    if os.environ.get("CELLVEIL_DEBUG"):
        traceback.print_exc()
    frame = traceback.extract_tb(error.__traceback__)[-1]
    typer.echo(
        f"cellveil: internal error ({type(error).__name__} in {Path(frame.filename).name}, "
        f"line {frame.lineno}); nothing was released. Please report this line. "
        "With CELLVEIL_DEBUG=1 the full trace is printed, which may hold data.",
        err=True,
    )
