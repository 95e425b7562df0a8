"""Every release of a job is kept in a folder of its own, named by its date and its digest.

``releases/2026-11-17T093015.250000Z-3f2a9c81b0de4477`` has the public files as they were; the digest is that
of their description, which has those of the files, so that a change to any of them can be seen. A copy is
made ready under another name and then renamed: a run that dies leaves a whole copy or none. What it did not
come to keep, the next run keeps before it replaces it. Only the owner can look into ``releases``.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from cellveil.files import flush_file, flush_folder
from cellveil.publishing.public_folder import ABOUT, damaged_files, files_of_release, release_id
from cellveil.publishing.staging import new_run

RELEASES = "releases"
"""Where a job keeps its releases, beside ``public``."""

DIGITS = 16
"""Digits of the digest in the name of a folder."""

NAME = re.compile(rf"(\d{{4}}-\d\d-\d\dT\d{{6}}\.\d{{6}}Z)-([0-9a-f]{{{DIGITS}}})")

UNFINISHED = ".cellveil-"


def keep_release(public: Path, releases: Path) -> None:
    """Keep a copy of the release in `public`, unless there is none, or it is kept already.

    To be called under the lock of `public` only.
    """
    for path in releases.glob(f"{UNFINISHED}*"):  # of a run that died
        shutil.rmtree(path)
    digest = release_id(public)
    if digest is None or any(name[2] == digest[:DIGITS] for _, name in _named(releases)):
        return
    releases.mkdir(0o700, exist_ok=True)
    made = datetime.fromtimestamp((public / ABOUT).stat().st_mtime, UTC)
    copy = releases / f"{UNFINISHED}{new_run()}"
    copy.mkdir()
    for name in files_of_release(public):
        shutil.copy2(public / name, copy / name)
        flush_file(copy / name)
    flush_folder(copy)
    copy.rename(releases / f"{made:%Y-%m-%dT%H%M%S.%fZ}-{digest[:DIGITS]}")
    flush_folder(releases)


def kept_releases(folder: Path) -> list[Path]:
    """The folders of kept releases, oldest first: in the output folder of a job, or in its ``releases``."""
    inside = folder / RELEASES
    return [path for path, _ in _named(inside if inside.is_dir() else folder)]


def date_of(kept: Path) -> str:
    """When a kept release was made."""
    name = NAME.fullmatch(kept.name)
    return (
        "" if name is None else f"{datetime.strptime(name[1], '%Y-%m-%dT%H%M%S.%f%z'):%Y-%m-%d %H:%M:%S} UTC"
    )


def changed_files(kept: Path) -> list[str]:
    """Files of a kept release that are not what they were when it was made."""
    name, digest = NAME.fullmatch(kept.name), release_id(kept)
    if name is None or digest is None or digest[:DIGITS] != name[2]:
        return [ABOUT]
    return damaged_files(kept)


def _named(releases: Path) -> Iterator[tuple[Path, re.Match[str]]]:
    for path in sorted(releases.iterdir()) if releases.is_dir() else ():
        name = NAME.fullmatch(path.name)
        if name is not None and path.is_dir():
            yield path, name
