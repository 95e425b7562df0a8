"""Senses to start from: the rules of the literature, and those that the relaxation leans to.

up, down        all cells alike, as far as they can
random          drawn for each cell
alternating     cells ordered by size, the largest first, up and down in turn: the largest down, or up
least           cells ordered by size, each in the sense that leaves its relations less out of balance
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from cellveil.adjustment.model import Model
from cellveil.arrays import Bool, Int

Start = Literal["up", "down", "random", "alternating-down", "alternating-up", "least"]
STARTS: tuple[Start, ...] = get_args(Start)


def start_senses(model: Model, rule: Start, *, seed: int = 0) -> Bool:
    """The senses of a rule; True is up. Cells with one possible sense get that one."""
    count = len(model.cells)
    if rule in ("up", "down"):
        wanted = np.full(count, rule == "up")
    elif rule == "random":
        wanted = np.random.default_rng(seed).random(count) < 0.5
    elif rule == "least":
        wanted = _least_imbalance(model)
    else:
        order = _by_size(model)
        wanted = np.empty(count, dtype=bool)
        wanted[order] = (np.arange(count) % 2 == 0) == (rule == "alternating-up")
    return model.possible(wanted)


def _by_size(model: Model) -> Int:
    """The largest first; of equal ones first the one whose smallest relation is larger."""
    relations, sizes = model.relations, np.abs(model.problem.table.floats())
    row = relations.row_of_entry
    total = np.bincount(row, weights=sizes[relations.cells], minlength=len(relations))
    smallest = np.full(relations.num_cells, np.inf)
    np.minimum.at(smallest, relations.cells, total[row])
    return np.lexsort((model.cells, -smallest[model.cells], -sizes[model.cells]))


def _least_imbalance(model: Model) -> Bool:
    """Minimum infeasibility: Σ over the relations of |what the levels leave out of balance|, greedily."""
    columns = model.relations.columns
    left = np.zeros(len(model.relations))
    senses = np.zeros(len(model.cells), dtype=bool)
    levels = np.maximum(model.rise, model.fall)
    for number in np.argsort(-levels, kind="stable").tolist():
        cell = model.cells[number]
        part = slice(columns.indptr[cell], columns.indptr[cell + 1])
        rows, coefs = columns.rows[part], columns.coefs[part]
        rising = np.abs(left[rows] + coefs * model.rise[number]).sum()
        falling = np.abs(left[rows] - coefs * model.fall[number]).sum()
        up = bool(rising < falling)
        up = (up and bool(model.can_rise[number])) or not model.can_fall[number]
        senses[number] = up
        left[rows] += coefs * (model.rise[number] if up else -model.fall[number])
    return senses
