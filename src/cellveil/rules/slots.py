"""The contributions to a cell laid out in slots, largest first.

Without sampling weights every contributor fills one slot. With weights, a unit of amount x and weight w
stands for w contributors of amount x and fills w slots (a part of a slot if w is not whole); a weight below 1
fills one slot, since the unit itself is there. Weights are taken to six decimals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Int
from cellveil.rules.percentages import widen
from cellveil.tables.contributions import Contributions
from cellveil.tables.scaled import infer_decimals

WEIGHT_DECIMALS = 6


@dataclass(frozen=True, repr=False, eq=False)
class LargestAmounts:
    """Absolute contributions in slots; integers, int64 or Python's own.

    Parameters
    ----------
    top
        n × k: the largest amounts, descending.
    slots
        n × k: how many slots each fills, times `unit`.
    unit
        What one slot counts, a power of ten.
    total
        Sum of all amounts of the cell, weighted if there are weights.
    target
        The largest amount that needs protection: of those who have not waived it; 0 if there is none.
    """

    top: NDArray[Any]
    slots: Int
    unit: int
    total: NDArray[Any]
    target: NDArray[Any]

    @classmethod
    def of(cls, found: Contributions, num_slots: int, *, weighted: bool) -> LargestAmounts:
        """Lay out the first `num_slots` slots."""
        top = found.top if found.depth else np.zeros((len(found), 1), dtype=np.int64)
        slots, unit = np.ones(top.shape, dtype=np.int64), 1
        if weighted and found.top_weight is not None and found.depth:
            filled = np.fmin(np.fmax(found.top_weight, 1.0), num_slots)
            unit = 10 ** min(WEIGHT_DECIMALS, infer_decimals(filled.reshape(-1)))
            slots = np.rint(filled * unit).astype(np.int64)
        target = top[:, 0] if found.largest_unwaived is None else found.largest_unwaived
        return cls(top, slots, unit, found.absolute, target)

    def for_coefficients(self, largest: int) -> LargestAmounts:
        """Return a copy in which sums of `largest` times the amounts cannot wrap."""
        biggest = max((int(a.max(initial=0)) for a in (self.top, self.total, self.target)), default=0)
        bound = largest * self.unit * biggest
        return replace(
            self,
            top=widen(self.top, bound),
            total=widen(self.total, bound),
            target=widen(self.target, bound),
        )

    def _taken(self, num_slots: int) -> Int:
        """How much of each amount lies in the first slots."""
        before = np.cumsum(self.slots, axis=1) - self.slots
        return np.asarray(np.clip(num_slots * self.unit - before, 0, self.slots))

    def sum_of(self, num_slots: int) -> NDArray[Any]:
        """Sum of the amounts in the first slots, times `unit`."""
        return np.asarray((self.top * self._taken(num_slots)).sum(axis=1))

    def exposed_within(self, num_slots: int) -> Bool:
        """Whether one of the contributors in the first slots needs protection."""
        taken = self._taken(num_slots)
        last = np.take_along_axis(self.top, (taken > 0).sum(axis=1)[:, None] - 1, axis=1)[:, 0]
        return np.asarray((self.target > 0) & (self.target >= last), dtype=bool)
