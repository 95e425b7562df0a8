"""`optimal` and `lower_bound` against Kelly's program with all deviations in it, and against enumeration."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from itertools import islice

import numpy as np
import pytest

import cellveil as cv
from cellveil.certificate import verify
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.datasets import random_table, two_way
from cellveil.formats.jj import read_jj
from cellveil.judge.outsider import audit_outsider
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.progress import Progress
from cellveil.solvers.cutting_planes import Row
from cellveil.solvers.exchange_descent import exchanged
from cellveil.suppression.draft import Draft
from cellveil.suppression.exact.fractional_attack import FlowAttacker, LPAttacker
from cellveil.suppression.exact.parts import parts_of
from cellveil.suppression.exact.relaxation import lower_bound, relax
from cellveil.suppression.exact.safety_oracle import further_cell, is_violated
from cellveil.suppression.exact.separation import Separation
from cellveil.suppression.methods.optimal import OptimalParams, optimal
from cellveil.suppression.presolve.merge_ties import merged
from cellveil.tables.scaled import UNBOUNDED
from experiments.kelly import kelly
from helpers.brute_force import cheapest_pattern
from helpers.instances import INSTANCES, needs_instances
from helpers.small_problems import SHAPES, small_problem

PER_SHAPE, PER_SHAPE_SLOW = 3, 60


def problems(shape: str) -> Iterator[tuple[Problem, float | None]]:
    """Problems that have a safe pattern, with its least cost; and now and then one that has none."""
    seed = 0
    while True:
        seed += 1
        problem = small_problem(shape, np.random.default_rng(seed), primaries=1 + seed % 3)
        if seed % 5 == 0:
            problem = problem.replace(weight=np.ones(problem.table.num_cells))
        least = cheapest(problem)
        if least is not None or seed % 7 == 0:
            yield problem, least


@cache
def first_problems(shape: str) -> tuple[tuple[Problem, float | None], ...]:
    """Some of them, of which the least cost is computed once."""
    return tuple(islice(problems(shape), PER_SHAPE))


def cheapest(problem: Problem) -> float | None:
    """Least cost by Kelly's program; None where no pattern is safe."""
    draft = kelly(problem)
    assert draft.reason == "complete"
    return None if draft.infeasible else cost_of(problem, draft)


