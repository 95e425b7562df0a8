"""Staging of a release: a folder is made ready beside the old one and then takes its place in one step.

The work is done in ``.<name>.cellveil-<run>/new``, which only its owner can look into. What in the old folder
is not ours is carried over before the exchange. Afterwards the old folder lies in the place of the new one,
until it is removed. All of it happens under the lock of the folder (`cellveil.publishing.lock`): whatever is
found of another run is what a dead one left behind.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from cellveil.errors import InputError
from cellveil.files import flush_file, flush_folder, is_one_of
from cellveil.publishing.swap import swap

RUN = "[0-9a-f]{16}"
NEW, OLD, WITHDRAWN = "new", "old", "withdrawn"


def new_run() -> str:
    """A name for a run that no other run has."""
    return token_hex(8)


class Staging:
    """The folder beside `folder` in which its successor is made; see `staged`."""

    def __init__(self, folder: Path, run: str) -> None:
        self.folder = folder
        self.container = folder.parent / f".{folder.name}.cellveil-{run}"
        self.run = run

    @property
    def new(self) -> Path:
        """Before the exchange the new folder, after it the old one."""
        return self.container / NEW

    @property
    def _old(self) -> Path:
        return self.container / OLD

    @property
    def _withdrawn(self) -> Path:
        return self.container / WITHDRAWN

    # -- before the exchange -----------------------------------------------------------------------------

    def complete(self, ours: Collection[str], *, private: bool = False) -> None:
        """Make the new folder ready: rights, everything on the disk, and what in the old one is not ours.

        Parameters
        ----------
        ours
            What the old folder has of an earlier run; it is not carried over.
        private
            Whether only the owner may read the folder; otherwise it gets the rights of the old one.

        Raises
        ------
        InputError
            When the old folder has something that cannot be carried over, or whose name is needed.
        """
        fresh = {entry.name for entry in self.new.iterdir()}
        for path in [self.new, *self.new.rglob("*")]:
            if private:
                path.chmod(0o700 if path.is_dir() else 0o600)
            (flush_folder if path.is_dir() else flush_file)(path)
        if not self.folder.is_dir():
            return
        check_foreign(self.folder, fresh, ours)
        for entry in _foreign(self.folder, ours):
            _carry(entry, self.new / entry.name)
        if not private:
            _copy_rights(self.folder, self.new)
        flush_folder(self.new)

    def complete_without(self, ours: Collection[str]) -> bool:
        """Prepare a folder that has only what is not ours; False where nothing at all would be left."""
        if not any(_foreign(self.folder, ours)):
            return False
        self.new.mkdir()
        self.complete(ours)
        return True

    # -- the exchange ------------------------------------------------------------------------------------

    def exchange(self) -> None:
        """Put the new folder into its place, or the old one back: `new` and `folder` change places."""
        here = _working_folder()
        self.restore()
        if not self.new.exists():
            self.folder.rename(self.new)
        elif self.folder.exists():
            swap(self.new, self.folder, self._old)
        else:
            self.new.rename(self.folder)
        self._after_renaming(here)

    def withdraw(self) -> None:
        """Take the folder away."""
        here = _working_folder()
        self.folder.rename(self._withdrawn)
        self._after_renaming(here)

    def bring_back(self) -> None:
        """Undo `withdraw`."""
        self._withdrawn.rename(self.folder)

    def carry_late(self, ours: Collection[str]) -> None:
        """Carry over what came into the old folder while the new one was made ready."""
        with suppress(OSError):
            for entry in _foreign(self.new, ours) if self.new.is_dir() else ():
                _carry_changed(entry, self.folder / entry.name)

    def _after_renaming(self, here: Path | None) -> None:
        if here is not None and self.folder in (here, *here.parents):
            with suppress(OSError):  # the same path, which is another folder now
                os.chdir(here)
        with suppress(OSError):
            flush_folder(self.folder.parent)

    # -- after the exchange, or after a run that died ----------------------------------------------------

    def restore(self) -> None:
        """Bring back a folder that an exchange in several steps had put aside when its run died."""
        if self._old.exists():
            self._old.rename(self.new if self.folder.exists() else self.folder)

    def discard(self) -> None:
        """Remove what is left beside the folder."""
        for path, _, _ in os.walk(self.container):  # top down: what cannot be listed cannot be removed
            with suppress(OSError):
                Path(path).chmod(0o700)
        shutil.rmtree(self.container, ignore_errors=True)


@contextmanager
def staged(folder: Path, run: str) -> Iterator[Staging]:
    """Make a place for the new folder, which only its owner can look into, and remove it at the end."""
    staging = Staging(folder, run)
    try:
        staging.container.mkdir(0o700)
        yield staging
    finally:
        with suppress(KeyboardInterrupt):  # too late to change the result
            staging.discard()


def leftovers(folder: Path) -> list[Staging]:
    """What dead runs left beside the folder; to be asked for under its lock only."""
    name = re.compile(rf"\.{re.escape(folder.name)}\.cellveil-({RUN})")
    found = [(path, name.fullmatch(path.name)) for path in sorted(folder.parent.iterdir())]
    return [
        Staging(folder, match[1])
        for path, match in found
        if match and path.is_dir() and not path.is_symlink()
    ]


def clear_leftovers(folder: Path) -> None:
    """Bring back what a dead run had put aside, and remove everything else that it left."""
    for staging in leftovers(folder):
        staging.restore()
        staging.discard()


def check_foreign(folder: Path, names: Collection[str], ours: Collection[str]) -> None:
    """Raise where the folder has something of these names that is not ours."""
    foreign = sorted(
        name for name in names if os.path.lexists(folder / name) and not is_one_of(folder / name, ours)
    )
    if foreign:
        raise InputError(
            f"the folder has a file {foreign[0]} that is not part of an older release",
            file=folder,
            remedy="Choose a folder of its own for the release, or move the file away.",
        )


# -- what is not ours ----------------------------------------------------------------------------------------


def _foreign(folder: Path, ours: Collection[str]) -> Iterator[Path]:
    return (entry for entry in sorted(folder.iterdir()) if not is_one_of(entry, ours))


def _carry(source: Path, target: Path) -> None:
    """Give the target what the source has: files as second names of the same file where that is possible."""
    if source.is_dir() and not source.is_symlink():
        target.mkdir()
        for entry in source.iterdir():
            _carry(entry, target / entry.name)
        _copy_rights(source, target)
        return
    try:
        os.link(source, target, follow_symlinks=False)
    except (OSError, NotImplementedError):
        _copy(source, target)


def _copy(source: Path, target: Path) -> None:
    if not source.is_symlink() and not source.is_file():
        raise InputError(
            "this is not a regular file and cannot be kept beside the new files",
            file=source,
            remedy="Move it away, or choose another folder.",
        )
    shutil.copy2(source, target, follow_symlinks=False)


def _carry_changed(source: Path, target: Path) -> None:
    """Move what is not in the target yet, or is newer than when it was carried over."""
    if source.is_dir() and not source.is_symlink() and target.is_dir():
        for entry in source.iterdir():
            _carry_changed(entry, target / entry.name)
    elif not os.path.lexists(target) or not _is_same(source, target):
        source.replace(target)


def _is_same(one: Path, other: Path) -> bool:
    first, second = one.lstat(), other.lstat()
    return (first.st_ino != 0 and os.path.samestat(first, second)) or (
        (first.st_size, first.st_mtime_ns) == (second.st_size, second.st_mtime_ns)
    )


def _copy_rights(source: Path, target: Path) -> None:
    """The rights of a folder, and its group as far as the user may give it."""
    if hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(target, -1, source.stat().st_gid)
    shutil.copystat(source, target)


def _working_folder() -> Path | None:
    try:
        return Path.cwd()
    except OSError:
        return None
