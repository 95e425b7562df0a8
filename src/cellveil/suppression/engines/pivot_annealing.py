"""Pivot annealing: one kernel vector that moves all primaries, with a support as cheap as possible.

Capacities aside, a pattern is safe if and only if it is, or contains, the support of a deviation that moves
every primary. The tableau N B⁻¹ has one column for each published cell of a basis: the deviation that moves
it and no other cell of the basis. Taking a multiple of such a column off the vector releases the cell, and
makes a group of hidden cells vanish together; the dearest group without a primary is published instead. Such
*exchanges* are accepted by simulated annealing. In between, published cells take each other's place in the
basis, dear ones rather, which changes the columns and not the pattern.

The vector is kept as small whole numbers where it can be; then how far it falls short of the demands within
the capacities is exact, and has a price: about what a paid program for such a demand costs later. Prices make
the landscape rough, so that such annealings begin hotter.

Requires a tableau that fits into memory. Ensures that every primary is moved by the vector. Cost of a trial:
linear in the cells; of an exchange, the entries of the tableau that it changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Float, Int
from cellveil.clock import Deadline
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.residue_tableau import Tableau
from cellveil.loops.pivot_annealing import Chain, Goal, Space, anneal, install, settle, shortfall
from cellveil.params import Params, param
from cellveil.problem import Problem, Status


@dataclass(frozen=True, kw_only=True)
class PivotAnnealingParams(Params):
    """Parameters of pivot annealing."""

    hot: float = param(3e-3, "First temperature, in units of the cost at the start.", least=0)
    warm: float = param(1e-3, "The same when a pattern is annealed again.", least=0)
    cold: float = param(2e-4, "Last temperature.", least=0)
    turns: float = param(0.3, "Share of trials before which a published cell takes another's place.", least=0)
    price: float = param(
        0.03, "Price of a demand that the vector falls short of, in units of the cost.", least=0
    )
    most_priced: int = param(200, "Columns of a tableau up to which falling short has a price.", least=0)
    priced_hot: float = param(2e-2, "First temperature where falling short has a price.", least=0)
    priced_warm: float = param(1e-2, "The same when a pattern is annealed again.", least=0)
    priced_cold: float = param(2e-3, "Last temperature where falling short has a price.", least=0)
    trials_at_once: int = param(50, "Trials at one temperature.", least=1)
    trials: int = param(20_000, "Trials of one annealing, without a time limit.", least=0)
    effort: int = param(
        1_500, "Trials of one annealing for each degree of freedom, at most, with a time limit.", least=1
    )


class PivotAnnealing:
    """The annealing of one problem's vector.

    Parameters
    ----------
    tableau
        Of all movable cells; it is changed.
    order
        Places of the cells that may be published, in the order of the first elimination.
    barred
        Places of cells that stay published, because they have too little room.

    Attributes
    ----------
    vector, cost
        The best vector, in residues, and what it costs, with the price of falling short.
    first
        The vector of the first elimination.
    is_finished
        Whether the last annealing made all its trials before its time was over.
    """

    def __init__(
        self,
        problem: Problem,
        tableau: Tableau,
        order: Int,
        barred: Bool,
        *,
        seed: tuple[int, int] = (0, 0),
        params: PivotAnnealingParams | None = None,
    ) -> None:
        self.params, self.cells = params or PivotAnnealingParams(), tableau.cells
        self._rng = np.random.default_rng(seed)
        ledger, cells, size = Ledger(problem), tableau.cells, len(tableau.cells)
        self.weight = np.where(problem.hidden_at_start, 0.0, problem.weight)[cells]
        self._is_primary = problem.status[cells] == Status.PRIMARY
        self._places = np.flatnonzero(self._is_primary)
        self._needs = tuple(need[cells].astype(np.float64) for need in (ledger.need_up, ledger.need_down))
        self._rooms = tuple(np.minimum(room[cells], 2.0**52) for room in (problem.up, problem.down))
        self._space = _space(size)
        columns, basic = tableau.columns, tableau.basic
        settle(columns, order, self._places, basic, self._space.filled)
        kept = ~(barred[basic] & (columns[-1][basic] == 0))
        self._columns = np.ascontiguousarray(columns[np.append(kept, True)])
        self._basic = basic[kept].copy()
        self.vector = self._columns[-1].copy()
        self.first = self.vector.copy()
        self.cost = float(self.weight[self.support].sum())
        self.is_finished = False

    @property
    def support(self) -> Bool:
        """Which of the cells the best vector moves."""
        return np.asarray(self.vector != 0)

    def take(self, vector: NDArray[np.int32]) -> None:
        """Go on from another vector."""
        self.vector[:] = vector

    def run(
        self,
        deadline: Deadline,
        *,
        is_free: Bool | None = None,
        again: bool = False,
        slowness: float = 1.0,
    ) -> None:
        """Anneal from the present vector.

        Parameters
        ----------
        is_free
            Cells that are hidden anyway.
        again
            Begin less hot.
        slowness
            With a time limit, this many times the trials of an ordinary annealing.
        """
        params, space = self.params, self._space
        if not len(self._basic):
            return
        weight = self.weight if is_free is None else np.where(is_free, 0.0, self.weight)
        goal = Goal(weight, self._is_primary, self._places, *self._needs, *self._rooms)
        install(self._columns, self.vector, self._basic, space.filled)
        cost = float(weight[self.support].sum())
        price = params.price * cost if len(self._basic) <= params.most_priced else 0.0
        short = shortfall(self._columns, goal, space, self._rng) if price else 0.0
        costs = np.array([cost, short, cost, short, cost])
        chain = Chain(self._columns, self._basic, self.vector, costs)
        hot, cold = (heat * cost for heat in self._heats(bool(price), again))
        done = 0.0
        limit, trials = deadline.left, 0
        most = max(params.trials, 1) if limit is None else slowness * params.effort * len(self._basic)
        while cost > 0.0 and done < 1.0 and not deadline.is_over:
            heats = np.full(params.trials_at_once, hot ** (1.0 - done) * cold**done)
            anneal(chain, goal, space, heats, params.turns, price, self._rng)
            trials += params.trials_at_once
            left = deadline.left
            done = max(trials / most, 1.0 - left / limit if left is not None and limit else 0.0)
        self.cost, self.is_finished = float(costs[2] + price * costs[3]), trials >= most

    def _heats(self, is_priced: bool, again: bool) -> tuple[float, float]:
        """First and last temperature, in units of the cost."""
        params = self.params
        if is_priced:
            return params.priced_warm if again else params.priced_hot, params.priced_cold
        return params.warm if again else params.hot, params.cold


def _space(size: int) -> Space:
    slots = 1 << int(2 * size).bit_length()

    def numbers(count: int) -> Int:
        return np.zeros(count, dtype=np.int64)

    sums: Float = np.zeros(slots)
    return Space(
        filled=numbers(size),
        keys=numbers(slots),
        sums=sums,
        first=numbers(slots),
        stamps=numbers(slots + 1),
        trial=numbers(size + 1),
        entries=numbers(size),
    )
