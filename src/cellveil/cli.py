"""The command line: thin, calls the same verbs as the library. Exit codes are those of the contract.

0 done and safe; 1 done, not safe (nothing released); 2 bad input or usage; 3 infeasible; 130 interrupted.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from cellveil.errors import CellveilError, InfeasibleError
from cellveil.progress import Progress

if TYPE_CHECKING:
    from cellveil.job import JobResult
    from cellveil.problem import Problem

app = typer.Typer(
    name="cellveil",
    help="Protect published statistical tables: find what discloses, hide as little as possible, prove it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


class Weights(StrEnum):
    """Where the information loss of a cell comes from."""

    given = "given"
    value = "value"
    one = "one"


class Attacker(StrEnum):
    """Whose attack is audited."""

    outsider = "outsider"


Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON on standard output.")]
Instance = Annotated[Path, typer.Argument(help="A JJ file or a folder in the tidy format.")]
ReportFile = Annotated[Path | None, typer.Option("--report", help="Write the figures to this JSON file.")]


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for data, release and report.")] = Path("cellveil-demo"),
    firms: Annotated[int, typer.Option(min=100, help="How many firms to invent.")] = 50_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the invented data.")] = 1,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Run the main job on built-in data: firms in, audited release and report out."""
    from cellveil.datasets import business
    from cellveil.datasets.demo import write_demo_job
    from cellveil.job import read_job, run_job

    with _progress(quiet or as_json) as progress:
        progress.stage("invent firms")
        job_file = write_demo_job(business(firms, seed), out)
        result = run_job(read_job(job_file), progress=progress)
    _finish_job(result, quiet, as_json, job_file)


