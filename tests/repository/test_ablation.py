"""The ablation of `auto` and `adjust`: stages are left out one by one, and results stay safe."""

import pytest

from benchmarks.ablation import ablation, markdown, run
from cellveil.adjustment import adjust
from cellveil.datasets import random_table
from cellveil.errors import InputError
from cellveil.suppression import suppress
from cellveil.suppression.methods.auto import PLANS, optional_stages


def test_a_small_table() -> None:
    ratios = ablation([("small", "4x4x4")], 1, None)
    assert {("small", "programs"), ("small", "search")} <= set(ratios)
    assert all(0.5 < cost < 3 for found in ratios.values() for cost, _ in found)
    assert markdown(ratios).count("\n") == len(ratios) + 1


def test_what_is_left_out_does_not_run() -> None:
    problem = random_table((4, 4, 4), seed=5)
    assert "search" in run(problem, 1, None).stages
    assert "search" not in run(problem, 1, None, "search").stages
    every = ",".join(optional_stages("small"))
    stages = run(problem, 1, None, every).stages
    assert not stages & set(optional_stages("small"))


def test_unknown_stages_are_named() -> None:
    with pytest.raises(InputError, match="no stage 'serch'"):
        suppress(random_table((4, 4), seed=1), options={"without": "serch"})
    assert "flows" not in optional_stages("network") and set(PLANS) >= {"small", "large"}


def test_stages_of_adjust_are_left_out() -> None:
    ratios = ablation([("tabu", "6x6")], 1, None, is_adjusted=True)
    assert set(ratios) == {("tabu", "anneal"), ("tabu", "tabu")}
    with pytest.raises(InputError, match="no stage 'taboo'"):
        adjust(random_table((4, 4), seed=1), options={"without": "taboo"})
