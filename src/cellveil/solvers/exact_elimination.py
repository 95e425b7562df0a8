"""Fraction-free Gaussian elimination of whole-number matrices (python-flint)."""

from __future__ import annotations

from cellveil.arrays import Int


def reduced_rows(matrix: Int) -> tuple[list[list[tuple[int, int]]], int]:
    """The nonzero rows of the reduced echelon form: pairs of column and coefficient, the pivot first.

    Every pivot has the same coefficient, which comes second.

    Examples
    --------
    >>> import numpy as np
    >>> reduced_rows(np.array([[2, 1, 1], [4, 2, 2]]))
    ([[(0, 2), (1, 1), (2, 1)]], 2)
    """
    import flint

    reduced, scale, rank = flint.fmpz_mat(matrix.tolist()).rref()
    entries = [[int(reduced[row, column]) for column in range(matrix.shape[1])] for row in range(rank)]
    return [[(column, coef) for column, coef in enumerate(row) if coef] for row in entries], int(scale)


def reduced_rows_modulo(matrix: Int, prime: int) -> tuple[list[list[int]], list[int]]:
    """The nonzero rows of the reduced echelon form modulo a prime below 2^63, and the columns of the pivots.

    Examples
    --------
    >>> import numpy as np
    >>> reduced_rows_modulo(np.array([[2, 1, 1], [4, 2, 2]]), 7)
    ([[1, 4, 4]], [0])
    """
    import flint

    entries = [int(entry) % prime for entry in matrix.ravel()]
    reduced, rank = flint.nmod_mat(len(matrix), matrix.shape[1], entries, prime).rref()
    rows = [[int(reduced[row, column]) for column in range(matrix.shape[1])] for row in range(rank)]
    return rows, [next(column for column, entry in enumerate(row) if entry) for row in rows]
