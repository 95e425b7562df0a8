"""The command `history`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cellveil.cli.options import AsJson, Quiet
from cellveil.cli.shell import leave_with, say, write_json


def history(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The output folder of a job, or its folder releases.")
    ],
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """List the releases that a job has kept, each with what changed since the one before.

    Exit code 1 if a file of one of them was changed after the release was made.
    """
    from cellveil.formats.release_history import read_history

    found = read_history(folder)
    write_json(None, as_json, {"releases": [release.to_dict() for release in found]})
    say(quiet or as_json, "\n".join(line for release in found for line in [*release.lines(), ""]).rstrip())
    leave_with(1 if any(release.changed for release in found) else 0)
