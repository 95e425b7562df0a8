"""Infeasible adjustments: the least relaxation of limits, and the relations that conflict.

Limits of cells that are not sensitive may be passed, each unit at a price of one over the cell's size, with
the senses free: an elastic program. The relations of the cells that pass their limits are in conflict.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cellveil.adjustment.mixed_integer import SenseProgram
from cellveil.adjustment.model import Model, build_model
from cellveil.adjustment.piecewise_cost import Pieces, pieces_of
from cellveil.arrays import Float, Int
from cellveil.clock import Deadline
from cellveil.errors import AdjustmentError, counted
from cellveil.problem import Status
from cellveil.solvers.mip import Budget
from cellveil.solvers.tolerances import ROUNDING


def conflict(model: Model, clock: Deadline) -> AdjustmentError:
    """Why there is no adjustment, and the smallest way out that was found."""
    table, sensitive = model.problem.table, model.problem.status == Status.PRIMARY
    widest = build_model(model.problem)
    tight = np.flatnonzero(~sensitive & ((widest.down > model.down) | (widest.up > model.up)))
    if len(tight):
        found = _least_overrun(model, widest, clock)
        if found is not None:
            cells = np.flatnonzero((found > model.up + ROUNDING) | (-found > model.down + ROUNDING))
            rows = _relations_of(model, cells)
            share = _largest_share(model, found, cells)
            return AdjustmentError(
                f"the limits of {counted(len(cells), 'cell')} would have to be passed",
                cells=table.cell_names(cells),
                relations=[table.relation_name(row) for row in rows],
                way_out=f"With limits of {share:.4g} % for these cells there is an adjustment.",
                details={"cells": table.cell_names(cells), "limit_percent": share},
            )
    return AdjustmentError(
        "bounds and levels contradict each other whatever the senses",
        cells=table.cell_names(model.cells),
        way_out="Lower levels, widen bounds, or let fixed cells move.",
    )


def _least_overrun(model: Model, widest: Model, clock: Deadline) -> Float | None:
    """The adjustment within all bounds that passes the limits least, relative to the cells' sizes."""
    mixed = SenseProgram(widest, None, pieces=_beyond_limits(model, widest))
    answer = mixed.search(None, Budget(clock, nodes=model.params.pump.nodes))
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
