"""Several jobs by one command: what is told of them, and the cluster that a command uses."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from cellveil.cli.ending import NOT_SAFE, SAFE, duration, listed, shown_path
from cellveil.cli.progress_view import progress
from cellveil.cli.shell import INTERRUPTED, leave_interrupted, leave_with, say, write_json
from cellveil.cli.streams import fitted, painted, width_of_output
from cellveil.errors import InputError, counted

if TYPE_CHECKING:
    from cellveil.report.programme_overview import Overview


def on_cluster(address: str | None) -> AbstractContextManager[object]:
    """The cluster at an address for what is done inside; this machine where there is none."""
    if address is None:
        return nullcontext()
    from cellveil.tasks import cluster

    return cluster(address)


def refuse_for_several(**given: bool) -> None:
    """Raise for options that concern one job only."""
    for name, is_given in given.items():
        if is_given:
            raise InputError(
                f"--{name.replace('_', '-')} is for one job, and there are several or an overview",
                remedy="Leave it out, or run that job alone.",
            )


def run_programme(
    job_files: Sequence[Path], folder: Path, workers: int | None, quiet: bool, as_json: bool
) -> None:
    """Run several jobs, and tell how each ended."""
    from cellveil.job import run_jobs
    from cellveil.job.programme import PAGE

    with progress(quiet or as_json) as shown:
        overview = run_jobs(list(job_files), folder, workers=workers, progress=shown)
    say(quiet or as_json, "\n".join([*_lines(overview), *listed([("Overview", shown_path(folder / PAGE))])]))
    write_json(None, as_json, overview.to_dict())
    if overview.exit_code == INTERRUPTED:
        done = sum(line.exit_code != INTERRUPTED for line in overview.lines)
        leave_interrupted(f"{counted(done, 'job is', 'jobs are')} complete, of the others all is as it was.")
    leave_with(overview.exit_code)


def _lines(overview: Overview) -> list[str]:
    """Verdict, a line or two for each job, and the time."""
    width = width_of_output()
    lines = [painted(overview.verdict, SAFE if overview.is_safe else NOT_SAFE), ""]
    for line in overview.lines:
        title, state, _, cells, published, cost, gap, took = line.texts()
        figures = f": {published} of {cells} cells published, cost {cost}, gap {gap}, {took} s"
        lines += fitted(f"{title}: {state}{figures if line.cells is not None else ''}", width)
        if not line.exit_code:
            continue
        lines += [f"  {part}" for part in fitted(line.verdict, None if width is None else width - 2)]
    return [*lines, "", *listed([("Time", duration(overview.seconds))])]
