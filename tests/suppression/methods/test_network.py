"""`network` and `cycles`: exact witnesses, safe patterns, sensible costs, demands beyond every pattern."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellveil.certificate import Certificate
from cellveil.certificate.certificate import pattern_hash
from cellveil.certificate.verifier import check_witnesses
from cellveil.clock import Deadline
from cellveil.datasets import random_table, two_way
from cellveil.deviations.witness import Witnesses, are_deviations
from cellveil.judge.outsider import audit_outsider
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.progress import Progress
from cellveil.suppression.draft import Draft
from cellveil.suppression.engines.flow_search import FlowSearchParams, Networks, build
from cellveil.suppression.methods.cycles import CyclesParams, cycles
from cellveil.suppression.methods.network import NetworkParams, network
from cellveil.suppression.methods.sequential import sequential
from cellveil.suppression.presolve.preparation import Method
from helpers import brute_force
from helpers.small_problems import SHAPES, small_problem

METHODS = {"network": network, "cycles": cycles}
PARAMS = {network: NetworkParams, cycles: CyclesParams}
EVERY_METHOD = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


def run(method: Method, problem: Problem, seed: int = 0) -> Draft:
    return method(problem, seed=seed, progress=None)


def cost(problem: Problem, hidden: np.ndarray) -> float:
    return float(problem.weight[hidden & ~problem.hidden_at_start].sum())


def certificate(problem: Problem, draft: Draft) -> Certificate:
    """The claims as they stand and reversed, where the capacities allow that."""
    claims = draft.witnesses
    both = Witnesses.joined(
        [claims, Witnesses(claims.starts, claims.cells, -claims.numerators, claims.denominators)]
    )
    fits = [
        bool(
            (both[k].numerators <= problem.up[both[k].cells]).all()
            and (-both[k].numerators <= problem.down[both[k].cells]).all()
        )
        for k in range(len(both))
    ]
    chosen = (both[k] for k in np.flatnonzero(fits).tolist())
    return Certificate.of(
        problem.content_hash,
        pattern_hash(draft.hidden),
        ((w.cells, w.numerators, w.denominator) for w in chosen),
    )


def assert_proven(problem: Problem, draft: Draft) -> None:
    """The draft's own witnesses, exactly checked, meet every demand, and the audit agrees."""
    assert not draft.infeasible
    assert draft.hidden[problem.hidden_at_start].all()
    assert not draft.hidden[problem.status == Status.FROZEN].any()
    assert (draft.witnesses.denominators == 1).all()
    assert are_deviations(problem, draft.hidden, draft.witnesses).all()
    checked = check_witnesses(problem, draft.hidden, certificate(problem, draft))
    assert checked.is_valid and checked.met == checked.demands
    report = audit_outsider(
        problem, Pattern.hiding(problem, draft.hidden, "x"), exact=False, claims=draft.witnesses
    )
    assert report.is_safe and report.num_lps == 0


TABLES = {
    "flat": {"sizes": (12, 15)},
    "few primaries": {"sizes": (10, 9), "contributors": 6, "zeros": 0.1},
    "unit weights": {"sizes": (12, 15), "weight": "one"},
    "tree in rows": {"sizes": (22, 9), "hierarchical": [0]},
    "tree in columns": {"sizes": (6, 31), "hierarchical": {1: 3}},
    "long and thin": {"sizes": (3, 60)},
}


@EVERY_METHOD
@pytest.mark.parametrize("table", list(TABLES))
def test_every_demand_of_a_two_way_table_has_an_exact_witness(table, method):
    problem = random_table(**TABLES[table], seed=0)
    draft = run(method, problem)
    assert draft.reason == "complete" and draft.num_lps == 0
    assert_proven(problem, draft)


@pytest.mark.parametrize("table", list(TABLES))
def test_network_is_no_dearer_than_sequential(table):
    problem = random_table(**TABLES[table], seed=1)
    assert cost(problem, run(network, problem).hidden) <= cost(problem, sequential(problem).hidden) + 1e-9


