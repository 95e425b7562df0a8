"""Relations without those that follow from others: as few as the rank, with the same deviations."""

from __future__ import annotations

import numpy as np
import pytest

from cellveil.deviations.independent_relations import independent_relations
from cellveil.deviations.kernel_basis import kernel_basis
from cellveil.tables.relations import Relations
from helpers.linked_tables import linked


@pytest.mark.parametrize("seed", range(3))
def test_as_many_as_the_rank_and_no_deviation_more(seed: int) -> None:
    relations = linked(seed).table.relations
    cells = np.arange(relations.num_cells)
    kept = independent_relations(relations, cells)
    rank = int(np.linalg.matrix_rank(relations.matrix.toarray()))
    assert len(kept) == rank < len(relations)
    assert int(np.linalg.matrix_rank(kept.matrix.toarray())) == rank
    basis = kernel_basis(kept, cells, np.ones(len(cells)), len(cells))
    assert basis is not None and basis.shape[1] == len(cells) - rank
    assert not (relations.matrix @ basis).any()


def test_rows_without_a_pivot_of_one_are_kept() -> None:
    relations = Relations.from_rows(3, [[(0, 2), (1, 2)], [(0, 2), (1, -2)], [(0, 1), (2, 1)]])
    kept = independent_relations(relations, np.arange(3))
    assert int(np.linalg.matrix_rank(kept.matrix.toarray())) == 3


def test_cells_that_may_not_move_are_left_out() -> None:
    relations = linked(1).table.relations
    cells = np.arange(0, relations.num_cells, 2)
    kept = independent_relations(relations, cells)
    assert np.isin(kept.cells, cells).all()
    rank = int(np.linalg.matrix_rank(relations.matrix.toarray()[:, cells]))
    assert int(np.linalg.matrix_rank(kept.matrix.toarray())) == rank
