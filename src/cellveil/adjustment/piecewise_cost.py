"""Piecewise-linear costs: each cell and direction is a chain of columns with rising prices.

A movement t in one direction is cut into pieces; the price of a unit rises from piece to piece, so a program
that minimises fills them in order. For absolute changes one piece is exact. Squares are approximated from
below by lines through (p, p²) and (p + 1, (p + 1)²) at *breakpoints* p, which no whole number passes under:
exact at p and p + 1, and a program over them gives a lower bound (outer approximation).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cellveil.adjustment.model import Model
from cellveil.arrays import Float, Int

LARGEST = 2.0**14
"""Rooms are scaled to at most this in programs: with large ones a solver has called a problem infeasible that
was not."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """Columns of a program: `sign` · x is added to the movement of `cell`, 0 ≤ x ≤ length, at `price`.

    The pieces of one cell and direction stand one after the other; `start` is where each begins.
    """

    cell: Int
    sign: Int
    start: Float
    length: Float
    price: Float

    def movement(self, x: Float, num_cells: int) -> Float:
        """What the columns add up to, for each cell."""
        return np.bincount(self.cell, weights=self.sign * x, minlength=num_cells).astype(np.float64)

    def unit(self) -> float:
        """The unit of amounts in programs."""
        return unit_for(float(self.length.max(initial=1.0)))

    def money(self) -> float:
        """The unit of costs in programs."""
        return middle_price(self.price)

    def filled(self, y: NDArray[np.generic]) -> Float:
        """The columns that make up a movement (from the start of each chain)."""
        size = np.maximum(self.sign * np.asarray(y, dtype=np.float64)[self.cell], 0.0)
        return np.clip(size - self.start, 0.0, self.length)


def unit_for(largest: float) -> float:
    """A power of two in which amounts up to `largest` are at most `LARGEST`."""
    return float(2.0 ** max(0.0, np.ceil(np.log2(largest / LARGEST))))


def middle_price(prices: Float) -> float:
    """The median of the prices above 0; 1 where there is none."""
    return float(np.median(prices[prices > 0])) if (prices > 0).any() else 1.0


class Breakpoints:
    """Where the outer approximation of squares is exact, by cell and direction; grows from solve to solve."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._marks: dict[tuple[int, int], set[int]] = {}

    def add(self, y: Int) -> None:
        """Be exact at a movement, and around it."""
        for cell in np.flatnonzero(y).tolist():
            size, sign = abs(int(y[cell])), 1 if y[cell] > 0 else -1
            self._marks.setdefault((cell, sign), set()).update((max(size - 1, 0), size))

    def of(self, cell: int, sign: int, first: int, last: int) -> list[int]:
        """The marks from `first` on, ascending."""
        marks, mark = {first}, 1
        while first + mark < last:
            marks.add(first + mark)
            mark *= self._model.params.proof.ratio
        marks |= {mark for mark in self._marks.get((cell, sign), ()) if first < mark < last}
        return sorted(marks)


def pieces_of(model: Model, marks: Breakpoints | None, *, from_levels: bool) -> Pieces:
    """The pieces of all movable cells.

    Parameters
    ----------
    from_levels
        Whether the movements of sensitive cells are measured from their levels on, or from 0.
    """
    first_up, first_down = (np.zeros(model.problem.table.num_cells, dtype=np.int64) for _ in range(2))
    if from_levels:
        first_up[model.cells], first_down[model.cells] = model.rise, model.fall
    if model.power == 1:
        return _straight(model, first_up, first_down)
    marks = marks or Breakpoints(model)
    columns: list[tuple[int, int, float, float, float]] = []
    for sign, first, room in ((1, first_up, model.up), (-1, first_down, model.down)):
        for cell in np.flatnonzero(room > first).tolist():
            begin, end = int(first[cell]), int(room[cell])
            columns += _bent(cell, sign, begin, end, marks.of(cell, sign, begin, end), model.weight[cell])
    cells, signs, starts, lengths, prices = (np.array(column) for column in zip(*columns, strict=True))
    return Pieces(cells, signs, starts, lengths, prices)


def _straight(model: Model, first_up: Int, first_down: Int) -> Pieces:
    parts = [(1, first_up, model.up), (-1, first_down, model.down)]
    cells = [np.flatnonzero(room > first) for _, first, room in parts]
    cell = np.concatenate(cells)
    start = np.concatenate([first[mine] for mine, (_, first, _) in zip(cells, parts, strict=True)])
    end = np.concatenate([room[mine] for mine, (_, _, room) in zip(cells, parts, strict=True)])
    sign = np.repeat(np.array([1, -1]), [len(mine) for mine in cells])
    begin = start.astype(np.float64)
    return Pieces(cell, sign, begin, end - begin, model.weight[cell])


def _bent(
    cell: int, sign: int, begin: int, end: int, marks: list[int], weight: float
) -> Iterable[tuple[int, int, float, float, float]]:
    """One chain; two lines meet halfway between the end of the first and the beginning of the second."""
    meets = [float(begin), *((p + q + 1) / 2 for p, q in pairwise(marks)), float(end)]
    return [
        (cell, sign, start, stop - start, weight * (2 * mark + 1))
        for mark, start, stop in zip(marks, meets[:-1], meets[1:], strict=True)
        if stop > start
    ]
