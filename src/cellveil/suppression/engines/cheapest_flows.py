"""Cheapest flows from several beginnings: patterns of two-way tables by min-cost flows and covering programs.

The method `network`, and a primal heuristic of branch and cut; see `cellveil.suppression.methods.network`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from cellveil.arrays import Bool
from cellveil.clock import Deadline
from cellveil.deviations.demand import Demand
from cellveil.loops.flow_witness import BOTH, LINEAR
from cellveil.params import Params, param, part
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.suppression.bounds.cover import CoverParams, cover_bound
from cellveil.suppression.draft import Draft
from cellveil.suppression.engines.flow_search import FlowSearch, FlowSearchParams, Networks, build, conclude


@dataclass(frozen=True, kw_only=True)
class CheapestFlowsParams(Params):
    """Parameters of cheapest flows."""

    cover_share: float = param(0.25, "Share of the time left for each covering program.", least=0, most=1)
    cover_nodes: int = param(200, "Nodes of the whole covering program without a time limit.", least=0)
    most_cells_for_cycles: int = param(
        20_000, "Cells beyond which paid witnesses are flows only, and covers the beginning.", least=0
    )
    cover: CoverParams = part(CoverParams)
    search: FlowSearchParams = part(FlowSearchParams)


def cheapest_flows(
    problem: Problem,
    deadline: Deadline,
    *,
    seed: int = 0,
    progress: Progress | None = None,
    params: CheapestFlowsParams | None = None,
) -> Draft:
    """Protect all demands by cheapest flows; what is no network, by programs in turn."""
    params, progress = params or CheapestFlowsParams(), progress or Progress()
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
    networks: Networks, params: CheapestFlowsParams, deadline: Deadline
) -> Iterator[tuple[Bool | None, float]]:
    """Cells to hide from the beginning, with a bound on the cost of every safe pattern."""
    problem, share = networks.problem, params.cover_share
    relaxed = cover_bound(problem, deadline=deadline.share(share), params=params.cover)
    if np.isinf(relaxed.bound):
        yield None, 0.0
        return
    if len(networks.cells) <= params.most_cells_for_cycles:
        yield None, relaxed.bound
    inside = networks.tail >= 0
    yield relaxed.suggestion & inside, relaxed.bound
    whole = cover_bound(
        problem,
        deadline=deadline.share(share),
        integral=True,
        nodes=params.cover_nodes,
        params=params.cover,
    )
    yield whole.suggestion & inside, whole.bound


def _cheaper(best: FlowSearch | None, other: FlowSearch) -> FlowSearch:
    """The one with fewer open demands, then the cheaper one."""
    if best is None:
        return other
    return min(best, other, key=lambda search: (search.ledger.num_open, search.ledger.cost))
