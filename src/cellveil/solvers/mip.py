"""Mixed-integer programs with HiGHS: a start, limits, and a bound that holds whatever ended the search.

Solves  min c·x + constant  subject to  row_low ≤ A x ≤ row_high,  low ≤ x ≤ high,  some x whole. Presolve is
off: with it a wrong optimum has been seen. Nothing is taken from a run but the point, which the caller
checks, and the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cellveil.arrays import Bool, Float
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.solvers import tolerances
from cellveil.solvers.highs import HighsModel, LPStatus

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix


@dataclass(frozen=True, eq=False)
class Program:
    """The program; `whole` says which columns are whole numbers."""

    matrix: csc_matrix
    rows: tuple[Float, Float]
    bounds: tuple[Float, Float]
    cost: Float
    whole: Bool
    constant: float = 0.0


@dataclass(frozen=True, eq=False)
class MIPAnswer:
    """What a search came to.

    Parameters
    ----------
    point
        The best point found, or None.
    bound
        No point costs less; ∞ where there is none at all.
    reason
        What ended the search.
    """

    point: Float | None
    bound: float
    reason: LPStatus
    nodes: int = 0


@dataclass(frozen=True)
class Budget:
    """When to stop: a deadline, nodes, a gap that is small enough."""

    deadline: Deadline = NO_LIMIT
    nodes: int | None = None
    gap: float = tolerances.MIP_GAP


def solve(program: Program, *, start: Float | None = None, budget: Budget | None = None) -> MIPAnswer:
    """Search within the budget, from a start where there is one."""
    budget = budget or Budget()
    model = HighsModel(
        program.matrix,
        program.rows,
        program.cost,
        program.bounds,
        whole=program.whole,
        constant=program.constant,
        presolve="off",
        mip_rel_gap=budget.gap,
        mip_feasibility_tolerance=tolerances.MIP_FEASIBILITY,
        **({} if budget.nodes is None else {"mip_max_nodes": budget.nodes}),
    )
    if start is not None:
        model.start_from(start)
    status = model.run(budget.deadline.for_a_solve())
    if status in (LPStatus.INFEASIBLE, LPStatus.UNBOUNDED_OR_INFEASIBLE):
        return MIPAnswer(None, np.inf, LPStatus.INFEASIBLE)
    info, point = model.info, model.feasible_point()
    if not program.whole.any():
        if status is not LPStatus.OPTIMAL:
            return MIPAnswer(None, -np.inf, LPStatus.UNKNOWN)
        return MIPAnswer(point, float(info.objective_function_value), status)
    bound = float(info.mip_dual_bound)
    bound = bound if np.isfinite(bound) else -np.inf
    return MIPAnswer(point, bound, status, int(info.mip_node_count))
