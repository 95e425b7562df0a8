"""What all commands do alike: check targets, write figures, end with an exit code."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NoReturn

import typer

from cellveil.cli.streams import can_write, write_error, write_out
from cellveil.errors import InputError


def check_targets(instance: Path, *targets: Path | None) -> None:
    """Raise where a file could not be written after a long run, or would overwrite another one."""
    from cellveil.job.output_folder import check_writable

    given = [target for target in targets if target is not None]
    inputs = {instance.resolve(), *(file.resolve() for file in instance.glob("*.csv") if is_input(file))}
    for position, target in enumerate(given):
        if target.is_dir():
            raise InputError("a folder where a file is to be written", file=target, remedy="Name a file.")
        if target.resolve() in inputs:
            raise InputError(
                "the result would overwrite the instance", file=target, remedy="Name another file."
            )
        if target.resolve() in [other.resolve() for other in given[:position]]:
            raise InputError("two results would go to one file", file=target, remedy="Name another file.")
        check_writable(target)


def remove(*files: Path | None) -> None:
    """Remove what an older run may have left."""
    for file in files:
        if file is not None:
            file.unlink(missing_ok=True)


def is_input(file: Path) -> bool:
    from cellveil.formats.tidy_folder import CELLS, CONTRIBUTIONS, EQUATIONS

    return file.name in (CELLS, CONTRIBUTIONS, EQUATIONS) or file.name.startswith("hier_")


def write_json(path: Path | None, to_stdout: bool, figures: dict[str, Any]) -> None:
    from cellveil.files import write_text

    text = json.dumps(figures, indent=2, ensure_ascii=False)
    if path is not None:
        write_text(path, text + "\n")
    if to_stdout:
        write_out(text if can_write(text) else json.dumps(figures, indent=2))


def say(silent: bool, text: str) -> None:
    if not silent:
        write_out(text)


INTERRUPTED = 130


class Kept(SystemExit):
    """The end of a command that was interrupted and kept the best certified result; it has said so itself."""

    def __init__(self) -> None:
        super().__init__(INTERRUPTED)


def leave_with(code: int) -> None:
    if code:
        raise typer.Exit(code)


def leave_interrupted(kept: str) -> NoReturn:
    """End an interrupted command, saying what was kept."""
    tell_interrupted(kept)
    raise Kept


def tell_interrupted(kept: str) -> None:
    """Say on standard error what was kept, over the ^C of the terminal."""
    over = "\r" if sys.stderr.isatty() else ""
    write_error(f"{over}cellveil: interrupted; {kept}")
