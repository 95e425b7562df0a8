"""The output folder of a job: ``public`` for everybody, ``internal`` for the office.

A run that reaches a verdict replaces what an earlier run left in both; a run that does not (bad input, full
disk, interruption) leaves both as they were. So ``public`` never holds a release that the last verdict does
not cover. Each of the two folders changes in one step. Of a release, ``internal`` comes first, so that there
is no release without its report; of a withdrawal, ``public``. When a run dies between the two steps, the next
one finds it out from ``internal/run.json`` and makes the folders agree again: a release that was not made is
not made up for, and a withdrawal is completed. ``releases`` keeps a dated copy of every release
(`cellveil.publishing.kept_releases`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from cellveil.errors import InputError
from cellveil.files import (
    INTERNAL,
    PUBLIC,
    RUN_FILE,
    check_not_published,
    is_output_folder,
    room_to_write,
    write_text,
)
from cellveil.publishing import Release
from cellveil.publishing.kept_releases import RELEASES, keep_release
from cellveil.publishing.lock import locked
from cellveil.publishing.public_folder import check_nothing_internal, files_of_release, release_id
from cellveil.publishing.staging import Staging, clear_leftovers, leftovers, new_run, staged


def check_writable(target: Path) -> None:
    """Raise where a file or folder could not be written later; writes nothing."""
    check_not_published(target)
    _check_rights(target)


def _check_rights(target: Path) -> None:
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


def check_output(folder: Path, inputs: list[Path]) -> None:
    """Raise where a job could not write into its output folder, or something internal would be published.

    Parameters
    ----------
    inputs
        Files with confidential values that the job reads.
    """
    public, internal, kept = (folder / name for name in (PUBLIC, INTERNAL, RELEASES))
    places = (folder.absolute(), *(place.resolve() for place in (folder, public, internal, kept)))
    for other in dict.fromkeys(above for place in places for above in place.parents):
        if is_output_folder(other):
            check_outside(folder, other)
    check_folder(folder)
    for place in (public, internal):
        _check_rights(place)
        _check_is_folder(place)
    check_not_published(public.resolve().parent)
    for place in (internal, kept):
        check_not_published(place)
        if _is_within(place, public) or _is_within(public, place):
            raise InputError(
                f"one of the folders {PUBLIC} and {place.name} is a link that leads into the other",
                file=folder,
                remedy="Remove the link, or choose another output folder.",
            )
    check_nothing_internal(public.resolve())
    check_apart(inputs, public)


def check_outside(folder: Path, other: Path) -> None:
    """Raise where an output folder lies in one that another output folder keeps for its own files."""
    if folder.resolve() == other.resolve():
        return
    places = (folder, *(folder / name for name in (PUBLIC, INTERNAL, RELEASES)))
    for name in (PUBLIC, INTERNAL, RELEASES):
        if any(_is_within(place, other / name) for place in places):
            raise InputError(
                f"this output folder lies in the folder {name} of {other}",
                file=folder,
                remedy="Each job needs an output folder of its own.",
            )


def _is_within(place: Path, folder: Path) -> bool:
    """Whether a place is a folder or lies in it, links followed."""
    return place.resolve().is_relative_to(folder.resolve())


def check_folder(folder: Path) -> None:
    """Raise where the folder could not be made or written to later; writes nothing."""
    check_writable(folder)
    _check_is_folder(folder)


def _check_is_folder(folder: Path) -> None:
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


@dataclass(frozen=True)
class NewFiles:
    """Where a run writes: folders that become ``public`` and ``internal`` when all is written.

    `public` is not there yet: `release` makes it. When it is still missing at the end, nothing is released,
    and an older release is withdrawn.
    """

    public: Path
    internal: Path
    final_public: Path

    def in_place(self, release: Release) -> Release:
        """A release into `public` with the folder in which it will be."""
        return replace(release, folder=self.final_public)


class Output:
    """The two folders of a job's output, locked for one run; made by `open_output`."""

    def __init__(self, folder: Path, public: Path, internal: Path, names: Collection[str]) -> None:
        self.public, self.internal = public, internal
        self.releases = folder / RELEASES
        self._ours = (*names, RUN_FILE)

    @contextmanager
    def replaced(self) -> Iterator[NewFiles]:
        """Yield folders for new files; when the block succeeds, they take the place of the old ones.

        Raises
        ------
        InputError
            When something cannot be written; then both folders are as they were.
        """
        run = new_run()
        with ExitStack() as stack:
            stack.enter_context(self._telling_faults(run))
            public = stack.enter_context(staged(self.public, run))
            internal = stack.enter_context(staged(self.internal, run))
            internal.new.mkdir(0o700)
            yield NewFiles(public.new, internal.new, self.public)
            released = release_id(public.new)
            write_text(internal.new / RUN_FILE, json.dumps({"run": run, "release": released}) + "\n")
            internal.complete(self._ours, private=True)
            old = files_of_release(self.public)
            keep_release(self.public, self.releases)  # where the run that made it died before it did
            if released is not None:
                public.complete(old)
                _in_turn(internal.exchange, internal.exchange, public)
            elif not old:
                internal.exchange()
            elif public.complete_without(old):
                _in_turn(public.exchange, public.exchange, internal)
            else:
                _in_turn(public.withdraw, public.bring_back, internal)
            public.carry_late(old)
            internal.carry_late(self._ours)
            with suppress(OSError):  # the release is made; the next run keeps it before it replaces it
                keep_release(self.public, self.releases)

    @contextmanager
    def _telling_faults(self, run: str) -> Iterator[None]:
        """Errors speak of the folders that the user knows, and say what was not done."""
        try:
            yield
        except OSError as error:
            raise InputError(
                f"cannot write ({error.strerror or error})",
                file=self.public.parent,
                remedy=f"{room_to_write(error)}; nothing was released.",
            ) from error
        except InputError as error:
            for folder in (self.public, self.internal):
                staging, place = Staging(folder, run), Path(error.file or "")
                if staging.container in place.parents:
                    inside = place.is_relative_to(staging.new)
                    error.file = str(folder / place.relative_to(staging.new) if inside else folder)
            raise


