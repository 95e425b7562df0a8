"""A thread for work beside the caller's: ruin and recreate on one pattern while another one is built."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event

from cellveil.clock import Deadline


class BackgroundTask:
    """Work in a thread of its own until its deadline, or until it is stopped.

    What it changes belongs to it until then. It gains where it gives up the interpreter's lock for most of
    the time, as compiled loops do.

    Examples
    --------
    >>> from cellveil.clock import NO_LIMIT
    >>> work = lambda deadline: [None for _ in iter(lambda: deadline.is_over, True)]
    >>> beside = BackgroundTask(work, NO_LIMIT)
    >>> beside.stop()
    """

    def __init__(self, work: Callable[[Deadline], object], deadline: Deadline) -> None:
        self._is_stopped = Event()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="cellveil-beside")
        self._future = self._pool.submit(work, deadline.or_when(self._is_stopped.is_set, in_shares=True))

    def wait(self) -> None:
        """Wait for the work to end by itself."""
        self._future.exception()

    def stop(self) -> None:
        """Have the work come to its end, and wait for that; an exception of its own is raised here."""
        self._is_stopped.set()
        self._pool.shutdown()
        self._future.result()
