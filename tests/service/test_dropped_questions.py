"""Questions that nobody waits for any more: their worker ends, and their turn is free for the next one."""

import http.client
import json
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from cellveil.service import worker_process
from cellveil.service.job_folders import JobFolder
from cellveil.service.service_errors import ServiceError
from cellveil.service.short_tasks import Asker
from helpers.service import FIRMS, JOB, NO_WORKER, TOKENS, RunningService, ServiceClient, running_service
from helpers.waiting import is_alive, wait_until

LIMITS = {"shorts": 2, "shorts_of_user": 3}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with running_service(tmp_path_factory.mktemp("state"), **LIMITS) as service:
        yield service


@pytest.fixture
def ann(running: RunningService) -> Iterator[ServiceClient]:
    with running.client() as client:
        yield client


@contextmanager
def asking(service: RunningService, files: dict[str, str], user: str = "ann") -> Iterator[None]:
    """Ask for a check, and go away at the end of the block."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port)
    headers = {"Authorization": f"Bearer {TOKENS[user]}", "Content-Type": "application/json"}
    with closing(connection):
        connection.request("POST", "/api/v1/checks", json.dumps({"toml": JOB, "files": files}), headers)
        yield


def sent(ann: ServiceClient) -> dict[str, str]:
    return {"data/firms.csv": ann.send_file("firms.csv", FIRMS)["id"]}


def test_checks_that_were_dropped_do_not_block_the_next_one(
    running: RunningService, ann: ServiceClient, sleepers: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, shorts = sent(ann), running.desk.shorts
    for _ in range(5):  # more than one user may ask at a time
        with asking(running, files):
            wait_until(lambda: len(shorts.pids()) == 1)
            [pid] = shorts.pids()
        wait_until(lambda: shorts.asking("ann") == 0 and shorts.pids() == [])
        assert not is_alive(pid)
    wait_until(lambda: list(running.desk.state.scratch.iterdir()) == [])
    monkeypatch.setattr(worker_process, "COMMAND", NO_WORKER)
    answer = ann.post("/checks", json={"toml": JOB, "files": files})
    assert answer.json()["error"]["kind"] == "died" and "retry-after" not in answer.headers  # it had its turn


def test_a_dropped_check_that_waits_gives_up_its_place(
    running: RunningService, ann: ServiceClient, sleepers: None
) -> None:
    files, shorts = sent(ann), running.desk.shorts
    with ExitStack() as first:
        for number in (1, 2):
            first.enter_context(asking(running, files))
            wait_until(lambda number=number: len(shorts.pids()) == number)
        for _ in range(2):
            with asking(running, files):
                wait_until(lambda: shorts.asking("ann") == 3)
                refused = ann.post("/checks", json={"toml": JOB, "files": files})
                assert refused.status_code == 503 and "your checks" in refused.text
                assert refused.json()["error"]["kind"] == "busy" and "retry-after" in refused.headers
                assert len(shorts.pids()) == 2
            wait_until(lambda: shorts.asking("ann") == 2)
    wait_until(lambda: shorts.asking("ann") == 0 and shorts.pids() == [])


def test_a_turn_that_becomes_free_is_taken(
    running: RunningService, ann: ServiceClient, sleepers: None
) -> None:
    files, shorts = sent(ann), running.desk.shorts
    with ExitStack() as first, asking(running, files, "ann"):
        for number in (2, 3):
            first.enter_context(asking(running, files))
            wait_until(lambda number=number: shorts.asking("ann") == number)
        wait_until(lambda: len(shorts.pids()) == 2)
        first.close()
        wait_until(lambda: shorts.asking("ann") == 1 and len(shorts.pids()) == 1)
    wait_until(lambda: shorts.pids() == [])


def test_an_explanation_that_was_dropped_ends(
    running: RunningService, sleepers: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(running.desk, "finished", lambda owner, id: JobFolder(tmp_path))
    connection = http.client.HTTPConnection("127.0.0.1", running.port)
    with closing(connection):
        headers = {"Authorization": f"Bearer {TOKENS['ann']}"}
        connection.request("GET", "/api/v1/jobs/of_ann/cells/N1,small/explanation", headers=headers)
        wait_until(lambda: len(running.desk.shorts.pids()) == 1)
    wait_until(lambda: running.desk.shorts.pids() == [])


def test_who_has_left_gets_no_worker(running: RunningService) -> None:
    asker = Asker("ann")
    running.desk.shorts.drop(asker)
    with running.desk.state.scratch_job() as scratch:
        scratch.fill({}, JOB, {})
        with pytest.raises(ServiceError, match="nobody waits"):
            running.desk.shorts.ask("check", scratch, {}, asker)
    assert running.desk.shorts.asking("ann") == 0


def test_a_service_that_ends_keeps_nobody_waiting(tmp_path: Path, sleepers: None) -> None:
    with (
        running_service(tmp_path / "state", **LIMITS) as service,
        service.client() as ann,
        ExitStack() as all,
    ):
        files, shorts = sent(ann), service.desk.shorts
        for number in (1, 2, 3):
            all.enter_context(asking(service, files))
            wait_until(lambda number=number: shorts.asking("ann") == number)
        wait_until(lambda: len(shorts.pids()) == 2)
        pids = shorts.pids()
        service.desk.close()
        wait_until(lambda: shorts.asking("ann") == 0)
        assert not any(map(is_alive, pids))
