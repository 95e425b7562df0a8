"""Reading text with a clear message, and writing files that are whole or not there, and harmless to open."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
import shutil
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

from cellveil.errors import InputError, check_kind


@contextmanager
def atomic_path(target: Path) -> Iterator[Path]:
    """Yield a temporary path beside `target`; rename it on success, remove it on failure.

    A file that was there keeps its permissions.

    Raises
    ------
    InputError
        When the folder cannot be written to or the disk is full; the old file, if any, is untouched. And when
        the file would lie in a folder that is published: only the writer of releases adds to it.
    """
    target = Path(target)
    check_not_published(target)
    temporary = target.parent / f".{target.stem[:40]}.{token_hex(8)}{target.suffix[:40]}"
    try:
        mode = _create(temporary, like=target)
        yield temporary
        flush_file(temporary)
        temporary.chmod(mode)
        temporary.replace(target)
    except OSError as error:
        raise _cannot_write(target, error) from error
    finally:
        with suppress(FileNotFoundError, NotADirectoryError):
            temporary.unlink()


# -- folders that are published -----------------------------------------------------------------------------

ABOUT, SOFTWARE = "about.json", "cellveil"
"""What a release says of itself, and of the program that made it."""

PUBLIC, INTERNAL, RUN_FILE = "public", "internal", "run.json"
"""The two folders of a job's output, and in the second the run it is of."""


def is_release_folder(folder: Path) -> bool:
    """Whether a release lies in the folder itself."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        return bool(about["software"]["name"] == SOFTWARE)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def is_output_folder(folder: Path) -> bool:
    """Whether a job has written into the folder."""
    return (folder / INTERNAL / RUN_FILE).is_file()


def check_not_published(target: Path) -> None:
    """Raise where a file or folder would lie in a folder that is published, links followed or not.

    That is a folder with a release, or the public folder of a job whose release was withdrawn.
    """
    target = Path(target)
    places = (target.absolute(), target.resolve())
    for folder in dict.fromkeys(above for place in places for above in (place, *place.parents)):
        if is_release_folder(folder) or (folder.name == PUBLIC and is_output_folder(folder.parent)):
            raise InputError(
                f"this would be written into {folder}, which is published",
                file=target,
                remedy="Choose a place outside of it.",
            )


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


def flush_file(path: Path) -> None:
    """Wait until the content of a file is on the disk."""
    with path.open("r+b") as file:  # for writing: elsewhere a handle for reading cannot be flushed
        os.fsync(file.fileno())


def flush_folder(path: Path) -> None:
    """Wait until the names in a folder are on the disk, where the system can say so."""
    if os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network drives cannot
            raise
    finally:
        os.close(handle)


def checked_path(given: object, what: str) -> Path:
    """The path of a file or folder; refuse what is none.

    Examples
    --------
    >>> checked_path(3, "the folder")
    Traceback (most recent call last):
    ...
    cellveil.errors.InputError: the folder is of type int. Give its path, as text or as a Path.
    """
    check_kind(given, (str, os.PathLike), what, "Give its path, as text or as a Path.")
    return Path(given)  # type: ignore[arg-type]


def read_data(path: Path) -> bytes:
    """Read a whole file.

    Raises
    ------
    InputError
        When the file is missing, a folder, or cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError("the file does not exist", file=path, remedy="Check the path.") from None
    except IsADirectoryError:
        raise InputError(
            "a folder where a file is expected", file=path, remedy="Name the file in it."
        ) from None
    except OSError as error:
        raise InputError(f"cannot read ({error.strerror})", file=path, remedy="Check your rights.") from error


def read_text(path: Path, encoding: str | None = None) -> str:
    """Read a text file; a byte-order mark is dropped.

    Raises
    ------
    InputError
        When the file is missing, a folder, empty, binary, or not in the encoding.
    """
    path = Path(path)
    data = read_data(path)
    try:
        text = data.decode(encoding or "utf-8").removeprefix("\ufeff")
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
    if not text.strip():
        raise InputError(
            "the file is empty", file=path, remedy="Write the data into it, or name another file."
        )
    if "\x00" in text:
        raise InputError("the file is binary, not text", file=path, remedy="Export it as text or CSV.")
    return text


