"""The command `demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cellveil.cli.ending import listed
from cellveil.cli.options import AsJson, Quiet
from cellveil.cli.progress_view import progress
from cellveil.cli.run import run_and_tell, run_command
from cellveil.cli.shell import say
from cellveil.progress import Phase


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
    from cellveil.datasets.demo_job import check_demo_folder, write_demo_job
    from cellveil.job import read_job

    check_demo_folder(out)
    with progress(quiet or as_json) as shown:
        shown.phase(Phase.INVENT)
        job_file = write_demo_job(business(firms, seed), out)
    run_and_tell(read_job(job_file), job_file, quiet, as_json)
    say(quiet or as_json, "\n".join(listed([("Run it", run_command(job_file))])))
