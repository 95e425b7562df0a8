"""`sequential`: one demand after the other, the largest first, each by its cheapest deviation.

For a demand (cell p, direction, amount d)

    min Σ c_j |y_j|   subject to   M y = 0,  −down ≤ y ≤ up,  y_p = ± d

with c_j = 0 for hidden cells, then with slopes c_j = w_j / (|y_j| + ε d), which resemble the true cost; what
moves is hidden. Each solution is made exact and *harvested*: it, and its reversal where the capacities allow
that, also settles every other demand it meets. In components of some thousand cells this is a small linear
program, in larger ones the splitting engine. In the end secondaries are published again, the dearest first,
where what they opened can be met for less.

Requires any relations whatever; frozen cells do not move.
Ensures an exact witness for every demand, or names those that no pattern meets. Does not ensure the least
cost: it minimises moved weight, not hidden weight.

References: Kelly, Golden & Assad (1992); Sande (1984); equations (1)–(8) of Serpell, Smith, Clark &
Staggemeier (2011).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from cellveil.clock import Deadline
from cellveil.deviations.ledger import Book
from cellveil.params import param, part
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.suppression.draft import Draft
from cellveil.suppression.engines.local_search import LocalSearchParams, Search
from cellveil.suppression.engines.meet_demands import Completion, MeetDemandsParams
from cellveil.suppression.engines.splitting_search import Stepwise
from cellveil.suppression.presolve.preparation import PreparationParams
from cellveil.tables.structure import structured


@dataclass(frozen=True, kw_only=True)
class SequentialParams(PreparationParams):
    """Parameters of `sequential`."""

    most_to_clean: int = param(1_500, "Cells of a component up to which the pattern is cleaned up.", least=0)
    meet_demands: MeetDemandsParams = part(MeetDemandsParams)
    local_search: LocalSearchParams = part(LocalSearchParams)


def sequential(
    problem: Problem,
    *,
    time_limit: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    params: SequentialParams | None = None,
) -> Draft:
    """Protect all demands one after the other; see the head of the module."""
    params, deadline = params or SequentialParams(), Deadline(time_limit)
    progress = progress or Progress()
    progress.stage("sequential")
    book = Book(problem.replace(table=structured(problem.table)))
    make = partial(Stepwise, seed=seed, params=params.meet_demands.one_demand)
    completion = Completion(book, make, deadline, progress, seed=seed)
    completion.prove_by_cubes()
    completion.run()
    if not completion.book.num_open:
        cells = completion.book.secondaries()
        if all(completion.protector.size_of(int(cell)) <= params.most_to_clean for cell in cells):
            search = Search(
                completion.book,
                completion.protector,
                seed=seed,
                time_left=deadline.seconds,
                params=params.local_search,
            )
            search.clean_up(lambda: deadline.is_over)
    return completion.draft()
