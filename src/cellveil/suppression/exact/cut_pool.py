"""The cut pool: every capacity cut found, each once, as one matrix, and the capacities behind them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cellveil.arrays import Float, Int
from cellveil.params import Params, param, part
from cellveil.solvers.cutting_planes import Row
from cellveil.suppression.exact.capacity_cuts import Capacity, CutParams

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True, kw_only=True)
class CutPoolParams(Params):
    """Parameters of the pool of capacity cuts."""

    most: int = param(6_000, "Capacities kept; beyond it the half that served last stays.", least=2)
    granted: tuple[float, ...] = param(
        (1.0 - 1e-6, 0.6, 0.3), "Values of x from which on cells are fixed at 1 in cover cuts.", least=0
    )
    cuts: CutParams = part(CutParams)


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


class Capacities:
    """Capacities, looked through all at once.

    Attributes
    ----------
    items
        All that are kept.
    """

    def __init__(self, params: CutPoolParams | None = None) -> None:
        self.params = params or CutPoolParams()
        self.items: list[Capacity] = []
        self._keys: set[tuple[bytes, bytes, float]] = set()
        self._served: list[int] = []
        self._clock = 0
        self._columns, self._reach = np.zeros(0, dtype=np.int64), np.zeros(0)
        self._count = 0

    def __len__(self) -> int:
        return len(self.items)

    def add(self, capacity: Capacity | None) -> bool:
        """Take one in; tell whether it is new, and says anything."""
        if capacity is None or not len(capacity.columns) or capacity.key in self._keys:
            return False
        self._keys.add(capacity.key)
        self.items.append(capacity)
        self._served.append(self._clock)
        return True

    def violated_cuts(self, x: Float, by: float, most: int) -> list[Row]:
        """Rows that a point breaks by more than this, with cells taken for granted to break them most."""
        if not self.items:
            return []
        self._clock += 1
        self._forget()
        missing = self._missing(x)
        order = np.argsort(-missing, kind="stable")[:most]
        rows = []
        for number in order[missing[order] > by].tolist():
            row = self.items[number].rounded_against(x, self.params.cuts)
            if row.violation(x) > by:
                self._served[number] = self._clock
                rows.append(row)
        return rows

    def _missing(self, x: Float) -> Float:
        """For each about how much the point lacks, at the best of some levels."""
        self._gather()
        sizes = np.array([len(item.columns) for item in self.items])
        starts = np.cumsum(sizes) - sizes
        left = np.array([item.left for item in self.items])
        least = np.array([item.least for item in self.items])
        share = x[self._columns]
        best = np.full(len(sizes), -np.inf)
        for level in (np.inf, *self.params.granted):
            granted = share >= level
            rest = left - np.add.reduceat(np.where(granted, self._reach, 0.0), starts)
            asked = rest > least
            safe = np.repeat(np.where(asked, rest, 1.0), sizes)
            cut = np.where(granted, 0.0, np.minimum(self._reach / safe, 1.0) * share)
            best = np.maximum(best, np.where(asked, 1.0 - np.add.reduceat(cut, starts), -np.inf))
        return best

    def _gather(self) -> None:
        new = self.items[self._count :]
        if new:
            self._columns = np.concatenate([self._columns, *(item.columns for item in new)])
            self._reach = np.concatenate([self._reach, *(item.reach for item in new)])
            self._count = len(self.items)

    def _forget(self) -> None:
        if len(self.items) <= self.params.most:
            return
        kept = np.sort(np.argsort(-np.array(self._served), kind="stable")[: self.params.most // 2])
        gone = set(range(len(self.items))) - set(kept.tolist())
        self._keys -= {self.items[number].key for number in gone}
        self.items = [self.items[number] for number in kept.tolist()]
        self._served = [self._served[number] for number in kept.tolist()]
        self._columns, self._reach, self._count = np.zeros(0, dtype=np.int64), np.zeros(0), 0
