"""The command `argus`, which is also the program `cellveil-argus`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cellveil.cli.shell import leave_with, say
from cellveil.cli.streams import write_error
from cellveil.errors import CellveilError

NOT_GIVEN = ("-", "/v")
"""What stands in the place of an argument that is left out."""

OUTSIDERS_ONLY = 4
"""Exit code where files were written although single contributors are not kept off from every cell."""


def argus(
    batch: Annotated[Path, typer.Argument(metavar="JOB.arb", help="The batch file.")],
    log: Annotated[str, typer.Argument(metavar="LOG", help="The logbook; - for the usual one.")] = "-",
    temporary: Annotated[
        str, typer.Argument(metavar="TEMPDIR", help="Folder for temporary files; - for the usual one.")
    ] = "-",
    data: Annotated[
        str, typer.Argument(metavar="DATADIR", help="Where data are that are not beside the batch file.")
    ] = "-",
) -> None:
    """Run a batch file of tau-ARGUS; `cellveil-argus` is the same as a program of its own.

    Tables are protected by the methods of cellveil, those that share cells together, and audited. A table
    that was not shown safe is not written to a public file; the run ends there, and the logbook says why.
    Where outsiders are kept off, but not from every cell the single contributors that the batch asks to keep
    off too, files are written and the exit code is 4.
    """
    from cellveil.argus.batch.running_batch import run_batch

    given = [None if text in NOT_GIVEN else Path(text) for text in (log, temporary, data)]
    logs: list[Path] = []
    try:
        result = run_batch(batch, log=given[0], temporary=given[1], data=given[2], tell_log=logs.append)
    except CellveilError:
        for path in logs:
            write_error(f"cellveil: the log is {path}")
        raise
    for path in result.files:
        say(result.is_silent, f"Written     {path}")
    say(result.is_silent, f"Log         {logs[-1]}")
    for warning in result.warnings:
        typer.echo(f"cellveil: {warning}.", err=True)
    leave_with(OUTSIDERS_ONLY if result.warnings else 0)
