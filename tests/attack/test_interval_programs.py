"""The two programs behind the outsider's attack agree with each other, and tied cells are found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellveil.attack.interval_programs import CellFront, CoordinateFront, IntervalParams, front_of
from cellveil.clock import NO_LIMIT
from cellveil.datasets import random_table
from cellveil.deviations.components import split
from cellveil.deviations.integer_kernel import Lattice
from cellveil.deviations.ties import Ties
from cellveil.judge.cell_judge import OutsiderParams
from cellveil.judge.outsider import audit_outsider
from cellveil.pattern import Pattern
from cellveil.problem import Problem

TREES = {"two trees": ((7, 8), (0, 1)), "three-way": ((7, 4, 4), (0,)), "flat": ((4, 4, 4), ())}


def both_fronts(problem: Problem, hidden: np.ndarray, seed: int) -> list[tuple[CellFront, CoordinateFront]]:
    """The programs of every component, with rooms drawn at random, some without an end."""
    rng = np.random.default_rng(seed)
    found = []
    for component in split(problem.table.relations, hidden)[1]:
        up, down = rng.integers(0, 50, (2, len(component.cells))).astype(float)
        up[rng.random(len(up)) < 0.1] = np.inf
        lattice = Lattice(problem.table.relations, component.cells, np.zeros(len(component.cells)))
        ties, basis = Ties.in_lattice(lattice), lattice.basis()
        if ties is not None and basis is not None and ties.num_classes:
            front = CellFront(component, ties, up, down)
            found.append((front, CoordinateFront(front, basis[1])))
    return found


@pytest.mark.parametrize("shape", TREES)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), share=st.floats(0.4, 1.0))
def test_both_programs_reach_equally_far(shape: str, seed: int, share: float) -> None:
    sizes, trees = TREES[shape]
    problem = random_table(sizes, hierarchical=trees, contributors=3, seed=seed)
    hidden = np.random.default_rng(seed).random(problem.table.num_cells) < share
    for cells, coordinates in both_fronts(problem, hidden, seed):
        matrix, n = cells.component.matrix, len(cells.component.cells)
        plain = CellFront(cells.component, Ties.none(n), *_rooms_of(cells, n))
        for cell in cells.component.cells[:6].tolist():
            for up in (True, False):
                found = [front.farthest(cell, up, NO_LIMIT) for front in (plain, cells, coordinates)]
                assert all(one is not None for one in found)
                assert found[0].own == pytest.approx(found[1].own) == pytest.approx(found[2].own)
                for one in found:
                    if one.cells is not None:
                        assert np.abs(matrix @ one.cells).max(initial=0.0) < 1e-6
                wanted = 1.0 if np.isinf(found[0].own) else max(found[0].own / 2, 0.5)
                moved = [front.by(cell, up, wanted, NO_LIMIT) for front in (plain, cells, coordinates)]
                assert len({one.own >= wanted - 1e-6 for one in moved}) == 1


def _rooms_of(front: CellFront, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rooms of single cells that say the same as those of the classes."""
    number, forwards, size = front.ties.number, front.ties.sign > 0, front.size
    rise, fall = front.capacity[:size][number], front.capacity[size:][number]
    up, down = np.where(forwards, rise, fall), np.where(forwards, fall, rise)
    return np.where(number < 0, 0.0, up), np.where(number < 0, 0.0, down)


def test_coordinates_are_used_where_they_are_few() -> None:
    problem = random_table((13, 13, 7), hierarchical=[0, 1, 2], contributors=3, seed=2)
    hidden = np.ones(problem.table.num_cells, dtype=bool)
    component = max(split(problem.table.relations, hidden)[1], key=lambda part: len(part.cells))
    room = np.full(len(component.cells), 10.0)
    assert isinstance(front_of(problem.table.relations, component, room, room), CoordinateFront)


@pytest.mark.parametrize("few", [0.0, np.inf])
@pytest.mark.parametrize("seed", range(4))
def test_audits_agree_whatever_program_is_used(few: float, seed: int) -> None:
    problem = random_table((7, 5, 4), hierarchical=[0], contributors=3, seed=seed)
    hidden = problem.hidden_at_start | (np.random.default_rng(seed).random(problem.table.num_cells) < 0.4)
    pattern = Pattern.hiding(problem, hidden, "random")
    expected = audit_outsider(problem, pattern)
    params = OutsiderParams(intervals=IntervalParams(few=few))
    for exact in (True, False):
        report = audit_outsider(problem, pattern, exact=exact, params=params)
        assert (report.safe == expected.safe).all()
        if exact:
            np.testing.assert_allclose(report.lower, expected.lower, atol=1e-5)
            np.testing.assert_allclose(report.upper, expected.upper, atol=1e-5)


def test_a_cell_that_cannot_move_and_one_that_is_tied() -> None:
    """Two hidden cells in a row move against each other; a hidden cell alone in its row does not move."""
    import cellveil as cv

    problem = cv.two_way([[5, 6, 7], [8, 9, 10], [1, 2, 3]], primaries={(0, 0): 1})
    table = problem.table
    chosen = [table.cell(row, column) for row, column in
              (("r0", "c0"), ("r0", "c1"), ("r1", "c0"), ("r1", "c1"), ("r2", "c2"))]  # fmt: skip
    ties = Ties.of(table.relations, np.array(sorted(chosen)))
    assert ties is not None and ties.num_classes == 1
    by_cell = dict(
        zip(sorted(chosen), zip(ties.number.tolist(), ties.sign.tolist(), strict=True), strict=True)
    )
    assert [by_cell[cell][0] for cell in chosen] == [0, 0, 0, 0, -1]
    assert by_cell[chosen[0]][1] == by_cell[chosen[3]][1] == -by_cell[chosen[1]][1] == -by_cell[chosen[2]][1]
