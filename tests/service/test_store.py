"""Who is next, what is kept, what is deleted: the SQLite file and the desk over it."""

import sqlite3
import time
from pathlib import Path

import pytest

from cellveil.errors import InputError
from cellveil.service.job_folders import StateFolder, new_id
from cellveil.service.service_limits import ServiceLimits
from cellveil.service.store import EventKind, JobRecord, JobState, Store, StoredFile
from helpers.service import RunningService, running_service


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "service.db")


def queued(store: Store, owner: str, moment: float, **limits: int) -> str:
    job = JobRecord(new_id(), owner, "", "run", JobState.QUEUED, moment)
    assert store.add_job(job, **{"waiting": 100, "kept": 100} | limits)
    return job.id


def test_one_user_cannot_starve_the_others(store: Store) -> None:
    many = [queued(store, "ann", n) for n in range(5)]
    late = [queued(store, "bob", 10 + n) for n in range(2)]
    order = []
    for _ in range(7):
        job = store.begin_next()
        assert job is not None
        order.append(job.id)
        assert store.end_job(job.id, JobState.DONE)
    assert order == [many[0], late[0], many[1], late[1], *many[2:]]


def test_two_places_go_to_two_users(store: Store) -> None:
    first, *_ = [queued(store, "ann", n) for n in range(3)]
    other = queued(store, "bob", 10)
    begun = [store.begin_next() for _ in range(2)]
    assert [job and job.id for job in begun] == [first, other]


def test_users_have_room_for_so_many_jobs(store: Store) -> None:
    queued(store, "ann", 0, waiting=1)
    assert not store.add_job(JobRecord(new_id(), "ann", "", "run", JobState.QUEUED, 1), waiting=1, kept=9)
    assert not store.add_job(JobRecord(new_id(), "ann", "", "run", JobState.QUEUED, 1), waiting=9, kept=1)
    queued(store, "bob", 1, waiting=1)


def test_a_job_ends_once(store: Store) -> None:
    id = queued(store, "ann", 0)
    store.begin_next()
    assert store.end_job(id, JobState.CANCELLED)
    assert not store.end_job(id, JobState.DONE, exit_code=0)
    store.tell_progress(id, {"phase": "late"})
    job = store.job("ann", id)
    assert job is not None and job.state is JobState.CANCELLED and job.progress is None
    kinds = [event.kind for event in store.events(id)]
    assert kinds == [EventKind.STATE] * 3 + [EventKind.END]
    assert [event.number for event in store.events(id, after=2)] == [3, 4]


def test_a_change_that_fails_is_no_change(store: Store) -> None:
    id = queued(store, "ann", 0)
    store.begin_next()
    with pytest.raises(TypeError):
        store.end_job(id, JobState.FAILED, error={"odd": object()})
    job = store.job("ann", id)
    assert job is not None and job.state is JobState.RUNNING
    with pytest.raises(sqlite3.IntegrityError):
        store.add_job(job, waiting=9, kept=9)
    store.tell_progress(id, {"phase": "goes on"})


def test_deletion_removes_everything(small_service: RunningService, no_workers: None) -> None:
    with small_service.client() as ann:
        file = ann.send_file("planted-name.csv", "planted,content\n1,2\n")["id"]
        asked = {
            "verb": "suppress",
            "files": {"x": file},
            "options": {"instance": "x"},
            "name": "planted-job",
        }
        id = ann.post("/jobs", json=asked).json()["id"]
        assert ann.waited(id)["state"] == "failed"
        assert ann.delete(f"/jobs/{id}").status_code == 204
        assert ann.delete(f"/files/{file}").status_code == 204
    state = small_service.desk.state
    assert [list(path.iterdir()) for path in (state.files, state.jobs, state.scratch)] == [[], [], []]
    rows = small_service.desk.store._rows("SELECT * FROM events UNION ALL SELECT id, 0, name, '' FROM jobs")
    assert rows == [] and small_service.desk.store.file_ids() == []


def test_what_is_old_is_deleted_when_it_is_over(tmp_path: Path, sleepers: None) -> None:
    state = StateFolder(tmp_path / "state")
    store = Store(state.database)
    long_ago = time.time() - 100 * 86_400
    old, alive = queued(store, "ann", long_ago), queued(store, "ann", long_ago + 1)
    store.end_job(old, JobState.FAILED, among=(JobState.QUEUED,))
    for id in (old, alive):
        state.job(id).fill({"options": {}}, "", {})
    (state.jobs / new_id()).mkdir()  # of a service that died before it had told the store
    file = StoredFile(new_id(), "ann", "x", "x.csv", 1, "", long_ago)
    store.add_file(file, most=9, storage=9)
    state.file(file.id).mkdir()
    store.close()
    with running_service(tmp_path / "state", keep_days=30) as service:
        assert old not in service.desk.store.job_ids() and alive in service.desk.store.job_ids()
        assert [path.name for path in service.desk.state.jobs.iterdir()] == [alive]
        assert list(service.desk.state.files.iterdir()) == []


def test_limits_are_checked() -> None:
    for name, parameter in ServiceLimits.described().items():
        assert parameter.what.endswith("."), name


def test_a_database_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    (tmp_path / "service.db").write_bytes(b"no database" * 1000)
    with pytest.raises(InputError, match=r"service\.db.*cannot be opened.*--state"):
        Store(tmp_path / "service.db")
