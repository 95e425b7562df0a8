"""A full disk and a database that fails: no job is lost, none hangs, and the queue goes on."""

import asyncio
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

import pytest

from cellveil.errors import CellveilError
from cellveil.service import supervisor, worker_process
from cellveil.service.desk import Desk
from cellveil.service.job_folders import JobFolder, StateFolder, new_id
from cellveil.service.questions import JobAsked
from cellveil.service.service_limits import ServiceLimits
from cellveil.service.store import EventKind, JobRecord, JobState, Store
from helpers.faults import Faults, fail_statements, failing_writes
from helpers.service import FIRMS, JOB, NO_WORKER, RunningService, running_service
from helpers.waiting import wait_until

Found = TypeVar("Found")

LOST = (JobState.QUEUED, JobState.RUNNING)


class QuickWorker:
    """A worker without a process: it tells progress and a result."""

    pid = 0

    def __init__(self, task: object, folder: JobFolder) -> None:
        self.folder, self._temporary, self._is_ended = folder, folder.new_temporary(), Event()

    def lines(self) -> Iterator[tuple[str, dict[str, Any]]]:
        yield "progress", {"phase": "starting", "elapsed": 0.0}
        yield "progress", {"phase": "starting", "elapsed": 0.1}
        if not self._is_ended.is_set():
            yield "result", {"safe": True, "verdict": "Safe"}

    def wait(self) -> int:
        shutil.rmtree(self._temporary)
        return 0

    def kill(self) -> None:
        self._is_ended.set()

    stop = end = kill


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "WorkerProcess", QuickWorker)
    monkeypatch.setattr(supervisor, "RETRY", 0.005)


def again(action: Callable[[], Found], faults: Faults) -> Found:
    """What a client gets who asks once more after an error of the service."""
    try:
        return action()
    except (CellveilError, sqlite3.Error, OSError) as error:
        assert faults.has_failed, error
        faults.mend()
        return action()


async def firms() -> AsyncIterator[bytes]:
    yield FIRMS.encode()


def live(path: Path, faults: Faults) -> None:
    """A day of a service: what a killed one has left, an upload, jobs, one cancelled, one deleted."""
    state = StateFolder(path)
    with faults.ignored():
        store = Store(state.database)
        killed = JobRecord(new_id(), "ann", "", "run", JobState.QUEUED, 0.0)
        state.job(killed.id).fill({"options": {}}, JOB, {})
        assert store.add_job(killed, waiting=9, kept=9) and store.begin_next()
        store.close()
    store = again(lambda: Store(state.database), faults)
    desk = Desk(state, store, ServiceLimits(jobs=2, keep_days=1e5))
    again(desk.open, faults)

    def submitted() -> str:
        asked = JobAsked(verb="run", toml=JOB, files={"data/firms.csv": file.id})
        return again(lambda: desk.submit("ann", asked), faults).id

    def state_of(id: str) -> JobState:
        with faults.ignored():
            return desk.job("ann", id).state

    try:
        file = again(lambda: asyncio.run(desk.uploads.take("ann", "firms.csv", firms())), faults)
        ids = [killed.id, *(submitted() for _ in range(4))]
        again(lambda: desk.supervisor.cancel(ids[3]), faults)
        removed = ids.pop()
        again(lambda: desk.remove("ann", removed), faults)
        faults.mend()
        wait_until(lambda: not any(state_of(id) in LOST for id in ids))
        last = submitted()
        wait_until(lambda: state_of(last) not in LOST)
        with faults.ignored():
            jobs = {job.id: job for job in store.jobs_of("ann", 100)}
            assert set(jobs) == {*ids, last} == {path.name for path in state.jobs.iterdir()}
            assert [one.id for one in store.files_of("ann")] == [path.name for path in state.files.iterdir()]
            assert jobs[killed.id].state is JobState.INTERRUPTED
            assert all(
                job.state in (JobState.DONE, JobState.CANCELLED, JobState.FAILED) or id == killed.id
                for id, job in jobs.items()
            )
            for id, job in jobs.items():
                assert store.events(id)[-1].kind is EventKind.END
                assert (job.state is JobState.FAILED) <= ("disk" in str(job.error)), job
                assert state.job(id).temporaries() == []
    finally:
        with faults.ignored():
            desk.close()


@pytest.mark.parametrize("is_lasting", [False, True])
def test_every_statement_may_fail(
    tmp_path: Path, quick: None, monkeypatch: pytest.MonkeyPatch, is_lasting: bool
) -> None:
    for number in count(1):
        faults = Faults(number, is_lasting=is_lasting)
        with monkeypatch.context() as patch:
            fail_statements(faults, patch)
            live(tmp_path / str(number), faults)
        if not faults.has_failed:
            break
    assert number > 60


@pytest.mark.parametrize("is_lasting", [False, True])
def test_every_write_may_fail(
    tmp_path: Path, quick: None, monkeypatch: pytest.MonkeyPatch, is_lasting: bool
) -> None:
    for number in count(1):
        faults, folder = Faults(number, is_lasting=is_lasting), tmp_path / str(number)
        StateFolder(folder)
        with monkeypatch.context() as patch:
            fail_statements(Faults(0, is_lasting=False), patch)
            with failing_writes(faults, folder, patch):
                live(folder, faults)
        if not faults.has_failed:
            break
    assert number > 40


