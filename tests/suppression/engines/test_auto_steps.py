"""Steps of `auto` that run beside each other."""

from __future__ import annotations

import math
import threading

import pytest

from cellveil.clock import NO_LIMIT, Deadline
from cellveil.datasets import random_table
from cellveil.deviations.witness import are_deviations
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.solvers.background import BackgroundTask
from cellveil.solvers.parallel import using
from cellveil.suppression.bounds.cover import cover_bound
from cellveil.suppression.engines.auto_state import AutoStepsParams
from cellveil.suppression.engines.auto_steps import AutoRun
from cellveil.tables.structure import structured

LONG = 10_000.0
"""A time limit that is never reached."""


def table() -> Problem:
    problem = random_table((9, 8, 7), hierarchical=[0], seed=2)
    return problem.replace(table=structured(problem.table))


def test_the_pattern_of_cubes_is_polished_beside_what_follows() -> None:
    problem, deadline = table(), Deadline(LONG)
    params = AutoStepsParams(ample=math.inf)
    run = AutoRun(problem, cover_bound(problem), deadline, 0, Progress(), params)
    run.pack(deadline)
    assert run.start is not None
    packed = run.start.cost
    with using(2):
        run.polish_start(deadline)
        assert run.beside is not None
        run.harvest(deadline)  # on another ledger
        run.join()
    assert run.beside is None and not run.start.num_open
    assert run.kept is not None and run.least <= run.start.cost <= packed
    assert are_deviations(problem, run.start.hidden, run.start.witnesses()).all()


@pytest.mark.parametrize("workers", [1, 2])
def test_where_time_is_ample_all_workers_do_the_splitting(workers: int) -> None:
    problem, deadline = table(), Deadline(LONG)
    params = AutoStepsParams(ample=0.0)
    run = AutoRun(problem, cover_bound(problem), deadline, 0, Progress(), params)
    run.pack(deadline)
    with using(workers):
        run.polish_start(deadline)
        assert (run.beside is not None) == (workers == 2)
        run.split(deadline)
        assert run.beside is None, "nothing else runs beside the splitting"
        if run.is_open():
            run.pack_rest(deadline)
    assert not run.is_open()
    assert are_deviations(problem, run.ledger.hidden, run.ledger.witnesses()).all()


def nearly_done(deadline: Deadline) -> AutoRun:
    """A run with a pattern of cubes, and another one that lacks a few witnesses."""
    problem = table()
    run = AutoRun(problem, cover_bound(problem), deadline, 0, Progress(), AutoStepsParams())
    run.pack(deadline)
    assert run.start is not None and not run.start.num_open
    run.ledger = run.start.copied()
    run.ledger.publish(int(run.ledger.secondaries(dearest_first=True)[-1]))
    assert 0 < run.ledger.num_open < len(problem.primaries) / 4
    return run


def test_few_open_demands_are_packed_though_time_is_too_short_for_the_whole_table() -> None:
    run = nearly_done(Deadline(LONG))
    ledger, run.packing_time = run.ledger, 1.2 * LONG
    assert run.needs_cubes()
    run.pack_rest(run.deadline)
    assert run.ledger is ledger and not run.is_open()
    assert are_deviations(run.problem, ledger.hidden, ledger.witnesses()).all()


def test_the_pattern_of_cubes_is_taken_where_there_is_no_time_for_the_few_either() -> None:
    run = nearly_done(Deadline(LONG))
    run.packing_time = 1e4 * LONG
    run.pack_rest(run.deadline)
    assert run.ledger is run.start and not run.is_open()


def test_steps_leave_the_time_that_cubes_for_the_rest_take() -> None:
    run = nearly_done(Deadline(LONG))
    before, run.packing_time = run.ledger.num_open, 1.2 * LONG
    run.finish_by_steps(run.deadline)
    assert run.ledger.num_open == before and run.needs_cubes(), "time is short: nothing begins"


@pytest.mark.parametrize("workers", [1, 2])
def test_without_a_limit_threads_change_nothing(workers: int) -> None:
    problem = table()
    run = AutoRun(problem, cover_bound(problem), NO_LIMIT, 0, Progress(), AutoStepsParams())
    run.pack(NO_LIMIT)
    with using(workers):
        run.polish_start(NO_LIMIT)
    assert run.beside is None


def test_work_beside_is_waited_for_and_its_faults_come_out() -> None:
    def fails(deadline: Deadline) -> None:
        while not deadline.is_over:
            pass
        raise ValueError("in vain")

    before = threading.active_count()
    beside = BackgroundTask(fails, NO_LIMIT)
    with pytest.raises(ValueError, match="in vain"):
        beside.stop()
    assert threading.active_count() == before
