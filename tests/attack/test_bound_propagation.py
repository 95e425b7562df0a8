"""Unpicking against the definition in plain Python, the LP attack, and the papers' tables."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellveil.attack.bound_propagation import Unpicked, unpick
from cellveil.attack.intervals import OutsiderAttack
from cellveil.datasets import random_table
from cellveil.errors import InputError
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.public_view import PublicView
from cellveil.tables.relations import Relations
from cellveil.tables.scaled import UNBOUNDED
from helpers.bound_propagation import Bounds, reference
from helpers.small_problems import SHAPES, half_hidden_problem, small_problem
from helpers.worked_examples import EXAMPLES, needs_examples, number, problem_of


def view_of(problem: Problem) -> PublicView:
    return PublicView.of(problem, Pattern.hiding(problem, problem.hidden_at_start, "given"))


def made(
    rows: list[list[tuple[int, int]]],
    rhs: list[int],
    lb: list[float | int],
    ub: list[float | int],
    published: dict[int, int] | None = None,
) -> PublicView:
    """A view from scratch; −inf and inf stand for no bound."""
    n, published = len(lb), published or {}
    hidden = np.array([cell not in published for cell in range(n)])
    values = np.array([published.get(cell, 0) for cell in range(n)], dtype=np.int64)
    low = np.array([-UNBOUNDED if bound == -math.inf else bound for bound in lb], dtype=np.int64)
    high = np.array([UNBOUNDED if bound == math.inf else bound for bound in ub], dtype=np.int64)
    return PublicView(Relations.from_rows(n, rows, rhs), hidden, values, low, high)


def as_lists(found: Unpicked) -> tuple[Bounds, Bounds]:
    low: Bounds = [-math.inf if b == -UNBOUNDED else b for b in found.lower.tolist()]
    high: Bounds = [math.inf if b == UNBOUNDED else b for b in found.upper.tolist()]
    return low, high


def unbounded(problem: Problem, rng: np.random.Generator) -> Problem:
    """The same with some bounds taken away."""
    n = problem.table.num_cells
    return problem.replace(
        lb=np.where(rng.random(n) < 0.2, -UNBOUNDED, problem.lb),
        ub=np.where(rng.random(n) < 0.7, UNBOUNDED, problem.ub),
    )


@cache
def examples(shape: str) -> list[Problem]:
    rng = np.random.default_rng(100 + SHAPES.index(shape))
    few = [half_hidden_problem(shape, rng) for _ in range(3)]
    many = [small_problem(shape, rng, primaries=k) for k in (3, 6, 12, 18)]
    return [*few, *many, *(unbounded(problem, rng) for problem in few + many)]


@pytest.mark.parametrize("shape", SHAPES)
def test_equals_the_definition(shape: str) -> None:
    for problem in examples(shape):
        view = view_of(problem)
        found = unpick(view)
        assert found.is_complete
        assert as_lists(found) == reference(view, 1000)
        for rounds in range(found.rounds):
            assert as_lists(unpick(view, rounds=rounds)) == reference(view, rounds)
            assert not unpick(view, rounds=rounds).is_complete


@pytest.mark.parametrize("shape", SHAPES)
def test_holds_the_truth_and_the_interval_of_the_lp(shape: str) -> None:
    narrower = 0
    for problem in examples(shape):
        view = view_of(problem)
        found = unpick(view)
        values = problem.table.values
        assert (found.lower <= values).all()
        assert (values <= found.upper).all()
        attack = OutsiderAttack(view, values)
        low, high = as_lists(found)
        for cell in np.flatnonzero(view.hidden).tolist():
            least, most = attack.push(cell, up=False), attack.push(cell, up=True)
            assert least is not None
            assert most is not None
            assert low[cell] <= least + 1e-6
            assert high[cell] >= most - 1e-6
            narrower += high[cell] < math.inf and high[cell] < view.ub[cell]
    assert narrower, "the examples must show something to unpick"


@st.composite
def systems(draw: st.DrawFn) -> tuple[PublicView, list[int]]:
    """Relations of any coefficients, some bounds missing, some values huge, and a table that fits."""
    n = draw(st.integers(1, 7))
    size = draw(st.sampled_from([10, 10**6, 2**58, 2**61]))
    truth = draw(st.lists(st.integers(-size, size), min_size=n, max_size=n))
    rows = []
    for _ in range(draw(st.integers(0, 5))):
        cells = draw(st.lists(st.integers(0, n - 1), unique=True, max_size=n))
        rows.append([(cell, draw(st.sampled_from([-3, -2, -1, -1, 0, 1, 1, 2, 5]))) for cell in cells])
    rhs = [sum(coef * truth[cell] for cell, coef in row) for row in rows]
    keep = [k for k, b in enumerate(rhs) if abs(b) < 2**62]
    width = st.one_of(st.just(math.inf), st.integers(0, size))
    lb = [value - draw(width) for value in truth]
    ub = [value + draw(width) for value in truth]
    published = {cell: truth[cell] for cell in range(n) if draw(st.booleans())}
    return made([rows[k] for k in keep], [rhs[k] for k in keep], lb, ub, published), truth


@settings(max_examples=300, deadline=None)
@given(systems(), st.integers(0, 8))
def test_any_relations_of_any_size(system: tuple[PublicView, list[int]], rounds: int) -> None:
    view, truth = system
    low, high = as_lists(unpick(view, rounds=rounds))
    assert (low, high) == reference(view, rounds)
    assert all(a <= value <= b for a, value, b in zip(low, truth, high, strict=True))


@pytest.mark.parametrize("shape", SHAPES)
def test_names_the_relation_that_gives_each_bound(shape: str) -> None:
    """From the final bounds, the named relation alone yields the bound that it is named for."""
    named = 0
    for problem in examples(shape):
        view = view_of(problem)
        found = unpick(view)
        for which, bounds, start in (
            (found.lower_from, found.lower, view.lb),
            (found.upper_from, found.upper, view.ub),
        ):
            told = which >= 0
            assert not told[~view.hidden].any()
            assert (told == (view.hidden & (bounds != start))).all()
            for cell in np.flatnonzero(told).tolist():
                one = PublicView(
                    view.relations.take_rows(which[[cell]]), view.hidden, view.published,
                    np.where(np.arange(len(told)) == cell, view.lb, found.lower),
                    np.where(np.arange(len(told)) == cell, view.ub, found.upper),
                )  # fmt: skip
                again = unpick(one, rounds=1)
                assert (again.lower if which is found.lower_from else again.upper)[cell] == bounds[cell]
                named += 1
    assert named


def test_of_equal_relations_the_first_is_named() -> None:
    rows = [[(0, 1)], [(0, -1), (1, 1)], [(0, 1), (1, -1)]]
    found = unpick(made(rows, [4, 0, 0], [0, 0], [9, 9]))
    assert found.is_point.all()
    assert found.lower_from.tolist() == found.upper_from.tolist() == [0, 1]
    assert found.rounds == 2


def test_one_unbounded_cell_is_bounded_by_the_others() -> None:
    infinite = math.inf
    found = unpick(made([[(0, -1), (1, 1), (2, 1)]], [0], [-infinite, 0, 0], [infinite, 4, 5]))
    assert as_lists(found) == ([0, 0, 0], [9, 4, 5])
    found = unpick(made([[(0, -1), (1, 1), (2, 1)]], [0], [0, 0, -infinite], [7, infinite, infinite]))
    assert as_lists(found) == ([0, 0, -infinite], [7, infinite, 7])


def test_bounds_that_are_not_whole_are_rounded_outwards() -> None:
    """2 x = 7 has no whole solution, yet nobody may claim more than 3 ≤ x ≤ 4 in whole numbers."""
    found = unpick(made([[(0, 2)]], [7], [0], [100]))
    assert (found.lower.tolist(), found.upper.tolist()) == ([3], [4])
    found = unpick(made([[(0, -2)]], [7], [-100], [100]))
    assert (found.lower.tolist(), found.upper.tolist()) == ([-4], [-3])


def test_creeping_bounds_end_in_time_and_stay_true() -> None:
    """x = y and 1000 x = 999 y leave only 0, which the bounds approach by a thousandth each round."""
    view = made([[(0, 1), (1, -1)], [(0, 1000), (1, -999)]], [0, 0], [0, 0], [10**12, 10**12])
    found = unpick(view)
    assert not found.is_complete
    assert found.lower.tolist() == [0, 0]
    assert (found.upper > 0).all()
    assert as_lists(found) == reference(view, found.rounds)


def test_contradictions_are_refused() -> None:
    with pytest.raises(InputError, match="contradict each other"):
        unpick(made([[(0, 1), (1, 1)]], [3], [5, 0], [9, 9]))
    with pytest.raises(InputError, match="contradict each other"):  # x = y and x = y + 1 would never end
        unpick(made([[(0, 1), (1, -1)], [(0, 1), (1, -1)]], [0, 1], [0, 0], [50, 50]))


def test_nothing_hidden_and_no_relations() -> None:
    published = unpick(made([[(0, 1), (1, -1)]], [0], [0, 0], [9, 9], {0: 4, 1: 4}))
    assert published.is_point.all()
    assert published.is_complete
    alone = unpick(made([], [], [0], [math.inf]))
    assert (alone.lower.tolist(), alone.upper.tolist()) == ([0], [UNBOUNDED])
    assert alone.lower_from.tolist() == [-1]


def test_says_no_value_in_repr() -> None:
    assert repr(unpick(made([[(0, 1)]], [77], [0], [99]))) == "Unpicked(1 cells, 1 rounds, complete)"


def test_order_of_relations_and_cells_does_not_matter() -> None:
    problem = random_table((6, 5, 4), primaries=0.3, seed=3)
    view = view_of(problem)
    rng = np.random.default_rng(0)
    number_of = rng.permutation(problem.table.num_cells)
    back = np.argsort(number_of)
    relations = view.relations.take_rows(rng.permutation(len(view.relations)))
    other = PublicView(
        relations.renumber(len(number_of), number_of),
        *(column[back] for column in (view.hidden, view.published, view.lb, view.ub)),
    )
    first, second = unpick(view), unpick(other)
    assert (first.lower == second.lower[number_of]).all()
    assert (first.upper == second.upper[number_of]).all()
    assert first.rounds == second.rounds > 1


@needs_examples
@pytest.mark.parametrize("name", ["serpell2013-fig1", "serpell2013-fig3-cox"])
def test_papers_tables(name: str) -> None:
    """The first table is unpicked to the ends of the LP; in Cox's table nothing can be."""
    problem = problem_of(EXAMPLES[name])
    expected = EXAMPLES[name]["attack_with_only_primaries_suppressed"]
    found = unpick(view_of(problem))
    values = problem.table.values
    short = (found.lower > values - problem.lpl) | (found.upper < values + problem.upl)
    exposed = set(np.flatnonzero(short & problem.hidden_at_start).tolist())
    assert exposed == {number(problem, cell) for cell in expected["E_unpicking"]}
    if name == "serpell2013-fig1":
        for cell, (low, high) in expected["intervals"].items():
            place = number(problem, cell)
            assert (found.lower[place], found.upper[place]) == (low, high)
    else:
        corner = number(problem, [0, 0])
        assert (found.lower[corner], found.upper[corner]) == (0, 300)
        attack = OutsiderAttack(view_of(problem), values)
        assert attack.push(corner, up=True) == pytest.approx(100)
        assert attack.push(corner, up=False) == pytest.approx(100)
