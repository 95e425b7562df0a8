"""A bar on standard error when somebody is looking."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cellveil.progress import Progress


@contextmanager
def progress_bar(silent: bool) -> Iterator[Progress]:
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
