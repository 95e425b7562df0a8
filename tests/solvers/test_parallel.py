"""Works side by side: all are waited for, and when one ends badly the others end."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from cellveil.clock import NO_LIMIT, Deadline
from cellveil.solvers.parallel import num_workers, side_by_side, using

LONG = 10_000.0
"""A time limit that is never reached."""


def until_over(deadline: Deadline) -> str:
    while not deadline.is_over:
        pass
    return "over"


def fails(deadline: Deadline) -> str:
    raise ValueError("in vain")


def interrupted(deadline: Deadline) -> str:
    raise KeyboardInterrupt


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_come_in_order_and_each_has_one_thread(workers: int) -> None:
    def work(number: int) -> Callable[[Deadline], tuple[int, int]]:
        return lambda deadline: (number, num_workers())

    with using(workers):
        assert side_by_side([work(number) for number in range(3)], NO_LIMIT) == [(0, 1), (1, 1), (2, 1)]
        assert num_workers() == workers


def test_a_single_work_may_use_all_threads() -> None:
    with using(2):
        assert side_by_side([lambda deadline: num_workers()], NO_LIMIT) == [2]


def test_works_run_at_the_same_time() -> None:
    meeting = threading.Barrier(2, timeout=60)
    with using(2):
        assert len(side_by_side([lambda deadline: meeting.wait()] * 2, NO_LIMIT)) == 2


@pytest.mark.parametrize("bad", [fails, interrupted])
@pytest.mark.parametrize("place", [0, 1])
def test_when_one_ends_badly_the_other_ends(bad: Callable[[Deadline], str], place: int) -> None:
    works: list[Callable[[Deadline], str]] = [until_over, until_over]
    works[place] = bad
    with using(2), pytest.raises((ValueError, KeyboardInterrupt)):
        side_by_side(works, NO_LIMIT)


def test_an_interrupt_while_waiting_ends_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = []

    class Interrupted(Deadline):
        """Found to be over by nobody; the look at it is interrupted."""

        @property
        def is_over(self) -> bool:
            if threading.current_thread() is threading.main_thread():
                raise KeyboardInterrupt
            return False

    def other(deadline: Deadline) -> None:
        until_over(deadline)
        ended.append(True)

    with using(2), pytest.raises(KeyboardInterrupt):
        side_by_side([lambda deadline: None, other], Interrupted(None))
    assert ended == [True]


def test_a_deadline_that_the_caller_finds_over_is_over_for_all() -> None:
    looks: list[str] = []

    def is_late() -> bool:
        looks.append(threading.current_thread().name)
        return len(looks) > 3

    with using(2):
        assert side_by_side([until_over, until_over], Deadline(LONG).or_when(is_late)) == ["over", "over"]
    assert set(looks) == {threading.current_thread().name}, "conditions are for the caller to look at"
