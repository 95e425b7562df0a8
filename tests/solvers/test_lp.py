"""Live linear programs: what one solve was allowed does not bind the next."""

import numpy as np
from scipy.sparse import csc_matrix

from cellveil.clock import Deadline
from cellveil.solvers.cutting_planes import GrowingLP, Row
from cellveil.solvers.lp import LiveLP, LPStatus


def test_a_time_limit_is_for_one_solve_only() -> None:
    rng = np.random.default_rng(0)
    matrix = csc_matrix(rng.integers(1, 9, (60, 90)).astype(float))
    program = LiveLP(matrix, matrix @ np.ones(90), np.zeros(90), np.full(90, 5.0))
    program.set_costs(rng.random(90))
    assert program.solve(Deadline(0.0)).status is LPStatus.TIME_LIMIT
    assert program.solve().status is LPStatus.OPTIMAL
    growing = GrowingLP(rng.random(90), np.zeros(90), np.full(90, 5.0))
    growing.add([Row(np.arange(90), rng.random(90), 20.0) for _ in range(40)])
    assert not growing.solve(Deadline(0.0)).is_optimal
    assert growing.solve().is_optimal
