"""Irregular tables: what counts as one, safe starts, harvests, budgets, and what happens when time is up."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cellveil.clock import NO_LIMIT, Deadline
from cellveil.datasets import random_table
from cellveil.deviations.joint_witness import JointWitness
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.movement_program import Feasibility
from cellveil.deviations.witness import are_deviations
from cellveil.problem import Status
from cellveil.suppression import suppress
from cellveil.suppression.bounds.cover import cover_bound
from cellveil.suppression.engines.irregular import everything, finish_jointly, harvesting
from cellveil.suppression.engines.local_search import Search, drop_unused
from cellveil.suppression.engines.meet_demands import Completion
from cellveil.suppression.engines.one_demand import OneDemand
from cellveil.suppression.methods.auto import AutoParams, auto
from cellveil.tables.structure import is_product
from helpers.linked_tables import linked


def assert_all_met(ledger: Ledger) -> None:
    assert ledger.num_open == 0
    assert are_deviations(ledger.problem, ledger.hidden, ledger.witnesses()).all()


def test_linked_tables_are_irregular_and_crossed_ones_are_not():
    assert not is_product(linked(0).table)
    assert is_product(random_table((6, 5, 4), hierarchical=[0], zeros=0.3, seed=1).table)


@pytest.mark.parametrize("seed", range(3))
def test_everything_movable_meets_all_demands_by_harvests(seed):
    ledger = everything(linked(seed), NO_LIMIT)
    assert_all_met(ledger)


@pytest.mark.parametrize("seed", range(3))
def test_harvests_meet_only_what_deviations_of_hidden_cells_meet(seed):
    problem = linked(seed)
    ledger = Ledger(problem)
    protector = harvesting(ledger, NO_LIMIT)
    while ledger.num_open:
        cells, up, _ = ledger.open_demands()
        assert protector.protect(int(cells[0]), bool(up[0])) is Feasibility.MET
    drop_unused(ledger)
    assert_all_met(ledger)
    assert cover_bound(problem).bound <= ledger.cost


@pytest.mark.parametrize("seed", range(3))
def test_joint_solves_meet_all_demands_of_linked_tables(seed):
    problem = linked(seed)
    ledger = Ledger(problem)
    finish_jointly(ledger, NO_LIMIT)
    assert_all_met(ledger)
    assert ledger.cost < problem.weight[~problem.hidden_at_start].sum()


def test_what_costs_more_than_the_budget_stays_published():
    problem = linked(1)
    ledger = Ledger(problem)
    cells, up, _ = ledger.open_demands()
    assert OneDemand(ledger).protect(int(cells[0]), bool(up[0])) is Feasibility.MET
    dearest = problem.weight[ledger.secondaries()].max()
    for budget in (dearest, 0.9 * dearest, 0.0):
        other = Ledger(problem)
        verdict = OneDemand(other).protect(int(cells[0]), bool(up[0]), budget=budget)
        assert verdict in (Feasibility.MET, Feasibility.IMPOSSIBLE)
        assert (problem.weight[other.secondaries()] <= budget).all()
        assert verdict is Feasibility.MET or budget < dearest


def test_a_search_only_gains_and_keeps_all_demands_met():
    problem = linked(2)
    ledger = Ledger(problem)
    protector = harvesting(ledger, NO_LIMIT)
    Completion(ledger, lambda _: protector, Deadline(None)).run()
    before = ledger.cost
    Search(ledger, protector).clean_up(NO_LIMIT)
    assert ledger.cost <= before
    assert_all_met(ledger)


def test_without_time_nothing_is_settled_and_trials_are_in_vain():
    problem = linked(0)
    ledger = Ledger(problem, problem.status != Status.FROZEN)
    JointWitness(problem, Deadline(0.0)).harvest(ledger, np.random.default_rng(0))
    assert ledger.num_open == Ledger(problem).num_open
    finished = everything(problem, NO_LIMIT)
    cost = finished.cost
    Search(finished, OneDemand(finished), deadline=Deadline(0.0)).attempt(finished.secondaries()[:1])
    assert finished.cost <= cost
    assert_all_met(finished)


def test_when_time_is_up_only_what_is_needed_is_completed():
    problem = linked(0)
    deadline = Deadline(1e-9)
    spare = Completion(Ledger(problem), OneDemand, deadline, is_spare=True)
    spare.run()
    assert spare.ledger.num_open == Ledger(problem).num_open and spare.ledger.cost == 0.0
    needed = Completion(Ledger(problem), OneDemand, deadline)
    needed.run()
    assert needed.ledger.cost > 0.0 and needed.reason.startswith("time limit")


@pytest.mark.parametrize("limit", [None, 1e-3])
def test_auto_protects_linked_tables_of_more_than_a_few_cells(limit):
    found = suppress(linked(3), attackers=[], time_limit=limit, params=AutoParams(small=50, trials=5))
    assert found.is_safe
    assert found.lower_bound is not None and found.lower_bound <= found.cost


def test_an_interrupt_keeps_the_cheapest_complete_pattern(monkeypatch):
    problem = linked(3)

    def interrupted(*_: object, **__: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(OneDemand, "protect", interrupted)
    draft = auto(problem, params=AutoParams(small=50))
    assert draft.reason.startswith("interrupted")
    ledger = Ledger(problem, draft.hidden)
    ledger.add_all(draft.witnesses)
    assert_all_met(ledger)
    assert math.isfinite(ledger.cost)


def test_without_a_limit_the_search_ends_after_so_many_steps():
    problem = linked(2)
    patient = suppress(problem, "auto", attackers=[], seed=0)
    hasty = suppress(problem, "auto", attackers=[], seed=0, params=AutoParams(steps=0))
    assert patient.is_safe and hasty.is_safe
    assert patient.cost < hasty.cost
