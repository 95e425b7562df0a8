"""The worker, ``python -m cellveil.service.worker``: one process for one job over tables, with limits.

Standard input brings the task as one line of JSON, then perhaps the line ``stop`` (keep the best pattern).
When it is closed, the service is dead, and the worker ends with everything that it started. Standard output
carries what `Channel` tells; the exit code is that of the command line.
"""

from __future__ import annotations

import _thread
import contextlib
import json
import os
import shutil
import signal
import sys
from pathlib import Path
from threading import Thread
from typing import Any, NoReturn, TextIO

from cellveil.errors import CellveilError, SolverError
from cellveil.service.service_errors import is_disk_full, plain_error, told_error, unexpected_error
from cellveil.service.worker_channel import Channel, ToldProgress
from cellveil.service.worker_task import WorkerTask, perform

STOP = "stop"
INTERRUPTED = 130
KILLED = 137
MOST_BYTECODE = 100_000_000
"""Bytes of bytecode that one worker may write, at most."""


def main() -> NoReturn:
    """Do one task, and end the process."""
    channel = Channel.of_process()
    line = sys.stdin.readline()
    if not line:
        _end_group()
    task = WorkerTask.of(json.loads(line), channel)
    _limit(task.limits.get("memory"), task.limits.get("disk"))
    _keep_bytecode_whole(task.limits.get("disk"))
    Thread(target=_listen, args=(sys.stdin, task.progress), daemon=True).start()
    code = _performed(task, channel)
    os._exit(code)  # thread pools of libraries, torn down in the wrong order, have been seen to abort


def _performed(task: WorkerTask, channel: Channel) -> int:
    """Do the task; every error ends with a line and the documented exit code."""
    folder = task.folder.input.absolute()
    try:
        return perform(task)
    except KeyboardInterrupt:
        channel.tell(
            "error", plain_error("stopped", "the job was stopped before it had a pattern.", exit_code=130)
        )
        return INTERRUPTED
    except MemoryError:
        channel.tell("error", plain_error("memory", *NO_MEMORY, exit_code=KILLED))
        return KILLED
    except (CellveilError, OSError) as error:
        told = _of_system(error)
        if told is None:
            assert isinstance(error, CellveilError)
            told = told_error(error, folder)
        channel.tell("error", told)
        return int(told["exit_code"])
    except BaseException as error:
        channel.tell("error", unexpected_error(error))
        return SolverError.exit_code


def _of_system(error: CellveilError | OSError) -> dict[str, Any] | None:
    """An error of the system, or one of ours that follows from a disk without room; None for all others."""
    of_system = error if isinstance(error, OSError) else error.__cause__
    if not isinstance(of_system, OSError):
        return None
    is_full = is_disk_full(of_system)
    if of_system is not error and not is_full:
        return None
    what = f"{of_system.strerror or type(of_system).__name__}; nothing was released."
    return plain_error("disk" if is_full else "system", what, exit_code=2)


NO_MEMORY = (
    "the job needs more memory than the service allows; nothing was released.",
    "Take coarser dimensions or fewer tables, or ask for a higher limit (--max-memory).",
)


def _limit(memory: int | None, disk: int | None) -> None:
    """Bound address space and size of files, where the system can; no core files, which would hold data."""
    try:
        import resource
    except ImportError:  # not on this system
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for kind, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_FSIZE, disk)):
        if most:
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(kind, (most, most))


def _keep_bytecode_whole(disk: int | None) -> None:
    """Write no bytecode where the disk may cut it short: Python 3.11 keeps such a file and cannot read it."""
    free = shutil.disk_usage(Path(__file__).parent).free
    sys.dont_write_bytecode |= min(free, disk or free) < MOST_BYTECODE


def _listen(stream: TextIO, progress: ToldProgress) -> None:
    """Interrupt the search when told to stop; end everything when the service is gone."""
    for line in stream:
        if line.strip() == STOP and progress.can_be_stopped:
            _thread.interrupt_main()
    _end_group()


def _end_group() -> NoReturn:
    """End this process and those that it has started."""
    if os.name == "posix" and os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(KILLED)


if __name__ == "__main__":
    main()
