"""The cover bound: never above what a safe pattern costs, and not below it without need."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_matrix

import cellveil.suppression.bounds.cover as cover
from cellveil.clock import Deadline
from cellveil.datasets import random_table, two_way
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.solvers.covering import Covering, proven_bound, solve_relaxed
from cellveil.suppression import suppress
from cellveil.suppression.bounds.cover import CoverParams, cover_bound
from cellveil.suppression.bounds.implied_demands import with_implied_demands
from cellveil.suppression.bounds.relation_rows import RelationBridges
from cellveil.tables.dimension import Dimension
from cellveil.tables.relations import Relations
from cellveil.tables.table import Table
from helpers.brute_force import is_protected
from helpers.examples import examples, few_of
from helpers.small_problems import SHAPES, half_hidden_problem, small_problem


def least_cost(problem: Problem) -> float:
    """The optimum, by one mixed-integer program with a deviation of its own for each demand; ∞ if none."""
    n, primaries = problem.table.num_cells, problem.primaries
    movable = problem.status != Status.FROZEN
    up, down = (np.diag(np.where(movable, room, 0.0)) for room in (problem.up, problem.down))
    matrix = problem.table.relations.matrix.toarray()
    width = n * (1 + 2 * len(primaries))
    rows, low = [], []
    for k, cell in enumerate(primaries):
        rise, fall = (slice(n * (1 + 2 * k + i), n * (2 + 2 * k + i)) for i in (0, 1))
        for own in (rise, fall):
            block = np.zeros((2 * len(matrix) + 2 * n, width))
            block[:, own] = np.vstack([matrix, -matrix, -np.eye(n), np.eye(n)])
            block[2 * len(matrix) :, :n] = np.vstack([up, down])  # y ≤ up x, y ≥ −down x
            rows.append(block)
            low.append(np.zeros(len(block)))
        levels = np.zeros((3, width))
        levels[:, rise.start + cell], levels[:, fall.start + cell] = (1, 0, 1), (0, -1, -1)
        rows.append(levels)
        low.append(np.array([problem.upl[cell], problem.lpl[cell], problem.spl[cell]], dtype=float))
    free = np.full(width - n, np.inf)
    found = milp(
        np.concatenate([np.where(problem.hidden_at_start, 0.0, problem.weight), 0 * np.ones(width - n)]),
        integrality=np.concatenate([np.ones(n), np.zeros(width - n)]),
        bounds=Bounds(np.concatenate([problem.hidden_at_start, -free]), np.concatenate([movable, free])),
        constraints=LinearConstraint(np.vstack(rows), np.concatenate(low)),
        options={"mip_rel_gap": 0.0, "presolve": False},  # which was seen to cut off optima
    )
    assert found.status in (0, 2)
    return float(found.fun) if found.status == 0 else np.inf


def least_cost_by_enumeration(problem: Problem) -> float:
    """The cheapest set of further cells that protects everything, judged vertex by vertex."""
    free = np.flatnonzero((problem.status == Status.SAFE) & (problem.table.values > 0))
    relations = problem.table.relations
    choices = [c for size in range(7) for c in combinations(free.tolist(), size)]
    for choice in sorted(choices, key=lambda c: problem.weight[list(c)].sum()):
        hidden = problem.hidden_at_start.copy()
        hidden[list(choice)] = True
        if (np.bincount(relations.row_of_entry[hidden[relations.cells]]) == 1).any():
            continue  # a cell alone in a relation does not move: a cheaper choice is as safe
        if all(is_protected(problem, Pattern.hiding(problem, hidden, "choice")).values()):
            return float(problem.weight[list(choice)].sum())
    return np.inf


def bounds(problem: Problem) -> tuple[float, float]:
    return cover_bound(problem).bound, cover_bound(problem, integral=True).bound


def tiny_problem(rng: np.random.Generator) -> Problem:
    """A two-way table of at most 12 cells with finite bounds."""
    interior = rng.integers(1, 20, (2, int(rng.integers(2, 4)))).tolist()
    problem = two_way(interior, {(0, 0): (1, int(rng.integers(1, 6)))})
    ub = problem.table.values + rng.integers(1, 30, problem.table.num_cells)
    return problem.replace(ub=ub, weight=rng.integers(1, 20, problem.table.num_cells).astype(float))


@pytest.mark.parametrize("number", few_of([3, 20], 1))
@pytest.mark.parametrize("shape", SHAPES)
def test_never_above_the_optimum(shape: str, number: int) -> None:
    rng = np.random.default_rng(SHAPES.index(shape))
    reached = solvable = 0
    while solvable < number:
        problem = small_problem(shape, rng, primaries=2)
        if solvable % 3 == 0:
            problem = problem.replace(weight=np.ones(problem.table.num_cells))
        best = least_cost(problem)
        relaxed, whole = bounds(problem)
        assert relaxed <= whole <= best + 1e-6
        solvable += best < np.inf
        reached += whole == pytest.approx(best) and 0 < best < np.inf
    assert reached


@pytest.mark.parametrize("number", few_of([2, 16], 1))
@pytest.mark.parametrize("shape", SHAPES)
def test_implied_demands_leave_the_optimum_as_it_is(shape: str, number: int) -> None:
    rng = np.random.default_rng(40 + SHAPES.index(shape))
    forced = solvable = 0
    while solvable < number:
        problem = small_problem(shape, rng, primaries=2)
        level = np.where(problem.status == Status.PRIMARY, rng.integers(1, 60, len(problem.status)), 0)
        problem = problem.replace(upl=level)
        implied = with_implied_demands(problem, problem.status != Status.FROZEN, 10)
        more = implied.hidden_at_start & ~problem.hidden_at_start
        best = least_cost(problem)
        if best == np.inf:
            continue
        assert least_cost(implied) + problem.weight[more].sum() == pytest.approx(best)
        solvable, forced = solvable + 1, forced + more.sum()
    assert forced


def test_what_covers_a_giant_is_hidden_at_every_level() -> None:
    """All others together are smaller than what the giant must be able to rise by."""
    tree = random_table((13, 9, 5), hierarchical=(0, 1), seed=3)
    values, table = tree.table.values, tree.table
    axes = list(zip(table.dimensions, table.keys, strict=True))
    is_leaf = np.all([~dimension.is_parent[column] for dimension, column in axes], axis=0)
    giant = int(np.argmax(np.where(is_leaf, values, 0)))
    problem = Problem.of(table, {giant: (0, int(values.max()))})
    above = np.ones(table.num_cells, dtype=bool)
    for dimension, column in axes:
        leaves, codes = dimension.closure
        above &= np.isin(column, codes[leaves == column[giant]])
    found = cover_bound(problem)
    assert above.sum() > 8 and (found.forced >= above & ~problem.hidden_at_start).all()
    assert found.bound >= problem.weight[above].sum() - problem.weight[giant]


def test_never_above_the_optimum_where_much_is_hidden_at_the_start() -> None:
    rng = np.random.default_rng(8)
    for shape in SHAPES:
        for _ in range(4):
            problem = half_hidden_problem(shape, rng)
            assert max(bounds(problem)) <= least_cost(problem) + 1e-4


def test_never_above_the_optimum_by_enumeration() -> None:
    rng = np.random.default_rng(3)
    reached = 0
    for _ in range(12):
        problem = tiny_problem(rng)
        best = least_cost_by_enumeration(problem)
        assert best == pytest.approx(least_cost(problem))
        relaxed, whole = bounds(problem)
        assert relaxed <= whole <= best
        reached += whole == best < np.inf
    assert reached


@examples(8, of=25)
@given(
    st.integers(0, 2**20),
    st.sampled_from([((5, 6), []), ((4, 4, 4), []), ((9, 5), [0]), ((7, 7), [0, 1])]),
    st.sampled_from(["value", "one"]),
    st.sampled_from([1.0, 2.0, 4.0]),
)
def test_never_above_the_cost_of_a_pattern(seed, shape, weight, contributors) -> None:
    sizes, hierarchical = shape
    problem = random_table(
        sizes, hierarchical=hierarchical, contributors=contributors, zeros=0.2, weight=weight, seed=seed
    )
    cost = suppress(problem, attackers=[]).cost
    assert max(bounds(problem)) <= cost


def raised_levels(problem: Problem) -> tuple[object, object]:
    return problem.upl * 1.3 + 1.0, problem.lpl.astype(float)


def all_usable(self, relations, hidden, usable) -> None:
    """Demand company even where cells are hidden at the start."""
    self._init(relations, np.zeros_like(hidden), usable)


@pytest.mark.parametrize("fault", ["levels", "lonely"])
def test_these_tests_catch_an_invalid_row(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if fault == "levels":
        monkeypatch.setattr(cover, "_levels", raised_levels)
    else:
        monkeypatch.setattr(RelationBridges, "_init", RelationBridges.__init__, raising=False)
        monkeypatch.setattr(RelationBridges, "__init__", all_usable)
    with pytest.raises(AssertionError):
        test_never_above_the_optimum("flat 2-D", 10)
        test_never_above_the_optimum("hierarchical", 10)


def one_relation(values, coefs, primaries, **further) -> Problem:
    """A table of one relation."""
    relations = Relations.from_rows(len(values), [list(enumerate(coefs))], [int(np.dot(values, coefs))])
    names = Dimension.unstructured("cell", [str(i) for i in range(len(values))])
    keys = (np.arange(len(values), dtype=np.int32),)
    table = Table((names,), keys, np.array(values, dtype=np.int64), 0, relations)
    return Problem.of(table, primaries, **further)


def test_capacities_in_the_needed_direction() -> None:
    """20 = 8 + 7 + 5 with 8 up by 6: the total may rise at will, the other parts fall by 7 and 5."""
    coefs = [-1, 1, 1, 1]
    assert cover_bound(one_relation([20, 8, 7, 5], coefs, {1: (0, 6)})).bound == 7
    frozen = np.array([0])
    assert cover_bound(one_relation([20, 8, 7, 5], coefs, {1: (0, 6)}, frozen=frozen)).bound == 7
    both = cover_bound(one_relation([20, 8, 7, 5], coefs, {1: (0, 8)}, frozen=frozen), integral=True)
    assert both.bound == 12 and both.suggestion.tolist() == [False, False, True, True]
    assert cover_bound(one_relation([20, 8, 7, 5], coefs, {1: (0, 13)}, frozen=frozen)).bound == np.inf


def test_other_coefficients_and_right_hand_sides() -> None:
    """3a − 2b + c = 4: a up by 2 needs 6, which b rises by 3 for, or c falls by 6 for."""
    values, coefs = [4, 6, 4], [3, -2, 1]
    problem = one_relation(values, coefs, {0: (0, 2)}, weight=np.array([1.0, 9.0, 5.0]))
    alone = cover_bound(problem, params=CoverParams(implied_rounds=0))
    assert alone.bound == 8, "c whole, a third of b"
    assert cover_bound(problem).bound == 9 and cover_bound(problem).forced.tolist() == [False, True, False]
    assert cover_bound(problem, integral=True).bound == 9, "c can only give 4"
    wide = problem.replace(lb=np.array([0, 0, -2], dtype=np.int64))
    assert cover_bound(wide).bound == 5
    tight = problem.replace(ub=np.array([9, 8, 9], dtype=np.int64))
    assert cover_bound(tight, integral=True).bound == 14, "b can give 4 and c 4: both are needed"


def test_sliding_levels() -> None:
    """A cell that cannot rise by more than 1 must fall by the rest of its sliding level."""
    coefs = [-1, 1, 1, 1]
    sliding = np.array([0, 6, 0, 0], dtype=np.int64)
    problem = one_relation([20, 8, 7, 5], coefs, {1: (0, 1)}, spl=sliding)
    room = problem.replace(ub=np.array([20, 9, 10, 9], dtype=np.int64), lb=np.array([20, 0, 0, 0]))
    assert cover_bound(room, integral=True).bound == 12, "down by 5 at least: 3 + 4 of the others"
    free = problem.replace(ub=np.array([20, 14, 8, 6], dtype=np.int64), lb=np.array([20, 2, 5, 4]))
    assert cover_bound(free, integral=True).bound == np.inf, "3 + 2 in all, of 6"
    assert cover_bound(free.replace(spl=sliding * 5 // 6), integral=True).bound == 12


def test_given_secondaries_cost_nothing() -> None:
    problem = one_relation([20, 8, 7, 5], [-1, 1, 1, 1], {1: (0, 6)})
    status = problem.status.copy()
    status[2] = Status.SECONDARY
    helped = problem.replace(status=status)
    assert cover_bound(helped).bound == 0 and not cover_bound(helped).suggestion.any()


def test_the_suggestion_meets_every_relation() -> None:
    """With the suggestion hidden at the start, nothing is left to cover but company for lonely cells."""
    for seed in range(4):
        problem = random_table((6, 7, 5), contributors=2, seed=seed)
        for integral in (False, True):
            found = cover_bound(problem, integral=integral)
            assert not (found.suggestion & problem.hidden_at_start).any()
            status = problem.status.copy()
            status[found.suggestion] = Status.SECONDARY
            left = cover_bound(problem.replace(status=status))
            assert left.bound == 0
        assert found.bound <= problem.weight[found.suggestion].sum()
        assert ((found.fractional >= 0) & (found.fractional <= 1)).all()


def test_huge_amounts() -> None:
    """Levels and capacities beyond 2⁵³ are rounded so that the bound stays one."""
    big = 2**60
    values = [2 * big + 3, big + 1, big + 2]
    problem = one_relation(values, [-1, 1, 1], {1: (0, big + 2)}, frozen=np.array([0]))
    assert 0 < cover_bound(problem).bound <= big + 2
    ub = np.array([2 * big + 3, big + 2**40 + 1, 3 * big])
    spl = np.array([0, big + 2**40 + 1, 0])  # all the room there is
    assert cover_bound(problem.replace(upl=problem.lpl, ub=ub, spl=spl)).bound <= big + 2
    assert cover_bound(problem.replace(ub=ub)).bound == np.inf, "no room for the level"


def test_no_time_and_nothing_to_do() -> None:
    problem = random_table((12, 12), contributors=2, seed=1)
    assert (
        0 <= cover_bound(problem, deadline=Deadline(0.0), integral=True).bound <= cover_bound(problem).bound
    )
    quiet = problem.replace(
        status=np.zeros_like(problem.status), lpl=problem.spl, upl=problem.spl, spl=problem.spl
    )
    assert cover_bound(quiet).bound == 0
    assert "CoverBound(0" in repr(cover_bound(quiet))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**20))
def test_any_multipliers_prove_a_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.random((4, 6)) * (rng.random((4, 6)) < 0.6)
    matrix[:, 0] = 1.0
    program = Covering(rng.integers(1, 9, 6).astype(float), csr_matrix(matrix), np.ones(4))
    points = (np.arange(64)[:, None] >> np.arange(6)) & 1
    best = min(p @ program.cost for p in points if (matrix @ p >= 1 - 1e-12).all())
    assert proven_bound(program, rng.random(4) * 5) <= best
    solved = solve_relaxed(program)
    assert solved.bound <= best and solved.bound == pytest.approx(program.cost @ solved.point, abs=1e-6)
