"""From a table and its rules to the problem."""

import numpy as np
import pytest

from cellveil.errors import InputError
from cellveil.judge import audit
from cellveil.pattern import Pattern
from cellveil.problem import Status
from cellveil.rules import Dominance, PPercent, Threshold, ZeroRule
from cellveil.rules.apply import find_primaries, make_problem
from cellveil.tables.build import table_from_interior
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.scaled import UNBOUNDED
from helpers.contributions import of_lists, table_of


@pytest.fixture
def table():
    """Cells (Total), (N), (S), (W) with 5, 1, 4 and no contributors."""
    region = Dimension.of("region", Hierarchy.flat(["N", "S", "W"]))
    table = table_from_interior([region], {"region": ["N", "S", "W"]}, [50, 40, 0])
    return table.replace(units=of_lists([[50, 10, 10, 10, 10], [50], [10, 10, 10, 10], []]))


def test_statuses_levels_weights_and_reasons(table):
    found = find_primaries(table, Threshold(3, 30) | PPercent(10), weight="log")
    problem = found.problem
    assert problem.status.tolist() == [Status.SAFE, Status.PRIMARY, Status.SAFE, Status.FROZEN]
    assert problem.lpl.tolist() == problem.upl.tolist() == [0, 15, 0, 0]
    assert problem.weight.tolist() == pytest.approx(np.log1p([90, 50, 40, 0]).tolist())
    assert {name: np.flatnonzero(mask).tolist() for name, mask in problem.reasons.items()} == {
        "threshold rule (minimum 3)": [1],
        "p% rule (p = 10)": [1],
    }
    assert (found.num_clipped, found.num_waived) == (0, 0)


def test_zeros_are_frozen_unless_the_rule_marks_them():
    table = table_of([[0, 0], [5]])
    assert make_problem(table, Dominance()).status.tolist() == [Status.FROZEN, Status.PRIMARY]
    zero = make_problem(table, ZeroRule(3))
    assert zero.status.tolist() == [Status.PRIMARY, Status.SAFE]
    assert (zero.lpl[0], zero.upl[0]) == (0, 3)


def test_levels_are_cut_at_the_known_bounds_and_counted():
    table = table_of([[10], [100], [30, 30, 30]])
    full = find_primaries(table, Threshold(2, 150))
    assert full.problem.lpl.tolist() == [10, 100, 0]
    assert full.problem.upl.tolist() == [15, 150, 0]
    assert full.num_clipped == 2
    tau = find_primaries(table, Threshold(2, 150), bounds="tau-argus")
    assert (tau.problem.lb.tolist(), tau.problem.ub.tolist()) == ([0] * 3, [150] * 3)
    assert tau.problem.upl.tolist() == [15, 50, 0]
    assert tau.num_clipped == 3
    free = find_primaries(table, Threshold(2, 150), bounds="free", bounds_reason="a test")
    assert free.problem.lpl.tolist() == [15, 150, 0]
    assert set(free.problem.lb.tolist()) == {-UNBOUNDED}


def test_bounds_given():
    table = table_of([[105], [-30]], decimals=1)
    assert make_problem(table, None).lb.tolist() == [-UNBOUNDED, -UNBOUNDED]
    assert make_problem(table, None, bounds=(-3, None)).lb.tolist() == [-30, -30]
    bounds = (np.array([-np.inf, -4.5]), [20.5, 0])
    problem = make_problem(table, Threshold(2, 200), bounds=bounds)
    assert problem.lb.tolist() == [-UNBOUNDED, -45]
    assert problem.ub.tolist() == [205, 0]
    assert problem.lpl.tolist() == [210, 15]
    assert problem.upl.tolist() == [100, 30]
    tau = make_problem(table, None, bounds="tau-argus")
    assert (tau.lb[0], tau.ub[0]) == (-45, 157)
    with pytest.raises(InputError, match="outside lb and ub"):
        make_problem(table, None, bounds=(0, None))
    with pytest.raises(InputError, match="1 lower bounds for 2 cells"):
        make_problem(table, None, bounds=([0], None))
    with pytest.raises(InputError, match="unknown bounds"):
        make_problem(table, None, bounds="tight")
    with pytest.raises(InputError, match="decimals"):
        make_problem(table, None, bounds=(None, [20.55, 1]))


