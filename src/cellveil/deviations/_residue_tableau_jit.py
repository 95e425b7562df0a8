"""Pivots of a null-space tableau modulo the prime 2³¹ − 1, column by column."""

from __future__ import annotations

import numpy as np

from cellveil.jit.compiled import inner, outer
from cellveil.jit.kinds import Int, Int32, Int32Table


@inner
def residue(number: int) -> int:
    """A number from 0 to 2^62 modulo the prime, by shifts: 2³¹ is 1."""
    number = (number & 2147483647) + (number >> 31)
    number = (number & 2147483647) + (number >> 31)
    return number - 2147483647 if number >= 2147483647 else number


@inner
def inverse(number: int) -> int:
    """1 / number modulo the prime, by Euclid's algorithm."""
    if number == 1 or number == 2147483646:
        return number
    high, low, above, below = 2147483647, number, 0, 1
    while low > 1:
        quotient = high // low
        high, low = low, high - quotient * low
        above, below = below, above - quotient * below
    return below if below >= 0 else below + 2147483647


@inner
def list_moved(column: Int32, entries: Int, moved: Int) -> int:
    """Copy a column, and write down the places where it is not 0; returns how many they are."""
    count = 0
    for i in range(len(column)):
        entries[i] = column[i]
        if column[i] != 0:
            moved[count] = i
            count += 1
    return count


@inner
def add_multiple(row: Int32, factor: int, entries: Int, moved: Int, count: int) -> None:
    """Add a multiple of a column: where it is not 0 if that is at few places, or else several at once."""
    if 5 * count < len(row):
        for k in range(count):
            i = moved[k]
            row[i] = residue(row[i] + factor * entries[i])
    else:
        for i in range(len(row)):
            row[i] = residue(row[i] + factor * entries[i])


@outer
def follow(rows: Int32Table, pivot: Int, pivot_coef: Int, starts: Int, columns: Int, coefs: Int) -> None:
    """Set rows[pivot[k]] = −(Σ coefs · rows) / pivot_coef[k], one after the other."""
    for k in range(len(pivot)):
        scale = inverse(pivot_coef[k] % 2147483647)
        for e in range(starts[k], starts[k + 1]):
            factor = residue(scale * (-coefs[e] % 2147483647))
            for j in range(rows.shape[1]):
                if rows[columns[e], j] != 0:
                    rows[pivot[k], j] = residue(rows[pivot[k], j] + factor * rows[columns[e], j])


@outer
def combine(columns: Int32Table, factors: Int) -> None:
    """Set the last column to the sum of the others with these factors."""
    last = len(columns) - 1
    for i in range(columns.shape[1]):
        columns[last, i] = 0
    for column in range(last):
        for i in range(columns.shape[1]):
            if columns[column, i] != 0:
                columns[last, i] = residue(columns[last, i] + factors[column] * columns[column, i])


@outer
def publish_in_turn(
    columns: Int32Table, order: Int, primaries: Int, basic: Int, sizes: Int, largest: int, filled: Int
) -> int:
    """Publish cells in turn, each unless it would make the last column, which moves all, miss a primary.

    The last column is a generic deviation; `basic` are the cells that the others stand for, and `sizes` their
    largest entries. A cell where the last one is 0 is given by published ones. To publish another, multiples
    of a column that moves it are taken off the others: one with ±1 there, so that all stay whole, and only
    while no entry passes `largest`. A column that is used up goes behind the others in use.

    Returns
    -------
    How many columns are left: these span all deviations of the cells that stay hidden.
    """
    last = len(columns) - 1
    left = last
    for k in range(len(order)):
        cell = order[k]
        if columns[last, cell] == 0:
            continue
        column = _column_of(columns, cell, left, basic, sizes)
        if column < 0 or misses(columns, column, cell, primaries):
            continue
        if _growth(columns, column, cell, left, sizes) > largest:
            continue
        _use_up(columns, column, cell, left, sizes, filled)
        left -= 1
        for i in range(columns.shape[1]):
            columns[column, i], columns[left, i] = columns[left, i], columns[column, i]
        basic[column], basic[left] = basic[left], cell
        sizes[column], sizes[left] = sizes[left], sizes[column]
    return left


@inner
def size_of(entry: int) -> int:
    """The absolute value of a residue between −2³⁰ and 2³⁰."""
    return entry if entry < 1073741824 else 2147483647 - entry


@inner
def _column_of(columns: Int32Table, cell: int, left: int, basic: Int, sizes: Int) -> int:
    """The column with the smallest entries that has ±1 at the cell: its own if it has one; −1 for none."""
    found = -1
    for column in range(left):
        if size_of(columns[column, cell]) == 1:
            if basic[column] == cell:
                return column
            if found < 0 or sizes[column] < sizes[found]:
                found = column
    return found


@inner
def _growth(columns: Int32Table, column: int, cell: int, left: int, sizes: Int) -> int:
    """How large entries can become when the column is used up to publish the cell."""
    most = 0
    for other in range(left):
        if other != column and columns[other, cell] != 0:
            most = max(most, sizes[other] + size_of(columns[other, cell]) * sizes[column])
    return most


@inner
def _use_up(columns: Int32Table, column: int, cell: int, left: int, sizes: Int, filled: Int) -> None:
    """Take multiples of the column off all others in use, and off the last: they become 0 at the cell."""
    entries = np.empty(columns.shape[1], dtype=np.int64)
    count, turned = list_moved(columns[column], entries, filled), columns[column, cell] != 1
    for k in range(left + 1):
        other = k if k < left else len(columns) - 1
        entry = columns[other, cell]
        if other == column or entry == 0:
            continue
        factor = entry if turned else 2147483647 - entry
        add_multiple(columns[other], factor, entries, filled, count)
        if k < left:
            sizes[other] = _largest(columns[other])


@inner
def _largest(column: Int32) -> int:
    """The largest absolute value of a column."""
    most = 0
    for i in range(len(column)):
        most = max(most, size_of(column[i]))
    return most


@inner
def misses(columns: Int32Table, column: int, cell: int, primaries: Int) -> bool:
    """Whether the last column, made 0 at the cell by a multiple of `column`, misses a primary."""
    last = len(columns) - 1
    here, there = columns[column, cell], 2147483647 - columns[last, cell]
    for k in range(len(primaries)):
        p = primaries[k]
        entry = columns[column, p]
        if entry != 0 and residue(residue(columns[last, p] * here) + there * entry) == 0:
            return True
    return False
