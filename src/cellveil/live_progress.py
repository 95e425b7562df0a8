"""Progress of a search for a pattern, shown while it lasts: a line in terminals, a line in notebooks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from shutil import get_terminal_size
from typing import Any

from cellveil.progress import Progress

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


class LiveLine(Progress):
    """Says the stage, how far it is, figures beside it, and the time since the beginning.

    Examples
    --------
    >>> lines = []
    >>> line = LiveLine(lines.append)
    >>> line.stage("cubes")
    >>> line.advance(3, 4, cost=1234.5)
    >>> line.text()
    'cubes 75 %  cost 1,234  0:00'
    """

    def __init__(self, write: Writer) -> None:
        self._write, self._begin, self._next = write, time.perf_counter(), 0.0
        self._stage, self._share, self._figures = "start", "", ""

    def stage(self, name: str) -> None:
        """See `Progress`."""
        self._stage, self._share, self._figures = name, "", ""
        self._show()

    def advance(self, done: int, total: int | None = None, **figures: Any) -> None:
        """See `Progress`."""
        self._share = f" {100 * min(done / total, 1.0):.0f} %" if total else ""
        self._figures = "".join(f"  {name} {_plain(value)}" for name, value in figures.items())
        self._show()

    def text(self) -> str:
        """The line."""
        minutes, seconds = divmod(int(time.perf_counter() - self._begin), 60)
        return f"{self._stage}{self._share}{self._figures}  {minutes}:{seconds:02}"

    def _show(self) -> None:
        now = time.perf_counter()
        if now >= self._next:
            self._next = now + INTERVAL
            self._write(self.text())


def _plain(value: Any) -> str:
    """A figure in few characters."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


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
