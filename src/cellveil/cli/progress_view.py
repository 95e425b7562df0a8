"""Progress on a terminal: one line on standard error that is written over, and cleared at the end."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import TextIO

from cellveil.clock import NO_LIMIT, Deadline
from cellveil.progress import Phase, Progress
from cellveil.progress.line import ProgressLine

INTERVAL = 0.25
"""Seconds between two looks at what is to be shown."""

USUAL_WIDTH = 80


@contextmanager
def progress(silent: bool, phases: Sequence[Phase] = ()) -> Iterator[Progress]:
    """A line on standard error when somebody is looking; nothing where it goes to a file or a pipe.

    A terminal that cannot write over a line gets one line for each phase.
    """
    if silent or not sys.stderr.isatty():
        yield Progress()
        return
    shown = PhaseLines(sys.stderr) if os.environ.get("TERM") == "dumb" else ProgressLine()
    shown.plan(phases)
    if isinstance(shown, PhaseLines):
        yield shown
        return
    with _drawn(shown, sys.stderr):
        yield shown


class PhaseLines(ProgressLine):
    """One plain line for each phase as it begins."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream, self._last = stream, ""

    def phase(self, phase: Phase, until: Deadline = NO_LIMIT) -> None:
        """See `Progress`."""
        super().phase(phase, until)
        if self.words != self._last:
            self._last = self.words
            self._stream.write(f"{self.place} {self.words}\n".lstrip())


@contextmanager
def _drawn(line: ProgressLine, stream: TextIO) -> Iterator[None]:
    """Draw the line as long as the block lasts; whatever ends it, nothing of the line is left."""
    over, pen = Event(), Pen(stream)

    def draw() -> None:
        while not over.wait(INTERVAL):
            pen.draw(line.text(pen.width))

    drawer = Thread(target=draw, daemon=True)
    drawer.start()
    try:
        yield
    finally:
        over.set()
        drawer.join()
        pen.clear()


class Pen:
    r"""Writes over one line of a terminal, only where it changed, and by characters alone.

    Examples
    --------
    >>> import io
    >>> stream = io.StringIO()
    >>> pen = Pen(stream)
    >>> for text in ("longer", "short", "short"):
    ...     pen.draw(text)
    >>> pen.clear()
    >>> stream.getvalue()
    '\rlonger\rshort \r       \r'
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._last = stream, ""

    @property
    def width(self) -> int:
        """Characters that fit into a line; the last column would make some terminals go to the next one."""
        try:
            columns = os.get_terminal_size(self._stream.fileno()).columns
        except (OSError, ValueError):
            columns = USUAL_WIDTH
        return max((columns or USUAL_WIDTH) - 1, 1)

    def draw(self, text: str) -> None:
        """Show this in place of what was shown before."""
        if text != self._last:
            self._write(f"\r{text.ljust(min(len(self._last), self.width))}")
            self._last = text

    def clear(self) -> None:
        """Leave an empty line, also where the terminal wrote ^C behind it."""
        if self._last:
            self._write(f"\r{' ' * min(len(self._last) + 2, self.width)}\r")
            self._last = ""

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # nobody is looking any more
            pass
