"""Exchanges among suppression patterns of equal cost: for less suppressed value, then for fewer totals.

Where cells cost the same (weights of 1, numbers of contributors) methods come upon any of many cheapest
patterns, such as one that suppresses the grand total where inner cells would do. Here a finished pattern is
exchanged for a preferred one: a secondary is published with those that share its witnesses, and what that
opens is protected anew, with weights that make large cells and totals a little more expensive. The result
counts if it costs no more, and is smaller by (cost, value, depth). So cost, bound and proof stay as they are.

Requires a pattern with a witness for every demand. Ensures the same of the result. Does not ensure that no
other pattern of the same cost is preferred. Cost: a few linear programs for each secondary that is tried.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import fsum

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.clock import Deadline
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.movement_program import Feasibility
from cellveil.params import Params, param
from cellveil.problem import Problem, Status
from cellveil.suppression.draft import Draft
from cellveil.suppression.engines.local_search import drop_unused
from cellveil.suppression.engines.one_demand import OneDemand


@dataclass(frozen=True, kw_only=True)
class EqualCostParams(Params):
    """Parameters of exchanges at equal cost."""

    preference: float = param(
        1e-4,
        "How much more the largest total costs than the smallest cell of its weight, as a share.",
        least=0,
    )
    most_cells: int = param(25_000, "Cells of a table up to which exchanges are tried.", least=0)
    most_together: int = param(12, "Secondaries that share a witness and are published together.", least=1)
    share: float = param(0.02, "Share of the time that a method leaves for them.", least=0, most=1)
    trials: int = param(200, "Trials at most.", least=0)
    steps: int = param(50_000, "Simplex steps at most, without a time limit.", least=0)


def preferred_weights(problem: Problem, params: EqualCostParams | None = None) -> Float:
    """The weights, a little higher for cells of larger value, then for totals, where weights are equal."""
    if not _comparable(problem).any():
        return problem.weight
    order = _order(problem)
    preference = (params or EqualCostParams()).preference
    return problem.weight * (1 + preference * order / max(int(order.max()), 1))


def without_exchanges(
    problem: Problem, deadline: Deadline, params: EqualCostParams | None = None
) -> Deadline:
    """The time of a method before exchanges at equal cost: all of it where no such cells are."""
    params = params or EqualCostParams()
    has_rivals = problem.table.num_cells <= params.most_cells and _comparable(problem).any()
    return deadline.share(1 - params.share) if has_rivals and deadline.limit is not None else deadline


def with_preferred_cells(
    problem: Problem, draft: Draft, deadline: Deadline, *, params: EqualCostParams | None = None
) -> Draft:
    """The draft, or one of the same cost that suppresses smaller cells and fewer totals."""
    params = params or EqualCostParams()
    is_large = problem.table.num_cells > params.most_cells
    if is_large or draft.infeasible or draft.reason.is_interrupt:
        return draft
    comparable = _comparable(problem)
    if not (draft.hidden & comparable & ~problem.hidden_at_start).any():
        return draft
    ledger = Ledger(problem.replace(weight=preferred_weights(problem, params)), draft.hidden)
    ledger.add_all(draft.witnesses)
    if ledger.num_open:
        return draft
    exchange = _Exchange(problem, ledger, deadline, params)
    exchange.run(comparable)
    return replace(
        draft,
        hidden=ledger.hidden.copy(),
        witnesses=ledger.witnesses(),
        num_lps=draft.num_lps + exchange.protector.num_lps,
        hurried=None if draft.hurried is None else draft.hurried & ledger.hidden,
    )


class _Exchange:
    """Trials on one ledger, whose weights are the preferred ones."""

    def __init__(self, problem: Problem, ledger: Ledger, deadline: Deadline, params: EqualCostParams) -> None:
        self.problem, self.ledger, self.deadline, self.params = problem, ledger, deadline, params
        self.protector = OneDemand(ledger)
        self._sums = _totals_in(problem)

    def run(self, comparable: Bool) -> None:
        """Try every secondary that has a rival, the largest first, until none is exchanged."""
        drop_unused(self.ledger)
        best, trials, has_changed = self._key(), 0, True
        while has_changed:
            has_changed = False
            cells = self.ledger.secondaries()
            cells = cells[comparable[cells]]
            values = np.abs(self.problem.table.values[cells])
            for cell in cells[np.lexsort((cells, -self._sums[cells], -values))].tolist():
                for together in (True, False):
                    if self._is_over(trials):
                        return
                    if not self.ledger.hidden[cell]:
                        break
                    trials += 1
                    found = self._attempt(cell, best, together=together)
                    has_changed |= found != best
                    best = found

    def _is_over(self, trials: int) -> bool:
        has_worked = self.deadline.limit is None and self.protector.num_steps >= self.params.steps
        return has_worked or self.deadline.is_over or trials >= self.params.trials

    def _key(self) -> tuple[float, int, int]:
        """Cost, value and totals of the secondaries."""
        cells = self.ledger.secondaries()
        values = np.abs(self.problem.table.values[cells])
        return fsum(self.problem.weight[cells]), sum(values.tolist()), int(self._sums[cells].sum())

    def _attempt(self, cell: int, best: tuple[float, int, int], *, together: bool) -> tuple[float, int, int]:
        """Publish a cell, with those that share its witnesses, and protect anew; the key of what is kept."""
        ledger = self.ledger
        mark, ruined = ledger.mark(), self._sharing(cell) if together else [cell]
        for one in ruined:
            ledger.publish(one)
        while ledger.num_open and not self.deadline.is_over:
            cells, up, _ = ledger.open_demands()
            if self.protector.protect(int(cells[0]), bool(up[0]), self.deadline) is not Feasibility.MET:
                break
        if not ledger.num_open:
            drop_unused(ledger)
            found = self._key()
            if found < best:
                ledger.tidy()
                return found
        ledger.rollback(mark)
        return best

    def _sharing(self, cell: int) -> list[int]:
        """The cell, and other secondaries that a witness moves with it: the first found, at most so many."""
        found = {cell: None}
        for number in self.ledger.users(cell):
            for other in self.ledger.witness(number).cells.tolist():
                if not self.problem.hidden_at_start[other] and len(found) < self.params.most_together:
                    found[other] = None
        return list(found)


def _totals_in(problem: Problem) -> Int:
    """In how many relations each cell is the sum of two or more others."""
    relations = problem.table.relations
    rows, negative = relations.row_of_entry, relations.coefs < 0
    num_negative = np.bincount(rows[negative], minlength=len(relations))
    num_positive = np.bincount(rows[~negative], minlength=len(relations))
    alone = np.where(negative, num_negative[rows] == 1, num_positive[rows] == 1)
    others = np.where(negative, num_positive[rows], num_negative[rows])
    return np.bincount(relations.cells[alone & (others > 1)], minlength=relations.num_cells)


def _order(problem: Problem) -> Int:
    """The place of each cell in the order of value, then totals; equal ones have the same."""
    values, sums = np.abs(problem.table.values), _totals_in(problem)
    order = np.lexsort((sums, values))
    is_next = np.r_[False, (np.diff(values[order]) != 0) | (np.diff(sums[order]) != 0)]
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.cumsum(is_next)
    return places


def _comparable(problem: Problem) -> Bool:
    """Cells that cost what another, preferred cell costs that stands in a relation with them.

    In a relation of two cells that may be suppressed both are, or neither is.
    """
    relations, movable = problem.table.relations, problem.status != Status.FROZEN
    found = np.zeros(relations.num_cells, dtype=bool)
    entries = np.flatnonzero(movable[relations.cells])
    rows, cells = relations.row_of_entry[entries], relations.cells[entries]
    is_long = np.bincount(rows, minlength=len(relations))[rows] > 2
    rows, cells = rows[is_long], cells[is_long]
    weights, places = problem.weight[cells], _order(problem)[cells]
    order = np.lexsort((places, weights, rows))
    rows, cells, weights, places = rows[order], cells[order], weights[order], places[order]
    starts = np.r_[True, (np.diff(rows) != 0) | (np.diff(weights) != 0)] if len(rows) else np.zeros(0, bool)
    first = places[np.maximum.accumulate(np.where(starts, np.arange(len(rows)), 0))]
    found[cells[places > first]] = True
    return found
