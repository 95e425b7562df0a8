"""Cost and bound of a suppression search in independent parts, told as those of the whole.

A part tells its own figures; what people see are sums over all parts, once each has a complete pattern.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from cellveil.progress import Progress, Relay

OWN = ("cost", "bound", "gap", "published", "open")
"""Figures that a part tells of itself."""


class PartStandings:
    """The cheapest complete pattern of each part so far: cost, bound and number of hidden cells.

    Examples
    --------
    >>> standings = PartStandings([4, 6], 10)
    >>> standings.note(0, 5.0, 5.0, 2)
    >>> standings.figures()
    {}
    >>> standings.note(1, 7.0, 3.0, 3)
    >>> standings.figures()
    {'cost': 12.0, 'bound': 8.0, 'published': 0.5, 'open': 0}
    """

    def __init__(self, sizes: Sequence[int], num_cells: int) -> None:
        self.sizes, self._num_cells = tuple(sizes), num_cells
        self._cost = [math.inf] * len(sizes)
        self._bound = [0.0] * len(sizes)
        self._hidden = [0] * len(sizes)

    def note(self, part: int, cost: float, bound: float, hidden: int) -> None:
        """A part has a complete pattern, and a bound; the cheapest and the highest are kept."""
        self._bound[part] = max(self._bound[part], bound)
        if cost < self._cost[part]:
            self._cost[part], self._hidden[part] = cost, hidden

    def figures(self) -> dict[str, float]:
        """Of the whole; none where some part has no complete pattern yet."""
        if not all(map(math.isfinite, self._cost)):
            return {}
        published = 1 - sum(self._hidden) / max(self._num_cells, 1)
        return {"cost": sum(self._cost), "bound": sum(self._bound), "published": published, "open": 0}


class PartProgress(Relay):
    """What one part tells, passed on as figures of the whole."""

    def __init__(self, standings: PartStandings, part: int, progress: Progress) -> None:
        super().__init__(progress)
        self._standings, self._part = standings, part

    def advance(self, done: int, total: int | None = None, **figures: Any) -> None:
        """See `Progress`."""
        if "cost" in figures and "published" in figures and not figures.get("open"):
            hidden = round((1 - figures["published"]) * self._standings.sizes[self._part])
            self._standings.note(self._part, figures["cost"], figures.get("bound", 0.0), hidden)
        others = {name: figure for name, figure in figures.items() if name not in OWN}
        super().advance(done, total, **others, **self._standings.figures())
