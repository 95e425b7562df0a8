"""Adjusted tables: the paper's example, enumeration over all senses, starts, searches, limits, conflicts."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, milp

import cellveil as cv
from cellveil.adjustment import OBJECTIVES, STARTS
from cellveil.adjustment.adjust_params import AdjustParams
from cellveil.adjustment.block_descent import descend
from cellveil.adjustment.fixed_senses import FixedSenses
from cellveil.adjustment.imbalance_rows import imbalances
from cellveil.adjustment.mixed_integer import SenseProgram
from cellveil.adjustment.model import Model, build_model, kinds_of_cells
from cellveil.adjustment.start_rules import start_senses
from cellveil.adjustment.tabu import Tabu
from cellveil.clock import Deadline
from cellveil.problem import Problem, Status

COX_DANDEKAR = [
    [200, 40, 50, 200, 120],
    [20, 70, 60, 100, 120],
    [40, 90, 250, 100, 30],
    [100, 150, 30, 80, 150],
]
SENSITIVE = [(0, 3), (1, 3), (2, 2), (3, 0), (3, 1), (3, 4)]
TEN = cv.Limits.same(10)
FEW = {"splitting.tries": 4, "iterations": 200}
"""A tenth of the short annealings: small tables need no more."""


@pytest.fixture(scope="module")
def paper() -> Problem:
    return cv.two_way(
        COX_DANDEKAR, primaries={cell: COX_DANDEKAR[cell[0]][cell[1]] // 10 for cell in SENSITIVE}
    )


def three_way(seed: int, primaries: int = 4) -> Problem:
    rng = np.random.default_rng(seed)
    names = ["a", "b"]
    dims = [cv.Dimension.of(name, cv.Hierarchy.flat(names)) for name in "xyz"]
    keys = list(itertools.product(names, repeat=3))
    columns = {name: [key[k] for key in keys] for k, name in enumerate("xyz")}
    table = cv.table_from_interior(dims, columns, rng.integers(5, 60, len(keys)))
    inner = np.flatnonzero(kinds_of_cells(table) == 0)
    cells = rng.choice(inner, primaries, replace=False)
    return Problem.of(table, {int(c): tuple(rng.integers(1, 5, 2).tolist()) for c in cells})


# -- the paper -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("objective", "best", "alternating"), [("l1", 198, 214), ("value", 35820, 41280)])
def test_the_papers_table(paper: Problem, objective: str, best: float, alternating: float) -> None:
    found = cv.adjust(paper, objective=objective, limits=TEN)
    assert (found.outcome, found.cost, found.gap) == ("optimal", best, 0.0)
    for rule in ("alternating-down", "alternating-up"):
        one = cv.adjust(paper, "start", start=rule, objective=objective, limits=TEN)
        assert one.cost == alternating and one.lower_bound <= best


def test_one_per_cent_is_too_little_and_the_way_out_is_named(paper: Problem) -> None:
    with pytest.raises(cv.AdjustmentError, match="relations conflict") as caught:
        cv.adjust(paper, limits=cv.Limits.same(1))
    wide_enough = caught.value.details["limit_percent"]
    assert 1 < wide_enough <= 10 and caught.value.exit_code == 3
    assert cv.adjust(paper, limits=cv.Limits.same(wide_enough + 0.01)).is_safe


# -- against enumeration -------------------------------------------------------------------------------------


def best_by_enumeration(problem: Problem, objective: str, limit: float | None) -> float:
    """All senses, one integer program each, by SciPy; squares by their values at every whole number."""
    values, status = problem.table.values, problem.status
    matrix = problem.table.relations.matrix.toarray()
    most = AdjustParams().farthest * int(np.maximum(problem.upl, problem.lpl).sum()) + 1
    up = np.minimum(problem.up, most)
    down = np.minimum(problem.down, most)
    if limit is not None:
        others = status != Status.PRIMARY
        up = np.where(others, np.minimum(up, np.floor(limit * values / 100 + 1e-9)), up)
        down = np.where(others, np.minimum(down, np.floor(limit * values / 100 + 1e-9)), down)
    up, down = np.where(status == Status.FROZEN, 0, up), np.where(status == Status.FROZEN, 0, down)
    weight = values.astype(float) if objective == "value" else np.ones(len(values))
    best = np.inf
    for senses in itertools.product([True, False], repeat=len(problem.primaries)):
        low, high = -down.copy(), up.copy()
        for cell, rises in zip(problem.primaries, senses, strict=True):
            low[cell], high[cell] = (
                (problem.upl[cell], up[cell]) if rises else (-down[cell], -problem.lpl[cell])
            )
        if (low <= high).all():
            best = min(best, _integer_program(matrix, low, high, weight, 2 if objective == "l2" else 1))
    return best


def _integer_program(matrix: Any, low: Any, high: Any, weight: Any, power: int) -> float:
    n = len(low)
    zero = np.zeros((matrix.shape[0], n))
    constraints = [LinearConstraint(np.hstack([matrix, zero]), 0, 0)]
    eye = np.eye(n)
    if power == 1:
        constraints += [
            LinearConstraint(np.hstack([eye, -eye]), -np.inf, 0),
            LinearConstraint(np.hstack([-eye, -eye]), -np.inf, 0),
        ]
    else:  # t ≥ (2k + 1)|y| − k(k + 1): the lines through neighbouring whole numbers
        for k in range(25):
            for sign in (1, -1):
                part = np.hstack([sign * (2 * k + 1) * eye, -eye])
                constraints.append(LinearConstraint(part, -np.inf, k * (k + 1)))
    answer = milp(
        np.concatenate([np.zeros(n), weight]),
        constraints=constraints,
        integrality=np.concatenate([np.ones(n), np.zeros(n)]),
        bounds=(np.concatenate([low, np.zeros(n)]), np.concatenate([high, np.full(n, np.inf)])),
    )
    return float(answer.fun) if answer.success else np.inf


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 40), min_size=3, max_size=3), min_size=2, max_size=3),
    st.integers(0, 10**6),
    st.sampled_from(["l1", "value"]),
    st.sampled_from([None, 30.0]),
)
def test_exact_equals_enumeration(interior: Any, seed: int, objective: str, limit: float | None) -> None:
    rng = np.random.default_rng(seed)
    filled = [(i, j) for i, row in enumerate(interior) for j, value in enumerate(row) if value > 0]
    if len(filled) < 3:
        return
    chosen = [filled[k] for k in rng.choice(len(filled), 3, replace=False)]
    levels = {(i, j): (int(rng.integers(1, interior[i][j] + 1)), int(rng.integers(1, 9))) for i, j in chosen}
    problem = cv.two_way(interior, primaries=levels)
    expected = best_by_enumeration(problem, objective, limit)
    try:
        found = cv.adjust(problem, objective=objective, limits=cv.Limits.same(limit))
    except cv.AdjustmentError:
        assert expected == np.inf
        return
    assert found.is_safe and found.cost == pytest.approx(expected)
    assert found.outcome == "optimal" and found.lower_bound == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(6))
def test_exact_equals_enumeration_in_three_dimensions(seed: int) -> None:
    problem = three_way(seed)
    found = cv.adjust(problem)
    assert found.cost == pytest.approx(best_by_enumeration(problem, "l1", None))


@pytest.mark.parametrize("seed", range(3))
def test_squares_equal_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    interior = rng.integers(5, 25, (2, 3)).tolist()
    problem = cv.two_way(interior, primaries={(0, 0): (2, 3), (1, 2): (4, 1)})
    found = cv.adjust(problem, objective="l2")
    assert found.cost == pytest.approx(best_by_enumeration(problem, "l2", None))


# -- the contract --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", "exact", "tabu", "descent", "start"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_method_keeps_everything(method: str, objective: str) -> None:
    problem = cv.random_table((4, 3), contributors=3, zeros=0.1, primaries=0.25, seed=3, unit=10)
    before = problem.content_hash
    found = cv.adjust(problem, method, objective=objective, options=FEW)
    assert found.is_safe and not problem.table.relations.residuals(found.values)
    y = found.values - problem.table.values
    own = problem.primaries
    assert ((y[own] >= problem.upl[own]) | (y[own] <= -problem.lpl[own])).all()
    assert (found.values >= problem.lb).all() and (y[problem.status == Status.FROZEN] == 0).all()
    assert found.lower_bound is not None and found.lower_bound <= found.cost * (1 + 1e-9)
    assert problem.content_hash == before
    again = cv.adjust(problem, method, objective=objective, options=FEW)
    assert (again.values == found.values).all()


def test_decimals_do_not_matter() -> None:
    whole = cv.two_way([[200, 400], [300, 500]], primaries={(0, 0): 20, (1, 1): 30})
    parts = cv.two_way([[2, 4], [3, 5]], primaries={(0, 0): 20, (1, 1): 30}, decimals=2)
    assert (parts.table.values == whole.table.values).all()
    one, other = cv.adjust(whole), cv.adjust(parts)
    assert one.cost == pytest.approx(100 * other.cost) and other.outcome == "optimal"
    values = cv.adjust(whole, objective="value"), cv.adjust(parts, objective="value")
    assert values[0].cost == pytest.approx(100**2 * values[1].cost)


def test_limits_by_kind_of_cell(paper: Problem) -> None:
    kinds = kinds_of_cells(paper.table)
    assert np.bincount(kinds).tolist() == [20, 9, 1]
    found = cv.adjust(paper, limits=cv.Limits(interior=20, marginals=3, total=0))
    y = np.abs(found.values - paper.table.values)
    assert y[kinds == 2].item() == 0
    assert (100 * y[kinds == 1] <= 3 * paper.table.values[kinds == 1]).all()
    with pytest.raises(cv.InputError):
        cv.Limits(interior=-1)


def test_a_cell_with_one_level_has_one_sense() -> None:
    problem = cv.two_way([[10, 20], [30, 40]], primaries={(0, 0): (0, 4), (1, 1): (5, 0)})
    model = build_model(problem)
    assert model.can_fall.tolist() == [False, True] and model.can_rise.tolist() == [True, False]
    found = cv.adjust(problem)
    assert found.senses.tolist() == [True, False]


def test_no_room_for_either_sense_is_named() -> None:
    problem = cv.two_way([[10, 20], [30, 40]], primaries={(0, 0): (10, 5)})
    cell = problem.primaries[0]
    lb, ub = problem.lb.copy(), problem.ub.copy()
    lb[cell], ub[cell] = 5, 12
    with pytest.raises(cv.AdjustmentError, match="neither sense"):
        cv.adjust(problem.replace(lb=lb, ub=ub))


def test_sliding_levels_widen_both() -> None:
    problem = cv.two_way([[10, 20], [30, 40]], primaries={(0, 0): (1, 1)})
    spl = problem.spl.copy()
    spl[problem.primaries] = 7
    model = build_model(problem.replace(spl=spl))
    assert (model.rise.tolist(), model.fall.tolist()) == ([4], [3])
    assert cv.adjust(problem.replace(spl=spl)).is_safe


# -- starts and searches -------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", STARTS)
def test_starts(paper: Problem, rule: str) -> None:
    model = build_model(paper, limits=TEN)
    senses = start_senses(model, rule, seed=1)  # type: ignore[arg-type]
    order = np.argsort(-paper.table.values[model.cells], kind="stable")
    if rule in ("up", "down"):
        assert (senses == (rule == "up")).all()
    if rule.startswith("alternating"):
        assert senses[order[0]] == (rule == "alternating-up") and senses[order[1]] != senses[order[0]]
        assert senses.sum() == 3


@pytest.mark.parametrize("seed", range(3))
def test_searches_find_the_optimum_of_small_tables(paper: Problem, seed: int) -> None:
    model = build_model(paper, "value", TEN)
    program = FixedSenses(model)
    start = program.fit(start_senses(model, "alternating-up"))
    assert start is not None and start.cost == 41280
    assert Tabu(program, start, seed=seed).run(40, Deadline(None)).cost == 35820
    assert descend(program, start, 6, Deadline(None), seed=seed).cost == 35820


def test_any_judge(paper: Problem) -> None:
    def largest_change(true: Any, adjusted: Any) -> float:
        return float(np.abs(true - adjusted).max())

    plain = cv.adjust(paper, "start", start="alternating-up", limits=TEN)
    settings = {"start": "alternating-up", "limits": TEN, "options": FEW}
    searched = cv.adjust(paper, "tabu", judge=largest_change, **settings)
    values = paper.table.floats()
    assert largest_change(values, searched.values) <= largest_change(values, plain.values)


@pytest.mark.parametrize("seed", range(4))
def test_rows_of_imbalance_hold_for_every_adjustment(seed: int) -> None:
    problem = three_way(seed)
    model = build_model(problem)
    rows = imbalances(model)
    assert len(rows.rows)
    program = FixedSenses(model)
    sizes = np.abs(model.relations.matrix.toarray())
    for senses in itertools.product([True, False], repeat=len(model.cells)):
        fit = program.fit(np.array(senses))
        if fit is None:
            continue
        own = np.where(senses, model.rise, model.fall)
        beyond = np.abs(fit.y).astype(float)
        beyond[model.cells] -= own
        assert (sizes[rows.rows] @ beyond >= rows.amounts - 1e-9).all()


def test_the_relaxation_is_a_bound_and_better_than_the_levels() -> None:
    problem = three_way(1)
    model: Model = build_model(problem)
    bound = SenseProgram(model, None).relaxation()
    assert bound is not None
    least = float(np.minimum(model.rise, model.fall).sum())
    assert least < bound <= cv.adjust(problem).cost + 1e-6


class InterruptedAt(cv.Progress):
    """Somebody presses Ctrl-C as the search comes to a stage."""

    def __init__(self, number: int) -> None:
        self.left = number

    def stage(self, name: str) -> None:
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


def test_an_interrupt_keeps_the_best_adjustment(paper: Problem) -> None:
    with pytest.raises(KeyboardInterrupt):  # nothing yet
        cv.adjust(paper, progress=InterruptedAt(1))
    found = cv.adjust(paper, progress=InterruptedAt(2))
    assert found.was_interrupted and found.reason == "interrupted" and not found.audit.objections
    assert cv.audit(paper, found).is_safe
