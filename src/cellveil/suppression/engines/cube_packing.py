"""Cube packing: exact witnesses from the codes of the table, without any solver.

Along one dimension, take a leaf a and a leaf b, or a alone: +1 on every code that covers a but not b, −1 on
every code that covers b but not a. This *move* keeps each equation total = sum of parts: a covered leaf
counts once in the total and once among the parts. (In a tree these are the ways from leaf to leaf, and from a
leaf up to the total; in a flat dimension two codes, or one code and the total.) A product of one move per
dimension keeps all relations: it is a *generalised cube*, 2^D alternating corners in a flat table. Cubes add
up, so a demand (cell p, amount d) has the witness

    y = Σ t_j · cube_j,   p a corner of each cube,   Σ t_j = d,

each t_j as large as the rooms of the corners allow after what was added before.

- `prove` looks for one cube of hidden cells that moves p by d: depth first, by the bits of hidden cells per
  line, the line with fewest first. Each cube found is tried at its largest multiple both ways, and meets
  every demand of its corners that it can.
- `protect` packs for the rest: cube after cube, the least new weight per unit moved (beam search), which
  takes free cubes first; what moves gets hidden. Large demands come first.
- `improve` publishes secondaries again, and keeps that where the demands which lose their witness find
  another one for less: a free cube, the old witness with cubes added that put the cell to rest, or a new sum.

Requires a table with dimensions whose equations all are total = sum of parts and whose full size fits in
memory (`applies`). Any capacities, weights, frozen cells.
Ensures whole, exact witnesses for everything it calls met. Where every cell may be hidden and rise, every
demand gets one: a leaf cell below p with all cells that cover it. Does not ensure more: what stays open
(cells frozen or bounded) is for linear programs, and so is quality where a few demands are giants.
Cost: a few microseconds per demand with a free cube; some hundred codes × 2^D × beam for each paid cube.

References: the hypercube method (Repsilber 1994; Giessing & Repsilber 2002); ruin and recreate (Schrimpf et
al. 2000). Sums of cubes, and moves in trees, are our own.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Int
from cellveil.clock import counted_time
from cellveil.deviations.ledger import Book
from cellveil.params import Params, param
from cellveil.problem import Status
from cellveil.solvers import tolerances
from cellveil.tables.dimension import Dimension
from cellveil.tables.structure import fits_array, has_lines_only
from cellveil.tables.table import Table

if TYPE_CHECKING:
    from cellveil.deviations._cubes_jit import Beam, Grid


MAX_DIMENSIONS = 8

MAX_TOUCHED = 500_000
"""Most cells that one sum of cubes may move."""

WITNESSES, SPARE = 50_000, 8
"""Room made in the book before each call of the compiled loop; SPARE times what one demand may need."""

PULSE, FIRST_STEP = 0.2, 64
"""Seconds between looks at the clock, and how many demands there are before the first."""


@dataclass(frozen=True, kw_only=True)
class CubePackingParams(Params):
    """Parameters of cube packing."""

    free_moves: int = param(3000, "Moves looked at in the search for one free cube.", least=0)
    beam_width: int = param(6, "Partial cubes that the beam search keeps.", least=1)
    leaf_tries: int = param(24, "Leaf cells drawn below a cell that is an aggregate.", least=1)
    most_beams: int = param(20_000, "Most beam searches for one sum of cubes.", least=0)
    recreate_beams: int = param(20, "The same for a sum that replaces a published cell.", least=0)
    toll: float = param(0.01, "Fixed cost of a cube, as a share of the median weight.", least=0)
    nearly: float = param(1.5, "Cubes up to this ratio to the best of their beam are taken with it.", least=1)
    hardly: float = param(0.002, "Cells below this share of a sum's cost are not refined.", least=0)
    cheaper: float = param(0.999, "A refinement costs less than this share of the cell.", least=0, most=1)
    repairs: int = param(4, "Most cubes added to a witness to put a published cell to rest.", least=0)
    least_gain: float = param(1e-4, "A round of ruin and recreate below this gain is the last.", least=0)


def applies(table: Table) -> bool:
    """Whether cubes can be packed in the table."""
    return fits_array(table, MAX_DIMENSIONS) and has_lines_only(table)


def _is_over(deadline: float | None) -> bool:
    return deadline is not None and counted_time() >= deadline


class Packing:
    """Cubes for a book; see the head of the module.

    Parameters
    ----------
    book
        The pattern and the witnesses, which the methods change.
    seed
        Same seed, same result.
    """

    def __init__(self, book: Book, params: CubePackingParams | None = None, *, seed: int = 0) -> None:
        if not applies(book.problem.table):
            raise ValueError("cubes cannot be packed in this table")
        self.book, self.params = book, params or CubePackingParams()
        self.grid = _grid(book, self.params, seed)
        most = len(self.grid.touched) + 3 * self.grid.cube_places.size
        self._room = np.array([4, most, 3 * most], dtype=np.int64)
        self._rng = np.random.default_rng(seed)

    def prove(self, deadline: float | None = None) -> int:
        """Meet open demands by single cubes of hidden cells; return how many are open still."""
        cells, up, _ = self.book.open_demands()
        self._run(cells, up, deadline, most=0, ruining=False)
        return self.book.num_open

    def protect(self, deadline: float | None = None) -> int:
        """Meet all demands, hiding what it takes, the largest first; return how many are open still.

        Leaves below a cell are drawn at random, so what stays open is tried again while that meets some.
        """
        before = np.inf
        while 0 < self.book.num_open < before and not _is_over(deadline):
            before = self.book.num_open
            cells, up, _ = self.book.open_demands()
            self._run(cells, up, deadline, most=self.params.most_beams, ruining=False)
        return self.book.num_open

    def improve(self, deadline: float | None = None, *, trials: int | None = None) -> None:
        """Try to do without secondaries: the dearest first, then in random order, round after round.

        A trial publishes a cell and protects anew what that opens, for no more than what it set free. Ends
        after so many trials, at the deadline (`counted_time`), or when a round gains next to nothing. The
        result depends on time only by how far it gets.
        """
        cells = self._dearest_first()
        left = np.inf if trials is None else trials
        while len(cells) and left > 0 and not _is_over(deadline):
            before = self.book.cost
            cells = cells[: int(min(left, len(cells)))]
            self._run(cells, None, deadline, most=self.params.recreate_beams, ruining=True)
            left -= len(cells)
            if self.book.cost >= before * (1 - self.params.least_gain):
                break
            cells = self._rng.permutation(self.book.secondaries())

    def clean(self, deadline: float | None = None) -> None:
        """Publish secondaries again, dearest first, where the demands that need them find free cubes."""
        self._run(self._dearest_first(), None, deadline, most=0, ruining=True)

    def _dearest_first(self) -> Int:
        cells = self.book.secondaries()
        return cells[np.argsort(-self.book.problem.weight[cells], kind="stable")]

    def _run(self, cells: Int, up: Bool | None, deadline: float | None, *, most: int, ruining: bool) -> None:
        """Call the compiled loop, with room in the book and a look at the clock from time to time."""
        from cellveil.suppression.engines import _cube_packing_jit as kernels

        self._sync()
        up = np.zeros(len(cells), dtype=bool) if up is None else up
        done, step, spare = 0, FIRST_STEP, SPARE
        while done < len(cells) and not _is_over(deadline):
            begin = counted_time()
            end = min(done + step, len(cells))
            self.book.reserve(WITNESSES, *(spare * self._room[1:]).tolist())
            before = done
            done = int(
                kernels.serve(
                    self.book.arrays,
                    self.grid,
                    cells[:end],
                    up[:end],
                    done,
                    self.params.free_moves,
                    most,
                    ruining,
                    self._room,
                )
            )
            if done == end:
                step = max(1, min(2 * step, int(step * PULSE / (counted_time() - begin + tolerances.EQUAL))))
            spare = 2 * spare if done == before else SPARE
            self.book.tidy()
            self.grid.synced[0] = 0

    def _sync(self) -> None:
        """The bits of the lines anew, from what the book says is hidden."""
        self.grid.bits[:] = _line_bits(self.book.problem.table, self.book.hidden)
        self.grid.synced[0] = self.book.mark().trail


def _grid(book: Book, params: CubePackingParams, seed: int) -> Grid:
    from cellveil.deviations._cubes_jit import MAX_CUBE, MAX_SUPPORT, UNSET, Grid

    table = book.problem.table
    sizes = np.array(table.sizes, dtype=np.int64)
    n, full = table.num_cells, prod(table.sizes)
    strides = np.array([prod(table.sizes[k + 1 :]) for k in range(len(sizes))], dtype=np.int64)
    keys = np.stack(table.keys, axis=1).astype(np.int32)
    number = np.full(full, -1, dtype=np.int32)
    number[keys @ strides] = np.arange(n)
    words = -(-sizes // 64)
    first_word = np.concatenate([[0], np.cumsum(full // sizes * words)]).astype(np.int64)
    weight = book.problem.weight[book.problem.weight > 0]
    covers = [_covers(dimension) for dimension in table.dimensions]
    parts = [_parts(dimension) for dimension in table.dimensions]
    return Grid(
        sizes=sizes,
        strides=strides,
        first_code=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        cover_starts=_joined_starts([starts for starts, _ in covers]),
        cover_codes=np.concatenate([codes for _, codes in covers]),
        leaf_starts=_joined_starts([starts for starts, _ in parts]),
        leaf_codes=np.concatenate([codes for _, codes in parts]),
        is_leaf=np.concatenate([~dimension.is_parent for dimension in table.dimensions]),
        keys=np.ascontiguousarray(keys),
        number=number,
        bits=np.zeros(first_word[-1], dtype=np.uint64),
        movable=_line_bits(table, book.problem.status != Status.FROZEN),
        first_word=first_word[:-1].copy(),
        words=words,
        synced=np.zeros(1, dtype=np.int64),
        moved=np.zeros(n, dtype=np.int64),
        is_touched=np.zeros(n, dtype=bool),
        touched=np.zeros(min(n, MAX_TOUCHED), dtype=np.int32),
        barred=np.zeros(n, dtype=bool),
        cube_places=np.zeros(MAX_CUBE, dtype=np.int64),
        cube_signs=np.zeros(MAX_CUBE, dtype=np.int64),
        cube_cells=np.zeros(MAX_CUBE, dtype=np.int32),
        cube_moves=np.zeros(MAX_CUBE, dtype=np.int64),
        sum_moves=np.zeros(min(n, MAX_TOUCHED), dtype=np.int64),
        stack=np.zeros((4, len(sizes)), dtype=np.int64),
        rows=np.zeros((len(sizes), int(words.max())), dtype=np.uint64),
        codes=np.zeros((4, MAX_SUPPORT), dtype=np.int64),
        unset=np.full(len(sizes), UNSET),
        drawn=np.zeros((params.leaf_tries, len(sizes)), dtype=np.int64),
        beam=_beam(params.beam_width, len(sizes)),
        old_beam=_beam(params.beam_width, len(sizes)),
        tuning=np.array(
            [
                params.toll * (float(np.median(weight)) if len(weight) else 1.0),
                params.nearly,
                params.hardly,
                params.cheaper,
                params.repairs,
            ]
        ),
        random=np.random.default_rng(seed).integers(1, 2**63, 1).astype(np.uint64),
    )


def _line_bits(table: Table, chosen: Bool) -> NDArray[np.uint64]:
    """Dimension by dimension and line by line which cells of the full table are chosen, 64 to a word."""
    dense = np.zeros(table.sizes, dtype=bool)
    dense[tuple(column[chosen] for column in table.keys)] = True
    parts = []
    for axis, size in enumerate(table.sizes):
        lines = np.moveaxis(dense, axis, -1).reshape(-1, size)
        octets = np.zeros((len(lines), -(-size // 64) * 8), dtype=np.uint8)
        octets[:, : -(-size // 8)] = np.packbits(lines, axis=1, bitorder="little")
        parts.append(octets.view("<u8").reshape(-1))
    return np.concatenate(parts)


def _beam(width: int, dims: int) -> Beam:
    from cellveil.deviations._cubes_jit import Beam

    a, b = np.zeros((2, width, dims), dtype=np.int64)
    scores, costs = np.zeros((2, width))
    caps, parents, choices = np.zeros((3, width), dtype=np.int64)
    return Beam(a, b, scores, costs, caps, parents, choices)


def _covers(dimension: Dimension) -> tuple[Int, NDArray[np.int32]]:
    """For each leaf the codes that cover it, ascending; none for other codes."""
    leaves, codes = dimension.closure
    order = np.lexsort((codes, leaves))
    starts = np.searchsorted(leaves[order], np.arange(len(dimension) + 1))
    return starts.astype(np.int64), codes[order].astype(np.int32)


def _parts(dimension: Dimension) -> tuple[Int, NDArray[np.int32]]:
    """For each code the leaves it consists of."""
    leaves, codes = dimension.closure
    order = np.lexsort((leaves, codes))
    starts = np.searchsorted(codes[order], np.arange(len(dimension) + 1))
    return starts.astype(np.int64), leaves[order].astype(np.int32)


def _joined_starts(parts: list[Int]) -> Int:
    offsets = np.cumsum([0, *(part[-1] for part in parts)])
    return np.concatenate(
        [*(part[:-1] + offset for part, offset in zip(parts, offsets, strict=False)), offsets[-1:]]
    )
