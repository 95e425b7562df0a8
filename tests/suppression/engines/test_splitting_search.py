"""Growing patterns by splitting: whole tables and windows, with and without a time limit."""

from __future__ import annotations

import pytest

from cellveil.clock import NO_LIMIT, Deadline
from cellveil.datasets import random_table
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.witness import are_deviations
from cellveil.problem import Problem
from cellveil.suppression.engines.splitting_search import SplittingSearch, SplittingSearchParams
from cellveil.tables.structure import structured

LONG = 10_000.0
"""A time limit that is never reached."""


def table(weight: str = "value") -> Problem:
    problem = random_table((9, 8, 7), hierarchical=[0], weight=weight, seed=2)
    return problem.replace(table=structured(problem.table))


@pytest.mark.parametrize("limit", [None, LONG])
@pytest.mark.parametrize("places", [10_000, 150])
@pytest.mark.parametrize("weight", ["value", "one"])
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


def test_narrow_windows_are_for_the_smaller_demands_and_for_time_limits() -> None:
    problem = table()
    params = SplittingSearchParams(window=150, narrow=60, largest=0.5)
    cell = int(problem.primaries[0])
    largest = float(max(problem.upl.max(), problem.lpl.max()))

    def places(amount: float, deadline: Deadline) -> int:
        search = SplittingSearch(problem, params, deadline=deadline)
        near = search._near(Ledger(problem), cell, amount, is_wide=search._is_wide(amount))
        return near.projection.size

    assert places(largest, Deadline(LONG)) == places(1.0, NO_LIMIT) > places(1.0, Deadline(LONG))


def test_ruin_and_recreate_ends_when_it_finds_nothing() -> None:
    problem = table()
    deadline = Deadline(LONG)
    search, ledger = SplittingSearch(problem, seed=1, deadline=deadline), Ledger(problem)
    search.build(ledger, deadline)
    assert not ledger.num_open
    before, told = ledger.cost, []
    search.regrow(ledger, deadline, lambda one: told.append(one.cost))
    assert not ledger.num_open
    assert ledger.cost == min([before, *told])
