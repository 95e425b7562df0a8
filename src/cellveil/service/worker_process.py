"""A process of its own for each job over tables: started, listened to, stopped, killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from threading import Timer
from typing import Any

from cellveil.clock import Deadline
from cellveil.service.job_folders import JobFolder, remove_folder
from cellveil.service.service_limits import ServiceLimits
from cellveil.service.worker import STOP

LONGEST_LINE = 2**26
"""Bytes of a line from a worker, at most."""

TERM_SECONDS = 3.0
"""Seconds between asking a process to end and ending it."""

PASSED_ON = (
    *(
        "PATH",
        "PYTHONPATH",
        "HOME",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "TZ",
        "SYSTEMROOT",
        "USERPROFILE",
        "LD_LIBRARY_PATH",
    ),
    *("VIRTUAL_ENV", "CELLVEIL_DEBUG", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "OMP_NUM_THREADS"),
)
"""Variables of the environment that a worker gets."""


class WorkerProcess:
    """A running worker."""

    def __init__(self, task: Mapping[str, Any], folder: JobFolder) -> None:
        self._folder = folder
        environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        temporary = folder.temporary
        temporary.mkdir(mode=0o700, parents=True, exist_ok=True)
        environment |= {name: str(temporary) for name in ("TMPDIR", "TEMP", "TMP")}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "cellveil.service.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if os.environ.get("CELLVEIL_DEBUG") else subprocess.DEVNULL,
            cwd=folder.path,
            env=environment,
            start_new_session=True,
        )
        self._send(json.dumps(dict(task)))

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    def lines(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """What it tells, until it ends; what is no line of ours is left out."""
        stream = self._process.stdout
        assert stream is not None
        while line := stream.readline(LONGEST_LINE):
            with suppress(ValueError, KeyError, TypeError, AttributeError):
                told = json.loads(line)
                yield str(told["event"]), dict(told["data"])

    def wait(self) -> int:
        """Its exit code; temporary files are removed, and what it has started is ended."""
        code = self._process.wait()
        self._signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if stream is not None:
                    stream.close()
        remove_folder(self._folder.temporary)
        return code

    def stop(self) -> None:
        """Ask it to end its search, and to keep the best pattern."""
        self._send(STOP)

    def kill(self) -> None:
        """End it: asked first, then by force."""
        if self._process.poll() is None:
            self._signal(signal.SIGTERM)
            later = Timer(TERM_SECONDS, self.end)
            later.daemon = True
            later.start()

    def end(self) -> None:
        """End it by force, with what it has started."""
        if self._process.poll() is None:
            self._signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)

    def _signal(self, number: int) -> None:
        with suppress(OSError):
            if os.name == "posix":
                os.killpg(self._process.pid, number)
            else:
                self._process.terminate()

    def _send(self, line: str) -> None:
        stream = self._process.stdin
        with suppress(OSError, ValueError):
            if stream is not None:
                stream.write(f"{line}\n".encode())
                stream.flush()


def task_of(
    verb: str, folder: JobFolder, options: Mapping[str, Any], limits: ServiceLimits
) -> dict[str, Any]:
    """A task as the worker reads it."""
    bounds = {name: getattr(limits, name) for name in ("memory", "rows", "unpacked")}
    return {"verb": verb, "folder": str(folder.path), "options": dict(options), "limits": bounds}


class Watchdog:
    """Stops a worker when its time is up, and ends it when it does not come to its end."""

    def __init__(self, worker: WorkerProcess, until: Deadline, grace: Deadline | None) -> None:
        self._timers = []
        self.is_over = False
        if until.left is not None:
            first = Timer(until.left, self._stop if grace is not None else self._end, (worker,))
            self._timers.append(first)
            if grace is not None and grace.left is not None:
                self._timers.append(Timer(until.left + grace.left, self._end, (worker,)))
        for timer in self._timers:
            timer.daemon = True
            timer.start()

    def _stop(self, worker: WorkerProcess) -> None:
        worker.stop()

    def _end(self, worker: WorkerProcess) -> None:
        self.is_over = True
        worker.end()

    def call_off(self) -> None:
        """The worker has ended."""
        for timer in self._timers:
            timer.cancel()
