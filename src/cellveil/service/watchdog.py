"""Limits that the service holds for the worker of a job over tables: its time, and what it writes to disk."""

from __future__ import annotations

from enum import StrEnum
from threading import Event, Thread
from types import TracebackType
from typing import Self

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

    It watches until the end of a `with` block.

    Parameters
    ----------
    stop
        When it is told to end its search.
    end
        When it is ended by force.
    disk
        Bytes that it may write.
    """

    def __init__(self, worker: WorkerProcess, stop: Deadline, end: Deadline, disk: int) -> None:
        self._worker, self._stop, self._end = worker, stop, end
        self._most = worker.folder.written() + disk
        self._is_off = Event()
        self.reached: Limit | None = None

    def __enter__(self) -> Self:
        Thread(target=self._watch, name=f"watchdog of {self._worker.pid}", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_off.set()

    def _watch(self) -> None:
        is_told = False
        while not self._is_off.wait(self._pause(is_told)):
            if self._stop.is_over and not is_told:
                self._worker.stop()
                is_told = True
            if self._end.is_over:
                self.reached = Limit.TIME
            elif self._worker.folder.written() > self._most:
                self.reached = Limit.DISK
            if self.reached is not None:
                return self._worker.end()

    def _pause(self, is_told: bool) -> float:
        """Seconds until the next look."""
        following = (self._end,) if is_told else (self._stop, self._end)
        return min([LOOK, *(one.left for one in following if one.left is not None)])