def cheapest_pattern(problem: Problem) -> float:
    """The least cost of a safe pattern, by trying all of them, judged by enumeration."""
    free = np.flatnonzero((problem.status == Status.SAFE) & (problem.weight > 0))
    chances = [c for size in range(len(free) + 1) for c in combinations(free.tolist(), size)]
    chances.sort(key=lambda cells: problem.weight[list(cells)].sum())
    for cells in chances:
        hidden = problem.hidden_at_start.copy()
        hidden[list(cells)] = True
        if all(brute_force.is_protected(problem, Pattern.hiding(problem, hidden, "x")).values()):
            return float(problem.weight[list(cells)].sum())
    raise AssertionError("no pattern protects all cells")


@pytest.mark.parametrize("seed", range(4))
def test_network_finds_the_cheapest_pattern_of_a_tiny_table(seed):
    rng = np.random.default_rng(seed)
    problem = two_way(rng.integers(1, 30, (2, 2)).tolist(), primaries={(0, 0): 2, (1, 1): 1})
    problem = problem.replace(
        weight=rng.integers(1, 9, problem.table.num_cells).astype(float), ub=problem.table.values + 20
    )
    draft = run(network, problem)
    assert_proven(problem, draft)
    assert cost(problem, draft.hidden) == cheapest_pattern(problem)


@pytest.mark.parametrize(
    "sizes, contributors, seed, least", [((20, 40), 7.5, 1, 7981), ((30, 60), 8.0, 2, 11392)]
)
def test_cells_are_shared_where_few_primaries_are_far_apart(sizes, contributors, seed, least):
    """The proven least cost of branch and cut; flows one by one, each for itself, cost 7 to 8 % more."""
    problem = random_table(sizes, contributors=contributors, zeros=0.3, seed=seed)
    draft = run(network, problem)
    assert_proven(problem, draft)
    assert least <= cost(problem, draft.hidden) <= 1.02 * least


def test_large_tables_begin_with_the_covering_program():
    """Few primaries far apart; flows one by one, each for itself, cost 6 % more."""
    problem = random_table((30, 60), contributors=8.0, zeros=0.3, seed=2)
    draft = network(problem, params=NetworkParams(most_cells_for_cycles=0))
    assert_proven(problem, draft)
    assert draft.lower_bound is not None
    assert 0.9 * 11392 <= draft.lower_bound <= 11392 <= cost(problem, draft.hidden) <= 1.03 * 11392


def test_several_cycles_add_up_where_one_cannot_carry_the_level():
    """The example of the overview: 23 units through cells of 10 to 18 take two cycles."""
    problem = two_way(
        [[1000, 13, 18, 0], [12, 10, 0, 0], [17, 0, 15, 0], [0, 0, 0, 9000]], primaries={(0, 0): 23}
    )
    problem = problem.replace(
        status=np.where(problem.table.floats() > 1000, Status.FROZEN, problem.status).astype(np.int8)
    )
    draft = run(cycles, problem)
    assert_proven(problem, draft)
    assert len(draft.witnesses.cells) > 4
    assert np.abs(draft.witnesses.numerators).max() == 23


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), shape=st.sampled_from(SHAPES))
def test_any_small_problem_is_protected_or_called_impossible_rightly(seed, shape):
    problem = small_problem(shape, np.random.default_rng(seed))
    everything = Pattern.hiding(problem, problem.status != Status.FROZEN, "all")
    possible = audit_outsider(problem, everything, exact=False).is_safe
    is_network = Networks.of(problem).rest() is None
    for method in METHODS.values():
        draft = run(method, problem)
        assert bool(draft.infeasible) != possible
        if possible and is_network:
            assert_proven(problem, draft)
        elif possible:
            pattern = Pattern.hiding(problem, draft.hidden, "x")
            assert audit_outsider(problem, pattern, exact=False, claims=draft.witnesses).is_safe


def test_the_shapes_of_the_hypothesis_test_include_networks_and_others():
    rng = np.random.default_rng(0)
    found = {shape: Networks.of(small_problem(shape, rng)).rest() is None for shape in SHAPES}
    assert found["flat 2-D"] and found["hierarchical"] and not found["flat 3-D"]


