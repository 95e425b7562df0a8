"""Questions about tables that somebody waits for (checks, columns, explanations): few at a time.

Whoever asks may go away: then the question gives up its turn, or its worker is ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition
from typing import Any

from cellveil.clock import NO_LIMIT, Deadline
from cellveil.service.job_folders import JobFolder
from cellveil.service.service_errors import ServiceError, TaskError, died, plain_error
from cellveil.service.service_limits import ServiceLimits
from cellveil.service.watchdog import Limit, Watchdog
from cellveil.service.worker_process import WorkerProcess, task_of


@dataclass(eq=False)
class Asker:
    """Somebody who waits for one answer.

    Parameters
    ----------
    user
        Whose question it is; the service's own has no user, and is not counted.
    has_left
        Whether nobody waits any more.
    worker
        The process that works on it.
    """

    user: str = ""
    has_left: bool = False
    worker: WorkerProcess | None = None


def nobody_waits() -> ServiceError:
    """For the log: the client has closed the connection."""
    return ServiceError(499, "nobody waits for the answer.")


class ShortTasks:
    """Takes questions, so many at a time, and so many of each user."""

    def __init__(self, limits: ServiceLimits) -> None:
        self._limits = limits
        self._change = Condition()
        self._at_work: set[Asker] = set()
        self._asking: Counter[str] = Counter()
        self._is_closing = False

    def ask(self, verb: str, folder: JobFolder, options: Mapping[str, Any], asker: Asker) -> dict[str, Any]:
        """Have a worker answer a question at once.

        Raises
        ------
        ServiceError
            Where there is no turn, the worker has no answer in time, or nobody waits for it any more.
        TaskError
            With what the worker says is wrong.
        """
        with self._one_more(asker), self._turn_of(asker):
            return self._answer(verb, folder, options, asker)

    def drop(self, asker: Asker) -> None:
        """Nobody waits for this answer any more: end the waiting, or the work."""
        with self._change:
            asker.has_left = True
            self._change.notify_all()
            if asker.worker is not None:
                asker.worker.end()

    def close(self) -> None:
        """End all workers; nobody gets a turn from now on."""
        with self._change:
            self._is_closing = True
            self._change.notify_all()
            for asker in self._at_work:
                if asker.worker is not None:
                    asker.worker.end()

    def asking(self, user: str) -> int:
        """How many questions of a user wait or are worked on."""
        with self._change:
            return self._asking[user]

    def pids(self) -> list[int]:
        """The processes at work."""
        with self._change:
            return [asker.worker.pid for asker in self._at_work if asker.worker is not None]

    @contextmanager
    def _one_more(self, asker: Asker) -> Iterator[None]:
        """Nobody keeps all turns for their own questions."""
        with self._change:
            if asker.user and self._asking[asker.user] >= self._limits.shorts_of_user:
                raise ServiceError(503, "too many of your checks are running.", "Wait for them to end.")
            self._asking[asker.user] += 1
        try:
            yield
        finally:
            with self._change:
                self._asking[asker.user] -= 1

    @contextmanager
    def _turn_of(self, asker: Asker) -> Iterator[None]:
        def can_go_on() -> bool:
            return self._is_over(asker) or len(self._at_work) < self._limits.shorts

        with self._change:
            is_patient = self._change.wait_for(can_go_on, timeout=self._limits.patience_seconds)
            self._check(asker)
            if not is_patient:
                raise ServiceError(503, "too many checks are running.", "Try again in a moment.")
            self._at_work.add(asker)
        try:
            yield
        finally:
            with self._change:
                self._at_work.discard(asker)
                self._change.notify_all()

    def _is_over(self, asker: Asker) -> bool:
        return asker.has_left or self._is_closing

    def _check(self, asker: Asker) -> None:
        """Raise where an answer is of no use."""
        if asker.has_left:
            raise nobody_waits()
        if self._is_closing:
            raise ServiceError(503, "the service is about to end.", "Try again in a moment.")

    def _answer(
        self, verb: str, folder: JobFolder, options: Mapping[str, Any], asker: Asker
    ) -> dict[str, Any]:
        worker = self._begun(verb, folder, options, asker)
        told: dict[str, dict[str, Any]] = {}
        end = Deadline(self._limits.short_seconds)
        try:
            with Watchdog(worker, NO_LIMIT, end, self._limits.disk) as watchdog:
                told.update(worker.lines())
        finally:
            worker.end()
            code = worker.wait()
            with self._change:
                asker.worker = None
        if "result" in told:
            return told["result"]
        with self._change:
            self._check(asker)
        if watchdog.reached is Limit.TIME:
            words = f"there was no answer within {self._limits.short_seconds:g} seconds."
            raise TaskError(plain_error("time", words, "Run the job without it."))
        raise TaskError(told.get("error") or died(code, self._limits.memory))

    def _begun(self, verb: str, folder: JobFolder, options: Mapping[str, Any], asker: Asker) -> WorkerProcess:
        """A worker; ended at once where the asker has left meanwhile."""
        try:
            worker = WorkerProcess(task_of(verb, folder, options, self._limits), folder)
        except OSError as error:
            words = f"the service cannot start a process ({type(error).__name__})."
            raise ServiceError(503, words, "Try again in a moment.") from None
        with self._change:
            asker.worker = worker
            if self._is_over(asker):
                worker.end()
        return worker
