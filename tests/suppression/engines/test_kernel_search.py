"""Greedy elimination and pivot annealing in the null space: complete, exact, the same for the same seed."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest

from cellveil.clock import Deadline
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.residue_tableau import Tableau
from cellveil.deviations.witness import are_deviations
from cellveil.judge.outsider import audit_outsider
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.solvers.parallel import using
from cellveil.suppression.engines.kernel_repair import KernelRepair, KernelRepairParams
from cellveil.suppression.engines.kernel_search import KernelSearch, KernelSearchParams
from cellveil.suppression.engines.pivot_annealing import PivotAnnealing, PivotAnnealingParams
from helpers.linked_tables import linked

FEW = KernelSearchParams(annealing=PivotAnnealingParams(trials=500))
ENDLESS = Deadline(None)


def kernel_search_of(problem: Problem, seed: int = 0) -> KernelSearch:
    found = KernelSearch.of(problem, ENDLESS, seed=seed, params=FEW)
    assert found is not None
    return found


def annealed(problem: Problem, seed: int = 0) -> list[Ledger]:
    ledgers: list[Ledger] = []
    kernel_search_of(problem, seed).annealed(ENDLESS, np.inf, ledgers.append)
    return ledgers


@pytest.mark.parametrize("seed", range(3))
def test_elimination_ends_with_an_exact_witness_for_every_demand(seed):
    problem = linked(seed)
    ledgers = list(kernel_search_of(problem).patterns(ENDLESS, ENDLESS))
    assert ledgers
    for ledger in ledgers:
        assert not ledger.num_open
        assert are_deviations(problem, ledger.hidden, ledger.witnesses()).all()
        assert ledger.cost < problem.weight[~problem.hidden_at_start].sum()


@pytest.mark.parametrize("seed", range(3))
def test_eliminations_side_by_side_come_to_the_patterns_of_one_after_the_other(seed):
    """Those of one worker, and perhaps one that it gave up when it became dearer than the best."""
    problem, ample = linked(seed), Deadline(1e6)
    alone = [ledger.hidden.tolist() for ledger in kernel_search_of(problem).patterns(ENDLESS, ENDLESS)]
    with using(2):
        ledgers = list(kernel_search_of(problem).patterns(ample, ample))
    beside = [ledger.hidden.tolist() for ledger in ledgers]
    assert [each for each in beside if each in alone] == alone
    for ledger in ledgers:
        assert not ledger.num_open
        assert are_deviations(problem, ledger.hidden, ledger.witnesses()).all()


def test_varied_eliminations_side_by_side_are_the_same_for_the_same_seed():
    problem = linked(3)

    def some() -> list[list[bool]]:
        search, ample = kernel_search_of(problem, seed=2), Deadline(1e6)
        with using(2):
            return [ledger.hidden.tolist() for ledger in islice(search.varied(ample), 1)]

    first = some()
    assert first and first == some()


@pytest.mark.parametrize("seed", range(3))
def test_annealing_ends_with_an_exact_witness_for_every_demand(seed):
    problem = linked(seed)
    ledgers = annealed(problem)
    assert ledgers
    for ledger in ledgers:
        assert not ledger.num_open
        assert are_deviations(problem, ledger.hidden, ledger.witnesses()).all()


def test_each_pattern_handed_over_is_cheaper_than_the_one_before():
    costs = [ledger.cost for ledger in annealed(linked(4))]
    assert costs == sorted(costs, reverse=True)
    assert len(set(costs)) == len(costs)


def test_the_same_seed_gives_the_same_patterns():
    problem = linked(5)
    first, second = annealed(problem, 3), annealed(problem, 3)
    assert [ledger.hidden.tolist() for ledger in first] == [ledger.hidden.tolist() for ledger in second]


def test_unit_weights():
    problem = linked(6)
    unit = problem.replace(weight=np.ones(problem.table.num_cells))
    assert all(not ledger.num_open for ledger in annealed(unit))


def test_repair_of_a_pattern_that_hides_too_little():
    problem = linked(1)
    ledger = Ledger(problem)
    assert KernelRepair().repair(ledger, ENDLESS)
    assert not ledger.num_open
    assert are_deviations(problem, ledger.hidden, ledger.witnesses()).all()


def test_repair_gives_up_where_it_becomes_too_dear():
    ledger = Ledger(linked(1))
    assert not KernelRepair().repair(ledger, ENDLESS, most=1.0)


def test_a_wrong_residue_is_caught_by_the_audit(monkeypatch):
    problem = linked(2)
    right = Tableau.whole

    def wrong(tableau: Tableau, count: int) -> np.ndarray:
        columns = right(tableau, count).copy()
        columns[:, np.flatnonzero(columns.any(axis=0))[0]] += 1
        return columns

    monkeypatch.setattr(Tableau, "whole", wrong)
    for ledger in kernel_search_of(problem).patterns(ENDLESS, ENDLESS):
        claims = ledger.witnesses()
        assert not are_deviations(problem, ledger.hidden, claims).all()
        pattern = Pattern.hiding(problem, ledger.hidden, "auto")
        with_claims = audit_outsider(problem, pattern, exact=False, claims=claims)
        assert with_claims.is_safe == audit_outsider(problem, pattern, exact=False).is_safe


def test_no_tableau_is_made_that_takes_too_long():
    assert KernelSearch.of(linked(1), Deadline(0.0)) is None


def test_an_annealing_ends_with_its_trials_though_there_is_time_left():
    search = kernel_search_of(linked(1))
    order = np.flatnonzero(search.problem.status[search.tableau.cells] != Status.PRIMARY)
    chain = PivotAnnealing(
        search.problem,
        search.tableau.copy(),
        order,
        np.zeros(len(search.tableau.cells), dtype=bool),
        params=PivotAnnealingParams(effort=2, trials_at_once=1),
    )
    assert not chain.is_finished
    chain.run(Deadline(1e6))
    assert chain.is_finished


@pytest.mark.parametrize("roomy", [1.0, np.inf])
@pytest.mark.parametrize("seed", range(3))
def test_repair_ends_whatever_room_counts_as_endless(seed, roomy, monkeypatch: pytest.MonkeyPatch):
    """Where a program that knows little of capacities suggests nothing new, one that knows all follows."""
    problem = linked(seed)
    ledger, paid = Ledger(problem), 0
    pay = KernelRepair._pay

    def counting(*given: Any) -> bool:
        nonlocal paid
        paid += 1
        return pay(*given)

    monkeypatch.setattr(KernelRepair, "_pay", counting)
    monkeypatch.setattr(KernelRepair, "meet", lambda *given: None)  # so that no suggestion is enough
    assert KernelRepair(KernelRepairParams(roomy=roomy, most_programs=1_000)).repair(ledger, ENDLESS)
    assert paid and not ledger.num_open
    assert are_deviations(problem, ledger.hidden, ledger.witnesses()).all()


def test_the_first_annealed_pattern_is_repaired_beyond_its_share_of_the_time():
    over, hour = Deadline(0.0), Deadline(3600.0)
    for longest, found in ((None, 0), (hour, 1)):
        ledgers: list[Ledger] = []
        kernel_search_of(linked(1)).annealed(over, np.inf, ledgers.append, longest)
        assert len(ledgers) == found
        assert not any(ledger.num_open for ledger in ledgers)


def test_barren_annealings_end_long_before_the_time_limit():
    """In a small table restarts find the same pattern again and again."""
    annealing = PivotAnnealingParams(trials=100, most_priced=0, effort=20)
    search = KernelSearch.of(linked(4), ENDLESS, params=KernelSearchParams(annealing=annealing, barren=2))
    ledgers: list[Ledger] = []
    assert search is not None and not search.is_priced and not search.is_exhausted
    search.annealed(Deadline(10_000.0), 0.0, ledgers.append)
    assert not ledgers and search.is_exhausted


def test_restarts_that_know_of_capacities_take_more_and_more_time(monkeypatch: pytest.MonkeyPatch):
    """Until they find nothing any more; called again, they go on where they were."""
    trials: list[int] = []
    run = PivotAnnealing.run

    def counting(chain: PivotAnnealing, *args: Any, slowness: float, **options: Any) -> None:
        if chain._columns is search._chains[0]._columns:
            trials.append(int(slowness))
        run(chain, *args, slowness=1.0, **options)

    monkeypatch.setattr(PivotAnnealing, "run", counting)
    params = KernelSearchParams(annealing=PivotAnnealingParams(effort=2), slower=3.0)
    search = KernelSearch.of(linked(4), ENDLESS, params=params)
    assert search is not None and search.is_priced
    for _ in range(2):
        search.annealed(Deadline(10_000.0), 0.0, lambda ledger: None)
        assert search.is_exhausted
    assert trials == [1, 3, 9, 27]
