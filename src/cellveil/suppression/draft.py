"""The draft: the pattern that a suppression method proposes, with its witnesses and its bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cellveil.arrays import Bool
from cellveil.deviations.demand import Demand
from cellveil.deviations.witness import Witnesses


@dataclass
class Draft:
    """A method's proposal, before anybody has judged it.

    Parameters
    ----------
    hidden
        Which cells to hide.
    reason
        Why the method stopped: "complete", or what cut it short.
    infeasible
        Demands that no pattern can meet.
    lower_bound
        Proven least cost, where the method has one.
    witnesses
        Deviations the method found: claims, which the audit checks before it believes them.
    hurried
        Cells that are hidden only because time ran out before anything cheaper was tried; None for none.
    figures
        What else the method counted, by name.
    """

    hidden: Bool
    reason: str = "complete"
    infeasible: list[Demand] = field(default_factory=list)
    lower_bound: float | None = None
    num_lps: int = 0
    witnesses: Witnesses = field(default_factory=lambda: Witnesses.of([]))
    hurried: Bool | None = None
    figures: Mapping[str, int] = field(default_factory=dict)

    def hide_for_lack_of_time(self, cells: Bool) -> None:
        """Hide these cells too, and note those that were not hidden before."""
        self.add_hurried(cells & ~self.hidden)
        self.hidden = self.hidden | cells

    def add_hurried(self, cells: Bool | None) -> None:
        """Note cells that are hidden only because time ran out."""
        if cells is not None and cells.any():
            self.hurried = cells if self.hurried is None else self.hurried | cells
