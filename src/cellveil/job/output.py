"""The output folder of a job: ``public`` for everybody, ``internal`` for the office.

A run that reaches a verdict replaces what an earlier run left in both; a run that does not (bad input, full
disk, interruption) leaves both as they were. So ``public`` never holds a release that the last verdict does
not cover.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cellveil.errors import InputError
from cellveil.publishing.folder import replaced_folder

PUBLIC, INTERNAL = "public", "internal"


def check_writable(target: Path) -> None:
    """Raise where a file or folder could not be written later; writes nothing."""
    target = Path(target).absolute()
    there = next(folder for folder in (target, *target.parents) if folder.exists())
    if there != target and not there.is_dir():
        raise InputError(
            "a file stands where a folder is needed",
            file=there,
            remedy="Choose another place for the output.",
        )
    if not os.access(there, os.W_OK):
        raise InputError(
            "no right to write there", file=there, remedy="Choose another place, or ask for the right."
        )


def check_folder(folder: Path) -> None:
    """Raise where the folder could not be made or written to later; writes nothing."""
    check_writable(folder)
    if folder.exists() and not folder.is_dir():
        raise InputError("a file where a folder is needed", file=folder, remedy="Name another output folder.")


def check_apart(inputs: list[Path], public: Path) -> None:
    """Raise where confidential input lies in the public folder."""
    for file in inputs:
        if public.resolve() in (file.resolve(), *file.resolve().parents):
            raise InputError(
                f"this confidential input lies in {public}, which is made to be published",
                file=file,
                remedy="Move it, or choose another output folder.",
            )


@contextmanager
def replaced_files(folder: Path) -> Iterator[Path]:
    """Yield an empty folder beside `folder`; when the block succeeds, what is in it moves into place."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".", dir=folder.parent))
    except OSError as error:
        raise _cannot_write(folder, error) from error
    try:
        (staging / "new").mkdir()
        yield staging / "new"
        for made in sorted((staging / "new").iterdir()):
            if (folder / made.name).is_dir():  # a folder is not replaced by renaming
                (folder / made.name).rename(staging / made.name)
            made.replace(folder / made.name)
    except OSError as error:
        raise _cannot_write(folder, error) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        with suppress(OSError):  # whichever of them were made for nothing
            for path in missing:
                path.rmdir()


def withdraw(public: Path) -> None:
    """Remove the files of an earlier release; others in the folder stay."""
    if not public.is_dir():
        return
    with replaced_folder(public, []):
        pass  # nothing comes in their place
    with suppress(OSError):  # only when empty
        public.rmdir()


def _cannot_write(folder: Path, error: OSError) -> InputError:
    return InputError(
        f"cannot write ({error.strerror or error})",
        file=folder,
        remedy="Free space or choose a folder you may write to; nothing was released.",
    )
