"""Branch and cut with SCIP: rows that only the oracle knows, rows alone, errors that come through."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest

from cellveil.arrays import Bool, Float
from cellveil.solvers.branch_and_cut import BinaryProgram, search, solve_rows
from cellveil.solvers.cutting_planes import Row

COST = np.array([5.0, 4.0, 3.0, 6.0, 2.0])
NONE = np.zeros(5, dtype=bool)
PAIRS = [Row(np.array(pair), np.ones(2), 1.0) for pair in combinations(range(5), 2)]
"""One of every two must be chosen: all but one, 14 at least, while the relaxation takes half of each."""


class OfPairs:
    """Knows the pairs, and keeps the cheapest point it allowed."""

    def __init__(self, fails: type[BaseException] | None = None) -> None:
        self.best, self.fails = np.inf, fails

    def rows_against(self, x: Float, *, is_root: bool) -> Sequence[Row]:
        return [row for row in PAIRS if row.violation(x) > 1e-6][:3]

    def known_against(self, x: Float) -> Sequence[Row]:
        return []

    def judge(self, chosen: Bool) -> Sequence[Row]:
        if self.fails is not None:
            raise self.fails("in the oracle")
        broken = [row for row in PAIRS if row.violation(chosen.astype(float)) > 1e-6]
        if not broken:
            self.best = min(self.best, float(COST[chosen].sum()))
        return broken

    def suggest(self, x: Float) -> Sequence[Bool]:
        return []


def test_rows_of_the_oracle_are_kept() -> None:
    oracle = OfPairs()
    found = search(BinaryProgram(COST, NONE, NONE), oracle)
    assert found.is_complete and found.bound == pytest.approx(14) and oracle.best == 14


def test_columns_that_are_fixed_or_barred() -> None:
    dearest = np.arange(5) == 3
    assert search(BinaryProgram(COST, dearest, NONE), OfPairs()).bound == pytest.approx(15)
    assert search(BinaryProgram(COST, NONE, np.arange(5) == 4), OfPairs()).bound == pytest.approx(18)


def test_an_error_in_the_oracle_comes_out() -> None:
    with pytest.raises(ZeroDivisionError, match="in the oracle"):
        search(BinaryProgram(COST, NONE, NONE), OfPairs(ZeroDivisionError))
    assert search(BinaryProgram(COST, NONE, NONE), OfPairs(KeyboardInterrupt)).was_interrupted


def test_rows_alone() -> None:
    solved = solve_rows(BinaryProgram(COST, NONE, NONE, PAIRS), ~NONE)
    assert solved.is_optimal and solved.point is not None
    assert solved.point.tolist() == [True, True, True, False, True] and solved.bound == pytest.approx(14)
