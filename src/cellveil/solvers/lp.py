"""A live LP: built once; then only costs, bounds and b change, so that each solve starts from the last basis.

Solves  min c·x  subject to  A x = b,  lower ≤ x ≤ upper  with HiGHS. Every status that is not a clear answer
comes back as ``UNKNOWN``: whoever asked must treat it as "not shown".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Float
from cellveil.errors import SolverError
from cellveil.solvers import tolerances

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix


class LPStatus(Enum):
    """What an LP came to."""

    OPTIMAL = "optimal"
    UNBOUNDED = "unbounded"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class LPAnswer:
    """Status and, where optimal, objective and point."""

    status: LPStatus
    objective: float = np.nan
    point: Float | None = None


class LiveLP:
    """An LP that stays in memory between solves.

    Parameters
    ----------
    matrix
        A, as a SciPy column matrix.
    rhs
        b.
    lower, upper
        Bounds of x; ±inf where there is none.
    """

    def __init__(self, matrix: csc_matrix, rhs: Float, lower: Float, upper: Float) -> None:
        import highspy as api

        highspy: Any = api
        self._api = highspy
        self._columns = np.arange(matrix.shape[1], dtype=np.int32)
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = matrix.shape
        model.col_cost_ = np.zeros(matrix.shape[1])
        model.col_lower_, model.col_upper_ = lower, upper
        model.row_lower_ = model.row_upper_ = rhs
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_, model.a_matrix_.index_ = matrix.indptr, matrix.indices
        model.a_matrix_.value_ = matrix.data
        self._solver = highspy.Highs()
        self._set("output_flag", False)
        self._set("threads", 1)
        self._set("presolve", "off")
        self._set("primal_feasibility_tolerance", tolerances.FEASIBILITY)
        self._set("dual_feasibility_tolerance", tolerances.FEASIBILITY)
        self._must(self._solver.passModel(model))
        self.num_solves = self.num_steps = 0

    def set_costs(self, costs: Float, columns: NDArray[np.integer] | None = None) -> None:
        """Set the costs of these columns (all by default)."""
        chosen = self._columns if columns is None else np.asarray(columns, dtype=np.int32)
        self._must(self._solver.changeColsCost(len(chosen), chosen, np.asarray(costs, dtype=np.float64)))

    def set_bounds(self, lower: Float, upper: Float, columns: NDArray[np.integer] | None = None) -> None:
        """Set the bounds of these columns (all by default)."""
        chosen = self._columns if columns is None else np.asarray(columns, dtype=np.int32)
        self._must(
            self._solver.changeColsBounds(
                len(chosen), chosen, np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
            )
        )

    def set_rhs(self, rhs: Float) -> None:
        """Set b; the last basis is then still a start for the dual simplex method."""
        rows = np.arange(len(rhs), dtype=np.int32)
        self._must(self._solver.changeRowsBounds(len(rows), rows, rhs, rhs))

    def solve(self, time_limit: float | None = None, *, fresh: bool = False) -> LPAnswer:
        """Solve from the last basis, or a fresh one; where that ends unclear, once more from scratch.

        A fresh start pays where costs are nonnegative and few bounds force a movement: the slack basis is
        then optimal but for these.
        """
        if fresh:
            self._solver.clearSolver()
        answer = self._solve_once(time_limit)
        if answer.status is LPStatus.UNKNOWN and not self._out_of_time():
            self._solver.clearSolver()
            self._set("presolve", "on")
            answer = self._solve_once(time_limit)
            self._set("presolve", "off")
        return answer

    def reduced_costs(self) -> Float:
        """What one more unit of each column would cost, after an optimal solve."""
        return np.array(self._solver.getSolution().col_dual)

    def multipliers(self) -> Float:
        """Of the rows, after an optimal solve."""
        return np.array(self._solver.getSolution().row_dual)

    def solve_whole(self, time_limit: float | None = None) -> LPAnswer:
        """Solve with every variable a whole number; only a proven optimum counts."""
        kinds = self._api.HighsVarType
        count = len(self._columns)
        for kind in (kinds.kInteger, kinds.kContinuous):
            self._must(
                self._solver.changeColsIntegrality(count, self._columns, np.full(count, int(kind), np.uint8))
            )
            if kind == kinds.kInteger:
                self._solver.clearSolver()
                answer = self._solve_once(time_limit)
        self._solver.clearSolver()
        return answer

    def _solve_once(self, time_limit: float | None) -> LPAnswer:
        self.num_solves += 1
        limit = np.inf if time_limit is None else self._solver.getRunTime() + max(time_limit, 0.0)
        self._set("time_limit", limit)  # always: it would bind the next solve too
        self._solver.run()
        self.num_steps += max(int(self._solver.getInfo().simplex_iteration_count), 0)
        status = self._status()
        if status is not LPStatus.OPTIMAL:
            return LPAnswer(status)
        point = np.array(self._solver.getSolution().col_value)
        return LPAnswer(status, float(self._solver.getInfo().objective_function_value), point)

    def _status(self) -> LPStatus:
        kinds = self._api.HighsModelStatus
        return {
            kinds.kOptimal: LPStatus.OPTIMAL,
            kinds.kUnbounded: LPStatus.UNBOUNDED,
            kinds.kInfeasible: LPStatus.INFEASIBLE,
        }.get(self._solver.getModelStatus(), LPStatus.UNKNOWN)

    def _out_of_time(self) -> bool:
        return bool(self._solver.getModelStatus() == self._api.HighsModelStatus.kTimeLimit)

    def _set(self, option: str, value: object) -> None:
        self._must(self._solver.setOptionValue(option, value))

    def _must(self, status: Any) -> None:
        if status == self._api.HighsStatus.kError:
            raise SolverError(
                "the LP solver rejected the model. Please report this with the instance's shape."
            )


def power_of_two_scale(*columns: Float) -> float:
    """A power of two by which the columns' finite entries come down to at most `LP_RANGE`.

    Examples
    --------
    >>> power_of_two_scale(np.array([1.0, np.inf])), power_of_two_scale(np.array([2.0**30]))
    (1.0, 1024.0)
    """
    finite = np.concatenate([np.abs(column[np.isfinite(column)]) for column in columns] or [np.zeros(1)])
    largest = float(finite.max(initial=1.0))
    return float(2.0 ** max(0.0, np.ceil(np.log2(largest / tolerances.LP_RANGE))))
