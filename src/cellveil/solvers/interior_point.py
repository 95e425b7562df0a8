"""Interior points: a point well inside what linear conditions leave, found without a vertex.

Solves  min c·x  subject to  row_low ≤ A x ≤ row_high,  low ≤ x ≤ high  by the interior-point method of HiGHS
without going to a vertex. Where c = 0 the point lies, as a rule, amidst all feasible ones, which leaves room
for making it exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cellveil.arrays import Float

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix


ACCURACY = 1e-9


def interior_point(
    matrix: csc_matrix,
    rows: tuple[Float, Float],
    cost: Float,
    bounds: tuple[Float, Float],
    *,
    time_limit: float | None = None,
) -> Float | None:
    """The point; None where there is none, or no clear answer."""
    import highspy as api

    highspy: Any = api
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = matrix.shape
    model.col_cost_ = cost
    model.col_lower_, model.col_upper_ = bounds
    model.row_lower_, model.row_upper_ = rows
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_ = matrix.indptr, matrix.indices
    model.a_matrix_.value_ = matrix.data
    solver = highspy.Highs()
    options = {"output_flag": False, "threads": 1, "solver": "ipm", "run_crossover": "off"}
    options |= {"primal_feasibility_tolerance": ACCURACY, "ipm_optimality_tolerance": ACCURACY}
    if time_limit is not None:
        options["time_limit"] = max(time_limit, 0.1)
    for name, value in options.items():
        solver.setOptionValue(name, value)
    solver.passModel(model)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return np.array(solver.getSolution().col_value)
