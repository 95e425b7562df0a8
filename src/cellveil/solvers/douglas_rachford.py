"""Douglas–Rachford splitting: deviations of LP quality in tables far too large for simplex, several at once.

Solves, for deviations y¹ … y^K of one table,

    min Σ_j c_j ‖(y¹_j, …, y^K_j)‖ + Σ_g r_g max(0, 1 − y_g / goal_g)
    subject to  M y^k = 0,  low^k ≤ y^k ≤ high^k

by a proximal step place by place (`cellveil.loops.douglas_rachford`), then the orthogonal projection
onto {M y = 0} (`projection`); both are linear in places times deviations. The norm over the deviations makes
them share what they move: a place is paid once, whoever uses it. The second sum rewards places for reaching
goals, which may be out of reach; goals that must be reached are bounds.

Ensures points with M y = 0 up to rounding errors and bounds up to the error reached. They are floating-point
numbers: nothing here is a proof (see `deviations.integer_kernel`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from cellveil.arrays import Float, Int
from cellveil.loops.douglas_rachford import lean, shrink
from cellveil.params import Params, param
from cellveil.solvers import tolerances
from cellveil.solvers.parallel import in_parts
from cellveil.solvers.projection import Projection


@dataclass(frozen=True, kw_only=True)
class DouglasRachfordParams(Params):
    """Parameters of the iteration."""

    relaxation: float = param(1.7, "Over-relaxation of the iteration.", least=1, most=1.99)
    check_every: int = param(20, "Iterations from one look at the residuals to the next.", least=1)
    adapt_every: int = param(100, "Iterations from one change of the step to the next.", least=1)


def iterate(
    project: Callable[[Float], Float], proximal: Callable[[Float, Float], Float], z: Float, u: Float
) -> Iterator[Float]:
    """The iteration of Douglas and Rachford: from z the next one, and so on.

    Parameters
    ----------
    project
        The orthogonal projection onto {M y = 0}.
    proximal
        Of z and u: relax · x + (1 − relax) · z + u, where x is the best point near z − u.
    u
        Scaled dual variable, kept up to date in place; whoever changes the step scales it.
    """
    while True:
        v = proximal(z, u)
        z = project(v)
        np.subtract(v, z, out=u)
        yield z


@dataclass(frozen=True, eq=False)
class Goals:
    """Places (in the deviation `columns`) to be moved as far as `amounts` (signed), and the rewards."""

    places: Int
    columns: Int
    amounts: Float
    rewards: Float

    @classmethod
    def none(cls) -> Goals:
        """No goals."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(nothing, nothing, np.zeros(0), np.zeros(0))


@dataclass(eq=False)
class State:
    """Where an iteration stands: one column for each deviation.

    Parameters
    ----------
    z
        Keeps all relations.
    x
        Stays within the bounds, with exact zeros; where the iteration has converged, equal to z.
    u
        Scaled dual variable.
    errors
        For each deviation how far x and z are apart, relative to its size.
    """

    z: Float
    x: Float
    u: Float
    step: float
    errors: Float

    def part(self, columns: list[int]) -> State:
        """Some of the deviations."""
        z, x, u = (np.ascontiguousarray(each[:, columns]) for each in (self.z, self.x, self.u))
        return State(z, x, u, self.step, self.errors[columns])


class Splitting:
    """The iteration on one table."""

    def __init__(self, projection: Projection, params: DouglasRachfordParams | None = None) -> None:
        self.projection, self.params = projection, params or DouglasRachfordParams()

    def start(self, columns: int, step: float) -> State:
        """From nothing."""
        shape = self.projection.size, columns
        return State(np.zeros(shape), np.zeros(shape), np.zeros(shape), step, np.full(columns, np.inf))

    def run(
        self,
        state: State,
        cost: Float,
        bounds: tuple[Float, Float],
        goals: Goals,
        *,
        tolerance: float,
        iterations: int,
    ) -> State:
        """Iterate until no error is above the tolerance.

        `cost` is over the places, `bounds` (low, high) over places × deviations.
        """
        z, u, step = state.z, state.u.copy(), state.step
        x, v = np.empty_like(z), np.empty_like(z)
        errors, params = state.errors, self.params
        weighs = bool(len(goals.places) or cost.any())  # otherwise the step does not matter

        def proximal(z: Float, u: Float) -> Float:
            relax = params.relaxation
            in_parts(partial(shrink, z, u, cost, *bounds, step, relax, x, v), *z.shape)
            if len(goals.places):
                goal = goals.amounts, goals.rewards
                lean(z, u, *bounds, step, relax, x, v, goals.places, goals.columns, *goal)
            return v

        after = iterate(self.projection.apply, proximal, z, u)
        for done in range(1, iterations + 1):
            before, z = z, next(after)
            if done % params.check_every and done < iterations:
                continue
            primal, dual = _lengths(x - z), _lengths(z - before)
            errors = primal / np.maximum(_lengths(z), tolerances.EQUAL)
            slowness = (
                dual / np.maximum(_lengths(u), tolerances.EQUAL)
                if weighs
                else dual / np.maximum(_lengths(z), tolerances.EQUAL)
            )
            if float(np.maximum(errors, 0.1 * slowness).max()) < tolerance:
                break
            if weighs and done % params.adapt_every == 0:
                ratio = np.sqrt(errors.max() / max(float(slowness.max()), tolerances.DENOMINATOR))
                factor = float(np.clip(ratio, 0.25, 4.0))
                if factor > 2.0 or factor < 0.5:
                    u /= factor  # u is the step times the multipliers
                    step /= factor
        return State(z, x, u, step, errors)


def _lengths(columns: Float) -> Float:
    return np.asarray(np.sqrt(np.einsum("jk,jk->k", columns, columns)))
