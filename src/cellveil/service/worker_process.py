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

from cellveil.service.job_folders import JobFolder, remove_folder
from cellveil.service.service_limits import ServiceLimits
from cellveil.service.worker import STOP

LONGEST_LINE = 2**26
"""Bytes of a line from a worker, at most."""

TERM_SECONDS = 3.0
"""Seconds between asking a process to end and ending it."""

COMMAND = (sys.executable, "-P", "-m", "cellveil.service.worker")

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
        self.folder = folder
        self._temporary = folder.new_temporary()
        environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        environment |= {name: str(self._temporary) for name in ("TMPDIR", "TEMP", "TMP")}
        try:
            self._process = self._started(environment)
        except OSError:
            remove_folder(self._temporary)
            raise
        self._send(json.dumps(dict(task)))

    def _started(self, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if os.environ.get("CELLVEIL_DEBUG") else subprocess.DEVNULL,
            cwd=self.folder.path,
            env=environment,
            start_new_session=True,
        )

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
        remove_folder(self._temporary)
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
    bounds = {name: getattr(limits, name) for name in ("memory", "disk", "rows", "unpacked")}
    return {"verb": verb, "folder": str(folder.path), "options": dict(options), "limits": bounds}
