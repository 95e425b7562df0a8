"""The observer of a long computation: which phase and stage it is in, how far, and how long each took."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from cellveil.clock import NO_LIMIT, Deadline, Stopwatch
from cellveil.progress.phases import Phase


class Progress:
    """Receives what happens; this one ignores it. Subclass it to show a bar or to log.

    Raising from a method stops the computation, which is how an interrupt gets through.
    """

    def plan(self, phases: Sequence[Phase]) -> None:
        """Tell which phases the run will have, in their order."""

    def phase(self, phase: Phase, until: Deadline = NO_LIMIT) -> None:
        """Tell that a phase begins, and when it will end at the latest."""

    def stage(self, name: str) -> None:
        """Tell that a new stage of the phase begins, by its name in the docs of the method."""

    def advance(self, done: int, total: int | None = None, **figures: Any) -> None:
        """Tell how far the stage is; `figures` are shown beside it (never cell values).

        Of a search: ``cost`` of the cheapest complete pattern so far, its ``gap`` to the proven ``bound``
        where there is one, and ``published``, the share of cells that it publishes.
        """

    def note(self, text: str) -> None:
        """Tell what was taken for granted about the data, for somebody to confirm (never a cell value)."""


class Relay(Progress):
    """Passes everything on."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress or Progress()

    def plan(self, phases: Sequence[Phase]) -> None:
        """See `Progress`."""
        self._progress.plan(phases)

    def phase(self, phase: Phase, until: Deadline = NO_LIMIT) -> None:
        """See `Progress`."""
        self._progress.phase(phase, until)

    def stage(self, name: str) -> None:
        """See `Progress`."""
        self._progress.stage(name)

    def advance(self, done: int, total: int | None = None, **figures: Any) -> None:
        """See `Progress`."""
        self._progress.advance(done, total, **figures)

    def note(self, text: str) -> None:
        """See `Progress`."""
        self._progress.note(text)


class NoteTaker(Relay):
    """Passes everything on, and keeps the notes, each once.

    Examples
    --------
    >>> taker = NoteTaker(None)
    >>> taker.note("blanks were cut off")
    >>> taker.notes
    ('blanks were cut off',)
    """

    def __init__(self, progress: Progress | None) -> None:
        super().__init__(progress)
        self._notes: dict[str, None] = {}

    @property
    def notes(self) -> tuple[str, ...]:
        """What was told, in order."""
        return tuple(self._notes)

    def note(self, text: str) -> None:
        """See `Progress`."""
        self._notes[text] = None
        super().note(text)


class StageClock(Relay):
    """Passes everything on, and adds the time of each stage to a stopwatch under “whole: stage”.

    Examples
    --------
    >>> watch = Stopwatch()
    >>> with StageClock(None, watch, "search") as progress:
    ...     progress.stage("bound")
    >>> list(watch.seconds)
    ['search: bound']
    """

    def __init__(self, progress: Progress | None, watch: Stopwatch, whole: str) -> None:
        super().__init__(progress)
        self._watch, self._whole = watch, whole
        self._stage: str | None = None
        self._since = 0.0

    def stage(self, name: str) -> None:
        """See `Progress`."""
        self._end_stage()
        self._stage, self._since = name, time.perf_counter()
        super().stage(name)

    def __enter__(self) -> StageClock:
        return self

    def __exit__(self, *_: object) -> None:
        self._end_stage()

    def _end_stage(self) -> None:
        if self._stage is not None:
            name = f"{self._whole}: {self._stage}"
            passed = time.perf_counter() - self._since
            self._watch.seconds[name] = self._watch.seconds.get(name, 0.0) + passed
        self._stage = None
