"""Threads for loops over arrays: what a thread computes does not depend on how many there are.

Compiled loops give up the interpreter's lock, so parts of an array are worked on side by side. Each part is
computed as it would be alone; the number of threads changes the time and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache

LEAST_PART = 20_000
"""Shorter parts are not worth a thread."""

_threads: ContextVar[int] = ContextVar("threads", default=1)


@contextmanager
def using(workers: int) -> Iterator[None]:
    """Let the loops inside use so many threads."""
    token = _threads.set(workers)
    try:
        yield
    finally:
        _threads.reset(token)


def num_workers() -> int:
    """How many may be used here."""
    return _threads.get()


def in_parts(work: Callable[[int, int], object], length: int, size: int) -> None:
    """Call work(first, last) on parts that make up range(length); each stands for `size` entries.

    Examples
    --------
    >>> in_parts(print, 10, 1)
    0 10
    """
    parts = min(_threads.get(), length, max(1, length * size // LEAST_PART))
    if parts <= 1:
        work(0, length)
        return
    ends = [length * k // parts for k in range(parts + 1)]
    others = [_pool(parts - 1).submit(work, ends[k], ends[k + 1]) for k in range(1, parts)]
    work(0, ends[1])
    for other in others:
        other.result()


@lru_cache(maxsize=1)
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="cellveil")
