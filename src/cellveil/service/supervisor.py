"""The queue of jobs over tables: who is next, who runs, and how each came to its end."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Condition, Thread
from typing import Any

from cellveil.clock import Deadline
from cellveil.service.job_folders import StateFolder
from cellveil.service.service_errors import died, plain_error
from cellveil.service.service_limits import ServiceLimits
from cellveil.service.store import JobRecord, JobState, Store
from cellveil.service.watchdog import Limit, Watchdog
from cellveil.service.worker_process import WorkerProcess, task_of

INTERRUPTED = 130

MID_RUN = plain_error(
    "interrupted", "the service stopped in mid-run; nothing was released.", "Run the job again."
)


class Supervisor:
    """Runs the queue: at most so many workers at a time, each watched by a thread."""

    def __init__(self, store: Store, state: StateFolder, limits: ServiceLimits) -> None:
        self._store, self._state, self._limits = store, state, limits
        self._change = Condition()
        self._running: dict[str, WorkerProcess] = {}
        self._cancelled: set[str] = set()
        self._is_closing = False
        self._dispatcher = Thread(target=self._dispatch, name="dispatcher", daemon=True)

    def start(self) -> None:
        """Take up what the last service has left, and begin with the queue."""
        for id in self._store.job_ids(JobState.RUNNING):
            self._state.job(id).clear()
            self._store.end_job(id, JobState.INTERRUPTED, error=MID_RUN)
        self._dispatcher.start()

    def close(self) -> None:
        """End all workers; their jobs are interrupted."""
        with self._change:
            self._is_closing = True
            workers = list(self._running.values())
            self._change.notify_all()
        for worker in workers:
            worker.end()
        if self._dispatcher.is_alive():
            self._dispatcher.join()
        with self._change:
            self._change.wait_for(lambda: not self._running, timeout=10)

    def wake(self) -> None:
        """There is a new job in the queue."""
        with self._change:
            self._change.notify_all()

    def pids(self) -> dict[str, int]:
        """The processes of the jobs that run."""
        with self._change:
            return {id: worker.pid for id, worker in self._running.items()}

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
            worker = self._running.get(id)
            if worker is not None:
                self._cancelled.add(id)
        if worker is not None:
            worker.kill()
            return True
        return self._store.end_job(id, JobState.CANCELLED, among=(JobState.QUEUED,))

    def wait_for_end(self, id: str) -> None:
        """Wait until the worker of a job is gone."""
        with self._change:
            self._change.wait_for(lambda: id not in self._running, timeout=30)

    def _dispatch(self) -> None:
        while True:
            with self._change:
                if self._is_closing:
                    return
                job = self._store.begin_next(self._limits.jobs) if self._has_room() else None
                if job is None:
                    self._change.wait()
                    continue
                self._begin(job)

    def _has_room(self) -> bool:
        return len(self._running) < self._limits.jobs

    def _begin(self, job: JobRecord) -> None:
        folder = self._state.job(job.id)
        try:
            options = folder.request()["options"]
            worker = WorkerProcess(task_of(job.verb, folder, options, self._limits), folder)
        except (OSError, ValueError, KeyError) as error:
            told = plain_error("system", f"the job could not be started ({type(error).__name__}).")
            self._store.end_job(job.id, JobState.FAILED, error=told)
            return
        self._running[job.id] = worker
        Thread(target=self._watch, args=(job, worker), name=f"job {job.id}", daemon=True).start()

    def _watch(self, job: JobRecord, worker: WorkerProcess) -> None:
        limits = self._limits
        stop, end = Deadline(limits.job_seconds), Deadline(limits.job_seconds + limits.grace_seconds)
        watchdog = Watchdog(worker, stop, end, limits.disk)
        told: dict[str, dict[str, Any]] = {}
        try:
            for event, data in worker.lines():
                if event == "progress":
                    self._store.tell_progress(job.id, data)
                else:
                    told[event] = data
        finally:
            watchdog.call_off()
            worker.end()
            code = worker.wait()
            self._end(job.id, code, told, watchdog.reached)
            with self._change:
                del self._running[job.id]
                self._cancelled.discard(job.id)
                self._change.notify_all()

    def _end(self, id: str, code: int, told: Mapping[str, dict[str, Any]], reached: Limit | None) -> None:
        """Tell how a job came to its end: what was written whole counts, all else does not."""
        with self._change:
            is_cancelled, is_closing = id in self._cancelled, self._is_closing
        result, error = told.get("result"), told.get("error")
        if result is None:
            self._state.job(id).clear()
        if result is not None:
            verdict = {key: value for key, value in result.items() if key in ("safe", "verdict")}
            own = result.get("error")
            self._store.end_job(id, JobState.DONE, exit_code=max(code, 0), verdict=verdict, error=own)
        elif is_cancelled:
            self._store.end_job(id, JobState.CANCELLED)
        elif error is not None:
            state = JobState.CANCELLED if code == INTERRUPTED else JobState.FAILED
            self._store.end_job(id, state, exit_code=code, error=error)
        elif is_closing:
            self._store.end_job(id, JobState.INTERRUPTED, error=MID_RUN)
        elif reached is not None:
            self._store.end_job(id, JobState.FAILED, error=over_limit(reached, self._limits))
        else:
            self._store.end_job(id, JobState.FAILED, error=died(code, self._limits.memory))


def over_limit(reached: Limit, limits: ServiceLimits) -> dict[str, Any]:
    """What is told of a job that was ended by its watchdog."""
    if reached is Limit.TIME:
        words = f"the job did not end within {limits.job_seconds:g} seconds; nothing was released."
        return plain_error(reached, words, "Give it a time limit.")
    words = f"the job wrote more than {limits.disk / 1e9:g} GB to disk; nothing was released."
    return plain_error(reached, words, "Take coarser dimensions, or ask for a higher limit (--limit disk=…).")
