"""Exchanges side by side: each worker has trials of its own, and what one finds is changed in all patterns.

Every worker makes trials (`cellveil.suppression.engines.kernel_exchange`) on a ledger of its own, with random
numbers of its own. After so many trials and paid programs they look at each other's patterns. Where several
have found a cheaper one, what the others changed is changed in the cheapest as well, if that pays: changes in
different places of the table add up. All those who have found less go on from what comes out.

Work is counted, not timed, so that without a time limit the result depends on seed and number of workers
alone. The time of a trial goes to solvers and compiled loops, which give up the interpreter's lock.

Requires a complete ledger, and a pattern with few degrees of freedom. Ensures that the ledger holds the
cheapest pattern at the end, complete and exact.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

from cellveil.clock import Deadline
from cellveil.deviations.independent_relations import spanning_relations
from cellveil.deviations.ledger import Ledger
from cellveil.solvers.parallel import LEAST_PART, in_parts
from cellveil.suppression.engines.kernel_exchange import (
    ExchangeRecord,
    KernelExchange,
    KernelExchangeParams,
)


class ExchangeTeam:
    """Workers that exchange, the first of them on the ledger that is given."""

    def __init__(
        self, ledger: Ledger, workers: int, *, seed: int = 0, params: KernelExchangeParams | None = None
    ) -> None:
        self.ledger, self.params = ledger, params or KernelExchangeParams()
        relations = spanning_relations(ledger.problem)
        self.members = [
            KernelExchange(
                ledger.copied() if number else ledger,
                seed=(seed, number),
                params=self.params,
                relations=relations,
            )
            for number in range(workers)
        ]

    @property
    def trials(self) -> int:
        """Of all members."""
        return sum(member.trials for member in self.members)

    def run(self, deadline: Deadline, note: Callable[[Ledger], None], *, trials: int | None = None) -> None:
        """Trials until time is over, or they are barren, or each member has made so many.

        `note` hears of cheaper patterns.
        """
        best = self.members[0].best
        while self._advance(deadline, note, trials):
            best = self._shared(best, deadline, note)
        best = self._shared(best, deadline, note)
        best.restore(self.ledger)

    def _advance(self, deadline: Deadline, note: Callable[[Ledger], None], trials: int | None) -> bool:
        """Let all members work for a while; tells whether there is more to do."""
        members, work, is_stopped = self.members, self.params.work_at_once, Event()
        goes_on = [False] * len(members)
        until = deadline.or_when(is_stopped.is_set, in_shares=True)

        def advance(first: int, end: int) -> None:
            for number in range(first, end):
                tell = (lambda ledger: None) if number else note
                goes_on[number] = members[number].advance(until, tell, trials=trials, work=work)

        try:
            in_parts(advance, len(members), LEAST_PART)
        except BaseException:
            is_stopped.set()
            raise
        is_barren = sum(member.barren for member in members) >= self.params.barren
        return all(goes_on) and not is_barren

    def _shared(
        self, before: ExchangeRecord, deadline: Deadline, note: Callable[[Ledger], None]
    ) -> ExchangeRecord:
        """Bring together what the members have found; return the cheapest pattern."""
        ranked = sorted(self.members, key=lambda member: member.best.cost)
        first, found = ranked[0], [each.best for each in ranked[1:] if each.best.cost < before.cost]
        for other in found:
            first.combine(before.hidden, other, deadline)
        best = first.best
        if best.cost < before.cost:
            for member in ranked[1:]:
                member.adopt(best)
            note(self.members[0].ledger)
        return best
