"""One run of a method in a process of its own: limits, and what the system says of time and memory.

For POSIX systems, as peak memory and limits of processor time come from the kernel.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

LOOK_AGAIN = 0.05
"""Seconds between two looks at a process."""

TOLD = 2_000
"""Characters of what a process said last that are kept."""


@dataclass(frozen=True)
class Limits:
    """What a process may take before it is killed: processor seconds of one process, seconds on the wall."""

    cpu: float | None
    wall: float


@dataclass(frozen=True)
class EndedProcess:
    """How a process ended.

    Parameters
    ----------
    code
        Exit code; negative is the signal that ended it.
    over
        Which limit it went over, in words; empty where it kept them.
    wall, cpu, megabytes
        Seconds on the wall, processor seconds, and the most memory at one time; of the process and of those
        it waited for.
    said
        The end of what it wrote on its outputs.
    """

    code: int
    over: str
    wall: float
    cpu: float
    megabytes: float
    said: str


def run_process(
    command: Sequence[str], folder: Path, limits: Limits, environment: Mapping[str, str] | None = None
) -> EndedProcess:
    """Run a command in a folder until it ends, or kill it with its children when it is over a limit."""
    log = folder / "said.txt"
    began = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            list(command),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
            preexec_fn=lambda: _limit_cpu(limits.cpu),
        )
    over = ""
    try:
        while (ended := _look(process)) is None:
            if time.monotonic() - began > limits.wall:
                over = f"still running after {limits.wall:.0f} s"
                _kill_session(process.pid)
            time.sleep(LOOK_AGAIN)
    finally:
        _kill_session(process.pid)  # children that outlive it, or everything after an interrupt
    code, usage = ended
    cpu = usage.ru_utime + usage.ru_stime
    if (
        not over
        and code in (-signal.SIGXCPU, -signal.SIGKILL)
        and limits.cpu is not None
        and cpu >= limits.cpu
    ):
        over = f"more than {limits.cpu:.0f} s of the processor"
    unit = 1 if sys.platform == "darwin" else 1024
    said = log.read_bytes()[-TOLD:].decode("utf-8", "replace").strip()
    return EndedProcess(code, over, time.monotonic() - began, cpu, usage.ru_maxrss * unit / 1e6, said)


def _limit_cpu(seconds: float | None) -> None:
    """In the new process: SIGXCPU at the limit, SIGKILL a second later."""
    if seconds is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds + 1), int(seconds + 2)))


def _look(process: subprocess.Popen[bytes]) -> tuple[int, resource.struct_rusage] | None:
    """Exit code and usage where the process has ended."""
    pid, status, usage = os.wait4(process.pid, os.WNOHANG)
    if not pid:
        return None
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage


def _kill_session(leader: int) -> None:
    """Kill every process of the session that still runs: its group, and groups that children made."""
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            if os.getsid(int(each.name)) == leader:
                os.kill(int(each.name), signal.SIGKILL)
