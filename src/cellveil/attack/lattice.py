"""Whole-number deviations next to floating-point ones, for any set of hidden cells.

Sparse elimination of the relations among the hidden cells, with pivots ±1 as far as they go (in tables nearly
everywhere), splits the cells into *basic* ones, each given by a whole-number combination of others, and
*free* ones. Any whole numbers on the free cells extend to a deviation with M y = 0, exactly. So a solver's y
is made exact by rounding it on a fine grid at the free cells and computing the basic ones; the error at these
is a few grid units. Where a capacity is passed by a hair, the whole deviation is scaled down by that hair.

Where a pivot is not ±1, free cells are rounded to multiples of the pivots' common multiple, so that the
divisions come out even.

Requires nothing of the relations. Ensures M y = 0 exactly, and capacities; how far it moves a cell is for the
caller to look at. Cost: the elimination is made once for a set of cells; a lift is linear in its entries.
"""

from __future__ import annotations

import heapq
from math import lcm

import numpy as np
from numpy.typing import NDArray

from cellveil.attack.witness import Witness
from cellveil.tables.keys import Int
from cellveil.tables.numbers import UNBOUNDED
from cellveil.tables.relations import Relations

Float = NDArray[np.float64]

GRID_BITS = (50, 44, 38, 32)
"""The largest movement takes so many bits on the grid: fewer where the computation would pass 64 bits."""

DENSE_ROW = 300
"""Rows longer than this are left to dense elimination."""

MAX_MODULUS = 5040
LARGEST_ENTRY = 2**20


class Lattice:
    """The whole-number deviations that move only `cells`.

    Parameters
    ----------
    cells
        Hidden cells, ascending.
    preference
        Where there is a choice, cells with a high figure become basic: those with room for an error.
    """

    def __init__(self, relations: Relations, cells: Int, preference: Float) -> None:
        self.cells = cells
        elimination = _Elimination(relations, cells, preference)
        elimination.run()
        self.modulus = elimination.modulus
        # Last pivot first: each is given by free cells and by pivots after it.
        pivots = elimination.pivots[::-1]
        self._pivot = np.array([column for column, _, _ in pivots], dtype=np.int64)
        self._pivot_coef = np.array([coef for _, coef, _ in pivots], dtype=np.int64)
        self._starts = np.cumsum([0, *(len(rest) for _, _, rest in pivots)]).astype(np.int64)
        self._columns = np.array([q for _, _, rest in pivots for q in rest], dtype=np.int64)
        self._coefs = np.array([b for _, _, rest in pivots for b in rest.values()], dtype=np.int64)

    def lift(self, moved: Float, room_down: Int, room_up: Int) -> Witness | None:
        """The exact deviation next to `moved` (over `cells`), scaled into the rooms; None if none."""
        from cellveil.kernels.lattice import back_substitute

        largest = float(np.abs(moved).max(initial=0.0))
        if self.modulus == 0 or not 0.0 < largest < 2.0 ** GRID_BITS[0]:
            return None
        for bits in GRID_BITS:
            scale = 2 ** max(0, bits - int(np.ceil(np.log2(largest + 1))))
            numerators = np.rint(moved * (scale / self.modulus)).astype(np.int64) * self.modulus
            if back_substitute(
                numerators, self._pivot, self._pivot_coef, self._starts, self._columns, self._coefs
            ):
                break
        else:
            return None
        denominator = _fitting_denominator(numerators, scale, room_down, room_up)
        kept = numerators != 0
        if denominator is None or not kept.any():
            return None
        return Witness(self.cells[kept], numerators[kept], denominator)


