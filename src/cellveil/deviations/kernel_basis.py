"""An integer basis of the null space: whole deviations that span all deviations of given cells.

Sparse elimination with pivots ±1 goes as far as it goes (`cellveil.deviations.integer_kernel`). What is left
is a small dense block. Its reduced rows are computed modulo a prime of 61 bits, and each entry is read as the
fraction with the smallest terms (rational reconstruction). Multiplied by its common denominator, every vector
is whole.

Requires nothing of the relations. Ensures M K = 0 exactly, which is checked; returns None where entries do
not fit into 64 bits or a fraction has large terms.
"""

from __future__ import annotations

from math import isqrt, lcm

import numpy as np

from cellveil.arrays import Float, Int
from cellveil.deviations.integer_kernel import Elimination, LatticeParams
from cellveil.loops.integer_kernel import back_substitute
from cellveil.solvers.exact_elimination import reduced_rows_modulo
from cellveil.tables.relations import Relations

PRIME = 2**61 - 1

LARGEST = 2**40
"""Entries of a basis beyond this are of no use."""


def kernel_basis(relations: Relations, cells: Int, preference: Float, most: int) -> Int | None:
    """The matrix K, a row for each cell: deviations of the cells are its combinations.

    Parameters
    ----------
    cells
        Cells that may move, ascending.
    preference
        Where there is a choice, cells with a high figure are given by the others.
    most
        Columns at most; None is returned where there are more.
    """
    elimination = Elimination(relations, cells, preference, LatticeParams())
    elimination.run()
    columns, block = elimination.rest()
    is_free = np.ones(len(cells), dtype=bool)
    is_free[[column for column, _, _ in elimination.pivots]] = False
    is_free[columns] = False
    free = np.flatnonzero(is_free)
    if len(free) + len(columns) - len(block) > most:
        return None
    dense = whole_null_space(block) if len(columns) else np.zeros((0, 0), dtype=np.int64)
    if dense is None or len(free) + dense.shape[1] > most:
        return None
    basis = np.zeros((len(free) + dense.shape[1], len(cells)), dtype=np.int64)
    basis[np.arange(len(free)), free] = 1
    if len(columns):
        basis[len(free) :, columns] = dense.T
    pivots = elimination.pivots[::-1]
    arrays = (
        np.array([column for column, _, _ in pivots], dtype=np.int64),
        np.array([coef for _, coef, _ in pivots], dtype=np.int64),
        np.cumsum([0, *(len(rest) for _, _, rest in pivots)]).astype(np.int64),
        np.array([q for _, _, rest in pivots for q in rest], dtype=np.int64),
        np.array([b for _, _, rest in pivots for b in rest.values()], dtype=np.int64),
    )
    kept = [back_substitute(vector, *arrays) and np.abs(vector).max() <= LARGEST for vector in basis]
    basis = basis[kept].T
    return basis if _is_kernel(relations, cells, basis) else None


def whole_null_space(block: Int) -> Int | None:
    """Whole vectors that span the null space of a dense block; None where a fraction has large terms."""
    rows, pivots = reduced_rows_modulo(block, PRIME)
    count = block.shape[1]
    others = np.setdiff1d(np.arange(count), pivots).tolist()
    kernel = np.zeros((count, len(others)), dtype=np.int64)
    for number, free in enumerate(others):
        terms = [_fraction(PRIME - row[free]) if row[free] else (0, 1) for row in rows]
        common = lcm(*(bottom for _, bottom in terms))
        largest = max((abs(top) * (common // max(bottom, 1)) for top, bottom in terms), default=0)
        if common == 0 or max(common, largest) > LARGEST:
            continue
        kernel[free, number] = common
        kernel[pivots, number] = [top * (common // bottom) for top, bottom in terms]
    return kernel[:, kernel.any(axis=0)]


def _fraction(residue: int) -> tuple[int, int]:
    """The fraction with small terms that a residue stands for; the bottom is 0 where there is none."""
    limit = isqrt(PRIME // 2)
    high, low, above, below = PRIME, residue, 0, 1
    while low > limit:
        quotient = high // low
        high, low = low, high - quotient * low
        above, below = below, above - quotient * below
    if abs(below) > limit:
        return 0, 0
    return (low, below) if below > 0 else (-low, -below)


def _is_kernel(relations: Relations, cells: Int, basis: Int) -> bool:
    """Whether all columns are deviations, exactly: entries and relations are short enough for 64 bits."""
    from scipy.sparse import csr_array

    rows, columns = relations.row_of_entry, relations.cells
    place = np.full(relations.num_cells, -1, dtype=np.int64)
    place[cells] = np.arange(len(cells))
    kept = place[columns] >= 0
    matrix = csr_array(
        (relations.coefs[kept], (rows[kept], place[columns[kept]])), shape=(len(relations), len(cells))
    )
    sizes = np.asarray(abs(matrix).sum(axis=1)).ravel()
    if float(sizes.max(initial=0)) * float(np.abs(basis).max(initial=0)) >= 2.0**62:
        return False
    return not np.asarray(matrix @ basis).any()
