"""The logbook of a batch run about tables, in the shape that clients of tau-ARGUS read.

Every entry has date and time before it; further lines of an entry are indented. A run begins with “Start of
batch procedure”, ends with “End of TauArgus run”, and an error begins with “Error ”. Entries name files,
cells and counts, and show no value.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from cellveil.errors import InputError

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
SEPARATOR = "-" * 60
DEFAULT = "TauLogbook.txt"
"""Name of the logbook where none is given, in the folder for temporary files."""


class Logbook:
    """A text file to which entries are added.

    Parameters
    ----------
    start
        The first entry of a run, whatever file it goes to.
    """

    def __init__(self, path: Path, start: str) -> None:
        self.path, self.start = path, start
        self.open(path)

    def open(self, path: Path) -> None:
        """Go on in another file; one that has entries gets a line between runs."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            is_used = path.is_file() and path.stat().st_size > 0
            with path.open("a", encoding="utf-8", newline="\n") as file:
                file.write(f"{SEPARATOR}\n" if is_used else "")
        except OSError as error:
            raise InputError(
                f"the logbook cannot be written ({error.strerror})", file=path, remedy="Name another file."
            ) from None
        self.path = path
        self.write(self.start)

    def write(self, *lines: str) -> None:
        """Add an entry."""
        now = datetime.now()
        head = f"{now:%d}-{MONTHS[now.month - 1]}-{now:%Y %H:%M:%S} : "
        texts = [line for text in lines for line in text.splitlines()]
        with self.path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(head + f"\n{' ' * len(head)}".join(texts) + "\n")
