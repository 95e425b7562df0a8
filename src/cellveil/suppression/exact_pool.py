"""The pool of rows found so far, each once, looked through as one matrix."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cellveil.solvers.cutting import Row
from cellveil.tables.keys import Int

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Float = NDArray[np.float64]
Bool = NDArray[np.bool_]


class Pool:
    """Rows Σ shares · x[columns] ≥ rhs over so many columns.

    Attributes
    ----------
    rows
        All of them, in the order they came.
    """

    def __init__(self, num_columns: int) -> None:
        self.rows: list[Row] = []
        self._num_columns = num_columns
        self._keys: set[tuple[bytes, bytes]] = set()
        self._matrix: csr_matrix | None = None
        self._rhs: Float = np.zeros(0)

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, rows: Iterable[Row | None]) -> list[Row]:
        """Take in rows; return those that are new."""
        new = []
        for row in rows:
            if row is not None and row.key not in self._keys:
                self._keys.add(row.key)
                new.append(row)
        self.rows += new
        return new

    def broken(self, x: Float, by: float) -> list[Row]:
        """The rows that a point breaks by more than this, the most broken first."""
        missing = self.missing(x)
        numbers = np.flatnonzero(missing > by)
        return [self.rows[k] for k in numbers[np.argsort(-missing[numbers], kind="stable")].tolist()]

    def missing(self, x: Float) -> Float:
        """For each row how much the point lacks."""
        if not self.rows:
            return np.zeros(0)
        matrix, rhs = self.matrix()
        return np.asarray(rhs - matrix @ x)

    def matrix(self) -> tuple[csr_matrix, Float]:
        """The rows as a matrix, and their right sides."""
        from scipy.sparse import csr_matrix, vstack

        known = 0 if self._matrix is None else self._matrix.shape[0]
        if known < len(self.rows) or self._matrix is None:
            new = self.rows[known:]
            block = csr_matrix(
                (
                    np.concatenate([np.zeros(0), *(row.shares for row in new)]),
                    np.concatenate([np.zeros(0, dtype=np.int64), *(row.columns for row in new)]),
                    _starts(new),
                ),
                shape=(len(new), self._num_columns),
            )
            self._matrix = block if self._matrix is None else vstack([self._matrix, block], format="csr")
            self._rhs = np.concatenate([self._rhs, [row.rhs for row in new]])
        return self._matrix, self._rhs


def _starts(rows: list[Row]) -> Int:
    return np.concatenate([[0], np.cumsum([len(row.columns) for row in rows])]).astype(np.int64)
