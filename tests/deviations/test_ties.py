"""Tied cells: classes against the kernel of the relations, and the merged problem against the whole."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import null_space

from cellveil.deviations.demand import Demand
from cellveil.deviations.witness import are_deviations
from cellveil.judge.outsider import audit_outsider
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.suppression.draft import Draft
from cellveil.suppression.methods.sequential import sequential
from cellveil.suppression.presolve.merge_ties import Merged, merged
from cellveil.tables.dimension import Dimension
from cellveil.tables.relations import Relations
from cellveil.tables.table import CELL, Table
from helpers.brute_force import is_protected
from helpers.small_problems import SHAPES, half_hidden_problem, small_problem

EVERY_SHAPE = pytest.mark.parametrize("shape", SHAPES)


def cost(problem: Problem, draft: Draft) -> float:
    return float(problem.weight[draft.hidden & ~problem.hidden_at_start].sum())


def chain() -> Problem:
    """a = b + c with c frozen, b = −d + e with e frozen: a and b move together, d against them; f = g + h."""
    rows = [[(0, -1), (1, 1), (2, 1)], [(1, -1), (3, -1), (4, 1)], [(5, -1), (6, 1), (7, 1)]]
    values = np.array([12, 7, 5, 3, 10, 9, 4, 5])
    table = Table(
        (Dimension.unstructured(CELL, map(str, range(8))),),
        (np.arange(8, dtype=np.int32),),
        values,
        0,
        Relations.from_rows(8, rows),
    )
    return Problem.of(table, {0: (2, 1), 3: (1, 3)}, frozen=np.array([2, 4]))


@EVERY_SHAPE
def test_cells_are_tied_just_where_the_kernel_says_so(shape):
    for seed in range(8):
        problem = small_problem(shape, np.random.default_rng(seed))
        movable = np.flatnonzero(problem.status != Status.FROZEN)
        kernel = null_space(problem.table.relations.matrix[:, movable].toarray())
        moves = np.abs(kernel).max(axis=1, initial=0.0) > 1e-9
        tied = merged(problem)
        if tied is None:
            assert not moves[np.isin(movable, problem.primaries)].all()
            continue
        number, sign = tied.number[movable], tied.sign[movable]
        assert ((number >= 0) == moves).all()
        for i in np.flatnonzero(moves).tolist():
            for s in (1, -1):
                alike = moves & (np.abs(kernel - s * kernel[i]).max(axis=1) < 1e-9)
                assert (alike == (moves & (number == number[i]) & (sign == s * sign[i]))).all()


def test_a_class_has_the_tightest_capacities_and_the_largest_levels():
    tied = merged(chain())
    assert tied is not None
    assert tied.number.tolist() == [0, 0, -1, 0, -1, 1, 2, 3]
    assert tied.sign[[0, 1, 3]].tolist() == [1, 1, -1]
    small = tied.problem
    # the class rises where cell 3 falls, by 3 at most; it falls by what cells 0 and 1 have
    assert (small.up[0], small.down[0]) == (3.0, 7.0)
    assert (small.upl[0], small.lpl[0]) == (1, 3)
    assert small.status.tolist() == [Status.PRIMARY, Status.SAFE, Status.SAFE, Status.SAFE]
    assert small.table.relations.residuals(small.table.values) == {}
    assert len(small.table.relations) == 1
    assert tied.forced == 7.0, "cell 1 must be hidden with cells 0 and 3"


def test_demands_come_back_as_those_of_a_member():
    tied = merged(chain())
    assert tied is not None
    draft = Draft(tied.problem.hidden_at_start.copy(), infeasible=[Demand(0, False, 3)], lower_bound=5.0)
    whole = tied.unfold(draft)
    assert whole.infeasible == [Demand(3, True, 3)]
    assert whole.lower_bound == 12.0
    assert np.flatnonzero(whole.hidden).tolist() == [0, 1, 3]


@EVERY_SHAPE
def test_a_pattern_protects_the_whole_just_where_it_protects_the_merged_problem(shape):
    seen = set()
    for seed in range(12):
        problem = half_hidden_problem(shape, np.random.default_rng(seed))
        tied = merged(problem)
        if tied is None:
            continue
        small = tied.problem
        cells = tied.number[problem.hidden_at_start]
        hidden = np.bincount(cells[cells >= 0], minlength=small.table.num_cells) > 0
        whole = tied.unfold(Draft(hidden)).hidden
        if whole.sum() > 12:  # beyond enumeration
            continue
        is_safe = all(is_protected(problem, Pattern.hiding(problem, whole, "x")).values())
        assert is_safe == all(
            is_protected(small, Pattern.hiding(small, hidden | small.hidden_at_start, "x")).values()
        )
        seen.add(is_safe)
    assert seen


@EVERY_SHAPE
def test_drafts_unfold_with_their_witnesses_and_costs(shape):
    checked = 0
    for seed in range(8):
        problem = small_problem(shape, np.random.default_rng(seed))
        tied = merged(problem)
        if tied is None:
            continue
        assert isinstance(tied, Merged)
        draft = sequential(tied.problem)
        whole = tied.unfold(draft)
        if draft.infeasible:
            continue
        assert cost(problem, whole) == pytest.approx(cost(tied.problem, draft) + tied.forced)
        assert are_deviations(problem, whole.hidden, whole.witnesses).all()
        report = audit_outsider(
            problem, Pattern.hiding(problem, whole.hidden, "x"), exact=False, claims=whole.witnesses
        )
        assert report.is_safe
        checked += 1
    assert checked
