"""Adjusting tables too large for programs over all cells: annealed senses, then whole numbers.

After the senses are found and the movement has settled, there are up to three ways to whole numbers: rounding
the cells that are no totals at once and computing the totals; fixing them half by half while the others
follow; and, in tables for which a linear program is not too much, its vertex. The best one counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cellveil.adjustment.annealing import Annealing, rounded
from cellveil.adjustment.given import Fit, Given
from cellveil.adjustment.model import Model
from cellveil.adjustment.search import Clock

Bool = NDArray[np.bool_]

SETTLING = 400
DIVING = ((20_000, 300), (200_000, 100), (2**62, 15))
"""Iterations after each fixing, in tables of up to so many cells."""
SPARE = (0, 1, 3, 10, 30)


def annealed(
    model: Model, senses: Bool, iterations: int, clock: Clock, *, seed: int = 0, given: Given | None = None
) -> Fit | None:
    """An adjustment by annealing; None where it does not come out whole.

    Parameters
    ----------
    given
        The program for given senses, where the table is not too large for it.
    """
    annealing = Annealing(model, clock)
    senses = annealing.senses(iterations, senses, seed=seed)
    best = None if given is None else given.fit(senses, clock.left)
    for units in SPARE:
        if best is not None and (units or given is not None):
            break
        if given is not None and not model.problem.table.is_structured:
            break  # no totals to compute from the rest with certainty, and there are programs
        annealing.spare(units)
        y = annealing.settle(senses, SETTLING)
        diving = next(count for cells, count in DIVING if model.relations.num_cells <= cells)
        for point in (y, annealing.dive(y, senses, diving)):
            whole = rounded(model, point, senses)
            if whole is not None and (best is None or model.cost(whole) < best.cost):
                best = Fit(whole, senses, model.cost(whole))
    return best