@contextmanager
def open_output(folder: Path, names: Collection[str]) -> Iterator[Output]:
    """Lock the output folder of a job for one run, and tidy up after runs that died.

    Parameters
    ----------
    names
        Files and folders in ``internal`` that are of a run.

    Raises
    ------
    InputError
        At once, when another run has the folder.
    """
    public, internal = ((folder / name).resolve() for name in (PUBLIC, INTERNAL))
    with locked(public), locked(internal):
        _recover(public, internal, (*names, RUN_FILE))
        yield Output(folder, public, internal, names)


def _in_turn(step: Callable[[], None], undo: Callable[[], None], second: Staging) -> None:
    """Take a step and then exchange the second folder; where that cannot be done, undo the step."""
    target = second.new.stat()
    step()
    try:
        second.exchange()
    except BaseException as error:
        is_done = second.folder.exists() and os.path.samestat(second.folder.stat(), target)
        if not is_done:
            undo()
        if not is_done or not isinstance(error, KeyboardInterrupt):  # it may come when all is done
            raise


# -- runs that died ------------------------------------------------------------------------------------------


def _recover(public: Path, internal: Path, ours: Collection[str]) -> None:
    """Make both folders agree where a run died between the two exchanges, and remove what it left."""
    for staging in (*leftovers(public), *leftovers(internal)):
        staging.restore()
    for staging in leftovers(internal):
        twin = Staging(public, staging.run)
        live, other = _note(internal), _note(staging.new)
        if live is not None and live[0] == staging.run:
            if live[1] is not None and live[1] == release_id(twin.new) != release_id(public):
                _take_back(staging, ours)
        elif other == (staging.run, None) and release_id(public) is None:
            staging.exchange()
            staging.carry_late(ours)
    clear_leftovers(public)
    clear_leftovers(internal)


def _take_back(staging: Staging, ours: Collection[str]) -> None:
    """Put the internal folder back that a run without its release has replaced."""
    if not staging.new.exists():
        staging.new.mkdir(0o700)
    staging.exchange()
    staging.carry_late(ours)
    if not any(staging.folder.iterdir()):
        staging.folder.rmdir()


def _note(internal: Path) -> tuple[str, str | None] | None:
    """The run that an internal folder is of, and the digest of its release."""
    try:
        data = json.loads((internal / RUN_FILE).read_text(encoding="utf-8"))
        return str(data["run"]), None if data["release"] is None else str(data["release"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
