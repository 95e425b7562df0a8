"""Cube packing: which cells to hide so that sums of cubes protect all demands, without any solver.

Sums of cubes (`cellveil.deviations.cube_sums`) are taken at the least new weight per unit moved.

- `prove` looks for one cube of hidden cells that moves p by d.
- `protect` packs for the rest: cube after cube, the least new weight per unit moved (beam search), which
  takes free cubes first; what moves gets hidden. Large demands come first.
- `improve` publishes secondaries again, and keeps that where the demands which lose their witness find
  another one for less: a free cube, the old witness with cubes added that put the cell to rest, or a new sum.

Requires a table with cubes (`has_cubes`). Any capacities, weights, frozen cells.
Ensures whole, exact witnesses for everything it calls met. Where every cell may be hidden and rise, every
demand gets one: a leaf cell below p with all cells that cover it. Does not ensure more: what stays open
(cells frozen or bounded) is for linear programs, and so is quality where a few demands are giants.
Cost: a few microseconds per demand with a free cube; some hundred codes × 2^D × beam for each paid cube.

References: ruin and recreate (Schrimpf et al. 2000). Sums of cubes are our own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.deviations.cube_sums import CubeSumParams, CubeSums
from cellveil.deviations.cubes import SPARE
from cellveil.deviations.ledger import Ledger, Mark
from cellveil.deviations.witness import Witness
from cellveil.loops import cube_packing as loops
from cellveil.loops import cubes as cube_loops
from cellveil.loops.cube_packing import LIMITS, TUNING, Policy
from cellveil.params import param


@dataclass(frozen=True, kw_only=True)
class CubePackingParams(CubeSumParams):
    """Parameters of cube packing."""

    recreate_beams: int = param(20, "Most beam searches for a sum that replaces a published cell.", least=0)
    hardly: float = param(0.002, "Cells below this share of a sum's cost are not refined.", least=0)
    cheaper: float = param(0.999, "A refinement costs less than this share of the cell.", least=0, most=1)
    repairs: int = param(4, "Most cubes added to a witness to put a published cell to rest.", least=0)
    least_gain: float = param(1e-4, "A round of ruin and recreate below this gain is the last.", least=0)


class Packing(CubeSums):
    """Cubes for a ledger; see the head of the module.

    Parameters
    ----------
    ledger
        The pattern and the witnesses, which the methods change.
    seed
        Same seed, same result.
    """

    def __init__(self, ledger: Ledger, params: CubePackingParams | None = None, *, seed: int = 0) -> None:
        self.params = params or CubePackingParams()
        super().__init__(ledger, self.params, seed=seed)
        self._policy = self._policy_of()
        self._rng = np.random.default_rng(seed)

    def protect(self, deadline: Deadline = NO_LIMIT) -> int:
        """Meet all demands, hiding what it takes, the largest first; return how many are open still.

        Leaves below a cell are drawn at random, so what stays open is tried again while that meets some.
        """
        before = np.inf
        while 0 < self.ledger.num_open < before and not deadline.is_over:
            before = self.ledger.num_open
            cells, up, _ = self.ledger.open_demands()
            self._serve(cells, up, deadline, beams=self.params.most_beams)
        return self.ledger.num_open

    def protect_cheaply(self, share: float, deadline: Deadline = NO_LIMIT) -> None:
        """Meet open demands, the largest first, each for at most this share of the cost; others stay open."""
        self.grid.bits[:] = self.layout.line_bits(self.ledger.hidden)
        cells, ups, _ = (each.tolist() for each in self.ledger.open_demands())
        for cell, up in zip(cells, ups, strict=True):
            if deadline.is_over:
                return
            if self.ledger.is_open(cell, up):
                mark = self._serve_one(cell, up, self.params.most_beams)
                self._settle(mark, share * mark.cost)

    def improve(self, deadline: Deadline = NO_LIMIT, *, trials: int | None = None) -> None:
        """Try to do without secondaries: the dearest first, then in random order, round after round.

        A trial publishes a cell and protects anew what that opens, for no more than what it set free. Ends
        after so many trials, at the deadline, or when a round gains next to nothing. The result depends on
        time only by how far it gets.
        """
        cells = self.ledger.secondaries(dearest_first=True)
        left = np.inf if trials is None else trials
        while len(cells) and left > 0 and not deadline.is_over:
            before = self.ledger.cost
            cells = cells[: int(min(left, len(cells)))]
            self._serve(cells, None, deadline, beams=self.params.recreate_beams)
            left -= len(cells)
            if self.ledger.cost >= before * (1 - self.params.least_gain):
                break
            cells = self._rng.permutation(self.ledger.secondaries())

    def clean(self, deadline: Deadline = NO_LIMIT) -> None:
        """Publish secondaries again, dearest first, where the demands that need them find free cubes."""
        self._serve(self.ledger.secondaries(dearest_first=True), None, deadline, beams=0)

    def meet(
        self, cell: int, up: bool, amount: int, *, beams: int, budget: float = np.inf
    ) -> tuple[Witness | None, float]:
        """A deviation that moves a cell by an amount, whether the ledger asks for it or not; and its cost.

        One free cube, else a sum of cubes from so many beams. What it moves gets hidden, unless it costs more
        than the budget.
        """
        ledger = self.ledger
        needs = ledger.need_up if up else ledger.need_down
        numbers = ledger.witness_up if up else ledger.witness_down
        before = needs[cell], numbers[cell]
        needs[cell], numbers[cell] = amount, -1
        mark = self._serve_one(cell, up, beams)
        number = int(numbers[cell])
        found = ledger.witness(number) if number >= 0 else None
        needs[cell], numbers[cell] = before
        return found, self._settle(mark, budget)

    def _serve_one(self, cell: int, up: bool, beams: int) -> Mark:
        """Meet one demand; returns the state before."""
        ledger = self.ledger
        ledger.reserve(SPARE, SPARE * self._most_entries)
        mark = ledger.mark()
        self._policy.limits[[loops.BEAMS, loops.NEEDED]] = beams, self._most_entries
        loops.serve(ledger.arrays, self._policy, np.array([cell]), np.array([up]), 0, False)
        return mark

    def _settle(self, mark: Mark, budget: float) -> float:
        """Go back where more was spent than the budget; returns what was."""
        cost = self.ledger.cost - mark.cost
        if cost > budget:
            cube_loops.go_back(self.ledger.arrays, self.grid, mark.trail, mark.witnesses, mark.cost)
        self._tidy()
        return cost

    def hide(self, cells: Int) -> None:
        """Hide cells."""
        self.ledger.hide(cells)
        cube_loops.sync(self.ledger.arrays, self.grid)
        self._tidy()

    def publish(self, cells: Int) -> None:
        """Publish cells again."""
        for cell in cells.tolist():
            self.ledger.publish(cell)
        cube_loops.sync(self.ledger.arrays, self.grid)
        self._tidy()

    def _tidy(self) -> None:
        """Forget how to go back; the bits of the lines are those of what is hidden."""
        self.ledger.tidy()
        self.grid.counts[:2] = 0

    def _serve(self, cells: Int, up: Bool | None, deadline: Deadline, *, beams: int) -> None:
        """Meet demands of cells; without directions the cells are secondaries to do without."""
        self._policy.limits[[loops.BEAMS, loops.NEEDED]] = beams, self._most_entries
        is_ruining = up is None

        def loop(cells: Int, up: Bool, done: int) -> int:
            return int(loops.serve(self.ledger.arrays, self._policy, cells, up, done, is_ruining))

        self._run(loop, cells, np.zeros(len(cells), dtype=bool) if up is None else up, deadline)

    def _policy_of(self) -> Policy:
        return Policy(
            self.sums,
            np.array([getattr(self.params, name) for name in TUNING]),
            np.array([*(getattr(self.params, name) for name in LIMITS), 0, 0], dtype=np.int64),
        )
