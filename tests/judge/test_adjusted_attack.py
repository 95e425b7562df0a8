"""The attacker of adjusted tables: what the audit shows open by cubes is open, table by table."""

import itertools

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from numpy.typing import NDArray

import cellveil as cv
from cellveil.judge import adjusted_attack as adjusted_attack
from cellveil.judge.adjusted_attack import FREE, AdjustedAttackParams, Candidates, Shares
from cellveil.problem import Problem, Status
from experiments.three_way import cube
from helpers.examples import examples

LARGEST = 12
"""No part of a possible table is larger than this in the brute force, by a common bound."""


def possible_movements(
    problem: Problem, values: NDArray[np.int64], percent: float | None
) -> NDArray[np.int64]:
    """How far the sensitive cells moved in each possible table, over all tables of 2 × 2 parts.

    Limits are shares of the values of the table in question.
    """
    keys = [np.asarray(key) for key in problem.table.keys]
    parts = np.array(list(itertools.product(range(LARGEST + 1), repeat=4))).reshape(-1, 2, 2)
    full = np.zeros((len(parts), 3, 3), dtype=np.int64)
    full[:, 1:, 1:] = parts
    full[:, 0], full[:, :, 0] = full.sum(axis=1), 0
    full[:, :, 0] = full.sum(axis=2)
    tables = full[:, keys[0], keys[1]]
    y = values - tables
    cells = problem.primaries
    rose, fell = y[:, cells] >= problem.upl[cells], y[:, cells] <= -problem.lpl[cells]
    others = np.all([key > 0 for key in keys], axis=0)
    others[cells] = False
    most = np.inf if percent is None else np.floor(tables[:, others] * percent / 100)
    is_possible = (rose | fell).all(axis=1) & (np.abs(y[:, others]) <= most).all(axis=1)
    return y[is_possible][:, cells]


PARTS = st.lists(st.integers(2, 10), min_size=4, max_size=4)
CHOSEN = st.sets(st.integers(0, 3), min_size=1, max_size=2)
PERCENT = st.sampled_from([None, 25.0, 40.0, 60.0, 100.0, 150.0])


@examples(20, of=60)
@given(PARTS, CHOSEN, PERCENT, st.integers(1, 3), st.booleans())
def test_what_is_shown_open_is_open(
    parts: list[int], chosen: set[int], percent: float | None, level: int, only_cubes: bool
) -> None:
    interior = np.reshape(parts, (2, 2)).tolist()
    problem = cv.two_way(interior, primaries={divmod(place, 2): level for place in chosen})
    is_part = np.all([np.asarray(key) > 0 for key in problem.table.keys], axis=0)
    problem = problem.replace(ub=np.where(is_part, LARGEST, problem.ub))
    try:
        found = cv.adjust(problem, "exact", limits=cv.Limits(interior=percent))
    except cv.AdjustmentError:
        reject()
    with pytest.MonkeyPatch.context() as patched:
        if only_cubes:  # and the mirrored table
            patched.setattr(adjusted_attack, "_possible", lambda *_: None)
        audit = cv.audit_adjusted(problem, found.values, limits={"interior": percent})
    cells = problem.primaries
    own = found.values[cells] - problem.table.values[cells]
    moved = possible_movements(problem, found.values, percent)
    assert (moved == own).all(axis=1).any(), "the true table is possible"
    is_open = (moved > 0).any(axis=0) & (moved < 0).any(axis=0)
    is_wide = (np.abs(moved - own) >= problem.lpl[cells] + problem.upl[cells]).any(axis=0)
    assert (audit.is_open <= is_open).all()
    assert (~audit.pinned <= is_wide).all()
    if not only_cubes:
        assert (audit.is_open == is_open).mean() >= 0.5


def test_limits_are_those_of_each_candidate() -> None:
    """Published 55 for a true 50, with a limit of 10 %: the true value lies between 50 and 61."""
    shares = Shares(np.array([10, 10, 10, 0, FREE, 100, 150]), 100)
    published = np.array([55, -55, 0, 7, 9, 8, 0])
    low, high = shares.true_values(published, 1000)
    assert low.tolist() == [50, -61, 0, 7, -1000, 4, -1000]
    assert high.tolist() == [61, -50, 0, 7, 1000, 1000, 1000]
    for value in range(-80, 81):
        table = np.full(7, value)
        inside = (low <= table) & (table <= high)
        keeps = shares.keep(published - table, table)
        assert (inside[:5] == keeps[:5]).all() and (inside <= keeps).all()


def test_limits_do_not_leave_64_bits() -> None:
    shares = Shares(np.array([12_345_678]), 10**9)
    published = np.array([4 * 10**18])
    low, high = shares.true_values(published, 2**62)
    for end, step in ((low, -1), (high, 1)):
        assert shares.keep(published - end, end).all()
        assert not shares.keep(published - end - step, end + step).any()


def test_a_value_that_the_limits_give_away_is_pinned_down() -> None:
    """Published 55 and 45 for 50 and 50: the second was 41 … 50, so the first, 50 or at least 60, was 50.

    With the limit of the true table, 5, the second could have been 40, and the first 60.
    """
    problem = cv.two_way([[50, 50]], primaries={(0, 0): 5})
    status = problem.status.copy()
    status[[problem.table.cell(*key) for key in (("r0", "Total"), ("Total", "Total"))]] = Status.FROZEN
    problem = problem.replace(status=status)
    values = problem.table.values.copy()
    for name, step in (("c0", 5), ("c1", -5)):
        values[[problem.table.cell(row, name) for row in ("r0", "Total")]] += step
    limits = {"interior": 10.0, "marginals": 10.0, "total": 10.0}
    audit = cv.audit_adjusted(problem, values, limits=limits)
    assert audit.is_safe and not audit.is_open.any() and audit.pinned.all()
    wider = cv.audit_adjusted(problem, values, limits=dict.fromkeys(limits, 15.0))
    assert wider.is_open.all() and not wider.pinned.any()


def test_cubes_decide_tables_that_are_too_large_for_programs() -> None:
    problem = cube(9)
    values = cv.adjust(problem, "start", start="least").values
    audit = cv.audit_adjusted(problem, values, params=AdjustedAttackParams(most_cells=0))
    assert audit.is_safe and audit.is_open.mean() > 0.9 and audit.pinned.mean() < 0.05


def test_only_possible_tables_count() -> None:
    problem = cv.two_way([[9, 7], [5, 8]], primaries={(0, 0): 2})
    values = problem.table.values.copy()
    corners = np.array([[problem.table.cell(f"r{i}", f"c{j}") for i in (0, 1) for j in (0, 1)]])
    values[corners[0]] += np.array([2, -2, -2, 2])
    levels, free = np.array([2]), Shares(np.full(len(values), FREE), 1)
    known = Candidates(problem, values, free, levels, levels)
    cases = [
        ([-4, 4, 4, -4], True),  # the cell fell instead
        ([-3, 3, 3, -3], False),  # it stays inside its levels
        ([-4, 4, 4, -3], False),  # a relation does not hold
        ([-20, 20, 20, -20], False),  # other true values would be below 0
        ([20, -20, -20, 20], False),  # its own would be
    ]
    for moves, is_possible in cases:
        answer = adjusted_attack.are_possible(known, corners, np.array([moves]))
        assert answer.tolist() == [is_possible]
