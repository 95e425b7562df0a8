"""Tasks in processes of this machine, which end with the process that started them.

The processes are those of joblib's loky, and are used again by the next tasks. Where one of them dies, its
tasks are done by new ones, and where these die too, in this process.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Collection
from concurrent.futures import FIRST_COMPLETED, CancelledError, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path
from tempfile import gettempdir
from threading import Event, Thread, current_thread, main_thread
from typing import Any, TypeVar
from uuid import uuid4

from cellveil.tasks.pool import Reply, Work, replied
from cellveil.tasks.remote import LostTaskError, RemotePool
from cellveil.tasks.sealed import Sealed, perform
from cellveil.tasks.stopping import is_asked

T = TypeVar("T")

IDLE = 60
"""Seconds after which a process without a task ends."""

WATCH = 1.0
"""Seconds between looks at whether the process that waits is still there."""

_is_watched = Event()

_latest: list[Sealed] = []
"""In a worker: what the latest task shared with others, opened; the next one mostly brings the same."""


class LocalProcesses(RemotePool):
    """Several processes of this machine."""

    most_lost = 1

    def __init__(self, workers: int) -> None:
        self._workers = workers

    @property
    def num_workers(self) -> int:
        """See `TaskPool`."""
        return self._workers

    def share(self, shared: Any) -> Any:
        """See `RemotePool`: goes with each task, through a pipe and never through a file."""
        return Sealed.of(shared)

    def submit(self, shared: Any, call: Sealed) -> Any:
        """See `RemotePool`."""
        from cellveil import __version__

        return self._executor().submit(_perform_for, os.getpid(), __version__, shared, call)

    def wait(self, futures: Collection[Any]) -> Collection[Any]:
        """See `RemotePool`."""
        return wait(futures, return_when=FIRST_COMPLETED).done

    def result(self, future: Any) -> Sealed:
        """See `RemotePool`."""
        try:
            return future.result()  # type: ignore[no-any-return]
        except (BrokenProcessPool, CancelledError) as error:
            raise LostTaskError from error

    def cancel(self, futures: Collection[Any]) -> None:
        """See `RemotePool`: ends the processes, as nothing else ends what they are doing."""
        self._executor().shutdown(wait=False, kill_workers=True)

    def new_mark(self) -> str:
        """See `RemotePool`: the path of a file that is not there."""
        return str(Path(gettempdir()) / f"cellveil-stop-{uuid4().hex}")

    def stop(self, mark: str) -> None:
        """See `RemotePool`."""
        Path(mark).touch()
        for process in list(self._executor()._processes) if os.name == "posix" else ():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGINT)

    def forget(self, mark: str) -> None:
        """See `RemotePool`."""
        Path(mark).unlink(missing_ok=True)

    def again(self, work: Work[T], shared: Any, task: Any) -> Reply[T]:
        """See `RemotePool`: this process does it."""
        return replied(work, shared, task)

    def _executor(self) -> Any:
        from joblib.externals.loky import get_reusable_executor

        return get_reusable_executor(max_workers=self._workers, timeout=IDLE)


def end_processes() -> None:
    """End the processes, if there are any, with all that they hold of the system."""
    loaded = sys.modules.get("joblib.externals.loky.reusable_executor")
    if getattr(loaded, "_executor", None) is not None:  # it has none where an interrupt ended its import
        loaded._executor.shutdown(wait=True, kill_workers=True)  # type: ignore[union-attr]
        loaded._executor = None  # type: ignore[union-attr]


def _perform_for(client: int, version: str, shared: Sealed, call: Sealed) -> Sealed:
    """Do a task in a process of its own, as long as its client is there."""
    if not _is_watched.is_set():
        _is_watched.set()
        Thread(target=_end_with, args=(client,), daemon=True).start()
        _keep_memory()
        if current_thread() is main_thread():
            signal.signal(signal.SIGINT, _interrupted)
    return perform(version, _opened_before(shared), call)


def _opened_before(shared: Sealed) -> Sealed:
    """What is shared as it was opened by the task before, if that brought the same."""
    if not _latest or not _latest[0].has_content_of(shared):
        _latest[:] = [shared]
    return _latest[0]


def _keep_memory() -> None:
    """Have the worker not ended for what it keeps: large tables are no leak."""
    from joblib.externals.loky import process_executor

    process_executor._MAX_MEMORY_LEAK_SIZE = sys.maxsize


def _interrupted(*_: object) -> None:
    """Stop the task if the client asks for it; an interrupt of the terminal is for the client."""
    if is_asked():
        raise KeyboardInterrupt


def _end_with(client: int) -> None:
    """End this process when the one that waits for it is gone."""
    while os.getppid() == client:
        time.sleep(WATCH)
    os._exit(1)
