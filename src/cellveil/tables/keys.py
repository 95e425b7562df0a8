"""Vectorised work on cell keys: one column of code numbers per dimension."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Int


def row_numbers(columns: Sequence[NDArray[np.integer]], sizes: Sequence[int], length: int) -> Int:
    """One int64 per row, equal exactly for equal rows, in lexicographic order; any number of columns.

    Examples
    --------
    >>> row_numbers([np.array([0, 1, 0]), np.array([2, 0, 2])], [2, 3], 3)
    array([2, 3, 2])
    """
    numbers = np.zeros(length, dtype=np.int64)
    span = 1
    for column, size in zip(columns, sizes, strict=True):
        if span > 2**62 // max(size, 1):
            distinct, numbers = np.unique(numbers, return_inverse=True)
            span = len(distinct)
        numbers = numbers * size + column
        span *= size
    return numbers


def group(numbers: Int) -> tuple[Int, Int, Int]:
    """Sort rows into groups of equal numbers.

    Returns
    -------
    order, starts, first
        `order` sorts the rows stably, group g is ``order[starts[g]:starts[g + 1]]``, and ``first[g]`` is a
        row of it.
    """
    order = np.argsort(numbers, kind="stable")
    arranged = numbers[order]
    border = np.flatnonzero(np.concatenate([[True], arranged[1:] != arranged[:-1]])) if len(order) else order
    return order, np.append(border, len(order)), order[border]
