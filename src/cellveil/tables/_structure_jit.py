"""Loops of `cellveil.tables.structure`: which relations are copies of one equation, and which cross.

Relations are given by `total[r]`, the cell that is the sum, and their parts, twice: relation r has the parts
``parts[part_ptr[r]:part_ptr[r + 1]]``, and cell z is a part in ``above[above_ptr[z]:above_ptr[z + 1]]``.
"""

from __future__ import annotations

import numpy as np

from cellveil.jit.compiled import inner, outer
from cellveil.jit.kinds import BoolTable, Int, IntTable


@inner
def find(leader: Int, i: int) -> int:
    """The leader of the group of i; shortens the way."""
    while leader[i] != i:
        leader[i] = leader[leader[i]]
        i = int(leader[i])
    return i


@inner
def unite(leader: Int, i: int, j: int) -> None:
    """Put two groups together under the smaller leader."""
    i, j = find(leader, i), find(leader, j)
    if i < j:
        leader[j] = i
    else:
        leader[i] = j


@outer
def lifted(total: Int, part_ptr: Int, parts: Int, above_ptr: Int, above: Int, lifts: IntTable) -> bool:
    """Write for each relation r those it is lifted to: its copies one step up in another dimension.

    Relation r' is one where every part z of r stands in a further relation whose total z' is a part of r',
    the z' are distinct, and the totals of r and r' stand in a relation too, as part and total.
    Line r of `lifts` takes them, and is −1 where there are fewer; returns whether the lines are long enough.
    """
    count, most = lifts.shape
    seen = np.empty(count, dtype=np.int64)  # the relation that counts
    last = np.empty(count, dtype=np.int64)  # the part counted last
    hits = np.zeros(count, dtype=np.int64)
    image = np.empty(len(above), dtype=np.int64)
    seen[:], last[:], image[:] = -1, -1, -1
    touched = np.empty(count, dtype=np.int64)
    for r in range(count):
        top, found = total[r], 0
        for i in range(part_ptr[r], part_ptr[r + 1]):
            z = parts[i]
            for j in range(above_ptr[z], above_ptr[z + 1]):
                if above[j] == r:
                    continue
                middle = total[above[j]]
                for k in range(above_ptr[middle], above_ptr[middle + 1]):
                    meets = False
                    for m in range(above_ptr[top], above_ptr[top + 1]):
                        meets = meets or total[above[m]] == total[above[k]]
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
                    return False
                lifts[r, used] = up
                used += 1
    return True


@outer
def copies(up: IntTable, leader: Int) -> None:
    """Write a leader for each relation: copies of one equation have the same."""
    for r in range(len(up)):
        leader[r] = r
    for r in range(len(up)):
        for up_r in up[r]:
            if up_r >= 0:
                unite(leader, r, up_r)
    for r in range(len(up)):
        leader[r] = find(leader, r)


@outer
def crossings(total: Int, above_ptr: Int, above: Int, up: IntTable, kind: Int, cross: BoolTable) -> None:
    """Mark which kinds of relations cross: a part of both is lifted by both to one corner."""
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


@outer
def same_dimension(cell_ptr: Int, rows: Int, kind: Int, cross: BoolTable, leader: Int) -> bool:
    """Write a leader for each kind: kinds that share a cell without crossing belong to one dimension.

    Returns False where two copies of one equation share a cell, which no table has.
    """
    for k in range(len(leader)):
        leader[k] = k
    for z in range(len(cell_ptr) - 1):
        for i in range(cell_ptr[z], cell_ptr[z + 1]):
            for j in range(cell_ptr[z], i):
                a, b = kind[rows[i]], kind[rows[j]]
                if a == b:
                    return False
                if not cross[a, b]:
                    unite(leader, a, b)
    for k in range(len(leader)):
        leader[k] = find(leader, k)
    return True


@outer
def components(total: Int, part_ptr: Int, parts: Int, axis: Int, without: int, leader: Int) -> None:
    """Write a leader for each cell: cells connected by relations of other dimensions than `without`."""
    for z in range(len(leader)):
        leader[z] = z
    for r in range(len(total)):
        if axis[r] != without:
            for i in range(part_ptr[r], part_ptr[r + 1]):
                unite(leader, total[r], parts[i])
    for z in range(len(leader)):
        leader[z] = find(leader, z)
