"""Adjusted tables: ties, coordinates, annealing on imbalances, totals emptied; searches near the optimum."""

import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import cellveil as cv
from cellveil.adjustment.annealed_imbalance import ImbalanceAnnealing, fair_prices
from cellveil.adjustment.annealed_splitting import SplittingAnnealing, search_senses
from cellveil.adjustment.block_descent import descend
from cellveil.adjustment.branch_and_bound import SenseTree
from cellveil.adjustment.fixed_senses import FixedSenses
from cellveil.adjustment.integers import rounded, without_totals
from cellveil.adjustment.lower_bound import cover_bound
from cellveil.adjustment.merge_tied import merged_model
from cellveil.adjustment.mixed_integer import prove
from cellveil.adjustment.model import Model, build_model
from cellveil.adjustment.null_space import NullSpace
from cellveil.adjustment.start_rules import start_senses
from cellveil.adjustment.tabu import Tabu
from cellveil.clock import Deadline
from cellveil.problem import Problem
from experiments.three_way import cube
from helpers.examples import few_of

INSTANCES = Path(os.environ.get("CELLVEIL_INSTANCES") or Path(__file__).parents[3] / "shared" / "instances")


FEW = {"splitting.tries": 4, "iterations": 200}
"""A tenth of the short annealings: small tables need no more."""


def irregular(tmp_path: Path, seed: int) -> Problem:
    """A table with a hierarchy, as a list of relations without dimensions."""
    problem = cv.random_table(
        (7, 4, 3), hierarchical=[0], contributors=3, zeros=0.3, primaries=0.12, seed=seed, unit=10
    )
    cv.write_instance(problem, tmp_path / "i.jj")
    return cv.read_instance(tmp_path / "i.jj")


def best_cost(model: Model) -> float:
    """Over all senses, each by its program."""
    given, found = FixedSenses(model), []
    able = [
        (True,) * bool(r) + (False,) * bool(f) for r, f in zip(model.can_rise, model.can_fall, strict=True)
    ]
    for senses in itertools.product(*able):
        fit = given.fit(np.array(senses))
        found += [] if fit is None else [fit.cost]
    return min(found)


@pytest.mark.parametrize("objective", ["l1", "value"])
@pytest.mark.parametrize("seed", few_of([1, 2, 0], 2))
def test_ties_and_coordinates_keep_the_optimum(tmp_path: Path, seed: int, objective: str) -> None:
    model = build_model(irregular(tmp_path, seed), objective)
    ties = merged_model(model)
    assert ties is not None and len(ties.model.cells) <= len(model.cells)
    assert ties.model.relations.num_cells < model.relations.num_cells
    expected = prove(model, FixedSenses(model), None, Deadline(None))
    coordinates = NullSpace(ties.model, 1000)
    assert coordinates.is_built
    found = SenseTree(coordinates, FixedSenses(ties.model), None, 1.0).run(Deadline(None))
    assert found.ended == "optimal" and found.fit is not None and expected.fit is not None
    whole = ties.unfold(found.fit)
    assert model.fits(whole.y) and whole.cost == pytest.approx(found.fit.cost)
    assert whole.cost == pytest.approx(expected.fit.cost) and found.bound <= whole.cost + 1e-6
    if len(ties.model.cells) <= 9:
        assert whole.cost == pytest.approx(best_cost(ties.model))
    assert cv.adjust(model.problem, objective=objective).cost == pytest.approx(whole.cost)


@pytest.mark.parametrize("seed", range(3))
def test_searches_in_coordinates_reach_the_optimum(tmp_path: Path, seed: int) -> None:
    """From senses drawn at random; blocks change their own senses only."""
    ties = merged_model(build_model(irregular(tmp_path, seed), "l1"))
    assert ties is not None
    model = ties.model
    given, coordinates = FixedSenses(model), NullSpace(model, 1000)
    best = SenseTree(coordinates, given, None, 1.0).run(Deadline(None)).fit
    starts = (given.fit(start_senses(model, "random", seed=k)) for k in range(50))
    start = next(fit for fit in starts if fit is not None)
    assert best is not None
    for number in range(len(model.cells)):
        free = np.arange(len(model.cells)) == number
        found = SenseTree(coordinates, given, start, 0.0).run(Deadline(None), None, free).fit
        assert found is not None and (found.senses == start.senses)[~free].all()
        assert found.cost <= start.cost
    blocks = descend(given, start, 20, Deadline(None), coordinates=coordinates)
    single = Tabu(given, start, coordinates=coordinates).run(40, Deadline(None))
    assert blocks.cost == pytest.approx(best.cost) and model.fits(blocks.y)
    assert best.cost <= single.cost * (1 + 1e-9) <= start.cost * (1 + 1e-9) and model.fits(single.y)


@pytest.mark.parametrize("objective", ["l1", "value"])
def test_prices_are_fair_and_flips_never_overestimate(objective: str) -> None:
    model = build_model(cube(4, seed=3), objective)
    flips, given = ImbalanceAnnealing(model), FixedSenses(model)
    load = abs(model.relations.matrix).T @ flips.price
    assert (load <= 1.02 * model.weight).all() and (flips.price >= 0).all()
    levels = float((model.weight[model.cells] * model.fall).sum())
    for seed in range(5):
        senses = start_senses(model, "random", seed=seed)
        slack = given.relax(senses)
        assert slack is not None and levels + flips.estimate(senses) <= 1.02 * slack.cost
        cooler = flips.anneal(senses, 50, seed=seed)
        assert flips.estimate(cooler) <= flips.estimate(senses)
        assert (flips.anneal(senses, 50, seed=seed) == cooler).all()
        for cell in range(len(senses)):  # no single change improves
            other = cooler.copy()
            other[cell] = not other[cell]
            assert flips.estimate(other) >= flips.estimate(cooler) - 1e-6
    assert not fair_prices(model, np.zeros(len(model.relations))).any()


