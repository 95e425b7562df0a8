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
import signal
import sys
import tempfile
from threading import Thread
from typing import NoReturn, TextIO

from cellveil.errors import CellveilError, SolverError
from cellveil.service.service_errors import plain_error, told_error, unexpected_error
from cellveil.service.worker_channel import Channel, ToldProgress
from cellveil.service.worker_task import WorkerTask, perform

STOP = "stop"
INTERRUPTED = 130
KILLED = 137


def main() -> NoReturn:
    """Do one task, and end the process."""
    channel = Channel.of_process()
    line = sys.stdin.readline()
    if not line:
        _end_group()
    task = WorkerTask.of(json.loads(line), channel)
    _limit(task.memory)
    tempfile.tempdir = str(task.temporary())
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
    except CellveilError as error:
        channel.tell("error", told_error(error, folder))
        return error.exit_code
    except OSError as error:
        what = f"{error.strerror or type(error).__name__}; nothing was released."
        channel.tell("error", plain_error("system", what, exit_code=2))
        return 2
    except BaseException as error:
        channel.tell("error", unexpected_error(error))
        return SolverError.exit_code


NO_MEMORY = (
    "the job needs more memory than the service allows; nothing was released.",
    "Take coarser dimensions or fewer tables, or ask for a higher limit (--max-memory).",
)


def _limit(memory: int | None) -> None:
    """Bound the address space, where the system can; no core files, which would hold data."""
    try:
        import resource
    except ImportError:  # not on this system
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


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
