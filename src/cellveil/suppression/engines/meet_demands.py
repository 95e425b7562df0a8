"""Completing a pattern: a witness for every open demand in turn, the largest first, or it is infeasible.

* A demand with a sliding level that cannot be met on this side is put on the other one as far as needed: the
  ledger is set up anew with those levels, and keeps its pattern and witnesses.
* A demand that nothing can meet is noted as infeasible.
* A demand without a clear answer stays open. In the end, and when time is up, what is open is given to cubes
  where the table has them. The last resort is to hide everything movable in its component: that protects
  whatever can be protected at all, and the cells so hidden are counted; the audit looks for witnesses in it.
  Whoever has a complete pattern already can do without.

Requires a protector that tells met, impossible and unclear apart. Ensures that the ledger keeps the promise
of `cellveil.deviations.ledger`; the audit decides about demands left without a witness.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from cellveil.arrays import Bool
from cellveil.clock import Deadline
from cellveil.deviations.components import split
from cellveil.deviations.cubes import has_cubes, prove_by_cubes
from cellveil.deviations.demand import Demand, shifted_levels
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.movement_program import Feasibility
from cellveil.params import Params, param, part
from cellveil.problem import LEVELS, Problem, Status
from cellveil.progress import Progress
from cellveil.suppression.draft import Draft, MethodEnding
from cellveil.suppression.engines.cube_packing import Packing
from cellveil.suppression.engines.local_search import LocalSearchParams, Search, drop_unused
from cellveil.suppression.engines.one_demand import OneDemand, OneDemandParams
from cellveil.suppression.engines.splitting_search import stepwise
from cellveil.tables.structure import structured

ORDERS_OF_DEMANDS = ("descending", "ascending", "given")


@dataclass(frozen=True, kw_only=True)
class MeetDemandsParams(Params):
    """Parameters of protection one demand after the other."""

    most_to_clean: int = param(1_500, "Cells of a component up to which the pattern is cleaned up.", least=0)
    one_demand: OneDemandParams = part(OneDemandParams)
    local_search: LocalSearchParams = part(LocalSearchParams)


class Completion:
    """A ledger on its way to having no open demand; see the head of the module.

    Parameters
    ----------
    ledger
        The pattern and the witnesses so far.
    make
        Makes the protector of a ledger; called again when sliding levels were shifted.
    is_spare
        Whether there is a complete pattern already, so that nothing need be finished when time is up.
    order
        Which demands come first: those of the largest or smallest amount, or as the cells are numbered.
    harvest
        Whether a witness counts for other demands, too, so that these need no program of their own.

    Attributes
    ----------
    ledger, protector
        The present ones.
    infeasible
        Demands that no pattern meets.
    reason
        Why it stopped.
    hurried
        Cells that were hidden only because time ran out; None for none.
    earlier_lps
        Programs solved before the present protector came in.
    """

    def __init__(
        self,
        ledger: Ledger,
        make: Callable[[Ledger], OneDemand],
        deadline: Deadline,
        progress: Progress | None = None,
        *,
        seed: int = 0,
        is_spare: bool = False,
        order: str = ORDERS_OF_DEMANDS[0],
        harvest: bool = True,
    ) -> None:
        self.ledger, self._make, self._is_spare = ledger, make, is_spare
        self._order, self._harvest = order, harvest
        self.protector = make(ledger)
        self.deadline, self.progress, self.seed = deadline, progress or Progress(), seed
        self.infeasible: list[Demand] = []
        self.reason = MethodEnding.COMPLETE
        self._unclear: set[tuple[int, bool]] = set()
        self.hurried: Bool | None = None
        self.earlier_lps = 0

    @property
    def num_lps(self) -> int:
        """How many programs were solved."""
        return self.earlier_lps + self.protector.num_lps

    def prove_by_cubes(self) -> None:
        """Meet what single cubes of hidden cells can meet."""
        prove_by_cubes(self.ledger, self.deadline)

    def run(self) -> None:
        """Meet all open demands."""
        while self._pass():
            pass
        if self.ledger.num_open and not self.infeasible and not (self._is_spare and self.deadline.is_over):
            self._hide_what_is_left()

    def draft(self) -> Draft:
        """What to hand over: without secondaries that no witness moves, where all demands have one."""
        if not self.ledger.num_open:
            drop_unused(self.ledger)
        return Draft(
            self.ledger.hidden.copy(),
            reason=self.reason,
            infeasible=self.infeasible,
            num_lps=self.num_lps,
            witnesses=self.ledger.witnesses(),
            hurried=None if self.hurried is None else self.hurried & self.ledger.hidden,
        )

    def _pass(self) -> bool:
        """Go once through the open demands; tells whether another pass is needed."""
        queue = self._queue()
        for done, (cell, up) in enumerate(queue):
            if self.deadline.is_over:
                self.reason = MethodEnding.REST_OVERPROTECTED
                return False
            if (cell, up) in self._unclear or (self._harvest and not self.ledger.is_open(cell, up)):
                continue
            verdict = self.protector.protect(cell, up, self.deadline)
            if verdict is Feasibility.IMPOSSIBLE and self._retreat(cell, up):
                return True
            if verdict is not Feasibility.MET:
                self._unclear.add((cell, up))
            if verdict is Feasibility.IMPOSSIBLE:
                self.infeasible.append(Demand(cell, up, self.protector.amount(cell, up)))
            self.progress.advance(done + 1, len(queue), hidden=int(self.ledger.hidden.sum()))
        return False

    def _queue(self) -> list[tuple[int, bool]]:
        """The open demands, in order."""
        cells, ups, _ = self.ledger.open_demands()
        queue = list(zip(cells.tolist(), ups.tolist(), strict=True))
        if self._order == "given":
            return sorted(queue, key=lambda demand: (demand[0], not demand[1]))
        return queue if self._order == "descending" else queue[::-1]

    def _retreat(self, cell: int, up: bool) -> bool:
        """Put what this side cannot take of a sliding level on the other one, once."""
        problem = self.ledger.problem
        if problem.spl[cell] == 0:
            return False
        reached = self.protector.farthest(cell, up, self.deadline)
        shifted = shifted_levels(problem, cell, up, reached)
        if shifted is None:
            return False
        levels = {name: getattr(problem, name).copy() for name in LEVELS}
        levels["upl"][cell], levels["lpl"][cell], levels["spl"][cell] = *shifted, 0
        self.earlier_lps += self.protector.num_lps
        self.ledger = self.ledger.copied(problem.replace(**levels))
        self.protector = self._make(self.ledger)
        return True

    def _hide_what_is_left(self) -> None:
        """Protect what is open by cubes, or else by everything movable in its component."""
        ledger, problem = self.ledger, self.ledger.problem
        if self.reason is MethodEnding.COMPLETE:
            self.reason = MethodEnding.UNCLEAR
        overtime = self.deadline.overtime()
        if has_cubes(problem.table):
            Packing(ledger, seed=self.seed).protect(overtime)
        if not ledger.num_open:
            return
        number, _ = split(problem.table.relations, problem.status != Status.FROZEN)
        touched = np.isin(number, number[ledger.open_demands()[0]]) & (number >= 0)
        new = touched & ~ledger.hidden
        if self.reason is MethodEnding.REST_OVERPROTECTED:
            self.hurried = new
        ledger.hide(np.flatnonzero(new))


def protect_in_turn(
    problem: Problem,
    deadline: Deadline,
    *,
    seed: int = 0,
    progress: Progress | None = None,
    params: MeetDemandsParams | None = None,
) -> Draft:
    """Protect all demands one after the other, the largest first, and clean up where that is quick."""
    params, progress = params or MeetDemandsParams(), progress or Progress()
    progress.stage("sequential")
    make = partial(stepwise, seed=seed, params=params.one_demand)

    ledger = Ledger(problem.replace(table=structured(problem.table)))
    completion = Completion(ledger, make, deadline, progress, seed=seed)
    completion.prove_by_cubes()
    completion.run()
    ledger, protector = completion.ledger, completion.protector
    largest = max((protector.size_of(cell) for cell in ledger.secondaries().tolist()), default=0)
    if not ledger.num_open and largest <= params.most_to_clean:
        search = Search(ledger, protector, seed=seed, deadline=deadline, params=params.local_search)
        search.clean_up(deadline)
    return completion.draft()
