"""The finest cells of a table, and linked tables whose finest cells overlap without being the same.

A cell that a relation gives as the sum of others says nothing that these do not; all other cells are
*finest*. Linked tables that cut the same contributors up in different ways (region by industry, and region by
size) have finest cells of their own, of which none contains the other. Whoever knows who stands where knows
of relations between them that no table states.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from cellveil.arrays import Bool, Codes, Int
from cellveil.tables.dimension import Dimension
from cellveil.tables.relations import Relations


def sums_of_others(relations: Relations) -> Bool:
    """The cells that a relation gives as the plain sum of other cells: −1 for the one, 1 for all others.

    Examples
    --------
    >>> sums_of_others(Relations.from_rows(4, [[(0, -1), (1, 1), (2, 1)]])).tolist()
    [True, False, False, False]
    """
    total, row = total_of_rows(relations), relations.row_of_entry
    is_plain = (total >= 0) & (np.diff(relations.indptr) > 1) & (relations.rhs == 0)
    is_total = is_plain[row] & (relations.cells == total[row]) & (relations.coefs == -1)
    sums = np.zeros(relations.num_cells, dtype=bool)
    sums[relations.cells[is_total]] = True
    return sums


def plain_sums(relations: Relations) -> dict[int, list[list[int]]]:
    """The cells that relations give as plain sums of others, and the others of each of these relations.

    Examples
    --------
    >>> plain_sums(Relations.from_rows(4, [[(0, -1), (1, 1), (2, 1)]]))
    {0: [[1, 2]]}
    """
    found: dict[int, list[list[int]]] = {}
    total = total_of_rows(relations)
    plain = (total >= 0) & (np.diff(relations.indptr) > 1) & (relations.rhs == 0)
    for row in np.flatnonzero(plain).tolist():
        cells, _ = relations.row(row)
        found.setdefault(int(total[row]), []).append(cells[cells != total[row]].tolist())
    return found


def stand_once(relations: Relations, counts: Int) -> bool:
    """Whether every contributor stands in one of the finest cells only, by the numbers of contributors.

    That is so where some cell is the sum of all finest cells, each taken once, and has as many contributors
    as they have together.

    Examples
    --------
    >>> rows = Relations.from_rows(3, [[(0, -1), (1, 1), (2, 1)]])
    >>> stand_once(rows, np.array([5, 2, 3])), stand_once(rows, np.array([4, 2, 3]))
    (True, False)
    """
    finest = ~sums_of_others(relations)
    total, row = total_of_rows(relations), relations.row_of_entry
    is_plain = (total >= 0) & (np.diff(relations.indptr) > 1) & (relations.rhs == 0)
    is_sum = is_plain[row] & (relations.cells == total[row]) & (relations.coefs == -1)
    made_by = np.full(relations.num_cells, -1, dtype=np.int64)
    made_by[relations.cells[is_sum]] = row[is_sum]
    candidates = np.flatnonzero(~finest & (counts == counts.max(initial=0)))
    return any(_consists_of(relations, made_by, int(cell), finest, counts) for cell in candidates[:1])


def _consists_of(relations: Relations, made_by: Int, cell: int, finest: Bool, counts: Int) -> bool:
    """Whether a cell is the sum of all finest cells, each once, and its contributors theirs together."""
    times = np.zeros(relations.num_cells, dtype=np.int64)
    stack = [cell]
    while stack:
        at = stack.pop()
        times[at] += 1
        if times[at] > 1:
            return False
        if made_by[at] >= 0:
            cells, coefs = relations.row(int(made_by[at]))
            stack += cells[(cells != at) & (coefs == 1)].tolist()
    return bool((times[finest] == 1).all() and counts[finest].sum() == counts[cell])


def contents_of_codes(keys: Sequence[Codes], axis: int, relations: Relations) -> dict[int, set[int]]:
    """For codes of one dimension that relations give as the sum of others: the finest codes they consist of.

    Only relations count whose cells agree in all other dimensions.
    """
    row, total = relations.row_of_entry, total_of_rows(relations)
    alike = (total >= 0) & (relations.rhs == 0)
    first = relations.indptr[:-1]
    filled = np.diff(relations.indptr) > 1
    for other, column in enumerate(keys):
        if other != axis and len(row):
            codes = column[relations.cells]
            differs = codes != codes[np.minimum(first, len(codes) - 1)][row]
            alike &= np.bincount(row[differs], minlength=len(alike)) == 0
    parts: dict[int, set[int]] = {}
    for number in np.flatnonzero(alike & filled).tolist():
        cells, coefs = relations.row(number)
        codes = keys[axis][cells]
        whole = int(keys[axis][total[number]])
        if (coefs[cells == total[number]] == -1).all() and len(set(codes.tolist())) == len(codes):
            below = set(codes[cells != total[number]].tolist())
            parts.setdefault(whole, set())
            parts[whole] |= below if not parts[whole] else set()

    def finest(code: int, above: frozenset[int]) -> set[int]:
        if code not in parts or code in above:
            return {code}
        return set().union(*(finest(part, above | {code}) for part in parts[code]))

    return {code: finest(code, frozenset()) for code in parts}


def total_of_rows(relations: Relations) -> Int:
    """The total of each relation: the only cell of its sign where all coefficients are ±1; −1 where none is.

    Where both signs stand alone it is the negative one.
    """
    row, size = relations.row_of_entry, len(relations)
    total = np.full(size, -1, dtype=np.int64)
    for sign in (1, -1):
        entry = np.sign(relations.coefs) == sign
        first = entry & (np.bincount(row[entry], minlength=size) == 1)[row]
        total[row[first]] = relations.cells[first]
    total[row[np.abs(relations.coefs) != 1]] = -1
    return total


def is_interior(dimensions: Sequence[Dimension], keys: Sequence[Codes]) -> Bool:
    """Which cells have no code that is the total of others."""
    interior = np.ones(len(keys[0]), dtype=bool)
    for dimension, column in zip(dimensions, keys, strict=True):
        interior &= ~dimension.is_parent[column]
    return interior


def overlapping_tables(
    dimensions: Sequence[Dimension], keys: Sequence[Codes], relations: Relations, tables: Sequence[Int]
) -> list[tuple[int, int]]:
    """Pairs of tables, each with finest cells that the other does not have, which may hold the same things.

    Parameters
    ----------
    dimensions, keys, relations
        Of the joint table.
    tables
        For each table the numbers of its cells in the joint one.
    """
    is_sum = sums_of_others(relations)
    finest = [cells[~is_sum[cells]] for cells in tables]
    pairs = []
    for one, other in combinations(range(len(tables)), 2):
        own = np.setdiff1d(finest[one], finest[other]), np.setdiff1d(finest[other], finest[one])
        if all(len(cells) for cells in own) and all(
            _at_or_below(dimension, column[own[0]]) & _at_or_below(dimension, column[own[1]])
            for dimension, column in zip(dimensions, keys, strict=True)
        ):
            pairs.append((one, other))
    return pairs


def _at_or_below(dimension: Dimension, codes: Codes) -> set[int]:
    """These codes and all that they are made of."""
    parts: dict[int, list[int]] = {}
    for equation in dimension.equations:
        whole = equation.parent if equation.parent >= 0 else equation.codes[0]
        parts.setdefault(whole, []).extend(equation.codes)
    stack = np.unique(codes).tolist()
    seen = set(stack)
    while stack:
        new = set(parts.get(stack.pop(), ())) - seen
        seen |= new
        stack.extend(new)
    return seen
