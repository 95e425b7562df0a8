"""`cycles`: cheapest alternating cycles, for two-way tables and whatever else is a network.

For comparison: it has never been cheapest in our own figures, and `auto` does not use it.

Where the relations are the nodes of a network and the cells its arcs (`deviations.network_form`), a cycle of
cells through a primary cell p is a deviation: its cells rise and fall by the same amount q in turn, as far as
the least room among those that must fall, or rise, lets them. For one demand (p, direction, amount d) after
the other, the largest first, the method hides the cells of cycles

    min Σ_{i in the cycle, not hidden yet} w_i / min(q, what is missing)

and adds up their movements until the cell moves by d. Of the cheapest cycles among cells with room for all
that is missing, for a quarter of it, a sixteenth, … it takes the one that costs least per unit. Cells that
earlier cycles use have the room those left. What lies inside the hidden cells costs nothing and is tried
first; each sum of cycles settles all other demands that it or its reversal meets. At the end secondaries are
published again where all demands keep a witness, the dearest first.

Requires whole bounds; components that are no networks are left to `sequential`.
Ensures an exact whole witness for every demand of a network, or names the demands that no pattern meets.
Does not ensure the least cost: each cycle is the cheapest of those tried for itself, not all together.
Cost: a few shortest-path searches per cycle; a demand that takes hundreds of cycles gets a cheapest flow.

Reference: Cox (1995); levels are met in each direction by itself, so asymmetric ones are not overprotected.
"""

from __future__ import annotations

from dataclasses import dataclass

from cellveil.clock import NO_LIMIT, Deadline
from cellveil.loops.flow_witness import CYCLES
from cellveil.params import Params, part
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.suppression.draft import Draft
from cellveil.suppression.engines.flow_search import FlowSearchParams, Networks, build, conclude


@dataclass(frozen=True, kw_only=True)
class CyclesParams(Params):
    """Parameters of `cycles`."""

    search: FlowSearchParams = part(FlowSearchParams, slope_rounds=0)


def cycles(
    problem: Problem,
    *,
    deadline: Deadline = NO_LIMIT,
    seed: int = 0,
    progress: Progress | None = None,
    params: CyclesParams | None = None,
) -> Draft:
    """Protect all demands by sums of alternating cycles; see the head of the module."""
    params, progress = params or CyclesParams(), progress or Progress()
    progress.stage("cycles")
    search, infeasible = build(Networks.of(problem), CYCLES, deadline, params=params.search)
    if search.ledger.num_open == 0:
        search.clean_up()
    return conclude(search, infeasible, seed, progress)
