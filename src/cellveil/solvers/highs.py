"""Linear and mixed-integer programs in HiGHS: the one place where a model is loaded and a status is read.

    min c·x + constant   subject to   row_low ≤ A x ≤ row_high,   low ≤ x ≤ high,   some x whole

Every status that is not a clear answer comes back as ``UNKNOWN``: whoever asked must treat it as "not shown".
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Float
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.errors import SolverError

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix, csr_matrix


class LPStatus(StrEnum):
    """What ended a solve."""

    OPTIMAL = "optimal"
    UNBOUNDED = "unbounded"
    INFEASIBLE = "infeasible"
    TIME_LIMIT = "time limit"
    NODE_LIMIT = "node limit"
    INTERRUPTED = "interrupted"
    UNBOUNDED_OR_INFEASIBLE = "unbounded or infeasible"
    UNKNOWN = "no clear answer"


class EdgeWeights(IntEnum):
    """How the dual simplex method of HiGHS weighs edges: the option `simplex_dual_edge_weight_strategy`."""

    DANTZIG = 0
    DEVEX = 1
    STEEPEST = 2


class HighsModel:
    """A model that stays in memory between solves.

    Parameters
    ----------
    matrix
        A, by columns or by rows.
    rows, bounds
        Least and most of A x and of x; ±∞ where there is none.
    whole
        Columns that are whole numbers; none by default.
    options
        Of HiGHS; one thread and no output unless they say otherwise.
    """

    def __init__(
        self,
        matrix: csc_matrix | csr_matrix,
        rows: tuple[Float, Float],
        cost: Float,
        bounds: tuple[Float, Float],
        *,
        whole: Bool | None = None,
        constant: float = 0.0,
        **options: object,
    ) -> None:
        import highspy

        self._api: Any = highspy
        self._solver = self._api.Highs()
        model = self._api.HighsLp()
        model.num_row_, model.num_col_ = matrix.shape
        model.col_cost_, model.offset_ = cost, constant
        model.col_lower_, model.col_upper_ = bounds
        model.row_lower_, model.row_upper_ = rows
        formats = self._api.MatrixFormat
        model.a_matrix_.format_ = formats.kRowwise if matrix.format == "csr" else formats.kColwise
        model.a_matrix_.start_, model.a_matrix_.index_ = matrix.indptr, matrix.indices
        model.a_matrix_.value_ = matrix.data
        if whole is not None and whole.any():
            kinds = self._api.HighsVarType
            model.integrality_ = [kinds.kInteger if each else kinds.kContinuous for each in whole]
        self._columns = np.arange(matrix.shape[1], dtype=np.int32)
        self.set(output_flag=False, threads=1, **options)
        self.must(self._solver.passModel(model))

    def set(self, **options: object) -> None:
        """Set options of HiGHS."""
        for name, value in options.items():
            self.must(self._solver.setOptionValue(name, value))

    def must(self, status: Any) -> None:
        """Raise where HiGHS reports an error."""
        if status == self._api.HighsStatus.kError:
            raise SolverError("the solver rejected the model. Please report this with the table's shape.")

    def run(self, deadline: Deadline = NO_LIMIT) -> LPStatus:
        """Solve from where the last solve ended."""
        left = deadline.left
        limit = np.inf if left is None else self._solver.getRunTime() + left
        self.set(time_limit=limit)  # always: it would bind the next solve too
        self._solver.run()
        kinds = self._api.HighsModelStatus
        return {
            kinds.kOptimal: LPStatus.OPTIMAL,
            kinds.kUnbounded: LPStatus.UNBOUNDED,
            kinds.kInfeasible: LPStatus.INFEASIBLE,
            kinds.kUnboundedOrInfeasible: LPStatus.UNBOUNDED_OR_INFEASIBLE,
            kinds.kTimeLimit: LPStatus.TIME_LIMIT,
            kinds.kSolutionLimit: LPStatus.NODE_LIMIT,
            kinds.kInterrupt: LPStatus.INTERRUPTED,
        }.get(self._solver.getModelStatus(), LPStatus.UNKNOWN)

    def set_costs(self, costs: Float, columns: NDArray[np.integer] | None = None) -> None:
        """Set the costs of these columns (all by default)."""
        chosen = self._columns if columns is None else np.asarray(columns, dtype=np.int32)
        self.must(self._solver.changeColsCost(len(chosen), chosen, np.asarray(costs, dtype=np.float64)))

    def set_bounds(self, lower: Float, upper: Float, columns: NDArray[np.integer] | None = None) -> None:
        """Set the bounds of these columns (all by default)."""
        chosen = self._columns if columns is None else np.asarray(columns, dtype=np.int32)
        self.must(
            self._solver.changeColsBounds(
                len(chosen), chosen, np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
            )
        )

    def set_row(self, row: int, least: float, most: float) -> None:
        """Set the limits of one row."""
        self.must(self._solver.changeRowBounds(row, least, most))

    @property
    def basis(self) -> Any:
        """Of the last solve; the next one starts from what is set."""
        return self._solver.getBasis()

    @basis.setter
    def basis(self, basis: Any) -> None:
        self._solver.setBasis(basis)

    def change_whole(self, whole: bool) -> None:
        """Make every column a whole number, or none."""
        kinds, count = self._api.HighsVarType, len(self._columns)
        kind = np.full(count, int(kinds.kInteger if whole else kinds.kContinuous), np.uint8)
        self.must(self._solver.changeColsIntegrality(count, self._columns, kind))

    def start_from(self, point: Float) -> None:
        """Hand over a known point."""
        solution = self._api.HighsSolution()
        solution.col_value = point.tolist()
        self.must(self._solver.setSolution(solution))

    def feasible_point(self) -> Float | None:
        """The best feasible point of the last solve, whatever ended it."""
        is_feasible = self.info.primal_solution_status == self._api.SolutionStatus.kSolutionStatusFeasible
        return np.array(self.solution.col_value) if is_feasible else None

    @property
    def info(self) -> Any:
        """Objective, bound, nodes and iterations of the last solve, as HiGHS names them."""
        return self._solver.getInfo()

    @property
    def solution(self) -> Any:
        """Point and dual variables of the last solve, as HiGHS names them."""
        return self._solver.getSolution()
