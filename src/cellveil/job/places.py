"""Lines of the keys in a job file (data, tables, rules …), so that errors can name them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellveil.errors import InputError

Location = Sequence[str | int]
"""Keys and positions from the top of the file: ``("tables", 1, "response")``."""

HEADING = re.compile(r"\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(#.*)?$")
DEEPEST = 20
"""Places further down are not kept apart."""

SETTING = re.compile(r"""\s*([\w\-."' ]+?)\s*=""")


@dataclass(frozen=True)
class JobSource:
    """A job file and its text."""

    file: Path
    text: str

    def line_of(self, location: Location) -> int | None:
        r"""Line of a key, or of what it stands in where the key has no line of its own.

        Examples
        --------
        >>> source = JobSource(Path("job.toml"), '[[tables]]\nvalue = "a"\n[[tables]]\nvalue = "b"')
        >>> source.line_of(("tables", 1, "value")), source.line_of(("tables", 1, "file"))
        (4, 3)
        """
        lines = _lines(self.text)
        known = (lines.get(tuple(location[:end])) for end in range(len(location), 0, -1))
        return next((line for line in known if line is not None), None)

    @contextmanager
    def placing_errors(self, *location: str | int) -> Iterator[None]:
        """Name the job file and the line of the location in errors that have no place yet."""
        try:
            yield
        except InputError as error:
            if error.file is not None:
                raise
            raise error.located(file=self.file, line=self.line_of(location)) from None


def _lines(text: str) -> dict[tuple[str | int, ...], int]:
    """The line on which each section and key begins; keys inside braces have none."""
    found: dict[tuple[str | int, ...], int] = {}
    entries: dict[tuple[str | int, ...], int] = {}
    section: tuple[str | int, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if heading := HEADING.match(line):
            section = _counted(_keys(heading[2]), entries, is_new=heading[1] == "[[")
            here = section
        elif setting := SETTING.match(line):
            here = (*section, *_keys(setting[1]))[:DEEPEST]
        else:
            continue
        for end in range(1, len(here) + 1):
            found.setdefault(here[:end], number)
    return found


def _counted(
    keys: Sequence[str], entries: dict[tuple[str | int, ...], int], *, is_new: bool
) -> tuple[str | int, ...]:
    """The keys of a heading, with the position of each ``[[…]]`` on the way."""
    path: tuple[str | int, ...] = ()
    for end, key in enumerate(keys, 1):
        path = (*path, key)
        if is_new and end == len(keys):
            entries[path] = entries.get(path, -1) + 1
        if path in entries:
            path = (*path, entries[path])
    return path


def _keys(text: str) -> list[str]:
    """The parts of a dotted key, as TOML reads them."""
    try:
        parsed: Any = tomllib.loads(f"{text} = 0")
    except tomllib.TOMLDecodeError:
        return []
    keys = []
    while isinstance(parsed, dict) and parsed:
        key, parsed = next(iter(parsed.items()))
        keys.append(key)
    return keys
