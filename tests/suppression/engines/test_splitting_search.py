"""Growing patterns by splitting: whole tables and windows, with and without a time limit."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from cellveil import clock
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.datasets import random_table
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.witness import are_deviations
from cellveil.problem import Problem, Status
from cellveil.suppression.engines.exact_tasks import Assignment, TaskTeam
from cellveil.suppression.engines.splitting_search import SplittingSearch, SplittingSearchParams
from cellveil.tables.structure import structured
from helpers.examples import few_of

LONG = 10_000.0
"""A time limit that is never reached."""


def table(weight: str = "value", sizes: tuple[int, ...] = (9, 8, 7)) -> Problem:
    problem = random_table(sizes, hierarchical=[0], weight=weight, seed=2)
    return problem.replace(table=structured(problem.table))


PAIRWISE = [("value", 10_000, None), ("value", 150, LONG), ("one", 10_000, LONG), ("one", 150, None)]
THE_REST = [("value", 10_000, LONG), ("value", 150, None), ("one", 10_000, None), ("one", 150, LONG)]


@pytest.mark.parametrize(("weight", "places", "limit"), few_of([*PAIRWISE, *THE_REST], len(PAIRWISE)))
def test_what_is_met_has_exact_witnesses(weight: str, places: int, limit: float | None) -> None:
    problem = table(weight)
    params = SplittingSearchParams(window=places, narrow=min(places, 100))
    deadline = NO_LIMIT if limit is None else Deadline(limit)
    search, ledger = SplittingSearch(problem, params, seed=1, deadline=deadline), Ledger(problem)
    asked = ledger.num_open
    search.build(ledger, deadline)
    assert search.is_windowed == (places == 150)
    assert ledger.num_open < asked / 4
    witnesses = ledger.witnesses()
    assert are_deviations(problem, ledger.hidden, witnesses).all()


@pytest.mark.parametrize(("seconds", "begun"), [(25.0, 2), (31.0, 3), (5.0, 1)])
def test_no_demand_begins_that_would_take_the_time_of_the_groups(
    seconds: float, begun: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes ten seconds on a clock of its own: where less is left for single demands, none begins."""
    now, served = [0.0], 0

    def do(team: TaskTeam, ledger: Ledger, assignments: list[Assignment], deadline: Deadline) -> list[float]:
        nonlocal served
        served += len(assignments)
        now[0] += 10.0
        return [1e12] * len(assignments)

    monkeypatch.setattr(clock, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(TaskTeam, "do", do)
    problem, deadline = table(), Deadline(LONG)
    search = SplittingSearch(problem, seed=1, deadline=deadline)
    search._one_by_one(Ledger(problem), deadline, most=9, only_dear=True, starts=Deadline(seconds))
    assert served == begun


def test_demands_are_settled_inside_what_is_hidden_and_hide_nothing() -> None:
    problem = table()
    search, ledger = SplittingSearch(problem, seed=1), Ledger(problem)
    ledger.hide(np.flatnonzero((problem.status != Status.FROZEN) & ~ledger.hidden))
    hidden, before = ledger.hidden.copy(), ledger.num_open
    search.settle_inside(ledger, NO_LIMIT)
    assert ledger.num_open < before and (ledger.hidden == hidden).all()
    assert are_deviations(problem, hidden, ledger.witnesses()).all()


def test_narrow_windows_are_for_the_smaller_demands_and_for_time_limits() -> None:
    problem = table()
    params = SplittingSearchParams(window=150, narrow=60, largest=0.5)
    cell = int(problem.primaries[0])
    largest = float(max(problem.upl.max(), problem.lpl.max()))

    def places(amount: float, deadline: Deadline) -> int:
        search = SplittingSearch(problem, params, deadline=deadline)
        near = search._window(Ledger(problem), cell, amount, is_wide=search._is_wide(amount))
        assert near is not None
        return near.size

    assert places(largest, Deadline(LONG)) == places(1.0, NO_LIMIT) > places(1.0, Deadline(LONG))


def test_ruin_and_recreate_ends_when_it_finds_nothing() -> None:
    problem = table(sizes=(6, 5, 5))
    deadline = Deadline(LONG)
    search, ledger = SplittingSearch(problem, seed=1, deadline=deadline), Ledger(problem)
    search.build(ledger, deadline)
    assert not ledger.num_open
    before, told = ledger.cost, []
    search.regrow(ledger, deadline, lambda one: told.append(one.cost))
    assert not ledger.num_open
    assert ledger.cost == min([before, *told])


def test_demands_of_groups_that_cost_more_than_their_price_are_left_for_later() -> None:
    problem = table()
    left, costs = [], []
    for prices in ((1e-3,), (1e-3, 10.0), (1e-3, 10.0, math.inf)):
        ledger = Ledger(problem)
        SplittingSearch(problem, SplittingSearchParams(giants=0, tail=0, prices=prices)).build(
            ledger, NO_LIMIT
        )
        left.append(ledger.num_open)
        costs.append(ledger.cost)
    assert left[0] > left[1] > left[2] == 0 and costs[0] < costs[1] < costs[2]


def test_what_a_time_limit_cuts_short_hides_nothing() -> None:
    """At the first weights nearly everything moves."""
    problem = table()
    ledger, looks = Ledger(problem), iter([False] * 3 + [True] * 1_000)
    SplittingSearch(problem).build(ledger, NO_LIMIT.or_when(lambda: next(looks)))
    assert ledger.cost == 0
