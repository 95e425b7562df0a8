"""`sequential`: one demand after the other, the largest first, each by its cheapest deviation.

For a demand (cell p, direction, amount d)

    min Σ c_j |y_j|   subject to   M y = 0,  −down ≤ y ≤ up,  y_p = ± d

with c_j = 0 for hidden cells, then by iteratively reweighted ℓ1 (slope scaling), c_j = w_j / (|y_j| + ε d);
what moves is hidden. Each solution is made exact and *harvested*: it, and its reversal where the capacities
allow that, also settles every other demand it meets. In components of some thousand cells this is a small
linear program, in larger ones the splitting engine. In the end secondaries are published again, the dearest
first, where what they opened can be met for less.

Requires any relations whatever; frozen cells do not move.
Ensures an exact witness for every demand, or names those that no pattern meets. Does not ensure the least
cost: it minimises moved weight, not hidden weight.

References: Kelly, Golden & Assad (1992); Sande (1984); equations (1)–(8) of Serpell, Smith, Clark &
Staggemeier (2011).
"""

from __future__ import annotations

from dataclasses import dataclass

from cellveil.clock import NO_LIMIT, Deadline
from cellveil.params import part
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.suppression.draft import Draft
from cellveil.suppression.engines.meet_demands import MeetDemandsParams, protect_in_turn
from cellveil.suppression.presolve.preparation import PreparationParams


@dataclass(frozen=True, kw_only=True)
class SequentialParams(PreparationParams):
    """Parameters of `sequential`."""

    meet_demands: MeetDemandsParams = part(MeetDemandsParams)


def sequential(
    problem: Problem,
    *,
    deadline: Deadline = NO_LIMIT,
    seed: int = 0,
    progress: Progress | None = None,
    params: SequentialParams | None = None,
) -> Draft:
    """Protect all demands one after the other; see the head of the module."""
    own = (params or SequentialParams()).meet_demands
    return protect_in_turn(problem, deadline, seed=seed, progress=progress, params=own)
