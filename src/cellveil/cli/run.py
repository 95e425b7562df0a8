"""The command `run`, and what is told about a job."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote
from shutil import which
from typing import TYPE_CHECKING, Annotated

import typer

from cellveil.cli.options import AsJson, Quiet
from cellveil.cli.shell import leave_interrupted, leave_with, progress, say, write_json
from cellveil.errors import CellveilError, InfeasibleError

if TYPE_CHECKING:
    from cellveil.job import Job, JobResult

INTERNAL_SHOWN = ("figures", "pattern", "certificate", "instance")


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
    run_and_tell(job, quiet, as_json, None, keep_best)


def run_and_tell(
    job: Job, quiet: bool, as_json: bool, job_file: Path | None, keep_best: bool = False
) -> None:
    from cellveil.files import read_text
    from cellveil.job import run_job
    from cellveil.job.running import internal_files

    try:
        with progress(quiet or as_json) as shown:
            result = run_job(job, keep_best=keep_best, progress=shown)
    except InfeasibleError:
        files = internal_files(job)
        if as_json:
            typer.echo(read_text(files["figures"]).rstrip())
        say(quiet or as_json, f"Nothing was released.\nInternal    {_shown(files['figures'])}")
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
        write_json(None, as_json, result.report.to_dict())
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
    say(quiet or as_json, "\n".join(lines))
    if result.suppression.was_interrupted:
        released = "released" if result.release is not None else "not safe, and nothing was released"
        leave_interrupted(f"the best pattern so far was kept: it was {released}.")
    leave_with(0 if result.is_safe and result.release is not None else 1)


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