def test_what_a_worker_tells_does_not_stop_the_queue(
    tmp_path: Path, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of a character can be told as JSON, but not be written to the database."""
    odd = {"phase": "\ud800", "verdict": "\ud800", "elapsed": 0.0}
    with monkeypatch.context() as patch:
        patch.setattr(QuickWorker, "lines", lambda self: iter([("progress", odd), ("result", odd)]))
        with running_service(tmp_path / "state") as service, service.client() as ann:
            files = {"data/firms.csv": ann.send_file("firms.csv", FIRMS)["id"]}
            job = ann.waited(ann.submit(JOB, files))
            assert (job["state"], job["error"]["kind"]) == ("failed", "internal"), job
            patch.undo()
            patch.setattr(supervisor, "WorkerProcess", QuickWorker)
            assert ann.waited(ann.submit(JOB, files))["state"] == "done"


# -- a disk that is full -------------------------------------------------------------------------------------

DISK = 24_000_000
FREE = 2_000_000


class SmallDisk:
    """A file system of its own, and how much of it is free."""

    def __init__(self, path: Path) -> None:
        self.path, self._filler = path, path / "filler"

    def leave(self, free: int) -> None:
        """Fill the disk with a file of somebody else until so many bytes are free."""
        with self._filler.open("ab", buffering=0) as filler:
            filler.truncate(0)
            try:
                filler.write(bytes(max(0, shutil.disk_usage(self.path).free - free)))
            except OSError:
                assert not shutil.disk_usage(self.path).free

    def make_space(self) -> None:
        """Remove what filled the disk."""
        self._filler.unlink()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    path, mount = tmp_path / "disk", shutil.which("mount")
    path.mkdir()
    asked = [mount or "", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(path)]
    if mount is None or subprocess.run(asked, capture_output=True, check=False).returncode:
        pytest.skip("no file system may be mounted here")
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run([shutil.which("umount") or "umount", "-l", str(path)], check=True)


@pytest.fixture
def on_small_disk(small_disk: SmallDisk) -> Iterator[RunningService]:
    with running_service(small_disk.path / "state", free=FREE, jobs=2) as service:
        yield service


FILLER = """
import json, os, time
print(json.dumps({"event": "progress", "data": {"phase": "starting", "elapsed": 0.0}}), flush=True)
while not os.path.exists("../../../go"):
    time.sleep(0.01)
os.makedirs("out/public")
with open("out/public/a.csv", "wb", buffering=0) as file:
    while file.write(bytes(10_000)):
        pass
"""
"""A worker that waits, and then writes until the disk is full."""


def test_jobs_that_fill_the_disk_fail_and_the_queue_goes_on(
    small_disk: SmallDisk, on_small_disk: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_process, "COMMAND", (sys.executable, "-I", "-S", "-c", FILLER))
    with on_small_disk.client() as ann:
        files = {"data/firms.csv": ann.send_file("firms.csv", FIRMS)["id"]}
        ids = [ann.submit(JOB, files) for _ in range(3)]
        for id in ids[:2]:
            ann.progressed(id, bool)
        small_disk.leave(0)
        refused = ann.post("/jobs", json={"toml": JOB, "files": files})
        assert refused.status_code == 507 and refused.json()["error"]["kind"] == "disk_full", refused.text
        assert ann.post("/files?name=x.csv", content=FIRMS).status_code == 507
        (small_disk.path / "go").mkdir()
        for id in ids[:2]:
            job = ann.waited(id)
            assert (job["state"], job["error"]["kind"]) == ("failed", "disk_full"), job
            assert not on_small_disk.desk.state.job(id).out.exists()
        assert ann.job(ids[2])["state"] == "queued"  # it has its turn when there is space
        monkeypatch.setattr(worker_process, "COMMAND", NO_WORKER)
        small_disk.make_space()
        assert ann.waited(ids[2])["error"]["kind"] == "died"
        assert ann.waited(ann.submit(JOB, files))["error"]["kind"] == "died"
        assert ann.delete(f"/jobs/{ids[0]}").status_code == 204


def test_on_a_full_disk_jobs_are_cancelled_and_deleted(
    small_disk: SmallDisk, on_small_disk: RunningService, sleepers: None
) -> None:
    with on_small_disk.client() as ann:
        files = {"data/firms.csv": ann.send_file("firms.csv", FIRMS)["id"]}
        running, waiting = [ann.submit(JOB, files) for _ in range(2)], ann.submit(JOB, files)
        for id in running:
            ann.waited(id, "running")
        small_disk.leave(0)
        assert ann.post(f"/jobs/{waiting}/cancel").status_code == 202
        assert ann.post(f"/jobs/{running[0]}/cancel").status_code == 202
        assert ann.waited(running[0])["state"] == ann.job(waiting)["state"] == "cancelled"
        assert ann.delete(f"/jobs/{running[1]}").status_code == 204
        assert ann.delete(f"/files/{files['data/firms.csv']}").status_code == 204
        assert ann.get(f"/jobs/{running[1]}").status_code == 404


@pytest.mark.slow
@pytest.mark.parametrize("free", range(0, 1_500_000, 50_000))
def test_a_real_job_ends_wherever_the_disk_is_full(small_disk: SmallDisk, free: int) -> None:
    with running_service(small_disk.path / "state", free=0) as service, service.client() as ann:
        files = {"data/firms.csv": ann.send_file("firms.csv", FIRMS)["id"]}
        small_disk.leave(free)
        answer = ann.post("/jobs", json={"toml": JOB, "files": files})
        if answer.status_code != 202:
            assert answer.status_code == 507, answer.text
        else:
            job = ann.waited(answer.json()["id"])
            assert job["state"] == "done" or "disk" in job["error"]["kind"], job
        small_disk.make_space()
        assert ann.waited(ann.submit(JOB, files))["safe"]
