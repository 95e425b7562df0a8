"""Group (100 %) disclosure and k-disclosure, held against what follows from the published counts."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from cellveil.errors import InfeasibleError, InputError
from cellveil.rules import GroupDisclosure, rule_from_dict, rule_to_dict
from cellveil.rules.apply import make_problem
from cellveil.suppression import suppress
from cellveil.tables.build import table_from_interior
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.link import link
from cellveil.tables.table import Table
from helpers.examples import examples


def counts(rows: list[list[int]], decimals: int = 0) -> Table:
    group = Dimension.of("group", Hierarchy.flat([f"g{i}" for i in range(len(rows))]))
    cause = Dimension.of("cause", Hierarchy.flat([f"c{i}" for i in range(len(rows[0]))]))
    keys = list(product(group.codes[1:], cause.codes[1:]))
    columns = {"group": [g for g, _ in keys], "cause": [c for _, c in keys]}
    return table_from_interior([group, cause], columns, [v for row in rows for v in row], decimals=decimals)


def marked(table: Table, rule: GroupDisclosure) -> dict[tuple[str, ...], int]:
    found = rule.judge(table)
    return {table.key(int(cell)): int(found.upl[cell]) for cell in np.flatnonzero(found.unsafe)}


ROWS = [[5, 0, 0], [4, 1, 0], [3, 3, 3]]


def test_a_group_of_one_attribute_keeps_a_zero_open():
    assert marked(counts(ROWS), GroupDisclosure(dimensions=["cause"])) == {("g0", "c1"): 1}


def test_k_counts_those_who_can_take_themselves_out():
    found = marked(counts(ROWS), GroupDisclosure(1, ["cause"]))
    assert found == {("g0", "c1"): 2, ("g1", "c1"): 1}


def test_all_dimensions_are_attributes_by_default():
    whole = counts([[5, 0], [0, 2]])
    assert marked(whole, GroupDisclosure()) == {("g0", "c1"): 1, ("g1", "c0"): 1}


def test_decimals_of_counts_do_not_matter():
    found = marked(counts(ROWS, decimals=2), GroupDisclosure(1, ["cause"]))
    assert found == {("g0", "c1"): 200, ("g1", "c1"): 100}


def test_empty_groups_disclose_nothing():
    assert not marked(counts([[0, 0], [4, 4]]), GroupDisclosure(1, ["cause"]))


def test_linked_tables_are_judged_where_they_are_tabulated():
    table = counts(ROWS)
    size = Dimension.of("size", Hierarchy.flat(["s", "l"]))
    other = table_from_interior([size], {"size": ["s", "l"]}, [int(table.values[0]), 0])
    found = marked(link([table, other]), GroupDisclosure(dimensions=["cause", "size"]))
    assert found == {("g0", "c1", "Total"): 1, ("Total", "Total", "l"): 1}


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (GroupDisclosure(dimensions=["causes"]), "Did you mean 'cause'"),
        (GroupDisclosure(0, ["cause"]), "negative"),
    ],
)
def test_tables_it_is_not_for(rule, message):
    with pytest.raises(InputError, match=message):
        rule.judge(counts([[5, -1 if "negative" in message else 1], [3, 3]]))


@pytest.mark.parametrize("options", [{"k": -1}, {"k": 1.5}, {"dimensions": "cause"}, {"dimensions": [1]}])
def test_wrong_options(options):
    with pytest.raises(InputError):
        rule_from_dict({"rule": "group", **options})


def test_plain_data():
    data = {"rule": "group", "k": 2, "dimensions": ["cause"]}
    assert rule_to_dict(rule_from_dict(data)) == data


@examples(12, of=30)
@given(
    rows=st.lists(st.lists(st.integers(0, 6), min_size=3, max_size=3), min_size=3, max_size=3),
    k=st.integers(0, 2),
)
def test_nobody_can_conclude_that_the_complement_is_small(rows, k):
    """The largest complement in accord with the release is above k, for every count and its total."""
    table = counts(rows)
    rule = GroupDisclosure(k, ["cause"])
    try:
        hidden = suppress(make_problem(table, rule), "auto").pattern.hidden
    except InfeasibleError:
        return  # nothing is released
    matrix = table.relations.matrix.toarray()
    bounds = [(0, None) if h else (v, v) for h, v in zip(hidden, table.values, strict=True)]
    for group, cause in product(range(4), range(1, 4)):
        total, cell = table.find([np.array([group]), np.array([0])])[0], group * 4 + cause
        assert table.key(int(cell)) == (table.dimensions[0].codes[group], table.dimensions[1].codes[cause])
        if table.values[cell] > 0 and table.values[total] - table.values[cell] <= k:
            others = np.zeros(table.num_cells)
            others[[group * 4 + c for c in range(1, 4) if c != cause]] = -1
            found = linprog(others, A_eq=matrix, b_eq=table.relations.rhs, bounds=bounds)
            assert found.status == 3 or -found.fun > k + 0.5
