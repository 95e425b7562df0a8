"""The command `init`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cellveil.cli.options import Quiet
from cellveil.cli.shell import say
from cellveil.errors import InputError


def init(
    data: Annotated[
        Path,
        typer.Argument(metavar="DATA", help="Records or a table: CSV, Parquet, Excel, SAS, Stata, SPSS, …"),
    ],
    out: Annotated[
        Path, typer.Option(metavar="JOB.toml", help="The job file; one that is there is not overwritten.")
    ] = Path("job.toml"),
    sheet: Annotated[str | None, typer.Option(help="Of an Excel file; by default the first.")] = None,
    query: Annotated[str | None, typer.Option(help="Of a database: one SELECT that gives the rows.")] = None,
    skip: Annotated[int, typer.Option(min=0, help="Lines above the header.")] = 0,
    encoding: Annotated[str, typer.Option(help="Of a CSV file.")] = "utf-8",
    quiet: Quiet = False,
) -> None:
    """Write a first job file over a data file: roles of columns guessed, with comments, ready to run.

    Which columns look like dimensions, amounts, contributors or weights is told by their names and contents.
    Confirm it, and decide about the rules.
    """
    from cellveil.files import write_text
    from cellveil.job.starter_job import starter_job
    from cellveil.microdata.source_options import SourceOptions

    if out.exists():
        raise InputError("the file is there already", file=out, remedy="Name another file, or remove it.")
    options = SourceOptions(encoding=encoding, skip=skip, sheet=sheet, query=query)
    job = starter_job(data, out.parent, options)
    write_text(out, job.text)
    say(quiet, "\n".join([*(f"Guessed     {guess}" for guess in job.guesses), f"Job         {out}"]))
    say(quiet, f"Next        cellveil check {out}")
