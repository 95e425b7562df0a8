"""The splitting engine: cheap deviations of LP quality in tables far too large for simplex.

Solves

    min Σ c⁺_j max(y_j, 0) + c⁻_j max(−y_j, 0) + Σ_p r_p max(0, 1 − y_p / g_p)
    subject to  M y = 0,  low ≤ y ≤ high

by Douglas–Rachford splitting: a step cell by cell (`kernels.splitting`), then the orthogonal projection onto
{M y = 0} (`projection`). Both are linear in the number of cells. The second sum rewards cells for reaching
goals g_p; with it one solve serves many demands.

Ensures a point with M y = 0 up to rounding errors and bounds up to the tolerance reached. It is a floating-
point number: nothing here is a proof (see `attack.lift`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cellveil.solvers.projection import Projection
from cellveil.tables.keys import Int

Float = NDArray[np.float64]

RELAX = 1.7
CHECK_EVERY = 20
ADAPT_EVERY = 100
PATIENCE = 25


@dataclass(frozen=True, eq=False)
class Goals:
    """Cells (by place) to be moved as far as `amounts` (signed), and the reward for each."""

    places: Int
    amounts: Float
    rewards: Float

    @classmethod
    def none(cls) -> Goals:
        """No goals."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))


@dataclass(eq=False)
class State:
    """Where an iteration stands, to go on from there."""

    z: Float
    u: Float
    step: float
    error: float = np.inf
    iterations: int = 0


class Splitting:
    """The iteration on one table."""

    def __init__(self, projection: Projection) -> None:
        self.projection = projection
        self._x = np.zeros(projection.size)
        self._v = np.zeros(projection.size)

    def start(self, step: float = 1.0) -> State:
        """From nothing."""
        return State(np.zeros(self.projection.size), np.zeros(self.projection.size), step)

    def run(
        self,
        state: State,
        costs: tuple[Float, Float],
        bounds: tuple[Float, Float],
        goals: Goals,
        *,
        tolerance: float,
        max_iterations: int,
        may_stall: bool = True,
    ) -> State:
        """Iterate until both residuals are below the tolerance, relative to the size of the deviation.

        `costs` (up, down) and `bounds` (low, high) are over the places of the projection. With `may_stall`
        false the iteration also ends when it no longer comes nearer, as where nothing fits the bounds.
        """
        from cellveil.kernels.splitting import lean

        z, u, step = state.z, state.u, state.step
        x, v = self._x, self._v
        errors: list[float] = []
        done = 0
        for done in range(1, max_iterations + 1):
            lean(z, u, *costs, *bounds, step, RELAX, x, v, goals.places, goals.amounts, goals.rewards)
            projected = self.projection.apply(v)
            np.subtract(v, projected, out=u)
            before, z = z, projected
            if done % CHECK_EVERY:
                continue
            primal, dual = float(np.linalg.norm(x - z)), float(np.linalg.norm(z - before))
            errors.append(max(primal, dual) / max(float(np.linalg.norm(z)), 1e-9))
            if errors[-1] < tolerance or (not may_stall and _stalls(errors)):
                break
            if done % ADAPT_EVERY == 0:
                factor = float(np.clip(np.sqrt(primal / max(dual, 1e-30)), 0.25, 4.0))
                if factor > 2.0 or factor < 0.5:
                    u /= factor  # u is the step times the multipliers
                    step /= factor
        return State(z, u, step, errors[-1] if errors else np.inf, state.iterations + done)

    @property
    def sparse_point(self) -> Float:
        """The point within the bounds, with exact zeros, that goes with the last state."""
        return self._x


def _stalls(errors: list[float]) -> bool:
    """Whether the error has not halved for `PATIENCE` checks."""
    return len(errors) > PATIENCE and errors[-1] > 0.5 * errors[-1 - PATIENCE]
