"""`elimination`: from everything hidden, publish cell after cell, dearest first, while all stay protected.

For comparison: it has never been cheapest in our own figures, and `auto` does not use it.

A cell is published for good if every demand has a deviation among the cells that are left,

    M y = 0,   −down ≤ y ≤ up,   y = 0 on published cells,   y_p = ±d   for every demand (p, ±, d),

and is hidden for good otherwise. Ties in weight go by the number of the cell. So the pattern is determined by
the weights alone: it does not matter which deviations are found.

How it is done: every demand gets a witness first, as cheap as the incremental program makes it. A cell that
no witness moves is published without further ado. Publishing another one endangers only the demands whose
witness moves it; each of these gets a new one, the cheapest among what is left, or the cell stays.

Requires any relations whatever; frozen cells do not move.
Ensures a pattern with an exact witness for every demand, of which no cell can be published again. At the time
limit what the witnesses move stays hidden, which is safe at every moment.
Does not ensure the least cost: the dear cells go first, however many cheap ones must stay for it.
Cost: one LP over its component for each demand whose witness moves a tried cell; for some thousand cells.

References: the elimination LP in Serpell, Smith, Clark & Staggemeier (2013), section 4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cellveil.clock import NO_LIMIT, Deadline
from cellveil.deviations.ledger import Ledger
from cellveil.params import param, part
from cellveil.problem import Problem, Status
from cellveil.progress import Progress
from cellveil.suppression.draft import Draft, MethodEnding
from cellveil.suppression.engines.local_search import Search, drop_unused
from cellveil.suppression.engines.meet_demands import Completion, MeetDemandsParams
from cellveil.suppression.engines.one_demand import OneDemand
from cellveil.suppression.presolve.preparation import ProtectParams
from cellveil.tables.structure import structured


@dataclass(frozen=True, kw_only=True)
class EliminationParams(ProtectParams):
    """Parameters of `elimination`."""

    rebuild: float = param(0.7, "Share of cells left at which the programs are set up anew.", least=0, most=1)
    meet_demands: MeetDemandsParams = part(MeetDemandsParams)


def elimination(
    problem: Problem,
    *,
    deadline: Deadline = NO_LIMIT,
    seed: int = 0,
    progress: Progress | None = None,
    params: EliminationParams | None = None,
) -> Draft:
    """Publish whatever can be published, the dearest first; see the head of the module."""
    progress = progress or Progress()
    progress.stage("elimination")
    params = params or EliminationParams()
    problem = problem.replace(table=structured(problem.table))
    flat = replace(params.meet_demands.one_demand, slopes=())
    start = Completion(Ledger(problem), partial(OneDemand, params=flat), deadline, progress, seed=seed)
    start.prove_by_cubes()
    start.run()
    if start.ledger.num_open or start.reason is not MethodEnding.COMPLETE or not len(problem.primaries):
        return start.draft()
    remaining = _Remaining(start.protector, params.rebuild, deadline)
    candidates = np.flatnonzero((problem.status != Status.FROZEN) & ~problem.hidden_at_start)
    order = candidates[np.argsort(-problem.weight[candidates], kind="stable")]
    drop_unused(start.ledger)
    for done, cell in enumerate(order.tolist()):
        if deadline.is_over:
            start.reason = MethodEnding.NOT_ALL_TRIED
            break
        remaining.eliminate(cell)
        progress.advance(done + 1, len(order), hidden=int(start.ledger.hidden.sum()))
    return start.draft()


class _Remaining:
    """Incremental programs over the cells that have not been published for good."""

    def __init__(self, engine: OneDemand, rebuild: float, deadline: Deadline) -> None:
        self._engine, self._rebuild = engine, rebuild
        self._search = Search(engine.ledger, engine, deadline=deadline)
        self._allowed = engine.ledger.problem.status != Status.FROZEN
        self._num_in_programs = int(self._allowed.sum())

    def eliminate(self, cell: int) -> None:
        """Publish a cell for good if every demand keeps a witness or finds another."""
        engine = self._engine
        rooms = engine.down[cell], engine.up[cell]
        engine.down[cell] = engine.up[cell] = 0.0
        if engine.ledger.hidden[cell] and not self._search.attempt(np.array([cell]), np.inf):
            engine.down[cell], engine.up[cell] = rooms
            return
        self._allowed[cell] = False
        if (left := int(self._allowed.sum())) < self._rebuild * self._num_in_programs:
            engine.restrict(self._allowed)
            self._num_in_programs = left
