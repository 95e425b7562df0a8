"""Cubes: witnesses that need no solver.

Take a hidden cell and, along each dimension, another code such that all 2^D corners are hidden. Moving the
corners up and down alternately by the same amount keeps every relation, so the corners' smallest room is how
far all of them were shown to move. In a dense table most primary cells have such a cube.

Two codes can be exchanged along a dimension when the same equations contain them, as parts, and they are the
total of none; the code of the total can join them, with its sign turned, when it is a total only. (In a tree
a code above the leaves cannot: it stands in the relation above as well.) With σ = −1 for such totals and +1
for all other codes, the corner with partners along the dimensions in S moves by (−1)^|S| · Π σ · amount:
along any relation the two corners in it cancel.

A cube grows dimension by dimension. The corners so far are looked up under every other code of the next
dimension; a code under which all of them are hidden and have room doubles them. Codes are drawn at random, so
the search is repeated for what was not found.

Requires a table with dimensions whose full size fits in memory. Ensures: every witness is exact, in whole
units. Does not ensure that a cube is found where there is one.

References: the hypercube method (Repsilber 1994; Giessing & Repsilber 2002), used here to prove, not to hide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.deviations.witness import LARGEST_NUMERATOR, Ledger
from cellveil.tables.dimension import Dimension
from cellveil.tables.scaled import UNBOUNDED, unscale
from cellveil.tables.structure import fits_array
from cellveil.tables.table import Table

MAX_DIMENSIONS = 6

BATCH = 2_000_000
"""About so many looked-up corners are held at a time."""

ROUNDS = 200
PATIENCE = 12
"""Rounds that meet less than a thousandth of what is open before the search ends."""


def prove_by_cubes(table: Table, hidden: Bool, ledger: Ledger, *, seed: int = 0) -> int:
    """Look for a cube for every open demand of the ledger and add what is found; return how many were met."""
    if not may_have_cubes(table) or not ledger.num_open:
        return 0
    search = Cubes(table, hidden, ledger.room_up, ledger.room_down)
    rng = np.random.default_rng(seed)
    before = ledger.num_open
    barren = 0
    for _ in range(ROUNDS):
        left = ledger.num_open
        if not left or barren == PATIENCE:
            break
        for up in (True, False):
            _meet(search, ledger, up, rng)
        barren = 0 if left - ledger.num_open > left / 1000 else barren + 1
    return before - ledger.num_open


def may_have_cubes(table: Table) -> bool:
    """Whether cubes are looked for in this table at all."""
    return len(table.dimensions) > 1 and fits_array(table, MAX_DIMENSIONS)


def _meet(search: Cubes, ledger: Ledger, up: bool, rng: np.random.Generator) -> None:
    """Try to find one cube for each open demand of a direction."""
    amounts = ledger.open_amounts(up=up)
    for cells in search.batches(np.flatnonzero(amounts > 0)):
        still = cells[ledger.open_amounts(up=up)[cells] > 0]
        _, corners = search.find(still, amounts[still], up, rng)
        if len(corners):
            _add(ledger, corners, search.signs(corners))


def _add(ledger: Ledger, corners: Int, signs: Int) -> None:
    rising, falling = ledger.room_up[corners], ledger.room_down[corners]
    for turn in (1, -1):
        room = np.where(signs * turn > 0, rising, falling).min(axis=1)
        amount = np.minimum(room, LARGEST_NUMERATOR)
        kept = amount > 0
        ledger.add_block(corners[kept], (signs * turn * amount[:, None])[kept])


@dataclass(frozen=True, eq=False)
class _Axis:
    """One dimension: which codes can be exchanged, and the rooms with that dimension last.

    Parameters
    ----------
    classes
        Class of each code; −1 where it cannot be exchanged.
    rooms
        For movements against and along the sign: one row per combination of the other codes.
    strides
        To number the combinations of the other codes.
    """

    classes: Int
    rooms: tuple[Float, Float]
    strides: tuple[int, ...]


class Cubes:
    """Random cubes of one table, each around a given cell.

    Parameters
    ----------
    usable
        Which cells may be corners.
    room_up, room_down
        How far each cell may move as a corner; UNBOUNDED where there is no end.
    """

    def __init__(self, table: Table, usable: Bool, room_up: Int, room_down: Int) -> None:
        self.table = table
        exchange = [_exchangeable(dimension) for dimension in table.dimensions]
        self._sign = np.ones(table.num_cells, dtype=np.int64)
        self._reachable = usable.copy()
        for (classes, sigma), column in zip(exchange, table.keys, strict=True):
            self._sign *= sigma[column]
            self._reachable &= classes[column] >= 0
        self._number = np.full(table.sizes, -1, dtype=np.int32)
        self._number[table.keys] = np.where(usable, np.arange(table.num_cells), -1)
        against = self._dense(np.where(self._sign > 0, room_down, room_up))
        along = self._dense(np.where(self._sign > 0, room_up, room_down))
        self._axes = [_axis(table, k, classes, against, along) for k, (classes, _) in enumerate(exchange)]

    def _dense(self, rooms: Int) -> Float:
        """Rooms at their place in the full table, −1 where not usable."""
        dense = np.full(self.table.sizes, -1.0)
        usable = self._number[self.table.keys] >= 0
        dense[tuple(column[usable] for column in self.table.keys)] = unscale(_exact_floats(rooms), 0)[usable]
        return dense

    def batches(self, cells: Int) -> Iterator[Int]:
        """Cells that may have cubes, not too many at a time."""
        cells = cells[self._reachable[cells]]
        step = max(1, BATCH // (2 ** (len(self._axes) - 1) * max(self.table.sizes)))
        return (cells[start : start + step] for start in range(0, len(cells), step))

    def find(self, cells: Int, amounts: Int, up: bool, rng: np.random.Generator) -> tuple[Int, Int]:
        """One try for each cell: which of them have a cube, and its corners, the cell itself first.

        The other corners have room for the amount, when the cell moves up (or down) by it; the cell's own
        room is not looked at.
        """
        needed = amounts.astype(np.float64)[:, None]
        along = (self._sign[cells] > 0) == up  # whether the cell itself moves along its sign
        corners = [[column[cells] for column in self.table.keys]]
        alive = np.arange(len(cells))
        for k in rng.permutation(len(self._axes)).tolist():
            axis = self._axes[k]
            fine = axis.classes[None, :] == axis.classes[corners[0][k][alive]][:, None]
            fine[np.arange(len(alive)), corners[0][k][alive]] = False
            for position, codes in enumerate(corners):
                rest = sum(
                    (codes[j][alive].astype(np.int64) * axis.strides[j] for j in range(len(codes)) if j != k),
                    np.zeros(len(alive), dtype=np.int64),
                )
                # The new corner moves against the one it is put opposite to.
                with_sign = along[alive] ^ (position.bit_count() % 2 == 0)
                for turn in (False, True):
                    mine = with_sign == turn
                    fine[mine] &= axis.rooms[int(turn)][rest[mine]] >= needed[alive[mine]]
            order = rng.permutation(fine.shape[1])
            drawn = order[fine[:, order].argmax(axis=1)]
            found = fine[np.arange(len(alive)), drawn]
            alive = alive[found]
            partner = np.zeros(len(cells), dtype=np.int32)
            partner[alive] = drawn[found]
            corners += [[*codes[:k], partner, *codes[k + 1 :]] for codes in corners]
        numbers = [self._number[tuple(column[alive] for column in codes)] for codes in corners]
        return alive, np.stack(numbers, axis=1).astype(np.int64)

    def signs(self, corners: Int) -> Int:
        """How the corners move when the first one moves up by 1."""
        parity = np.array([(-1) ** corner.bit_count() for corner in range(corners.shape[1])])
        return np.asarray(parity * self._sign[corners] * self._sign[corners[:, :1]])


def _axis(table: Table, k: int, classes: Int, against: Float, along: Float) -> _Axis:
    others = [size for j, size in enumerate(table.sizes) if j != k]
    strides = [prod(others[place + 1 :]) for place in range(len(others))]
    strides.insert(k, 0)
    rooms = tuple(
        np.ascontiguousarray(np.moveaxis(dense, k, -1)).reshape(-1, table.sizes[k])
        for dense in (against, along)
    )
    return _Axis(classes, (rooms[0], rooms[1]), tuple(strides))


def _exchangeable(dimension: Dimension) -> tuple[Int, Int]:
    """For each code its class (−1: none) and its sign: codes of one class can be exchanged."""
    as_part: dict[int, list[int]] = {}
    as_total: dict[int, list[int]] = {}
    for number, equation in enumerate(dimension.equations):
        for code, coef in zip(equation.codes, equation.coefs, strict=True):
            kind = as_part if coef == 1 else as_total if coef == -1 else None
            if kind is None:
                return np.full(len(dimension), -1), np.ones(len(dimension), dtype=np.int64)
            kind.setdefault(code, []).append(number)
    names: dict[tuple[int, ...], int] = {}
    classes = np.full(len(dimension), -1, dtype=np.int64)
    sigma = np.ones(len(dimension), dtype=np.int64)
    for code in range(len(dimension)):
        if (code in as_part) == (code in as_total):
            continue  # in no equation, or a part here and a total there
        key = tuple(as_part.get(code) or as_total[code])
        classes[code] = names.setdefault(key, len(names))
        sigma[code] = 1 if code in as_part else -1
    return classes, sigma


def _exact_floats(rooms: Int) -> Int:
    """Rooms that floats can hold exactly: larger ones count as the largest such number."""
    return np.where(rooms == UNBOUNDED, UNBOUNDED, np.minimum(rooms, 2**53))
