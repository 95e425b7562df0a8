"""Where the files of a batch about tables are, also those named under another operating system."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath

from cellveil.argus.batch.batch_file import BatchCommand
from cellveil.errors import InputError


@dataclass(frozen=True)
class BatchPlaces:
    """The folders of a run.

    Parameters
    ----------
    folder
        That of the batch file.
    data
        Where data are looked for that are not found otherwise; it stands in for the drives of other systems.
    name
        That of the batch file, without its ending.
    """

    folder: Path
    data: Path | None = None
    name: str = "batch"

    def __post_init__(self) -> None:
        if self.data is not None and not self.data.is_dir():
            raise InputError("the folder of the data does not exist", file=self.data, remedy="Correct it.")

    @property
    def internal(self) -> Path:
        """For reports, which tell what is hidden: apart from results, so that nobody publishes both."""
        return self.folder / f"{self.name}-internal"

    def find(self, name: str, command: BatchCommand) -> Path:
        """A file to be read; capitals need not be right."""
        for path in self._candidates(name):
            if path.is_file():
                return path
            wanted = path.name.casefold()
            alike = [one for one in sorted(path.parent.glob("*")) if one.name.casefold() == wanted]
            if alike and alike[0].is_file():
                return alike[0]
        looked = [str(self.folder), *([str(self.data)] if self.data else [])]
        raise command.fault(
            f"the file {PureWindowsPath(name).name} is not found",
            f"It is looked for where its path says, then in {' and '.join(looked)}.",
        )

    def target(self, name: str, command: BatchCommand) -> Path:
        """A file to be written: the first place whose folder is there."""
        if not PureWindowsPath(name).name:
            raise command.fault("the name of the file is missing", "Write it in double quotes.")
        for path in self._candidates(name):
            if path.is_dir():
                raise command.fault("a folder where a file is to be written", "Name a file.")
            if path.parent.is_dir():
                return path
        raise command.fault("the folder of the file does not exist", "Make it, or name another one.")

    def _candidates(self, name: str) -> Iterator[Path]:
        """As given, then below the folders: the whole path without its drive, and ever shorter ends of it."""
        given = Path(name)
        if given.is_absolute():
            yield given
            if "\\" not in name:
                yield from (base / given.name for base in self._bases())
                return
        other = PureWindowsPath(name)
        parts = [part for part in other.parts if part != other.anchor]
        if not other.anchor:
            yield from (base.joinpath(*parts) for base in self._bases())
        for start in range(len(parts)):
            yield from (base.joinpath(*parts[start:]) for base in self._bases())

    def _bases(self) -> Iterator[Path]:
        """The folder of the batch file, and that of the data."""
        yield self.folder
        if self.data is not None:
            yield self.data
