"""Pools whose workers are other processes: tasks are handed out as workers get free, and again when lost.

A task is sealed when it is handed out, so that a deadline crosses with the time that is left then.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from typing import Any, TypeVar

from cellveil.errors import WorkerError
from cellveil.tasks.pool import Reply, TaskPool, Work
from cellveil.tasks.sealed import Sealed

T = TypeVar("T")


class LostTaskError(Exception):
    """The worker of a task is gone, or what it had: the task has to be done again."""


class RemotePool(TaskPool):
    """Hands out tasks to other processes."""

    most_lost = 3
    """So many times a task is handed out again."""

    @abstractmethod
    def share(self, shared: Any) -> Any:
        """Bring what all tasks share to the workers; returns what stands for it."""

    @abstractmethod
    def submit(self, shared: Any, call: Sealed) -> Any:
        """Hand out a task; returns its future."""

    @abstractmethod
    def wait(self, futures: Collection[Any]) -> Collection[Any]:
        """Those that are done, once there is one."""

    @abstractmethod
    def result(self, future: Any) -> Sealed:
        """The reply of a task that is done.

        Raises
        ------
        LostTaskError
            Where it has to be done again.
        WorkerError
            Where that would be in vain.
        """

    @abstractmethod
    def cancel(self, futures: Collection[Any]) -> None:
        """End tasks that nobody waits for any more."""

    @abstractmethod
    def new_mark(self) -> str:
        """What tasks are called that may be asked to stop."""

    @abstractmethod
    def stop(self, mark: str) -> None:
        """Ask tasks to come back with the best that they have."""

    def forget(self, mark: str) -> None:
        """Clear what asked them."""

    def again(self, work: Work[T], shared: Any, task: Any) -> Reply[T]:
        """What to do about a task that was lost too often."""
        return Reply(error=WorkerError("the workers of a task were lost, one after the other."))

    def _reply(self, future: Any) -> Reply[Any] | None:
        """What a task came to; None where it has to be done again."""
        try:
            found: Reply[Any] = self.result(future).open()
        except LostTaskError:
            return None
        except WorkerError as error:
            return Reply(error=error)
        return found

    def replies(
        self, work: Work[T], shared: Any, tasks: Sequence[Any], *, may_stop: bool = False
    ) -> Iterator[tuple[int, Reply[T]]]:
        """See `TaskPool`."""
        waiting, lost = deque(range(len(tasks))), dict.fromkeys(range(len(tasks)), 0)
        running: dict[Any, int] = {}
        mark, is_stopped = self.new_mark() if may_stop else "", False
        stands_for = self.share(shared) if tasks else None
        try:
            while waiting or running:
                while waiting and len(running) < self.num_workers:
                    number = waiting.popleft()
                    running[self.submit(stands_for, Sealed.of((work, tasks[number], mark)))] = number
                try:
                    done = self.wait(list(running))
                except KeyboardInterrupt:
                    if is_stopped or not may_stop:
                        raise
                    self.stop(mark)
                    waiting.clear()
                    is_stopped, done = True, ()
                for future in done:
                    number = running.pop(future)
                    reply = self._reply(future)
                    lost[number] += reply is None
                    if reply is not None:
                        yield number, reply
                    elif is_stopped:
                        continue
                    elif lost[number] > self.most_lost:
                        yield number, self.again(work, shared, tasks[number])
                    else:
                        waiting.appendleft(number)
                        stands_for = self.share(shared)
            if is_stopped:
                raise KeyboardInterrupt
        finally:
            if running:
                self.cancel(list(running))
            if is_stopped:
                self.forget(mark)
