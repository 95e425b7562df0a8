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

from cellveil.clock import Deadline
from cellveil.deviations.ledger import Book
from cellveil.params import param, part
from cellveil.problem import Problem, Status
from cellveil.progress import Progress
from cellveil.suppression.draft import Draft
from cellveil.suppression.engines.local_search import drop_unused
from cellveil.suppression.engines.meet_demands import Completion, Inside, MeetDemandsParams
from cellveil.suppression.presolve.preparation import ProtectParams
from cellveil.tables.structure import structured

OUT_OF_TIME = "time limit: not every secondary cell was tried"


@dataclass(frozen=True, kw_only=True)
class EliminationParams(ProtectParams):
    """Parameters of `elimination`."""

    rebuild: float = param(0.7, "Share of cells left at which the programs are set up anew.", least=0, most=1)
    meet_demands: MeetDemandsParams = part(MeetDemandsParams)


def elimination(
    problem: Problem,
    *,
    time_limit: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    params: EliminationParams | None = None,
) -> Draft:
    """Publish whatever can be published, the dearest first; see the head of the module."""
    progress = progress or Progress()
    progress.stage("elimination")
    deadline = Deadline(time_limit)
    problem = problem.replace(table=structured(problem.table))
    start = Completion(
        Book(problem), partial(Remaining, params=params or EliminationParams()), deadline, progress, seed=seed
    )
    start.prove_by_cubes()
    start.run()
    if start.book.num_open or start.reason != "complete" or not len(problem.primaries):
        return start.draft()
    remaining = start.protector
    assert isinstance(remaining, Remaining)
    candidates = np.flatnonzero((problem.status != Status.FROZEN) & ~problem.hidden_at_start)
    order = candidates[np.argsort(-problem.weight[candidates], kind="stable")]
    drop_unused(start.book)
    for done, cell in enumerate(order.tolist()):
        if deadline.is_over:
            start.reason = OUT_OF_TIME
            break
        remaining.eliminate(cell, deadline)
        progress.advance(done + 1, len(order), hidden=int(start.book.hidden.sum()))
    return start.draft()


class Remaining(Inside):
    """Incremental programs over the cells that have not been published for good."""

    def __init__(self, book: Book, params: EliminationParams) -> None:
        self._rebuild = params.rebuild
        self._allowed = book.problem.status != Status.FROZEN
        self._num_allowed = self._num_in_programs = int(self._allowed.sum())
        super().__init__(book, self._allowed, params=replace(params.meet_demands.one_demand, slopes=()))

    def eliminate(self, cell: int, deadline: Deadline) -> bool:
        """Publish a cell for good if every demand keeps a witness or finds another; tells whether it was."""
        book = self.book
        mark, rooms = book.mark(), self._forbid(cell)
        if book.hidden[cell]:
            opened = zip(*(part.tolist() for part in book.publish(cell)), strict=True)
            for primary, up in sorted(opened, key=lambda one: self._by_amount(*one)):
                if (book.witness_up if up else book.witness_down)[primary] >= 0:
                    continue
                if self.protect(primary, up, time_limit=deadline.left) != "met":
                    book.rollback(mark)
                    self._allow(cell, rooms)
                    return False
            drop_unused(book)
            book.tidy()
        self._allowed[cell] = False
        self._num_allowed -= 1
        if self._num_allowed < self._rebuild * self._num_in_programs:
            self.restrict(self._allowed)
            self._num_in_programs = self._num_allowed
        return True

    def _by_amount(self, cell: int, up: bool) -> tuple[int, int, bool]:
        return -int((self.book.need_up if up else self.book.need_down)[cell]), cell, not up

    def _forbid(self, cell: int) -> tuple[float, float]:
        """Let the cell move no more; return how far it could."""
        program = self._program(cell)
        assert program is not None
        place = int(np.searchsorted(program.cells, cell))
        rooms = float(program.down[place]), float(program.up[place])
        program.down[place] = program.up[place] = 0.0
        return rooms

    def _allow(self, cell: int, rooms: tuple[float, float]) -> None:
        program = self._program(cell)
        assert program is not None
        place = int(np.searchsorted(program.cells, cell))
        program.down[place], program.up[place] = rooms
