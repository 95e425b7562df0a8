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

from cellveil.arrays import Bool, Int
from cellveil.clock import Deadline
from cellveil.deviations.ledger import Ledger
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.solvers import tolerances
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
    apart
        What is hidden and costs anyway, and is no part of this problem; told with costs and bounds.
    cells_of
        For each cell how many of the whole table it stands for; the last number is that of all others.
    """

    def __init__(self, problem: Problem, bound: float, progress: Progress) -> None:
        self.problem, self.bound, self.progress = problem, bound, progress
        self.kept: Draft | None = None
        self.least = np.inf
        self.cut_short: set[str] = set()
        self.apart = 0.0
        self._published = 0.0
        self.cells_of: Int = np.append(np.ones(problem.table.num_cells, dtype=np.int64), 0)

    def cost_of(self, draft: Draft) -> float:
        """Of what the draft hides beyond the start."""
        return float(self.problem.weight[draft.hidden & ~self.problem.hidden_at_start].sum())

    def is_cheapest(self, cost: float) -> bool:
        """Whether no safe pattern costs less: a proven bound lies below the optimum by its rounding."""
        return cost <= self.bound * (1 + tolerances.EQUAL)

    def keep(self, draft: Draft, cost: float) -> None:
        """Take a complete pattern, unless a cheaper one is known."""
        if self.kept is None or cost <= self.least:
            self._adopt(draft, cost)
            self.progress.advance(len(self.problem.primaries) * 2, None, open=0, **self._figures())

    def tell(self, ledger: Ledger, hurried: Bool | None = None) -> None:
        """Keep the pattern if it is complete and cheaper; report open demands, and the pattern that is kept.

        `hurried` are cells that nothing but lack of time will have hidden, if this is the one that stays.
        """
        if not ledger.num_open and ledger.cost < self.least:
            draft = Draft(ledger.hidden.copy(), witnesses=ledger.witnesses())
            draft.add_hurried(None if hurried is None else hurried & ledger.hidden)
            self._adopt(draft, ledger.cost)
        met = len(self.problem.primaries) * 2 - ledger.num_open
        self.progress.advance(met, None, open=ledger.num_open, **self._figures())

    def _adopt(self, draft: Draft, cost: float) -> None:
        self.kept, self.least = draft, cost
        hidden = int(self.cells_of[:-1][draft.hidden].sum())
        self._published = 1 - hidden / max(int(self.cells_of.sum()), 1)

    def _figures(self) -> dict[str, float]:
        """Cost, bound, gap and share of published cells of the pattern that is kept, if there is one."""
        if self.kept is None:
            return {}
        cost, bound = self.least + self.apart, self.bound + self.apart
        gap = max(cost - bound, 0.0) / cost if cost > 0 else 0.0
        return {"cost": cost, "bound": bound, "gap": gap, "published": self._published}
