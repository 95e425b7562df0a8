"""What a suppression run ends with: a judged pattern, its cost and its bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cellveil.certificate import Certificate, Verification
from cellveil.errors import counted
from cellveil.judge import Audit
from cellveil.judge.verdict import Outcome
from cellveil.pattern import Pattern
from cellveil.shown import Shown
from cellveil.suppression.draft import MethodEnding

if TYPE_CHECKING:
    from cellveil.suppression.infeasible.relaxing import Relaxation


@dataclass(frozen=True, repr=False, eq=False)
class Suppression(Shown):
    """A judged pattern with the figures of its run.

    Parameters
    ----------
    outcome
        optimal, safe (shown safe, not proven cheapest), or not_safe.
    reason
        Why the run ended, in words.
    cost
        Sum of the weights of the secondary cells.
    lower_bound
        Proven least cost; None where the method proves none.
    audit
        The audit of the pattern against outsiders and every attacker that was named.
    ending
        Why the method stopped.
    relaxation
        What was freed or lowered, where the requirements as given could not be met; all the rest is then
        about the relaxed problem.
    hidden_for_lack_of_time
        How many cells are hidden only because time ran out before a cheaper pattern was found: whole parts
        of the table. The reason then begins with it, and says what to do.
    outsiders_pattern
        Where there are further attackers: the pattern against outsiders that the search began with.
    unprotectable
        Cells that no pattern protects from some insider, by number: the share of the movement needed that can
        be reached. The reason names them too.
    """

    pattern: Pattern
    audit: Audit
    outcome: Outcome
    reason: str
    cost: float
    lower_bound: float | None
    seconds: Mapping[str, float]
    seed: int
    num_lps: int
    ending: MethodEnding = MethodEnding.COMPLETE
    relaxation: Relaxation | None = None
    hidden_for_lack_of_time: int = 0
    outsiders_pattern: Pattern | None = None
    unprotectable: Mapping[int, float] = field(default_factory=dict)

    @property
    def method(self) -> str:
        """Name of the method."""
        return self.pattern.method

    @property
    def verification(self) -> Verification:
        """The exact check of the certificate."""
        proof = self.audit.verification
        assert proof is not None, "a suppression is always audited against outsiders"
        return proof

    @property
    def demands(self) -> int:
        """How many levels had to be met."""
        return self.verification.demands

    @property
    def certified_demands(self) -> int:
        """How many of them the verified certificate shows met."""
        return self.verification.met

    @property
    def certificate(self) -> Certificate:
        """The proof; complete where the outcome is safe."""
        return self.audit.certificate

    @property
    def gap(self) -> float | None:
        """Relative distance between cost and proven bound, (cost − bound) / cost; None without a bound."""
        if self.lower_bound is None:
            return None
        return max(self.cost - self.lower_bound, 0.0) / self.cost if self.cost > 0 else 0.0

    @property
    def was_interrupted(self) -> bool:
        """Whether somebody stopped the search, and this is the best it had."""
        return self.ending.is_interrupt

    @property
    def is_safe(self) -> bool:
        """Whether outsiders and every attacker that was named are kept off: the audit's verdict."""
        return self.audit.is_safe

    def __repr__(self) -> str:
        further = f", relaxed: {self.relaxation}" if self.relaxation is not None else ""
        if self.hidden_for_lack_of_time:
            further += f", {counted(self.hidden_for_lack_of_time, 'cell')} hidden for lack of time"
        return f"Suppression({self.method!r}, {self.outcome}, {self.pattern!r}{further})"
