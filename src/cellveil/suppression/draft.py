"""The draft: the pattern that a suppression method proposes, with its witnesses and its bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from cellveil.arrays import Bool
from cellveil.deviations.demand import Demand
from cellveil.deviations.witness import Witnesses
from cellveil.problem import Problem, Status


class MethodEnding(StrEnum):
    """Why a method stopped, as reports say it."""

    COMPLETE = "complete"
    TIME_LIMIT = "time limit"
    NETWORKS_HIDDEN = "time limit: the networks were hidden whole"
    REST_OVERPROTECTED = "time limit: what was still open was protected by hiding more than needed"
    SURROUNDINGS_HIDDEN = "time limit: more than needed was hidden around what was open"
    NOT_ALL_TRIED = "time limit: not every secondary cell was tried"
    ORDER_CUT_SHORT = "time limit: the search for an order was cut short"
    INTERRUPTED = "interrupted"
    INTERRUPTED_SEARCH = "interrupted: the cheapest complete pattern so far"
    INTERRUPTED_ORDER = "interrupted: the best order so far was protected"
    UNDECIDED = "a cheaper pattern could not be decided"
    UNCLEAR = "a solve gave no clear answer: that part of the table was hidden whole"
    NOT_KEPT_OFF = (
        "some attackers were not kept off otherwise: more than needed was hidden around what was open"
    )

    @property
    def is_lack_of_time(self) -> bool:
        """Whether the time limit cut the method short."""
        return self.startswith(MethodEnding.TIME_LIMIT)

    @property
    def is_interrupt(self) -> bool:
        """Whether somebody stopped it."""
        return self.startswith(MethodEnding.INTERRUPTED)


@dataclass
class Draft:
    """A method's proposal, before anybody has judged it.

    Parameters
    ----------
    hidden
        Which cells to hide.
    reason
        Why the method stopped.
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
    reason: MethodEnding = MethodEnding.COMPLETE
    infeasible: list[Demand] = field(default_factory=list)
    lower_bound: float | None = None
    num_lps: int = 0
    witnesses: Witnesses = field(default_factory=lambda: Witnesses.of([]))
    hurried: Bool | None = None
    figures: Mapping[str, int] = field(default_factory=dict)

    def is_about(self, problem: Problem) -> bool:
        """Whether it is a pattern of this problem, and every claim names cells that there are.

        Whether the claims are true is another matter.
        """
        masks = [self.hidden] if self.hurried is None else [self.hidden, self.hurried]
        if any(not isinstance(mask, np.ndarray) or mask.dtype != bool for mask in masks):
            return False
        num_cells, frozen = problem.table.num_cells, problem.status == Status.FROZEN
        if any(mask.shape != (num_cells,) for mask in masks) or (self.hidden & frozen).any():
            return False
        hides_start = bool((self.hidden | ~problem.hidden_at_start).all())
        are_named = all(0 <= demand.cell < num_cells for demand in self.infeasible)
        is_bound = self.lower_bound is None or self.lower_bound >= 0
        return hides_start and are_named and is_bound and self.witnesses.are_about(num_cells)

    def hide_for_lack_of_time(self, cells: Bool) -> None:
        """Hide these cells too, and note those that were not hidden before."""
        self.add_hurried(cells & ~self.hidden)
        self.hidden = self.hidden | cells

    def add_hurried(self, cells: Bool | None) -> None:
        """Note cells that are hidden only because time ran out."""
        if cells is not None and cells.any():
            self.hurried = cells if self.hurried is None else self.hurried | cells