@EVERY_METHOD
def test_impossible_demands_are_named(method):
    problem = two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3, (2, 2): 1})
    row = problem.table.keys[0] == problem.table.keys[0][problem.primaries[0]]
    status = np.where(row & (problem.status == Status.SAFE), Status.FROZEN, problem.status)
    draft = run(method, problem.replace(status=status.astype(np.int8)))
    assert {(d.cell, d.up) for d in draft.infeasible} == {
        (int(problem.primaries[0]), up) for up in (True, False)
    }


@EVERY_METHOD
def test_a_sliding_level_moves_to_the_side_that_has_room(method):
    problem = two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
    cell = int(problem.primaries[0])
    levels = {name: np.zeros(problem.table.num_cells, dtype=np.int64) for name in ("lpl", "upl", "spl")}
    levels["spl"][cell] = 12
    # All others of the row can fall by 5 at most and not rise far: some of the level must go downwards.
    row = problem.table.keys[0] == problem.table.keys[0][cell]
    lb, ub = problem.table.values - 40, problem.table.values + 40
    lb[row], ub[row] = problem.table.values[row] - 2, problem.table.values[row] + 3
    lb[cell], ub[cell] = 0, 200
    problem = problem.replace(**levels, lb=np.maximum(lb, 0), ub=ub)
    draft = run(method, problem)
    assert_proven(problem, draft)


@EVERY_METHOD
def test_a_choice_of_cells_serves_large_tables_and_all_cells_where_it_does_not(method):
    few = {"most_arcs": 0, "arcs_per_node": 1, "whole_demands": 0, "slope_rounds": 1}
    problem = random_table((15, 15), contributors=6, zeros=0.1, seed=2)
    search = build(Networks.of(problem), np.int64(0), Deadline(None), params=FlowSearchParams(**few))[0]
    assert 0 < len(search.narrow.cells) < len(search.networks.cells)
    params = PARAMS[method]().changed({f"search.{name}": value for name, value in few.items()})
    assert_proven(problem, method(problem, params=params))


@EVERY_METHOD
def test_free_cells_are_hidden_at_no_cost(method):
    problem = random_table((10, 10), seed=3)
    draft = run(method, problem.replace(weight=np.zeros(problem.table.num_cells)))
    assert_proven(problem, draft)


@EVERY_METHOD
def test_nothing_to_do(method):
    problem = two_way([[20, 50], [8, 19]])
    draft = run(method, problem)
    assert not draft.hidden.any() and not len(draft.witnesses)


@EVERY_METHOD
def test_same_seed_same_pattern(method):
    problem = random_table((14, 14), contributors=6, zeros=0.1, seed=5)
    first, second = (run(method, problem, seed=7) for _ in range(2))
    assert (first.hidden == second.hidden).all()
    assert (first.witnesses.numerators == second.witnesses.numerators).all()


@EVERY_METHOD
def test_when_the_time_is_over_the_pattern_is_still_safe(method):
    problem = random_table((20, 20), contributors=6, seed=2)
    draft = method(problem, deadline=Deadline(1e-9), seed=0, progress=None)
    assert draft.reason.startswith("time limit")
    pattern = Pattern.hiding(problem, draft.hidden, "x")
    assert audit_outsider(problem, pattern, exact=False, claims=draft.witnesses).is_safe


def test_large_amounts_stay_exact():
    problem = two_way([[2**50, 2**50 + 1, 3], [2**50 + 2, 5, 2**40], [7, 2**45, 2**50]], primaries=[(0, 0)])
    assert_proven(problem, run(network, problem))


def test_progress_is_told_of_stage_and_cost():
    said = []

    class Listener(Progress):
        def stage(self, name: str) -> None:
            said.append(name)

        def advance(self, done: int, total: int | None = None, **figures: float) -> None:
            said.append(sorted(figures))

    problem = random_table((8, 8), contributors=6, seed=1)
    network(problem, seed=0, progress=Listener())
    assert said[0] == "network" and said[-1] == ["cost"]
