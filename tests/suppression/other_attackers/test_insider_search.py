"""Costs of protection against insiders beside the proven optimum; the pool of families, and its trials."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cellveil import clock
from cellveil.attackers.attacker import Attacker
from cellveil.attackers.families import Families
from cellveil.attackers.insiders import SelfKnowing
from cellveil.attackers.own_parts import OwnParts
from cellveil.clock import Deadline
from cellveil.datasets import random_table
from cellveil.deviations.movement import NO_MOVE, Move, Movement
from cellveil.deviations.witness import Witnesses
from cellveil.judge import audit
from cellveil.pattern import Pattern
from cellveil.rules import PPercent
from cellveil.rules.apply import make_problem
from cellveil.suppression import suppress
from cellveil.suppression.other_attackers.family_pool import FamilyPool
from cellveil.suppression.other_attackers.family_search import FamilySearch, FamilySearchParams
from cellveil.suppression.other_attackers.insider_search import cheaper_pattern
from helpers.examples import few_of
from helpers.insider_judge import Contributed, broken
from helpers.insider_tables import beside_the_optimum, hidden_keys, small_table

INSIDER = Attacker("insider")


@pytest.mark.parametrize(("first", "number"), few_of([(100, 5), (105, 10), (115, 15)], 1))
def test_small_tables_cost_little_more_than_the_optimum(first: int, number: int) -> None:
    """Some of the tables each; `benchmarks/insiders.py small` has 500 of them."""
    found = [beside_the_optimum(seed) for seed in range(first, first + number)]
    assert not any(each.unsafe for each in found)
    ratios = [each.cost / each.least for each in found if each.least]
    assert len(ratios) > number / 2 and np.mean(ratios) < 1.02 and min(ratios) > 1 - 1e-6


@pytest.mark.parametrize("number", few_of([3, 12], 1))
@pytest.mark.parametrize("depth", [3, 40])
def test_families_keep_off_whoever_contributes(depth: int, number: int) -> None:
    """Families on small tables, where all contributors can be asked by programs on contributions alone."""
    judged = 0
    for seed in range(200, 200 + number):
        problem, known = small_table(seed, depth)
        found = suppress(
            problem,
            attackers=[INSIDER],
            default_attackers=False,
            options={"run.defence.families.fewest_cells": 0},
        )
        if found.audit.is_safe:
            hidden = hidden_keys(problem, found.pattern.hidden, known)
            assert not broken(known, hidden, known.attacks(known.groups(), known.primaries))
            judged += 1
    assert judged > number / 2


def test_the_judge_of_contributions_finds_a_singleton() -> None:
    """Of two hidden cells in each row and column one is a single firm's, which then knows the other."""
    cells = {("a0", "b0"): [90, 3], ("a0", "b1"): [20], ("a1", "b0"): [8, 7, 6], ("a1", "b1"): [9, 9, 9]}
    records = [
        (f"{a}{b}{number}", (a, b), amount)
        for (a, b), amounts in cells.items()
        for number, amount in enumerate(amounts)
    ]
    known = Contributed([{"Total": ["a0", "a1"]}, {"Total": ["b0", "b1"]}], records, 10)
    attacks = list(known.attacks(known.groups(), [("a0", "b0")]))
    through = broken(known, set(cells), attacks)
    assert {who for attack in through for who in attack.group} == {"a0b10"}


def test_branch_and_cut_keeps_a_safe_pattern_safe() -> None:
    problem, _ = small_table(8)
    insiders = SelfKnowing(problem, OwnParts.of(problem))
    everything = problem.table.values > 0
    hidden, _ = cheaper_pattern(insiders, everything, Deadline(None))
    pattern = Pattern.hiding(problem, hidden, "branch and cut")
    assert audit(problem, pattern, attackers=[Attacker(), INSIDER]).is_safe
    assert problem.weight[hidden].sum() < problem.weight[everything].sum()


def test_a_trial_that_is_taken_back_leaves_no_trace() -> None:
    problem, _ = small_table(3)
    insiders = SelfKnowing(problem, OwnParts.of(problem))
    search = FamilySearch(insiders, problem.hidden_at_start, Deadline(None))
    search.run()
    pool = search.pool
    assert pool.settled.all()
    broke = 0
    for cell in np.flatnonzero(search.hidden & ~problem.hidden_at_start).tolist():
        before = len(pool.claims)
        broken_demands = pool.lose(cell)
        broke += len(broken_demands)
        assert not pool.settled[broken_demands].any()
        pool.back()
        assert pool.settled.all() and len(pool.claims) == before
    assert broke > 0


def test_a_pool_without_deviations_has_everything_open() -> None:
    problem, _ = small_table(3)
    pool = FamilyPool(Families(SelfKnowing(problem, OwnParts.of(problem)).own))
    assert pool.is_short[pool.levels > 0].all() and not pool.settled.any()
    assert len(pool.open_demands()) == len(pool.cells)


