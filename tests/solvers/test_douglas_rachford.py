"""The splitting engine, the lattice of hidden cells, settling, and growth: floats that become proofs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from cellveil.certificate import verify
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.datasets import random_table
from cellveil.deviations.integer_kernel import Lattice
from cellveil.deviations.joint_witness import JointWitness, Task
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.witness import Witnesses, are_deviations
from cellveil.judge.outsider import audit_outsider
from cellveil.pattern import Pattern
from cellveil.problem import Status
from cellveil.solvers import parallel
from cellveil.solvers.douglas_rachford import Goals, Splitting
from cellveil.solvers.interior_point import interior_point
from cellveil.solvers.projection import SparseProjection, TensorProjection, projection_of
from cellveil.suppression.engines.reweighted_splitting import window
from cellveil.suppression.engines.splitting_search import SplittingSearch, SplittingSearchParams
from helpers.examples import examples, few_of
from helpers.small_problems import SHAPES, small_problem

TABLES = {
    "flat 2-D": ((7, 5), []),
    "flat 3-D": ((5, 4, 6), []),
    "one tree": ((4, 9, 3), [1]),
    "two trees": ((9, 7, 3), [0, 1]),
}
EVERY_TABLE = pytest.mark.parametrize("table", list(TABLES))


def table_named(name, seed=1, **options):
    sizes, trees = TABLES[name]
    return random_table(sizes, hierarchical=trees, zeros=0.2, seed=seed, **options)


def dense_projector(matrix):
    return np.eye(matrix.shape[1]) - np.linalg.pinv(matrix) @ matrix


@EVERY_TABLE
def test_both_projections_are_the_orthogonal_one(table):
    problem = random_table(
        TABLES[table][0], hierarchical=TABLES[table][1], zeros=0.0, contributors=9.0, seed=3
    )
    matrix = problem.table.relations.matrix.toarray()
    y = np.random.default_rng(0).standard_normal((problem.table.num_cells, 3))
    tensor, sparse = projection_of(problem.table), SparseProjection(problem.table.relations.matrix)
    assert isinstance(tensor, TensorProjection) and tensor.size == problem.table.num_cells
    placed = np.zeros((tensor.size, 3))
    placed[tensor.places] = y
    wanted = dense_projector(matrix) @ y
    assert np.allclose(tensor.apply(placed)[tensor.places], wanted, atol=1e-9)
    assert np.allclose(sparse.apply(y), wanted, atol=1e-6)


def test_tables_with_other_relations_are_not_taken_for_tensors():
    problem = table_named("flat 3-D")
    relations = problem.table.relations
    fewer = problem.table.replace(relations=relations.take_rows(np.arange(1, len(relations))))
    assert isinstance(projection_of(fewer), SparseProjection)


@EVERY_TABLE
def test_splitting_comes_to_the_value_of_the_linear_program(table):
    problem = table_named(table)
    projection = projection_of(problem.table)
    engine = Splitting(projection)
    target = int(problem.primaries[0])
    movable = problem.status != Status.FROZEN
    n = problem.table.num_cells
    weight = np.random.default_rng(1).uniform(0.5, 2.0, n)
    low, high = np.where(movable, -1.5, 0.0), np.where(movable, 1.5, 0.0)
    low[target] = high[target] = 1.0
    placed = [np.zeros((projection.size, 1)) for _ in range(2)]
    placed[0][projection.places, 0], placed[1][projection.places, 0] = low, high
    cost = np.zeros(projection.size)
    cost[projection.places] = weight
    state = engine.run(
        engine.start(1, 0.1), cost, (placed[0], placed[1]), Goals.none(), tolerance=1e-7, iterations=20_000
    )
    y = state.z[projection.places, 0]
    matrix = problem.table.relations.matrix
    both = np.hstack([matrix.toarray(), -matrix.toarray()])
    bounds = [(max(a, 0), max(b, 0)) for a, b in zip(low, high, strict=True)]
    bounds += [(max(-b, 0), max(-a, 0)) for a, b in zip(low, high, strict=True)]
    best = linprog(np.r_[weight, weight], A_eq=both, b_eq=np.zeros(len(both)), bounds=bounds)
    assert np.abs(matrix @ y).max() < 1e-6
    assert weight @ np.abs(y) == pytest.approx(best.fun, rel=1e-3)


def test_goals_pull_as_far_as_they_can():
    problem = table_named("flat 3-D")
    projection = projection_of(problem.table)
    engine = Splitting(projection)
    cells = problem.primaries[:4]
    room = np.ones((projection.size, 1))
    goals = Goals(projection.places[cells], np.zeros(4, dtype=np.int64), np.full(4, 0.2), np.full(4, 10.0))
    state = engine.run(
        engine.start(1, 0.05),
        np.zeros(projection.size),
        (-room, room),
        goals,
        tolerance=1e-8,
        iterations=5000,
    )
    assert (state.z[projection.places[cells], 0] > 0.19).all()


# -- exactness --------------------------------------------------------------------------------------------


@given(st.sampled_from(list(TABLES)), st.integers(0, 50))
@examples(12, of=40)
def test_the_lattice_makes_floats_exact(table, seed):
    problem = table_named(table, seed)
    rng = np.random.default_rng(seed)
    hidden = problem.hidden_at_start | (
        (rng.random(problem.table.num_cells) < 0.6) & (problem.table.values > 0)
    )
    cells = np.flatnonzero(hidden)
    matrix = problem.table.relations.matrix[:, cells].toarray()
    y = dense_projector(matrix) @ rng.standard_normal(len(cells)) * 1000
    ledger = Ledger(problem, hidden, is_final=True)
    witness = Lattice(problem.table.relations, cells, rng.random(len(cells))).lift(
        y, ledger.room_down[cells], ledger.room_up[cells]
    )
    if np.abs(y).max() < 1e-6:
        return
    assert witness is not None
    assert are_deviations(problem, hidden, Witnesses.of([witness])).all()
    moved = np.zeros(problem.table.num_cells)
    moved[witness.cells] = witness.numerators / witness.denominator
    assert (moved >= -ledger.room_down).all() and (moved <= ledger.room_up).all()
    # The same deviation, scaled into the rooms.
    scale = moved[cells] @ y / (y @ y)
    assert 0 < scale <= 1 + 1e-9
    assert np.allclose(moved[cells], scale * y, atol=1e-4 * np.abs(y).max() * scale)


def test_a_pivot_that_is_not_one_is_dealt_with():
    from cellveil.tables.relations import Relations

    rows = [[(0, 2), (1, 3), (2, 5)], [(0, 3), (1, 2), (3, 7)]]
    relations = Relations.from_rows(4, rows)
    cells = np.arange(4)
    matrix = relations.matrix.toarray()
    y = dense_projector(matrix) @ np.array([1.0, 2.0, 3.0, 4.0]) * 100
    far = np.full(4, 10**6)
    witness = Lattice(relations, cells, np.ones(4)).lift(y, far, far)
    assert witness is not None
    exact = np.zeros(4, dtype=object)
    exact[witness.cells] = witness.numerators
    assert not (matrix.astype(int).astype(object) @ exact).any()
    assert np.allclose(exact.astype(float) / witness.denominator, y, atol=1e-6)


def test_interior_points_keep_the_conditions_or_there_are_none():
    from scipy.sparse import csc_matrix

    matrix = csc_matrix(np.array([[1.0, 1.0, -1.0]]))
    rows = np.zeros(1), np.zeros(1)
    inside = interior_point(matrix, rows, np.zeros(3), (np.zeros(3), np.array([1.0, 1.0, 2.0])))
    assert inside is not None and inside[0] + inside[1] == pytest.approx(inside[2])
    assert (inside >= -1e-9).all() and (inside <= np.array([1.0, 1.0, 2.0]) + 1e-9).all()
    assert interior_point(matrix, rows, np.zeros(3), (np.array([1.0, 1.0, 0]), np.ones(3))) is None


@pytest.mark.parametrize("shape", list(SHAPES))
def test_settling_does_what_linear_programs_say_can_be_done(shape):
    for seed in range(6):
        problem = small_problem(shape, np.random.default_rng(seed))
        ledger = Ledger(problem, np.asarray(problem.status != Status.FROZEN))
        settling = JointWitness(problem)
        for cell in problem.primaries.tolist():
            amount = float(max(ledger.need_up[cell], 1))
            task = Task(np.array([cell]), np.array([1.0]), np.array([amount]), False)
            witness = settling.exact(ledger, task, ledger.hidden)
            bounds = [
                (-d, min(u, 1e9)) if h else (0, 0)
                for d, u, h in zip(problem.down, problem.up, ledger.hidden, strict=True)
            ]
            bounds = [(max(low, -1e9), high) for low, high in bounds]
            cost = np.zeros(problem.table.num_cells)
            cost[cell] = -1.0
            matrix = problem.table.relations.matrix
            farthest = -linprog(cost, A_eq=matrix, b_eq=np.zeros(matrix.shape[0]), bounds=bounds).fun
            if witness is None:
                assert farthest < amount * 1.01, "it is possible"
            else:
                assert are_deviations(problem, ledger.hidden, Witnesses.of([witness])).all()


@pytest.mark.parametrize("weight", ["value", "one"])
@EVERY_TABLE
def test_growth_ends_with_exact_witnesses_for_all(table, weight):
    problem = table_named(table, 5, weight=weight)
    ledger = Ledger(problem)
    growth = SplittingSearch(problem, seed=2)
    growth.harvest(ledger, NO_LIMIT)
    assert ledger.cost == 0, "a harvest is free"
    growth.build(ledger, NO_LIMIT)
    assert ledger.num_open <= 2, "next to nothing is left for others"
    if ledger.num_open:
        return
    pattern = Pattern.hiding(problem, ledger.hidden, "growth")
    report = audit_outsider(problem, pattern, exact=False, claims=ledger.witnesses())
    assert report.is_safe and report.num_lps == 0, "its own witnesses suffice"
    assert verify(problem, pattern, report.certificate).is_valid


def test_growth_stops_when_told():
    problem = table_named("flat 3-D", 5)
    ledger = Ledger(problem)
    SplittingSearch(problem).build(ledger, Deadline(0.0))
    assert ledger.cost == 0


@EVERY_TABLE
def test_a_window_shows_deviations_of_the_whole_table(table):
    problem = random_table(
        TABLES[table][0], hierarchical=TABLES[table][1], zeros=0.0, contributors=9.0, seed=3
    )
    whole = problem.table
    for cell in range(0, whole.num_cells, 7):
        part = window(problem, problem.hidden_at_start, cell, 10.0, 40, 10.0)
        assert cell in part.cells and part.size <= 80, "the cell is in it, and it is small"
        y = part.apply(np.random.default_rng(cell).standard_normal((part.size, 1)))
        spread = np.zeros(whole.num_cells)
        spread[part.cells] = y[part.places, 0]
        assert np.abs(spread[cell]) > 1e-9, "the cell can move"
        assert np.allclose(whole.relations.matrix @ spread, 0.0, atol=1e-9)
        assert np.allclose(part.apply(y), y, atol=1e-9), "a projection"


@pytest.mark.parametrize(
    ("trees", "weight"), few_of([([], "one"), ([1], "value"), ([], "value"), ([1], "one")], 2)
)
def test_growth_through_windows_is_exact(trees, weight):
    problem = random_table((7, 8, 6), hierarchical=trees, zeros=0.2, seed=3, weight=weight)
    growth, ledger = SplittingSearch(problem, SplittingSearchParams(window=100), seed=2), Ledger(problem)
    assert growth.is_windowed
    began = ledger.num_open
    growth.build(ledger, NO_LIMIT)
    assert ledger.num_open < began / 4
    assert are_deviations(problem, ledger.hidden, ledger.witnesses()).all()


@EVERY_TABLE
def test_the_number_of_threads_changes_not_a_bit(monkeypatch, table):
    monkeypatch.setattr(parallel, "LEAST_PART", 10)
    problem = table_named(table)
    projection = projection_of(problem.table)
    rng = np.random.default_rng(0)
    cost, bounds = rng.random(projection.size), np.full((projection.size, 2), 3.0)
    goals = Goals(np.array([0, 5]), np.array([0, 1]), np.array([1.0, -2.0]), np.array([50.0, 50.0]))
    ends = []
    for number in (1, 3):
        engine = Splitting(projection)
        with parallel.using(number):
            state = engine.run(
                engine.start(2, 0.01), cost, (-bounds, bounds), goals, tolerance=1e-9, iterations=60
            )
        ends.append(state)
    one, three = ends
    assert (one.z == three.z).all() and (one.x == three.x).all() and (one.u == three.u).all()


def test_work_in_parts_is_done_once_and_errors_come_through(monkeypatch):
    monkeypatch.setattr(parallel, "LEAST_PART", 1)
    done = np.zeros(1000, dtype=int)

    def count(first, last):
        done[first:last] += 1

    def fail(first, last):
        if last == 1000:
            raise ValueError("the last part")

    with parallel.using(4):
        parallel.in_parts(count, 1000, 1)
        with pytest.raises(ValueError, match="last part"):
            parallel.in_parts(fail, 1000, 1)
    assert (done == 1).all()


def test_regrowing_keeps_a_complete_ledger_and_only_gets_cheaper():
    problem = table_named("two trees", 5)
    ledger, growth = Ledger(problem), SplittingSearch(problem, seed=2)
    growth.build(ledger, NO_LIMIT)
    assert not ledger.num_open
    costs, trials = [ledger.cost], iter(range(6))

    def stop():
        return next(trials, None) is None and not ledger.num_open

    growth.regrow(ledger, NO_LIMIT.or_when(stop), lambda ledger: costs.append(ledger.cost))
    assert ledger.cost == costs[-1] == min(costs) and not ledger.num_open
    assert are_deviations(problem, ledger.hidden, ledger.witnesses()).all()
