"""Tasks side by side: exact, the same for a seed and a number of workers, ended together."""

from __future__ import annotations

from typing import Any

import pytest

from cellveil.clock import NO_LIMIT, Deadline
from cellveil.datasets import random_table
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.witness import are_deviations
from cellveil.problem import Problem
from cellveil.solvers.parallel import using
from cellveil.suppression.draft import MethodEnding
from cellveil.suppression.engines.exact_tasks import ExactTasks
from cellveil.suppression.engines.splitting_search import SplittingSearch, SplittingSearchParams
from cellveil.suppression.methods.auto import AutoParams, auto
from cellveil.tables.structure import structured

LONG = 10_000.0
"""A time limit that is never reached."""


def table(*, trees: list[int]) -> Problem:
    problem = random_table((9, 8, 7), hierarchical=trees, seed=2)
    return problem.replace(table=structured(problem.table))


def built(
    problem: Problem, workers: int, *, threads: int | None = None, params: SplittingSearchParams | None = None
) -> Ledger:
    ledger = Ledger(problem)
    with using(threads or workers):
        search = SplittingSearch(problem, params, seed=1, workers=workers)
        search.harvest(ledger, NO_LIMIT)
        search.build(ledger, NO_LIMIT)
    return ledger


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("trees", [[], [0]])
def test_the_same_seed_and_workers_give_the_same_pattern(workers: int, trees: list[int]) -> None:
    """Whether the workers are threads or come one after the other."""
    problem = table(trees=trees)
    first, second = (built(problem, workers, threads=threads) for threads in (workers, 1))
    assert first.hidden.tolist() == second.hidden.tolist()
    assert first.num_open == second.num_open <= 2
    assert are_deviations(problem, first.hidden, first.witnesses()).all()
    assert first.cost == pytest.approx(problem.weight[first.secondaries()].sum())


def test_windows_are_shared_out_among_workers() -> None:
    problem, params = table(trees=[0]), SplittingSearchParams(window=150, narrow=100)
    first, second = (built(problem, 2, threads=threads, params=params) for threads in (2, 1))
    assert first.hidden.tolist() == second.hidden.tolist()
    assert first.num_open < Ledger(problem).num_open / 4
    assert are_deviations(problem, first.hidden, first.witnesses()).all()


def test_without_a_limit_auto_gives_the_same_pattern_for_any_number_of_workers() -> None:
    problem, params = table(trees=[]), AutoParams(small=0, without="better bound")
    drafts = []
    for workers in (1, 2, 2):
        with using(workers):
            drafts.append(auto(problem, seed=3, params=params))
    patterns = [draft.hidden.tolist() for draft in drafts]
    assert patterns[0] == patterns[1] == patterns[2]
    assert drafts[0].reason is MethodEnding.COMPLETE and not drafts[0].infeasible
    assert are_deviations(problem, drafts[0].hidden, drafts[0].witnesses).all()


def test_with_ample_time_auto_is_complete_and_exact() -> None:
    problem, params = table(trees=[]), AutoParams(small=0, ample=0.0, without="better bound,search")
    with using(2):
        draft = auto(problem, seed=3, deadline=Deadline(LONG), params=params)
    assert not draft.infeasible
    assert are_deviations(problem, draft.hidden, draft.witnesses).all()


@pytest.mark.parametrize("place", [0, 1])
def test_an_error_of_one_ends_the_others_and_leaves_the_ledger_as_it_was(
    monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    problem = table(trees=[])
    ledger, seen = Ledger(problem), []
    search = SplittingSearch(problem, workers=2)
    bad = search._team.members[place]

    def make_exact(self: ExactTasks, *given: Any) -> None:
        seen.append(given[-1])
        if self is bad:
            raise KeyboardInterrupt
        while not given[-1].is_over:
            pass

    monkeypatch.setattr(ExactTasks, "make_exact", make_exact)
    with using(2), pytest.raises(KeyboardInterrupt):
        search.build(ledger, NO_LIMIT)
    assert len(seen) == 2 and all(deadline.is_over for deadline in seen)
    assert ledger.cost == 0


def test_what_a_time_limit_cuts_short_hides_nothing() -> None:
    problem = table(trees=[])
    ledger, looks = Ledger(problem), iter([False] * 3 + [True] * 1_000)
    with using(2):
        SplittingSearch(problem, workers=2).build(ledger, NO_LIMIT.or_when(lambda: next(looks)))
        SplittingSearch(problem, workers=2).build(ledger, Deadline(0.0))
    assert ledger.cost == 0
