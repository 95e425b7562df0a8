"""What all commands do alike: check targets, show progress, write figures, end with an exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from cellveil.errors import InputError
from cellveil.progress import Progress


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
        typer.echo(text)


def say(silent: bool, text: str) -> None:
    if not silent:
        typer.echo(text)


INTERRUPTED = 130


class Kept(SystemExit):
    """The end of a command that was interrupted and kept the best certified result; it has said so itself."""

    def __init__(self) -> None:
        super().__init__(INTERRUPTED)


def leave_with(code: int) -> None:
    if code:
        raise typer.Exit(code)


def leave_interrupted(kept: str) -> None:
    """End an interrupted command, saying what was kept."""
    typer.echo(f"cellveil: interrupted; {kept}", err=True)
    raise Kept


@contextmanager
def progress(silent: bool) -> Iterator[Progress]:
    """A bar on standard error when somebody is looking."""
    if silent or not sys.stderr.isatty():
        yield Progress()
        return
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    class Bar(Progress):
        def __init__(self, bars: Bars) -> None:
            self.bars, self.task = bars, bars.add_task("start", total=None, figures="")

        def stage(self, name: str) -> None:
            self.bars.update(self.task, description=name, completed=0, total=None, figures="")

        def advance(self, done: int, total: int | None = None, **figures: Any) -> None:
            shown = "  ".join(f"{key} {value}" for key, value in figures.items())
            self.bars.update(self.task, completed=done, total=total, figures=shown)

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[figures]}"),
    )
    with Bars(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True) as bars:
        yield Bar(bars)
