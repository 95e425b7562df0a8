"""Limits that the service holds for the worker of a job over tables: its time, and what it writes to disk."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from threading import Event, Thread, Timer

from cellveil.clock import Deadline
from cellveil.service.worker_process import WorkerProcess

LOOK = 0.5
"""Seconds between two looks at what a worker has written."""


class Limit(StrEnum):
    """What a worker was ended for."""

    TIME = "time"
    DISK = "disk"


class Watchdog:
    """Stops a worker when its time is up; ends one that does not come to its end, or writes too much.

    Parameters
    ----------
    until
        When it is told to stop; without grace it is ended.
    grace
        How long it then has.
    disk
        Bytes that it may write.
    """

    def __init__(self, worker: WorkerProcess, until: Deadline, grace: Deadline | None, disk: int) -> None:
        self._worker, self._most = worker, worker.folder.written() + disk
        self._timers: list[Timer] = []
        self._is_over = Event()
        self.reached: Limit | None = None
        if until.left is not None:
            self._after(until.left, self._end_late if grace is None else worker.stop)
            if grace is not None and grace.left is not None:
                self._after(until.left + grace.left, self._end_late)
        Thread(target=self._look, name="disk of a worker", daemon=True).start()

    def call_off(self) -> None:
        """The worker has ended."""
        self._is_over.set()
        for timer in self._timers:
            timer.cancel()

    def _after(self, seconds: float, action: Callable[[], None]) -> None:
        timer = Timer(seconds, action)
        timer.daemon = True
        timer.start()
        self._timers.append(timer)

    def _end_late(self) -> None:
        self._end(Limit.TIME)

    def _look(self) -> None:
        while not self._is_over.wait(LOOK):
            if self._worker.folder.written() > self._most:
                return self._end(Limit.DISK)

    def _end(self, limit: Limit) -> None:
        self.reached = self.reached or limit
        self._worker.end()
