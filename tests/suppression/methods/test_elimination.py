"""The elimination method against a plain one that asks a linear program about every demand each time."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest
from scipy.optimize import linprog

from cellveil import clock
from cellveil.clock import Deadline
from cellveil.datasets import random_table, two_way
from cellveil.deviations.witness import are_deviations
from cellveil.judge.outsider import audit_outsider
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.suppression.methods.elimination import elimination
from helpers.small_problems import SHAPES, small_problem


def can_move(problem: Problem, hidden: np.ndarray, cell: int, amount: float) -> bool:
    """Whether the hidden cells can move so that the cell moves by the amount; by scipy, from scratch."""
    matrix = problem.table.relations.matrix.toarray()
    bounds = [
        (amount, amount) if i == cell else (-problem.down[i], problem.up[i]) if hidden[i] else (0.0, 0.0)
        for i in range(len(hidden))
    ]
    if not -problem.down[cell] <= amount <= problem.up[cell]:
        return False
    return linprog(np.zeros(len(hidden)), A_eq=matrix, b_eq=np.zeros(len(matrix)), bounds=bounds).status == 0


def is_protected(problem: Problem, hidden: np.ndarray) -> bool:
    return all(
        (not problem.upl[cell] or can_move(problem, hidden, cell, float(problem.upl[cell])))
        and (not problem.lpl[cell] or can_move(problem, hidden, cell, -float(problem.lpl[cell])))
        for cell in problem.primaries.tolist()
    )


def plain_elimination(problem: Problem) -> np.ndarray | None:
    hidden = problem.status != Status.FROZEN
    if not is_protected(problem, hidden):
        return None
    candidates = np.flatnonzero(hidden & ~problem.hidden_at_start)
    for cell in sorted(candidates.tolist(), key=lambda cell: (-problem.weight[cell], cell)):
        hidden[cell] = False
        hidden[cell] = not is_protected(problem, hidden)
    return hidden


@pytest.mark.parametrize("shape", SHAPES)
def test_same_pattern_as_the_plain_method(shape: str) -> None:
    rng = np.random.default_rng(40 + SHAPES.index(shape))
    compared = 0
    while compared < 2:
        problem = small_problem(shape, rng)
        problem = problem.replace(spl=np.zeros_like(problem.spl))
        expected, draft = plain_elimination(problem), elimination(problem)
        assert (expected is None) == bool(draft.infeasible)
        if expected is not None:
            compared += 1
            assert (draft.hidden == expected).all() and draft.reason == "complete"
            assert are_deviations(problem, draft.hidden, draft.witnesses).all()


def test_nothing_can_be_published_again() -> None:
    problem = random_table((6, 7), contributors=2, zeros=0.2, seed=4, weight="one")
    hidden = elimination(problem).hidden
    for cell in np.flatnonzero(hidden & ~problem.hidden_at_start):
        without = hidden.copy()
        without[cell] = False
        assert not audit_outsider(problem, Pattern.hiding(problem, without, "less")).is_safe


def test_every_demand_has_a_witness_the_audit_accepts() -> None:
    problem = random_table((10, 8), hierarchical=[0], contributors=2, seed=3)
    draft = elimination(problem)
    report = audit_outsider(
        problem, Pattern.hiding(problem, draft.hidden, "x"), exact=False, claims=draft.witnesses
    )
    assert report.is_safe and report.num_lps == 0


def test_a_sliding_level_moves_to_the_side_that_can_take_it() -> None:
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): (1, 1)})
    cell = int(problem.primaries[0])
    spl = np.where(np.arange(problem.table.num_cells) == cell, 16, 0)
    ub = np.where(problem.table.values == 8, 12, problem.ub)  # the cell below cannot move much either way
    problem = problem.replace(spl=spl, ub=ub)
    draft = elimination(problem)
    assert not draft.infeasible
    assert audit_outsider(problem, Pattern.hiding(problem, draft.hidden, "x"), claims=draft.witnesses).is_safe


@pytest.mark.parametrize("looks", [1, 3, 12, 40, 80])
def test_safe_whenever_the_time_is_up(looks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that jumps after so many looks at it."""
    problem = random_table((5, 5, 4), contributors=2, zeros=0.2, seed=6)
    whole = elimination(problem)
    ticks = count()
    monkeypatch.setattr(clock.time, "monotonic", lambda: 0.0 if next(ticks) < looks else 1e9)
    draft = elimination(problem, deadline=Deadline(1e6))
    monkeypatch.undo()
    assert draft.reason.startswith("time limit")
    assert audit_outsider(problem, Pattern.hiding(problem, draft.hidden, "x")).is_safe
    assert problem.weight[draft.hidden].sum() >= problem.weight[whole.hidden].sum() * 0.8
