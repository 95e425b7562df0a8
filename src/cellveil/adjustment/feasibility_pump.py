"""The feasibility pump: from any senses to an adjustment that keeps everything.

Sensitive cells may fall short of their levels at a penalty. Each cell that fell short then gets the sense it
leans to, and the program is solved again; where that cycles, some senses are drawn at random (Fischetti,
Glover and Lodi 2005, with the linear program of fixed senses in place of a projection).
"""

from __future__ import annotations

import numpy as np

from cellveil.adjustment.fixed_senses import Fit, FixedSenses
from cellveil.arrays import Bool
from cellveil.clock import Deadline


def pump(given: FixedSenses, senses: Bool, clock: Deadline, *, seed: int = 0) -> Fit | None:
    """A feasible adjustment near these senses; None where none was found."""
    model, rng = given.model, np.random.default_rng(seed)
    seen: set[bytes] = set()
    for _ in range(model.params.pump.rounds):
        if clock.is_over:
            return None
        slack = given.relax(senses, clock, penalty=model.params.pump.penalty)
        if slack is None:
            return None
        short = slack.lack > 1e-6
        if not short.any():
            return given.fit(senses, clock)
        wanted = np.where(short, slack.y[model.cells] > (model.rise - model.fall) / 2.0, senses)
        if (wanted == senses).all() or wanted.tobytes() in seen:
            drawn = rng.random(len(senses)) < 0.5
            wanted = np.where(short & drawn, ~senses, senses)
        senses = model.possible(wanted)
        seen.add(senses.tobytes())
    return None
