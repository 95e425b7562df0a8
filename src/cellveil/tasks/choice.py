"""Which pool does the tasks: a cluster where one is in use, else as many processes as were asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from cellveil.tasks.pool import InProcess, TaskPool

DEFAULT = 2
"""So many workers are used where there are so many cores and nobody said otherwise."""

_pool: ContextVar[TaskPool | None] = ContextVar("pool", default=None)
_is_task: ContextVar[bool] = ContextVar("is_task", default=False)


def default_workers() -> int:
    """How many workers are used where nobody said; one inside a task, whose neighbours have the others."""
    if _is_task.get():
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(DEFAULT, cores)


def task_pool(workers: int) -> TaskPool:
    """The pool in use, or one of so many processes of this machine.

    Inside a task it is this process, since the others are busy with further tasks.
    """
    if _is_task.get() or (_pool.get() is None and workers < 2):
        return InProcess()
    if (pool := _pool.get()) is not None:
        return pool
    from cellveil.tasks.local_processes import LocalProcesses

    return LocalProcesses(workers)


def pool_in_use() -> bool:
    """Whether somebody chose who does the tasks, such as a cluster."""
    return _pool.get() is not None and not _is_task.get()


@contextmanager
def using_pool(pool: TaskPool) -> Iterator[TaskPool]:
    """Have all tasks inside done by a pool, and close it in the end."""
    token = _pool.set(pool)
    try:
        yield pool
    finally:
        _pool.reset(token)
        pool.close()


@contextmanager
def cluster(address: str) -> Iterator[TaskPool]:
    """Have the tasks of audits, searches and jobs done by a Dask cluster.

    The tables go to the cluster, confidential values included. They are in clear on the network unless the
    address begins with ``tls://``, and everybody who may use the cluster can read them.

    Parameters
    ----------
    address
        Of the scheduler, such as ``tcp://host:8786`` or ``tls://host:8786``; certificates for the latter are
        those of Dask's own configuration.

    Raises
    ------
    InputError
        When nobody answers, or the cluster has no worker.
    MissingExtraError
        When Dask is not installed.
    """
    from cellveil.tasks.dask_cluster import DaskCluster

    with using_pool(DaskCluster(address)) as pool:
        yield pool


@contextmanager
def inside_a_task() -> Iterator[None]:
    """What is called inside is a task: it has one worker."""
    token = _is_task.set(True)
    try:
        yield
    finally:
        _is_task.reset(token)
