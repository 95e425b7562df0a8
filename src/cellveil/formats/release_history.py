"""The history of a publication: its kept releases, each compared with the one before."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from cellveil.errors import InputError, counted, name_some
from cellveil.formats.former_pattern import hidden_in
from cellveil.formats.release_folder import ReleaseRows, read_release_rows
from cellveil.publishing.kept_releases import changed_files, date_of, kept_releases
from cellveil.publishing.pattern_changes import PatternChanges
from cellveil.publishing.public_folder import ABOUT, PUBLIC, release_id
from cellveil.tables.named_keys import CellKey


@dataclass(frozen=True)
class PastRelease:
    """One release of the past.

    Parameters
    ----------
    folder
        Where it is kept.
    date, title
        When it was made, and what it says it is.
    digest
        Digest of its description.
    cells, hidden
        How many cells it has, and how many of them it hides.
    is_adjusted
        Whether it is an adjusted table.
    is_current
        Whether it is what ``public`` holds.
    changed
        Files that are not what they were when it was made.
    changes
        What it hides otherwise than the release before; None where there is nothing to compare.
    num_revised
        How many values are published in both and differ.
    """

    folder: Path
    date: str
    title: str
    digest: str
    cells: int
    hidden: int
    is_adjusted: bool
    is_current: bool
    changed: tuple[str, ...] = ()
    changes: PatternChanges | None = None
    num_revised: int = 0

    @property
    def share_published(self) -> float:
        """Share of the cells that are published."""
        return 1 - self.hidden / self.cells if self.cells else 1.0

    def lines(self) -> list[str]:
        """The release in words."""
        mark = " (current)" if self.is_current else ""
        kind = ", adjusted" if self.is_adjusted else ""
        lines = [f"{self.date}  {self.title or 'without title'}{kind}{mark}", f"  {self.folder.name}"]
        if self.changed:
            lines.append(f"  CHANGED SINCE IT WAS MADE: {name_some(self.changed)}")
        lines.append(
            f"  {counted(self.cells, 'cell')}, {self.hidden:,} hidden, "
            f"{100 * self.share_published:.1f} % published"
        )
        if self.changes is not None:
            lines += [f"  {line}" for line in self.changes.lines()]
            lines += [f"  published with other values: {self.num_revised:,}"] if self.num_revised else []
        return lines

    def to_dict(self) -> dict[str, Any]:
        """As data for JSON."""
        return {
            "folder": self.folder.name,
            "date": self.date,
            "title": self.title,
            "digest": self.digest,
            "cells": self.cells,
            "hidden": self.hidden,
            "share_published": round(self.share_published, 6),
            "adjusted": self.is_adjusted,
            "current": self.is_current,
            "changed_files": list(self.changed),
            "changes": None if self.changes is None else self.changes.to_dict(),
            "revised_values": self.num_revised,
        }


def read_history(folder: Path | str) -> list[PastRelease]:
    """The releases that a job has kept, oldest first.

    Parameters
    ----------
    folder
        The output folder of a job, or the folder ``releases`` in it.

    Raises
    ------
    InputError
        Where no release is kept.
    """
    folder = Path(folder)
    kept = kept_releases(folder)
    if not kept:
        raise InputError("no release is kept there", file=folder, remedy="Name the output folder of a job.")
    current = release_id(kept[0].parent.parent / PUBLIC)
    found: list[PastRelease] = []
    before: _Values | None = None
    for path in kept:
        values = _values(path)
        found.append(_past_release(path, current, before, values))
        before = values or before
    return found


@dataclass(frozen=True)
class _Values:
    """What a release tells: which cells it hides, and the values as texts."""

    is_hidden: Mapping[CellKey, bool]
    texts: Mapping[CellKey, str]

    def num_revised(self, later: _Values) -> int:
        """How many values are published in both and differ."""
        shown = (key for key in self.texts if key in later.texts)
        both = (key for key in shown if not self.is_hidden[key] and not later.is_hidden[key])
        return sum(_number(self.texts[key]) != _number(later.texts[key]) for key in both)


def _past_release(
    path: Path, current: str | None, before: _Values | None, own: _Values | None
) -> PastRelease:
    about = _about(path)
    digest = release_id(path) or ""
    compared = before is not None and own is not None
    return PastRelease(
        path,
        date_of(path),
        str(about.get("title", "")),
        digest,
        int(about.get("cells", 0)),
        int(about.get("hidden_cells", 0)),
        bool(about.get("adjusted")),
        bool(digest) and digest == current,
        tuple(changed_files(path)),
        PatternChanges.between(before.is_hidden, own.is_hidden) if compared and before and own else None,
        before.num_revised(own) if compared and before and own else 0,
    )


def _about(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads((path / ABOUT).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def _values(path: Path) -> _Values | None:
    """What a release tells; None where it has no table that can be read."""
    try:
        rows: ReleaseRows = read_release_rows(path)
    except (InputError, KeyError, TypeError, AttributeError):
        return None
    hidden = hidden_in(rows)
    return _Values(hidden, dict(zip(hidden, rows.texts, strict=True)))


def _number(text: str) -> Decimal | str:
    try:
        return Decimal(text)
    except InvalidOperation:
        return text
