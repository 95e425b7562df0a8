"""The genetic algorithm: operators, resumption, and costs of orders computed in another way."""

from __future__ import annotations

import json
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellveil.clock import Deadline
from cellveil.datasets import random_table, two_way
from cellveil.errors import InputError
from cellveil.plots import line_chart
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.solvers.parallel import using
from cellveil.suppression import suppress
from cellveil.suppression.engines.evolution import (
    ADAPTIVE,
    OPERATORS,
    Evolution,
    EvolutionParams,
    crossed,
    mutated,
)
from cellveil.suppression.engines.group_programs import GroupProgramsParams, protect_in_order
from cellveil.suppression.methods.genetic import GeneticParams, OrderSearch, genetic

PROBLEM = random_table((14, 9), hierarchical=[0], contributors=2, seed=4)


# -- orders --------------------------------------------------------------------------------------------------


@given(size=st.integers(1, 12), seed=st.integers(0, 10**6), operator=st.sampled_from(OPERATORS))
def test_children_are_permutations(size: int, seed: int, operator: str) -> None:
    rng = np.random.default_rng(seed)
    first, second = (rng.permutation(size).tolist() for _ in range(2))
    assert sorted(mutated(first, operator, rng)) == list(range(size))
    child = crossed(first, second, rng)
    assert sorted(child) == list(range(size))
    assert any(
        child[start:end] == first[start:end]
        and child[:start] + child[end:] == [e for e in second if e not in set(first[start:end])]
        for start, end in combinations(range(size + 1), 2)
        if end - start >= min(size, 2)
    ), "a stretch of the first where it stands, the rest in the order of the second"


def test_children_are_of_both_parents() -> None:
    first, second = list(range(12)), list(range(11, -1, -1))
    children = [crossed(first, second, np.random.default_rng(seed)) for seed in range(20)]
    assert sum(child not in (first, second) for child in children) > 10


@pytest.mark.parametrize(("operator", "most"), [("swap", 2), ("insert", 12), ("inversion", 12)])
def test_operators_do_what_they_are_called(operator: str, most: int) -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        order = list(range(12))
        new = mutated(order, operator, rng)
        moved = [k for k in order if new[k] != k]
        assert 2 <= len(moved) <= most
        part = new[moved[0] : moved[-1] + 1]
        if operator == "inversion":
            assert part == sorted(part, reverse=True)
        if operator == "insert":
            assert sorted(part[1:]) == part[1:] or sorted(part[:-1]) == part[:-1]


def displacement(orders: list[tuple[int, ...]]) -> list[float]:
    """Cheapest when sorted."""
    return [float(sum(abs(k - element) for k, element in enumerate(order))) for order in orders]


@pytest.mark.parametrize("mutation", [ADAPTIVE, *OPERATORS])
def test_evolution_improves_and_counts(mutation: str) -> None:
    evolution = Evolution(12, displacement, np.random.default_rng(3), EvolutionParams(mutation=mutation))
    evolution._take([])  # nothing is nothing
    evolution.run(10, lambda: False)
    evolution.known.pop(tuple(range(12)), None)
    start = min(cost for order, cost in evolution.known.items())
    evolution.pool = [one for one in evolution.pool if one.cost > 0]  # without the given answer
    evolution.run(400, lambda: False)
    assert evolution.best.cost < start
    assert tuple(range(12)) in evolution.known, "found again"
    assert len(evolution.known) == evolution.evaluations - 1, "no other order is evaluated twice"
    assert evolution.best_so_far == sorted(evolution.best_so_far, reverse=True)
    assert {one.operator for one in evolution.pool} <= {mutation} | (
        set(OPERATORS) if mutation == ADAPTIVE else set()
    )


def test_a_small_space_is_exhausted() -> None:
    evolution = Evolution(3, displacement, np.random.default_rng(1), EvolutionParams(pool=4))
    evolution.run(1000, lambda: False)
    assert evolution.is_exhausted and len(evolution.known) == 6


def test_a_saved_state_goes_on_as_if_nothing_had_happened() -> None:
    whole, half, other = (Evolution(12, displacement, np.random.default_rng(7)) for _ in range(3))
    whole.run(200, lambda: False)
    half.run(100, lambda: False)
    other.restore(json.loads(json.dumps(half.state())))
    other.run(200, lambda: False)
    assert other.best_so_far == whole.best_so_far and other.pool == whole.pool


# -- the method ----------------------------------------------------------------------------------------------


def run_search(problem: Problem, wanted: int = 0, seed: int = 0, **settings: Any) -> OrderSearch:
    search = OrderSearch(problem, GeneticParams(groups=wanted, **settings), seed=seed)
    search.run(Deadline(None), Progress())
    return search


