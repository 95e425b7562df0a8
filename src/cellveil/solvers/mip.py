"""Mixed-integer programs with HiGHS: a start, limits, and a bound that holds whatever ended the search.

Solves  min c·x + constant  subject to  row_low ≤ A x ≤ row_high,  low ≤ x ≤ high,  some x whole. Presolve is
off: with it a wrong optimum has been seen. Nothing is taken from a run but the point, which the caller
checks, and the bound.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from cellveil.arrays import Bool, Float
from cellveil.errors import SolverError

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix


GAP = 1e-7


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
class Searched:
    """What a search came to.

    Parameters
    ----------
    point
        The best point found, or None.
    bound
        No point costs less; ∞ where there is none at all.
    reason
        optimal, infeasible, or what cut the search short.
    """

    point: Float | None
    bound: float
    reason: str
    nodes: int = 0


@dataclass(frozen=True)
class Budget:
    """When to stop: seconds, nodes, a gap that is small enough."""

    seconds: float | None = None
    nodes: int | None = None
    gap: float = GAP
    options: dict[str, Any] = field(default_factory=dict)


def solve(program: Program, *, start: Float | None = None, budget: Budget | None = None) -> Searched:
    """Search within the budget, from a start where there is one."""
    import highspy as api

    highspy: Any = api
    budget = budget or Budget()
    solver = highspy.Highs()
    options: dict[str, Any] = {"output_flag": False, "threads": 1, "presolve": "off"}
    options |= {"mip_rel_gap": budget.gap, "mip_feasibility_tolerance": 1e-7}
    if budget.seconds is not None:
        options["time_limit"] = max(budget.seconds, 0.1)
    if budget.nodes is not None:
        options["mip_max_nodes"] = budget.nodes
    for name, value in (options | budget.options).items():
        solver.setOptionValue(name, value)
    if solver.passModel(_model(highspy, program)) == highspy.HighsStatus.kError:
        raise SolverError("the solver rejected the model. Please report this with the instance's shape.")
    if start is not None:
        solution = highspy.HighsSolution()
        solution.col_value = start.tolist()
        solver.setSolution(solution)
    solver.run()
    return _answer(highspy, solver, program)


def _model(highspy: Any, program: Program) -> Any:
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = program.matrix.shape
    model.col_cost_, model.offset_ = program.cost, program.constant
    model.col_lower_, model.col_upper_ = program.bounds
    model.row_lower_, model.row_upper_ = program.rows
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_ = program.matrix.indptr, program.matrix.indices
    model.a_matrix_.value_ = program.matrix.data
    if program.whole.any():
        kinds = highspy.HighsVarType
        model.integrality_ = [kinds.kInteger if whole else kinds.kContinuous for whole in program.whole]
    return model


def _answer(highspy: Any, solver: Any, program: Program) -> Searched:
    kinds, info = highspy.HighsModelStatus, solver.getInfo()
    status = solver.getModelStatus()
    if status in (kinds.kInfeasible, kinds.kUnboundedOrInfeasible):
        return Searched(None, np.inf, "infeasible")
    has_point = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    point = np.array(solver.getSolution().col_value) if has_point else None
    if not program.whole.any():
        is_done = status == kinds.kOptimal
        bound = float(info.objective_function_value) if is_done else -np.inf
        return Searched(point if is_done else None, bound, "optimal" if is_done else "no clear answer")
    reasons = {
        kinds.kOptimal: "optimal",
        kinds.kTimeLimit: "time limit",
        kinds.kSolutionLimit: "node limit",
        kinds.kInterrupt: "interrupted",
    }
    bound = float(info.mip_dual_bound)
    bound = bound if np.isfinite(bound) else -np.inf
    return Searched(point, bound, reasons.get(status, "no clear answer"), int(info.mip_node_count))
