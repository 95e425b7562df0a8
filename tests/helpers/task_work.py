"""Work for pools of tasks, in a module of its own, so that other processes find it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from cellveil.clock import Deadline
from cellveil.errors import InfeasibleError
from cellveil.tasks import StoppableProgress, default_workers, task_pool


def drawn(shared: int, seed: int) -> list[float]:
    """Random numbers of a task's own seed."""
    return [shared * float(number) for number in np.random.default_rng(seed).random(3)]


def where(shared: Any, task: Any) -> int:
    """The process that does it."""
    return os.getpid()


def time_left(shared: Any, deadline: Deadline) -> float | None:
    """What a deadline has left at the worker."""
    return deadline.left


def inner_pool(shared: Any, task: Any) -> tuple[str, int]:
    """What a task may start itself."""
    return type(task_pool(4)).__name__, default_workers()


def failing(shared: Any, task: str) -> str:
    """Fail as asked, with a value that nobody may see."""
    if task == "fault":
        raise ValueError("secret 777001")
    if task == "ours":
        raise InfeasibleError(["(A, N)"], ["(B, N)"], "a contributor", way_out="Recode.", details={"x": 1})
    return task


def dying(folder: str, task: str) -> str:
    """End the process at the first try, without a word; then do the task."""
    mark = Path(folder) / task
    if task.startswith("die") and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), 9)
    return task


def slow(folder: str, task: int) -> int:
    """Note that it began, and take some time."""
    (Path(folder) / f"{task}-{os.getpid()}").touch()
    time.sleep(0.3)
    return task * task


def until_stopped(folder: str, task: int) -> str:
    """Note that it began, and go on until it is asked to stop."""
    try:
        (Path(folder) / str(task)).touch()
        progress = StoppableProgress()
        for step in range(6_000):
            progress.advance(step)
            time.sleep(0.02)
    except KeyboardInterrupt:
        return "stopped"
    return "done"


def loaded(shared: Any, task: Any) -> None:
    """Load and compile what an audit needs, before a clock starts: by a small one."""
    from cellveil.attack.interval_programs import IntervalParams
    from cellveil.datasets import random_table
    from cellveil.judge.auditing import AuditParams, audit
    from cellveil.judge.cell_judge import OutsiderParams
    from cellveil.pattern import Pattern

    problem = random_table((7, 7, 6), contributors=3, zeros=0.1, seed=4)
    hidden = problem.hidden_at_start | (problem.table.values % 2 == 0)
    for narrow in (0, 5):
        intervals = IntervalParams(most_tied=0, narrow=narrow, window=2, tied=64)
        params = AuditParams(outsider=OutsiderParams(most_joint=0, intervals=intervals))
        audit(problem, Pattern.hiding(problem, hidden, "some"), exact=False, params=params)