def tiny_problem(rng: np.random.Generator) -> Problem:
    """A two-way or one-tree table with so many cells frozen that all patterns can be gone through."""
    sizes, trees = (((3, 4), ()), ((4, 4), ()), ((5, 3), (0,)))[int(rng.integers(3))]
    table = random_table(
        sizes, hierarchical=trees, contributors=2, zeros=0.1, unit=5, seed=int(rng.integers(2**31))
    ).table
    n, values = table.num_cells, table.values
    status = np.where(values == 0, Status.FROZEN, Status.SAFE).astype(np.int8)
    cells = rng.permutation(np.flatnonzero(values > 1))
    primaries = cells[: int(rng.integers(1, 4))]
    status[primaries] = Status.PRIMARY
    free = np.flatnonzero(status == Status.SAFE)
    status[rng.permutation(free)[9:]] = Status.FROZEN
    lpl, upl, spl = (np.zeros(n, dtype=np.int64) for _ in range(3))
    lpl[primaries], upl[primaries] = (rng.integers(0, values[primaries] // 2 + 1) for _ in range(2))
    spl[primaries] = rng.integers(1, values[primaries])
    ub = np.where(rng.random(n) < 0.5, UNBOUNDED, values + rng.integers(0, 30, n))
    weight = rng.integers(1, 50, n).astype(np.float64)
    return Problem(table, status, weight, np.zeros(n, dtype=np.int64), ub, lpl, upl, spl)


def check(problem: Problem, least: float | None) -> None:
    draft = optimal(problem)
    if least is None:
        assert draft.infeasible
        return
    assert not draft.infeasible
    assert draft.reason == "complete"
    assert cost_of(problem, draft) == pytest.approx(least, abs=1e-4)
    assert draft.lower_bound == cost_of(problem, draft)
    assert lower_bound(problem) <= least + 1e-6
    assert_certified(problem, draft)


def cost_of(problem: Problem, draft: Draft) -> float:
    return float(problem.weight[draft.hidden & ~problem.hidden_at_start].sum())


def assert_certified(problem: Problem, draft: Draft) -> None:
    """The witnesses handed over prove everything: the audit has no program to solve."""
    pattern = Pattern.hiding(problem, draft.hidden, "optimal")
    report = audit_outsider(problem, pattern, exact=False, claims=draft.witnesses)
    assert report.is_safe
    assert report.num_lps == 0
    assert verify(problem, pattern, report.certificate).is_valid


@pytest.mark.parametrize("shape", SHAPES)
def test_least_cost_on_random_tables(shape: str) -> None:
    for problem, least in first_problems(shape):
        check(problem, least)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_least_cost_on_many_random_tables(shape: str) -> None:
    for problem, least in islice(problems(shape), PER_SHAPE, PER_SHAPE_SLOW):
        check(problem, least)


def check_by_enumeration(seeds: range) -> None:
    feasible = 0
    for seed in seeds:
        problem = tiny_problem(np.random.default_rng(seed))
        least = cheapest_pattern(problem)
        check(problem, least)
        assert cheapest(problem) == least
        feasible += least is not None
    assert feasible > len(seeds) // 4


def test_least_cost_by_going_through_all_patterns() -> None:
    check_by_enumeration(range(8))


@pytest.mark.slow
def test_least_cost_by_going_through_all_patterns_of_many_tables() -> None:
    check_by_enumeration(range(8, 128))


def test_unlimited_cells_as_if_limited_far_away() -> None:
    for seed in range(4):
        problem = random_table((4, 4), contributors=2, zeros=0.1, seed=seed)
        limited = problem.replace(ub=problem.table.values + 10 * int(problem.upl.max()))
        draft = optimal(problem)
        assert cost_of(problem, draft) == pytest.approx(cheapest(limited))
        assert_certified(problem, draft)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("way", ["programs of all rows", "stages"])
def test_least_cost_by_the_ways_of_larger_tables(shape: str, way: str) -> None:
    """What is done in larger parts before the search proves no wrong bound."""
    params = OptimalParams(small=0, far=-1.0 if way == "stages" else 0.25)
    for problem, least in first_problems(shape):
        limit = None if way == "programs of all rows" else 60.0
        draft = optimal(problem, deadline=Deadline(limit), params=params)
        if least is None:
            assert draft.infeasible
            continue
        assert draft.reason == "complete"
        assert draft.lower_bound == pytest.approx(least, rel=2e-9)
        assert cost_of(problem, draft) == pytest.approx(least)
        assert_certified(problem, draft)


def test_exchanges_keep_rows_and_lower_the_cost() -> None:
    rng = np.random.default_rng(3)
    cheaper = 0
    for seed in range(20):
        cost = rng.integers(1, 1000, 60).astype(np.float64)
        rows = [
            Row(columns, np.minimum(cost[columns] / cost[columns].sum() * 3, 1.0), 1.0)
            for columns in (np.sort(rng.choice(60, 20, replace=False)) for _ in range(6))
        ]
        start = rng.random(60) < 0.8
        start |= ~np.isin(np.arange(60), np.concatenate([row.columns for row in rows]))
        if any(row.violation(start.astype(np.float64)) > 0 for row in rows):
            continue
        free = rng.random(60) < 0.9
        point = exchanged(cost, rows, start, free, least=0.0, steps=200_000, seed=seed)
        assert all(row.violation(point.astype(np.float64)) <= 1e-9 for row in rows)
        assert (point == start)[~free].all()
        assert cost[point].sum() <= cost[start].sum()
        cheaper += bool(cost[point].sum() < cost[start].sum())
    assert cheaper > 10


def test_two_way_tables_are_solved_by_flows() -> None:
    problem = random_table((14, 14), seed=2)
    (part,), _ = parts_of(problem)
    assert isinstance(Separation(problem, part).attacker, FlowAttacker)
    draft = optimal(problem)
    assert draft.lower_bound == cost_of(problem, draft)
    assert_certified(problem, draft)


def test_flows_and_programs_find_the_same() -> None:
    """Shares of capacities at random: both engines reach as far, and their rows are broken as much."""
    rng = np.random.default_rng(1)
    problem = random_table((6, 6), hierarchical=[0], contributors=2, seed=4)
    for part in parts_of(problem)[0]:
        flows, programs = Separation(problem, part).attacker, LPAttacker(part)
        assert isinstance(flows, FlowAttacker)
        for need in part.needs:
            caps = np.minimum(np.concatenate([part.up, part.down]) / need.amount, 1.0)
            caps *= np.tile(np.where(part.held, 1.0, rng.random(part.num_cells) * 0.2), 2)
            by_flow, by_program = (engine.push(need.own, need.up, caps) for engine in (flows, programs))
            assert by_flow is not None and by_program is not None
            assert by_flow.share == pytest.approx(by_program.share, abs=1e-4)
            assert bool(by_flow.combinations) == bool(by_program.combinations)


def test_no_row_cuts_off_a_safe_pattern() -> None:
    """Random safe patterns meet every row found on the way, but those that ask for company."""
    rng = np.random.default_rng(5)
    checked = 0
    for shape in SHAPES:
        problem, _ = next(item for item in problems(shape) if item[1] is not None)
        for part in parts_of(problem)[0]:
            separation = Separation(problem, part)
            relax(separation, NO_LIMIT)
            for _ in range(30):
                hidden = part.held | (rng.random(part.num_cells) < rng.uniform(0.5, 1))
                rows = list(separation.pool.rows)
                if separation.judge(hidden).is_safe:
                    checked += 1
                    assert not any(row.rhs == 1 and is_violated(row, hidden) for row in rows)
    assert checked > 20


def test_further_cell() -> None:
    row = Row(np.array([0, 1, 2, 3]), np.array([0.5, 0.3, 1.0, 0.6]), 1.0)
    hidden = np.array([True, False, False, False])
    assert further_cell(row, hidden).columns.tolist() == [2, 3]


def test_impossible_demands_are_named() -> None:
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3, (0, 1): 5})
    status = problem.status.copy()
    status[status == Status.SAFE] = Status.FROZEN
    alone = problem.replace(status=status)
    draft = optimal(alone)
    assert {demand.cell for demand in draft.infeasible} == set(problem.primaries.tolist())
    assert lower_bound(alone) == math.inf


