"""Suppression heuristics as tables of stages, and the incumbent: the cheapest complete pattern so far.

A plan is a literal table: each `Stage` has a name, a share of the time, when it applies and what it runs. The
runner gives each stage its deadline. Shares count in proportion to those of the stages that apply and are
still to come, so what one stage does not use is left to the next ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from cellveil.arrays import Bool
from cellveil.clock import Deadline
from cellveil.deviations.ledger import Ledger
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.suppression.draft import Draft

ALL = math.inf
"""The share of a stage that may take all the time there is, and is run even when there is none left."""


class Staged(Protocol):
    """What a plan works on."""

    cut_short: set[str]
    """Names of the stages whose time was up before they had ended."""

    @property
    def is_done(self) -> bool:
        """Whether no further stage is needed."""


S = TypeVar("S", bound=Staged)


@dataclass(frozen=True)
class Stage(Generic[S]):
    """A line of a plan; `applies` and `runs` say in their docstrings what they do.

    One that `is_needed` is run even when time is up, as is one that may take all of it.
    """

    name: str
    share: float
    applies: Callable[[S], bool]
    runs: Callable[[S, Deadline], None]
    is_needed: bool = False


def run_stages(plan: Sequence[Stage[S]], work: S, deadline: Deadline, progress: Progress) -> None:
    """Run a plan; see the head of the module."""
    for number, stage in enumerate(plan):
        if work.is_done:
            return
        coming = [each for each in plan[number:] if each.applies(work)]
        is_late = deadline.is_over and stage.share != ALL and not stage.is_needed
        if is_late or stage not in coming:
            continue
        progress.stage(stage.name)
        shares = math.fsum(each.share for each in coming if each.share != ALL)
        until = deadline if stage.share == ALL else deadline.share(stage.share / shares)
        stage.runs(work, until)
        if until.is_over:
            work.cut_short.add(stage.name)


class Incumbent:
    """The cheapest complete pattern of a problem so far, and what is told about it.

    Attributes
    ----------
    kept, least
        The pattern, and what it costs beyond the start.
    bound
        What every safe pattern costs at least.
    """

    def __init__(self, problem: Problem, bound: float, progress: Progress) -> None:
        self.problem, self.bound, self.progress = problem, bound, progress
        self.kept: Draft | None = None
        self.least = np.inf
        self.cut_short: set[str] = set()

    def cost_of(self, draft: Draft) -> float:
        """Of what the draft hides beyond the start."""
        return float(self.problem.weight[draft.hidden & ~self.problem.hidden_at_start].sum())

    def keep(self, draft: Draft, cost: float) -> None:
        """Take a complete pattern, unless a cheaper one is known."""
        if self.kept is None or cost <= self.least:
            self.kept, self.least = draft, cost

    def tell(self, ledger: Ledger, hurried: Bool | None = None) -> None:
        """Report cost, bound, gap and open demands; keep the pattern if it is complete and cheaper.

        `hurried` are cells that nothing but lack of time will have hidden, if this is the one that stays.
        """
        if not ledger.num_open and ledger.cost < self.least:
            self.least = ledger.cost
            self.kept = Draft(ledger.hidden.copy(), witnesses=ledger.witnesses())
            self.kept.add_hurried(None if hurried is None else hurried & ledger.hidden)
        gap = (ledger.cost - self.bound) / ledger.cost if ledger.cost > 0 else 0.0
        figures = {"cost": ledger.cost, "bound": self.bound, "gap": gap, "open": ledger.num_open}
        self.progress.advance(len(self.problem.primaries) * 2 - ledger.num_open, None, **figures)
