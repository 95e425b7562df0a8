"""The command `run`, and what is told about a job."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from shutil import which
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cellveil.cli.ending import duration, listed, shown_path, told, told_costly, with_files
from cellveil.cli.options import AsJson, ClusterAddress, Quiet, Workers
from cellveil.cli.progress_view import progress
from cellveil.cli.several_jobs import on_cluster, refuse_for_several, run_programme
from cellveil.cli.shell import leave_interrupted, leave_with, say, write_json
from cellveil.cli.streams import fitted, width_of_output
from cellveil.errors import CellveilError, InfeasibleError
from cellveil.progress import Phase

if TYPE_CHECKING:
    from cellveil.job import Job, JobResult


def run(
    job_files: Annotated[
        list[Path], typer.Argument(metavar="JOB.toml...", help="The job file, or several of them.")
    ],
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
    advise: Annotated[
        bool,
        typer.Option(
            "--advise",
            help="After the run, measure what recoding and other weights would give, by short searches on "
            "the same data.",
        ),
    ] = False,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    overview: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where the overview of several jobs goes, in place of the folder overview.",
        ),
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Run a job file: microdata or table in; audited release and report out. Or run several of them.

    Public files go into the folder public of the output folder, all others into internal. When the table is
    not shown safe, nothing is released, and the release of an earlier run is removed from public.

    Ctrl-C leaves everything as it was (exit code 130); with --keep-best it ends the search, and the best
    certified pattern is released, with the same exit code.

    Several jobs are all checked first; then they run side by side, and the page overview.html tells what each
    came to. One that fails does not stop the others, and the exit code is the worst of theirs.
    """
    from cellveil.job import read_job
    from cellveil.job.output_folder import check_outside

    with on_cluster(cluster):
        if len(job_files) > 1 or overview is not None:
            refuse_for_several(out=out is not None, keep_best=keep_best, advise=advise)
            run_programme(job_files, overview or Path("overview"), workers, quiet, as_json)
            return
        job = read_job(job_files[0])
        if out is not None:
            check_outside(out, job.output)
            job = job.model_copy(update={"output": out})
        run_and_tell(job, job_files[0], quiet, as_json, keep_best=keep_best, advises=advise, workers=workers)


def run_and_tell(
    job: Job,
    job_file: Path,
    quiet: bool,
    as_json: bool,
    *,
    keep_best: bool = False,
    advises: bool = False,
    workers: int | None = None,
) -> None:
    """Run a job, and tell how it ended."""
    from cellveil.files import read_text
    from cellveil.job import run_job
    from cellveil.job.job_files import internal_files

    began = perf_counter()
    try:
        with progress(quiet or as_json) as shown:
            result = run_job(job, keep_best=keep_best, workers=workers, progress=shown)
    except InfeasibleError:
        files = internal_files(job)
        write_json(None, as_json, json.loads(read_text(files["figures"])))
        say(quiet or as_json, f"Nothing was released.\nReport    {shown_path(files['report'])}")
        raise
    took = perf_counter() - began
    done = "the release is made" if result.release is not None else "nothing was released"
    try:
        say(quiet or as_json, "\n".join(_ending(result, job_file, took, advises)))
        advice = _advice(job, result, as_json, done) if advises and not quiet else {}
        write_json(None, as_json, result.report.to_dict() | advice)
    except (OSError, KeyboardInterrupt) as error:  # what was released stays so, also if nobody was told
        raise CellveilError(
            f"{job.output}: the run is complete and {done}; only printing it failed ({type(error).__name__})."
        ) from None
    if result.suppression.was_interrupted:
        released = "released" if result.release is not None else "not safe, and nothing was released"
        leave_interrupted(f"the best pattern so far was kept: it was {released}.")
    leave_with(0 if result.is_safe and result.release is not None else 1)


def _ending(result: JobResult, job_file: Path, took: float, advises: bool) -> list[str]:
    """Verdict and figures, what would help, and the three paths that matter."""
    measure = "" if advises else f"{run_command(job_file)} --advise"
    lines = [*told(result.report), *told_costly(result.report, measure), ""]
    public: object = "Nothing was released: the folder holds no release."
    if result.release is not None:
        public = with_files(shown_path(result.release.folder), result.release.files)
        lines += listed(("Left out", f"{name}: {why}") for name, why in result.release.skipped.items())
    paths = [
        ("Report", shown_path(result.files["report"])),
        ("Public", public),
        ("Job", shown_path(job_file)),
    ]
    return [*lines, *listed([("Time", duration(took)), *paths])]


def _advice(job: Job, result: JobResult, silent: bool, done: str) -> dict[str, Any]:
    """Measure what would help, tell it, and give it as a further key of the report."""
    from cellveil.job.advice import measured_proposals

    try:
        with progress(silent, [Phase.ADVISE]) as shown:
            advice = measured_proposals(job, result.problem, result.suppression.pattern, progress=shown)
    except KeyboardInterrupt:
        leave_interrupted(f"the run is complete and {done}; what would help was not measured.")
    lines = [part for line in advice.lines() for part in fitted(line, width_of_output())]
    say(silent, "\n".join(["", *lines]))
    return {"advice": asdict(advice)}


def run_command(job_file: Path) -> str:
    """What to type to run a job from here."""
    return f"{_program()} run {quote(str(shown_path(job_file)))}"


def _program() -> str:
    """What to type for this program from here: its name where that finds it, else its place."""
    own = Path(sys.argv[0]).absolute()
    found = which("cellveil")
    if own.stem != "cellveil" or (found is not None and _is_same_program(Path(found), own)):
        return "cellveil"
    return quote(str(_shown_as_is(own)))


def _is_same_program(one: Path, other: Path) -> bool:
    """Whether both are one program; a launcher of Windows leaves out the suffix of its own name."""
    places = {os.path.normcase(path.resolve().with_suffix("")) for path in (one, other)}
    return len(places) == 1


def _shown_as_is(path: Path) -> Path:
    """Relative to the working folder where it lies below it; links are not followed."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
