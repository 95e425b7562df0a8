"""Valid inequalities from imbalances: what each relation costs at the least tightens the relaxation.

In one relation the sensitive cells move by at least their levels, up or down. If no choice of senses makes
these least movements cancel, something else in the relation must move by what is left over: with

    δ = min over senses of |Σ coefficient · (rise or −fall)|,

Σ |coefficient| · (|y| of the other cells, and what sensitive cells move beyond their levels) ≥ δ holds for
every adjustment. Without these rows the relaxation puts every sensitive cell halfway between its senses and
moves nothing else: its value is the sum of the levels' costs and nothing more.

δ is a subset-sum problem, solved by meeting in the middle; relations of many sensitive cells get no row, as
their δ is next to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.adjustment.model import Model
from cellveil.arrays import Int


@dataclass(frozen=True, eq=False)
class Imbalances:
    """Relations with δ above 0."""

    rows: Int
    amounts: Int


def imbalances(model: Model) -> Imbalances:
    """δ of every relation where it is above 0."""
    relations, most = model.relations, model.params.imbalance.most_cells
    numbers = model.place[relations.cells]
    mine = np.flatnonzero(numbers >= 0)
    row = relations.row_of_entry[mine]
    counts = np.bincount(row, minlength=len(relations))
    starts = np.concatenate([[0], np.cumsum(counts)])
    found: list[tuple[int, int]] = []
    up = relations.coefs[mine] * model.rise[numbers[mine]]
    down = -relations.coefs[mine] * model.fall[numbers[mine]]
    for j in np.flatnonzero((counts > 0) & (counts <= most)).tolist():
        part = slice(starts[j], starts[j + 1])
        least = _least_sum(model, numbers[mine[part]], up[part], down[part])
        if least:
            found.append((j, least))
    rows = np.array([row for row, _ in found], dtype=np.int64)
    return Imbalances(rows, np.array([amount for _, amount in found], dtype=np.int64))


def _least_sum(model: Model, numbers: Int, up: Int, down: Int) -> int:
    """The least absolute sum over all possible senses; the sets of sums of two halves are merged."""
    half = len(numbers) // 2
    left = _sums(model, numbers[:half], up[:half], down[:half])
    right = np.sort(_sums(model, numbers[half:], up[half:], down[half:]))
    place = np.searchsorted(right, -left)
    above = np.abs(left + right[np.minimum(place, len(right) - 1)])
    below = np.abs(left + right[np.maximum(place - 1, 0)])
    return int(min(above.min(), below.min()))


def _sums(model: Model, numbers: Int, up: Int, down: Int) -> Int:
    sums = np.zeros(1, dtype=np.int64)
    for number, rising, falling in zip(numbers.tolist(), up.tolist(), down.tolist(), strict=True):
        choices = [rising] if model.can_rise[number] else []
        choices += [falling] if model.can_fall[number] else []
        sums = np.unique(np.concatenate([sums + choice for choice in choices]))
    return sums
