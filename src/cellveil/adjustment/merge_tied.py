"""Tied cells as one: where M y = 0 implies y_i = ± y_j, an adjustment moves both alike.

Tables without dimensions are full of such ties, and of cells that cannot move at all. The merged model has
one cell for each class of tied cells, with the tightest rooms, the largest levels and the sum of the weights:
its adjustments are those of the model itself, at the same costs, and its programs are smaller and tighter.
See `deviations.ties` for how ties are found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.adjustment.fixed_senses import Fit
from cellveil.adjustment.model import Model
from cellveil.arrays import Bool
from cellveil.suppression.presolve.merge_ties import Merged, merged


@dataclass(frozen=True, eq=False)
class MergedModel:
    """A model with tied cells as one, and the way back."""

    whole: Model
    model: Model
    ties: Merged

    def unfold(self, fit: Fit) -> Fit:
        """What an adjustment of the merged model means for the whole."""
        number, sign = self.ties.number, self.ties.sign
        y = np.where(number >= 0, sign * fit.y[number], 0)
        return Fit(y, np.asarray(y[self.whole.cells] > 0), self.whole.cost(y))

    def fold_senses(self, senses: Bool) -> Bool:
        """Senses of the whole for the merged model: of cells that are tied, the last one counts."""
        small = np.zeros(self.model.relations.num_cells, dtype=bool)
        cells = self.whole.cells
        small[self.ties.number[cells]] = senses == (self.ties.sign[cells] > 0)
        return np.asarray(small[self.model.cells])


def merged_model(model: Model) -> MergedModel | None:
    """The model with tied cells merged; None where that does not make it smaller."""
    if model.problem.table.is_structured or model.relations.num_cells > model.params.most_merged:
        return None
    ties = merged(model.problem)
    if ties is None or ties.problem.table.num_cells >= int(model.is_movable.sum()):
        return None
    small = _merge(model, ties)
    return small if (small.model.can_rise | small.model.can_fall).all() else None


def _merge(model: Model, ties: Merged) -> MergedModel:
    count = ties.problem.table.num_cells
    cells = np.flatnonzero(ties.number >= 0)
    number, forwards = ties.number[cells], ties.sign[cells] > 0
    up, down = (np.full(count, np.iinfo(np.int64).max) for _ in range(2))
    np.minimum.at(up, number, np.where(forwards, model.up[cells], model.down[cells]))
    np.minimum.at(down, number, np.where(forwards, model.down[cells], model.up[cells]))
    weight = np.bincount(number, weights=model.weight[cells], minlength=count).astype(np.float64)
    rise, fall = (np.zeros(count, dtype=np.int64) for _ in range(2))
    can_rise, can_fall = np.ones(count, dtype=bool), np.ones(count, dtype=bool)
    mine, ahead = ties.number[model.cells], ties.sign[model.cells] > 0
    np.maximum.at(rise, mine, np.where(ahead, model.rise, model.fall))
    np.maximum.at(fall, mine, np.where(ahead, model.fall, model.rise))
    np.logical_and.at(can_rise, mine, np.where(ahead, model.can_rise, model.can_fall))
    np.logical_and.at(can_fall, mine, np.where(ahead, model.can_fall, model.can_rise))
    own = ties.problem.primaries
    can_rise, can_fall = can_rise[own] & (rise[own] <= up[own]), can_fall[own] & (fall[own] <= down[own])
    levels = own, rise[own], fall[own], can_rise, can_fall
    small = Model(ties.problem, down, up, *levels, weight, model.power, model.params)
    return MergedModel(model, small, ties)
