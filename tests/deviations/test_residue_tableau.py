"""The null-space tableau: its columns are deviations, and elimination follows the rank criterion."""

from __future__ import annotations

import numpy as np
from flint import fmpz_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from cellveil.clock import Deadline
from cellveil.deviations.kernel_basis import kernel_basis
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.pattern_kernel import PatternKernel
from cellveil.deviations.residue_tableau import Tableau
from cellveil.deviations.witness import are_deviations
from cellveil.problem import Problem, Status
from helpers.small_problems import SHAPES, small_problem

LARGE = 2**20


def rank(matrix: np.ndarray) -> int:
    return fmpz_mat(matrix.astype(int).tolist()).rank() if matrix.size else 0


def determined(problem: Problem, hidden: np.ndarray, cell: int) -> bool:
    """Whether the relations and the published cells fix the cell, by two ranks of the relations."""
    matrix = problem.table.relations.matrix.toarray()
    others = np.flatnonzero(hidden & (np.arange(len(hidden)) != cell))
    return rank(matrix[:, np.append(others, cell)]) > rank(matrix[:, others])


def tableau_of(problem: Problem) -> Tableau:
    cells = np.flatnonzero(problem.status != Status.FROZEN)
    found = Tableau.of(problem.table.relations, cells, np.zeros(len(cells)), most_entries=10**6)
    assert found is not None
    return found


@given(seed=st.integers(0, 10**6), shape=st.sampled_from(SHAPES))
@settings(max_examples=40, deadline=None)
def test_elimination_is_complete_and_follows_the_rank_criterion(seed, shape):
    problem = small_problem(shape, np.random.default_rng(seed))
    tableau = tableau_of(problem)
    places = np.flatnonzero(np.isin(tableau.cells, problem.primaries))
    if not tableau.hidden[places].all():
        return  # a primary that the relations fix whatever is hidden
    order = np.argsort(-problem.weight[tableau.cells], kind="stable")
    tableau.publish_in_turn(order[~np.isin(order, places)], places, LARGE)
    hidden = np.zeros(problem.table.num_cells, dtype=bool)
    hidden[tableau.cells] = tableau.hidden
    assert not any(determined(problem, hidden, int(cell)) for cell in problem.primaries)
    assert not any(determined(problem, hidden, int(cell)) for cell in np.flatnonzero(hidden))


@given(seed=st.integers(0, 10**6), shape=st.sampled_from(SHAPES))
@settings(max_examples=30, deadline=None)
def test_columns_left_are_deviations_and_span_them_all(seed, shape):
    problem = small_problem(shape, np.random.default_rng(seed))
    tableau = tableau_of(problem)
    places = np.flatnonzero(np.isin(tableau.cells, problem.primaries))
    order = np.setdiff1d(np.arange(len(tableau.cells)), places)
    tableau.publish_in_turn(order, places, LARGE)
    matrix = problem.table.relations.matrix.toarray()[:, tableau.cells]
    columns = tableau.whole(tableau.left)
    assert not (matrix @ columns.T).any()
    assert not columns[:, ~tableau.hidden].any()
    hidden = tableau.hidden
    assert rank(columns) == int(hidden.sum()) - rank(matrix[:, hidden])


@given(seed=st.integers(0, 10**6), shape=st.sampled_from(SHAPES))
@settings(max_examples=30, deadline=None)
def test_the_whole_basis_spans_the_null_space(seed, shape):
    problem = small_problem(shape, np.random.default_rng(seed))
    cells = np.flatnonzero(problem.status != Status.FROZEN)
    basis = kernel_basis(problem.table.relations, cells, np.zeros(len(cells)), 10**3)
    matrix = problem.table.relations.matrix.toarray()[:, cells]
    assert basis is not None
    assert not (matrix @ basis).any()
    assert rank(basis) == basis.shape[1] == len(cells) - rank(matrix)


@given(seed=st.integers(0, 10**6), shape=st.sampled_from(SHAPES))
@settings(max_examples=30, deadline=None)
def test_witnesses_in_coordinates_are_exact(seed, shape):
    problem = small_problem(shape, np.random.default_rng(seed))
    ledger = Ledger(problem, problem.status != Status.FROZEN)
    cells = np.flatnonzero(ledger.hidden)
    basis = kernel_basis(problem.table.relations, cells, np.zeros(len(cells)), 10**3)
    assert basis is not None
    PatternKernel(ledger, cells, basis, basis.shape[1]).meet(Deadline(None))
    assert are_deviations(problem, ledger.hidden, ledger.witnesses()).all()


def test_a_tableau_that_is_too_large_is_not_made():
    problem = small_problem("flat 2-D", np.random.default_rng(0))
    cells = np.flatnonzero(problem.status != Status.FROZEN)
    assert Tableau.of(problem.table.relations, cells, np.zeros(len(cells)), most_entries=3) is None
