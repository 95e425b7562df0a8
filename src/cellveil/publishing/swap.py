"""Atomic exchange of two releases: under each name a reader finds the one folder or the other, whole.

Linux and macOS exchange two names in one step. Where the system or the file system cannot (Windows, some
network drives), three renames do it: for a moment one name is not there, and a process that is killed in that
moment leaves the folder under the name `aside`, from which `Staging.restore` brings it back.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

AT_FDCWD = -100
RENAME_EXCHANGE = 2  # of Linux's renameat2; RENAME_SWAP of macOS's renamex_np has the same number

UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM)
"""What systems and file systems answer that cannot exchange names; EPERM also where it is filtered."""


def swap(one: Path, other: Path, aside: Path) -> None:
    """Exchange two folders of one file system; `aside` is a name beside `one` that is free."""
    if swap_at_once(one, other):
        return
    other.rename(aside)
    try:
        one.rename(other)
    except BaseException:
        aside.rename(other)
        raise
    with suppress(OSError):  # the exchange is done; the old folder keeps the name aside
        aside.rename(one)


def swap_at_once(one: Path, other: Path) -> bool:
    """Exchange two names in one step; False, and nothing done, where that is not possible.

    Raises
    ------
    OSError
        When it is possible in general, and failed.
    """
    function = _exchange_function()
    if function is None:
        return False
    if function(os.fsencode(one), os.fsencode(other)) == 0:
        return True
    number = ctypes.get_errno()
    if number in UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(one), None, str(other))


def _exchange_function() -> Any:
    """The system's exchange of two names, or None."""
    with suppress(AttributeError, OSError):
        if sys.platform == "linux":
            rename = ctypes.CDLL(None, use_errno=True).renameat2
            return lambda one, other: rename(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE)
        if sys.platform == "darwin":
            rename = ctypes.CDLL(None, use_errno=True).renamex_np
            return lambda one, other: rename(one, other, RENAME_EXCHANGE)
    return None
