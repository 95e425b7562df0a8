"""A shield judges a pattern against one attacker, and hides more where that attacker gets through.

Every attacker asks the same: is there a deviation within what it cannot rule out that moves a cell as far as
it must be kept off? So every shield hides what the cheapest such deviation moves, found by the incremental
program under that attacker's capacities.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.clock import Deadline
from cellveil.deviations.movement import Movement
from cellveil.deviations.witness import Witnesses
from cellveil.judge.insider import InsiderReport
from cellveil.judge.outsider import OutsiderReport
from cellveil.pattern import Pattern
from cellveil.problem import Problem


@dataclass(frozen=True, eq=False)
class Judged:
    """A pattern with the verdict on it, and whether time ran out meanwhile."""

    hidden: Bool
    report: OutsiderReport | InsiderReport
    was_cut: bool


class Shield(ABC):
    """Protection against one attacker.

    Parameters
    ----------
    known
        The problem as the attacker knows it.

    Attributes
    ----------
    infeasible
        Cells that no pattern protects against this attacker.
    hurried
        Cells that were hidden only because time ran out.
    last
        The last verdict.
    claimed
        Deviations that somebody claims against outsiders.
    proven
        Deviations that an audit against outsiders has checked, of a pattern that hides no more.
    """

    def __init__(self, known: Problem) -> None:
        self.known = known
        self.infeasible: set[int] = set()
        self.hurried = np.zeros(known.table.num_cells, dtype=bool)
        self.last: Judged | None = None
        self.claimed: Witnesses | None = None
        self.proven: Witnesses | None = None

    def accepts(self, report: OutsiderReport | InsiderReport) -> bool:
        """Whether nothing has to be done about the verdict."""
        return report.is_safe

    @property
    def goes_ahead(self) -> bool:
        """Whether to strengthen a pattern before it is judged."""
        return False

    def believe(self, claims: Witnesses | None) -> None:
        """Try these deviations, which somebody claims against outsiders, first."""
        self.claimed = claims

    def judge(self, hidden: Bool, deadline: Deadline) -> OutsiderReport | InsiderReport:
        """The verdict on the pattern as far as time allows; asked for again, it is not worked out again.

        Unless there is time now for what there was none before.
        """
        last = self.last
        if last is None or not np.array_equal(last.hidden, hidden) or (last.was_cut and not deadline.is_over):
            report = self.judge_anew(hidden, deadline)
            last = self.last = Judged(hidden.copy(), report, deadline.is_over)
        return last.report

    def judge_anew(self, hidden: Bool, deadline: Deadline) -> OutsiderReport | InsiderReport:
        """The verdict on a pattern that was not judged before."""
        return self.attack(self.known, Pattern.hiding(self.known, hidden, ""), deadline)

    def judge_part(self, hidden: Bool, cells: Int, deadline: Deadline) -> OutsiderReport | InsiderReport:
        """The verdict on these primary cells only."""
        part = self.known.only(np.isin(np.arange(len(hidden)), cells))
        return self.attack(part, Pattern.hiding(part, hidden, ""), deadline)

    @abstractmethod
    def attack(
        self, problem: Problem, pattern: Pattern, deadline: Deadline
    ) -> OutsiderReport | InsiderReport:
        """Attack the pattern of the problem, or of a part of it; what there is no time for is not shown."""

    @abstractmethod
    def strengthen(self, hidden: Bool, moves: Movement) -> Bool:
        """The pattern with more cells hidden where the attacker gets through; notes what is infeasible."""