WIDE = ["free", (None, None), (-1, None), (np.array([0, -5, 0]), None), (np.array([0, -np.inf, 0]), None)]


@pytest.mark.parametrize("bounds", WIDE)
def test_bounds_below_what_everybody_knows_need_a_reason(bounds):
    table = table_of([[10], [100], [30, 30, 30]])
    with pytest.raises(InputError, match="readers do not know that values are not negative"):
        make_problem(table, Threshold(2), bounds=bounds)
    problem = make_problem(
        table, Threshold(2), bounds=bounds, bounds_reason="balances, all positive by chance"
    )
    verdict = audit(problem, Pattern.hiding(problem, np.ones(3, dtype=bool), "everything")).verdict
    assert "assuming that readers do not know that values are not negative" in verdict
    assert "balances, all positive by chance" in verdict


@pytest.mark.parametrize("bounds", [*WIDE[:2], (-20, None), "natural", "tau-argus"])
def test_bounds_of_variables_with_negative_values_need_none(bounds):
    problem = make_problem(table_of([[-10], [100], [30, 30, 30]]), Threshold(2), bounds=bounds)
    assert problem.assumption == ""


@pytest.mark.parametrize("bounds", ["natural", "tau-argus", (0, None), (0, 100)])
def test_counts_are_known_to_be_at_least_one_whatever_the_bounds(bounds):
    table = table_of([[1], [1] * 3, [1] * 4]).replace(variable="count")
    assert make_problem(table, Threshold(2), bounds=bounds).lb.tolist() == [1, 1, 1]


def test_asymmetric_and_sliding_levels():
    table = table_of([[10], [100], [30, 30, 30]])
    problem = make_problem(table, Threshold(2, 25), lower_factor=0, upper_factor="1.5", spl=7)
    assert problem.lpl.tolist() == [0, 0, 0]
    assert problem.upl.tolist() == [5, 38, 0]  # 3 · 1.5 and 25 · 1.5, rounded up
    assert problem.spl.tolist() == [7, 7, 0]
    with pytest.raises(InputError, match="negative"):
        make_problem(table, Threshold(2), lower_factor=-1)


def test_settings_by_hand(table):
    problem = make_problem(
        table, Threshold(3), statuses=[(("S",), "u"), ({"region": "W"}, "s"), (0, Status.SECONDARY)]
    )
    assert problem.status.tolist() == [Status.SECONDARY, Status.PRIMARY, Status.PRIMARY, Status.SAFE]
    assert problem.upl.tolist() == [0, 10, 8, 0]
    assert np.flatnonzero(problem.reasons["manual"]).tolist() == [2]
    by_number = make_problem(table, None, statuses={2: "u"}, safety_range=50)
    assert by_number.upl.tolist() == [0, 0, 20, 0]
    assert make_problem(table, Threshold(3), statuses={1: "m"}).status[1] == Status.PRIMARY


def test_a_cell_both_frozen_and_unsafe_is_an_error_unless_waived(table):
    for options in ({"frozen": [("N",)]}, {"statuses": {1: "z"}}, {"statuses": {1: "s"}}):
        with pytest.raises(InputError, match=r"cell \(N\).*waive"):
            make_problem(table, Threshold(3), **options)
    found = find_primaries(table, Threshold(3) | PPercent(10), frozen=[("N",)], waived=[("N",)])
    assert found.problem.status[1] == Status.FROZEN
    assert found.num_waived == 1
    assert not found.problem.upl.any()
    assert not found.problem.reasons
    assert make_problem(table, Threshold(3), waived=[1]).status[1] == Status.SAFE


def test_contradictory_settings_name_the_cell(table):
    with pytest.raises(InputError, match=r"cell \(N\): it is set to z and to u"):
        make_problem(table, None, frozen=[1], statuses={1: "u"})
    with pytest.raises(InputError, match=r"cell \(N\): it is set to unsafe and waived"):
        make_problem(table, None, statuses={1: "u"}, waived=[1])
    with pytest.raises(InputError, match="unknown status"):
        make_problem(table, None, statuses={1: "x"})


def test_no_rule_and_no_settings(table):
    problem = make_problem(table, None)
    assert not len(problem.primaries)
    assert problem.status.tolist() == [0, 0, 0, Status.FROZEN]
