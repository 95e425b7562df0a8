"""`network`: cheapest flows, for two-way tables and whatever else is a network.

Where the relations are the nodes of a network and the cells its arcs (`deviations.network_form`: two-way
tables, of which one dimension may be hierarchical), a deviation is a circulation. For one demand (cell p,
direction, amount d) after the other, the largest first, the method looks for a circulation y through p's arc

    min Σ_{i not hidden yet} w_i · [y_i ≠ 0]   subject to   M y = 0,   −down ≤ y ≤ up,   y_p = ±d

1. inside what is hidden (a maximum flow in few, short paths): most demands find theirs there;
2. else by a cheapest flow with a cost per unit of w_i over the amount the cell is expected to move, first
   min(d, room of the cell), then what the last flow moved it (slope rounds); and by cheapest cycles, each
   the cheapest per unit among cells with room for all that is missing, a quarter of it, and so on. The
   cheaper of the two is hidden.

Every circulation is whole, and settles all other demands that it or its reversal meets. Then secondaries are
published again where all demands keep a witness, the dearest first.

One by one, far-apart demands hardly share cells, though one long cycle through many primaries may be the
cheapest of all. So there are several beginnings: nothing hidden, or the cells that the covering program of
`cover` chooses for all relations together, relaxed and with whole cells. In large tables the last one needs
next to no paid flow, and comes within a few per cent of the bound. From the cheapest pattern a few
secondaries at a time are taken out and their demands met anew under slightly changed weights, which is kept
if it is no dearer.

Requires whole bounds; components that are no networks are left to `sequential`.
Ensures an exact whole witness for every demand of a network, or names the demands that no pattern meets.
Does not ensure the least cost.
Cost: a search over a few relations per demand that is free; a cheapest flow (one shortest-path search per
batch of augmenting paths) for each that is not.

References: Kelly, Golden & Assad (1992); Cox (1995); Castro (2002).
"""

from __future__ import annotations

from dataclasses import dataclass

from cellveil.clock import NO_LIMIT, Deadline
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.suppression.draft import Draft
from cellveil.suppression.engines.cheapest_flows import CheapestFlowsParams, cheapest_flows
from cellveil.suppression.presolve.preparation import PreselectParams


@dataclass(frozen=True, kw_only=True)
class NetworkParams(PreselectParams, CheapestFlowsParams):
    """Parameters of `network`."""


def network(
    problem: Problem,
    *,
    deadline: Deadline = NO_LIMIT,
    seed: int = 0,
    progress: Progress | None = None,
    params: NetworkParams | None = None,
) -> Draft:
    """Protect all demands by cheapest flows; see the head of the module."""
    return cheapest_flows(problem, deadline, seed=seed, progress=progress, params=params)
