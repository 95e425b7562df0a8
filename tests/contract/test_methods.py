"""One contract for every method: on tables of all kinds a safe, certified pattern, or the cells in conflict.

Parametrised over `METHODS`: a method that is registered is held to it.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from cellveil.arrays import Bool
from cellveil.certificate import verify
from cellveil.datasets import two_way
from cellveil.errors import InfeasibleError
from cellveil.judge.outsider import audit_outsider
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.suppression import METHODS, Suppression, suppress
from cellveil.suppression.bounds.cover import cover_bound
from cellveil.suppression.engines import equal_cost
from cellveil.suppression.engines.equal_cost import preferred_weights
from cellveil.tables.scaled import UNBOUNDED
from helpers.brute_force import is_protected
from helpers.problem_kinds import PROBLEMS, SHORT, even, problem_of, protected, with_levels

EVERY_METHOD = pytest.mark.parametrize("method", METHODS)


@cache
def bound_of(problem: Problem) -> float:
    return cover_bound(problem).bound


def check(problem: Problem, result: Suppression) -> None:
    """What must hold of every result."""
    status, hidden = result.pattern.status, result.pattern.hidden
    assert result.is_safe and result.outcome in ("safe", "optimal")
    assert audit_outsider(problem, result.pattern, exact=False).is_safe, (
        "judged anew, without the method's witnesses"
    )
    assert verify(problem, result.pattern, result.certificate).is_valid
    assert result.certified_demands == result.demands
    assert (status[problem.primaries] == Status.PRIMARY).all(), "primaries stay hidden"
    assert hidden[problem.hidden_at_start].all(), "given secondaries stay hidden"
    assert not hidden[problem.status == Status.FROZEN].any(), "frozen cells are published"
    added = hidden & (problem.status != Status.PRIMARY)
    assert result.cost == pytest.approx(problem.weight[added].sum())
    given = float(problem.weight[problem.status == Status.SECONDARY].sum())
    assert result.cost - given >= bound_of(problem) * (1 - 1e-9), "nothing beats a proven bound"
    assert result.lower_bound is None or result.lower_bound <= result.cost * (1 + 1e-9)


@pytest.mark.parametrize("kind", PROBLEMS)
@EVERY_METHOD
def test_safe_certified_and_the_same_again(method: str, kind: str) -> None:
    problem = problem_of(kind)
    result = protected(method, kind)
    check(problem, result)
    assert result.reason == "complete"
    assert problem.content_hash == PROBLEMS[kind]().content_hash, "the input is unchanged"
    params = METHODS[method].read(SHORT.get(method, {}))
    draft = METHODS[method].run(problem, seed=3, progress=None, params=params)
    assert (draft.hidden == result.pattern.hidden).all(), "same seed, same pattern, which needed no mending"


@EVERY_METHOD
def test_nothing_to_protect_hides_nothing(method: str) -> None:
    assert not suppress(problem_of("no primaries"), method, attackers=[]).pattern.hidden.any()


@EVERY_METHOD
def test_where_primaries_protect_each_other_nothing_more_is_hidden(method: str) -> None:
    assert suppress(problem_of("everything primary"), method, attackers=[]).cost == 0


@EVERY_METHOD
def test_every_method_is_documented(method: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "methods.md").read_text(encoding="utf-8")
    assert f"\n## {method}\n" in page and f"[`{method}`](#{method})" in page


# -- by enumeration ------------------------------------------------------------------------------------------


@cache
def tiny(number: int) -> tuple[Problem, float]:
    """A table of twelve cells with finite bounds, and the least cost of a safe pattern."""
    rng = np.random.default_rng(number)
    problem = two_way(rng.integers(3, 20, (2, 3)).tolist(), primaries={(0, 0): (2, 3)})
    values = problem.table.values
    problem = problem.replace(ub=2 * values, weight=rng.integers(1, 30, len(values)).astype(float))
    return problem, least_cost(problem)


def least_cost(problem: Problem) -> float:
    others = np.flatnonzero(~problem.hidden_at_start & (problem.status != Status.FROZEN)).tolist()
    chosen = [cells for size in range(6) for cells in combinations(others, size)]
    for cells in sorted(chosen, key=lambda cells: problem.weight[list(cells)].sum()):
        hidden = problem.hidden_at_start.copy()
        hidden[list(cells)] = True
        if all(is_protected(problem, Pattern.hiding(problem, hidden, "enumerated")).values()):
            return float(problem.weight[list(cells)].sum())
    raise AssertionError("no pattern of up to five more cells is safe")


@pytest.mark.parametrize("number", range(3))
@EVERY_METHOD
def test_enumeration_agrees(method: str, number: int) -> None:
    problem, least = tiny(number)
    result = suppress(problem, method, attackers=[])
    assert all(is_protected(problem, result.pattern).values())
    assert result.cost >= least
    assert result.lower_bound is None or result.lower_bound <= least * (1 + 1e-9)
    assert result.outcome != "optimal" or result.cost == least


# -- equal costs ---------------------------------------------------------------------------------------------


@cache
def tied(number: int) -> Problem:
    """A table in which every cell costs the same."""
    rng = np.random.default_rng(number)
    shape = (3, 3) if number % 2 else (3, 4)
    problem = two_way(rng.integers(1, 12, shape).tolist(), primaries={(0, 1): 1, (number % 3, 2): 1})
    return problem.replace(weight=np.ones(problem.table.num_cells))


@cache
def has_inner_pattern(number: int, cost: int) -> bool:
    """Whether so many inner cells would do, by enumeration."""
    problem = tied(number)
    inner = np.flatnonzero(~totals_of(problem) & ~problem.hidden_at_start).tolist()
    for cells in combinations(inner, cost):
        hidden = problem.hidden_at_start.copy()
        hidden[list(cells)] = True
        if all(is_protected(problem, Pattern.hiding(problem, hidden, "enumerated")).values()):
            return True
    return False


def totals_of(problem: Problem) -> Bool:
    return np.array(["Total" in name for name in problem.table.cell_names(range(problem.table.num_cells))])


def key_of(problem: Problem, hidden: Bool) -> tuple[float, int, int]:
    """Cost, value and totals among what is hidden beyond the primaries."""
    added = hidden & (problem.status != Status.PRIMARY)
    figures = problem.weight, problem.table.values, totals_of(problem)
    cost, value, totals = (figure[added].sum() for figure in figures)
    return float(cost), int(value), int(totals)


@pytest.mark.parametrize("number", range(6))
@EVERY_METHOD
def test_inner_cells_rather_than_totals_at_equal_cost(method: str, number: int) -> None:
    problem = tied(number)
    result = suppress(problem, method)
    check(problem, result)
    cost, _, totals = key_of(problem, result.pattern.hidden)
    assert not totals or not has_inner_pattern(number, int(cost))


@pytest.mark.parametrize("number", range(4))
@EVERY_METHOD
def test_an_exchange_at_equal_cost_loses_nothing(
    method: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = tied(number)
    exchanged = suppress(problem, method)
    monkeypatch.setattr(equal_cost, "with_preferred_cells", lambda problem, draft, deadline: draft)
    plain = suppress(problem, method)
    assert key_of(problem, exchanged.pattern.hidden) <= key_of(problem, plain.pattern.hidden)
    assert exchanged.lower_bound == plain.lower_bound
    assert plain.outcome != "optimal" or exchanged.outcome == "optimal"


def test_values_as_weights_leave_no_choice() -> None:
    problem = even(5, 4)
    assert preferred_weights(problem) is problem.weight


# -- nothing can be done -------------------------------------------------------------------------------------


def all_but_one_frozen() -> Problem:
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})
    status = np.where(problem.status == Status.PRIMARY, Status.PRIMARY, Status.FROZEN)
    return problem.replace(status=status.astype(np.int8))


def beyond_its_bounds() -> Problem:
    return two_way([[20, 50, 9], [8, 19, 7], [5, 6, 9]], primaries={(0, 0): (25, 2), (1, 1): (1, 1)})


def neighbours_known_too_well() -> Problem:
    """The cell may move, but what stands around it cannot move as far."""
    problem = two_way([[40, 40, 40], [40, 40, 40]], primaries={(0, 0): (15, 15)})
    table = problem.table
    near = np.abs(table.values)
    ub = np.where(near == 40, 42, table.values + 1)
    lb = np.where(near == 40, 38, table.values - 1)
    cell = int(problem.primaries[0])
    ub[cell], lb[cell] = UNBOUNDED, 0
    return problem.replace(lb=lb, ub=ub)


def sliding_too_wide() -> Problem:
    problem = even(3, 3)
    cell = problem.table.cell("r1", "c1")
    value = int(problem.table.values[cell])
    problem = with_levels(problem, {cell: (1, 1, value + 20)})
    ub = problem.ub.copy()
    ub[cell] = value + 10
    return problem.replace(ub=ub)


HOPELESS = {
    "all but one frozen": (all_but_one_frozen, {"(r0, c0)"}),
    "beyond its bounds": (beyond_its_bounds, {"(r0, c0)"}),
    "neighbours known too well": (neighbours_known_too_well, {"(r0, c0)"}),
    "sliding too wide": (sliding_too_wide, {"(r1, c1)"}),
}


@pytest.mark.parametrize("kind", HOPELESS)
@EVERY_METHOD
def test_infeasible_problems_name_the_cells(method: str, kind: str) -> None:
    make, cells = HOPELESS[kind]
    with pytest.raises(InfeasibleError) as caught:
        suppress(make(), method, attackers=[])
    assert set(caught.value.cells) == cells


# -- limits and orders ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["flat 3-D", "two trees", "linked tables", "frozen cells", "instance file"])
@EVERY_METHOD
def test_out_of_time_is_safe_and_says_so(method: str, kind: str) -> None:
    problem = problem_of(kind)
    result = suppress(problem, method, attackers=[], seed=3, options=SHORT.get(method), time_limit=1e-9)
    check(problem, result)
    if (result.pattern.hidden != protected(method, kind).pattern.hidden).any():
        assert "time limit" in result.reason


@EVERY_METHOD
def test_order_of_cells_does_not_matter_for_safety(method: str) -> None:
    problem = problem_of("two trees")
    table = problem.table
    order = np.random.default_rng(5).permutation(table.num_cells)
    shuffled = problem.replace(
        table=table.replace(
            keys=tuple(column[order] for column in table.keys),
            values=table.values[order],
            contributors=None,
            relations=table.relations.renumber(table.num_cells, np.argsort(order)),
        ),
        **{
            name: getattr(problem, name)[order]
            for name in ("status", "weight", "lb", "ub", "lpl", "upl", "spl")
        },
    )
    check(shuffled, suppress(shuffled, method, attackers=[]))
