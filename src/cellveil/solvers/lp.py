"""A live LP: built once; then only costs, bounds and b change, so that each solve starts from the last basis.

Solves  min c·x  subject to  A x = b,  lower ≤ x ≤ upper  by the dual simplex method of HiGHS.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cellveil.arrays import Float
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.solvers import tolerances
from cellveil.solvers.highs import HighsModel
from cellveil.solvers.highs import LPStatus as LPStatus

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix


@dataclass(frozen=True)
class LPAnswer:
    """Status and, where optimal, objective and point."""

    status: LPStatus
    objective: float = np.nan
    point: Float | None = None


class LiveLP(HighsModel):
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
        super().__init__(
            matrix,
            (rhs, rhs),
            np.zeros(matrix.shape[1]),
            (lower, upper),
            presolve="off",
            primal_feasibility_tolerance=tolerances.FEASIBILITY,
            dual_feasibility_tolerance=tolerances.FEASIBILITY,
        )
        self.num_solves = self.num_steps = 0

    def set_rhs(self, rhs: Float) -> None:
        """Set b; the last basis is then still a start for the dual simplex method."""
        rows = np.arange(len(rhs), dtype=np.int32)
        self.must(self._solver.changeRowsBounds(len(rows), rows, rhs, rhs))

    def solve(self, deadline: Deadline = NO_LIMIT, *, fresh: bool = False) -> LPAnswer:
        """Solve from the last basis, or a fresh one; where that ends unclear, once more from scratch.

        A fresh start pays where costs are nonnegative and few bounds force a movement: the slack basis is
        then optimal but for these.
        """
        if fresh:
            self._solver.clearSolver()
        answer = self._solve_once(deadline)
        if answer.status in (LPStatus.UNKNOWN, LPStatus.UNBOUNDED_OR_INFEASIBLE):
            self._solver.clearSolver()
            self.set(presolve="on")
            answer = self._solve_once(deadline)
            self.set(presolve="off")
        return answer

    def reduced_costs(self) -> Float:
        """Of the columns, after an optimal solve."""
        return np.array(self.solution.col_dual)

    def multipliers(self) -> Float:
        """Dual variables of the rows, after an optimal solve."""
        return np.array(self.solution.row_dual)

    def solve_whole(self, deadline: Deadline = NO_LIMIT) -> LPAnswer:
        """Solve with every variable a whole number; only a proven optimum counts."""
        self.change_whole(True)
        self._solver.clearSolver()
        answer = self._solve_once(deadline)
        self.change_whole(False)
        self._solver.clearSolver()
        return answer

    def _solve_once(self, deadline: Deadline) -> LPAnswer:
        self.num_solves += 1
        status = self.run(deadline)
        self.num_steps += max(int(self.info.simplex_iteration_count), 0)
        if status is not LPStatus.OPTIMAL:
            return LPAnswer(status)
        return LPAnswer(status, float(self.info.objective_function_value), np.array(self.solution.col_value))


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
