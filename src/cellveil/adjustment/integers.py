"""Whole numbers next to a solver's movement: M y = 0 exactly, all rooms kept.

A vertex of a table's program is whole nearly everywhere: rounding does. Where some cells are fractional (or
the point is no vertex), a small program over the cells around them decides which are rounded up and which
down, at the least cost; where that is not enough, one over all cells.
"""

from __future__ import annotations

import numpy as np

from cellveil.adjustment.model import Model
from cellveil.arrays import Bool, Float, Int
from cellveil.solvers.mip import Budget, Program, solve

FRACTION = 1e-5
WINDOW = 2
NODES = 50
MOST_CELLS = 1_000


def whole_near(model: Model, y: Float, senses: Bool) -> Int | None:
    """An exact adjustment near y with the same senses; None where none was found."""
    low, high = model.rooms(senses)
    near = np.clip(np.rint(y), low, high).astype(np.int64)
    if model.fits(near):
        return near
    fractional = np.abs(y - np.rint(y)) > FRACTION
    for cells in _rings(model, fractional):
        found = _round_by_program(model, y, near, cells, (low, high))
        if found is not None and model.fits(found):
            return found
    return None


def _rings(model: Model, fractional: Bool) -> list[Bool]:
    """The cells that share a relation with a fractional one, and then all of them."""
    relations, movable = model.relations, model.is_movable
    touched = np.zeros(len(relations), dtype=bool)
    touched[relations.row_of_entry[fractional[relations.cells]]] = True
    around = np.zeros(len(fractional), dtype=bool)
    around[relations.cells[touched[relations.row_of_entry]]] = True
    return [ring for ring in (around & movable, movable) if 0 < ring.sum() <= MOST_CELLS]


def _round_by_program(model: Model, y: Float, near: Int, free: Bool, rooms: tuple[Int, Int]) -> Int | None:
    """Move cells by a few units from their rounded-down values so that all relations hold."""
    cells = np.flatnonzero(free)
    base = near.copy()
    base[cells] = np.clip(np.floor(y[cells] + FRACTION).astype(np.int64), rooms[0][cells], rooms[1][cells])
    matrix = model.relations.matrix.tocsc()
    left = -(matrix @ base.astype(np.float64))
    steps_up = np.minimum(rooms[1][cells] - base[cells], WINDOW)
    steps_down = np.minimum(base[cells] - rooms[0][cells], WINDOW)
    program = _steps(model, matrix[:, cells], left, base[cells], cells, (steps_down, steps_up))
    answer = solve(program, budget=Budget(nodes=NODES, gap=1e-4))
    if answer.point is None:
        return None
    half = len(cells)
    moved = np.rint(answer.point[:half] - answer.point[half:]).astype(np.int64)
    result = base.copy()
    result[cells] += moved
    return result


def _steps(
    model: Model, matrix: object, left: Float, base: Int, cells: Int, steps: tuple[Int, Int]
) -> Program:
    """Unit steps up and down; what a step costs is taken from the first one."""
    from scipy.sparse import csr_matrix, hstack

    columns = csr_matrix(matrix)
    touched = np.flatnonzero(np.diff(columns.indptr))
    columns = columns[touched]
    weight, power = model.weight[cells], model.power
    here = np.abs(base).astype(np.float64) ** power
    rise = weight * (np.abs(base + 1.0) ** power - here)
    drop = weight * (np.abs(base - 1.0) ** power - here)
    # a step back from where the price is falling must not pay more than the first step forth
    cost = np.concatenate([rise, np.maximum(drop, -rise)])
    size = np.concatenate([steps[1], steps[0]]).astype(np.float64)
    return Program(
        hstack([columns, -columns]).tocsc(),
        (left[touched], left[touched]),
        (np.zeros(2 * len(cells)), size),
        cost,
        np.ones(2 * len(cells), dtype=bool),
    )
