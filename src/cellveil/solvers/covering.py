"""Covering programs: what must be bought, at least, so that every need is met.

Solves  min cost·x  subject to  A x ≥ b,  0 ≤ x ≤ 1  with HiGHS, relaxed or with x whole.

The solver's floating-point optimum is not a bound yet. Any dual variables λ ≥ 0 prove one (weak duality),

    cost·x  ≥  λ·b + Σ_j min(0, cost_j − (Aᵀλ)_j)      for every x within 0 and 1 with A x ≥ b,

and `proven_bound` evaluates the right side with all rounding errors taken off, so a bad answer of the solver
costs quality, never truth. The bound of the whole program rests on the solver's branch and bound, less its
tolerance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cellveil.arrays import Float
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.solvers import tolerances
from cellveil.solvers.highs import HighsModel

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True, repr=False, eq=False)
class Covering:
    """The program: cost per column, rows A x ≥ b."""

    cost: Float
    matrix: csr_matrix
    rhs: Float

    def __repr__(self) -> str:
        return f"Covering({self.matrix.shape[0]} needs, {self.matrix.shape[1]} columns)"


@dataclass(frozen=True, repr=False, eq=False)
class Covered:
    """An answer: the point (NaN where the solver has none), multipliers or zeros, and a proven bound."""

    point: Float
    multipliers: Float
    bound: float


def solve_relaxed(program: Covering, deadline: Deadline = NO_LIMIT) -> Covered:
    """Solve with fractions allowed."""
    model = _load(program)
    model.run(deadline)
    solution = model.solution
    rows, columns = program.matrix.shape
    point = (
        np.clip(np.array(solution.col_value), 0.0, 1.0) if solution.value_valid else np.full(columns, np.nan)
    )
    multipliers = np.zeros(rows)
    if solution.dual_valid:
        unit = _unit(program.cost)
        multipliers = np.maximum(np.nan_to_num(np.array(solution.row_dual)) * unit, 0.0)
    return Covered(point, multipliers, proven_bound(program, multipliers))


def solve_whole(program: Covering, deadline: Deadline = NO_LIMIT, nodes: int | None = None) -> Covered:
    """Solve with x whole; without a point where a limit came first."""
    model = _load(program)
    rows, columns = program.matrix.shape
    model.change_whole(True)
    # Its presolve was seen to cut off optima of such programs: a bound must not rest on it.
    model.set(presolve="off")
    if nodes is not None:
        model.set(mip_max_nodes=nodes)
    model.run(deadline)
    solution = model.solution
    point = np.round(np.array(solution.col_value)) if solution.value_valid else np.full(columns, np.nan)
    bound = float(model.info.mip_dual_bound) * _unit(program.cost)
    bound = bound * (1.0 - tolerances.INTEGRALITY) if math.isfinite(bound) and bound > 0 else 0.0
    return Covered(point, np.zeros(rows), bound)


def proven_bound(program: Covering, multipliers: Float) -> float:
    """The bound that nonnegative multipliers prove, with what rounding may have added taken off.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> program = Covering(np.array([3.0, 2.0]), csr_matrix([[1.0, 1.0]]), np.array([1.0]))
    >>> round(proven_bound(program, np.array([2.0])), 9), round(proven_bound(program, np.array([5.0])), 9)
    (2.0, 0.0)
    """
    transposed = program.matrix.T.tocsr()
    reduced = program.cost - transposed @ multipliers
    most = int(np.diff(transposed.indptr).max(initial=0)) + 3
    doubt = most * 2.0**-52 * (program.cost + abs(transposed) @ multipliers)
    gains = multipliers * program.rhs
    total = math.fsum(gains) + math.fsum(np.minimum(reduced - doubt, 0.0))
    total -= 2.0**-50 * math.fsum(np.abs(gains)) + 2.0**-50 * abs(total)
    return max(total, 0.0)


def proven_extra(program: Covering, multipliers: Float) -> Float:
    """How much more than `proven_bound` every point costs that has the column at 1, rounding taken off.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> program = Covering(np.array([3.0, 2.0]), csr_matrix([[1.0, 1.0]]), np.array([1.0]))
    >>> proven_extra(program, np.array([2.0])).round(9)
    array([1., 0.])
    """
    transposed = program.matrix.T.tocsr()
    most = int(np.diff(transposed.indptr).max(initial=0)) + 3
    doubt = most * 2.0**-52 * (program.cost + abs(transposed) @ multipliers)
    return np.asarray(np.maximum(program.cost - transposed @ multipliers - doubt, 0.0))


def _unit(cost: Float) -> float:
    """A power of two near the median cost, for the sake of numerics."""
    positive = cost[cost > 0]
    return float(2.0 ** np.round(np.log2(np.median(positive)))) if len(positive) else 1.0


def _load(program: Covering) -> HighsModel:
    rows, columns = program.matrix.shape
    return HighsModel(
        program.matrix,
        (program.rhs, np.full(rows, np.inf)),
        program.cost / _unit(program.cost),
        (np.zeros(columns), np.ones(columns)),
        mip_rel_gap=tolerances.COVER_GAP,
    )
