"""The null space of a pattern: what is left of it when directions are published."""

from __future__ import annotations

import numpy as np
import pytest

from cellveil.clock import NO_LIMIT
from cellveil.deviations.kernel_basis import kernel_basis
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.pattern_kernel import PatternKernel
from cellveil.deviations.witness import are_deviations
from cellveil.suppression.engines.kernel_repair import KernelRepair
from helpers.linked_tables import linked


def kernel_of(ledger: Ledger) -> PatternKernel:
    cells = np.flatnonzero(ledger.hidden)
    basis = kernel_basis(ledger.problem.table.relations, cells, np.ones(len(cells)), 600)
    assert basis is not None
    return PatternKernel(ledger, cells, basis, basis.shape[1])


def secondary_directions(kernel: PatternKernel) -> list[int]:
    """Numbers of the directions that no cell hidden from the start has."""
    is_fixed = kernel.ledger.problem.hidden_at_start[kernel.cells]
    numbers = set(kernel.direction_of.tolist()) - set(kernel.direction_of[is_fixed].tolist())
    return sorted(numbers - {-1})


@pytest.mark.parametrize("seed", range(4))
def test_what_is_left_meets_all_that_the_pattern_without_these_cells_can(seed: int) -> None:
    """Coordinates of all deviations, held at rest up to a tolerance, came out as witnesses that move
    published cells by a hair, and counted for nothing."""
    ledger = Ledger(linked(seed))
    assert KernelRepair().repair(ledger, NO_LIMIT)
    kernel = kernel_of(ledger)
    for count in (1, 2, 3):
        chosen = np.array(secondary_directions(kernel)[:count])
        mark = ledger.mark()
        for cell in kernel.cells[np.isin(kernel.direction_of, chosen)].tolist():
            ledger.publish(cell)
        published = ledger.mark()
        kernel_of(ledger).meet()
        still_open = ledger.num_open
        ledger.rollback(published)
        left = kernel.without(chosen)
        assert left is not None and left.num_coordinates < kernel.num_coordinates
        left.meet()
        assert ledger.num_open == still_open
        assert are_deviations(ledger.problem, ledger.hidden, ledger.witnesses()).all()
        ledger.rollback(mark)


def test_nothing_is_left_where_every_direction_is_published() -> None:
    ledger = Ledger(linked(1))
    assert KernelRepair().repair(ledger, NO_LIMIT)
    kernel = kernel_of(ledger)
    assert kernel.without(np.unique(kernel.direction_of[kernel.direction_of >= 0])) is None
