"""Rounding to whole adjustments: M y = 0 exactly, within all bounds, and at little loss.

`whole_near`: a vertex of a table's program is integral nearly everywhere. Where some cells are fractional (or
the point is no vertex), a small mixed-integer program over the cells around them decides which are rounded up
and which down, at the least cost; where that is not enough, one over all cells.

`rounded`: without a program, cells that are no totals are rounded, and totals computed from them.

`without_totals`: local search in flat three-way tables. Where all sums over whole planes are kept, the
movements of the totals of one direction form a two-way table with zero margins. Any rectangle of it (+1 and
−1 at its corners) can be put into a plane of the interior with the signs turned: these four totals are then
back where they were, and nothing else changes but four inner cells. Before that the grand total is brought
back by single steps of inner cells, with all totals over them, and sums over planes by pairs of such steps.
Totals are expensive where costs are weighted by values, and cheap inner cells are easily found.
"""

from __future__ import annotations

import numpy as np

from cellveil.adjustment.model import Model
from cellveil.arrays import Bool, Float, Int
from cellveil.clock import Deadline
from cellveil.loops.integers import rectangles, units_and_pairs
from cellveil.solvers.mip import Budget, Program, solve
from cellveil.solvers.tolerances import WHOLE


def whole_near(model: Model, y: Float, senses: Bool) -> Int | None:
    """An exact adjustment near y with the same senses; None where none was found."""
    low, high = model.rooms(senses)
    near = np.clip(np.rint(y), low, high).astype(np.int64)
    if model.fits(near):
        return near
    fractional = np.abs(y - np.rint(y)) > WHOLE
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
    return [
        ring for ring in (around & movable, movable) if 0 < ring.sum() <= model.params.rounding.most_cells
    ]


def _round_by_program(model: Model, y: Float, near: Int, free: Bool, rooms: tuple[Int, Int]) -> Int | None:
    """Move cells by a few units from their rounded-down values so that all relations hold."""
    cells = np.flatnonzero(free)
    base = near.copy()
    base[cells] = np.clip(np.floor(y[cells] + WHOLE).astype(np.int64), rooms[0][cells], rooms[1][cells])
    matrix = model.relations.matrix.tocsc()
    left = -(matrix @ base.astype(np.float64))
    params = model.params.rounding
    steps_up = np.minimum(rooms[1][cells] - base[cells], params.window)
    steps_down = np.minimum(base[cells] - rooms[0][cells], params.window)
    program = _steps(model, matrix[:, cells], left, base[cells], cells, (steps_down, steps_up))
    answer = solve(program, budget=Budget(nodes=params.nodes, gap=1e-4))
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


def rounded(model: Model, y: Float, senses: Bool) -> Int | None:
    """Cells that are no totals rounded within their rooms, totals computed; None where that does not fit."""
    low, high = model.rooms(senses)
    whole = np.clip(np.rint(y), low, high).astype(np.int64)
    whole[~model.is_inner] = 0
    for rows, totals in _totals_by_depth(model):
        part = model.relations.take_rows(rows)
        signed = part.coefs * whole[part.cells]
        sums = np.bincount(part.row_of_entry, weights=signed, minlength=len(rows))
        coefs = part.coefs[part.cells == totals[part.row_of_entry]]
        whole[totals] = np.rint(-sums / coefs).astype(np.int64)
    return whole if model.fits(whole) else None


def _totals_by_depth(model: Model) -> list[tuple[Int, Int]]:
    """Relations and their totals, in an order in which all parts are known: level by level."""
    relations = model.relations
    row, cells = relations.row_of_entry, relations.cells
    is_known = model.is_inner.copy()
    found: list[tuple[Int, Int]] = []
    while not is_known.all():
        unknown = np.bincount(row[~is_known[cells]], minlength=len(relations))
        ready = np.flatnonzero(unknown == 1)
        if not len(ready):
            return []
        is_ready = np.zeros(len(relations), dtype=bool)
        is_ready[ready] = True
        entries = np.flatnonzero(is_ready[row] & ~is_known[cells])
        totals, first = np.unique(cells[entries], return_index=True)
        found.append((row[entries[first]], totals.astype(np.int64)))
        is_known[totals] = True
    return found


def without_totals(model: Model, y: Int, senses: Bool, clock: Deadline, *, seed: int = 0) -> Int:
    """Totals emptied from all three directions, as long as it pays; no worse than y."""
    table, params = model.problem.table, model.params.rounding
    is_flat = table.is_structured and all(len(d.equations) == 1 for d in table.dimensions)
    if len(table.sizes) != 3 or not is_flat:
        return y
    low, high = model.rooms(senses)
    places = tuple(np.asarray(key) for key in table.keys)
    arrays = [np.zeros(table.sizes, dtype=np.int64) for _ in range(3)]
    weight = np.zeros(table.sizes)
    for array, given in zip(arrays, (y, low, high), strict=True):
        array[places] = given
    weight[places] = model.weight
    state = np.array([2 * seed + 88172645463325253], dtype=np.uint64)
    for _ in range(params.rounds):
        made = 0
        for axis in (2, 1, 0):
            if clock.is_over:
                break
            order = [(axis + 1) % 3, (axis + 2) % 3, axis]  # so that each is the first one once
            own, least, most = (np.ascontiguousarray(array.transpose(order)) for array in arrays)
            price = np.ascontiguousarray(weight.transpose(order))
            made += units_and_pairs(own, price, model.power, least, most)
            units = int(np.abs(own[1:, 1:, 0]).sum())
            tries = own.shape[0] * max(own.shape[1] // 4, 1) * max(units, 1)
            planes = int(np.clip(params.evaluations / tries, 2, 2 * own.shape[2]))
            made += rectangles(own, price, model.power, least, most, planes, state)
            arrays[0] = np.ascontiguousarray(own.transpose(np.argsort(order)))
        if not made:
            break
    moved = np.asarray(arrays[0][places])
    return moved if model.cost(moved) < model.cost(y) and model.fits(moved) else y
