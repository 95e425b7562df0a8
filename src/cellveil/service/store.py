"""Who owns which files and jobs over tables, their states and progress, in one SQLite file.

A file of random bytes beside it reserves space on the disk: it is removed when the disk is full, so that the
end of a job can still be recorded, and written again when there is space.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from threading import RLock
from typing import Any

from cellveil.errors import InputError


class JobState(StrEnum):
    """Where a job stands."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen."""
        return self not in (JobState.QUEUED, JobState.RUNNING)


class EventKind(StrEnum):
    """What an event of a job tells."""

    STATE = "state"
    PROGRESS = "progress"
    END = "end"


RESERVE = 1_000_000
"""Bytes that are reserved for the ends of jobs."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS files (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, stored TEXT NOT NULL,
    bytes INTEGER NOT NULL, sha256 TEXT NOT NULL, created REAL NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS jobs (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, verb TEXT NOT NULL, state TEXT NOT NULL,
    created REAL NOT NULL, began REAL, ended REAL, exit_code INTEGER, safe INTEGER, verdict TEXT,
    progress TEXT, error TEXT
) STRICT;
CREATE TABLE IF NOT EXISTS events (
    job TEXT NOT NULL, number INTEGER NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY (job, number)
) STRICT;
CREATE INDEX IF NOT EXISTS jobs_of ON jobs (owner, created);
CREATE INDEX IF NOT EXISTS jobs_in ON jobs (state);
CREATE INDEX IF NOT EXISTS files_of ON files (owner, created);
"""


@dataclass(frozen=True)
class StoredFile:
    """An uploaded file: its name as the user gave it, and the safe one under which it is stored."""

    id: str
    owner: str
    name: str
    stored: str
    bytes: int
    sha256: str
    created: float


@dataclass(frozen=True)
class JobRecord:
    """A job, and where it stands; times in seconds since 1970."""

    id: str
    owner: str
    name: str
    verb: str
    state: JobState
    created: float
    began: float | None = None
    ended: float | None = None
    exit_code: int | None = None
    safe: bool | None = None
    verdict: str | None = None
    progress: Mapping[str, Any] | None = None
    error: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class JobEvent:
    """An event of a job; numbers go up from 1."""

    number: int
    kind: EventKind
    data: Mapping[str, Any]


