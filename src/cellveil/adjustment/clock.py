"""How much time is left."""

from __future__ import annotations

import time


class Clock:
    """Whether there is time left; always where there is no limit."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def left(self) -> float | None:
        """Seconds left, at least 0; None without a limit."""
        return None if self._end is None else max(self._end - time.monotonic(), 0.0)

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return self._end is not None and time.monotonic() >= self._end
