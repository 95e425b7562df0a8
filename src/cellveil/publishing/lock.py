"""Lock on the folder of a release that is to be replaced: one process holds it, and it ends with it.

The operating system keeps the lock on an open file beside the folder, so that a run that is killed leaves no
lock behind; the empty file may stay and does no harm.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cellveil.errors import InputError

if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


HELD = (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)
"""What the system answers when somebody else has the lock."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other runs from writing into the folder, which need not be there yet.

    Folders above it that had to be made are removed if they are still empty at the end.

    Raises
    ------
    InputError
        At once, when another run has the lock or the place cannot be locked.
    """
    missing = [path for path in folder.parents if not path.exists()]
    path = folder.parent / f".{folder.name}.cellveil-lock"
    try:
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            handle = _acquire(path, folder)
        except OSError as error:
            raise InputError(
                f"cannot lock the folder ({error.strerror or error})",
                file=folder,
                remedy="Choose a folder that you may write to, on a file system that knows locks.",
            ) from error
        try:
            yield
        finally:
            _give_back(handle, path)
    finally:
        with suppress(OSError):  # whichever of them were made for nothing
            for made in missing:
                made.rmdir()


def _acquire(path: Path, folder: Path) -> int:
    flags = os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
    while True:
        handle = os.open(path, flags, 0o666)
        try:
            _lock(handle)
        except OSError as error:
            os.close(handle)
            if error.errno not in HELD:
                raise
            raise InputError(
                "another run is writing into this folder",
                file=folder,
                remedy="Wait until it has ended, or choose another folder for the output.",
            ) from None
        if _is_file_of(handle, path):
            return handle
        os.close(handle)  # its last holder has removed the file: a lock on it keeps nobody off


def _is_file_of(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _give_back(handle: int, path: Path) -> None:
    if os.name == "posix":
        with suppress(OSError):  # while it is locked: whoever opens it later makes it anew
            path.unlink()
    os.close(handle)
    if os.name != "posix":
        with suppress(OSError):  # refused when another run has opened it meanwhile
            path.unlink()