def test_levels_beyond_what_any_pattern_allows_are_named() -> None:
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})
    known = problem.replace(ub=problem.table.values + 2)
    draft = optimal(known)
    assert [(demand.cell, demand.up) for demand in draft.infeasible] == [(4, True)]


def test_time_limit_returns_a_safe_pattern_and_a_bound() -> None:
    problem = random_table((9, 9, 9), seed=1)
    draft = optimal(problem, deadline=Deadline(1.5))
    assert draft.reason == "time limit"
    assert draft.lower_bound is not None
    assert 0 < draft.lower_bound < cost_of(problem, draft)
    pattern = Pattern.hiding(problem, draft.hidden, "optimal")
    assert audit_outsider(problem, pattern, exact=False, claims=draft.witnesses).is_safe


def test_a_known_pattern_is_the_incumbent() -> None:
    """However little time there is, nothing dearer comes back; with time the optimum does."""
    for sizes in ((6, 5, 5), (9, 9)):
        problem = random_table(sizes, seed=2)
        known = cv.suppress(problem, "sequential", attackers=[])
        draft = optimal(problem, deadline=Deadline(1e-3), start=known.pattern.hidden)
        assert cost_of(problem, draft) <= known.cost
        assert_certified(problem, draft)
    small = random_table((4, 4, 4), seed=3)
    cheapest, worst = optimal(small), small.status != Status.FROZEN
    for start in (cheapest.hidden, worst):
        assert cost_of(small, optimal(small, start=start)) == cheapest.lower_bound


def test_an_unsafe_pattern_is_not_believed() -> None:
    for shape in SHAPES:
        for problem, least in first_problems(shape):
            if least is not None:
                nothing = np.zeros(problem.table.num_cells, dtype=bool)
                draft = optimal(problem, start=nothing)
                assert draft.lower_bound == cost_of(problem, draft) == pytest.approx(least, abs=1e-4)
                assert_certified(problem, draft)


def test_folding_undoes_unfolding() -> None:
    problem = random_table((5, 4, 3), hierarchical=[0, 1], zeros=0.4, seed=1)
    tied = merged(problem)
    assert tied is not None and tied.problem.table.num_cells < problem.table.num_cells
    draft = optimal(tied.problem)
    whole = tied.unfold(draft).hidden
    assert (tied.fold(whole) == draft.hidden).all()


def test_interrupt_returns_a_safe_pattern_and_a_bound() -> None:
    class Interrupter(Progress):
        def advance(self, done: int, total: int | None = None, **figures: object) -> None:
            raise KeyboardInterrupt

    problem = random_table((5, 5, 5), seed=1, weight="one")
    draft = optimal(problem, progress=Interrupter())
    assert draft.reason == "interrupted"
    assert draft.lower_bound is not None
    assert 0 < draft.lower_bound <= cost_of(problem, draft)
    assert_certified(problem, draft)


def test_errors_pass_through_the_solver() -> None:
    class Faulty(Progress):
        def advance(self, done: int, total: int | None = None, **figures: object) -> None:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        optimal(random_table((5, 5, 5), seed=1, weight="one"), progress=Faulty())


def test_same_seed_same_pattern() -> None:
    problem = random_table((4, 4, 4), seed=3)
    first, second = optimal(problem, seed=1), optimal(problem, seed=1)
    assert (first.hidden == second.hidden).all()


@needs_instances
def test_targus_is_solved() -> None:
    problem = read_jj(INSTANCES / "csp" / "targus.jj")
    draft = optimal(problem)
    assert draft.lower_bound == cost_of(problem, draft)
    assert_certified(problem, draft)