def test_outsiders_alone_where_insiders_ask_for_nothing_more() -> None:
    """Seed 1: the outsiders' pattern is safe against every firm, so nothing is searched further."""
    problem, _ = small_table(1)
    with_insiders, without = (
        suppress(problem, attackers=[INSIDER], default_attackers=False),
        suppress(problem, attackers=[]),
    )
    assert with_insiders.cost == without.cost


def test_levels_of_outsiders_are_not_paid_for_twice() -> None:
    """A method that hands over no deviations: those of the audit vouch for its secondaries."""
    table = random_table((14, 12), contributors=3, zeros=0.1, contributions=True, depth=4, seed=1).table
    problem = make_problem(table, PPercent(15))
    outsider = suppress(problem, "hypercube", attackers=[])
    insiders = SelfKnowing(problem, OwnParts.of(problem))
    search = FamilySearch(insiders, outsider.pattern.hidden, Deadline(None))
    assert search.pool.is_short.any()
    search.pool.vouch(Witnesses.proven_by(outsider.audit.certificate))
    assert not search.pool.is_short.any()
    search.pool.vouch(Witnesses.proven_by(outsider.audit.certificate))
    search.run()
    pattern = Pattern.hiding(problem, search.hidden, "families")
    assert search.pool.settled.all() and audit(problem, pattern, attackers=[Attacker(), INSIDER]).is_safe


def test_exempt_cells_are_kept_from_outsiders_all_the_same() -> None:
    problem, _ = small_table(3)
    insiders = SelfKnowing(problem, OwnParts.of(problem), exempt=problem.primaries[:3])
    search = FamilySearch(insiders, problem.hidden_at_start, Deadline(None))
    search.run()
    assert set(problem.primaries[:3].tolist()) <= set(search.pool.cells.tolist())
    assert search.pool.settled.all()
    assert audit(problem, Pattern.hiding(problem, search.hidden, "families")).is_safe


@pytest.mark.parametrize("seed", range(3))
def test_programs_that_take_all_their_time_leave_no_more_open(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a large table, where nothing is found before the deadline of a program is over."""
    table = random_table((9, 8), contributors=3, zeros=0.1, contributions=True, depth=4, seed=seed).table
    problem = make_problem(table, PPercent(15))
    params = FamilySearchParams(paid_rounds=0, most_cells=0)  # so that all that is not free is dear
    insiders, settled = SelfKnowing(problem, OwnParts.of(problem)), []
    real_time = clock.counted_time
    for is_slow in (False, True):
        spent: list[float] = []

        def in_vain(moves: Movement, *arguments: Any, **options: Any) -> Move:
            left = moves.deadline.left
            assert left is not None
            spent.append(left)  # noqa: B023
            if is_slow:  # noqa: B023
                monkeypatch.setattr(clock, "counted_time", lambda: real_time() + sum(spent))  # noqa: B023
            return NO_MOVE

        monkeypatch.setattr(Movement, "push", in_vain)
        search = FamilySearch(insiders, problem.hidden_at_start, Deadline(1000.0), params)
        search.run()
        settled.append(search.pool.settled)
        assert spent and spent[0] < 100, "some demands are dear, and the first gets little of the time"
    assert np.array_equal(*settled) and settled[0].sum() > 10


HURRY = {"free_rounds": 0, "paid_rounds": 0, "dear_rounds": 0}
"""Nothing is looked for that is cheap."""


@pytest.mark.parametrize(
    "settings",
    [HURRY, HURRY | {"costly_beams": 0}, {"dear_rounds": 0, "for_costly": 1.0, "costly_pace": 1e12}],
    ids=["sums of cubes", "with everything suppressed", "no time but overtime"],
)
@pytest.mark.parametrize("seed", range(2))
def test_deviations_at_any_cost_make_a_safe_pattern(seed: int, settings: dict[str, float]) -> None:
    table = random_table((14, 12), contributors=3, zeros=0.1, contributions=True, depth=4, seed=seed).table
    problem = make_problem(table, PPercent(15))
    outsider = suppress(problem, "hypercube")
    insiders = SelfKnowing(problem, OwnParts.of(problem))
    open_demands = []
    for rounds in (0, 4):
        params = FamilySearchParams().changed(settings | {"costly_rounds": rounds, "exchange.rounds": 0})
        search = FamilySearch(insiders, outsider.pattern.hidden, Deadline(1000.0), params)
        search.reuse(Witnesses.proven_by(outsider.audit.certificate))
        search.run()
        open_demands.append(len(search.pool.open_demands()))
    assert open_demands[0] > 0 and open_demands[1] == 0
    pattern = Pattern.hiding(problem, search.hidden, "families")
    assert audit(problem, pattern, attackers=[Attacker(), INSIDER]).is_safe
    moved = np.zeros(table.num_cells, dtype=bool)
    moved[search.pool.claims.witnesses.cells] = True
    assert not (search.hidden & ~outsider.pattern.hidden & ~moved).any(), "what is not needed is published"
