"""Loops of `cellveil.tables.recover`: which relations are copies of one equation, and which cross.

Relations are given by `total[r]`, the cell that is the sum, and their parts, twice: relation r has the parts
``parts[part_ptr[r]:part_ptr[r + 1]]``, and cell z is a part in ``above[above_ptr[z]:above_ptr[z + 1]]``.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Int = NDArray[np.int64]
Bool = NDArray[np.bool_]


@njit(cache=True)
def find(leader: Int, i: int) -> int:
    """The leader of the group of i; shortens the way."""
    while leader[i] != i:
        leader[i] = leader[leader[i]]
        i = int(leader[i])
    return i


@njit(cache=True)
def unite(leader: Int, i: int, j: int) -> None:
    """Put two groups together under the smaller leader."""
    i, j = find(leader, i), find(leader, j)
    if i < j:
        leader[j] = i
    else:
        leader[i] = j


@njit(cache=True)
def lifted(total: Int, part_ptr: Int, parts: Int, above_ptr: Int, above: Int, most: int) -> tuple[Int, bool]:
    """For each relation r those it is lifted to: its copies one step up in another dimension.

    Relation r' is one where every part z of r stands in a further relation whose total z' is a part of r',
    the z' are distinct, and the totals of r and r' stand in a relation too, as part and total.
    Returns them as a table with `most` columns, −1 where there are fewer; and whether that was enough.
    """
    count = len(total)
    result = np.full((count, most), -1, dtype=np.int64)
    seen = np.full(count, -1, dtype=np.int64)  # the relation that counts
    last = np.full(count, -1, dtype=np.int64)  # the part counted last
    hits = np.zeros(count, dtype=np.int64)
    image = np.full(len(above), -1, dtype=np.int64)
    over = total[above]
    touched = np.empty(count, dtype=np.int64)
    for r in range(count):
        top, found = total[r], 0
        for i in range(part_ptr[r], part_ptr[r + 1]):
            z = parts[i]
            for j in range(above_ptr[z], above_ptr[z + 1]):
                if above[j] == r:
                    continue
                middle = over[j]
                for k in range(above_ptr[middle], above_ptr[middle + 1]):
                    meets = False
                    for m in range(above_ptr[top], above_ptr[top + 1]):
                        meets = meets or over[m] == over[k]
                    up = above[k]
                    if not meets or up == r:
                        continue
                    if seen[up] != r:
                        seen[up], last[up], hits[up] = r, -1, 0
                        touched[found] = up
                        found += 1
                    if image[k] == r or last[up] == z:
                        hits[up] = -(2**60)  # two parts with one image, or one part with two
                    image[k], last[up] = r, z
                    hits[up] += 1
        used = 0
        for up in touched[:found]:
            if hits[up] == part_ptr[r + 1] - part_ptr[r]:
                if used == most:
                    return result, False
                result[r, used] = up
                used += 1
    return result, True


@njit(cache=True)
def copies(up: Int) -> Int:
    """A leader for each relation: copies of one equation have the same."""
    leader = np.arange(len(up))
    for r in range(len(up)):
        for up_r in up[r]:
            if up_r >= 0:
                unite(leader, r, up_r)
    for r in range(len(up)):
        leader[r] = find(leader, r)
    return leader


@njit(cache=True)
def crossings(total: Int, above_ptr: Int, above: Int, up: Int, kind: Int, num_kinds: int) -> Bool:
    """Which kinds of relations cross: a part of both is lifted by both to one corner."""
    cross = np.zeros((num_kinds, num_kinds), dtype=np.bool_)
    for z in range(len(above_ptr) - 1):
        for i in range(above_ptr[z], above_ptr[z + 1]):
            for j in range(above_ptr[z], i):
                a, b = above[i], above[j]
                if cross[kind[a], kind[b]]:
                    continue
                for a_up in up[a]:
                    for b_up in up[b]:
                        if a_up >= 0 and b_up >= 0 and total[a_up] == total[b_up]:
                            cross[kind[a], kind[b]] = cross[kind[b], kind[a]] = True
    return cross


@njit(cache=True)
def same_dimension(cell_ptr: Int, rows: Int, kind: Int, cross: Bool) -> tuple[Int, bool]:
    """A leader for each kind: kinds that share a cell without crossing belong to one dimension.

    Also whether two copies of one equation share a cell, which no table has.
    """
    leader = np.arange(len(cross))
    for z in range(len(cell_ptr) - 1):
        for i in range(cell_ptr[z], cell_ptr[z + 1]):
            for j in range(cell_ptr[z], i):
                a, b = kind[rows[i]], kind[rows[j]]
                if a == b:
                    return leader, False
                if not cross[a, b]:
                    unite(leader, a, b)
    for k in range(len(leader)):
        leader[k] = find(leader, k)
    return leader, True


@njit(cache=True)
def components(total: Int, part_ptr: Int, parts: Int, axis: Int, without: int, num_cells: int) -> Int:
    """A leader for each cell: cells connected by relations of other dimensions than `without`."""
    leader = np.arange(num_cells)
    for r in range(len(total)):
        if axis[r] != without:
            for i in range(part_ptr[r], part_ptr[r + 1]):
                unite(leader, total[r], parts[i])
    for z in range(num_cells):
        leader[z] = find(leader, z)
    return leader
