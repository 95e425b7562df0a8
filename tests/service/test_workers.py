"""Processes of jobs: killed, out of memory or time, stopped, orphaned; a service killed and started again."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from cellveil.service import worker_process
from cellveil.service.job_folders import JobFolder
from cellveil.service.service_limits import ServiceLimits
from cellveil.service.worker_process import WorkerProcess, task_of
from helpers.service import FIRMS, JOB, MANY, RunningService, ServiceClient, running_service
from helpers.waiting import PATIENCE, is_alive, wait_until

posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")

LONG = JOB.replace('method = "hypercube"', 'method = "auto"\ntime_limit = 600').replace(
    '"region", "size"', '"region", "size", "kind"'
)
"""A search that does not end by itself within a test."""


def many(ann: ServiceClient) -> dict[str, str]:
    return {"data/firms.csv": ann.send_file("many.csv", MANY)["id"]}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with running_service(tmp_path_factory.mktemp("state"), jobs=1) as service:
        yield service


@pytest.fixture
def ann(running: RunningService) -> Iterator[ServiceClient]:
    with running.client() as client:
        yield client


def public_files(running: RunningService, id: str) -> list[Path]:
    return list((running.desk.state.job(id).out / "public").rglob("*"))


@posix
def test_a_killed_worker_is_a_failed_job_and_the_next_one_runs(
    running: RunningService, ann: ServiceClient
) -> None:
    files = {"data/firms.csv": ann.send_file("firms.csv", FIRMS)["id"]}
    wrong = JOB.replace("turnover", "nothing")
    first, second = ann.submit(LONG, many(ann)), ann.submit(wrong, files)
    ann.progressed(first, lambda told: True)
    assert ann.job(second)["state"] == "queued"
    os.kill(running.desk.supervisor.pids()[first], signal.SIGKILL)
    job = ann.waited(first)
    assert job["state"] == "failed" and "SIGKILL" in job["error"]["message"]
    assert public_files(running, first) == [] and running.desk.state.job(first).temporaries() == []
    assert ann.get(f"/jobs/{first}/downloads/release.zip").status_code == 409
    assert ann.waited(second)["exit_code"] == 2


@pytest.mark.slow  # the page's tests in a browser stop one in every run
def test_a_job_that_is_stopped_keeps_its_best_pattern(ann: ServiceClient) -> None:
    id = ann.submit(LONG, many(ann))
    ann.progressed(id, lambda told: told.get("published") is not None)
    svg = ann.get(f"/jobs/{id}/view/search.svg")
    assert svg.status_code == 200 and svg.headers["content-type"].startswith("image/svg")
    assert ann.post(f"/jobs/{id}/stop").status_code == 202
    job = ann.waited(id)
    assert (job["state"], job["exit_code"], job["safe"]) == ("done", 130, True), job
    assert ann.get(f"/jobs/{id}/downloads/release.zip").status_code == 200


@posix
@pytest.mark.slow
def test_a_service_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    def start() -> tuple[subprocess.Popen[str], ServiceClient]:
        command = [
            sys.executable,
            "-m",
            "cellveil",
            "serve",
            "--port",
            "0",
            "--state",
            str(tmp_path / "state"),
        ]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        base, _, token = process.stdout.readline().strip().partition("#token=")
        headers = {"Authorization": f"Bearer {token}"}
        client = ServiceClient(base_url=f"{base}api/v1", headers=headers, timeout=PATIENCE)
        client.until(lambda: _answers(client), bool)
        return process, client

    def _answers(client: ServiceClient) -> bool:
        try:
            return client.get("/about").status_code == 200
        except httpx.TransportError:
            return False

    process, ann = start()
    try:
        files = {"data/firms.csv": ann.send_file("firms.csv", FIRMS)["id"]}
        long = [ann.submit(LONG, many(ann)) for _ in range(2)]
        waiting = ann.submit(JOB, files)
        for id in long:
            ann.progressed(id, lambda told: True)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        pids = _workers_of(process.pid) if children.exists() else []
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        wait_until(lambda: not any(map(is_alive, pids)))  # its workers end by themselves

        process, ann = start()
        for id in long:
            job = ann.job(id)
            assert job["state"] == "interrupted" and "mid-run" in job["error"]["message"]
            assert not list((tmp_path / "state/jobs" / id / "out/public").rglob("*"))
        assert ann.waited(waiting)["state"] == "done"
        again = ann.post(f"/jobs/{long[0]}/again", json={"toml": JOB}).json()["id"]
        assert ann.waited(again)["state"] == "done"
        assert len(ann.get("/files").json()) == 3
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


def _workers_of(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(child) for child in (task / "children").read_text().split()]
    return found


def job_folder(tmp_path: Path, toml: str = JOB, data: str = FIRMS) -> JobFolder:
    (tmp_path / "firms.csv").write_text(data)
    folder = JobFolder(tmp_path / "job")
    folder.fill({}, toml, {"data/firms.csv": tmp_path / "firms.csv"})
    return folder


@posix
def test_a_worker_without_memory_says_so_or_dies(tmp_path: Path) -> None:
    folder = job_folder(tmp_path)
    worker = WorkerProcess(task_of("check", folder, {}, ServiceLimits(memory=300_000_000)), folder)
    told: dict[str, Any] = dict(worker.lines())
    code = worker.wait()
    assert "result" not in told and code != 0
    assert folder.temporaries() == []


@posix
def test_a_worker_writes_no_file_beyond_its_limit(tmp_path: Path) -> None:
    folder = JobFolder(tmp_path / "job")
    folder.fill({}, "", {})
    task = task_of("dataset", folder, {"firms": 200, "seed": 1}, ServiceLimits(disk=1000))
    worker = WorkerProcess(task, folder)
    told: dict[str, Any] = dict(worker.lines())
    assert worker.wait() == 2 and told["error"]["kind"] == "disk"


WRITER = """
import itertools, pathlib
folder = pathlib.Path("out/public")
folder.mkdir(parents=True)
for number in itertools.count():
    folder.joinpath(f"{number}.csv").write_bytes(bytes(100_000))
