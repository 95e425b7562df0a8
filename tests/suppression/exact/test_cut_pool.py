"""The pool of rows and the capacities behind them, against sums written out."""

import numpy as np
import pytest

from cellveil.solvers.cutting_planes import Row
from cellveil.suppression.exact.capacity_cuts import Capacity
from cellveil.suppression.exact.cut_pool import Capacities, Pool


def random_rows(seed: int, number: int = 20) -> list[Row]:
    rng = np.random.default_rng(seed)
    chosen = (np.sort(rng.choice(8, 3, replace=False)) for _ in range(number))
    return [Row(columns, rng.random(3), float(rng.random())) for columns in chosen]


def test_a_row_is_taken_once() -> None:
    pool, rows = Pool(8), random_rows(1)
    assert pool.add([*rows[:5], None, rows[0]]) == rows[:5]
    assert pool.add(rows) == rows[5:] and len(pool) == len(rows)


def test_what_is_broken_is_what_the_sums_say() -> None:
    pool, rows, x = Pool(8), random_rows(2), np.random.default_rng(3).random(8) / 4
    assert pool.missing(x).size == 0
    for some in (rows[:7], rows[7:]):  # the matrix grows
        pool.add(some)
        pool.matrix()
    assert pool.missing(x) == pytest.approx([row.violation(x) for row in rows])
    broken = pool.broken(x, 0.1)
    assert {id(row) for row in broken} == {id(row) for row in rows if row.violation(x) > 0.1}
    assert 0 < len(broken) < len(rows)
    assert [row.violation(x) for row in broken] == sorted((r.violation(x) for r in broken), reverse=True)


def test_capacities_give_rows_that_whole_patterns_keep() -> None:
    """A row of a capacity is broken by the point, and kept by every whole point that meets the capacity."""
    capacity = Capacity(np.arange(4), np.array([4.0, 3.0, 3.0, 2.0]), 6.0, 1e-9)
    capacities = Capacities()
    assert capacities.add(capacity) and not capacities.add(capacity) and not capacities.add(None)
    (row,) = capacities.violated_cuts(np.full(4, 0.3), 1e-6, 10)
    assert row.violation(np.full(4, 0.3)) > 1e-6
    for number in range(16):
        x = np.array([number >> k & 1 for k in range(4)], dtype=float)
        if capacity.reach @ x >= capacity.left:
            assert row.violation(x) <= 1e-9
    assert capacities.violated_cuts(np.ones(4), 1e-6, 10) == []
