"""A real Dask cluster: a scheduler and workers in processes of their own, started as users start them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.pages import ROOT
from helpers.waiting import wait_until

PAIR = ("cert", "key")
REGISTERED = "Registered to"
"""What a worker logs as soon as the scheduler knows it."""


def tls_files(folder: Path) -> Path:
    """Make an authority of one: a certificate that has signed itself, as ca.pem and cert.pem, and its key."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("there is no openssl to make certificates with")
    asked = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=office"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run([program, *asked, *files], check=True, capture_output=True)
    shutil.copy(folder / "cert.pem", folder / "ca.pem")
    return folder


class DaskWorkers:
    """A scheduler with some workers of one thread each; ends with the block.

    Everything they print goes into the files `log` names. With `tls`, the folder of `tls_files`, they speak
    with those only who have a certificate of that authority.
    """

    def __init__(self, number: int, folder: Path, tls: Path | None = None) -> None:
        self._folder, self._number, self._tls = folder, number, tls
        self._workers: list[subprocess.Popen[bytes]] = []
        self._scheduler: subprocess.Popen[bytes] | None = None
        self.address = ""

    def __enter__(self) -> DaskWorkers:
        file = self._folder / "scheduler.json"
        options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
        options += [] if self._tls is None else ["--protocol", "tls"]
        self._scheduler = self._start("scheduler", *options)
        wait_until(lambda: file.exists() and bool(file.read_text().strip()))
        self.address = json.loads(file.read_text())["address"]
        for _ in range(self._number):
            self.start_one()
        wait_until(lambda: self.log.count(REGISTERED) >= self._number)
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
    def python_path(self) -> str:
        """Where they look for modules: this tree, not another one that is installed."""
        return os.pathsep.join(map(str, (ROOT / "src", ROOT / "tests", ROOT)))

    @property
    def log(self) -> str:
        """What they have printed so far."""
        return "".join(file.read_text("utf-8", "replace") for file in self._folder.glob("*.log"))

    def _start(self, command: str, *arguments: str) -> subprocess.Popen[bytes]:
        number = len(list(self._folder.glob("*.log")))
        environment = os.environ | {"PYTHONPATH": self.python_path}
        if self._tls is not None:
            place = "DASK_DISTRIBUTED__COMM__TLS__"
            environment[f"{place}CA_FILE"] = str(self._tls / "ca.pem")
            for role in ("SCHEDULER", "WORKER"):
                environment |= {
                    f"{place}{role}__{kind.upper()}": str(self._tls / f"{kind}.pem") for kind in PAIR
                }
            environment["DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION"] = "True"
        with (self._folder / f"{number}.log").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "distributed.cli.dask_" + command, *arguments],
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
            )
