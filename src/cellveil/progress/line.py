"""Progress as one line of text for people, for a terminal of any width or a notebook."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from cellveil.clock import NO_LIMIT, Deadline
from cellveil.progress.observer import Progress
from cellveil.progress.phases import Phase

BETWEEN = "  "
SEARCHES = (Phase.SEARCH, Phase.ADJUST, Phase.COMPARE, Phase.ADVISE)
"""Phases with a cost of their own."""
LARGE = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))


class ProgressLine(Progress):
    """Keeps what was told last, and says it in one line: phase, time, cost, gap, what is published.

    The gap is in per cent and never negative; a pattern without a proven bound has the gap “?”.

    Examples
    --------
    >>> line = ProgressLine()
    >>> line.plan([Phase.READ, Phase.SEARCH, Phase.AUDIT])
    >>> line.phase(Phase.SEARCH)
    >>> line.stage("cubes")
    >>> line.advance(3, None, cost=1234567.0, bound=1e6, gap=0.18999, published=0.8412)
    >>> line.text(140)
    '2/3 looking for a pattern (cubes)  0:00  cost 1.23 million  gap 19.0 %  84.1 % published'
    >>> line.text(40)
    '2/3 search  0:00  gap 19.0 %'
    """

    def __init__(self) -> None:
        self._begin = time.perf_counter()
        self._phases: Sequence[Phase] = ()
        self._phase: Phase | None = None
        self._until: Deadline = NO_LIMIT
        self._stage = ""
        self._share: float | None = None
        self._figures: dict[str, Any] = {}

    def plan(self, phases: Sequence[Phase]) -> None:
        """See `Progress`."""
        self._phases = tuple(phases)

    def phase(self, phase: Phase, until: Deadline = NO_LIMIT) -> None:
        """See `Progress`."""
        self._phase, self._until, self._stage, self._share = phase, until, "", None
        if phase in SEARCHES:
            self._figures = {}

    def stage(self, name: str) -> None:
        """See `Progress`."""
        self._stage, self._share = name, None

    def advance(self, done: int, total: int | None = None, **figures: Any) -> None:
        """See `Progress`."""
        self._share = None if not total else min(done / total, 1.0)
        if "cost" in figures:
            self._figures.pop("gap", None)
        self._figures |= figures

    @property
    def seconds(self) -> float:
        """Since it was made."""
        return time.perf_counter() - self._begin

    @property
    def place(self) -> str:
        """Which phase of how many, such as 2/5; empty where no phase has begun."""
        if self._phase is None:
            return ""
        known = self._phase in self._phases
        return f"{self._phases.index(self._phase) + 1}/{len(self._phases)}" if known else ""

    @property
    def words(self) -> str:
        """What is being done."""
        return "starting" if self._phase is None else self._phase.words

    def text(self, width: int) -> str:
        """The line, at most so many characters: what matters least is left out first."""
        short = "start" if self._phase is None else self._phase.word
        stage = f" ({self._stage})" if self._stage and self._stage not in f"{short} {self.words}" else ""
        percent = "" if self._share is None or self._phase is Phase.SEARCH else f" {100 * self._share:.0f} %"
        titles = [f"{self.words}{stage}{percent}", f"{self.words}{percent}", f"{short}{percent}", short]
        titles = [f"{self.place} {title}".lstrip() for title in titles]
        ranked = [clock(self.seconds), self._gap(), self._published(), self._left(), self._cost()]
        shown_order = (0, 3, 4, 1, 2)
        for title, number in ((titles[0], 5), (titles[1], 5), *((titles[2], n) for n in range(5, -1, -1))):
            parts = [title, *(ranked[place] for place in shown_order if place < number and ranked[place])]
            line = BETWEEN.join(parts)
            if len(line) <= width:
                return line
        return titles[3][: max(width, 0)]

    def _gap(self) -> str:
        cost, bound, gap = (self._figures.get(name) for name in ("cost", "bound", "gap"))
        if gap is None and cost is not None and bound is not None:
            gap = (cost - bound) / cost if cost > 0 else 0.0
        if gap is None or (bound is not None and not bound > 0 and gap > 0):
            return "" if cost is None else "gap ?"
        return f"gap {100 * max(gap, 0.0):.1f} %"

    def _published(self) -> str:
        share = self._figures.get("published")
        return "" if share is None else f"{100 * share:.1f} % published"

    def _cost(self) -> str:
        cost = self._figures.get("cost")
        return "" if cost is None else f"cost {short_number(cost)}"

    def _left(self) -> str:
        left = self._until.left
        return "" if left is None else f"{clock(left)} left"


def clock(duration: float) -> str:
    """Minutes and seconds, with hours where there are some.

    Examples
    --------
    >>> clock(62.7), clock(3723)
    ('1:02', '1:02:03')
    """
    minutes, rest = divmod(int(duration), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def short_number(number: float) -> str:
    """A cost in at most four significant digits: written out, it may be the value of a single hidden cell.

    Examples
    --------
    >>> short_number(12345.6), short_number(2.5e9), short_number(0.25)
    ('12,350', '2.5 billion', '0.25')
    """
    for size, name in LARGE:
        if abs(number) >= size:
            return f"{number / size:.3g} {name}"
    return f"{float(f'{number:.4g}'):,.0f}" if abs(number) >= 100 else f"{number:.3g}"