@app.command()
def run(
    job_file: Annotated[Path, typer.Argument(metavar="JOB.toml", help="The job file.")],
    out: Annotated[Path | None, typer.Option(help="Folder for the results, instead of the job's.")] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Run a job file: microdata or table in; release, report and pattern out."""
    from cellveil.job import read_job, run_job

    job = read_job(job_file)
    if out is not None:
        job = job.model_copy(update={"output": out})
    with _progress(quiet or as_json) as progress:
        result = run_job(job, progress=progress)
    _finish_job(result, quiet, as_json, None)


@app.command()
def suppress(
    instance: Instance,
    out: Annotated[Path, typer.Option("--out", help="Write the pattern to this CSV file.")],
    method: Annotated[str, typer.Option(help="Suppression method.")] = "auto",
    weights: Annotated[Weights, typer.Option(help="Information loss per cell.")] = Weights.given,
    time_limit: Annotated[float | None, typer.Option(min=0.0, help="Seconds for the search.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="For methods that draw random numbers.")] = 0,
    report: ReportFile = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Find a pattern that protects an instance, audit it, and write it if it is safe."""
    from cellveil.formats.instance import read_instance
    from cellveil.formats.pattern import write_pattern
    from cellveil.report import build_report
    from cellveil.suppression import suppress as find_pattern

    problem = _weighted(read_instance(instance), weights)
    try:
        with _progress(quiet or as_json) as progress:
            found = find_pattern(problem, method, time_limit=time_limit, seed=seed, progress=progress)
    except InfeasibleError as error:
        _write_json(report, as_json, _infeasible_figures(problem, method, seed, error))
        raise
    settings = {"instance": instance.name, "weights": weights.value, "time_limit": time_limit}
    figures = build_report(problem, found, found.audit, title=instance.name, parameters=settings)
    if found.is_safe:
        write_pattern(problem, found.pattern, out)
    _write_json(report, as_json, figures.to_dict())
    _say(quiet or as_json, figures.summary())
    _say(quiet or as_json, f"Pattern: {out}" if found.is_safe else "Not shown safe: no pattern was written.")
    _exit(0 if found.is_safe else 1)


@app.command()
def audit(
    instance: Instance,
    pattern: Annotated[Path, typer.Argument(metavar="PATTERN.csv", help="Which cells are hidden.")],
    attacker: Annotated[Attacker, typer.Option(help="Whose attack to try.")] = Attacker.outsider,
    time_limit: Annotated[float | None, typer.Option(min=0.0, help="Seconds for all attacks.")] = None,
    report: ReportFile = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Attack a pattern and judge every primary cell of the instance."""
    from cellveil.auditing import audit as judge
    from cellveil.formats.instance import read_instance
    from cellveil.formats.pattern import read_pattern
    from cellveil.report.audit import audit_figures

    problem = read_instance(instance)
    with _progress(quiet or as_json) as progress:
        verdict = judge(problem, read_pattern(pattern, problem), time_limit=time_limit, progress=progress)
    _write_json(report, as_json, audit_figures(problem, verdict))
    unsafe = problem.table.cell_names(verdict.unsafe_cells)
    _say(quiet or as_json, f"Attacker: {attacker.value}. Primary cells: {len(verdict.cells)}.")
    for name in unsafe[:20]:
        _say(quiet or as_json, f"  not protected: {name}")
    if len(unsafe) > 20:
        _say(quiet or as_json, f"  … and {len(unsafe) - 20} more; see --report")
    _say(
        quiet or as_json, "Safe." if verdict.is_safe else f"NOT SAFE: {len(unsafe)} cells ({verdict.reason})."
    )
    _exit(0 if verdict.is_safe else 1)


@app.command()
def methods() -> None:
    """List the suppression methods."""
    from cellveil.suppression import METHODS

    for name, entry in METHODS.items():
        typer.echo(f"{name:12} {entry.summary}")


def main() -> None:
    """Run the command line; every error ends with a sentence and the documented exit code."""
    try:
        app()
        code = 0
    except SystemExit as done:
        code = done.code if isinstance(done.code, int) else 0 if done.code is None else 1
    except CellveilError as error:
        typer.echo(f"cellveil: {error}", err=True)
        code = error.exit_code
    except Exception as error:  # a bug: say so, without what the exception carries
        _tell_unexpected(error)
        code = 1
    _leave(code)


def _leave(code: int) -> NoReturn:
    """End the process at once: thread pools of libraries, torn down in the wrong order, have been seen to
    abort it after all work was done, which would hide the exit code.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _weighted(problem: Problem, weights: Weights) -> Problem:
    from cellveil.sensitivity.weights import weights as weights_of

    if weights is Weights.given:
        return problem
    return problem.replace(weight=weights_of(problem.table, weights.value))


def _infeasible_figures(problem: Problem, method: str, seed: int, error: InfeasibleError) -> dict[str, Any]:
    return {
        "method": method,
        "outcome": "infeasible",
        "reason": str(error),
        "cells": problem.table.num_cells,
        "primaries": len(problem.primaries),
        "unsafe_cells": list(error.cells),
        "conflicting_cells": list(error.conflicts),
        "seed": seed,
    }


def _finish_job(result: JobResult, quiet: bool, as_json: bool, job_file: Path | None) -> None:
    _write_json(None, as_json, result.report.to_dict())
    silent = quiet or as_json
    _say(silent, result.summary())
    _say(silent, result.report.verdict)
    if job_file is not None:
        _say(silent, f"\nJob file    {job_file}")
    if result.release is not None:
        for name in result.release.files:
            _say(silent, f"Public      {_shown(result.release.folder / name)}")
        for name, why in result.release.skipped.items():
            _say(silent, f"Left out    {name}: {why}")
    else:
        _say(silent, "Nothing was released.")
    for name in ("figures", "pattern", "instance"):
        _say(silent, f"Internal    {_shown(result.files[name])}")
    _say(silent, f"Open this   {_shown(result.files['report'])}")
    _exit(0 if result.is_safe else 1)


def _shown(path: Path) -> Path:
    """Relative to the working folder where that is shorter."""
    try:
        return path.resolve().relative_to(Path.cwd())
    except ValueError:
        return path


def _write_json(path: Path | None, to_stdout: bool, figures: dict[str, Any]) -> None:
    from cellveil.files import write_text

    text = json.dumps(figures, indent=2, ensure_ascii=False)
    if path is not None:
        write_text(path, text + "\n")
    if to_stdout:
        typer.echo(text)


def _say(silent: bool, text: str) -> None:
    if not silent:
        typer.echo(text)


def _exit(code: int) -> None:
    if code:
        raise typer.Exit(code)


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


@contextmanager
def _progress(silent: bool) -> Iterator[Progress]:
    """A bar on standard error when somebody is looking."""
    if silent or not sys.stderr.isatty():
        yield Progress()
        return
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    class Bar(Progress):
        def __init__(self, bars: Bars) -> None:
            self.bars, self.task = bars, bars.add_task("start", total=None, figures="")

        def stage(self, name: str) -> None:
            self.bars.update(self.task, description=name, completed=0, total=None, figures="")

        def advance(self, done: int, total: int | None = None, **figures: Any) -> None:
            shown = "  ".join(f"{key} {value}" for key, value in figures.items())
            self.bars.update(self.task, completed=done, total=total, figures=shown)

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[figures]}"),
    )
    with Bars(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True) as bars:
        yield Bar(bars)
