"""When the stages of `auto` apply."""

from __future__ import annotations

import pytest

import cellveil as cv
from cellveil.clock import Deadline
from cellveil.datasets import random_table
from cellveil.judge.verdict import Outcome
from cellveil.progress import Progress
from cellveil.suppression.bounds.cover import cover_bound
from cellveil.suppression.engines.auto_state import AutoState, AutoStepsParams
from cellveil.suppression.engines.stages import Incumbent
from cellveil.suppression.methods.auto import PLANS, AutoParams, auto
from helpers.linked_tables import linked
from helpers.structure import stripped


class Stages(Progress):
    """Which stages a run goes through."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def stage(self, name: str) -> None:
        self.names.append(name)


@pytest.mark.parametrize("has_dimensions", [True, False])
def test_the_null_space_is_for_tables_that_have_no_cubes(has_dimensions: bool) -> None:
    problem, stages = linked(2), Stages()
    if not has_dimensions:
        problem = problem.replace(table=stripped(problem.table))
    draft = auto(problem, progress=stages, params=AutoParams(small=0, most_to_merge=0))
    assert not draft.infeasible and draft.hurried is None
    assert ("elimination" in stages.names) != has_dimensions


@pytest.mark.parametrize("limit", [None, 10_000.0])
@pytest.mark.parametrize("is_asked", [False, True])
@pytest.mark.parametrize("has_stalled", [False, True])
def test_a_better_bound_takes_no_time_from_the_pattern_unless_asked(
    has_stalled: bool, is_asked: bool, limit: float | None
) -> None:
    problem = random_table((6, 5, 4), seed=1)
    params = AutoStepsParams(better_bound=is_asked, most_for_exact=0, most_if_close=0)
    state = AutoState(problem, cover_bound(problem), Deadline(limit), 0, Progress(), params)
    state.least, state.has_stalled = 2 * state.bound, has_stalled
    assert state.has_time_to_bound() == (limit is None or has_stalled or is_asked)
    state.least = state.bound
    assert not state.has_time_to_bound()


@pytest.mark.parametrize("plan", ["irregular", "large"])
def test_plans_that_search_to_the_limit_leave_bounds_what_is_left(plan: str) -> None:
    last = PLANS[plan][-1]
    assert last.name == "better bound" and last.applies is AutoState.has_time_to_bound


def test_a_pattern_at_its_bound_is_searched_no_further() -> None:
    """The proven bound lies below the optimum by its rounding; the search went on until its time was up."""
    records = {
        "region": ["N", "N", "N", "S", "S", "S"],
        "branch": ["A", "A", "B", "B", "A", "B"],
        "size": ["1", "1", "2", "2", "1", "1"],
        "turnover": [1234.5, 234.5, 34.5, 7234.5, 134.5, 17.0],
        "firm": ["1", "2", "3", "4", "5", "6"],
    }
    made = cv.protect(
        records,
        by=["region", "branch", "size"],
        value="turnover",
        contributor="firm",
        rules=["p%:10", "threshold:3"],
        time_limit=60,
    )
    assert (made.suppression.outcome, made.suppression.reason) == (Outcome.OPTIMAL, "complete")
    incumbent = Incumbent(made.problem, 4827.499999999995, Progress())
    assert incumbent.is_cheapest(4827.5)
    assert not incumbent.is_cheapest(4828.0)
