"""The queue of jobs over tables: who is next, who runs, and how each came to its end."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from threading import Condition, Thread
from typing import Any

from cellveil.clock import Deadline
from cellveil.service.job_folders import StateFolder
from cellveil.service.service_errors import (
    died,
    disk_full,
    plain_error,
    refused_by_disk,
    unexpected_error,
)
from cellveil.service.service_limits import ServiceLimits
from cellveil.service.store import JobRecord, JobState, Store
from cellveil.service.watchdog import Limit, Watchdog
from cellveil.service.worker_process import WorkerProcess, task_of

INTERRUPTED = 130

RETRY = 1.0
"""Seconds after which the queue tries again what the disk or the database has refused."""

LOG = logging.getLogger("cellveil.service")

MID_RUN = plain_error(
    "interrupted", "the service stopped in mid-run; nothing was released.", "Run the job again."
)


class Supervisor:
    """Runs the queue: at most so many workers at a time, each watched by a thread.

    The dispatcher alone begins jobs and records their ends; what the disk or the database refuses, it tries
    again. A watching thread only hands the end over, so that its slot is free whatever happens.
    """

    def __init__(self, store: Store, state: StateFolder, limits: ServiceLimits) -> None:
        self._store, self._state, self._limits = store, state, limits
        self._change = Condition()
        self._running: dict[str, WorkerProcess | None] = {}
        self._ends: dict[str, Callable[[], object]] = {}
        self._cancelled: set[str] = set()
        self._is_closing = False
        self._dispatcher = Thread(target=self._dispatch, name="dispatcher", daemon=True)

    def start(self) -> None:
        """Take up what the last service has left, and begin with the queue."""
        for id in self._store.job_ids(JobState.RUNNING):
            self._state.job(id).clear()
            self._ends[id] = partial(self._store.end_job, id, JobState.INTERRUPTED, error=MID_RUN)
        with suppress(sqlite3.Error):  # the dispatcher tries again
            self._record_ends()
        self._dispatcher.start()

    def close(self) -> None:
        """End all workers; their jobs are interrupted."""
        with self._change:
            self._is_closing = True
            for worker in filter(None, self._running.values()):
                worker.end()
            self._change.notify_all()
        if self._dispatcher.is_alive():
            self._dispatcher.join(10)

    def wake(self) -> None:
        """There is a new job in the queue."""
        with self._change:
            self._change.notify_all()

    def pids(self) -> dict[str, int]:
        """The processes of the jobs that run."""
        with self._change:
            return {id: worker.pid for id, worker in self._running.items() if worker is not None}

    def stop(self, id: str) -> bool:
        """Ask a running job to end its search and keep the best pattern."""
        with self._change:
            worker = self._running.get(id)
        if worker is not None:
            worker.stop()
        return worker is not None

    def cancel(self, id: str) -> bool:
        """End a job that waits or runs; nothing of it is kept."""
        with self._change:
            if id in self._running:
                self._cancelled.add(id)
                worker = self._running[id]
                if worker is not None:
                    worker.kill()
                return True
        return self._store.end_job(id, JobState.CANCELLED, among=(JobState.QUEUED,))

    def wait_for_end(self, id: str) -> None:
        """Wait until the worker of a job is gone."""
        with self._change:
            self._change.wait_for(lambda: id not in self._running, timeout=30)

    def _dispatch(self) -> None:
        """Take turns until the service ends; a turn that fails is taken again."""
        is_failing = False
        with self._change:
            while True:
                try:
                    pause, is_failing = self._turn(), False
                except Exception as error:
                    if not is_failing:
                        LOG.error("the queue waits for disk or database (%s)", type(error).__name__)
                    pause, is_failing = RETRY, True
                if self._is_closing and not self._running:
                    return
                if pause != 0:
                    self._change.wait(pause)

    def _turn(self) -> float | None:
        """Record ends, and begin a job where a slot is free; seconds until the next turn, None if unknown."""
        self._record_ends()
        if self._is_closing or len(self._running) >= self._limits.jobs:
            return None
        if not self._state.has_space(self._limits.free):
            return RETRY
        job = self._store.begin_next()
        if job is None:
            return None
        self._running[job.id] = None
        try:
            Thread(target=self._run, args=(job,), name=f"job {job.id}", daemon=True).start()
        except RuntimeError as error:  # the system has no further thread
            self._release(job.id, self._failure(job.id, error))
        return 0

    def _record_ends(self) -> None:
        """Record how jobs ended; an end that cannot be written for what it says is one of failure."""
        for id, record in list(self._ends.items()):
            try:
                record()
            except Exception as error:
                if refused_by_disk(error) is not None:
                    raise
                self._ends[id] = self._failure(id, error)
                self._ends[id]()
            del self._ends[id]

    def _run(self, job: JobRecord) -> None:
        """Run a job; whatever happens, its slot is free afterwards, and its end is handed over."""
        try:
            end = self._followed(job)
        except Exception as error:
            end = self._failure(job.id, error)
        self._release(job.id, end)

    def _release(self, id: str, end: Callable[[], object]) -> None:
        with self._change:
            self._ends[id] = end
            del self._running[id]
            self._cancelled.discard(id)
            self._change.notify_all()

    def _failure(self, id: str, error: Exception) -> Callable[[], object]:
        """The end of a job that the service could not start or follow."""
        with suppress(OSError):
            self._state.job(id).clear()
        known = refused_by_disk(error)
        told = unexpected_error(error) if known is None else known.to_dict()
        return partial(self._store.end_job, id, JobState.FAILED, error=told)

    def _followed(self, job: JobRecord) -> Callable[[], object]:
        """Start a worker, listen to it until it ends, and return how the end is recorded."""
        limits, folder = self._limits, self._state.job(job.id)
        told: dict[str, dict[str, Any]] = {}
        worker = WorkerProcess(task_of(job.verb, folder, folder.request()["options"], limits), folder)
        try:
            with self._change:
                self._running[job.id] = worker
                if self._is_closing or job.id in self._cancelled:
                    worker.end()
            stop, end = Deadline(limits.job_seconds), Deadline(limits.job_seconds + limits.grace_seconds)
            with Watchdog(worker, stop, end, limits.disk) as watchdog:
                for event, data in worker.lines():
                    if event == "progress":
                        self._tell_progress(job.id, data)
                    else:
                        told[event] = data
        finally:
            worker.end()
            code = worker.wait()
        return self._end(job.id, code, told, watchdog.reached)

    def _tell_progress(self, id: str, data: Mapping[str, Any]) -> None:
        """Keep what a job tells, where there is space: the search goes on without it."""
        with suppress(sqlite3.Error, OSError, ValueError):
            if self._state.has_space(self._limits.free):
                self._store.tell_progress(id, data)

    def _end(
        self, id: str, code: int, told: Mapping[str, dict[str, Any]], reached: Limit | None
    ) -> Callable[[], object]:
        """How a job came to its end: what was written whole counts, all else does not."""
        with self._change:
            is_cancelled, is_closing = id in self._cancelled, self._is_closing
        result, error, end = told.get("result"), told.get("error"), partial(self._store.end_job, id)
        is_full = not self._state.has_space(self._limits.free)
        if result is None:
            self._state.job(id).clear()
        if result is not None:
            verdict = {key: value for key, value in result.items() if key in ("safe", "verdict")}
            own = result.get("error")
            return partial(end, JobState.DONE, exit_code=max(code, 0), verdict=verdict, error=own)
        if is_cancelled:
            return partial(end, JobState.CANCELLED)
        if is_closing and error is None:
            return partial(end, JobState.INTERRUPTED, error=MID_RUN)
        if is_full and (error is None or error.get("kind") == "internal"):  # what a full disk leads to
            full = disk_full("the disk of the service is full; nothing was released.")
            return partial(end, JobState.FAILED, exit_code=code, error=full.to_dict())
        if error is not None:
            state = JobState.CANCELLED if code == INTERRUPTED else JobState.FAILED
            return partial(end, state, exit_code=code, error=error)
        if reached is not None:
            return partial(end, JobState.FAILED, error=over_limit(reached, self._limits))
        return partial(end, JobState.FAILED, error=died(code, self._limits.memory))


def over_limit(reached: Limit, limits: ServiceLimits) -> dict[str, Any]:
    """What is told of a job that was ended by its watchdog."""
    if reached is Limit.TIME:
        words = f"the job did not end within {limits.job_seconds:g} seconds; nothing was released."
        return plain_error(reached, words, "Give it a time limit.")
    words = f"the job wrote more than {limits.disk / 1e9:g} GB to disk; nothing was released."
    return plain_error(reached, words, "Take coarser dimensions, or ask for a higher limit (--limit disk=…).")
