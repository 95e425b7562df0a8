"""Where cells stand for cubes: those that are not broken down along a dimension rest there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cellveil as cv
from cellveil.datasets import business, random_table
from cellveil.deviations.cube_layout import CubeLayout
from cellveil.deviations.ledger import Ledger
from cellveil.problem import Problem
from cellveil.suppression.engines.cube_packing import Packing
from helpers.linked_tables import linked


def pairs_of_margins() -> Problem:
    """All pairs of three dimensions, two of them trees."""
    data = business(800)
    industry, region, size = data.dimensions
    chosen = [(industry, region), (industry, size), (region, size)]
    tables = [cv.tabulate(data.frame, dims, "turnover", contributor="firm") for dims in chosen]
    return cv.make_problem(cv.link(tables), cv.PPercent(10))


def assert_all_exact(problem: Problem, ledger: Ledger) -> None:
    """Every relation holds for every deviation, and nothing moves further than it may."""
    for witness in ledger.witnesses():
        moved = np.zeros(problem.table.num_cells, dtype=np.int64)
        moved[witness.cells] = witness.numerators
        assert not problem.table.relations.residuals(moved)
        assert (moved <= ledger.room_up * witness.denominator).all()
        assert (-moved <= ledger.room_down * witness.denominator).all()


def test_cells_of_one_linked_table_have_cubes_of_its_dimensions() -> None:
    problem = pairs_of_margins()
    ledger = Ledger(problem, problem.hidden_at_start.copy())
    asked = ledger.num_open
    Packing(ledger).protect()
    assert ledger.num_open < 0.3 * asked  # shared cells have none, and the table is sparse
    assert_all_exact(problem, ledger)


@given(seed=st.integers(0, 10**6), share=st.floats(0.2, 1.0))
def test_deviations_of_linked_tables_are_exact_whatever_is_hidden(seed: int, share: float) -> None:
    problem = linked(seed % 50, (6, 5, 7))
    rng = np.random.default_rng(seed)
    hidden = problem.hidden_at_start | (rng.random(problem.table.num_cells) < share)
    ledger = Ledger(problem, hidden)
    packing = Packing(ledger, seed=seed)
    packing.prove()
    packing.prove_by_sums()
    packing.protect()
    assert_all_exact(problem, ledger)


@pytest.mark.parametrize("hierarchical", [[], [0]])
def test_in_a_single_table_nothing_rests(hierarchical: list[int]) -> None:
    table = random_table((6, 5, 4), hierarchical=hierarchical, seed=1).table
    layout = CubeLayout.of(table)
    assert layout.sizes.tolist() == list(table.sizes)
    assert (layout.keys == np.stack(table.keys, axis=1)).all()


def test_every_cell_has_a_place_of_its_own() -> None:
    layout = CubeLayout.of(pairs_of_margins().table)
    assert len(np.unique(layout.places)) == len(layout.places)
    assert (layout.keys < layout.sizes).all()