def is_utf8(path: Path) -> bool:
    """Whether a file is text in UTF-8; also where there is none, or it is binary: others say so."""
    if not path.is_file():
        return True
    data = path.read_bytes()
    try:
        data.decode()
    except UnicodeDecodeError:
        return b"\x00" in data
    return True


def read_text_lines(path: Path) -> list[str]:
    """The lines of a text file, without line ends."""
    text = io.StringIO(read_text(path), newline=None).read()
    return text.removesuffix("\n").split("\n")


# -- texts that a spreadsheet would run ----------------------------------------------------------------------

_RISKY = frozenset("'=+-@\t\r")
_FORMULA = re.compile(r"'*(?![+-]?\d*(?:[.,]\d+)?\Z)[=+\-@\t\r]")


def guarded(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would take for a formula; numbers stay.

    Such texts begin with one of ``= + - @``, a tab or a carriage return, perhaps after apostrophes: then
    `unguarded` gives every text back.

    Examples
    --------
    >>> [guarded(text) for text in ("=1+1", "-cmd", "-5.2", "-", "'=x", "'quoted'", "A")]
    ["'=1+1", "'-cmd", '-5.2', '-', "''=x", "'quoted'", 'A']
    """
    return f"'{text}" if _FORMULA.match(text) else text


def unguarded(text: str) -> str:
    """Take away the apostrophe that `guarded` has put.

    Examples
    --------
    >>> [unguarded(text) for text in ("'=1+1", "=1+1", "''=x", "'quoted'")]
    ['=1+1', '=1+1', "'=x", "'quoted'"]
    """
    return text[1:] if text[:1] == "'" and _FORMULA.match(text) else text


def guarded_fields(fields: Iterable[Any]) -> list[Any]:
    """The fields of a line, all texts guarded."""
    return [guarded(field) if isinstance(field, str) and field[:1] in _RISKY else field for field in fields]


# -- names of files on systems that compare them otherwise -------------------------------------------------

RESERVED_NAMES = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in "0123456789¹²³")}
)
"""Names that Windows keeps for devices, whatever follows after a point."""


def is_reserved_name(name: str) -> bool:
    """Whether a name means a device on Windows.

    Examples
    --------
    >>> [is_reserved_name(name) for name in ("AUX.csv", "nul .x", "auxiliary.csv", "con-2.csv")]
    [True, True, False, False]
    """
    return name.split(".")[0].rstrip(" ").lower() in RESERVED_NAMES


def folded_name(name: str) -> str:
    """What two names have in common that are one where capitals and forms of accents do not count.

    Examples
    --------
    >>> [folded_name(name) for name in ("A.CSV", "Straße", "e\N{COMBINING ACUTE ACCENT}")]
    ['a.csv', 'strasse', 'é']
    """
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def is_one_of(entry: Path, names: Collection[str]) -> bool:
    """Whether an entry of a folder is the file of one of these names.

    A folder may find it under a name with other capitals (Windows, macOS) or accents in another form (macOS).
    """
    if entry.name in names:
        return True
    alike = (name for name in names if folded_name(name) == folded_name(entry.name))
    return any(_is_entry(entry, entry.with_name(name)) for name in alike)


def _is_entry(one: Path, other: Path) -> bool:
    with suppress(OSError):
        return os.path.samestat(one.lstat(), other.lstat())
    return False


def path_from(folder: Path, path: Path) -> str:
    """A path as a job file in the folder names it: relative, unless it lies on another drive."""
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # there is no way from one drive to another
        return Path(path).absolute().as_posix()


def _create(temporary: Path, *, like: Path) -> int:
    """Make an empty file with the permissions that `like` has or would get, and return them."""
    like.parent.mkdir(parents=True, exist_ok=True)
    if like.exists() and not like.is_file():
        raise InputError(
            "cannot write: it is there and not a regular file", file=like, remedy="Name another file."
        )
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    if like.exists():
        shutil.copymode(like, temporary)
    return temporary.stat().st_mode & 0o777


def room_to_write(error: OSError) -> str:
    """What to do about a file or folder that cannot be written."""
    if isinstance(error, PermissionError):
        return "Close the program that has it open, or choose a folder you may write to"
    return "Free space or choose a folder you may write to"


def _cannot_write(target: Path, error: OSError) -> InputError:
    return InputError(
        f"cannot write ({error.strerror or error})",
        file=target,
        remedy=f"{room_to_write(error)}; nothing was changed.",
    )
