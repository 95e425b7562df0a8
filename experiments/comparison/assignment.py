"""What a contestant gets for one table, and what it hands in: a pattern and a few figures.

A contestant runs as a command in a folder of its own. It reads the instance, a JJ file or a tidy folder, and
writes ``pattern.csv``, the status of every cell as `cellveil.formats.pattern_file` has it, and
``figures.json`` with what only it can know: the seconds of its search on the clock of the limit, a lower
bound where it proves one, and why there is no pattern where there is none. Cost, hidden cells and safety are
worked out by others.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from cellveil.files import write_text

PATTERN, FIGURES = "pattern.csv", "figures.json"


@dataclass(frozen=True)
class Assignment:
    """One table for one contestant.

    Parameters
    ----------
    instance
        A JJ file or a tidy folder.
    folder
        Where it works and hands in.
    limit
        Seconds for the search.
    counts_cpu
        Whether these are seconds of the processor, of one thread; otherwise of the clock on the wall.
    """

    instance: Path
    folder: Path
    limit: float
    seed: int
    counts_cpu: bool

    def to_json(self) -> str:
        """The same as a word of a command line."""
        return json.dumps(asdict(self), default=str)

    @classmethod
    def from_json(cls, text: str) -> Assignment:
        """Read what `to_json` writes."""
        given: dict[str, Any] = json.loads(text)
        return cls(**given | {name: Path(given[name]) for name in ("instance", "folder")})


@dataclass(frozen=True)
class RunFigures:
    """What a contestant says of its run.

    Parameters
    ----------
    seconds
        Of the search, on the clock of the limit.
    bound
        A proven lower bound of the cost; None without one.
    refused
        Why it does not do such a table, in words; empty where it does.
    reason
        How the search ended, in words.
    """

    seconds: float | None = None
    bound: float | None = None
    refused: str = ""
    reason: str = ""

    def write(self, folder: Path) -> None:
        """Hand them in."""
        write_text(folder / FIGURES, json.dumps(asdict(self)) + "\n")

    @classmethod
    def read(cls, folder: Path) -> RunFigures | None:
        """What was handed in; None where nothing was, or nothing that can be read."""
        try:
            given = json.loads((folder / FIGURES).read_text("utf-8"))
            seconds, bound = (None if given.get(key) is None else float(given[key]) for key in NUMBERS)
            return cls(seconds, bound, str(given.get("refused") or ""), str(given.get("reason") or ""))
        except (OSError, ValueError, AttributeError, TypeError):
            return None


NUMBERS = ("seconds", "bound")


class Contestant(Protocol):
    """A method of some program."""

    @property
    def name(self) -> str:
        """What it is called in tables; unique."""

    @property
    def program(self) -> str:
        """The program it belongs to."""

    def absent(self) -> str:
        """Why it cannot run on this machine, in words; empty where it can."""

    def version(self) -> str:
        """The version of its program and of what it needs."""

    def command(self, assignment: Assignment) -> list[str]:
        """The command line of one run."""
