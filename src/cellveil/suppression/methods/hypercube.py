"""`hypercube`: cubes of hidden cells as witnesses, packed where one is not enough; no solver where it can be.

Finds for every demand (cell p, direction, amount d) a whole deviation

    y = Σ t_j · cube_j,   M cube_j = 0,   −down ≤ y ≤ up,   y_p = d or −d,

where the cubes are products of one closed move per dimension (`engines.cube_packing`), and hides what
moves: first what hidden cells alone can do, then the least new weight per unit moved. Afterwards secondaries
are published again, dearest first, where the demands that lose their witness find another one for less.

Requires any relations whatever. Tables without dimensions get them from their relations where these allow it.
Ensures a pattern with an exact whole witness for every demand that cubes can meet: all of them, where every
cell may be hidden and rise. What stays open (cells frozen or bounded, other relations) is protected by linear
programs, one demand after the other, as `cellveil.suppression.engines.meet_demands` says.
Does not ensure the least cost: under value weights a few large demands, for which cubes are a poor tool, make
most of it.
Cost: microseconds per demand in dense tables, milliseconds per demand that has to be packed.

References: Repsilber (1994); Giessing & Repsilber (2002).
"""

from __future__ import annotations

from dataclasses import dataclass

from cellveil.clock import NO_LIMIT, Deadline
from cellveil.deviations.cubes import has_cubes
from cellveil.deviations.ledger import Ledger
from cellveil.params import Params, param, part
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.suppression.draft import Draft
from cellveil.suppression.engines.cube_packing import CubePackingParams, Packing
from cellveil.suppression.engines.meet_demands import Completion
from cellveil.suppression.engines.one_demand import OneDemand
from cellveil.tables.structure import structured


@dataclass(frozen=True, kw_only=True)
class HypercubeParams(Params):
    """Parameters of `hypercube`."""

    trials: int = param(2_000, "Trials of ruin and recreate where there is no time limit.", least=0)
    packing: CubePackingParams = part(CubePackingParams)


def hypercube(
    problem: Problem,
    *,
    deadline: Deadline = NO_LIMIT,
    seed: int = 0,
    progress: Progress | None = None,
    params: HypercubeParams | None = None,
) -> Draft:
    """Protect all demands by cubes; see the head of the module."""
    progress = progress or Progress()
    progress.stage("hypercube")
    ledger = Ledger(problem.replace(table=structured(problem.table)))
    if ledger.num_open and has_cubes(ledger.problem.table):
        _pack(ledger, params or HypercubeParams(), deadline, seed, progress)
    if not ledger.num_open:
        return Draft(ledger.hidden.copy(), witnesses=ledger.witnesses())
    rest = Completion(ledger, OneDemand, deadline, progress, seed=seed)
    rest.run()
    return rest.draft()


def _pack(ledger: Ledger, params: HypercubeParams, deadline: Deadline, seed: int, progress: Progress) -> None:
    """Prove, protect, improve."""
    packing = Packing(ledger, params.packing, seed=seed)
    total = ledger.num_open
    for step in (packing.prove, packing.protect):
        left = step(deadline)
        progress.advance(total - left, total, hidden=int(ledger.hidden.sum()))
    packing.improve(deadline, trials=params.trials if deadline.limit is None else None)
    progress.advance(total - ledger.num_open, total, hidden=int(ledger.hidden.sum()))
