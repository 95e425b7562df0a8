"""Primal heuristics of branch and cut: good patterns for one part, from scratch or around a fractional point.

By incremental programs and trials, or by cheapest flows where the part is a network. Sliding levels are
shared out between both sides first, as far as the cell can move if everything is hidden, so that a ledger of
witnesses can be kept; the pattern is then good for the sliding levels as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.clock import Deadline
from cellveil.deviations.demand import shared_out
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.movement_program import Feasibility
from cellveil.loops.flow_witness import BOTH
from cellveil.params import Params, param
from cellveil.problem import Problem, Status
from cellveil.suppression.engines.cheapest_flows import cheapest_flows
from cellveil.suppression.engines.flow_search import Networks, build
from cellveil.suppression.engines.local_search import Search, drop_unused
from cellveil.suppression.engines.one_demand import OneDemand
from cellveil.suppression.exact.separation import Separation


@dataclass(frozen=True, kw_only=True)
class HeuristicsParams(Params):
    """Parameters of the primal heuristics."""

    firm: float = param(0.5, "Value of x above which cells are hidden where flows begin.", least=0, most=1)
    guided: float = param(0.05, "Factor on the weight of a cell with x = 1.", least=0, most=1)
    trials: int = param(20, "Trials of ruin and recreate on a pattern from scratch.", least=0)


class Starter(Protocol):
    """Finds patterns of one part."""

    def from_scratch(self, deadline: Deadline) -> Bool | None:
        """A good pattern; None where none was finished in time."""

    def around(self, point: Float, deadline: Deadline) -> Bool | None:
        """A pattern near a fractional point; None where none was finished in time."""


def starter_of(
    problem: Problem, separation: Separation, *, seed: int, params: HeuristicsParams | None = None
) -> Starter:
    """The fitting one."""
    params = params or HeuristicsParams()
    own = _apart(problem, separation)
    if own is None:
        return NoStarter()
    cells = separation.part.component.cells
    networks = Networks.of(own)
    if networks.rest() is None:
        return FlowStarter(networks, cells, seed, params)
    return ProgramStarter(own, cells, seed, params)


class NoStarter:
    """Where sliding levels cannot be shared out beforehand: the search must find patterns itself."""

    def from_scratch(self, deadline: Deadline) -> Bool | None:
        """See `Starter`."""

    def around(self, point: Float, deadline: Deadline) -> Bool | None:
        """See `Starter`."""


class FlowStarter:
    """By cheapest flows; around a point their first step, begun with what the point hides."""

    def __init__(self, networks: Networks, cells: Int, seed: int, params: HeuristicsParams) -> None:
        self.networks, self.cells, self.seed, self.params = networks, cells, seed, params

    def from_scratch(self, deadline: Deadline) -> Bool | None:
        """See `Starter`."""
        draft = cheapest_flows(self.networks.problem, deadline, seed=self.seed)
        return None if draft.infeasible else np.asarray(draft.hidden[self.cells])

    def around(self, point: Float, deadline: Deadline) -> Bool | None:
        """See `Starter`."""
        hidden = np.zeros(len(self.networks.tail), dtype=bool)
        hidden[self.cells[point > self.params.firm]] = True
        search, infeasible = build(self.networks, BOTH, deadline, hidden)
        if infeasible or search.ledger.num_open:
            return None
        search.clean_up()
        return np.asarray(search.ledger.hidden[self.cells])


class ProgramStarter:
    """By incremental programs, clean-up and trials."""

    def __init__(self, problem: Problem, cells: Int, seed: int, params: HeuristicsParams) -> None:
        self.problem, self.cells, self.seed, self.params = problem, cells, seed, params

    def from_scratch(self, deadline: Deadline) -> Bool | None:
        """See `Starter`."""
        ledger = Ledger(self.problem)
        return (
            self._improved(ledger, deadline, self.params.trials) if _protect_all(ledger, deadline) else None
        )

    def around(self, point: Float, deadline: Deadline) -> Bool | None:
        """See `Starter`: what the point hides is cheap."""
        cells = self.cells
        weight = self.problem.weight.copy()
        weight[cells] *= np.maximum(1.0 - point, self.params.guided)
        hidden = np.zeros(len(weight), dtype=bool)
        hidden[cells[point > 1.0 - self.params.guided]] = True
        guided = Ledger(self.problem.replace(weight=weight), hidden)
        if not _protect_all(guided, deadline):
            return None
        drop_unused(guided)
        ledger = guided.copied(self.problem)
        return self._improved(ledger, deadline, 0) if _protect_all(ledger, deadline) else None

    def _improved(self, ledger: Ledger, deadline: Deadline, trials: int) -> Bool:
        drop_unused(ledger)
        ledger.tidy()
        search = Search(ledger, OneDemand(ledger), seed=self.seed)
        search.clean_up(deadline)
        search.shake(deadline, trials)
        return np.asarray(ledger.hidden[self.cells])


def _protect_all(ledger: Ledger, deadline: Deadline) -> bool:
    """Meet every open demand of the ledger; False where one cannot be met, or the time is over."""
    protector = OneDemand(ledger)
    while ledger.num_open:
        cells, up, _ = ledger.open_demands()
        if deadline.is_over:
            return False
        if protector.protect(int(cells[0]), bool(up[0]), deadline) is not Feasibility.MET:
            return False
    return True


def _apart(problem: Problem, separation: Separation) -> Problem | None:
    """The problem with all cells but the part's published, and sliding levels shared out."""
    part = separation.part
    cells, n = part.component.cells, problem.table.num_cells
    status = np.full(n, Status.FROZEN, dtype=np.int8)
    status[cells] = problem.status[cells]
    upl, lpl = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for need in part.needs:
        (upl if need.up else lpl)[cells[need.own]] = need.amount
    for width in part.widths:
        cell = cells[width.own]
        above, below = (separation.farthest(width.own, up, width.amount) for up in (True, False))
        missing = np.maximum(width.amount - upl[cell] - lpl[cell], 0)
        upl[cell], lpl[cell] = shared_out(upl[cell], lpl[cell], missing, np.asarray(above))
        if lpl[cell] > below:
            return None
    none = np.zeros(n, dtype=np.int64)
    alone = problem.only(np.isin(np.arange(n), cells), upl=upl, lpl=lpl, spl=none)
    status[cells] = alone.status[cells]
    return alone.replace(status=status, reasons={})
