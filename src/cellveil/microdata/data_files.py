"""The files that paths and patterns stand for, each once.

A path that exists is that very file, whatever characters its name has: only what does not exist is taken as
a pattern (``*``, ``?``, ``[…]``, and ``**`` for any number of folders). A file that is named twice, by some
patterns or through links, counts once.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from pathlib import Path

from cellveil.errors import InputError, check_kind


def expand_files(given: Iterable[str | Path]) -> list[Path]:
    """The files in the order of the paths, those of a pattern sorted by name.

    Raises
    ------
    InputError
        When there is none, a path or pattern stands for nothing, or a folder is among them.
    """
    files: dict[object, Path] = {}
    for path in given:
        check_kind(
            path, (str, Path), "a file of microdata", "Give its path, or one frame in place of a list."
        )
        for file in _matches(str(path)):
            files.setdefault(_identity(file), file)
    if not files:
        raise InputError("no microdata file is named", remedy="Name at least one file.")
    return list(files.values())


def under(folder: Path, name: str) -> str:
    """A path or pattern taken relative to a folder, whose own name is not part of the pattern."""
    literal = folder / name
    is_pattern = glob.has_magic(name) and not _exists(literal)
    return str(Path(glob.escape(str(folder))) / name if is_pattern else literal)


def for_duckdb(path: Path) -> str:
    """A path in which DuckDB finds neither a pattern nor a home folder.

    Examples
    --------
    >>> for_duckdb(Path("/data/firms[1].csv"))
    '/data/firms[[]1].csv'
    """
    return glob.escape(str(path.absolute()))


def _matches(pattern: str) -> list[Path]:
    if _exists(Path(pattern)):
        matches = [Path(pattern)]
    else:
        home = _in_home(pattern)
        matches = sorted(map(Path, glob.glob(home, recursive=True)))  # noqa: PTH207 (absolute patterns)
    files = [path for path in matches if not path.is_dir()]
    if len(files) < len(matches) and not (files and "**" in pattern):  # ** passes through folders
        folder = next(path for path in matches if path.is_dir())
        raise InputError("a folder where a file is expected", file=folder, remedy="Name the file in it.")
    if not files:
        slashes = " Write / between folders, on every system." if "\\" in pattern and os.sep == "/" else ""
        raise InputError("the file does not exist", file=pattern, remedy=f"Check the path.{slashes}")
    return files


def _in_home(pattern: str) -> str:
    """The pattern with a leading ~ as the home folder, whose own name is not part of the pattern."""
    if pattern != "~" and not pattern.startswith(("~/", f"~{os.sep}")):
        return pattern
    return glob.escape(str(Path.home())) + pattern[1:]


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name no file can have
        return False


def _identity(path: Path) -> object:
    """What two names of one file have in common; some network drives number no files, and the path counts."""
    try:
        found = path.stat()
    except OSError as error:
        raise InputError(f"cannot read ({error.strerror})", file=path, remedy="Check the file.") from None
    return (found.st_dev, found.st_ino) if found.st_ino else path.resolve()
