"""`python -m experiments`: the experiments of the literature from the command line."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cellveil.cli.app import run_command
from cellveil.cli.options import Quiet

app = typer.Typer(name="experiments", add_completion=False, pretty_exceptions_enable=False)


class Budget(StrEnum):
    """How large and how often."""

    quick = "quick"
    medium = "medium"
    full = "full"


@app.command()
def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The experiment; without it they are listed.")
    ] = None,
    budget: Annotated[
        Budget, typer.Option(help="Sizes and repetitions: full is the setting of the paper.")
    ] = Budget.quick,
    seed: Annotated[int, typer.Option(min=0, help="Seed of tables and searches.")] = 1,
    time_limit: Annotated[
        float | None,
        typer.Option(min=0.0, metavar="SECONDS", help="For one run of a method, in place of the budget's."),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where page, plots and data go.")] = None,
    quiet: Quiet = False,
) -> None:
    """Repeat an experiment of the literature: make its tables, run it, write tables and plots."""
    from cellveil.cli.progress_view import progress as progress_bar
    from experiments import EXPERIMENTS
    from experiments import reproduce as run

    if name is None:
        for each, experiment in EXPERIMENTS.items():
            typer.echo(f"{each:16} {experiment.summary}")
        return
    with progress_bar(quiet) as progress:
        record = run(name, budget.value, seed=seed, time_limit=time_limit, progress=progress)
    files = record.write(out if out is not None else Path(f"experiment-{name}"))
    if not quiet:
        typer.echo(record.markdown())
        typer.echo("\n".join(f"Written: {file}" for file in files))


if __name__ == "__main__":
    raise SystemExit(run_command(sys.argv[1:], app))
