"""Generalised cubes: whole witnesses from the codes of a table, without any solver.

Along one dimension, take a leaf a and a leaf b, or a alone: +1 on every code that covers a but not b, −1 on
every code that covers b but not a. This *move* keeps each equation total = sum of parts: a covered leaf
counts once in the total and once among the parts. (In a tree these are the ways from leaf to leaf, and from a
leaf up to the total; in a flat dimension two codes, or one code and the total.) A product of one move per
dimension keeps all relations: it is a *generalised cube*, 2^D alternating corners in a flat table. In linked
tables cells may rest along a dimension, and have cubes of the others (`cellveil.deviations.cube_layout`).

A cube of hidden cells that moves a cell by an amount is looked for depth first, by the bits of hidden cells
per line, the line with fewest first. Each one found is tried at its largest multiple both ways, and meets
every demand of its corners that it can. In a dense table most primary cells have such a cube.

Requires a table with dimensions whose equations all are total = sum of parts and whose full size fits in
memory (`has_cubes`). Ensures: every witness is exact, in whole units; where the number of moves to look at
does not end the search, no cube is missed. Cost: a few microseconds per demand.

References: the hypercube method (Repsilber 1994; Giessing & Repsilber 2002). Moves in trees are our own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.deviations.cube_layout import CubeLayout
from cellveil.deviations.ledger import Ledger
from cellveil.loops import cubes as loops
from cellveil.loops.cubes import MAX_CUBE, MAX_SUPPORT, Grid
from cellveil.params import Params, param
from cellveil.tables.structure import fits_array, has_lines_only
from cellveil.tables.table import Table

MAX_DIMENSIONS = 8

WITNESSES, SPARE = 50_000, 8
"""Room made in the ledger before each call of a compiled loop; SPARE times what one demand may need."""

WORK_PER_CALL = 20_000_000
"""Work after which a compiled loop returns, so that the caller can look at the clock: about 0.2 seconds.
Counted, not timed: where a call ends decides what the ledger forgets, and thereby which cubes are found."""


@dataclass(frozen=True, kw_only=True)
class CubeParams(Params):
    """Parameters of the search for cubes."""

    free_moves: int = param(3000, "Moves looked at in the search for one free cube.", least=0)


def has_cubes(table: Table) -> bool:
    """Whether there are cubes in the table."""
    return fits_array(table, MAX_DIMENSIONS) and has_lines_only(table)


def prove_by_cubes(ledger: Ledger, deadline: Deadline = NO_LIMIT) -> None:
    """Meet open demands by single cubes of hidden cells, where the table has cubes."""
    if ledger.num_open and has_cubes(ledger.problem.table):
        HiddenCubes(ledger).prove(deadline)
        ledger.note_widths()


class Cubes:
    """Cubes of some cells of a table.

    Parameters
    ----------
    usable
        Which cells may be corners.
    room_up, room_down
        How far each cell may move as a corner.
    """

    def __init__(
        self, table: Table, usable: Bool, rooms: tuple[Int, Int], params: CubeParams | None = None
    ) -> None:
        if not has_cubes(table):
            raise ValueError("there are no cubes in this table")
        self.table, self._cube_params = table, params or CubeParams()
        self.layout = CubeLayout.of(table)
        self.grid = _grid(self.layout, usable, *rooms)

    def find(self, cell: int, amount: int, *, up: bool) -> tuple[Int, Int] | None:
        """The corners of a cube around a cell, which comes first, and their signs; None where none is found.

        All other corners have room for the amount, when the cell moves up (or down) by it.
        """
        grid, work = self.grid, self._cube_params.free_moves
        size = loops.find_free(grid, cell, 1 if up else -1, amount, work)
        corners = grid.number[grid.cube_places[:size]].astype(np.int64)
        return (corners, grid.cube_signs[:size].copy()) if size else None


Loop = Callable[[Int, Bool, int], int]
"""A compiled loop over demands, given by cells and directions, from a number on; tells how far it got."""


class HiddenCubes(Cubes):
    """Cubes of the hidden cells of a ledger."""

    def __init__(self, ledger: Ledger, params: CubeParams | None = None) -> None:
        super().__init__(ledger.problem.table, ledger.hidden, (ledger.room_up, ledger.room_down), params)
        self.ledger = ledger
        self._most_entries = 3 * self.grid.cube_places.size

    def prove(self, deadline: Deadline = NO_LIMIT) -> int:
        """Meet open demands by single cubes of hidden cells; return how many are open still."""

        def loop(cells: Int, up: Bool, done: int) -> int:
            work = self._cube_params.free_moves
            arrays, most = self.ledger.arrays, self._most_entries
            return int(loops.prove_all(arrays, self.grid, cells, up, done, work, most))

        cells, up, _ = self.ledger.open_demands()
        self._run(loop, cells, up, deadline)
        return self.ledger.num_open

    def _run(self, loop: Loop, cells: Int, up: Bool, deadline: Deadline) -> None:
        """Call a compiled loop, with room in the ledger and a look at the clock between two calls."""
        self.grid.bits[:] = self.layout.line_bits(self.ledger.hidden)
        self.grid.counts[:] = self.ledger.mark().trail, 0, WORK_PER_CALL
        done, spare = 0, SPARE
        while done < len(cells) and not deadline.is_over:
            self.ledger.reserve(WITNESSES, spare * self._most_entries)
            before, done = done, loop(cells, up, done)
            spare = 2 * spare if done == before else SPARE
            self.ledger.tidy()
            self.grid.counts[:2] = 0


def _grid(layout: CubeLayout, usable: Bool, room_up: Int, room_down: Int) -> Grid:
    sizes, full, covers, parts = layout.sizes, layout.full, layout.covers, layout.parts
    number = np.full(full, -1, dtype=np.int32)
    number[layout.places] = np.arange(len(layout.places))
    words = -(-sizes // 64)
    first_word = np.concatenate([[0], np.cumsum(full // sizes * words)]).astype(np.int64)
    return Grid(
        sizes=sizes,
        strides=layout.strides,
        first_code=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        cover_starts=_joined_starts([starts for starts, _ in covers]),
        cover_codes=np.concatenate([codes for _, codes in covers]),
        leaf_starts=_joined_starts([starts for starts, _ in parts]),
        leaf_codes=np.concatenate([codes for _, codes in parts]),
        is_leaf=layout.is_leaf,
        keys=layout.keys,
        number=number,
        bits=layout.line_bits(usable),
        first_word=first_word[:-1].copy(),
        words=words,
        counts=np.array([0, 0, WORK_PER_CALL]),
        room_up=room_up,
        room_down=room_down,
        cube_places=np.zeros(MAX_CUBE, dtype=np.int64),
        cube_signs=np.zeros(MAX_CUBE, dtype=np.int64),
        cube_cells=np.zeros(MAX_CUBE, dtype=np.int32),
        cube_moves=np.zeros(MAX_CUBE, dtype=np.int64),
        stack=np.zeros((4, len(sizes)), dtype=np.int64),
        rows=np.zeros((len(sizes), int(words.max())), dtype=np.uint64),
        codes=np.zeros((4, MAX_SUPPORT), dtype=np.int64),
    )


def _joined_starts(parts: list[Int]) -> Int:
    offsets = np.cumsum([0, *(part[-1] for part in parts)])
    return np.concatenate(
        [*(part[:-1] + offset for part, offset in zip(parts, offsets, strict=False)), offsets[-1:]]
    )
