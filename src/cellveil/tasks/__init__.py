"""Independent tasks, done in this process, by processes of this machine, or by a Dask cluster."""

from cellveil.tasks.choice import cluster, default_workers, pool_in_use, task_pool, using_pool
from cellveil.tasks.pool import InProcess, Reply, TaskPool
from cellveil.tasks.stopping import StoppableProgress, until_asked

__all__ = [
    "InProcess",
    "Reply",
    "StoppableProgress",
    "TaskPool",
    "cluster",
    "default_workers",
    "pool_in_use",
    "task_pool",
    "until_asked",
    "using_pool",
]