class Store:
    """The SQLite file; every method is one transaction, and may be called from any thread."""

    def __init__(self, path: Path) -> None:
        self._lock = RLock()
        self._reserve = path.with_name(f"{path.stem}.reserve")
        self._keep_reserve()
        try:
            self._connection = _opened(path)
        except sqlite3.Error as error:
            raise InputError(
                f"the database of the service cannot be opened ({error})",
                file=path,
                remedy="Free some space on the disk, or begin with another folder: --state FOLDER.",
            ) from None

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _alone(self) -> Iterator[sqlite3.Connection]:
        """The connection for this thread alone, outside of any transaction."""
        with self._lock:
            if self._connection.in_transaction:  # of a change that could not even be rolled back
                self._connection.rollback()
            yield self._connection

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        with self._alone() as change:
            self._keep_reserve()
            change.execute("BEGIN IMMEDIATE")
            try:
                yield change
                change.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # the first error says why
                    change.rollback()
                raise

    def _keep_reserve(self) -> None:
        """Give the reserve up where the disk is full, and make it where there is space."""
        with suppress(OSError):
            free = shutil.disk_usage(self._reserve.parent).free
            if free < RESERVE:
                self._reserve.unlink(missing_ok=True)
            elif free > 4 * RESERVE and not self._reserve.exists():
                self._reserve.write_bytes(os.urandom(RESERVE))

    def _rows(self, query: str, *given: Any) -> list[sqlite3.Row]:
        with self._alone() as connection:
            return connection.execute(query, given).fetchall()

    # -- files -------------------------------------------------------------------------------------------

    def add_file(self, file: StoredFile, *, most: int, storage: int) -> bool:
        """Add an upload, unless its owner would have too many or too much."""
        with self._change() as change:
            count, size = change.execute(
                "SELECT count(*), coalesce(sum(bytes), 0) FROM files WHERE owner = ?", (file.owner,)
            ).fetchone()
            if count >= most or size + file.bytes > storage:
                return False
            given = (file.id, file.owner, file.name, file.stored, file.bytes, file.sha256, file.created)
            change.execute("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?)", given)
        return True

    def has_room(self, owner: str, *, most: int, storage: int) -> bool:
        """Whether a user may keep one more file."""
        query = "SELECT count(*), coalesce(sum(bytes), 0) FROM files WHERE owner = ?"
        count, size = self._rows(query, owner)[0]
        return bool(count < most and size < storage)

    def files_of(self, owner: str) -> list[StoredFile]:
        """The uploads of a user, the latest first."""
        rows = self._rows("SELECT * FROM files WHERE owner = ? ORDER BY created DESC, id", owner)
        return [StoredFile(**dict(row)) for row in rows]

    def file(self, owner: str, id: str) -> StoredFile | None:
        """An upload of this user."""
        rows = self._rows("SELECT * FROM files WHERE owner = ? AND id = ?", owner, id)
        return StoredFile(**dict(rows[0])) if rows else None

    def remove_file(self, id: str) -> None:
        """Forget an upload."""
        with self._change() as change:
            change.execute("DELETE FROM files WHERE id = ?", (id,))

    def file_ids(self, *, before: float | None = None) -> list[str]:
        """All uploads, or those made before a moment."""
        query = "SELECT id FROM files WHERE created < ?"
        return [row[0] for row in self._rows(query, float("inf") if before is None else before)]

    # -- jobs --------------------------------------------------------------------------------------------

    def add_job(self, job: JobRecord, *, waiting: int, kept: int) -> bool:
        """Queue a job, unless its owner has too many."""
        with self._change() as change:
            alive, everything = change.execute(
                "SELECT coalesce(sum(state IN ('queued', 'running')), 0), count(*) FROM jobs WHERE owner = ?",
                (job.owner,),
            ).fetchone()
            if alive >= waiting or everything >= kept:
                return False
            change.execute(
                "INSERT INTO jobs (id, owner, name, verb, state, created) VALUES (?, ?, ?, ?, ?, ?)",
                (job.id, job.owner, job.name, job.verb, job.state, job.created),
            )
            _add_event(change, job.id, EventKind.STATE, {"state": job.state})
        return True

    def jobs_of(self, owner: str, most: int) -> list[JobRecord]:
        """The jobs of a user, the latest first."""
        query = "SELECT * FROM jobs WHERE owner = ? ORDER BY created DESC, id LIMIT ?"
        return list(map(_job, self._rows(query, owner, most)))

    def job(self, owner: str, id: str) -> JobRecord | None:
        """A job of this user."""
        rows = self._rows("SELECT * FROM jobs WHERE owner = ? AND id = ?", owner, id)
        return _job(rows[0]) if rows else None

    def job_ids(self, *states: JobState, before: float | None = None) -> list[str]:
        """Jobs in these states (all by default) that were made before a moment."""
        marks = ", ".join("?" * len(states))
        among = f"AND state IN ({marks})" if states else ""
        query = f"SELECT id FROM jobs WHERE created < ? {among} ORDER BY created"
        return [row[0] for row in self._rows(query, float("inf") if before is None else before, *states)]

    def begin_next(self) -> JobRecord | None:
        """Mark the next job as running; None where none waits.

        The next one is of the user who has fewest running, then of the one who had to wait longest.
        """
        with self._change() as change:
            found = change.execute(
                "SELECT id FROM jobs AS j WHERE state = 'queued' ORDER BY "
                "(SELECT count(*) FROM jobs AS r WHERE r.owner = j.owner AND r.state = 'running'), "
                "(SELECT coalesce(max(r.began), 0) FROM jobs AS r WHERE r.owner = j.owner), created, id "
                "LIMIT 1"
            ).fetchone()
            if found is None:
                return None
            change.execute(
                "UPDATE jobs SET state = 'running', began = ? WHERE id = ?", (time.time(), found["id"])
            )
            _add_event(change, found["id"], EventKind.STATE, {"state": JobState.RUNNING})
            return _job(change.execute("SELECT * FROM jobs WHERE id = ?", (found["id"],)).fetchone())

    def end_job(
        self,
        id: str,
        state: JobState,
        *,
        among: Sequence[JobState] = (JobState.RUNNING,),
        exit_code: int | None = None,
        verdict: Mapping[str, Any] | None = None,
        error: Mapping[str, Any] | None = None,
    ) -> bool:
        """Bring a job to its end, where it is in one of these states."""
        told = verdict or {}
        with self._change() as change:
            marks = ", ".join("?" * len(among))
            done = change.execute(
                "UPDATE jobs SET state = ?, ended = ?, exit_code = ?, safe = ?, verdict = ?, error = ? "
                f"WHERE id = ? AND state IN ({marks})",
                (
                    *(state, time.time(), exit_code, told.get("safe"), told.get("verdict")),
                    *(None if error is None else _text(error), id, *among),
                ),
            )
            if done.rowcount:
                ending = {"state": state, "exit_code": exit_code, **told, "error": error}
                kept = {key: value for key, value in ending.items() if value is not None}
                _add_event(change, id, EventKind.STATE, {"state": state})
                _add_event(change, id, EventKind.END, kept)
            return bool(done.rowcount)

    def tell_progress(self, id: str, data: Mapping[str, Any]) -> None:
        """Keep what a running job told last, and the event."""
        with self._change() as change:
            done = change.execute(
                "UPDATE jobs SET progress = ? WHERE id = ? AND state = 'running'", (_text(data), id)
            )
            if done.rowcount:
                _add_event(change, id, EventKind.PROGRESS, data)

    def remove_job(self, id: str) -> None:
        """Forget a job and its events."""
        with self._change() as change:
            change.execute("DELETE FROM events WHERE job = ?", (id,))
            change.execute("DELETE FROM jobs WHERE id = ?", (id,))

    def events(self, job: str, after: int = 0) -> list[JobEvent]:
        """The events of a job with higher numbers."""
        query = "SELECT number, kind, data FROM events WHERE job = ? AND number > ? ORDER BY number"
        rows = self._rows(query, job, after)
        return [JobEvent(row["number"], EventKind(row["kind"]), json.loads(row["data"])) for row in rows]


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=30)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA secure_delete = ON")
    connection.executescript(SCHEMA)
    return connection


def _add_event(change: sqlite3.Connection, job: str, kind: EventKind, data: Mapping[str, Any]) -> None:
    change.execute(
        "INSERT INTO events SELECT ?, coalesce(max(number), 0) + 1, ?, ? FROM events WHERE job = ?",
        (job, kind, _text(data), job),
    )


def _text(data: Mapping[str, Any]) -> str:
    return json.dumps(dict(data), ensure_ascii=False)


def _job(row: sqlite3.Row) -> JobRecord:
    data = dict(row)
    for key in ("progress", "error"):
        data[key] = None if data[key] is None else json.loads(data[key])
    data["safe"] = None if data["safe"] is None else bool(data["safe"])
    return JobRecord(**data | {"state": JobState(data["state"])})
