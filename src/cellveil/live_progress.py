"""Progress of a search for a pattern, shown while it lasts: a line in terminals, a line in notebooks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from shutil import get_terminal_size
from typing import Any

from cellveil.clock import NO_LIMIT, Deadline
from cellveil.progress import Phase, Progress
from cellveil.progress.line import ProgressLine

INTERVAL = 0.25
"""Seconds between two changes of what is shown."""

Writer = Callable[[str], None]
"""Shows a line in place of the one before; an empty one clears it."""


@contextmanager
def shown_progress(progress: Progress | bool | None) -> Iterator[Progress]:
    """An observer as it is; for True one that shows a line where somebody is looking, and clears it after.

    In a notebook the line is an output of the cell. In a terminal it stands on standard error; where that
    goes to a file, nothing is shown.
    """
    if isinstance(progress, Progress):
        yield progress
        return
    write = (_notebook() or _terminal()) if progress else None
    if write is None:
        yield Progress()
        return
    try:
        yield LiveLine(write)
    finally:
        write("")


class LiveLine(ProgressLine):
    """The line of progress, written as it changes, but not more often than somebody can read.

    Examples
    --------
    >>> lines = []
    >>> line = LiveLine(lines.append)
    >>> line.phase(Phase.SEARCH)
    >>> lines
    ['looking for a pattern  0:00']
    """

    def __init__(self, write: Writer) -> None:
        super().__init__()
        self._write, self._next = write, 0.0

    def phase(self, phase: Phase, until: Deadline = NO_LIMIT) -> None:
        """See `Progress`."""
        super().phase(phase, until)
        self._show()

    def stage(self, name: str) -> None:
        """See `Progress`."""
        super().stage(name)
        self._show()

    def advance(self, done: int, total: int | None = None, **figures: Any) -> None:
        """See `Progress`."""
        super().advance(done, total, **figures)
        self._show()

    def _show(self) -> None:
        if self.seconds >= self._next:
            self._next = self.seconds + INTERVAL
            self._write(self.text(max(get_terminal_size().columns - 1, 1)))


def _terminal() -> Writer | None:
    """Writes over a line of standard error; None where nobody is looking."""
    stream, last = sys.stderr, [0]
    if stream is None or not stream.isatty():
        return None

    def write(text: str) -> None:
        text = text[: max(get_terminal_size().columns - 1, 1)]
        stream.write(f"\r{text.ljust(last[0])}" + ("" if text else "\r"))
        stream.flush()
        last[0] = len(text)

    return write


def _notebook() -> Writer | None:
    """Changes one output of the cell; None where this is no notebook."""
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import HTML, display

    handle = display(HTML(""), display_id=True)

    def write(text: str) -> None:
        handle.update(HTML(f"<code>{escape(text)}</code>" if text else ""))

    return write
