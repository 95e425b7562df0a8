"""The command `template`: from a list of the tables to be published to a job of linked tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cellveil.cli.options import Quiet
from cellveil.cli.shell import say
from cellveil.errors import InputError, counted


def template(
    template_file: Annotated[
        Path, typer.Argument(metavar="TEMPLATE.csv", help="One table in a line, as rtauargus has it, too.")
    ],
    data: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The records: they show which variables are nested or add up."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="JOB.toml", help="Write a commented job file there.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Show which linked tables a template comes to, and write a job file over them.

    Shown for approval: dimensions and their levels, equations between responses, and clusters of tables that
    have nothing to do with each other. The job needs rules before it runs.
    """
    from cellveil.files import write_text
    from cellveil.job.template_job import job_text, plan_of_files

    if out is not None and out.exists():
        raise InputError("the file is there already", file=out, remedy="Name another file, or remove it.")
    plan = plan_of_files(template_file, data)
    say(
        quiet, f"{counted(len(plan.tables), 'table')} in {counted(len(plan.clusters), 'independent cluster')}"
    )
    for number, cluster in enumerate(plan.clusters, 1):
        say(quiet, f"  cluster {number}: {', '.join(cluster)}")
    for note in plan.notes:
        say(quiet, f"  inferred: {note}")
    if out is not None:
        write_text(out, job_text(plan, template_file, data, out.parent))
        say(quiet, f"Job file: {out}. Approve it, add rules, and run it.")
