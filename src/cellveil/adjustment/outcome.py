"""The result of a controlled tabular adjustment: values, audit, objective and bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from cellveil.arrays import Bool, Int
from cellveil.judge import Audit
from cellveil.judge.adjusted import AdjustedAudit
from cellveil.judge.verdict import Outcome
from cellveil.shown import Shown


class Reason(StrEnum):
    """Why a run ended."""

    COMPLETE = "complete"
    TIME_LIMIT = "time limit"
    NODE_LIMIT = "node limit"
    INTERRUPTED = "interrupted"
    UNCLEAR = "no clear answer"


@dataclass(frozen=True, repr=False, eq=False)
class Adjustment(Shown):
    """An adjusted table with its audit and the figures of the run.

    Parameters
    ----------
    values
        The values to publish, scaled integers like those of the table.
    senses
        For each sensitive cell whether it rose.
    outcome
        optimal, safe (keeps everything, not proven best), or not_safe.
    reason
        A `Reason`: complete, or what cut the run short; or what the audit found.
    cost
        The objective.
    audit
        The audit of the values: what speaks against publishing them, and what an attacker can tell.
    limits
        Per cent that ``interior`` cells, ``marginals`` and the ``total`` were allowed to move.
    lower_bound
        No adjustment costs less; None where nothing was proven.
    """

    values: Int
    senses: Bool
    method: str
    objective: str
    outcome: Outcome
    reason: str
    cost: float
    lower_bound: float | None
    audit: Audit
    seconds: Mapping[str, float]
    seed: int
    limits: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def gap(self) -> float | None:
        """Relative distance between cost and proven bound, (cost − bound) / cost; None without a bound."""
        if self.lower_bound is None:
            return None
        return max(self.cost - self.lower_bound, 0.0) / self.cost if self.cost > 0 else 0.0

    @property
    def is_safe(self) -> bool:
        """Whether the audit found that everything asked is kept; a release asks for more, see `audit`."""
        return self.judged.is_safe

    @property
    def judged(self) -> AdjustedAudit:
        """What the values keep, what they tell, and what they are worth."""
        assert self.audit.adjusted is not None, "the audit of an adjustment is one of adjusted values"
        return self.audit.adjusted

    @property
    def was_interrupted(self) -> bool:
        """Whether somebody stopped the search, and this is the best it had."""
        return self.reason == Reason.INTERRUPTED

    def __repr__(self) -> str:
        gap = "no bound" if self.gap is None else f"gap {100 * self.gap:.2f} %"
        return f"Adjustment({self.method!r}, {self.outcome}, {self.objective} {self.cost:,.6g}, {gap})"
