"""Programs through windows: the nearest cells, exact witnesses, and the whole where a window does not do."""

from __future__ import annotations

import numpy as np
import pytest

from cellveil.deviations.ledger import Ledger
from cellveil.deviations.movement_program import Feasibility
from cellveil.deviations.witness import are_deviations
from cellveil.problem import Problem, Status
from cellveil.suppression.engines.one_demand import OneDemand
from cellveil.suppression.engines.windowed_demand import Balls, WindowedDemand, WindowParams
from helpers.linked_tables import linked


def distances(problem: Problem, start: int, price: np.ndarray, step: float) -> np.ndarray:
    """Of all cells from one, by relaxing every relation until nothing changes."""
    relations, far = problem.table.relations, np.full(problem.table.num_cells, np.inf)
    far[start] = 0.0
    while True:
        before = far.copy()
        for row in range(len(relations)):
            cells, _ = relations.row(row)
            far[cells] = np.minimum(far[cells], far[cells].min() + price[cells] + step)
        if (before == far).all():
            return far


def protected(ledger: Ledger, engine: OneDemand) -> list[Feasibility]:
    verdicts = []
    for cell, up, _ in zip(*(each.tolist() for each in ledger.open_demands()), strict=True):
        if ledger.is_open(cell, up):
            verdicts.append(engine.protect(cell, up))
    return verdicts


@pytest.mark.parametrize("seed", range(4))
def test_a_ball_holds_the_nearest_cells(seed):
    problem = linked(seed)
    rng = np.random.default_rng(seed)
    price = np.where(rng.random(problem.table.num_cells) < 0.3, 0.0, problem.weight)
    balls = Balls(problem.table.relations, np.ones(problem.table.num_cells, dtype=bool))
    for start in rng.integers(0, problem.table.num_cells, 5).tolist():
        far = distances(problem, start, price, 0.5)
        for most in (1, 7, 40):
            near = balls.around(start, price, 0.5, most)
            assert len(near) == most and start in near
            assert far[near].max() <= np.delete(far, near).min()
        radius = float(np.quantile(far, 0.4))
        assert (
            balls.around(start, price, 0.5, len(far), radius).tolist()
            == np.flatnonzero(far <= radius).tolist()
        )


def test_frozen_cells_are_in_no_ball():
    problem = linked(2)
    movable = np.random.default_rng(0).random(problem.table.num_cells) < 0.8
    movable[problem.primaries] = True
    balls = Balls(problem.table.relations, movable)
    near = balls.around(int(problem.primaries[0]), problem.weight, 0.0, problem.table.num_cells)
    assert movable[near].all()


@pytest.mark.parametrize("sizes", [(3, 12), (20,), (10_000,)])
def test_every_demand_gets_an_exact_witness_whatever_the_window(sizes):
    problem = linked(3)
    ledger = Ledger(problem)
    verdicts = protected(ledger, WindowedDemand(ledger, WindowParams(cells=sizes)))
    assert set(verdicts) == {Feasibility.MET}
    assert not ledger.num_open
    assert are_deviations(problem, ledger.hidden, ledger.witnesses()).all()


def test_a_window_of_the_whole_table_costs_what_the_program_over_all_does():
    for seed in range(3):
        windowed, whole = (Ledger(linked(seed)) for _ in range(2))
        cell, up, _ = (each[0].item() for each in whole.open_demands())
        assert WindowedDemand(windowed, WindowParams(cells=(10_000,))).protect(cell, up) is Feasibility.MET
        assert OneDemand(whole).protect(cell, up) is Feasibility.MET
        assert windowed.cost == whole.cost


def test_a_trial_does_not_go_beyond_its_window():
    problem = linked(4)
    ledger = Ledger(problem)
    engine = WindowedDemand(ledger, WindowParams(trial_cells=2))
    cell, up, _ = (each[0].item() for each in ledger.open_demands())
    assert engine.protect(cell, up, budget=float(problem.weight.sum())) is not Feasibility.MET
    assert (ledger.hidden == problem.hidden_at_start).all()


def test_a_demand_that_nothing_can_meet_is_called_so():
    problem = linked(5)
    status = np.where(problem.status == Status.PRIMARY, problem.status, Status.FROZEN)
    cell = int(problem.primaries[0])
    status[problem.primaries] = Status.FROZEN
    status[cell] = Status.PRIMARY
    levels = {
        name: np.where(np.arange(len(status)) == cell, getattr(problem, name), 0) for name in ("lpl", "upl")
    }
    alone = problem.replace(status=status, **levels)
    ledger = Ledger(alone)
    assert WindowedDemand(ledger).protect(cell, True) is Feasibility.IMPOSSIBLE
