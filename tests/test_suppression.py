"""One contract for all methods: what a suppression must keep, on tables of every structure."""

from __future__ import annotations

import numpy as np
import pytest

from brute_force import is_protected
from cellveil.auditing import audit
from cellveil.datasets import random_table, two_way
from cellveil.errors import InfeasibleError, InputError
from cellveil.formats.instance import read_instance
from cellveil.problem import Problem, Status
from cellveil.proof import verify
from cellveil.suppression import METHODS, suppress
from cellveil.suppression.demands import Demand, Demands
from cellveil.tables.numbers import UNBOUNDED
from instances import INSTANCES, needs_instances
from small_problems import SHAPES, half_hidden_problem, small_problem


def feasible_problems(shape: str, count: int = 8) -> list[Problem]:
    rng = np.random.default_rng(100 + SHAPES.index(shape))
    found: list[Problem] = []
    while len(found) < count:
        problem = small_problem(shape, rng, primaries=3)
        try:
            suppress(problem)
        except InfeasibleError:
            continue
        found.append(problem)
    return found


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("method", METHODS)
def test_contract(shape: str, method: str) -> None:
    for problem in feasible_problems(shape):
        before = problem.content_hash
        result = suppress(problem, method, seed=3)
        status = result.pattern.status
        assert problem.content_hash == before, "the input is unchanged"
        assert (status[problem.primaries] == Status.PRIMARY).all(), "primaries stay hidden"
        assert (status[problem.status == Status.FROZEN] == Status.FROZEN).all(), "frozen cells stay published"
        assert result.outcome in ("safe", "optimal") and audit(problem, result.pattern).is_safe
        assert result.certified_demands == result.demands > 0
        assert verify(problem, result.pattern, result.certificate).is_valid
        added = (status == Status.SECONDARY) & (problem.status != Status.PRIMARY)
        assert result.cost == pytest.approx(problem.weight[added].sum())
        again = suppress(problem, method, seed=3)
        assert (again.pattern.status == status).all(), "same seed, same pattern"


@pytest.mark.parametrize("method", METHODS)
def test_order_of_cells_does_not_matter_for_safety(method: str) -> None:
    rng = np.random.default_rng(5)
    problem = feasible_problems("flat 3-D", 1)[0]
    order = rng.permutation(problem.table.num_cells)
    number = np.argsort(order)
    table = problem.table
    shuffled = problem.replace(
        table=table.replace(
            keys=tuple(column[order] for column in table.keys),
            values=table.values[order],
            relations=table.relations.renumber(table.num_cells, number),
        ),
        **{
            name: getattr(problem, name)[order]
            for name in ("status", "weight", "lb", "ub", "lpl", "upl", "spl")
        },
    )
    assert suppress(problem, method).is_safe and suppress(shuffled, method).is_safe


@pytest.mark.parametrize("method", METHODS)
def test_small_patterns_are_safe_by_enumeration(method: str) -> None:
    """The pattern of each method, judged by enumeration instead of LPs."""
    rng = np.random.default_rng(11)
    judged = 0
    for shape in SHAPES:
        for _ in range(6):
            problem = half_hidden_problem(shape, rng)
            try:
                result = suppress(problem, method)
            except InfeasibleError:
                continue
            if result.pattern.hidden.sum() <= 11:
                judged += 1
                assert all(is_protected(problem, result.pattern).values())
    assert judged >= 5


@pytest.mark.parametrize("method", METHODS)
def test_nothing_to_protect(method: str) -> None:
    result = suppress(two_way([[20, 50], [8, 19]]), method)
    assert result.is_safe and result.cost == 0 and not result.pattern.hidden.any()


@pytest.mark.parametrize("method", METHODS)
def test_infeasible_names_cells_and_conflicts(method: str) -> None:
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})
    status = np.where(problem.status == Status.PRIMARY, Status.PRIMARY, Status.FROZEN).astype(np.int8)
    with pytest.raises(InfeasibleError, match="no pattern can protect") as caught:
        suppress(problem.replace(status=status), method)
    assert caught.value.cells == ("(r0, c0)",) and "(r0, c1)" in caught.value.conflicts


