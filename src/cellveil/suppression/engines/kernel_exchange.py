"""Ruin and recreate in the null space of a pattern: publish dear directions, buy what that opens for less.

A good pattern of an irregular table is rigid: it has a handful of degrees of freedom, every witness moves
nearly all of its cells, and publishing one of these opens nearly all demands. But then small programs in the
pattern's own coordinates (`cellveil.deviations.pattern_kernel`) close most of them again in milliseconds, and
tell which demand does not close. For this one the cheapest deviation that costs less than what was published
is asked for (`cellveil.deviations.budgeted_movement`); with its cells hidden, small programs go on.

A trial publishes some *directions*, groups of cells that move alike, drawn by weight; how many at most grows
with trials that are kept, and falls with those in vain. A trial is rolled back unless all demands are met for
less than before, or for little more than the cheapest pattern costs (record-to-record travel); how much more
falls to nothing towards the end. After some trials without a cheaper pattern it rises again, and falls, and
so on (iterated local search). Demands that failed most often are looked at first. Many trials without a
cheaper pattern end the search.

Requires a complete ledger, and a pattern with few degrees of freedom. Ensures that the ledger is complete and
exact between trials, and that it holds the cheapest pattern at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.clock import Deadline
from cellveil.deviations.budgeted_movement import BudgetedMovement
from cellveil.deviations.independent_relations import spanning_relations
from cellveil.deviations.kernel_basis import kernel_basis
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.pattern_kernel import PatternKernel, PatternKernelParams
from cellveil.params import Params, param, part
from cellveil.suppression.engines.local_search import trial
from cellveil.tables.relations import Relations


@dataclass(frozen=True, kw_only=True)
class KernelExchangeParams(Params):
    """Parameters of ruin and recreate in the null space of a pattern."""

    ruined: float = param(8.0, "Directions published in one trial, at most, to begin with.", least=1)
    least_ruined: float = param(2.0, "The same, however many are in vain.", least=1)
    most_ruined: float = param(64.0, "The same, however many trials are kept.", least=1)
    more: float = param(1.3, "Factor of that number after a trial that is kept.", least=1)
    fewer: float = param(0.8, "Factor of that number after a trial in vain.", least=0, most=1)
    slack: float = param(
        0.005, "How much dearer than the best a pattern may be, as a share; it falls to 0.", least=0
    )
    kick: float = param(
        0.015, "The same after `patience` trials without a cheaper pattern; it falls to 0 again.", least=0
    )
    patience: int = param(100, "Trials without a cheaper pattern between two kicks.", least=1)
    barren: int = param(
        2000, "Trials in a row without a cheaper pattern, after which no more are made.", least=1
    )
    work_at_once: int = param(
        12,
        "Trials and paid programs of each worker, between two looks at what the others have found.",
        least=1,
    )
    most_programs: int = param(8, "Paid programs of one trial, at most.", least=1)
    roomy: float = param(
        30.0,
        "Room that paid programs take for endless, in units of the amount: they become easier.",
        least=1,
    )
    most_coordinates: int = param(600, "Degrees of freedom of a pattern, at most.", least=1)
    pattern_kernel: PatternKernelParams = part(PatternKernelParams)


class KernelExchange:
    """Trials on one ledger.

    Parameters
    ----------
    relations
        Rows that span those of the table; looked for where they are not given.

    Attributes
    ----------
    trials, programs
        How many trials there were, and paid programs in them.
    barren
        Trials since the last pattern that was cheaper than any.
    best
        The cheapest pattern so far.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        seed: int | tuple[int, int] = 0,
        params: KernelExchangeParams | None = None,
        relations: Relations | None = None,
    ) -> None:
        self.ledger, self.params = ledger, params or KernelExchangeParams()
        self.relations = relations or spanning_relations(ledger.problem)
        self._rng = np.random.default_rng(seed)
        self._movement = BudgetedMovement(ledger, self.relations, self.params.roomy)
        self._failures = np.zeros((2, len(ledger.hidden)), dtype=np.int64)
        self._ruined = self.params.ruined
        self.trials = self.programs = self.barren = 0
        self.best = ExchangeRecord(ledger)

    def run(self, deadline: Deadline, note: Callable[[Ledger], None], *, trials: int | None = None) -> None:
        """Trials until time is over, or they are barren; `note` hears of each pattern cheaper than any."""
        self.advance(deadline, note, trials=trials)
        self.best.restore(self.ledger)

    def advance(
        self,
        deadline: Deadline,
        note: Callable[[Ledger], None],
        *,
        trials: int | None = None,
        work: float = math.inf,
    ) -> bool:
        """The same up to so much work, trials and paid programs together, without going back to the best.

        Returns
        -------
        Whether there is more to do.
        """
        kernel, done = self._kernel(), self.trials + self.programs + work
        while kernel is not None and self.barren < self.params.barren and self.trials != trials:
            if deadline.is_over or self.trials + self.programs >= done:
                return not deadline.is_over
            chosen = self._some_directions(kernel)
            if not len(chosen):
                return False
            slack = self.params.slack * _left(deadline, self.trials, trials) + self._kick()
            self.barren += 1
            if self._attempt(kernel, chosen, self.best.cost * (1.0 + slack), deadline):
                kernel = self._kernel()
                if self.ledger.cost < self.best.cost:
                    self.best, self.barren = ExchangeRecord(self.ledger), 0
                    note(self.ledger)
        return False

    def _kick(self) -> float:
        """How much dearer than the best a pattern may be, to leave a dead end: a sawtooth."""
        rounds, phase = divmod(self.barren, self.params.patience)
        return self.params.kick * (1.0 - phase / self.params.patience) if rounds else 0.0

    def adopt(self, other: ExchangeRecord) -> None:
        """Go on from a pattern that somebody else has found."""
        other.restore(self.ledger, always=True)
        self.best, self.barren = other, 0

    def combine(self, before: Bool, other: ExchangeRecord, deadline: Deadline) -> None:
        """Change in the best pattern what the other one changed in the one before, if that pays.

        Parameters
        ----------
        before
            The cells that were hidden in the pattern that both began with.
        """
        self.best.restore(self.ledger)
        ledger, most = self.ledger, float(np.nextafter(self.best.cost, -np.inf))
        published = np.flatnonzero(ledger.hidden & before & ~other.hidden)

        def recreate() -> None:
            ledger.hide(np.flatnonzero(other.hidden & ~before & ~ledger.hidden))
            if ledger.cost <= most:
                self._recreate(self._kernel(), most, deadline)

        if len(published) and trial(ledger, published, recreate, most):
            self.best = ExchangeRecord(ledger)

    def _attempt(self, kernel: PatternKernel, chosen: Int, allowed: float, deadline: Deadline) -> bool:
        """Publish the cells of some directions; tells whether what comes out is cheaper, or allowed."""
        ledger, params = self.ledger, self.params
        most = max(float(np.nextafter(ledger.cost, -np.inf)), allowed)
        self.trials += 1
        is_kept = trial(
            ledger,
            kernel.cells[np.isin(kernel.direction_of, chosen)],
            lambda: self._recreate(kernel.without(chosen), most, deadline),
            most,
        )
        factor = params.more if is_kept else params.fewer
        self._ruined = float(np.clip(self._ruined * factor, params.least_ruined, params.most_ruined))
        return is_kept

    def _recreate(self, kernel: PatternKernel | None, most: float, deadline: Deadline) -> None:
        ledger = self.ledger
        for _ in range(self.params.most_programs):
            open_demand = self._first_failure(kernel, deadline)
            if open_demand is None or deadline.is_over:
                return
            self.programs += 1
            moved = self._movement.push(*open_demand, most - ledger.cost, deadline)
            if moved is None:
                return
            ledger.hide(moved[~ledger.hidden[moved]])
            if ledger.cost > most:
                return
            kernel = self._kernel()
            if kernel is None:
                return

    def _first_failure(
        self, kernel: PatternKernel | None, deadline: Deadline
    ) -> tuple[int, bool, int] | None:
        """Write witnesses for open demands into the ledger, up to one that has none; None where all have."""
        while self.ledger.num_open and not deadline.is_over:
            cells, ups, amounts = self.ledger.open_demands()
            failures = self._failures[ups.astype(np.int64), cells]
            first = int(np.lexsort((-amounts, -failures))[0])
            cell, up, amount = int(cells[first]), bool(ups[first]), int(amounts[first])
            if kernel is None or not kernel.meet_one(cell, up, amount):
                self._failures[int(up), cell] += 1
                return cell, up, amount
        return None

    def _some_directions(self, kernel: PatternKernel) -> Int:
        """Directions of secondaries alone, drawn by weight; small numbers of them as often as large ones."""
        ledger, number = self.ledger, kernel.direction_of
        moving = np.flatnonzero(number >= 0)
        is_fixed = np.ones(len(ledger.hidden), dtype=bool)
        is_fixed[ledger.secondaries()] = False
        weight = np.bincount(number[moving], ledger.problem.weight[kernel.cells[moving]])
        weight[number[moving][is_fixed[kernel.cells[moving]]]] = 0.0
        size = min(int(self._ruined ** self._rng.random()), int((weight > 0).sum()))
        if not size:
            return np.zeros(0, dtype=np.int64)
        return np.asarray(self._rng.choice(len(weight), size, replace=False, p=weight / weight.sum()))

    def _kernel(self) -> PatternKernel | None:
        """The null space of what is hidden; None where it has none, or too many dimensions."""
        ledger = self.ledger
        cells = np.flatnonzero(ledger.hidden)
        room = np.minimum(ledger.room_up, ledger.room_down)[cells].astype(np.float64)
        basis = kernel_basis(self.relations, cells, room, self.params.most_coordinates)
        if basis is None or not basis.size:
            return None
        return PatternKernel(ledger, cells, basis, basis.shape[1], self.params.pattern_kernel)


class ExchangeRecord:
    """A pattern with its witnesses."""

    def __init__(self, ledger: Ledger) -> None:
        self.cost, self.hidden, self._witnesses = ledger.cost, ledger.hidden.copy(), ledger.witnesses()

    def restore(self, ledger: Ledger, *, always: bool = False) -> None:
        """Bring a ledger back to it: where it is cheaper, or always."""
        if ledger.cost <= self.cost and not always:
            return
        ledger.hide(np.flatnonzero(self.hidden & ~ledger.hidden))
        for cell in np.flatnonzero(ledger.hidden & ~self.hidden).tolist():
            ledger.publish(cell)
        ledger.add_all(self._witnesses)
        ledger.tidy()


def _left(deadline: Deadline, number: int, trials: int | None) -> float:
    """The share of time or trials still to come."""
    if trials is not None:
        return 1.0 - number / trials
    left, limit = deadline.left, deadline.limit
    return 0.0 if left is None or not limit else left / limit
