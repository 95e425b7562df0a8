"""A search shared out: the same result whoever does it, the cheapest of several seeds, and liars in vain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cellveil.certificate import verify
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.datasets import random_table, two_way
from cellveil.deviations.demand import Demand
from cellveil.errors import InfeasibleError, InputError, WorkerError
from cellveil.problem import Problem, Status
from cellveil.progress import Progress
from cellveil.suppression import METHODS, Draft, Suppression, suppress
from cellveil.suppression.draft import MethodEnding
from cellveil.suppression.engines.pivot_annealing import PivotAnnealing
from cellveil.suppression.shared_search import SearchRecipe, SearchTask, is_certified, searched
from cellveil.tasks import InProcess, Reply, using_pool
from cellveil.tasks.stopping import ask_to_stop, marked
from helpers.unlinked_tables import TamperedPool, side_by_side

SPLIT = {"run.shared.parts.least_cells": 1}


@pytest.fixture(scope="module")
def tables() -> list[Problem]:
    return [random_table((7, 6), contributors=2, seed=seed) for seed in (1, 2)]


@pytest.fixture(scope="module")
def whole(tables: list[Problem]) -> Problem:
    return side_by_side(*tables)


def is_proven(problem: Problem, found: Suppression) -> bool:
    return verify(problem, found.pattern, found.certificate).is_valid


# -- parts ---------------------------------------------------------------------------------------------------


def test_parts_cost_what_they_cost_alone(tables: list[Problem], whole: Problem) -> None:
    alone = [suppress(one, attackers=[]) for one in tables]
    found = suppress(whole, attackers=[], options=SPLIT)
    assert found.is_safe and is_proven(whole, found)
    assert found.cost == pytest.approx(sum(one.cost for one in alone))
    assert found.lower_bound == pytest.approx(sum(one.lower_bound or 0.0 for one in alone))
    assert np.array_equal(found.pattern.hidden, np.concatenate([one.pattern.hidden for one in alone]))


@pytest.mark.parametrize(
    "method", ["sequential", "hypercube", "elimination", "optimal", "modular", "genetic"]
)
def test_every_method_may_run_part_by_part(whole: Problem, method: str) -> None:
    found = suppress(whole, method, attackers=[], options=SPLIT)
    assert found.is_safe and is_proven(whole, found)


def test_a_part_that_nothing_protects_is_named(tables: list[Problem]) -> None:
    hopeless = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})
    status = np.where(hopeless.status == Status.PRIMARY, hopeless.status, Status.FROZEN)
    problem = side_by_side(tables[0], hopeless.replace(status=status.astype(np.int8)))
    with pytest.raises(InfeasibleError) as caught:
        suppress(problem, attackers=[], options=SPLIT)
    own = tables[0].table.num_cells + int(hopeless.primaries[0])
    assert caught.value.cells == (problem.table.cell_name(own),)


def test_contributors_are_kept_off_over_all_parts(tables: list[Problem]) -> None:
    found = suppress(side_by_side(*tables), attackers=["integer"], options=SPLIT)
    assert found.is_safe and len(found.audit.verdicts) == 2


def test_a_time_limit_is_for_all_parts(whole: Problem) -> None:
    found = suppress(whole, attackers=[], time_limit=2.0, seeds=2, options=SPLIT)
    assert found.is_safe and is_proven(whole, found)


# -- seeds ---------------------------------------------------------------------------------------------------


def test_the_cheapest_of_several_seeds_is_kept() -> None:
    problem = random_table((6, 5, 4), contributors=2, seed=8)
    single = [suppress(problem, "hypercube", attackers=[], seed=seed).cost for seed in (5, 6, 7)]
    found = suppress(problem, "hypercube", attackers=[], seed=5, seeds=3)
    assert found.is_safe and found.cost == min(single)


@pytest.mark.parametrize("wrong", [0, -1, 101, 1.5, "4"])
def test_a_wrong_number_of_seeds_is_refused(tables: list[Problem], wrong: Any) -> None:
    with pytest.raises(InputError, match="number of seeds"):
        suppress(tables[0], attackers=[], seeds=wrong)


def test_several_seeds_do_not_write_one_file(tables: list[Problem], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="one file"):
        suppress(tables[0], "genetic", attackers=[], seeds=2, options={"checkpoint": str(tmp_path / "state")})


# -- what comes back -----------------------------------------------------------------------------------------


def changing(number: int, change: Callable[[Draft], Any]) -> TamperedPool:
    """A pool whose task of this number, or every one (−1), comes back changed."""

    def changed(place: int, reply: Reply[Draft]) -> Reply[Any]:
        return Reply(change(reply.get())) if number in (-1, place) else reply

    return TamperedPool(changed)


def test_a_cheaper_pattern_without_a_proof_is_passed_over(tables: list[Problem]) -> None:
    problem = tables[0]
    lie = changing(0, lambda draft: replace(draft, hidden=problem.hidden_at_start.copy()))
    with using_pool(lie):
        found = suppress(problem, attackers=[], seeds=2)
    assert found.is_safe and is_proven(problem, found)
    assert np.array_equal(found.pattern.hidden, suppress(problem, attackers=[], seed=1).pattern.hidden)


def start_of(draft: Draft, whole: Problem) -> Any:
    """What is hidden at the start of the half that a draft is about."""
    first, second = whole.hidden_at_start[: len(draft.hidden)], whole.hidden_at_start[len(draft.hidden) :]
    return (first if (draft.hidden | ~first).all() else second).copy()


def test_where_all_lie_nothing_is_called_safe_without_a_proof(whole: Problem) -> None:
    lies = changing(-1, lambda draft: replace(draft, hidden=start_of(draft, whole)))
    with using_pool(lies):
        found = suppress(whole, attackers=[], options={**SPLIT, "run.mending_rounds": 0})
        mended = suppress(whole, attackers=[], options=SPLIT)
    assert not found.is_safe and len(found.audit.unsafe_cells)
    assert mended.is_safe == is_proven(whole, mended)


def test_a_bound_above_the_cost_of_a_proven_pattern_is_dropped(tables: list[Problem]) -> None:
    with using_pool(changing(0, lambda draft: replace(draft, lower_bound=1e12))):
        found = suppress(tables[0], attackers=[], seeds=2)
    assert found.is_safe and found.lower_bound is not None and found.lower_bound <= found.cost * 1.001


def test_a_worker_that_calls_a_feasible_problem_infeasible_is_not_believed(tables: list[Problem]) -> None:
    with using_pool(changing(0, lambda draft: replace(draft, infeasible=[Demand(1, True, 1)]))):
        assert suppress(tables[0], attackers=[], seeds=2).is_safe


GARBAGE: dict[str, Callable[[Draft], Any]] = {
    "no draft": lambda draft: "safe",
    "another size": lambda draft: replace(draft, hidden=draft.hidden[1:]),
    "no truth values": lambda draft: replace(draft, hidden=draft.hidden.astype(np.int8)),
    "primaries published": lambda draft: replace(draft, hidden=np.zeros_like(draft.hidden)),
    "everything hidden": lambda draft: replace(draft, hidden=np.ones_like(draft.hidden)),
    "cells that there are not": lambda draft: replace(
        draft, witnesses=replace(draft.witnesses, cells=draft.witnesses.cells + 10_000)
    ),
    "broken rows": lambda draft: replace(
        draft, witnesses=replace(draft.witnesses, starts=draft.witnesses.starts[::-1])
    ),
    "floats": lambda draft: replace(
        draft, witnesses=replace(draft.witnesses, numerators=draft.witnesses.numerators * 1.0)
    ),
    "a bound that is no number": lambda draft: replace(draft, lower_bound=float("nan")),
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_what_is_no_pattern_is_refused(tables: list[Problem], kind: str) -> None:
    problem = tables[0]
    status = problem.status.copy()
    status[np.flatnonzero(status == Status.SAFE)[-1]] = Status.FROZEN
    problem = problem.replace(status=status)
    with using_pool(changing(0, GARBAGE[kind])):
        found = suppress(problem, attackers=[], seeds=2)
    assert found.is_safe and is_proven(problem, found)
    with using_pool(changing(-1, GARBAGE[kind])), pytest.raises(WorkerError, match="else than a pattern"):
        suppress(problem, attackers=[], seeds=2)


def test_a_search_that_is_lost_leaves_the_others(tables: list[Problem]) -> None:
    notes: list[str] = []

    class Noting(Progress):
        def note(self, text: str) -> None:
            notes.append(text)

    lost = TamperedPool(lambda place, reply: Reply(error=WorkerError("lost.")) if place == 0 else reply)
    with using_pool(lost):
        found = suppress(tables[0], attackers=[], seeds=2, progress=Noting())
    assert np.array_equal(found.pattern.hidden, suppress(tables[0], attackers=[], seed=1).pattern.hidden)
    assert notes == ["1 search was lost by the workers; what the others found was kept"]
    with using_pool(TamperedPool(lambda *_: Reply(error=WorkerError("lost.")))), pytest.raises(WorkerError):
        suppress(tables[0], attackers=[], seeds=2)


def test_a_pool_that_is_gone_keeps_what_is_complete(tables: list[Problem], whole: Problem) -> None:
    class Gone(InProcess):
        def replies(self, work: Any, shared: Any, tasks: Any, *, may_stop: bool = False) -> Any:
            yield next(iter(super().replies(work, shared, tasks)))
            raise WorkerError("the scheduler is gone")

    with using_pool(Gone()):
        assert suppress(tables[0], attackers=[], seeds=3).is_safe
    with using_pool(Gone()), pytest.raises(WorkerError, match="the scheduler is gone"):
        suppress(whole, attackers=[], options=SPLIT)


# -- interrupts ----------------------------------------------------------------------------------------------


class Interrupting(Progress):
    """Interrupts the search once so many parts have told a stage of this name."""

    def __init__(self, stage: str, after: int) -> None:
        self._stage, self._left = stage, after

    def stage(self, name: str) -> None:
        self._left -= name == self._stage
        if not self._left:
            self._left = -1
            raise KeyboardInterrupt


def test_an_interrupt_keeps_what_parts_have(whole: Problem) -> None:
    """The first part is complete; the other one gets a pattern in a moment."""
    found = suppress(whole, attackers=[], options=SPLIT, progress=Interrupting("bound", 2))
    assert found.was_interrupted and found.is_safe and is_proven(whole, found)


def test_an_interrupt_before_anything_is_found_ends_it(whole: Problem) -> None:
    with pytest.raises(KeyboardInterrupt):
        suppress(whole, attackers=[], options=SPLIT, progress=Interrupting("bound", 1))


def test_what_stopped_searches_bring_back_is_kept(tables: list[Problem]) -> None:
    stopped = changing(-1, lambda draft: replace(draft, reason=MethodEnding.INTERRUPTED_SEARCH))
    with using_pool(stopped):
        found = suppress(tables[0], attackers=[], seeds=2, time_limit=3600.0)
    assert found.was_interrupted and found.is_safe and is_proven(tables[0], found)


def test_a_search_that_is_stopped_before_it_has_a_pattern_says_so(tables: list[Problem]) -> None:
    recipe = SearchRecipe("auto", METHODS["auto"].read({}), (tables[0],))
    ask_to_stop("this one")
    with marked("this one"), pytest.raises(WorkerError, match="before it had a pattern"):
        searched(recipe, SearchTask(0, 0, 1.0, NO_LIMIT))
    with marked("another one"):
        assert is_certified(tables[0], searched(recipe, SearchTask(0, 0, 1.0, NO_LIMIT)))


def test_a_search_hears_it_in_a_stage_that_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow annealing tells of nothing for minutes; it ends, and the pattern so far comes back."""
    problem, whole = random_table((6, 5, 4), contributors=3.0, seed=3), PivotAnnealing.run

    def run(self: PivotAnnealing, deadline: Deadline, **options: Any) -> None:
        ask_to_stop("slow one")
        whole(self, deadline, **options)

    monkeypatch.setattr(PivotAnnealing, "run", run)
    options = {"kernel_search.annealing.effort": 10**9, "other_starts.wide": 0.0, "without": "branch and cut"}
    recipe = SearchRecipe("auto", METHODS["auto"].read(options), (problem,))
    until = Deadline(300.0)
    with marked("slow one"):
        assert is_certified(problem, searched(recipe, SearchTask(0, 0, 1.0, until)))
    assert not until.is_over


def test_progress_tells_of_the_whole(whole: Problem) -> None:
    told: list[dict[str, Any]] = []

    class Listening(Progress):
        def advance(self, done: int, total: int | None = None, **figures: Any) -> None:
            told.append(figures)

    found = suppress(whole, attackers=[], options=SPLIT, progress=Listening())
    costs = [figures["cost"] for figures in told if "cost" in figures]
    assert costs and costs[-1] == pytest.approx(found.cost)
    assert all(later <= earlier for earlier, later in pairwise(costs))


def test_certified_means_that_the_verifier_accepts_it(tables: list[Problem]) -> None:
    draft = METHODS["auto"].run(tables[0], deadline=NO_LIMIT, seed=0)
    assert is_certified(tables[0], draft)
    assert not is_certified(tables[0], replace(draft, hidden=tables[0].hidden_at_start.copy()))