def _fitting_denominator(numerators: Int, denominator: int, room_down: Int, room_up: Int) -> int | None:
    """The least denominator from the given one on with which all movements fit; None where none does."""
    for moves, room in ((numerators, room_up), (-numerators, room_down)):
        limited = (moves > 0) & (room < UNBOUNDED)
        if (room[limited] == 0).any():
            return None
        denominator = max(denominator, int((-(-moves[limited] // room[limited])).max(initial=1)))
    return denominator if denominator < 2**60 else None


class _Elimination:
    """Markowitz-like elimination: the shortest row, in it the column with the fewest entries."""

    def __init__(self, relations: Relations, cells: Int, preference: Float) -> None:
        self.preference = preference.tolist()
        self.pivots: list[tuple[int, int, dict[int, int]]] = []
        self.modulus = 1
        columns = relations.columns
        self.rows: dict[int, dict[int, int]] = {}
        self.columns: list[set[int]] = []
        for place, cell in enumerate(cells.tolist()):
            part = slice(columns.indptr[cell], columns.indptr[cell + 1])
            mine = columns.rows[part].tolist()
            self.columns.append(set(mine))
            for row, coef in zip(mine, columns.coefs[part].tolist(), strict=True):
                self.rows.setdefault(row, {})[place] = coef

    def run(self) -> None:
        """Find all pivots."""
        queue = [(len(entries), row) for row, entries in self.rows.items()]
        heapq.heapify(queue)
        while queue:
            length, row = heapq.heappop(queue)
            entries = self.rows.get(row)
            if entries is None or len(entries) != length or length > DENSE_ROW:
                continue
            if not entries:
                del self.rows[row]
                continue
            pivot = self._pivot_in(entries)
            if pivot is not None:
                for changed in self._eliminate(row, pivot):
                    heapq.heappush(queue, (len(self.rows[changed]), changed))
        self._finish_densely()

    def _pivot_in(self, entries: dict[int, int]) -> int | None:
        units = [column for column, coef in entries.items() if coef in (1, -1)]
        if not units:
            return None
        return min(units, key=lambda column: (len(self.columns[column]), -self.preference[column], column))

    def _eliminate(self, row: int, pivot: int) -> list[int]:
        """Use the row to take the pivot's column out of all other rows; return which rows changed."""
        entries = self.rows.pop(row)
        for column in entries:
            self.columns[column].discard(row)
        coef = entries.pop(pivot)
        changed = sorted(self.columns[pivot])
        for other in changed:
            target = self.rows[other]
            factor = target.pop(pivot) * coef
            for column, mine in entries.items():
                value = target.get(column, 0) - factor * mine
                if value:
                    target[column] = value
                    self.columns[column].add(other)
                else:
                    target.pop(column, None)
                    self.columns[column].discard(other)
        self.columns[pivot] = set()
        self.pivots.append((pivot, coef, entries))
        return changed

    def _finish_densely(self) -> None:
        """What is left, as one block: small entries in thin rows and columns are the pivots."""
        rows = [entries for entries in self.rows.values() if entries]
        columns = np.array(sorted({column for entries in rows for column in entries}), dtype=np.int64)
        block = np.zeros((len(rows), len(columns)), dtype=np.int64)
        for number, entries in enumerate(rows):
            block[number, np.searchsorted(columns, list(entries))] = list(entries.values())
        while self.modulus and (block := block[block.any(axis=1)]).size:
            row, column = _thin_pivot(block)
            line, coef = block[row], int(block[row, column])
            self.modulus = lcm(self.modulus, abs(coef))
            if self.modulus > MAX_MODULUS or int(np.abs(block).max()) > LARGEST_ENTRY:
                self.modulus = 0
            others = np.flatnonzero(line)
            others = others[others != column]
            self.pivots.append(
                (
                    int(columns[column]),
                    coef,
                    dict(zip(columns[others].tolist(), line[others].tolist(), strict=True)),
                )
            )
            block = _without(block, row, column)


def _thin_pivot(block: Int) -> tuple[int, int]:
    """Among the smallest entries one whose row and column have few others."""
    sizes = np.abs(block)
    filled = sizes > 0
    smallest = sizes == sizes[filled].min()
    fill = filled.sum(axis=1)[:, None] * filled.sum(axis=0)[None, :]
    row, column = divmod(int(np.where(smallest, fill, fill.max() + 1).argmin()), block.shape[1])
    return row, column


def _without(block: Int, row: int, column: int) -> Int:
    """The other rows, with the column eliminated by the row."""
    line, coef = block[row], int(block[row, column])
    factors = np.delete(block[:, column], row)
    block = np.delete(block, row, axis=0)
    if abs(coef) == 1:
        return np.asarray(block - (factors * coef)[:, None] * line[None, :])
    block = block * coef - factors[:, None] * line[None, :]
    return np.asarray(block // np.maximum(np.gcd.reduce(block, axis=1, keepdims=True), 1))
