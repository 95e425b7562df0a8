"""A folder of files that changes as a whole: either the new release is in it, or still the old one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from cellveil.errors import InputError

ABOUT = "about.json"
SOFTWARE = "cellveil"


@contextmanager
def replaced_folder(folder: Path, names: Sequence[str]) -> Iterator[Path]:
    """Yield a temporary folder beside `folder`; when the block succeeds, its files move into place.

    Files of an older release in `folder` are removed, files that are not of a release stay.

    Parameters
    ----------
    names
        Files the new release may have.

    Raises
    ------
    InputError
        When the folder cannot be written to, or has a file of such a name that is not of an older release.
    """
    folder = Path(folder).resolve()
    try:
        old = _files_of_release(folder)
        _check_foreign(folder, set(names) - set(old))
        staging = _beside(folder)
        try:
            yield staging
            _exchange(staging, folder, old)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    except OSError as error:
        raise InputError(
            f"cannot write the release ({error.strerror or error})",
            file=folder,
            remedy="Free space or choose a folder you may write to; an older release there is unchanged.",
        ) from error


def _files_of_release(folder: Path) -> list[str]:
    """Names of the files that an older release left in the folder."""
    about = folder / ABOUT
    if folder.exists() and not folder.is_dir():
        raise InputError("a file where a folder is expected", file=folder, remedy="Name another folder.")
    if not about.is_file():
        return []
    try:
        data = json.loads(about.read_text(encoding="utf-8"))
        if data["software"]["name"] != SOFTWARE:
            return []
        listed = [name for name in data["files"] if name == Path(name).name]
    except (ValueError, KeyError, TypeError):
        return []
    return [name for name in [*listed, ABOUT] if (folder / name).is_file()]


def _check_foreign(folder: Path, names: set[str]) -> None:
    foreign = sorted(name for name in names if (folder / name).exists())
    if foreign:
        raise InputError(
            f"the folder has a file {foreign[0]} that is not part of an older release",
            file=folder,
            remedy="Choose a folder of its own for the release, or move the file away.",
        )


def _beside(folder: Path) -> Path:
    folder.parent.mkdir(parents=True, exist_ok=True)
    path = folder.parent / f".{folder.name}.{uuid4().hex[:12]}"
    path.mkdir()
    return path


def _exchange(staging: Path, folder: Path, old: Sequence[str]) -> None:
    """Move the old files out and the new ones in; undo everything when a step fails."""
    if not folder.exists():
        staging.rename(folder)
        return
    backup = _beside(folder)
    done: list[tuple[Path, Path]] = []
    try:
        for name in old:
            done.append(_move(folder / name, backup / name))
        for source in sorted(staging.iterdir()):
            done.append(_move(source, folder / source.name))
    except BaseException:
        for source, target in reversed(done):
            target.rename(source)
        raise
    finally:
        shutil.rmtree(backup, ignore_errors=True)


def _move(source: Path, target: Path) -> tuple[Path, Path]:
    source.rename(target)
    return source, target
