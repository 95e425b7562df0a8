"""Sparse linear relations between cells, in exact integer arithmetic.

Row j says Σ coefs · values[cells] = rhs[j]. For tables made here rhs is 0; instance files may carry others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Int, freeze

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True, eq=False)
class SparseColumns:
    """The relations of each cell: cell i stands in ``rows[indptr[i]:indptr[i + 1]]``, with these coefs."""

    indptr: Int
    rows: Int
    coefs: Int


@dataclass(frozen=True, repr=False, eq=False)
class Relations:
    """Relations in compressed rows.

    Parameters
    ----------
    num_cells
        How many cells there are.
    indptr
        Row j holds the entries ``indptr[j]:indptr[j + 1]``.
    cells, coefs
        Cell number and coefficient of each entry; a cell stands in a row at most once.
    rhs
        Right-hand side of each row, in units of the last digit.

    Examples
    --------
    >>> relations = Relations.from_rows(3, [[(0, -1), (1, 1), (2, 1)]])
    >>> relations
    Relations(1 relations over 3 cells)
    >>> relations.residuals(np.array([10, 4, 6]))
    {}
    >>> relations.residuals(np.array([10, 4, 5]))
    {0: -1}
    """

    num_cells: int
    indptr: Int
    cells: NDArray[np.int32]
    coefs: Int
    rhs: Int

    def __post_init__(self) -> None:
        freeze(self, ("indptr", "cells", "coefs", "rhs"))

    def __repr__(self) -> str:
        return f"Relations({len(self)} relations over {self.num_cells} cells)"

    def __len__(self) -> int:
        return len(self.rhs)

    @classmethod
    def from_rows(
        cls, num_cells: int, rows: Sequence[Sequence[tuple[int, int]]], rhs: Sequence[int] | None = None
    ) -> Relations:
        """Build from lists of (cell, coefficient)."""
        lengths = [len(row) for row in rows]
        flat = [entry for row in rows for entry in row]
        return cls(
            num_cells,
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            np.array([cell for cell, _ in flat], dtype=np.int32),
            np.array([coef for _, coef in flat], dtype=np.int64),
            np.zeros(len(rows), dtype=np.int64) if rhs is None else np.array(rhs, dtype=np.int64),
        )

    @classmethod
    def empty(cls, num_cells: int) -> Relations:
        """No relations."""
        return cls.from_rows(num_cells, [])

    @cached_property
    def row_of_entry(self) -> Int:
        """Row number of each entry."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.indptr))

    @cached_property
    def matrix(self) -> csr_matrix:
        """The coefficients as a SciPy matrix of floats."""
        from scipy.sparse import csr_matrix

        entries = self.coefs.astype(np.float64), self.cells.copy(), self.indptr.copy()  # SciPy may sort them
        return csr_matrix(entries, shape=(len(self), self.num_cells))

    @cached_property
    def columns(self) -> SparseColumns:
        """The same entries, cell by cell."""
        order = np.argsort(self.cells, kind="stable")
        counts = np.bincount(self.cells, minlength=self.num_cells)
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return SparseColumns(indptr, self.row_of_entry[order], self.coefs[order])

    def row(self, number: int) -> tuple[NDArray[np.int32], Int]:
        """Cells and coefficients of one relation."""
        part = slice(self.indptr[number], self.indptr[number + 1])
        return self.cells[part], self.coefs[part]

    def residuals(self, values: Int) -> dict[int, int]:
        """Rows that do not hold, with coefs · values − rhs, exactly (also beyond 64 bits)."""
        if not self._fits_in_halves:
            return self._residuals_one_by_one(values)
        low = values & 0x7FFFFFFF
        high = values >> 31
        wrong_low = self._row_sums(low) - (self.rhs & 0x7FFFFFFF)
        wrong_high = self._row_sums(high) - (self.rhs >> 31)
        carried = wrong_high + (wrong_low >> 31)
        suspects = np.flatnonzero((carried != 0) | (wrong_low & 0x7FFFFFFF != 0))
        return {int(row): (int(wrong_high[row]) << 31) + int(wrong_low[row]) for row in suspects}

    def with_constants(self, values: Int) -> Relations:
        """The relations that these values satisfy: what a row is off by becomes its constant."""
        rhs = self.rhs.copy()
        for row, off in self.residuals(values).items():
            rhs[row] += off
        return Relations(self.num_cells, self.indptr, self.cells, self.coefs, rhs)

    @cached_property
    def _fits_in_halves(self) -> bool:
        """Whether a row's sum of coefficients times 31-bit halves of values stays within 64 bits."""
        longest = int(np.diff(self.indptr).max(initial=0))
        return int(np.abs(self.coefs).max(initial=0)) * longest < 2**31

    def _residuals_one_by_one(self, values: Int) -> dict[int, int]:
        wrong = {}
        for row, rhs in enumerate(self.rhs.tolist()):
            cells, coefs = self.row(row)
            left = sum(a * b for a, b in zip(coefs.tolist(), values[cells].tolist(), strict=True))
            if left != rhs:
                wrong[row] = left - rhs
        return wrong

    def take_rows(self, rows: Int) -> Relations:
        """Return the relations with these numbers."""
        lengths = np.diff(self.indptr)[rows]
        starts = self.indptr[:-1][rows]
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        entries = np.repeat(starts - indptr[:-1], lengths) + np.arange(indptr[-1])
        return Relations(self.num_cells, indptr, self.cells[entries], self.coefs[entries], self.rhs[rows])

    def renumber(self, num_cells: int, new_number: Int) -> Relations:
        """Return the same relations over other cell numbers (cell i becomes ``new_number[i]``)."""
        return Relations(
            num_cells, self.indptr, new_number[self.cells].astype(np.int32), self.coefs, self.rhs
        )

    def distinct(self) -> Relations:
        """Drop rows that repeat an earlier one (same cells, coefficients up to sign)."""
        return self.take_rows(self.rows_beyond(()))

    def rows_beyond(self, known: Iterable[bytes]) -> Int:
        """Numbers of the rows with other keys than these and than earlier rows."""
        seen, fresh = set(known), []
        for row, key in enumerate(self.keys()):
            if key not in seen:
                seen.add(key)
                fresh.append(row)
        return np.array(fresh, dtype=np.int64)

    def keys(self) -> list[bytes]:
        """One key per relation, equal for relations that say the same up to sign and order."""
        order = np.lexsort((self.cells, self.row_of_entry))
        cells, coefs = self.cells[order], self.coefs[order]
        keys = []
        for start, end, rhs in zip(
            self.indptr[:-1].tolist(), self.indptr[1:].tolist(), self.rhs.tolist(), strict=True
        ):
            sign = -1 if end > start and coefs[start] < 0 else 1
            part = cells[start:end].tobytes() + (sign * coefs[start:end]).tobytes()
            keys.append(part + str(sign * rhs).encode())
        return keys

    def canonical(self) -> Relations:
        """The same relations, each once, in an order and with signs that do not depend on how they came.

        Examples
        --------
        >>> one = Relations.from_rows(3, [[(0, -1), (1, 1)], [(2, 1), (1, -1)]])
        >>> other = Relations.from_rows(3, [[(1, 1), (2, -1)], [(1, -1), (0, 1)], [(0, 1), (1, -1)]])
        >>> one.canonical().cells.tolist() == other.canonical().cells.tolist()
        True
        """
        row = self.row_of_entry
        order = np.lexsort((self.cells, row))
        sign = np.ones(len(self), dtype=np.int64)
        filled = np.flatnonzero(np.diff(self.indptr))
        sign[filled] = np.where(self.coefs[order][self.indptr[filled]] < 0, -1, 1)
        arranged = Relations(
            self.num_cells, self.indptr, self.cells[order], self.coefs[order] * sign[row], self.rhs * sign
        )
        marks = arranged._fingerprints()
        ranked = np.lexsort((np.diff(self.indptr), arranged.rhs, marks))
        same = np.flatnonzero(marks[ranked][1:] == marks[ranked][:-1])
        repeats = [
            place + 1 for place in same.tolist() if arranged._equal(*ranked[place : place + 2].tolist())
        ]
        return arranged.take_rows(np.delete(ranked, repeats))

    def _fingerprints(self) -> NDArray[np.uint64]:
        """A number for each row, equal for equal rows and hardly ever for others."""
        entries = _mixed(_mixed(self.cells.astype(np.uint64)) ^ self.coefs.view(np.uint64))
        running = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(entries, dtype=np.uint64)])
        return np.asarray(running[self.indptr[1:]] - running[self.indptr[:-1]], dtype=np.uint64)

    def _equal(self, one: int, other: int) -> bool:
        (cells, coefs), (others, theirs) = self.row(one), self.row(other)
        is_alike = np.array_equal(cells, others) and np.array_equal(coefs, theirs)
        return is_alike and bool(self.rhs[one] == self.rhs[other])

    @staticmethod
    def stack(parts: Sequence[Relations]) -> Relations:
        """Put relations over the same cells below each other."""
        offsets = np.cumsum([0, *(len(part.cells) for part in parts)])
        return Relations(
            parts[0].num_cells,
            np.concatenate([[0], *(p.indptr[1:] + o for p, o in zip(parts, offsets, strict=False))]).astype(
                np.int64
            ),
            np.concatenate([part.cells for part in parts]),
            np.concatenate([part.coefs for part in parts]),
            np.concatenate([part.rhs for part in parts]),
        )

    def _row_sums(self, values: Int) -> Int:
        running = np.concatenate([[0], np.cumsum(self.coefs * values[self.cells])])
        return np.asarray(running[self.indptr[1:]] - running[self.indptr[:-1]], dtype=np.int64)


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread the bits (the finaliser of splitmix64); wraps on purpose."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)), dtype=np.uint64)