class Countdown(Deadline):
    """A deadline that passes after so many looks at it."""

    def __init__(self, looks: int) -> None:
        super().__init__(None)
        self._looks = looks

    @property
    def is_over(self) -> bool:
        self._looks -= 1
        return self._looks < 0


def test_short_annealings_find_better_senses_and_never_take_unfinished_ones() -> None:
    model = build_model(cube(6), "l1")
    first = start_senses(model, "least")

    def cost(senses: NDArray[np.bool_]) -> float:
        return model.cost(SplittingAnnealing(model).settle(senses, 200))

    found = search_senses(SplittingAnnealing(model), first, Deadline(None), tries=20)
    assert cost(found) < cost(first)
    again = search_senses(SplittingAnnealing(model), first, Deadline(None), tries=20)
    assert (found == again).all()
    for looks in range(100, 4_000, 991):
        clock = Countdown(looks)
        senses = search_senses(SplittingAnnealing(model, clock), found, clock)
        assert cost(senses) <= cost(found) + 1e-6


@pytest.mark.parametrize(("objective", "seed"), few_of([("l1", 0), ("value", 1), ("l1", 1), ("value", 0)], 2))
def test_searches_come_to_the_optimum_of_small_three_way_tables(objective: str, seed: int) -> None:
    problem = cube(5, seed=seed)
    exact = cv.adjust(problem, "exact", objective=objective)
    assert exact.outcome == "optimal"
    for method in ("tabu", "descent"):
        assert (
            cv.adjust(problem, method, objective=objective, options={"splitting.tries": 4}).cost
            <= 1.01 * exact.cost
        )


def test_the_optimum_is_proven_where_rounding_costs_a_unit() -> None:
    """The vertex of the best senses is fractional and costs 1217, and no whole movement does."""
    found = cv.adjust(cube(4, seed=1), "exact", objective="l1")
    assert (found.outcome, found.cost, found.lower_bound) == ("optimal", 1218, 1218)
    unproven = cv.adjust(cube(4, seed=1), "exact", objective="l1", options={"tree.whole_nodes": 0})
    assert (unproven.outcome, unproven.cost, unproven.lower_bound) == ("safe", 1218, pytest.approx(1217))


@pytest.mark.parametrize("objective", ["l1", "value", "l2"])
def test_totals_are_emptied_into_the_interior(objective: str) -> None:
    model = build_model(cube(8, seed=1), objective)
    annealing, senses = SplittingAnnealing(model), start_senses(model, "least")
    whole = rounded(model, annealing.settle(senses, 200), senses)
    assert whole is not None
    better = without_totals(model, whole, senses, Deadline(None))
    assert model.fits(better) and model.cost(better) < model.cost(whole)
    assert (model.senses_of(better.astype(float)) == senses).all()
    total = np.all([key == 0 for key in model.problem.table.keys], axis=0)
    assert np.abs(better[total]).sum() <= np.abs(whole[total]).sum()
    assert (without_totals(model, whole, senses, Deadline(None)) == better).all()


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_sums_over_planes_are_emptied_in_every_direction(axis: int) -> None:
    model = build_model(cube(12, largest=10, seed=1), "value")
    annealing, senses = SplittingAnnealing(model), start_senses(model, "least")
    whole = rounded(model, annealing.settle(senses, 200), senses)
    assert whole is not None
    keys = [np.asarray(key) for key in model.problem.table.keys]
    is_plane = np.all([(key > 0) == (own == axis) for own, key in enumerate(keys)], axis=0)
    assert np.abs(whole[is_plane]).sum() > 4
    better = without_totals(model, whole, senses, Deadline(None))
    assert np.abs(better[is_plane]).sum() == 0


def test_a_cube_is_what_it_says() -> None:
    problem = cube(6, zeros=0.25, sensitive=0.2, largest=50, seed=4)
    keys = problem.table.keys
    inner = np.all([key > 0 for key in keys], axis=0)
    assert inner.sum() == 162 and len(problem.primaries) == 32 and inner[problem.primaries].all()
    assert not problem.table.relations.residuals(problem.table.values)
    own = problem.table.values[problem.primaries]
    assert (problem.upl[problem.primaries] == -(-own // 10)).all() and own.max() <= 50
    with pytest.raises(cv.InputError):
        cube(1)


@pytest.mark.parametrize("seed", few_of(range(6), 2))
def test_searches_come_within_one_per_cent(seed: int) -> None:
    problem = cv.random_table((5, 5), contributors=4, zeros=0.1, primaries=0.3, seed=seed, unit=20)
    best = cv.adjust(problem, "exact")
    assert best.outcome == "optimal"
    for method in ("tabu", "descent"):
        found = cv.adjust(problem, method, seed=1, options=FEW)
        assert found.is_safe and best.cost <= found.cost <= 1.01 * best.cost


PUBLIC = {"targus": 13970.02, "table7": 95848, "table8": 40, "hie1372d": 8308}


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLIC)
@pytest.mark.parametrize("method", ["auto", "tabu", "descent"])
def test_public_instances_come_within_one_per_cent(name: str, method: str) -> None:
    path = INSTANCES / "csp" / f"{name}.jj"
    if not path.exists():
        pytest.skip("the public instances are not here")
    found = cv.adjust(cv.read_instance(path), method, time_limit=30)
    assert PUBLIC[name] - 1e-6 <= found.cost <= 1.01 * PUBLIC[name]


def test_the_covering_bound_holds_for_cubes() -> None:
    problem = cube(4, seed=5)
    best = cv.adjust(problem, "exact")
    assert best.outcome == "optimal" and cover_bound(build_model(problem)) <= best.cost
