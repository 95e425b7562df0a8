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

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from cellveil.arrays import Bool
from cellveil.clock import Deadline
from cellveil.deviations.demand import Demand
from cellveil.params import param, part
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.suppression.bounds.cover import cover_bound
from cellveil.suppression.draft import Draft
from cellveil.suppression.engines.flow_search import FlowSearch, FlowSearchParams, Networks, build, conclude
from cellveil.suppression.presolve.preparation import PreselectParams


@dataclass(frozen=True, kw_only=True)
class NetworkParams(PreselectParams):
    """Parameters of `network`."""

    cover_share: float = param(0.25, "Share of the time left for each covering program.", least=0, most=1)
    cover_nodes: int = param(200, "Nodes of the whole covering program without a time limit.", least=0)
    most_cells_for_cycles: int = param(
        20_000, "Cells beyond which paid witnesses are flows only, and covers the beginning.", least=0
    )
    search: FlowSearchParams = part(FlowSearchParams)


def network(
    problem: Problem,
    *,
    time_limit: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    params: NetworkParams | None = None,
) -> Draft:
    """Protect all demands by cheapest flows; see the head of the module."""
    from cellveil.suppression.engines._flow_witness_jit import BOTH, LINEAR

    deadline = Deadline(time_limit)
    params, progress = params or NetworkParams(), progress or Progress()
    progress.stage("network")
    networks = Networks.of(problem)
    way = BOTH if len(networks.cells) <= params.most_cells_for_cycles else LINEAR
    best: FlowSearch | None = None
    infeasible: list[Demand] = []
    bound = 0.0
    for hidden, proven in _beginnings(networks, params, deadline):
        bound = max(bound, proven)
        search, infeasible = build(networks, way, deadline, hidden, params.search)
        if search.ledger.num_open == 0:
            search.clean_up()
        best = _cheaper(best, search)
        if best.ledger.num_open or best.deadline.is_over or best.ledger.cost <= bound:
            break
    assert best is not None
    if best.ledger.num_open == 0 and best.ledger.cost > bound:
        best.improve(np.random.default_rng(seed), progress)
    return replace(conclude(best, infeasible, seed, progress), lower_bound=None if infeasible else bound)


def _beginnings(
    networks: Networks, params: NetworkParams, deadline: Deadline
) -> Iterator[tuple[Bool | None, float]]:
    """Cells to hide from the beginning, with a bound on the cost of every safe pattern."""
    problem = networks.problem
    relaxed = cover_bound(problem, time_limit=deadline.share(params.cover_share).left)
    if np.isinf(relaxed.bound):
        yield None, 0.0
        return
    if len(networks.cells) <= params.most_cells_for_cycles:
        yield None, relaxed.bound
    inside = networks.tail >= 0
    yield relaxed.suggestion & inside, relaxed.bound
    whole = cover_bound(
        problem, time_limit=deadline.share(params.cover_share).left, integral=True, nodes=params.cover_nodes
    )
    yield whole.suggestion & inside, whole.bound


def _cheaper(best: FlowSearch | None, other: FlowSearch) -> FlowSearch:
    """The one with fewer open demands, then the cheaper one."""
    if best is None:
        return other
    return min(best, other, key=lambda search: (search.ledger.num_open, search.ledger.cost))
