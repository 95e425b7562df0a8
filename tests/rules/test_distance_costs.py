"""Costs by distance from unsafe cells, held against their definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellveil.errors import InputError
from cellveil.rules import Threshold, distance_costs
from cellveil.rules.apply import make_problem
from cellveil.tables.build import table_from_interior
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.table import Table

REGION = Dimension.of("region", Hierarchy.from_dict({"Total": {"N": ["N1", "N2", "N3"], "S": ["S1", "S2"]}}))
SIZE = Dimension.of("size", Hierarchy.flat([f"s{i}" for i in range(7)]))
LEAVES = ["N1", "N2", "N3", "S1", "S2"]


def a_table(low: int = 10) -> Table:
    keys = [(region, size) for region in LEAVES for size in SIZE.codes[1:]]
    columns = {"region": [r for r, _ in keys], "size": [s for _, s in keys]}
    return table_from_interior([REGION, SIZE], columns, [low, *[10] * (len(keys) - 1)])


def step(dimension: Dimension, one: int, other: int, costs: list[float]) -> float:
    """The definition: places within a level, the last cost between levels."""
    if one == other:
        return 0.0
    if dimension.level[one] != dimension.level[other]:
        return costs[4]
    alike = np.flatnonzero(dimension.level == dimension.level[one]).tolist()
    return costs[min(abs(alike.index(one) - alike.index(other)), 5) - 1]


@settings(max_examples=40, deadline=None)
@given(
    unsafe=st.sets(st.integers(0, 63), min_size=1, max_size=4),
    costs=st.lists(st.integers(1, 9), min_size=5, max_size=5).map(sorted),
)
def test_least_sum_of_steps(unsafe, costs):
    table = a_table()
    mask = np.isin(np.arange(table.num_cells), list(unsafe))
    found = distance_costs(table, mask, {"size": costs})
    for cell in range(table.num_cells):
        expected = min(
            sum(
                step(dimension, column[cell], column[goal], own)
                for dimension, column, own in zip(table.dimensions, table.keys, ([1] * 5, costs), strict=True)
            )
            for goal in unsafe
        )
        assert found[cell] == expected


def test_costs_left_out_repeat_the_last():
    unsafe = np.arange(a_table().num_cells) == 5
    few, all_five = (distance_costs(a_table(), unsafe, {"size": c}) for c in ([1, 3], [1, 3, 3, 3, 3]))
    assert np.array_equal(few, all_five)


def test_a_problem_takes_them_from_its_unsafe_cells():
    table = a_table(low=2)
    problem = make_problem(table, Threshold(3, of="value"), weight="distance", distance={"size": [1, 2]})
    assert problem.weight[problem.primaries].tolist() == [0.0]
    assert problem.weight.max() == 3.0


def test_nothing_unsafe():
    problem = make_problem(a_table(), Threshold(3, of="value"), weight="distance")
    assert set(problem.weight) == {1.0}


@pytest.mark.parametrize("costs", [[], [2, 1], [0, 1], [1] * 6, [-1], [float("nan")], [1, float("inf")]])
def test_wrong_costs(costs):
    with pytest.raises(InputError, match="rising numbers above 0"):
        distance_costs(a_table(), np.ones(a_table().num_cells, dtype=bool), {"size": costs})


def test_unknown_dimension():
    with pytest.raises(InputError, match="Did you mean 'size'"):
        distance_costs(a_table(), np.ones(a_table().num_cells, dtype=bool), {"sise": [1]})
