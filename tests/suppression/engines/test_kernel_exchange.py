"""Ruin and recreate in the null space of a pattern: cheaper, complete, exact, the same for the same seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cellveil.clock import NO_LIMIT, Deadline
from cellveil.datasets.linked_tables import publication
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.witness import are_deviations
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.suppression.bounds.cover import cover_bound
from cellveil.suppression.engines.auto_state import AutoStepsParams
from cellveil.suppression.engines.auto_steps import AutoRun
from cellveil.suppression.engines.kernel_exchange import KernelExchange, KernelExchangeParams
from cellveil.suppression.engines.kernel_repair import KernelRepair
from cellveil.suppression.engines.kernel_search import KernelSearchParams
from cellveil.suppression.engines.pivot_annealing import PivotAnnealingParams
from helpers.linked_tables import linked

TRIALS = 15
LONG = Deadline(10_000.0)
"""A time limit that is never reached."""


def repaired(problem: Problem) -> Ledger:
    ledger = Ledger(problem)
    assert KernelRepair().repair(ledger, NO_LIMIT)
    return ledger


@pytest.mark.parametrize("seed", range(3))
def test_patterns_become_cheaper_and_stay_complete(seed: int) -> None:
    problem = linked(seed)
    ledger = repaired(problem)
    costs = [ledger.cost]

    def note(now: Ledger) -> None:
        assert not now.num_open
        assert are_deviations(problem, now.hidden, now.witnesses()).all()
        costs.append(now.cost)

    KernelExchange(ledger, seed=seed).run(NO_LIMIT, note, trials=TRIALS)
    assert costs == sorted(set(costs), reverse=True)
    assert ledger.cost == costs[-1] and not ledger.num_open


def test_some_trials_pay() -> None:
    ledgers = [repaired(linked(seed)) for seed in range(3)]
    before = sum(ledger.cost for ledger in ledgers)
    for ledger in ledgers:
        KernelExchange(ledger).run(NO_LIMIT, lambda now: None, trials=TRIALS)
    assert sum(ledger.cost for ledger in ledgers) < before


def test_the_same_seed_gives_the_same_pattern() -> None:
    ledgers = [repaired(linked(1)) for _ in range(2)]
    for ledger in ledgers:
        KernelExchange(ledger, seed=4).run(NO_LIMIT, lambda now: None, trials=TRIALS)
    assert ledgers[0].hidden.tolist() == ledgers[1].hidden.tolist()


def test_a_trial_in_vain_leaves_the_pattern_as_it_was() -> None:
    ledger = repaired(linked(2))
    hidden, witnesses = ledger.hidden.copy(), ledger.witnesses()
    exchange = KernelExchange(ledger)
    exchange.run(Deadline(0.0), lambda now: None)
    assert exchange.trials == 0
    kernel = exchange._kernel()
    assert kernel is not None
    moved = kernel.direction_of[np.isin(kernel.cells, ledger.problem.primaries)]
    assert not np.isin(exchange._some_directions(kernel), moved).any()
    assert not exchange._attempt(kernel, exchange._some_directions(kernel), 0.0, Deadline(0.0))
    assert (ledger.hidden == hidden).all() and not ledger.num_open
    assert (ledger.witnesses().cells == witnesses.cells).all()


@pytest.mark.parametrize("seed", [0, 2])
def test_the_cheapest_pattern_stays_although_dearer_ones_are_kept(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = linked(seed)
    ledger = repaired(problem)
    costs, kept, told = [ledger.cost], 0, []
    attempt = KernelExchange._attempt

    def noted(self: KernelExchange, *given: Any) -> bool:
        nonlocal kept
        is_kept = attempt(self, *given)
        kept += is_kept and self.ledger.cost > min(costs)
        costs.append(self.ledger.cost)
        return is_kept

    monkeypatch.setattr(KernelExchange, "_attempt", noted)
    params = KernelExchangeParams(slack=0.5)
    KernelExchange(ledger, seed=seed, params=params).run(
        NO_LIMIT, lambda now: told.append(now.cost), trials=TRIALS
    )
    assert kept
    assert ledger.cost == min(costs) == min(told, default=costs[0]) and not ledger.num_open
    assert ledger.cost == problem.weight[ledger.secondaries()].sum()
    assert are_deviations(problem, ledger.hidden, ledger.witnesses()).all()


def test_more_directions_are_published_while_trials_are_kept() -> None:
    ledger = repaired(linked(1))
    params = KernelExchangeParams(ruined=4.0, least_ruined=3.0, most_ruined=6.0, more=1.3, fewer=0.8)
    exchange = KernelExchange(ledger, params=params)
    kernel = exchange._kernel()
    assert kernel is not None
    chosen = exchange._some_directions(kernel)
    assert 1 <= len(chosen) <= 4
    for expected in (3.2, 3.0, 3.0):
        assert not exchange._attempt(kernel, chosen, 0.0, Deadline(0.0))
        assert exchange._ruined == pytest.approx(expected)
    for expected in (3.9, 5.07, 6.0):
        kernel = exchange._kernel()
        assert kernel is not None
        assert exchange._attempt(kernel, exchange._some_directions(kernel), np.inf, NO_LIMIT)
        assert exchange._ruined == pytest.approx(expected)


def test_too_many_degrees_of_freedom_are_left_alone() -> None:
    ledger = repaired(linked(2))
    exchange = KernelExchange(ledger, params=KernelExchangeParams(most_coordinates=1))
    exchange.run(NO_LIMIT, lambda now: None, trials=TRIALS)
    assert exchange.trials == 0 and not ledger.num_open


def test_exchanges_follow_elimination_where_there_is_a_limit() -> None:
    problem = linked(3)
    params = AutoStepsParams()
    run = AutoRun(problem, cover_bound(problem), LONG, 0, Progress(), params)
    assert not run.can_exchange()
    run.eliminate(LONG)
    assert run.can_exchange() and not run.is_without_exchanges()
    least = run.least
    run.exchange(Deadline(0.0))
    assert run.least == least and run.kept is not None
    endless = AutoRun(problem, cover_bound(problem), NO_LIMIT, 0, Progress(), params)
    endless.eliminate(NO_LIMIT)
    assert endless.is_without_exchanges() and not endless.can_exchange()


def test_annealing_leaves_the_time_of_long_limits_to_exchanges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless they know of capacities, and gain by taking their time."""
    problem = linked(3)
    limits: list[float | None] = []
    for most_priced in (0, 1_000):
        annealing = PivotAnnealingParams(most_priced=most_priced)
        params = AutoStepsParams(kernel_search=KernelSearchParams(annealing=annealing))
        run = AutoRun(problem, cover_bound(problem), LONG, 0, Progress(), params)
        run.eliminate(LONG)
        assert run.kernel_search is not None
        monkeypatch.setattr(run.kernel_search, "annealed", lambda until, *_: limits.append(until.limit))
        for deadline in (LONG, NO_LIMIT):
            run.anneal(deadline)
    assert limits == [AutoStepsParams().most_annealing, None, LONG.limit, None]


def test_dearer_patterns_are_allowed_again_after_trials_in_vain() -> None:
    exchange = KernelExchange(repaired(linked(1)), params=KernelExchangeParams(kick=0.1, patience=4))
    allowed = []
    for exchange.barren in range(10):
        allowed.append(exchange._kick())
    assert allowed == pytest.approx([0, 0, 0, 0, 0.1, 0.075, 0.05, 0.025, 0.1, 0.075])


def test_barren_trials_end_the_search() -> None:
    """In a small table nothing is left to find after a moment: the rest of the time is not waited for."""
    ledger, found = repaired(linked(1)), []
    exchange = KernelExchange(ledger, params=KernelExchangeParams(barren=8))
    exchange.run(LONG, lambda now: found.append(exchange.trials))
    assert exchange.trials == (found[-1] if found else 0) + 8


def test_the_solver_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """HiGHS 1.15 prints a line of its own where presolve merges parallel columns, one of them free."""
    ledger = repaired(publication(400, tables=4, seed=12))
    KernelExchange(ledger, seed=1).run(NO_LIMIT, lambda now: None, trials=30)
    assert capfd.readouterr() == ("", "")
