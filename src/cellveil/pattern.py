"""The suppression pattern: which cells are hidden, primary and secondary told apart. Internal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, freeze, frozen_array
from cellveil.errors import InputError, check_kind
from cellveil.problem import Problem, Status, check_problem
from cellveil.shown import Shown


@dataclass(frozen=True, repr=False, eq=False)
class Pattern(Shown):
    """Which cells are hidden, and the figures of the run that found it.

    Parameters
    ----------
    status
        A `Status` per cell; SECONDARY for what the method added.
    method
        Name of the method.
    """

    status: NDArray[np.int8]
    method: str

    def __post_init__(self) -> None:
        freeze(self, ("status",))

    def __repr__(self) -> str:
        return f"Pattern({self.method!r}, {int(self.hidden.sum())} of {len(self.status)} cells hidden)"

    @cached_property
    def hidden(self) -> Bool:
        """Which cells are not published."""
        return frozen_array((self.status == Status.PRIMARY) | (self.status == Status.SECONDARY))

    @classmethod
    def hiding(cls, problem: Problem, hidden: Bool, method: str) -> Pattern:
        """Mark the hidden cells that are not primary as secondary; `hidden` has a truth value per cell."""
        check_problem(problem)
        check_kind(method, str, "the method", 'Say in words where the pattern is from: "by hand".')
        hidden = np.asarray(hidden)
        if hidden.dtype != bool or hidden.shape != problem.status.shape:
            raise InputError(
                f"hidden cells are not given as {len(problem.status)} truth values, one per cell",
                remedy="Start with hidden = problem.hidden_at_start.copy(), and set "
                "hidden[problem.table.cell(…)] = True.",
            )
        added = hidden & (problem.status != Status.PRIMARY)
        return cls(np.where(added, Status.SECONDARY, problem.status).astype(np.int8), method)


def check_pattern(given: object) -> None:
    """Refuse what is no pattern, and say where there is one."""
    has_one = isinstance(getattr(given, "pattern", None), Pattern)
    check_kind(
        given,
        Pattern,
        "the pattern",
        "Give its pattern: result.pattern."
        if has_one
        else "Give a Pattern: suppress(problem).pattern is one; Pattern.hiding makes one of truth values.",
    )
