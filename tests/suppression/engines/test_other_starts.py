"""Other beginnings, and bounds, that run beside the plan of `auto`: taken where they are better."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from cellveil.clock import Deadline
from cellveil.datasets import random_table
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.witness import are_deviations
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.solvers.parallel import using
from cellveil.suppression.engines.kernel_search import KernelSearchParams
from cellveil.suppression.engines.meet_demands import MeetDemandsParams
from cellveil.suppression.engines.other_starts import OtherStarts, OtherStartsParams
from cellveil.suppression.engines.pivot_annealing import PivotAnnealing, PivotAnnealingParams
from cellveil.suppression.methods.auto import AutoParams, auto
from cellveil.suppression.methods.optimal import optimal
from cellveil.suppression.methods.sequential import sequential
from helpers.linked_tables import linked

LONG = 300.0
"""A time limit that is never reached."""

PLAIN = "search, branch and cut, programs from the cover, better bound, search after these"
"""Stages that would find the least cost themselves."""


def three_way() -> Problem:
    return random_table((6, 5, 4), contributors=3.0, seed=3)


def threads() -> list[str]:
    return [each.name for each in threading.enumerate() if "beside" in each.name]


def cost_of(problem: Problem, hidden: Any) -> float:
    return float(problem.weight[hidden & ~problem.hidden_at_start].sum())


def starts_of(problem: Problem, **annealing: Any) -> OtherStarts:
    kernel = KernelSearchParams(annealing=PivotAnnealingParams(**annealing))
    return OtherStarts(problem, 1, MeetDemandsParams(), kernel, OtherStartsParams(one_by_one=1.0))


@pytest.mark.parametrize("most_priced", [0, 200])
def test_the_best_is_complete_exact_and_no_dearer_than_one_by_one(most_priced: int) -> None:
    problem = three_way()
    found = starts_of(problem, most_priced=most_priced, effort=5)
    found.run(Deadline(LONG))
    assert found.best is not None and not found.best.num_open
    assert are_deviations(problem, found.best.hidden, found.best.witnesses()).all()
    assert found.best.cost <= cost_of(problem, sequential(problem, seed=1).hidden)


def test_they_end_when_they_are_told_to_in_the_midst_of_annealing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has proven the least cost does not wait for a slow annealing."""
    anneals, whole = threading.Event(), PivotAnnealing.run

    def run(self: PivotAnnealing, *given: Any, **options: Any) -> None:
        anneals.set()
        whole(self, *given, **options)

    monkeypatch.setattr(PivotAnnealing, "run", run)
    found = starts_of(three_way(), effort=10**9)
    until = Deadline(LONG)
    found.begin(until)
    assert anneals.wait(60)
    found.end()
    assert not threads() and not until.is_over
    found.end()  # nothing is left to end


def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let other beginnings find the least cost."""

    def find(self: OtherStarts, deadline: Deadline) -> None:
        draft = optimal(self._problem)
        self.best = Ledger(self._problem, draft.hidden)
        self.best.add_all(draft.witnesses)
        assert not self.best.num_open

    monkeypatch.setattr(OtherStarts, "run", find)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_cheaper_pattern_is_taken(monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    """With one worker where the gap is wide, with two always."""
    problem = three_way()
    planted(monkeypatch)
    with using(workers):
        without = AutoParams(without=f"{PLAIN}, other beginnings")
        alone = auto(problem, deadline=Deadline(LONG), params=without)
        wide = AutoParams(without=PLAIN, other_starts=OtherStartsParams(wide=0.0))
        found = auto(problem, deadline=Deadline(LONG), params=wide)
    least = cost_of(problem, optimal(problem).hidden)
    assert cost_of(problem, found.hidden) == least < cost_of(problem, alone.hidden)
    assert are_deviations(problem, found.hidden, found.witnesses).all()
    assert not threads()


def test_nothing_runs_beside_without_a_limit_or_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OtherStarts, "begin", lambda *_: pytest.fail("it began"))
    problem = three_way()
    auto(problem)
    with using(2):
        auto(problem)


def test_faults_beside_come_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: OtherStarts, deadline: Deadline) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(OtherStarts, "run", fails)
    with using(2), pytest.raises(ZeroDivisionError):
        auto(three_way(), deadline=Deadline(LONG), params=AutoParams(without=PLAIN))
    assert not threads()


def test_an_interrupt_ends_what_runs_beside() -> None:
    class Interrupting(Progress):
        def stage(self, name: str) -> None:
            if name == "search":
                raise KeyboardInterrupt

    problem = random_table((7, 6, 5), hierarchical=[0], contributors=3.0, seed=1)
    with using(2):
        found = auto(problem, deadline=Deadline(LONG), progress=Interrupting())
    assert found.reason.is_interrupt and not threads()


def test_the_bound_of_irregular_tables_is_looked_for_beside() -> None:
    """The search does not wait for it, and what it proves is kept."""
    problem = linked(2)
    stages: list[str] = []

    class Listening(Progress):
        def stage(self, name: str) -> None:
            stages.append(name)

    without = "elimination, annealing, further eliminations, programs, exchanges, search, better bound"
    params = AutoParams(small=0, without=without, bound_beside=1.0)
    with using(2):
        found = auto(problem, deadline=Deadline(LONG), progress=Listening(), params=params)
        quick = AutoParams(small=0, without=f"{without}, bound beside")
        alone = auto(problem, deadline=Deadline(LONG), params=quick)
    assert "bound beside" in stages and not threads()
    assert found.lower_bound is not None and alone.lower_bound is not None
    assert 0 < alone.lower_bound <= found.lower_bound <= cost_of(problem, found.hidden)
    assert np.isfinite(found.lower_bound)
