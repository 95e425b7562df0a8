"""The cheapest deviation under a budget: what it spares, and what it finds."""

from __future__ import annotations

import numpy as np
import pytest

from cellveil.clock import NO_LIMIT
from cellveil.deviations.budgeted_movement import BudgetedMovement
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.movement import Movement
from cellveil.deviations.movement_program import Feasibility, MovementParams
from cellveil.problem import Status
from helpers.linked_tables import linked


@pytest.mark.parametrize("seed", range(3))
def test_without_a_budget_it_costs_about_what_the_program_over_all_cells_costs(seed: int) -> None:
    problem = linked(seed)
    ledger = Ledger(problem)
    cell, up, amount = (each[0].item() for each in ledger.open_demands())
    moved = BudgetedMovement(ledger, ledger.problem.table.relations).push(cell, up, amount, np.inf)
    assert moved is not None and cell in moved
    flat = Movement(
        problem.table.relations,
        problem.status != Status.FROZEN,
        problem.weight,
        params=MovementParams(slopes=(), hidden_cost=0.0),
    )
    move = flat.push(cell, amount, (ledger.room_down, ledger.room_up), ledger.hidden, up=up)
    assert move.verdict is Feasibility.MET
    published = ~ledger.hidden
    cost = problem.weight[moved[published[moved]]].sum()
    assert cost <= 1.5 * problem.weight[move.support[published[move.support]]].sum()


def test_cells_dearer_than_the_budget_stay_published() -> None:
    ledger = Ledger(linked(1))
    weight = ledger.problem.weight
    movement = BudgetedMovement(ledger, ledger.problem.table.relations)
    cell, up, amount = (each[0].item() for each in ledger.open_demands())
    found = 0
    for budget in np.quantile(weight, [0.0, 0.5, 0.9, 1.0]):
        moved = movement.push(cell, up, amount, float(budget))
        if moved is not None:
            found += 1
            assert (weight[moved[~ledger.hidden[moved]]] <= budget).all()
    assert found > 0


def test_more_than_the_room_of_a_cell_cannot_be_asked() -> None:
    ledger = Ledger(linked(1))
    cell, up, _ = (each[0].item() for each in ledger.open_demands())
    room = int((ledger.room_up if up else ledger.room_down)[cell])
    assert BudgetedMovement(ledger, ledger.problem.table.relations).push(cell, up, room + 1, np.inf) is None


@pytest.mark.parametrize("seed", range(3))
def test_room_that_counts_as_endless_leaves_what_binds(seed: int) -> None:
    """With little room taken for endless the cost falls, if anything; with much of it nothing changes."""
    ledger = Ledger(linked(seed))
    relations, published = ledger.problem.table.relations, ~ledger.hidden
    cell, up, amount = (each[0].item() for each in ledger.open_demands())

    def cost(roomy: float) -> float:
        movement = BudgetedMovement(ledger, relations, roomy)
        down, upper = (movement._capacity(room / amount) for room in (ledger.room_down, ledger.room_up))
        assert (np.isinf(upper) == (ledger.room_up / amount >= roomy)).all()
        component = movement._component(np.flatnonzero(movement._movable))
        lower = -down
        lower[cell] = upper[cell] = 1.0 if up else -1.0
        own = component.cells
        moved = movement._cheapest(component, lower[own], upper[own], ledger.hidden[own], NO_LIMIT)
        assert moved is not None
        return float(movement._weight[own] @ (np.abs(moved) * published[own]))

    assert cost(np.inf) == pytest.approx(cost(1e9)) and cost(2.0) <= cost(np.inf) * (1 + 1e-9)
