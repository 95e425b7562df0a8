"""The attacker of adjusted tables: what the audit shows open by cubes is open, table by table."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import cellveil as cv
from cellveil import adjusted_audit
from cellveil.datasets import cube
from cellveil.problem import Problem

LARGEST = 12
"""No part of a possible table is larger than this in the brute force, by a common bound."""


def possible_senses(problem: Problem, values: NDArray[np.int64], percent: float | None) -> NDArray[np.bool_]:
    """Of which sensitive cells two possible tables differ in sense, over all tables of 2 × 2 parts."""
    keys = [np.asarray(key) for key in problem.table.keys]
    parts = np.array(list(itertools.product(range(LARGEST + 1), repeat=4))).reshape(-1, 2, 2)
    full = np.zeros((len(parts), 3, 3), dtype=np.int64)
    full[:, 1:, 1:] = parts
    full[:, 0], full[:, :, 0] = full.sum(axis=1), 0
    full[:, :, 0] = full.sum(axis=2)
    y = values - full[:, keys[0], keys[1]]
    cells = problem.primaries
    rose, fell = y[:, cells] >= problem.upl[cells], y[:, cells] <= -problem.lpl[cells]
    others = np.all([key > 0 for key in keys], axis=0)
    others[cells] = False
    most = np.inf if percent is None else np.floor(problem.table.values[others] * percent / 100)
    is_possible = (rose | fell).all(axis=1) & (np.abs(y[:, others]) <= most).all(axis=1)
    return np.asarray(rose[is_possible].any(axis=0) & fell[is_possible].any(axis=0))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(2, 8), min_size=4, max_size=4),
    st.sets(st.integers(0, 3), min_size=1, max_size=2),
    st.sampled_from([None, 60.0]),
)
def test_what_cubes_show_open_is_open(parts: list[int], chosen: set[int], percent: float | None) -> None:
    problem = cv.two_way(
        np.reshape(parts, (2, 2)).tolist(), primaries={divmod(place, 2): 1 for place in chosen}
    )
    is_part = np.all([np.asarray(key) > 0 for key in problem.table.keys], axis=0)
    problem = problem.replace(ub=np.where(is_part, LARGEST, problem.ub))
    limits = cv.Limits(interior=percent)
    try:
        found = cv.adjust(problem, "exact", limits=limits)
    except cv.AdjustmentError:
        return
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(adjusted_audit, "_possible", lambda *_: None)  # cubes alone, and the mirrored table
        audit = cv.audit_adjusted(problem, found.values, limits={"interior": percent})
    is_open = possible_senses(problem, found.values, percent)
    assert (audit.is_open <= is_open).all()


def test_cubes_decide_tables_that_are_too_large_for_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = cube(9)
    values = cv.adjust(problem, "start", start="least").values
    monkeypatch.setattr(adjusted_audit, "MOST_CELLS", 0)
    audit = cv.audit_adjusted(problem, values)
    assert audit.is_safe and audit.is_open.mean() > 0.9 and audit.pinned.mean() < 0.05


def test_only_possible_tables_count() -> None:
    problem = cv.two_way([[9, 7], [5, 8]], primaries={(0, 0): 2})
    values = problem.table.values.copy()
    corners = np.array([[problem.table.cell(f"r{i}", f"c{j}") for i in (0, 1) for j in (0, 1)]])
    values[corners[0]] += np.array([2, -2, -2, 2])
    room = adjusted_audit._Rooms.of(problem, {})
    cases = [
        ([-4, 4, 4, -4], True),  # the cell fell instead
        ([-3, 3, 3, -3], False),  # it stays inside its levels
        ([-4, 4, 4, -3], False),  # a relation does not hold
        ([-20, 20, 20, -20], False),  # other true values would be below 0
        ([20, -20, -20, 20], False),  # its own would be
    ]
    for moves, is_possible in cases:
        answer = adjusted_audit._are_possible(room, values, corners, np.array([moves]))
        assert answer.tolist() == [is_possible]
