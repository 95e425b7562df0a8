"""The command `explain`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def explain(
    job_file: Annotated[
        Path, typer.Argument(metavar="JOB.toml", help="The job file; it must have been run.")
    ],
    cell: Annotated[
        str,
        typer.Argument(
            metavar="CELL",
            help="Codes by dimension (nace=A,region=North) or in order (A,North); left out: the total.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where the run wrote, in place of the job's output."),
    ] = None,
    time_limit: Annotated[float, typer.Option(min=0.0, metavar="SECONDS", help="Time for the judge.")] = 30.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the explanation as JSON.")] = False,
) -> None:
    """Explain one cell of the last run of a job: what is in it, why it is hidden, what it protects.

    Shows value and largest contributors, the arithmetic of the rules, the interval that an outsider is left
    with and what is required, the primary cells that it helps to protect, and what publishing it would open
    to outsiders and to everybody else whom the job keeps off, such as contributors and coalitions. Nothing is
    searched anew. What it prints is confidential.

    Example: cellveil explain job.toml industry=A,region=North
    """
    from cellveil.clock import Deadline
    from cellveil.job import read_job
    from cellveil.job.last_run import LastRun

    job = read_job(job_file)
    if out is not None:
        job = job.model_copy(update={"output": out})
    told = LastRun.of(job, job_file).explain(cell, Deadline(time_limit))
    typer.echo(json.dumps(told.to_dict(), indent=2, ensure_ascii=False) if as_json else str(told))