"""
"""A worker that fills the disk with small files."""


def test_a_job_that_fills_the_disk_is_ended_and_leaves_nothing(
    running: RunningService, ann: ServiceClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_process, "COMMAND", (sys.executable, "-c", WRITER))
    monkeypatch.setattr(running.desk.supervisor, "_limits", ServiceLimits(disk=1_000_000))
    job = ann.waited(ann.submit(JOB, {"data/firms.csv": ann.send_file("firms.csv", FIRMS)["id"]}))
    assert (job["state"], job["error"]["kind"]) == ("failed", "disk")
    left = {path.name for path in running.desk.state.job(job["id"]).path.iterdir()}
    assert left == {"input", "request.json"}


@posix
def test_a_worker_ends_with_its_service(tmp_path: Path) -> None:
    folder = job_folder(tmp_path, LONG, MANY)
    worker = WorkerProcess(task_of("run", folder, {}, ServiceLimits()), folder)
    next(iter(worker.lines()))
    assert is_alive(worker.pid)
    stream = worker._process.stdin
    assert stream is not None
    stream.close()  # as the system does it when the service dies
    assert worker.wait() == -signal.SIGKILL


def test_a_job_out_of_time_is_stopped_and_one_that_does_not_stop_is_ended(
    tmp_path: Path, sleepers: None
) -> None:
    limits = {"job_seconds": 0.01, "grace_seconds": 0.01}
    with running_service(tmp_path / "state", **limits) as service, service.client() as ann:
        files = {"data/firms.csv": ann.send_file("firms.csv", FIRMS)["id"]}
        job = ann.waited(ann.submit(JOB, files))
        assert job["state"] == "failed" and "did not end" in job["error"]["message"]


def test_a_check_out_of_time_says_so(tmp_path: Path, sleepers: None) -> None:
    with running_service(tmp_path / "state", short_seconds=0.05) as service, service.client() as ann:
        files = {"data/firms.csv": ann.send_file("firms.csv", FIRMS)["id"]}
        answer = ann.post("/checks", json={"toml": JOB, "files": files})
        assert answer.status_code == 503 and "within" in answer.json()["error"]["message"]
        assert answer.json()["error"]["kind"] == "time" and "retry-after" not in answer.headers
        assert list(service.desk.state.scratch.iterdir()) == []


def test_a_worker_gets_no_secrets_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_PASSWORD", "planted")
    folder = job_folder(tmp_path)
    worker = WorkerProcess(task_of("check", folder, {}, ServiceLimits()), folder)
    try:
        environment = Path(f"/proc/{worker.pid}/environ")
        if environment.exists():
            wait_until(lambda: b"TMPDIR" in environment.read_bytes())
            assert b"planted" not in environment.read_bytes()
            assert b"planted" not in Path(f"/proc/{worker.pid}/cmdline").read_bytes()
    finally:
        worker.end()
        worker.wait()
