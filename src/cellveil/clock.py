"""The one clock: deadlines of searches, and seconds by stage."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from uuid import getnode

OVERTIME_SHARE, OVERTIME_SECONDS = 0.05, 1.0
"""Share of a limit, and seconds, that may be spent beyond it on bringing things to an end: half of what the
promise “1.1 × limit + 3 s” leaves, the other half being for what cannot look at the clock."""

LEAST_SECONDS = 0.1
"""What a solve gets however little time is left, since less brings nothing."""


def counted_time() -> float:
    """Seconds on the clock of time limits."""
    return time.monotonic()


@cache
def machine() -> str:
    """A name of this machine since it was started, whose processes share one clock."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{getnode():x}"


class Deadline:
    """A moment after which a search returns what it has.

    One is made where a limit is given, and handed on; stages get a `share` of what is left of it. It may be
    handed to another process: on the same machine it is the same moment, on another one, whose clock is not
    ours, the time that is left.

    Examples
    --------
    >>> import pickle
    >>> pickle.loads(pickle.dumps(Deadline(0.0))).is_over, pickle.loads(pickle.dumps(NO_LIMIT)).is_over
    (True, False)
    """

    def __init__(self, time_limit: float | None) -> None:
        self.limit = time_limit
        self._end = None if time_limit is None else counted_time() + time_limit

    def __getstate__(self) -> tuple[float | None, float | None, float | None, str]:
        return self.limit, self._end, self.left, machine()

    def __setstate__(self, state: tuple[float | None, float | None, float | None, str]) -> None:
        self.limit, end, left, where = state
        if end is None or left is None:
            self._end = None
        else:
            self._end = end if where == machine() else counted_time() + left

    @property
    def left(self) -> float | None:
        """Seconds left; None where there is no limit."""
        return None if self._end is None else max(self._end - counted_time(), 0.0)

    @property
    def is_over(self) -> bool:
        """Whether the moment has come."""
        return self.left == 0.0

    def share(self, share: float, most: float | None = None) -> Deadline:
        """An earlier one: after such a share of the time left, and at most so many seconds.

        Without a limit there is none, whatever `most`: work is then bounded by counting.
        """
        left = self.left
        if left is None:
            return self
        return Deadline(share * left if most is None else min(share * left, most))

    def or_when(self, is_met: Callable[[], bool], *, in_shares: bool = False) -> Deadline:
        """One that is over as soon as something else is the case, too.

        Parameters
        ----------
        in_shares
            Whether its shares are so too: for whoever must not wait for them.

        Examples
        --------
        >>> NO_LIMIT.or_when(lambda: True).is_over, NO_LIMIT.is_over
        (True, False)
        >>> Deadline(9.0).or_when(lambda: True, in_shares=True).share(0.5).is_over
        True
        """
        return _DeadlineOr(self, is_met, in_shares)

    def alone(self) -> Deadline:
        """The same moment, without conditions."""
        return self

    def for_a_solve(self) -> Deadline:
        """The same, or one that leaves a solve the least it needs."""
        return self if self.left is None or self.left >= LEAST_SECONDS else Deadline(LEAST_SECONDS)

    def overtime(self) -> Deadline:
        """A later one, for what must be brought to an end when the time is up: by cheap means, that is."""
        if self.limit is None or self.left is None:
            return self
        return Deadline(self.left + OVERTIME_SHARE * self.limit + OVERTIME_SECONDS)


class _DeadlineOr(Deadline):
    """A deadline with a condition that ends it before its time."""

    def __init__(self, deadline: Deadline, is_met: Callable[[], bool], in_shares: bool) -> None:
        self.limit, self._end = deadline.limit, deadline._end
        self._deadline, self._is_met, self._in_shares = deadline, is_met, in_shares

    @property
    def is_over(self) -> bool:
        return self._deadline.is_over or self._is_met()

    def share(self, share: float, most: float | None = None) -> Deadline:
        if self._end is None:
            return self
        part = self._deadline.share(share, most)
        return _DeadlineOr(part, self._is_met, True) if self._in_shares else part

    def alone(self) -> Deadline:
        return self._deadline.alone()


NO_LIMIT = Deadline(None)
"""As much time as is needed."""


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
