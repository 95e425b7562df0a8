"""Waiting for what happens elsewhere: in other threads and processes."""

import os
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 1200.0
"""Seconds after which what has not happened is a fault, on a machine that is busy with other tests."""


def wait_until(is_met: Callable[[], bool]) -> None:
    end = time.perf_counter() + PATIENCE
    while not is_met():
        assert time.perf_counter() < end
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Whether a process runs: one that has ended and was not waited for does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"
