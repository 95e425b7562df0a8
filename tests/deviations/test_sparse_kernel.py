"""The sparse basis of the null space: as the dense tableau, cell by cell; its columns span all deviations."""

from __future__ import annotations

import numpy as np
from flint import fmpz_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from cellveil.clock import Deadline
from cellveil.deviations.residue_tableau import Tableau
from cellveil.deviations.sparse_kernel import SparseKernel, sparse_basis
from cellveil.problem import Problem, Status
from helpers.linked_tables import linked
from helpers.small_problems import SHAPES, small_problem

LARGE = 2**20


def rank(matrix: np.ndarray) -> int:
    return fmpz_mat(matrix.astype(int).tolist()).rank() if matrix.size else 0


def kernel_of(problem: Problem) -> SparseKernel | None:
    cells = np.flatnonzero(problem.status != Status.FROZEN)
    basis = sparse_basis(problem.table.relations, cells, -problem.weight[cells], 10**6)
    return None if basis is None else SparseKernel(basis)


def order_of(problem: Problem) -> list[int]:
    order = np.argsort(-problem.weight, kind="stable")
    return order[~problem.hidden_at_start[order] & (problem.status[order] != Status.FROZEN)].tolist()


def published(
    problem: Problem, largest: int = LARGE, deadline: Deadline | None = None
) -> SparseKernel | None:
    kernel = kernel_of(problem)
    if kernel is not None:
        kept = problem.status == Status.PRIMARY
        until = deadline or Deadline(None)
        kernel.publish_in_turn(order_of(problem), kept, largest=largest, tries=LARGE, deadline=until)
    return kernel


def assert_spans(problem: Problem, kernel: SparseKernel) -> None:
    """The columns move hidden cells only, and are as many as there are degrees of freedom."""
    matrix = problem.table.relations.matrix.toarray()
    columns = np.zeros((len(kernel), problem.table.num_cells), dtype=np.int64)
    for number, witness in enumerate(kernel.witnesses()):
        assert witness.denominator == 1
        columns[number, witness.cells] = witness.numerators
    assert not (matrix @ columns.T).any()
    assert (columns.any(axis=0) == kernel.hidden).all()
    assert rank(columns) == len(kernel) == int(kernel.hidden.sum()) - rank(matrix[:, kernel.hidden])


@given(seed=st.integers(0, 10**6), shape=st.sampled_from(SHAPES))
@settings(max_examples=40, deadline=None)
def test_columns_are_deviations_and_span_them_all(seed, shape):
    problem = small_problem(shape, np.random.default_rng(seed))
    for kernel in (kernel_of(problem), published(problem), published(problem, largest=2)):
        if kernel is not None:
            assert_spans(problem, kernel)


@given(seed=st.integers(0, 10**6), shape=st.sampled_from(SHAPES))
@settings(max_examples=40, deadline=None)
def test_the_same_cells_are_published_as_from_the_dense_tableau(seed, shape):
    problem = small_problem(shape, np.random.default_rng(seed))
    kernel = published(problem)
    cells = np.flatnonzero(problem.status != Status.FROZEN)
    tableau = Tableau.of(problem.table.relations, cells, -problem.weight[cells], most_entries=10**6)
    if kernel is None or tableau is None:
        return
    places = np.flatnonzero(problem.status[cells] == Status.PRIMARY)
    tableau.publish_in_turn(np.searchsorted(cells, order_of(problem)), places, LARGE)
    assert (kernel.hidden[cells] == tableau.hidden).all()


def test_no_primary_is_lost_in_linked_tables():
    for seed in range(5):
        problem = linked(seed)
        before, after = kernel_of(problem), published(problem, largest=8)
        assert before is not None and after is not None
        assert (before.hidden == after.hidden)[problem.primaries].all()
        assert after.hidden.sum() < before.hidden.sum()
        assert_spans(problem, after)


def test_nothing_is_published_when_time_is_over():
    problem = linked(1)
    before, after = kernel_of(problem), published(problem, deadline=Deadline(0.0))
    assert before is not None and after is not None
    assert (before.hidden == after.hidden).all()


def test_a_basis_with_too_many_entries_is_not_made():
    problem = linked(1)
    cells = np.arange(problem.table.num_cells)
    assert sparse_basis(problem.table.relations, cells, -problem.weight, 3) is None
