"""Tasks that are asked to stop early, and come back with the best that they have.

An interrupt is for whoever waits: it asks the workers to stop. For processes of this machine an empty file
appears then, and they get a signal where the system has some; workers of a cluster are told. A search looks
each time that it tells how far it is, and each time that it asks whether its time is over.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from cellveil.clock import NO_LIMIT, Deadline
from cellveil.progress import Phase, Progress

PULSE = 0.2
"""Seconds between two looks for the file."""

_asked: set[str] = set()
_mark: ContextVar[str] = ContextVar("mark", default="")


def ask_to_stop(mark: str) -> None:
    """Have the tasks with this mark stop in this process."""
    _asked.add(mark)


@contextmanager
def marked(mark: str) -> Iterator[None]:
    """What is called inside stops when it is asked to by this mark: a name, or the path of a file."""
    token = _mark.set(mark)
    try:
        yield
    finally:
        _mark.reset(token)


def is_asked() -> bool:
    """Whether the task that runs here is asked to stop."""
    return _Looks().is_asked


def until_asked(deadline: Deadline) -> Deadline:
    """The deadline of a task, which is over, with all shares of it, once the task is asked to stop."""
    looks = _Looks()
    return deadline.or_when(lambda: looks.is_asked, in_shares=True)


class _Looks:
    """Whether the task that runs here is asked to stop, in whatever thread; files are looked for at times."""

    def __init__(self) -> None:
        self._mark, self._next = _mark.get(), 0.0

    @property
    def is_asked(self) -> bool:
        if not self._mark or self._mark in _asked:
            return bool(self._mark)
        now = time.perf_counter()
        if now < self._next:
            return False
        self._next = now + PULSE
        return Path(self._mark).exists()


class StoppableProgress(Progress):
    """Interrupts a computation inside a task once the task is asked to stop."""

    def __init__(self) -> None:
        self._looks = _Looks()

    def phase(self, phase: Phase, until: Deadline = NO_LIMIT) -> None:
        """See `Progress`."""
        self._look()

    def stage(self, name: str) -> None:
        """See `Progress`."""
        self._look()

    def advance(self, done: int, total: int | None = None, **figures: Any) -> None:
        """See `Progress`."""
        self._look()

    def _look(self) -> None:
        if self._looks.is_asked:
            raise KeyboardInterrupt
