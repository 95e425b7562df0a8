"""What does independent tasks: one function over shared data, the same replies wherever and by however many.

A task is `work(shared, task)`, where `work` is a function of a module, so that other processes find it. What
it returns depends on nothing else: seeds belong to tasks, never to workers. Replies are numbered as the tasks
are. A task whose worker was lost is done again.
"""

from __future__ import annotations

import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from cellveil.errors import CellveilError, WorkerError

T = TypeVar("T")
Work = Callable[[Any, Any], T]
"""Called with what all tasks share and with one task."""


@dataclass(frozen=True)
class Reply(Generic[T]):
    """What one task came to: a value or an error.

    Parameters
    ----------
    value
        What the work returned; None where there is an error.
    error
        What was raised, without any value that our own errors do not carry.
    cause
        The very exception, where the task ran in this process; it crosses to no other one.
    """

    value: T | None = None
    error: CellveilError | None = None
    cause: Exception | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {"value": self.value, "error": self.error, "cause": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def get(self) -> T:
        """The value; raises the error where there is one."""
        if self.cause is not None:
            raise self.cause
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]


def replied(work: Work[T], shared: Any, task: Any) -> Reply[T]:
    """Do a task; every error becomes a part of the reply, so that no other program writes it into its log.

    Examples
    --------
    >>> replied(lambda shared, task: shared + task, 1, 2).get()
    3
    >>> print(replied(lambda shared, task: task / shared, 0, 777).error)
    a task failed (ZeroDivisionError in <doctest cellveil.tasks.pool.replied[1]>, line 1).
    """
    try:
        return Reply(work(shared, task))
    except CellveilError as error:
        return Reply(error=error, cause=error)
    except (
        Exception
    ) as error:  # a fault: where it is and nothing else, as what it carries may be confidential
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{type(error).__name__} in {Path(frame.filename).name}, line {frame.lineno}"
        return Reply(error=WorkerError(f"a task failed ({place})."), cause=error)


class TaskPool(ABC):
    """Does tasks; see the head of the module."""

    @property
    @abstractmethod
    def num_workers(self) -> int:
        """How many tasks are done at a time."""

    @abstractmethod
    def replies(
        self, work: Work[T], shared: Any, tasks: Sequence[Any], *, may_stop: bool = False
    ) -> Iterator[tuple[int, Reply[T]]]:
        """Do the tasks; yield the number and the reply of each as it comes.

        Whoever stops taking replies ends the tasks that are left.

        Parameters
        ----------
        may_stop
            Whether the work looks at `StoppableProgress`. Then an interrupt asks other processes to stop,
            and is raised once they have replied; a second one ends them.
        """

    def run(
        self,
        work: Work[T],
        shared: Any,
        tasks: Sequence[Any],
        told: Callable[[int], object] | None = None,
    ) -> list[T]:
        """Do the tasks; return what each came to, in their order.

        Parameters
        ----------
        told
            Called with how many are done, after each.

        Raises
        ------
        CellveilError
            Of the first task, in their order, that failed; those after it are not waited for.
        """
        found: dict[int, Reply[T]] = {}
        for number, reply in self.replies(work, shared, tasks):
            found[number] = reply
            failed = [k for k, other in found.items() if other.error is not None]
            if failed and all(k in found for k in range(min(failed))):
                found[min(failed)].get()
            if told is not None:
                told(len(found))
        return [found[number].get() for number in range(len(tasks))]

    def close(self) -> None:  # noqa: B027 (most have opened nothing)
        """Give back what it has opened."""


class InProcess(TaskPool):
    """One task after the other, in this process.

    Examples
    --------
    >>> InProcess().run(lambda shared, task: shared * task, 10, [1, 2, 3])
    [10, 20, 30]
    """

    num_workers = 1

    def replies(
        self, work: Work[T], shared: Any, tasks: Sequence[Any], *, may_stop: bool = False
    ) -> Iterator[tuple[int, Reply[T]]]:
        """See `TaskPool`."""
        for number, task in enumerate(tasks):
            yield number, replied(work, shared, task)
