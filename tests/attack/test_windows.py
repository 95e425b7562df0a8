"""Windows: whatever moves in one moves in the component, and nothing in them is there in vain."""

from __future__ import annotations

import numpy as np
import pytest

from cellveil.attack.windows import Windows, WindowSize
from cellveil.datasets import random_table, two_way
from cellveil.deviations.components import Component, split
from helpers.small_problems import SHAPES, small_problem

SIZES = [WindowSize(2, 0, 9), WindowSize(4, 0, 99), WindowSize(9, 1, 99), WindowSize(9, 2, 99, anywhere=20)]


def components_of(shape: str) -> list[Component]:
    """The components of a pattern that hides about half of a table."""
    rng = np.random.default_rng(3)
    problem = small_problem(shape, rng)
    drawn = rng.random(problem.table.num_cells) < 0.9
    hidden = problem.hidden_at_start | (drawn & (problem.table.values > 0))
    return split(problem.table.relations, hidden)[1]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_window_holds_every_relation_of_its_cells_and_no_cell_alone(shape: str) -> None:
    sizes = set()
    for component in components_of(shape):
        windows = Windows(component, np.arange(len(component.cells), dtype=float))
        whole = component.matrix.toarray()
        for cell in component.cells.tolist():
            for size in SIZES:
                found = windows.around(cell, size)
                if not len(found.cells):
                    continue
                places = np.searchsorted(component.cells, found.cells)
                assert cell in found.cells and (np.diff(places) > 0).all()
                rows = np.flatnonzero(whole[:, places].any(axis=1))
                assert (component.rows[rows] == found.rows).all()
                assert (whole[np.ix_(rows, places)] == found.matrix.toarray()).all()
                assert ((found.matrix != 0).sum(axis=1) > 1).all()
                sizes.add(len(found.cells))
    assert sizes


def test_a_window_is_a_subtable_of_the_codes_that_can_move_farthest() -> None:
    problem = random_table((6, 6, 6), contributors=9, zeros=0, seed=1)
    table = problem.table
    interior = np.all([column > 0 for column in table.keys], axis=0)
    component = split(table.relations, interior)[1][0]
    room = np.sum([column[component.cells] for column in table.keys], axis=0).astype(float)
    own = table.cell("1", "1", "1")
    found = Windows(component, room).around(own, WindowSize(2, 0, 99))
    codes = [sorted(set(column[found.cells].tolist())) for column in table.keys]
    assert codes == [[1, 4, 5]] * 3 and len(found.cells) == 27


def test_a_cell_that_cannot_move_has_no_window() -> None:
    problem = two_way([[20, 50, 10], [8, 19, 22], [5, 6, 7]])
    table = problem.table
    hidden = np.isin(np.arange(table.num_cells), [table.cell("r0", "c0"), table.cell("r0", "c1")])
    component = split(table.relations, hidden)[1][0]
    windows = Windows(component, np.ones(2))
    assert not any(len(windows.around(int(component.cells[0]), size).cells) for size in SIZES)
