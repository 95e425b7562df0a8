"""Interior points: a point well inside what linear conditions leave, found without a vertex.

Solves  min c·x  subject to  row_low ≤ A x ≤ row_high,  low ≤ x ≤ high  by the interior-point method of HiGHS
without going to a vertex. Where c = 0 the point lies, as a rule, amidst all feasible ones, which leaves room
for making it exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cellveil.arrays import Float
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.solvers import tolerances
from cellveil.solvers.highs import HighsModel, LPStatus

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix


def interior_point(
    matrix: csc_matrix,
    rows: tuple[Float, Float],
    cost: Float,
    bounds: tuple[Float, Float],
    *,
    deadline: Deadline = NO_LIMIT,
) -> Float | None:
    """The point; None where there is none, or no clear answer."""
    model = HighsModel(
        matrix,
        rows,
        cost,
        bounds,
        solver="ipm",
        run_crossover="off",
        primal_feasibility_tolerance=tolerances.FEASIBILITY,
        ipm_optimality_tolerance=tolerances.FEASIBILITY,
    )
    status = model.run(deadline.for_a_solve())
    return np.array(model.solution.col_value) if status is LPStatus.OPTIMAL else None
