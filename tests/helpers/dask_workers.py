"""A real Dask cluster: a scheduler and workers in processes of their own, started as users start them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from helpers.pages import ROOT

PATIENCE = 120
"""Seconds in which a scheduler is there, however busy the machine is."""


class DaskWorkers:
    """A scheduler with some workers of one thread each; ends with the block.

    Everything they print goes into the files `log` names.
    """

    def __init__(self, number: int, folder: Path) -> None:
        self._folder, self._number = folder, number
        self._workers: list[subprocess.Popen[bytes]] = []
        self._scheduler: subprocess.Popen[bytes] | None = None
        self.address = ""

    def __enter__(self) -> DaskWorkers:
        file = self._folder / "scheduler.json"
        options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
        self._scheduler = self._start("scheduler", *options)
        end = time.monotonic() + PATIENCE
        while not self.address and time.monotonic() < end:
            time.sleep(0.1)
            if file.exists() and file.read_text().strip():
                self.address = json.loads(file.read_text())["address"]
        for _ in range(self._number):
            self.start_one()
        return self

    def __exit__(self, *_: object) -> None:
        for process in (*self._workers, self._scheduler):
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()

    def start_one(self) -> None:
        """Start a further worker."""
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(self._folder)]
        self._workers.append(self._start("worker", self.address, *options))

    def kill_one(self) -> None:
        """Kill a worker, which cannot do anything about it."""
        process = self._workers.pop(0)
        process.send_signal(signal.SIGKILL)
        process.wait()

    @property
    def log(self) -> str:
        """What they have printed so far."""
        return "".join(file.read_text("utf-8", "replace") for file in self._folder.glob("*.log"))

    def _start(self, command: str, *arguments: str) -> subprocess.Popen[bytes]:
        number = len(list(self._folder.glob("*.log")))
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in ("src", "tests", "."))
        }
        with (self._folder / f"{number}.log").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "distributed.cli.dask_" + command, *arguments],
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
            )
