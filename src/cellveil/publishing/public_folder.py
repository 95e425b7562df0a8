"""A folder of public files that changes as a whole: either the new release is in it, or still the old one."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cellveil.errors import InputError
from cellveil.files import ABOUT as ABOUT
from cellveil.files import INTERNAL, is_output_folder, is_release_folder, room_to_write
from cellveil.files import PUBLIC as PUBLIC
from cellveil.files import SOFTWARE as SOFTWARE
from cellveil.publishing.lock import locked
from cellveil.publishing.staging import check_foreign, clear_leftovers, new_run, staged


@contextmanager
def replaced_folder(folder: Path, names: Sequence[str]) -> Iterator[Path]:
    """Yield an empty folder; when the block succeeds, it takes the place of `folder` in one step.

    Files of an older release in `folder` go, files that are not of a release stay. The folder is locked
    meanwhile, and what a run that died has left beside it is removed.

    Parameters
    ----------
    names
        Files the new release may have.

    Raises
    ------
    InputError
        When another run is writing there, the folder cannot be written to, or it has a file of such a name
        that is not of an older release.
    """
    folder = Path(folder).resolve()
    check_nothing_internal(folder)
    with locked(folder), _telling_faults(folder):
        clear_leftovers(folder)
        check_foreign(folder, names, files_of_release(folder))
        with staged(folder, new_run()) as staging:
            staging.new.mkdir()
            yield staging.new
            old = files_of_release(folder)
            staging.complete(old)
            staging.exchange()
            staging.carry_late(old)


@contextmanager
def _telling_faults(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(
            f"cannot write the release ({error.strerror or error})",
            file=folder,
            remedy=f"{room_to_write(error)}; an older release there is unchanged.",
        ) from error


def check_nothing_internal(folder: Path) -> None:
    """Raise where a job has written its internal files into a folder that is to be published."""
    for place, folders, _ in os.walk(folder):
        if INTERNAL in folders and is_output_folder(Path(place)):
            raise InputError(
                f"the internal files of a job lie in {folder}, which is made to be published",
                file=Path(place) / INTERNAL,
                remedy="Move them away, or choose another folder for the release.",
            )


def files_of_release(folder: Path) -> list[str]:
    """Names of the files that a release left in the folder."""
    if folder.exists() and not folder.is_dir():
        raise InputError("a file where a folder is expected", file=folder, remedy="Name another folder.")
    if not is_release_folder(folder):
        return []
    files = json.loads((folder / ABOUT).read_text(encoding="utf-8")).get("files")
    if not isinstance(files, dict):
        return []
    listed = [name for name in files if name == Path(name).name]
    return [name for name in [*listed, ABOUT] if (folder / name).is_file()]


def release_id(folder: Path) -> str | None:
    """Digest of the description of the release in the folder, which has those of its files; None without."""
    if not folder.is_dir() or not files_of_release(folder):
        return None
    return hashlib.sha256((folder / ABOUT).read_bytes()).hexdigest()


def damaged_files(folder: Path) -> list[str]:
    """Files of the release in the folder that are missing, or are not those that its description names."""
    listed: dict[str, str] = json.loads((folder / ABOUT).read_text(encoding="utf-8"))["files"]
    return [name for name, digest in listed.items() if digest_of(folder / name) != digest]


def digest_of(path: Path) -> str | None:
    """SHA-256 of a file; None where there is none."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
