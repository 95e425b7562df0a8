"""`hypercube`: cubes of hidden cells as witnesses, packed where one is not enough; no solver where it can be.

Finds for every demand (cell p, direction, amount d) a whole deviation

    y = Σ t_j · cube_j,   M cube_j = 0,   −down ≤ y ≤ up,   y_p = d or −d,

where the cubes are products of one closed move per dimension (`cellveil.suppression.packing`), and hides what
moves: first what hidden cells alone can do, then the least new weight per unit moved. Afterwards secondaries
are published again, dearest first, where the demands that lose their witness find another one for less.

Requires any relations whatever. Tables without dimensions get them from their relations where these allow it.
Ensures a pattern with an exact whole witness for every demand that cubes can meet: all of them, where every
cell may be hidden and rise. What stays open (cells frozen or bounded, other relations) is protected by
`sequential`, starting from the pattern, and has no witness yet: the audit decides. When the time is over,
what is open still is protected by hiding all that may be hidden.
Does not ensure the least cost: under value weights a few large demands, for which cubes are a poor tool, make
most of it.
Cost: microseconds per demand in dense tables, milliseconds per demand that has to be packed.

References: Repsilber (1994); Giessing & Repsilber (2002).
"""

from __future__ import annotations

import time

import numpy as np

from cellveil.attack.witness import Witnesses
from cellveil.problem import Problem, Status
from cellveil.progress import Progress
from cellveil.suppression.book import Book
from cellveil.suppression.outcome import Draft
from cellveil.suppression.packing import Packing, applies
from cellveil.suppression.sequential import sequential
from cellveil.tables.recover import with_structure

ROUNDS = 2
"""Rounds of ruin and recreate after the clean-up."""

OUT_OF_TIME = "time limit: the rest of the table was hidden whole"


def hypercube(
    problem: Problem, *, time_limit: float | None = None, seed: int = 0, progress: Progress | None = None
) -> Draft:
    """Protect all demands by cubes; see the head of the module."""
    deadline = np.inf if time_limit is None else time.monotonic() + time_limit
    progress = progress or Progress()
    progress.stage("hypercube")
    table = problem.table if problem.table.is_structured else with_structure(problem.table)
    book = Book(problem if table is None else problem.replace(table=table))
    total = book.num_open
    if table is not None and applies(table):
        packing = Packing(book, seed=seed)
        packing.prove(deadline)
        progress.advance(total - book.num_open, total, hidden=int(book.hidden.sum()))
        packing.protect(deadline)
        progress.advance(total - book.num_open, total, hidden=int(book.hidden.sum()))
        packing.improve(deadline, rounds=ROUNDS)
        progress.advance(total - book.num_open, total, hidden=int(book.hidden.sum()))
    if not book.num_open:
        return Draft(book.hidden.copy(), witnesses=book.witnesses())
    if time.monotonic() >= deadline:
        hidden = np.asarray(problem.status != Status.FROZEN)
        return Draft(hidden, reason=OUT_OF_TIME, witnesses=book.witnesses())
    return _finished(problem, book, deadline, seed, progress)


def _finished(problem: Problem, book: Book, deadline: float, seed: int, progress: Progress) -> Draft:
    """Protect by linear programs what is open still, with everything hidden so far for free."""
    left = np.zeros(problem.table.num_cells, dtype=bool)
    left[book.open_demands()[0]] = True
    rest = problem.replace(
        status=np.where(book.hidden & ~left, Status.SECONDARY, problem.status).astype(np.int8),
        lpl=np.where(left, problem.lpl, 0),
        upl=np.where(left, problem.upl, 0),
        spl=np.where(left, problem.spl, 0),
    )
    time_limit = None if np.isinf(deadline) else max(deadline - time.monotonic(), 0.001)
    draft = sequential(rest, time_limit=time_limit, seed=seed, progress=progress)
    draft.hidden |= book.hidden
    draft.witnesses = Witnesses.joined([book.witnesses(), draft.witnesses])
    return draft
