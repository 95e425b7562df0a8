"""One contract for all pools of tasks: in this process, in processes of this machine, on a Dask cluster."""

from __future__ import annotations

import os
import pickle
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import gettempdir
from threading import Thread
from typing import Any

import numpy as np
import pytest

import cellveil
from cellveil.certificate import Certificate
from cellveil.clock import Deadline
from cellveil.datasets import random_table
from cellveil.errors import (
    AdjustmentError,
    CellveilError,
    InfeasibleError,
    InputError,
    MissingExtraError,
    WorkerError,
)
from cellveil.judge import audit
from cellveil.judge.auditing import AuditParams
from cellveil.judge.cell_judge import OutsiderParams
from cellveil.pattern import Pattern
from cellveil.suppression import suppress as protected
from cellveil.tasks import InProcess, TaskPool, cluster, using_pool
from cellveil.tasks.local_processes import LocalProcesses
from cellveil.tasks.sealed import Sealed, perform
from helpers import task_work
from helpers.dask_workers import DaskWorkers
from helpers.unlinked_tables import side_by_side
from helpers.waiting import wait_until

POOLS = ("in process", "processes", "dask")


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskWorkers]:
    pytest.importorskip("distributed", reason="needs the extra cluster")
    with DaskWorkers(2, tmp_path_factory.mktemp("dask")) as started:
        yield started


