"""Faults that are injected one after the other: the statement, write or flush of a given number fails.

Nothing is flushed to the disk meanwhile: that would take nearly all of the time.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

MAKING = ("os.mkdir", "os.rename", "os.link", "shutil.copyfile")
"""Audited events that need space on the disk, beside opening a file for writing."""


class Faults:
    """Counts what may fail, and lets one of them fail, or all from it on until they are mended."""

    def __init__(self, first: int, *, is_lasting: bool) -> None:
        self._first, self._is_lasting = first, is_lasting
        self._count, self._lock = 0, threading.Lock()
        self._quiet = threading.local()
        self.has_failed = False

    def mend(self) -> None:
        """Nothing fails from now on."""
        self._is_lasting = False

    @contextmanager
    def ignored(self) -> Iterator[None]:
        """What this thread does in the block neither counts nor fails."""
        self._quiet.is_on = True
        try:
            yield
        finally:
            self._quiet.is_on = False

    def is_next(self) -> bool:
        """Count one; whether it fails."""
        if getattr(self._quiet, "is_on", False):
            return False
        with self._lock:
            self._count += 1
            fails = self._count == self._first or (self._is_lasting and self._count > self._first)
            self.has_failed |= fails
            return fails


def fail_statements(faults: Faults, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let statements of SQLite fail."""

    class Faulty(sqlite3.Connection):
        def execute(self, query: str, *given: Any) -> sqlite3.Cursor:
            if faults.is_next():
                raise sqlite3.OperationalError("database or disk is full")
            return super().execute(query.replace("synchronous = FULL", "synchronous = OFF"), *given)

        def rollback(self) -> None:
            if faults.is_next():
                raise sqlite3.OperationalError("disk I/O error")
            super().rollback()

    connect = sqlite3.connect
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **named: connect(*given, factory=Faulty, **named))


_now: list[tuple[Faults, Path]] = []
"""An audit hook cannot be removed: it looks here."""


def _audit(event: str, given: tuple[Any, ...]) -> None:
    for faults, folder in _now:
        is_write = event in MAKING or (event == "open" and (given[2] or 0) & (os.O_WRONLY | os.O_RDWR))
        if is_write and str(given[0]).startswith(str(folder)) and faults.is_next():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextmanager
def failing_writes(faults: Faults, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the making, opening for writing, renaming, linking and flushing of files below a folder fail."""

    def fsync(handle: int) -> None:
        if faults.is_next():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if not getattr(sys, "_has_fault_hook", False):
        sys._has_fault_hook = True  # type: ignore[attr-defined]
        sys.addaudithook(_audit)
    monkeypatch.setattr(os, "fsync", fsync)
    _now.append((faults, folder))
    try:
        yield
    finally:
        _now.clear()
