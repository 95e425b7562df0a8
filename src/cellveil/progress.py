"""How a long computation tells what it is doing: an observer with no-op methods."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Progress:
    """Receives what happens; this one ignores it. Subclass it to show a bar or to log.

    Raising from a method stops the computation, which is how an interrupt gets through.
    """

    def stage(self, name: str) -> None:
        """Tell that a new stage begins."""

    def advance(self, done: int, total: int | None = None, **figures: Any) -> None:
        """Tell how far the stage is; `figures` are shown beside it (never cell values)."""


class Stopwatch:
    """Seconds by stage, in the order the stages ran.

    Examples
    --------
    >>> watch = Stopwatch()
    >>> with watch.time("read"):
    ...     pass
    >>> list(watch.seconds)
    ['read']
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def time(self, stage: str) -> Iterator[None]:
        """Add the time of the block to `stage`."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - start
