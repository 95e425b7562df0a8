"""Threads for loops over arrays and for searches: what one computes does not depend on how many there are.

Compiled loops and optimisers give up the interpreter's lock, so parts of an array, or several works, are done
side by side. Each is done as it would be alone; the number of threads changes the time and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from threading import Event
from typing import TypeVar

from cellveil.clock import Deadline

T = TypeVar("T")

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


def side_by_side(works: Sequence[Callable[[Deadline], T]], deadline: Deadline) -> list[T]:
    """What several works come to, each in a thread of its own where more than one may be used.

    The first is done by the caller. Inside them a single thread may be used. When one fails, or the caller
    finds its deadline over, those of the others are over as well; all are waited for.

    Examples
    --------
    >>> from cellveil.clock import NO_LIMIT
    >>> with using(2):
    ...     side_by_side([lambda deadline: num_workers(), lambda deadline: 2], NO_LIMIT)
    [1, 2]
    """
    if _threads.get() < 2 or len(works) < 2:
        return [work(deadline) for work in works]
    is_stopped = Event()
    until = deadline.alone().or_when(
        is_stopped.is_set, in_shares=True
    )  # conditions are the caller's to look at

    def beside(work: Callable[[Deadline], T]) -> T:
        try:
            return work(until)
        except BaseException:
            is_stopped.set()
            raise

    others = [_pool(len(works) - 1).submit(beside, work) for work in works[1:]]
    try:
        with using(1):
            first = works[0](deadline.or_when(is_stopped.is_set, in_shares=True))
        if deadline.is_over:
            is_stopped.set()
        return [first, *(other.result() for other in others)]
    except BaseException:
        is_stopped.set()
        wait(others)
        raise


@lru_cache(maxsize=1)
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="cellveil")