def test_a_level_beyond_the_bounds_is_infeasible() -> None:
    problem = two_way([[20, 50, 9], [8, 19, 7], [5, 6, 9]], primaries={(0, 0): (25, 25)})
    with pytest.raises(InfeasibleError):
        suppress(problem)


@pytest.mark.parametrize("method", METHODS)
def test_out_of_time_still_safe_and_says_so(method: str) -> None:
    problem = random_table((8, 8, 8), contributors=4, zeros=0.1, seed=2)
    result = suppress(problem, method, time_limit=1e-9)
    assert result.is_safe and "time limit" in result.reason


def test_unknown_method_names_the_nearest() -> None:
    with pytest.raises(InputError, match="Did you mean 'sequential'"):
        suppress(two_way([[20, 50], [8, 19]]), "sequental")


def test_negative_tables_and_unbounded_cells() -> None:
    interior = [[-20, 50, 9], [8, -19, 7], [5, 6, 9]]
    problem = two_way(interior, primaries={(0, 0): (5, 5), (1, 1): (4, 4)})
    assert (problem.lb == -UNBOUNDED).all()
    assert suppress(problem).is_safe


def test_wide_range_of_values() -> None:
    """Cells of 1 beside cells of 10^12: neither drowns the other."""
    rng = np.random.default_rng(3)
    interior = (10.0 ** rng.uniform(0, 12, (6, 7))).astype(np.int64)
    primaries = {(0, 0): 1, (1, 2): int(interior[1, 2] // 10 + 1), (5, 6): int(interior[5, 6] // 5 + 1)}
    problem = two_way(interior.tolist(), primaries=primaries)
    result = suppress(problem)
    assert result.is_safe and audit(problem, result.pattern).is_safe


# -- demands -------------------------------------------------------------------------------------------------


def test_demands_in_descending_order_and_sliding() -> None:
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): (2, 3), (1, 1): (7, 1)})
    first, second = problem.primaries.tolist()
    assert Demands(problem).of(problem.primaries) == [
        Demand(second, False, 7),
        Demand(first, True, 3),
        Demand(first, False, 2),
        Demand(second, True, 1),
    ]
    sliding = problem.replace(spl=np.where(problem.upl == 3, 10, 0))
    assert Demands(sliding).up[first] == 8 and Demands(sliding).down[first] == 2


def test_harvest_scales_and_reverses() -> None:
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): (6, 6)})
    demands = Demands(problem)
    cells = np.arange(problem.table.num_cells)
    y = np.zeros(len(cells))
    for key, sign in ((("r0", "c0"), 1), (("r0", "c1"), -1), (("r1", "c0"), -1), (("r1", "c1"), 1)):
        y[problem.table.cell(*key)] = sign
    demands.harvest(cells, y, problem.down, problem.up)
    assert demands.left == 0, "8 of the cell below and 19 beside it leave room for 6 either way"
    tight = Demands(two_way([[20, 50], [5, 19]], primaries={(0, 0): (6, 6)}))
    tight.harvest(cells, y, np.array([96, 25, 69, 70, 20, 50, 24, 5, 19.0])[cells], problem.up)
    assert tight.left <= 1


# -- public instances ----------------------------------------------------------------------------------------

SMALL = ["targus", "table7", "table8", "hie1372d", "hie1327d", "table1", "table6"]
SMALL += ["hier13", "hier133a", "hier133d", "hier133e"]


@needs_instances
@pytest.mark.parametrize("name", SMALL)
def test_public_instances_are_protected(name: str) -> None:
    problem = read_instance(INSTANCES / "csp" / f"{name}.jj")
    result = suppress(problem)
    assert result.outcome == "safe" and result.reason == "complete"
    assert audit(problem, result.pattern, exact=problem.table.num_cells < 1500).is_safe
    assert (result.pattern.status[problem.status == Status.FROZEN] == Status.FROZEN).all()


@pytest.mark.slow
@needs_instances
@pytest.mark.parametrize("name", ["osorio", "cbs", "two5in6"])
def test_large_public_instances_are_protected(name: str) -> None:
    problem = read_instance(INSTANCES / "csp" / f"{name}.jj")
    result = suppress(problem)
    assert result.outcome == "safe" and audit(problem, result.pattern, exact=False).is_safe
