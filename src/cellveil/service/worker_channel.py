"""What the worker of a job tells the service as JSON lines: progress of the search, result, error of a table.

Costs are told with four significant digits: the cost of a single hidden cell may be its value.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any, TextIO

from cellveil.clock import NO_LIMIT, Deadline
from cellveil.progress import Phase, Progress

INTERVAL = 0.5
"""Seconds between two lines of progress within a stage."""

FIGURES = ("cost", "bound", "published")

OF_THEIR_OWN = (Phase.SEARCH, Phase.ADJUST, Phase.COMPARE, Phase.ADVISE)
"""Phases whose costs are not those of the phase before."""

PAST_THE_SEARCH = (Phase.AUDIT, Phase.ADJUST, Phase.WRITE)
"""Phases that have a pattern already: an interrupt would lose it."""


class Channel:
    """Writes JSON lines; several threads may use it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._lock = stream, Lock()

    @classmethod
    def of_process(cls) -> Channel:
        """Standard output for lines alone: whatever else prints there, native code too, goes nowhere."""
        own = os.dup(1)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 (for the whole process)
        return cls(os.fdopen(own, "w", encoding="utf-8"))

    def tell(self, event: str, data: Mapping[str, Any]) -> None:
        """Write one line."""
        text = json.dumps({"event": event, "data": dict(data)}, allow_nan=False)
        with self._lock:
            self._stream.write(f"{text}\n")
            self._stream.flush()


class ToldProgress(Progress):
    """Tells phase, stage and figures as they change, but not more often than somebody can read."""

    def __init__(self, channel: Channel) -> None:
        self._channel, self._begin, self._next = channel, time.perf_counter(), 0.0
        self._phases: Sequence[Phase] = ()
        self._phase: Phase | None = None
        self._until: Deadline = NO_LIMIT
        self._stage = ""
        self._share: float | None = None
        self._figures: dict[str, float] = {}

    @property
    def can_be_stopped(self) -> bool:
        """Whether stopping now ends a search, and does not lose what it has found."""
        return self._phase not in PAST_THE_SEARCH

    def plan(self, phases: Sequence[Phase]) -> None:
        """See `Progress`."""
        self._phases = tuple(phases)

    def phase(self, phase: Phase, until: Deadline = NO_LIMIT) -> None:
        """See `Progress`."""
        self._phase, self._until, self._stage, self._share = phase, until, "", None
        if phase in OF_THEIR_OWN:
            self._figures = {}
        self._tell()

    def stage(self, name: str) -> None:
        """See `Progress`."""
        self._stage, self._share = name, None
        if time.perf_counter() >= self._next:
            self._tell()

    def advance(self, done: int, total: int | None = None, **figures: Any) -> None:
        """See `Progress`."""
        self._share = None if not total else round(min(done / total, 1.0), 3)
        complete = not figures.get("open")  # the cost of what does not protect yet is no cost
        told = {name: _number(figures[name]) for name in FIGURES if name in figures and complete}
        known = {name: number for name, number in told.items() if number is not None}
        bound = max(known.pop("bound", 0.0), self._figures.get("bound", 0.0))
        self._figures |= known if bound <= 0 else known | {"bound": bound}
        if time.perf_counter() >= self._next:
            self._tell()

    def _tell(self) -> None:
        now = time.perf_counter()
        self._next = now + INTERVAL
        phase, left = self._phase, self._until.left
        known = phase is not None and phase in self._phases
        told = {
            "phase": "starting" if phase is None else phase.words,
            "place": self._phases.index(phase) + 1 if known and phase is not None else None,
            "phases": len(self._phases) or None,
            "stage": self._stage,
            "share": self._share,
            "elapsed": round(now - self._begin, 2),
            "limit": self._until.limit,
            "left": None if left is None else round(left, 2),
            **{name: float(f"{number:.4g}") for name, number in self._figures.items()},
            "gap": self._gap(),
        }
        self._channel.tell("progress", {key: value for key, value in told.items() if value is not None})

    def _gap(self) -> float | None:
        """Of the cost and the bound that are told beside it: a part of the search may have another gap."""
        cost, bound = self._figures.get("cost"), self._figures.get("bound")
        if cost is None or not bound:
            return None
        return round(max(0.0, 1 - bound / cost), 4) if cost > 0 else 0.0


def _number(number: Any) -> float | None:
    """None where it is no number."""
    if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
        return None
    return float(number)
