"""`network`: cheapest flows, for two-way tables and whatever else is a network.

Where the relations are the nodes of a network and the cells its arcs (`cellveil.attack.network`: two-way
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
cheapest of all. So a second pattern is built in the same way, with the cells hidden from the beginning that
the covering program of `cover` chooses for all relations together. From the cheaper pattern of the two, a few
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

import time

import numpy as np

from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.suppression.cover import cover_bound
from cellveil.suppression.demands import Demands
from cellveil.suppression.flow_search import FlowSearch, Networks, build, conclude
from cellveil.suppression.outcome import Draft

SLOPE_ROUNDS = 3
"""So often a paid flow is repeated with the costs its amounts suggest, as long as that helps."""

MOST_DEMANDS_FOR_COVER = 20_000
"""Where there are more demands, hardly any of them pays, and there is little to share."""

COVER_SHARE = 0.25
"""So much of the time that is left goes to the covering program at most."""

MOST_CELLS_FOR_CYCLES = 20_000
"""Beyond this many cells, cheapest flows alone make the first pattern."""


def network(
    problem: Problem, *, time_limit: float | None = None, seed: int = 0, progress: Progress | None = None
) -> Draft:
    """Protect all demands by cheapest flows; see the head of the module."""
    from cellveil.kernels.network_search import BOTH, LINEAR

    deadline = None if time_limit is None else time.monotonic() + time_limit
    progress = progress or Progress()
    progress.stage("network")
    networks = Networks.of(problem)
    way = BOTH if len(networks.cells) <= MOST_CELLS_FOR_CYCLES else LINEAR
    search, infeasible = build(networks, way, SLOPE_ROUNDS, deadline)
    if search.book.num_open == 0:
        search.clean_up()
        search = _cheaper(search, _from_cover(search, way))
        search.improve(np.random.default_rng(seed), progress)
    return conclude(search, infeasible, seed, progress)


def _from_cover(search: FlowSearch, way: int) -> FlowSearch | None:
    """A second pattern, around the cells that single relations need; None where it is not worth it."""
    networks, deadline = search.networks, search.deadline
    if Demands(networks.problem).left > MOST_DEMANDS_FOR_COVER or search.book.cost == 0 or search.is_late:
        return None
    limit = None if deadline is None else COVER_SHARE * (deadline - time.monotonic())
    suggestion = cover_bound(search.book.problem, time_limit=limit).suggestion & (networks.tail >= 0)
    other, _ = build(networks, way, SLOPE_ROUNDS, deadline, suggestion)
    other.clean_up()
    return other


def _cheaper(search: FlowSearch, other: FlowSearch | None) -> FlowSearch:
    """The other one if it is as safe, and costs less."""
    is_better = other is not None and other.book.num_open == 0 and other.book.cost < search.book.cost
    return other if other is not None and is_better else search
