"""Exchanges side by side: complete, cheaper, the same for a seed and a number of workers."""

from __future__ import annotations

from typing import Any

import pytest

from cellveil.clock import NO_LIMIT, Deadline
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.witness import are_deviations
from cellveil.problem import Problem
from cellveil.solvers.parallel import using
from cellveil.suppression.engines.exchange_team import ExchangeTeam
from cellveil.suppression.engines.kernel_exchange import (
    ExchangeRecord,
    KernelExchange,
    KernelExchangeParams,
)
from cellveil.suppression.engines.kernel_repair import KernelRepair
from helpers.linked_tables import linked

TRIALS = 12
OFTEN = KernelExchangeParams(work_at_once=4)


def repaired(problem: Problem) -> Ledger:
    ledger = Ledger(problem)
    assert KernelRepair().repair(ledger, NO_LIMIT)
    return ledger


def exchanged(problem: Problem, workers: int, *, threads: int | None = None, seed: int = 3) -> Ledger:
    ledger = repaired(problem)
    with using(threads or workers):
        ExchangeTeam(ledger, workers, seed=seed, params=OFTEN).run(NO_LIMIT, lambda now: None, trials=TRIALS)
    return ledger


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_same_seed_and_workers_give_the_same_pattern(workers: int) -> None:
    """Whether the workers are threads or come one after the other."""
    found = [exchanged(linked(1), workers, threads=threads).hidden.tolist() for threads in (workers, 1)]
    assert found[0] == found[1]


@pytest.mark.parametrize("seed", range(2))
def test_patterns_become_cheaper_and_stay_complete(seed: int) -> None:
    problem = linked(seed)
    ledger = repaired(problem)
    costs = [ledger.cost]

    def note(now: Ledger) -> None:
        assert not now.num_open and are_deviations(problem, now.hidden, now.witnesses()).all()
        costs.append(now.cost)

    team = ExchangeTeam(ledger, 2, seed=seed, params=OFTEN)
    with using(2):
        team.run(NO_LIMIT, note, trials=TRIALS)
    assert ledger.cost == min(costs) == min(member.best.cost for member in team.members)
    assert not ledger.num_open and ledger.cost == problem.weight[ledger.secondaries()].sum()
    assert are_deviations(problem, ledger.hidden, ledger.witnesses()).all()
    assert [member.trials for member in team.members] == [TRIALS, TRIALS]


def test_a_team_is_no_worse_than_its_first_member_alone() -> None:
    alone = sum(exchanged(linked(seed), 1).cost for seed in range(3))
    together = sum(exchanged(linked(seed), 2).cost for seed in range(3))
    assert together <= alone


def test_what_another_one_has_found_is_taken_over() -> None:
    problem = linked(0)
    cheap = exchanged(problem, 2)
    member = KernelExchange(repaired(problem))
    assert cheap.cost < member.ledger.cost
    member.adopt(ExchangeRecord(cheap))
    assert member.ledger.hidden.tolist() == cheap.hidden.tolist()
    assert not member.ledger.num_open and member.ledger.cost == member.best.cost == cheap.cost


@pytest.mark.parametrize("seed", range(3))
def test_changes_are_combined_only_where_that_pays(seed: int) -> None:
    problem = linked(seed)
    before = repaired(problem)
    first, second = (KernelExchange(before.copied(), seed=number) for number in (5, 6))
    for member in (first, second):
        member.run(NO_LIMIT, lambda now: None, trials=4)
    cost = first.best.cost
    first.combine(before.hidden, second.best, NO_LIMIT)
    assert first.ledger.cost == first.best.cost <= cost
    assert not first.ledger.num_open
    assert are_deviations(problem, first.ledger.hidden, first.ledger.witnesses()).all()


def test_a_change_and_nothing_else_is_combined() -> None:
    """With a member that has changed nothing itself, the other's pattern comes out, or a cheaper one."""
    problem = linked(0)
    before, other = repaired(problem), exchanged(problem, 2)
    member = KernelExchange(before.copied())
    member.combine(before.hidden, ExchangeRecord(other), NO_LIMIT)
    assert member.best.cost <= other.cost < before.cost


def test_an_interrupt_of_one_ends_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = linked(1)
    seen: list[Deadline] = []
    advance = KernelExchange.advance

    def interrupted(self: KernelExchange, deadline: Deadline, *given: Any, **more: Any) -> bool:
        seen.append(deadline)
        if self.ledger is ledger:
            raise KeyboardInterrupt
        return advance(self, deadline, *given, **more)

    monkeypatch.setattr(KernelExchange, "advance", interrupted)
    ledger = repaired(problem)
    with using(2), pytest.raises(KeyboardInterrupt):
        ExchangeTeam(ledger, 2).run(NO_LIMIT, lambda now: None, trials=1)
    assert seen[0].is_over and not ledger.num_open


def test_barren_trials_of_all_end_the_search() -> None:
    ledger = repaired(linked(1))
    team = ExchangeTeam(ledger, 2, params=KernelExchangeParams(barren=8, work_at_once=4))
    with using(2):
        team.run(Deadline(10_000.0), lambda now: None)
    assert not ledger.num_open
    assert sum(member.barren for member in team.members) >= 8
