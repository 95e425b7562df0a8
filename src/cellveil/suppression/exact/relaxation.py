"""`lower_bound`: the relaxation with fractional cells, by capacity cuts and bridge-less inequalities.

Solves  min Σ w_i x_i,  0 ≤ x_i ≤ 1,  under the cuts of `capacity_cuts` that matter: those of single relations
to begin with, then rounds of separation (`separation`) until none is broken by much, no round gains
enough, or the time is over. Rows that have been slack for long leave the program; the pool keeps them.

Requires any relations. Ensures that no safe pattern costs less than the bound: it is evaluated from the
multipliers by weak duality with all rounding taken off (`covering.proven_bound`), and the rows are exact.
Does not ensure how near the bound is: usually 90 to 100 % of the optimum under value weights, less under unit
weights. Cost: some hundred to thousand attacks, each an LP over the part (or a flow).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Float
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.params import Params, param
from cellveil.problem import Problem
from cellveil.solvers.covering import Covering, proven_bound, proven_extra
from cellveil.solvers.cutting_planes import GrowingLP, Row
from cellveil.suppression.bounds.cover import whole_bound
from cellveil.suppression.exact.cut_pool import Pool
from cellveil.suppression.exact.parts import Part, parts_of
from cellveil.suppression.exact.separation import Separation


@dataclass(frozen=True, kw_only=True)
class RelaxationParams(Params):
    """Parameters of the cutting-plane loop."""

    most_rounds: int = param(200, "Rounds of separation at most.", least=1)
    cuts_per_round: int = param(50, "Cuts added in a round, about.", least=1)
    stalled: int = param(8, "Rounds without gain that end the loop.", least=0)
    rounded: int = param(2, "Rounds without gain after which points are rounded and judged.", least=0)
    gain: float = param(1e-4, "What counts as a gain, as a share of the bound.", least=0)
    coarse: float = param(5e-3, "Gain below which separation becomes fine.", least=0)
    patience: int = param(10, "Rounds after which a slack cut leaves the program.", least=0)


@dataclass(frozen=True, eq=False)
class LPRelaxation:
    """The last point, the proven bound, and the rows that hold the point where it is.

    Parameters
    ----------
    extra
        How much more than the bound every pattern costs that hides the cell: its proven reduced cost.
    """

    point: Float
    bound: float
    active: list[Row]
    extra: Float


def lower_bound(problem: Problem, *, deadline: Deadline = NO_LIMIT) -> float:
    """What every safe pattern costs at least; ∞ where none is safe.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> problem = two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
    >>> lower_bound(problem)
    39.0
    """
    parts, stuck = parts_of(problem)
    if stuck:
        return math.inf
    total = 0.0
    for left, part in zip(
        range(len(parts), 0, -1), sorted(parts, key=lambda part: part.num_cells), strict=True
    ):
        share = deadline.share(1 / left)
        relaxed = relax(Separation(problem, part, share), share)
        total += whole_bound(relaxed.bound, part.price)
    return total


def relax(separation: Separation, deadline: Deadline, params: RelaxationParams | None = None) -> LPRelaxation:
    """The loop of rounds for one part."""
    params = params or RelaxationParams()
    part, pool = separation.part, separation.pool
    program = _CuttingPlanes(part, pool.rows)
    solved = program.lp.solve()
    best, bound, stalled = -math.inf, 0.0, 0
    extra = np.zeros(part.num_cells)
    for _ in range(params.most_rounds):
        point = np.clip(solved.point, 0.0, 1.0)
        proven = program.proven(solved.multipliers)
        if proven > bound:
            bound, extra = proven, program.extra(solved.multipliers)
        if solved.objective < best * (1 + params.coarse):
            separation.refine()
        stalled = 0 if solved.objective > best + params.gain * max(abs(best), 1e-9) else stalled + 1
        best = max(best, solved.objective)
        if deadline.is_over or stalled > params.stalled:
            break
        rows = separation.violated_cuts(
            point, most=params.cuts_per_round, attacks=len(separation.asked), deadline=deadline
        )
        rows += separation.bridgeless_cuts(
            point, most=params.cuts_per_round // 2, attacks=part.num_cells, deadline=deadline
        )
        if stalled > params.rounded or not rows:
            rows += separation.cuts_by_rounding(point, deadline=deadline)
        if not rows:
            break
        program.exchange(rows, solved.multipliers, params.patience)
        solved = program.lp.solve()
        if not solved.is_optimal:
            break
    missing = pool.missing(point)
    active = [row for row, lack in zip(pool.rows, missing.tolist(), strict=True) if lack > -1e-6]
    return LPRelaxation(point, bound, active, extra)


class _CuttingPlanes:
    """The growing LP of a part, and its rows as they stand in it."""

    def __init__(self, part: Part, rows: list[Row]) -> None:
        self.part, self.rows, self.idle = part, list(rows), np.zeros(len(rows), dtype=np.int64)
        self.lp = GrowingLP(part.price, part.held.astype(np.float64), np.ones(part.num_cells))
        self.lp.add(rows)

    def exchange(self, rows: list[Row], multipliers: Float, patience: int) -> None:
        """Drop rows without a multiplier for long, add new ones."""
        self.idle = np.where(multipliers > 1e-12, 0, self.idle + 1)
        dropped = self.idle > patience
        self.lp.drop(np.flatnonzero(dropped))
        self.rows = [row for row, gone in zip(self.rows, dropped.tolist(), strict=True) if not gone] + rows
        self.idle = np.concatenate([self.idle[~dropped], np.zeros(len(rows), dtype=np.int64)])
        self.lp.add(rows)

    def proven(self, multipliers: Float) -> float:
        """The bound the multipliers prove."""
        covering = self._covering()
        if len(multipliers) != len(covering.rhs):
            return 0.0
        return proven_bound(covering, np.maximum(multipliers, 0.0))

    def extra(self, multipliers: Float) -> Float:
        """What each column costs beyond the bound that the multipliers prove."""
        return proven_extra(self._covering(), np.maximum(multipliers, 0.0))

    def _covering(self) -> Covering:
        pool = Pool(self.part.num_cells)
        pool.rows = self.rows
        matrix, rhs = pool.matrix()
        return Covering(self.part.price, matrix, rhs)
