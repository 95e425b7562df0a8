"""What the report knows of a run beside its verdict: when it was, inputs, rules, and how the search went."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from cellveil.clock import NO_LIMIT, Deadline
from cellveil.progress import Phase, Progress, Relay
from cellveil.report.method_comparison import Comparison
from cellveil.rules.base import Rule

BLOCK = 2**20
"""Bytes that are read at a time."""


@dataclass(frozen=True)
class Input:
    """A file that the run read: its name, its size in bytes and its SHA-256."""

    name: str
    size: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> Input:
        """Read the file block by block."""
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                digest.update(block)
        return cls(path.name, path.stat().st_size, digest.hexdigest())


def inputs_of(paths: Iterable[Path]) -> tuple[Input, ...]:
    """The files among the paths, and those directly in folders among them, each once."""
    found: dict[Path, None] = {}
    for path in paths:
        for file in sorted(path.iterdir()) if path.is_dir() else [path]:
            if file.is_file():
                found[file.resolve()] = None
    return tuple(map(Input.of, found))


@dataclass(frozen=True)
class SearchPoint:
    """A moment of the search: seconds since its start, the cost of the best pattern, and the lower bound."""

    seconds: float
    cost: float
    bound: float | None


@dataclass(frozen=True, repr=False)
class RunFacts:
    """What is told of a run.

    Parameters
    ----------
    made
        When the report was made, for people.
    inputs
        The files that were read.
    job
        Name of the job file, for commands that the page suggests.
    rule
        The rules, to write out their arithmetic.
    values
        Whether the page carries the values of hidden cells, to be shown on demand.
    search
        Cost and bound over the time of the search.
    comparison
        Other methods beside the one that ran, where some were compared.
    """

    made: str = ""
    inputs: tuple[Input, ...] = ()
    job: str = ""
    rule: Rule | None = None
    values: bool = False
    search: tuple[SearchPoint, ...] = ()
    comparison: Comparison | None = None


def now_text() -> str:
    """The present moment, with the zone of the machine.

    Examples
    --------
    >>> len(now_text().split(":"))
    2
    """
    return datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z").strip()


class SearchCurve(Relay):
    """Passes everything on, and keeps cost and bound over time, each change once.

    Costs fall within a phase; the next one may begin with a higher one, as more attackers cost more. Bounds
    only rise.
    """

    def __init__(self, progress: Progress) -> None:
        super().__init__(progress)
        self._since = time.perf_counter()
        self._points: list[SearchPoint] = []
        self._least = float("inf")

    @property
    def points(self) -> tuple[SearchPoint, ...]:
        """What was kept."""
        return tuple(self._points)

    def phase(self, phase: Phase, until: Deadline = NO_LIMIT) -> None:
        """See `Progress`."""
        self._least = float("inf")
        super().phase(phase, until)

    def advance(self, done: int, total: int | None = None, **figures: Any) -> None:
        """See `Progress`."""
        self._keep(figures.get("cost"), figures.get("bound"), figures.get("open", 0))
        super().advance(done, total, **figures)

    def _keep(self, cost: Any, bound: Any, still_open: Any) -> None:
        """Keep a complete pattern that is cheaper than those before, or a bound that is higher."""
        if not isinstance(cost, int | float) or still_open:
            return
        last = self._points[-1] if self._points else None
        known = [] if last is None or last.bound is None else [last.bound]
        told = [float(bound)] if isinstance(bound, int | float) and bound > 0 else []
        lower, least = max(known + told, default=None), min(self._least, float(cost))
        if last is None or least < self._least or lower != last.bound:
            self._points.append(SearchPoint(time.perf_counter() - self._since, least, lower))
        self._least = least
