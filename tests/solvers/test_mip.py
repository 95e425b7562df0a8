"""Mixed-integer programs with HiGHS: against enumeration, and what is said where there is no point."""

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csc_matrix

from cellveil.solvers import mip


def knapsack(seed: int, whole: bool = True) -> mip.Program:
    """Cover 12 units at least cost with six items."""
    rng = np.random.default_rng(seed)
    size, cost = rng.integers(2, 7, 6).astype(float), rng.integers(3, 20, 6).astype(float)
    rows = np.array([12.0]), np.array([np.inf])
    return mip.Program(
        csc_matrix(size[None, :]), rows, (np.zeros(6), np.ones(6)), cost, np.full(6, whole), 5.0
    )


@pytest.mark.parametrize("seed", range(5))
def test_optimum_is_that_of_enumeration(seed: int) -> None:
    program = knapsack(seed)
    size = program.matrix.toarray()[0]
    points = (np.array(x) for x in product((0, 1), repeat=6))
    least = min(program.cost @ x for x in points if size @ x >= 12) + 5
    found = mip.solve(program)
    assert found.point is not None and found.bound == pytest.approx(least)
    assert program.cost @ found.point + 5 == pytest.approx(least)
    assert mip.solve(knapsack(seed, whole=False)).bound <= least + 1e-9, "the relaxation is no dearer"


def test_no_point_is_a_bound_without_end() -> None:
    program = knapsack(0)
    beyond = mip.Program(
        program.matrix, (np.array([100.0]), np.array([np.inf])), program.bounds, program.cost, program.whole
    )
    found = mip.solve(beyond)
    assert found.point is None and found.bound == np.inf
