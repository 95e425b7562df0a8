"""Whole adjustments of three-way tables made cheaper: what rounding left in totals goes into the interior.

Where all sums over whole planes are kept, the movements of the totals of one direction form a two-way table
with zero margins. Any rectangle of it (+1 and −1 at its corners) can be put into a plane of the interior with
the signs turned: these four totals are then back where they were, and nothing else changes but four inner
cells. Before that the grand total is brought back by single steps of inner cells, with all totals over them,
and sums over planes by pairs of such steps. Totals are expensive where costs are weighted by values, and
cheap inner cells are easily found.

Requires three flat dimensions. Ensures M y = 0, rooms and senses, and a result no worse than the start. Cost:
for each unit in a total, rows times some columns times the planes that are tried.
"""

from __future__ import annotations

import numpy as np

from cellveil.adjustment.model import Model
from cellveil.arrays import Bool, Int
from cellveil.clock import Deadline

ROUNDS = 6
EVALUATIONS = 3e8
"""How many moves are looked at in one direction of one round, roughly: with more units, fewer planes."""


def without_totals(model: Model, y: Int, senses: Bool, clock: Deadline, *, seed: int = 0) -> Int:
    """Rectangles from all three directions, as long as they pay."""
    from cellveil.adjustment._annealed_imbalance_jit import rectangles, units_and_pairs

    table = model.problem.table
    if (
        len(table.sizes) != 3
        or not table.is_structured
        or any(len(d.equations) != 1 for d in table.dimensions)
    ):
        return y
    low, high = model.rooms(senses)
    places = tuple(np.asarray(key) for key in table.keys)
    arrays = [np.zeros(table.sizes, dtype=np.int64) for _ in range(3)]
    weight = np.zeros(table.sizes)
    for array, given in zip(arrays, (y, low, high), strict=True):
        array[places] = given
    weight[places] = model.weight
    state = np.array([2 * seed + 88172645463325253], dtype=np.uint64)
    for _ in range(ROUNDS):
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
            planes = int(np.clip(EVALUATIONS / tries, 2, 2 * own.shape[2]))
            made += rectangles(own, price, model.power, least, most, planes, state)
            arrays[0] = np.ascontiguousarray(own.transpose(np.argsort(order)))
        if not made:
            break
    moved = np.asarray(arrays[0][places])
    return moved if model.cost(moved) < model.cost(y) and model.fits(moved) else y