@pytest.fixture(params=POOLS)
def pool(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[TaskPool]:
    folder = str(Path(task_work.__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")]))
    if request.param == "dask":
        with cluster(request.getfixturevalue("workers").address) as dask:
            yield dask
    else:
        with using_pool(InProcess() if request.param == "in process" else LocalProcesses(2)) as own:
            yield own


def test_replies_are_those_of_one_after_the_other(pool: TaskPool) -> None:
    told: list[int] = []
    found = pool.run(task_work.drawn, 3, list(range(7)), told.append)
    assert found == [task_work.drawn(3, seed) for seed in range(7)]
    assert told == list(range(1, 8))
    assert pool.run(task_work.drawn, 3, []) == []


def test_others_do_the_work_where_there_are_others(pool: TaskPool) -> None:
    own = set(pool.run(task_work.where, None, list(range(6)))) == {os.getpid()}
    assert own == isinstance(pool, InProcess)


def test_tasks_inside_tasks_stay_in_their_process(pool: TaskPool) -> None:
    if not isinstance(pool, InProcess):
        assert pool.run(task_work.inner_pool, None, [0]) == [("InProcess", 1)]


def test_a_deadline_crosses_with_the_time_that_is_left(pool: TaskPool) -> None:
    left, over, none = pool.run(task_work.time_left, None, [Deadline(500.0), Deadline(0.0), Deadline(None)])
    assert left is not None and 0 < left <= 500.0
    assert (over, none) == (0.0, None)


def test_our_errors_keep_what_they_hold(pool: TaskPool) -> None:
    with pytest.raises(InfeasibleError) as caught:
        pool.run(task_work.failing, None, ["a", "ours", "b"])
    error = caught.value
    assert (error.cells, error.conflicts, error.attacker) == (("(A, N)",), ("(B, N)",), "a contributor")
    assert error.details == {"x": 1} and "Recode." in str(error)


def test_a_fault_tells_its_place_and_no_value(pool: TaskPool) -> None:
    replies = dict(pool.replies(task_work.failing, None, ["a", "fault", "b"]))
    assert (replies[0].get(), replies[2].get()) == ("a", "b")
    assert isinstance(replies[1].error, WorkerError)
    assert "ValueError in task_work.py" in str(replies[1].error) and "777001" not in str(replies[1].error)


def test_the_first_failure_in_order_is_told(pool: TaskPool) -> None:
    with pytest.raises((WorkerError, ValueError)):
        pool.run(task_work.failing, None, ["a", "fault", "ours"])


def test_certificates_are_the_same_whoever_examines(pool: TaskPool) -> None:
    problem = random_table((7, 6, 5), contributors=3, zeros=0.2, seed=9)
    hidden = problem.hidden_at_start | ((problem.table.values % 3 == 0) & (problem.table.values > 0))
    pattern = Pattern.hiding(problem, hidden, "some")
    params = AuditParams(outsider=OutsiderParams(batch=4, min_joint=10_000))
    found = audit(problem, pattern, exact=False, params=params)
    with using_pool(InProcess()):
        alone = audit(problem, pattern, exact=False, params=params)
    assert found.outsider is not None and alone.outsider is not None
    assert found.outsider.num_lps == alone.outsider.num_lps > 0
    ours, theirs = found.outsider.certificate, alone.outsider.certificate
    assert isinstance(ours, Certificate) and ours.to_bytes() == theirs.to_bytes() and len(ours) > 1


def test_a_search_in_parts_and_with_seeds_comes_to_the_same_whoever_does_it(pool: TaskPool) -> None:
    problem = side_by_side(*(random_table((6, 5), contributors=2, seed=seed) for seed in (1, 2)))
    given: dict[str, Any] = {"seeds": 2, "seed": 3, "options": {"run.shared.parts.least_cells": 1}}
    found = protected(problem, **given)
    with using_pool(InProcess()):
        here = protected(problem, **given)
    assert found.is_safe and np.array_equal(found.pattern.hidden, here.pattern.hidden)
    assert found.certificate.to_bytes() == here.certificate.to_bytes()
    assert (found.cost, found.lower_bound, found.outcome) == (here.cost, here.lower_bound, here.outcome)


def test_an_interrupt_asks_the_tasks_to_stop(pool: TaskPool, tmp_path: Path) -> None:
    """What is at work replies with what it has, the rest is not begun, and then the interrupt is raised."""
    if isinstance(pool, InProcess):
        return
    whole, replies = pool.wait, {}  # type: ignore[attr-defined]

    def interrupted(futures: Any) -> Any:
        pool.wait = whole  # type: ignore[attr-defined]
        wait_until(lambda: len(list(tmp_path.iterdir())) == 2)
        raise KeyboardInterrupt

    pool.wait = interrupted  # type: ignore[attr-defined]
    with pytest.raises(KeyboardInterrupt):
        for number, reply in pool.replies(
            task_work.until_stopped, str(tmp_path), list(range(4)), may_stop=True
        ):
            replies[number] = reply.get()
    assert replies == {0: "stopped", 1: "stopped"}
    assert not list(Path(gettempdir()).glob("cellveil-stop-*"))


def test_tasks_that_cannot_stop_are_ended_by_an_interrupt(pool: TaskPool, tmp_path: Path) -> None:
    if isinstance(pool, InProcess):
        return

    def interrupted(futures: Any) -> Any:
        raise KeyboardInterrupt

    pool.wait = interrupted  # type: ignore[attr-defined]
    with pytest.raises(KeyboardInterrupt):
        list(pool.replies(task_work.slow, str(tmp_path), [1, 2]))


# -- lost workers --------------------------------------------------------------------------------------------


def test_processes_that_die_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(task_work.__file__).parents[1]))
    tasks = ["a", "die once", "b", "c"]
    assert LocalProcesses(2).run(task_work.dying, str(tmp_path), tasks) == tasks


def test_a_dask_worker_that_is_killed_loses_nothing(workers: DaskWorkers, tmp_path: Path) -> None:
    with cluster(workers.address) as pool:
        replies, killed = {}, False
        for number, reply in pool.replies(task_work.slow, str(tmp_path), list(range(8))):
            replies[number] = reply.get()
            if not killed:  # while the other one is at work
                workers.kill_one()
                killed = True
    assert replies == {number: number * number for number in range(8)}
    assert len({file.name.partition("-")[2] for file in tmp_path.iterdir()}) == 2
    workers.start_one()


# -- what crosses --------------------------------------------------------------------------------------------

ERRORS: list[CellveilError] = [
    InputError("wrong", file="t.csv", line=7, cell="(A, N)", remedy="Mend it."),
    MissingExtraError("distributed", "cluster", "a cluster"),
    InfeasibleError(["a"], ["b"], "somebody", way_out="Recode.", details={"conflicts": []}),
    AdjustmentError("limits", cells=["a"], relations=["r"], way_out="Widen.", details={"k": 1}),
    WorkerError("lost"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_survive_pickling(error: CellveilError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error) and str(copy) == str(error) and copy.__dict__ == error.__dict__


def test_sealed_things_say_nothing() -> None:
    assert "777001" not in repr(Sealed.of("777001")) + str(Sealed.of("777001"))


def test_another_version_is_refused() -> None:
    reply = perform("0.0.0", Sealed.of(None), Sealed.of((task_work.where, None))).open()
    assert "Install the same version everywhere." in str(reply.error)


def test_what_cannot_be_opened_is_an_error_of_the_task() -> None:
    reply = perform(cellveil.__version__, Sealed.of(None), Sealed(b"damaged")).open()
    assert isinstance(reply.error, WorkerError) and "a task failed" in str(reply.error)


def test_a_deadline_on_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    import cellveil.clock as clock

    data = pickle.dumps(Deadline(100.0))
    monkeypatch.setattr(clock, "machine", lambda: "another one, whose clock began long ago")
    monkeypatch.setattr(clock, "counted_time", lambda: 5.0)
    left = pickle.loads(data).left
    assert left is not None and 0 < left <= 100.0


@pytest.mark.parametrize("address", ["rubbish", "tcp://127.0.0.1:1", ""])
def test_no_scheduler_there(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="needs the extra cluster")
    monkeypatch.setattr("cellveil.tasks.dask_cluster.ANSWER", 1)
    with pytest.raises(InputError, match="no Dask scheduler answers"), cluster(address):
        pass


@pytest.mark.parametrize("answer", [b"", b"\x08" + bytes(7) + b"\xff" * 100])
def test_what_answers_and_is_no_scheduler(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes the call and says nothing, or something else; a client of Dask would wait without end."""
    pytest.importorskip("distributed", reason="needs the extra cluster")
    monkeypatch.setattr("cellveil.tasks.dask_cluster.ANSWER", 1)
    monkeypatch.setattr("cellveil.tasks.dask_cluster.PATIENCE_OF_CALL", 1)
    taken: list[socket.socket] = []

    def take(listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                taken.append(listening.accept()[0])
                taken[-1].sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        Thread(target=take, args=(listening,), daemon=True).start()
        address = f"tcp://127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(InputError, match="no Dask scheduler answers"), cluster(address):
            pass
    for connection in taken:
        connection.close()


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"cellveil\[cluster\]"), cluster("tcp://host:8786"):
        pass
