"""Errors of the service: what a table's owner is told, as data, with the exit code of the command line.

An error never carries a confidential value: texts of ours do not, and of other exceptions only the type and
the place in the code are told.
"""

from __future__ import annotations

import errno
import signal
import sqlite3
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cellveil.errors import CellveilError, InfeasibleError, InputError

KINDS = {
    400: "bad_request", 401: "unauthorised", 403: "forbidden", 404: "not_found", 405: "method_not_allowed",
    408: "too_slow", 409: "conflict", 411: "length_required", 413: "too_large", 415: "media_type",
    421: "wrong_host", 422: "invalid", 429: "too_many", 499: "left", 500: "internal", 503: "busy",
    507: "disk_full",
}  # fmt: skip
"""A word for each status."""


NO_ROOM = (errno.EFBIG, errno.ENOSPC, errno.EDQUOT)
"""What the system says where the disk has no space."""


class ServiceError(CellveilError):
    """A request that is refused."""

    def __init__(self, status: int, message: str, hint: str = "") -> None:
        self.status, self.message, self.hint = status, message, hint
        super().__init__(message)

    def to_dict(self) -> dict[str, Any]:
        """As it is answered."""
        return plain_error(KINDS.get(self.status, "error"), self.message, self.hint)


class TaskError(Exception):
    """What a worker says is wrong, as data."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        self.told = dict(told)
        super().__init__(self.told.get("kind"))


def plain_error(kind: str, message: str, hint: str = "", **further: Any) -> dict[str, Any]:
    """An error as data; what is not known is left out."""
    given = {"kind": kind, "message": message, "hint": hint, **further}
    return {key: value for key, value in given.items() if value not in (None, "")}


def not_found(what: str = "there is nothing of that id") -> ServiceError:
    """The answer for what is not there, or belongs to somebody else."""
    return ServiceError(404, what)


def no_token() -> ServiceError:
    """The answer to who shows no valid token."""
    return ServiceError(401, "a valid token is needed.")


def disk_full(words: str = "the disk of the service is full.") -> ServiceError:
    """The answer where there is no space for what would have to be kept."""
    return ServiceError(507, words, "Try again when there is space: whoever runs the service can free some.")


def is_disk_full(error: BaseException | None) -> bool:
    """Whether an error, or what it follows from, says that the disk has no space."""
    if isinstance(error, OSError):
        return error.errno in NO_ROOM
    return isinstance(error, CellveilError) and is_disk_full(error.__cause__)


def refused_by_disk(error: BaseException) -> ServiceError | None:
    """The answer where the disk is full, or the database cannot be read or written; None for other errors."""
    if is_disk_full(error):
        return disk_full()
    if not (isinstance(error, sqlite3.OperationalError) or type(error) is sqlite3.DatabaseError):
        return None
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return ServiceError(503, "the database of the service is busy.", "Try again in a moment.")
    return disk_full(f"the database of the service refuses it ({error}).")


def told_error(error: CellveilError, folder: Path | None = None) -> dict[str, Any]:
    """An error of the engine as data; paths are told relative to the folder of the job."""
    if isinstance(error, ServiceError):
        return error.to_dict()
    if isinstance(error, InputError):
        file = None if error.file is None else shown_file(error.file, folder)
        told = InputError(error.what, file=file, line=error.line, cell=error.cell, remedy=error.remedy)
        return plain_error(
            "input",
            without_folder(str(told), folder),
            without_folder(error.remedy, folder),
            file=file,
            line=error.line,
            cell=error.cell,
            exit_code=error.exit_code,
        )
    kind = (
        "infeasible"
        if isinstance(error, InfeasibleError)
        else type(error).__name__.removesuffix("Error").lower()
    )
    return plain_error(kind, without_folder(str(error), folder), exit_code=error.exit_code)


def unexpected_error(error: BaseException) -> dict[str, Any]:
    """A bug: its place and nothing else, as what an exception carries may be confidential."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    return plain_error(
        "internal",
        f"internal error ({type(error).__name__}{place}); nothing was released.",
        "Please report this line.",
        exit_code=1,
    )


def died(code: int, memory: int) -> dict[str, Any]:
    """What is told of a worker that ended without a word; it had so many bytes of memory."""
    why = f"exit code {code}"
    if code < 0:
        try:
            why = signal.Signals(-code).name
        except ValueError:
            why = f"signal {-code}"
    return plain_error(
        "died",
        f"the process of the job ended unexpectedly ({why}); nothing was released.",
        f"It may have needed more memory than the {memory / 1e9:g} GB that a job has. Run it again.",
    )


def shown_file(file: str, folder: Path | None) -> str:
    """A path as the user knows it: within the folder of the job, or the name alone."""
    path = Path(file)
    if folder is not None and path.is_relative_to(folder):
        return path.relative_to(folder).as_posix()
    return path.name if path.is_absolute() else file


def without_folder(text: str, folder: Path | None) -> str:
    """A text without the place of the state on the server."""
    return text if folder is None else text.replace(f"{folder}/", "").replace(str(folder), "the job")
