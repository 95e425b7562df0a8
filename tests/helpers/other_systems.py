"""Windows and macOS, played on the system at hand: functions that are not there, other answers."""

from __future__ import annotations

import errno
import importlib.util
import os
import sys
import types
from pathlib import Path
from typing import Any

import pytest

POSIX_ONLY = (
    *("chown", "fchmod", "fork", "getegid", "geteuid", "getgid", "getpgid", "getuid", "killpg", "setsid"),
    *("O_DIRECTORY", "O_NOFOLLOW", "sched_getaffinity", "sync", "uname", "wait4", "WIFSIGNALED"),
)
"""What `os` does not have on Windows."""


class WindowsOs(types.ModuleType):
    """`os` as a module sees it on Windows; paths stay those of the system at hand."""

    name = "nt"

    def __getattr__(self, wanted: str) -> Any:
        if wanted in POSIX_ONLY:
            raise AttributeError(f"module 'os' has no attribute {wanted!r}")
        return getattr(os, wanted)


WINDOWS = WindowsOs("os")


def locking(handle: int, mode: int, number: int) -> None:
    """As `msvcrt.locking`: one holder, others get EACCES."""
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OSError(errno.EACCES, "Permission denied") from None


def as_on_windows(module: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module, loaded anew where the platform is Windows."""
    msvcrt = types.ModuleType("msvcrt")
    msvcrt.LK_NBLCK, msvcrt.locking = 2, locking  # type: ignore[attr-defined]
    with monkeypatch.context() as patch:
        patch.setattr(sys, "platform", "win32")
        patch.setitem(sys.modules, "msvcrt", msvcrt)
        patch.setitem(sys.modules, "fcntl", None)  # an import of it fails
        spec = importlib.util.spec_from_file_location(f"{module.__name__}_on_windows", str(module.__file__))
        assert spec is not None and spec.loader is not None
        found: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found)
    found.os = WINDOWS
    return found


def second_name(path: Path, name: str) -> Path:
    """What a folder that does not count capitals or accents finds under another name: the same file."""
    other = path.with_name(name)
    os.link(path, other)
    return other
