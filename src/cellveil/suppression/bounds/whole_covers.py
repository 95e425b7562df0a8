"""Covering programs with whole cells: by connected parts, and by rounding a fractional point."""

from __future__ import annotations

import math

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.clock import Deadline
from cellveil.solvers.covering import Covered, Covering, proven_bound, solve_whole
from cellveil.solvers.tolerances import INTEGRALITY


def solve_by_parts(
    program: Covering, relaxed: Covered, deadline: Deadline, nodes: int | None
) -> tuple[float, Float]:
    """Bound and point with whole cells: each connected part that the relaxation splits is solved anew.

    Small parts come first, so that the time limit cuts off large ones only.
    """
    parts = _Parts(program, relaxed)
    point = np.where(relaxed.point > 0.5, 1.0, 0.0)
    solved: list[float] = []
    for number in parts.split_ones():
        part, columns, multipliers = parts.part(number)
        least = proven_bound(part, multipliers)
        if not deadline.is_over:
            answer = solve_whole(part, deadline, nodes)
            least = max(least, answer.bound)
            point[columns] = np.where(np.isnan(answer.point), point[columns], answer.point)
        solved.append(least)
    rest = proven_bound(program, np.where(parts.is_split_row, 0.0, relaxed.multipliers))
    return rest + math.fsum(solved) * (1 - 2.0**-50), point


def rounded_point(program: Covering, point: Float) -> Bool:
    """Whole cells that meet the needs of the program: in each row the cells with the largest shares."""
    matrix = program.matrix
    chosen = np.zeros(matrix.shape[1], dtype=bool)
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    x = np.nan_to_num(point)[matrix.indices]
    order = np.lexsort((program.cost[matrix.indices], -x, row))
    order = order[(program.rhs[row] > 0)[order]]
    share = matrix.data[order]
    before = np.cumsum(share) - share
    first = np.flatnonzero(np.diff(row[order], prepend=-1))
    before -= np.repeat(before[first], np.diff(np.append(first, len(order))))
    chosen[matrix.indices[order[before < 1 - INTEGRALITY]]] = True
    return chosen | (np.nan_to_num(point) > 1 - INTEGRALITY)


class _Parts:
    """A program sorted by connected parts: parts share no row and no column."""

    def __init__(self, program: Covering, relaxed: Covered) -> None:
        from scipy.sparse import bmat
        from scipy.sparse.csgraph import connected_components

        matrix = program.matrix
        rows, _ = matrix.shape
        count, labels = connected_components(bmat([[None, matrix], [matrix.T, None]]), directed=False)
        x = np.nan_to_num(relaxed.point, nan=0.5)
        is_split = np.zeros(count, dtype=bool)
        is_split[labels[rows:][np.abs(x - np.round(x)) > INTEGRALITY]] = True
        self.is_split_row = is_split[labels[:rows]]
        self._split = np.flatnonzero(is_split)
        self._rows, self._columns = (
            np.argsort(part, kind="stable") for part in (labels[:rows], labels[rows:])
        )
        self._row_borders = np.searchsorted(labels[:rows][self._rows], np.arange(count + 1))
        self._column_borders = np.searchsorted(labels[rows:][self._columns], np.arange(count + 1))
        self._program = Covering(
            program.cost[self._columns], matrix[self._rows][:, self._columns], program.rhs[self._rows]
        )
        self._multipliers = relaxed.multipliers[self._rows]

    def split_ones(self) -> list[int]:
        """The parts that the relaxation splits, small ones first."""
        width = np.diff(self._column_borders)[self._split]
        return [int(number) for number in self._split[np.argsort(width, kind="stable")]]

    def part(self, number: int) -> tuple[Covering, Int, Float]:
        """Program, column numbers and multipliers of one part."""
        first, last = self._column_borders[number : number + 2]
        rows = slice(*self._row_borders[number : number + 2])
        block = self._program.matrix[rows]
        matrix = type(block)(
            (block.data, block.indices - first, block.indptr), (block.shape[0], last - first)
        )
        program = Covering(self._program.cost[first:last], matrix, self._program.rhs[rows])
        return program, self._columns[first:last], self._multipliers[rows]
