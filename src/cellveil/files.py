"""Reading text with a clear message, and writing files that are either whole or not there."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cellveil.errors import InputError


@contextmanager
def atomic_path(target: Path) -> Iterator[Path]:
    """Yield a temporary path beside `target`; rename it on success, remove it on failure.

    Raises
    ------
    InputError
        When the folder cannot be written to or the disk is full; the old file, if any, is untouched.
    """
    target = Path(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(
            prefix=f".{target.stem[:40]}.", suffix=target.suffix, dir=target.parent
        )
        os.close(handle)
    except OSError as error:
        raise _cannot_write(target, error) from error
    temporary = Path(name)
    try:
        yield temporary
        _flush(temporary)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)
    except OSError as error:
        raise _cannot_write(target, error) from error
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


def write_text(target: Path, text: str) -> None:
    """Write UTF-8 text atomically, with Unix line ends."""
    with atomic_path(target) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def write_bytes(target: Path, data: bytes) -> None:
    """Write bytes atomically."""
    with atomic_path(target) as temporary:
        temporary.write_bytes(data)


def sha256(*parts: bytes) -> str:
    """Hex digest of the parts, each preceded by its length so that borders count."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def read_text(path: Path, encoding: str | None = None) -> str:
    """Read a text file; a byte-order mark is dropped.

    Raises
    ------
    InputError
        When the file is missing, a folder, empty, binary, or not in the encoding.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError("the file does not exist", file=path, remedy="Check the path.") from None
    except IsADirectoryError:
        raise InputError(
            "a folder where a file is expected", file=path, remedy="Name the file in it."
        ) from None
    except OSError as error:
        raise InputError(f"cannot read ({error.strerror})", file=path, remedy="Check your rights.") from error
    if not data.strip():
        raise InputError(
            "the file is empty", file=path, remedy="Write the data into it, or name another file."
        )
    try:
        text = data.decode(encoding or "utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"the text is not encoded in {encoding or 'UTF-8'}",
            file=path,
            line=line,
            remedy="Save the file as UTF-8, or say the encoding (for example cp1252).",
        ) from None
    except LookupError:
        raise InputError(f"unknown encoding {encoding!r}", file=path, remedy="Try utf-8 or cp1252.") from None
    if "\x00" in text:
        raise InputError("the file is binary, not text", file=path, remedy="Export it as text or CSV.")
    return text


def read_text_lines(path: Path, encoding: str | None = None) -> list[str]:
    """The lines of a text file, without line ends."""
    return read_text(path, encoding).splitlines()


def _flush(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _cannot_write(target: Path, error: OSError) -> InputError:
    return InputError(
        f"cannot write ({error.strerror or error})",
        file=target,
        remedy="Free space or choose a folder you may write to; nothing was changed.",
    )
