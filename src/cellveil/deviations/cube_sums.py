"""Sums of cubes: whole witnesses for demands that no single cube meets, without any solver.

Cubes (`cellveil.deviations.cubes`) add up, so a demand (cell p, amount d) has the witness

    y = Σ t_j · cube_j,   p a corner of each cube,   Σ t_j = d,

each t_j as large as the rooms of the corners allow after what was added before. A beam search finds the next
cubes: those that move p farthest.

Requires a table with cubes (`has_cubes`). Ensures that every witness is exact, in whole units. Does not
ensure that a sum is found where there is one: it is put together greedily, and what was added stays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.deviations.cubes import CubeParams, HiddenCubes, has_cubes
from cellveil.deviations.ledger import Ledger
from cellveil.loops import cube_sums as loops
from cellveil.loops.cube_sums import Beam, Sums
from cellveil.loops.cubes import UNSET
from cellveil.params import param


@dataclass(frozen=True, kw_only=True)
class CubeSumParams(CubeParams):
    """Parameters of sums of cubes."""

    beam_width: int = param(6, "Partial cubes that the beam search keeps.", least=1)
    leaf_tries: int = param(24, "Leaf cells drawn below a cell that is an aggregate.", least=1)
    most_beams: int = param(20_000, "Most beam searches for one sum of cubes.", least=0)
    toll: float = param(0.01, "Fixed cost of a cube, as a share of the median weight.", least=0)
    nearly: float = param(1.5, "Cubes up to this ratio to the best of their beam are taken with it.", least=1)
    most_touched: int = param(500_000, "Most cells that one sum of cubes may move.", least=1)


@dataclass(frozen=True, kw_only=True)
class CubeProofParams(CubeSumParams):
    """Parameters of sums of cubes of hidden cells."""

    beam_width: int = param(24, "Partial cubes that the beam search keeps.", least=1)
    most_touched: int = param(20_000, "Most cells that one sum of cubes may move.", least=1)
    fewest: float = param(0.02, "Least share of open demands a round must meet to go on.", least=0, most=1)


def prove_by_cubes_and_sums(
    ledger: Ledger, params: CubeProofParams | None = None, deadline: Deadline = NO_LIMIT
) -> None:
    """Meet open demands by cubes of hidden cells, single ones and sums, where the table has cubes."""
    params = params or CubeProofParams()
    if ledger.num_open and has_cubes(ledger.problem.table):
        found = CubeSums(ledger, params)
        found.prove(deadline)
        found.prove_by_sums(deadline, fewest=params.fewest)
        ledger.note_widths()


class CubeSums(HiddenCubes):
    """Sums of cubes of the cells of a ledger.

    Parameters
    ----------
    seed
        Same seed, same result.
    """

    def __init__(self, ledger: Ledger, params: CubeSumParams | None = None, *, seed: int = 0) -> None:
        self.sum_params = params or CubeSumParams()
        super().__init__(ledger, self.sum_params)
        self.sums = self._sums(seed)
        self._most_entries += len(self.sums.touched)

    def prove_by_sums(self, deadline: Deadline = NO_LIMIT, *, fewest: float = 0.0) -> int:
        """Meet open demands by sums of cubes of hidden cells; return how many are open still.

        Much is drawn at random, so what stays open is tried again while that meets more than this share.
        """
        params, before = self.sum_params, np.inf

        def loop(cells: Int, up: Bool, done: int) -> int:
            tuning = params.nearly, params.most_beams, self._most_entries
            return int(loops.prove_sums(self.ledger.arrays, self.sums, cells, up, done, *tuning))

        while 0 < self.ledger.num_open < before * (1 - fewest) and not deadline.is_over:
            before = self.ledger.num_open
            cells, up, _ = self.ledger.open_demands()
            self._run(loop, cells, up, deadline)
        return self.ledger.num_open

    def _sums(self, seed: int) -> Sums:
        problem, params = self.ledger.problem, self.sum_params
        n, dims = problem.table.num_cells, len(problem.table.dimensions)
        weight = problem.weight[problem.weight > 0]
        return Sums(
            grid=self.grid,
            movable=self.layout.line_bits(self.ledger.arrays.movable),
            barred=np.zeros(n, dtype=bool),
            moved=np.zeros(n, dtype=np.int64),
            is_touched=np.zeros(n, dtype=bool),
            touched=np.zeros(min(n, params.most_touched), dtype=np.int32),
            sum_moves=np.zeros(min(n, params.most_touched), dtype=np.int64),
            unset=np.full(dims, UNSET),
            drawn=np.zeros((params.leaf_tries, dims), dtype=np.int64),
            beam=_beam(params.beam_width, dims),
            old_beam=_beam(params.beam_width, dims),
            toll=np.array([params.toll * (float(np.median(weight)) if len(weight) else 1.0)]),
            random=np.random.default_rng(seed).integers(1, 2**63, 1).astype(np.uint64),
        )


def _beam(width: int, dims: int) -> Beam:
    a, b = np.zeros((2, width, dims), dtype=np.int64)
    scores, costs = np.zeros((2, width))
    caps, parents, choices = np.zeros((3, width), dtype=np.int64)
    return Beam(a, b, scores, costs, caps, parents, choices)
