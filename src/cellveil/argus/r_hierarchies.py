"""Hierarchies as the R packages for protecting tables write them: levels in ``@``, and JSON.

- sdcTable: two columns, the level as so many ``@`` (``@`` is the total) and the code; as a frame, or as CSV
  with a semicolon.
- sdcHierarchies: the same (``df``, ``dt``); ``json``, a list of ``id`` and ``parent``, where ``#`` stands for
  the total, which the list does not have; ``sdc``, lists of codes and levels, as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cellveil.argus.lexer import fields_of
from cellveil.argus.source_text import read_source
from cellveil.errors import InputError
from cellveil.files import write_text
from cellveil.formats.columns import read_columns
from cellveil.tables.hierarchy import TOTAL, Hierarchy

MARK = "@"
ROOT = "#"
HEADERS = (
    ("level", "name"),
    ("levels", "codes"),
    ("level", "code"),
    ("levels", "labs"),
    ("levels", "labels"),
)
"""First lines that are no codes."""


def hierarchy_of_levels(levels: Sequence[str], codes: Sequence[str], *, file: object = None) -> Hierarchy:
    """The tree of two columns: ``@`` once per level, and the code.

    Examples
    --------
    >>> hierarchy_of_levels(["@", "@@", "@@@", "@@"], ["Total", "A", "a1", "B"]).codes
    ('Total', 'A', 'a1', 'B')
    """
    stack: list[str] = []
    pairs: list[tuple[str, str]] = []
    for row, (marks, code) in enumerate(zip(levels, codes, strict=True), 1):
        depth = len(marks.strip())
        if not depth or marks.strip().strip(MARK):
            raise InputError("the level is not made of @", file=file, line=row, remedy="Write @, @@, …")
        if depth > len(stack) + 1 or (depth == 1) != (row == 1):
            raise InputError(
                "the level does not follow from the one above",
                file=file,
                line=row,
                remedy="The first line is the total, with one @; go down one level at a time.",
            )
        del stack[depth - 1 :]
        pairs += [(stack[-1], code)] if stack else []
        stack.append(code)
    if not pairs:
        raise InputError("the hierarchy has no codes below the total", file=file, remedy="Add the codes.")
    try:
        return Hierarchy.from_pairs(pairs)
    except InputError as error:
        raise error.located(file=file) from None


def levels_of_hierarchy(hierarchy: Hierarchy) -> tuple[list[str], list[str]]:
    """The two columns of a tree."""
    depth = {hierarchy.root: 1}
    for above, code in hierarchy.pairs():
        depth[code] = depth[above] + 1
    return [MARK * depth[code] for code in hierarchy.codes], list(hierarchy.codes)


def hierarchy_of_frame(frame: Any) -> Hierarchy:
    """The tree of a pandas, polars or Arrow frame with the two columns, whatever they are called."""
    columns = read_columns(frame)
    if len(columns.names) != 2:
        raise InputError(
            f"the frame has {len(columns.names)} columns", remedy="Give two: the level as @ and the code."
        )
    level, code = columns.names
    return hierarchy_of_levels(columns.codes(level).tolist(), columns.codes(code).tolist())


def read_levels(path: Path | str, *, separator: str = ";", encoding: str | None = None) -> Hierarchy:
    """Read a CSV file with the two columns, with or without a header."""
    source = read_source(path, encoding)
    levels: list[str] = []
    codes: list[str] = []
    for number, line in source.numbered():
        try:
            fields = fields_of(line, separator)
        except InputError as error:
            raise error.located(file=source.file, line=number) from None
        if len(fields) != 2:
            raise source.fault(
                number,
                f"the line has {len(fields)} fields",
                f"Write the level as @, {separator!r} and the code.",
            )
        if not levels and tuple(field.strip().lower() for field in fields) in HEADERS:
            continue
        levels.append(fields[0])
        codes.append(fields[1])
    return hierarchy_of_levels(levels, codes, file=source.file)


def write_levels(hierarchy: Hierarchy, path: Path | str, *, separator: str = ";") -> None:
    """Write the two columns; reading them gives the same tree."""
    lines = []
    for marks, code in zip(*levels_of_hierarchy(hierarchy), strict=True):
        if any(end in code for end in "\r\n\t\x1a"):
            raise InputError("a code holds a line end or tab", file=path, remedy="Rename it.")
        escaped = code.replace('"', '""')
        lines.append(f'{marks}{separator}"{escaped}"\n')
    write_text(Path(path), "".join(lines))


def read_json(path: Path | str, *, total: str = TOTAL) -> Hierarchy:
    """Read a tree written as JSON: a list of ids and parents, or the lists of codes and levels of sdcTable.

    Parameters
    ----------
    total
        The code of the total, where the file does not have it.
    """
    source = read_source(path)
    try:
        content = json.loads("\n".join(source.lines))
    except ValueError as error:
        line = getattr(error, "lineno", None)
        raise source.fault(line, "the text is not JSON", "Write the hierarchy again.") from None
    try:
        if isinstance(content, dict):
            codes = content["codes"]
            levels = [MARK * int(level) for level in codes["level"]]
            return hierarchy_of_levels(levels, [str(code) for code in codes["orig"]])
        pairs = [(str(entry["parent"]), str(entry["id"])) for entry in content]
    except (KeyError, TypeError, ValueError):
        raise source.fault(
            None,
            "the JSON is no hierarchy",
            "Write a list of entries with id and parent, or an object with codes, orig and level.",
        ) from None
    except InputError as error:
        raise error.located(file=source.file) from None
    try:
        return Hierarchy.from_pairs((total if above == ROOT else above, code) for above, code in pairs)
    except InputError as error:
        raise error.located(file=source.file) from None


def write_json(hierarchy: Hierarchy, path: Path | str) -> None:
    """Write ids and parents; reading them with the same total gives the same tree."""
    if ROOT in hierarchy.codes:
        raise InputError(f"the code {ROOT!r} stands for the total in such files", remedy="Rename it.")
    entries = [
        {"id": code, "parent": ROOT if above == hierarchy.root else above, "text": code}
        for above, code in hierarchy.pairs()
    ]
    write_text(Path(path), json.dumps(entries, ensure_ascii=False, indent=0) + "\n")