def test_the_surrogate_protects_candidates_upwards_only() -> None:
    search = run_search(PROBLEM, evaluations=12)
    asked = search.fitness.problem
    assert not asked.lpl.any() and search.fitness.sides == (True,)
    assert set(asked.primaries.tolist()) <= set(np.concatenate(search.groups).tolist())
    assert (asked.hidden_at_start == PROBLEM.hidden_at_start).all()
    whole = OrderSearch(PROBLEM, GeneticParams(groups=0, surrogate=False))
    assert whole.fitness.problem is PROBLEM
    assert sorted(np.concatenate(whole.groups).tolist()) == PROBLEM.primaries.tolist()


def test_the_cost_of_an_order_is_that_of_the_grouped_program() -> None:
    """Over all primaries and both sides; the method then also publishes what no witness needs."""
    search = OrderSearch(PROBLEM, GeneticParams(groups=0, surrogate=False))
    forwards = tuple(range(len(search.groups)))
    for order in (forwards, forwards[::-1]):
        cost = search.fitness.cost(order, Deadline(None))
        assert cost == search.fitness.cost(order, Deadline(None)), "nothing is left over from the last one"
        draft = protect_in_order(
            PROBLEM, [search.groups[k] for k in order], Deadline(None), params=GroupProgramsParams(groups=0)
        )
        added = PROBLEM.weight[draft.hidden & ~PROBLEM.hidden_at_start].sum()
        assert 0.9 * cost <= added <= cost
    assert search.fitness.cost(forwards[:1], Deadline(None)) <= cost


def test_few_groups_mean_all_orders() -> None:
    problem = two_way(
        [[9, 30, 40, 25], [30, 8, 50, 35], [20, 60, 7, 30], [50, 20, 30, 6]],
        primaries=[(0, 0), (1, 1), (2, 2)],
    )
    search = run_search(problem, 0)
    assert len(search.groups) == 3 and set(search.evolution.known) == set(permutations(range(3)))
    least = min(search.evolution.known.values())
    assert search.evolution.known[search.best_order] == least


def test_never_worse_than_increasing_levels_in_the_surrogate() -> None:
    search = run_search(PROBLEM, evaluations=30)
    known = search.evolution.known
    assert known[search.best_order] <= known[tuple(range(len(search.groups)))]


def test_workers_do_not_change_the_result() -> None:
    alone = run_search(PROBLEM, evaluations=14)
    with using(2):
        shared = run_search(PROBLEM, evaluations=14, worth_a_process=0.0)
    assert alone.evolution.known == shared.evolution.known
    assert alone.num_lps == shared.num_lps


def test_checkpoints_are_continued_and_checked(tmp_path: Path) -> None:
    file, plot = tmp_path / "state.json", tmp_path / "cost.svg"
    genetic(PROBLEM, seed=1, params=GeneticParams(evaluations=20, checkpoint=str(file)))
    evaluated = len(json.loads(file.read_text())["state"]["known"])
    continued = genetic(
        PROBLEM, seed=1, params=GeneticParams(evaluations=40, checkpoint=str(file), plot=str(plot))
    )
    whole = genetic(PROBLEM, seed=1, params=GeneticParams(evaluations=40))
    assert 20 <= evaluated < 30 and (continued.hidden == whole.hidden).all()
    assert plot.read_text().count("<polyline") == 1
    with pytest.raises(InputError, match="another problem, seed or setting"):
        genetic(PROBLEM, seed=2, params=GeneticParams(evaluations=20, checkpoint=str(file)))
    file.write_text("{}")
    with pytest.raises(InputError, match="no checkpoint"):
        genetic(PROBLEM, seed=1, params=GeneticParams(evaluations=20, checkpoint=str(file)))


def test_an_interrupt_keeps_the_best_order() -> None:
    class Impatient(Progress):
        def advance(self, done: int, total: int | None = None, **figures: object) -> None:
            if "cost" in figures and done >= 20:
                raise KeyboardInterrupt

    result = suppress(PROBLEM, "genetic", attackers=[], options={"evaluations": 500}, progress=Impatient())
    assert result.is_safe and result.was_interrupted


def test_progress_tells_the_best_cost() -> None:
    seen: list[tuple[int, float]] = []

    class Watching(Progress):
        def advance(self, done: int, total: int | None = None, **figures: object) -> None:
            if "cost" in figures:
                seen.append((done, float(figures["cost"])))  # type: ignore[arg-type]

    genetic(PROBLEM, params=GeneticParams(evaluations=30), progress=Watching())
    assert seen[0][0] == 10 and 30 <= seen[-1][0] < 40
    assert [cost for _, cost in seen] == sorted((cost for _, cost in seen), reverse=True)


def test_charts_escape_names_and_take_flat_curves() -> None:
    text = line_chart({"a < b": [(1, 5.0)], "c": [(1, 5.0), (2, 5.0)]}, title="x & y", x="n", y="cost")
    assert "a &lt; b" in text and "x &amp; y" in text and "nan" not in text
