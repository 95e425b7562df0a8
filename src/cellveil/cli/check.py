"""The command `check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cellveil.cli.options import AsJson, Quiet
from cellveil.cli.progress_view import progress
from cellveil.cli.shell import leave_with, say, write_json
from cellveil.cli.streams import fitted, width_of_output
from cellveil.errors import InfeasibleError


def check(
    job_file: Annotated[Path, typer.Argument(metavar="JOB.toml", help="The job file.")],
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Do everything of a job but the search: what will be protected, against whom, and what to look at.

    Data are read, tables made, rules applied; nothing is written. Exit code 0 if the job can run, 2 if
    something is wrong with it, 3 if some cells cannot be protected whatever is hidden.
    """
    from cellveil.job import read_job
    from cellveil.job.checking import check_job

    job = read_job(job_file)
    with progress(quiet or as_json) as shown:
        found = check_job(job, progress=shown)
    write_json(None, as_json, found.to_dict())
    lines = [part for line in found.lines() for part in fitted(line, width_of_output())]
    say(quiet or as_json, "\n".join(lines))
    leave_with(0 if found.feasible else InfeasibleError.exit_code)
