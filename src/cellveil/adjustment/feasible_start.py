"""From senses to a feasible start: repair, and what stands in the way where there is none.

`pump` lets sensitive cells fall short of their levels at a price, then gives each cell that fell short the
sense it leans to, and solves again, with some senses drawn at random where that goes in circles.

`conflict` looks for the smallest relaxation where no adjustment exists: limits of cells that are not
sensitive may be passed, each unit at a price of one over the cell's size, with the senses free. The relations
of the cells that pass their limits are those that conflict.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cellveil.adjustment.fixed_senses import Fit, Given
from cellveil.adjustment.mixed_integer import Mixed
from cellveil.adjustment.model import Model, build_model
from cellveil.adjustment.piecewise_cost import Pieces, pieces_of
from cellveil.arrays import Bool, Float, Int
from cellveil.clock import Deadline
from cellveil.errors import AdjustmentError
from cellveil.problem import Status
from cellveil.solvers.mip import Budget

ROUNDS = 30
PENALTY = 50.0
NODES = 200
MOST_NAMED = 50
TINY = 1e-4


def pump(given: Given, senses: Bool, clock: Deadline, *, seed: int = 0, rounds: int = ROUNDS) -> Fit | None:
    """A feasible adjustment near these senses; None where none was found."""
    model, rng = given.model, np.random.default_rng(seed)
    seen: set[bytes] = set()
    for _ in range(rounds):
        if clock.is_over:
            return None
        slack = given.relax(senses, clock.left, penalty=PENALTY)
        if slack is None:
            return None
        short = slack.lack > 1e-6
        if not short.any():
            return given.fit(senses, clock.left)
        middle = (model.rise - model.fall) / 2.0
        leaning = slack.y[model.cells] > middle
        wanted = np.where(short, leaning, senses)
        if (wanted == senses).all() or wanted.tobytes() in seen:
            drawn = rng.random(len(senses)) < 0.5
            wanted = np.where(short & drawn, ~senses, senses)
        senses = np.asarray((wanted & model.can_rise) | ~model.can_fall)
        seen.add(senses.tobytes())
    return None


def conflict(model: Model, clock: Deadline) -> AdjustmentError:
    """Why there is no adjustment, and the smallest way out that was found."""
    table, sensitive = model.problem.table, model.problem.status == Status.PRIMARY
    widest = build_model(model.problem)
    tight = np.flatnonzero(~sensitive & ((widest.down > model.down) | (widest.up > model.up)))
    if len(tight):
        found = _least_overrun(model, widest, clock)
        if found is not None:
            cells = np.flatnonzero((found > model.up + TINY) | (-found > model.down + TINY))
            rows = _relations_of(model, cells)
            share = _largest_share(model, found, cells)
            return AdjustmentError(
                f"the limits of {len(cells)} cells would have to be passed",
                cells=table.cell_names(cells[:MOST_NAMED]),
                relations=[table.relation_name(row) for row in rows[:MOST_NAMED]],
                way_out=f"With limits of {share:.4g} % for these cells there is an adjustment.",
                details={"cells": table.cell_names(cells), "limit_percent": share},
            )
    return AdjustmentError(
        "bounds and levels contradict each other whatever the senses",
        cells=table.cell_names(model.cells[:MOST_NAMED]),
        way_out="Lower levels, widen bounds, or let fixed cells move.",
    )


def _least_overrun(model: Model, widest: Model, clock: Deadline) -> Float | None:
    """The adjustment within all bounds that passes the limits least, relative to the cells' sizes."""
    mixed = Mixed(widest, None, pieces=_beyond_limits(model, widest))
    answer = mixed.search(None, Budget(seconds=clock.left, nodes=NODES))
    return mixed.movement_of(answer)


def _beyond_limits(model: Model, widest: Model) -> Pieces:
    """Movements within the limits are free, those beyond have a price."""
    whole = pieces_of(replace(widest, power=1, weight=np.ones(len(widest.weight))), None, from_levels=True)
    limit = np.where(whole.sign > 0, model.up[whole.cell], model.down[whole.cell]).astype(float)
    free = np.clip(limit - whole.start, 0.0, whole.length)
    sizes = np.maximum(np.abs(model.problem.table.values[whole.cell]), 1)
    order = np.argsort(np.tile(np.arange(len(limit)), 2), kind="stable")
    return Pieces(
        np.tile(whole.cell, 2)[order],
        np.tile(whole.sign, 2)[order],
        np.concatenate([whole.start, whole.start + free])[order],
        np.concatenate([free, whole.length - free])[order],
        np.concatenate([np.zeros(len(limit)), 1.0 / sizes])[order],
    )


def _relations_of(model: Model, cells: Int) -> list[int]:
    relations = model.relations
    rows = np.unique(relations.row_of_entry[np.isin(relations.cells, cells)])
    return [int(row) for row in rows]


def _largest_share(model: Model, y: Float, cells: Int) -> float:
    values = np.maximum(np.abs(model.problem.table.values[cells]), 1)
    return float((100.0 * np.abs(y[cells]) / values).max(initial=0.0))
