"""Linked tables, which have no product structure."""

from __future__ import annotations

import numpy as np

from cellveil.datasets import random_table
from cellveil.problem import Problem
from cellveil.tables.build import build_relations
from cellveil.tables.link import link
from cellveil.tables.table import Table


def linked(seed: int, sizes: tuple[int, int, int] = (9, 8, 7)) -> Problem:
    """Three two-way margins of a random table, linked; cells of a few contributors are primary."""
    whole = random_table(sizes, contributors=0.2, zeros=0.3, seed=seed)
    table = whole.table
    parts = []
    for dropped in range(3):
        kept = [axis for axis in range(3) if axis != dropped]
        cells = np.flatnonzero(table.keys[dropped] == table.dimensions[dropped].total)
        dimensions = tuple(table.dimensions[axis] for axis in kept)
        keys = tuple(table.keys[axis][cells] for axis in kept)
        relations = build_relations(dimensions, keys, len(cells))
        parts.append(Table(dimensions, keys, table.values[cells], 0, relations))
    joint = link(parts)
    order = [[d.name for d in joint.dimensions].index(d.name) for d in table.dimensions]
    cells = table.find([joint.keys[axis] for axis in order])
    assert (table.values[cells] == joint.values).all()
    levels = {
        int(c): (int(whole.lpl[o]), int(whole.upl[o])) for c, o in enumerate(cells) if whole.status[o] == 1
    }
    return Problem.of(joint, levels)
