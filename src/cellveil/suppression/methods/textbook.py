"""`textbook`: the incremental linear program on the whole table, as in the books: a yardstick.

For comparison: it has never been cheapest in our own figures, and `auto` does not use it.

Solves, for one demand (cell p, direction, amount d) after the other,

    min Σ c_i (y⁺_i + y⁻_i)   subject to   M (y⁺ − y⁻) = 0,   0 ≤ y⁺_i ≤ ub_i − a_i,   0 ≤ y⁻_i ≤ a_i − lb_i,
    y⁺_p = d, y⁻_p = 0  (upwards)   or   y⁻_p = d, y⁺_p = 0  (downwards)

with c_i the weight of cell i, or next to nothing once it is hidden, and hides every cell that moves. Demands
are taken in descending order unless another one is asked for. It is `sequential` without anything besides: no
cubes, no reweighting, no splitting in large components, no clean-up.

Requires any relations whatever; frozen cells do not move.
Ensures an exact witness for every demand, or names those that no pattern meets. Does not ensure the least
cost: it minimises moved weight, not hidden weight, and never looks back.
Cost: at most one LP over the whole table per demand.

References: Kelly, Golden & Assad (1992); equations (1)–(8) of Serpell, Smith, Clark & Staggemeier (2011).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from cellveil.clock import NO_LIMIT, Deadline
from cellveil.deviations.ledger import Ledger
from cellveil.params import param, part
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.suppression.draft import Draft
from cellveil.suppression.engines.meet_demands import ORDERS_OF_DEMANDS, Completion
from cellveil.suppression.engines.one_demand import OneDemand, OneDemandParams
from cellveil.suppression.presolve.preparation import PreparationParams


@dataclass(frozen=True, kw_only=True)
class TextbookParams(PreparationParams):
    """Parameters of `textbook`."""

    harvest: bool = param(True, "Let a solution settle the other demands it meets.")
    order: str = param(
        "descending", "Which demands come first, by amount or as given.", choices=ORDERS_OF_DEMANDS
    )
    movement: OneDemandParams = part(OneDemandParams, slopes=())


def textbook(
    problem: Problem,
    *,
    deadline: Deadline = NO_LIMIT,
    seed: int = 0,
    progress: Progress | None = None,
    params: TextbookParams | None = None,
) -> Draft:
    """Protect all demands one after the other; see the head of the module."""
    params, progress = params or TextbookParams(), progress or Progress()
    progress.stage("textbook")
    completion = Completion(
        Ledger(problem),
        partial(OneDemand, params=params.movement),
        deadline,
        progress,
        seed=seed,
        order=params.order,
        harvest=params.harvest,
    )
    completion.run()
    return completion.draft()
