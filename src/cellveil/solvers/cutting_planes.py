"""Cutting planes: rows a·x ≥ b, and a live LP that grows by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cellveil.arrays import Float, Int
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.solvers.highs import HighsModel, LPStatus


@dataclass(frozen=True, eq=False)
class Row:
    """Σ shares · x[columns] ≥ rhs."""

    columns: Int
    shares: Float
    rhs: float

    def violation(self, x: Float) -> float:
        """How much is missing."""
        return self.rhs - float(self.shares @ x[self.columns])

    @cached_property
    def key(self) -> tuple[bytes, bytes]:
        """The same for rows that say the same."""
        return self.columns.tobytes(), self.shares.tobytes()


@dataclass(frozen=True)
class Relaxed:
    """Point, dual variables of the rows, objective; `is_optimal` tells whether they are more than a guess."""

    is_optimal: bool
    point: Float
    multipliers: Float
    objective: float


class GrowingLP(HighsModel):
    """min cost·x subject to rows a·x ≥ b, lower ≤ x ≤ upper; rows come and go, the basis stays.

    Parameters
    ----------
    cost
        One per column.
    lower, upper
        Bounds of the columns.
    """

    def __init__(self, cost: Float, lower: Float, upper: Float) -> None:
        from scipy.sparse import csr_matrix

        nothing = np.zeros(0)
        empty = csr_matrix((0, len(cost)))
        super().__init__(empty, (nothing, nothing), cost, (lower, upper), presolve="off")

    def add(self, rows: Sequence[Row]) -> None:
        """Add rows at the end."""
        if not rows:
            return
        lengths = [len(row.columns) for row in rows]
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int32)
        index = np.concatenate([row.columns for row in rows]).astype(np.int32)
        value = np.concatenate([row.shares for row in rows]).astype(np.float64)
        least = np.array([row.rhs for row in rows])
        most = np.full(len(rows), np.inf)
        self.must(self._solver.addRows(len(rows), least, most, len(index), starts, index, value))

    def drop(self, numbers: Int) -> None:
        """Remove rows; those after them move up."""
        if len(numbers):
            self.must(self._solver.deleteRows(len(numbers), numbers.astype(np.int32)))

    def solve(self, deadline: Deadline = NO_LIMIT) -> Relaxed:
        """Solve from the last basis."""
        is_optimal = self.run(deadline) is LPStatus.OPTIMAL
        solution, objective = self.solution, float(self.info.objective_function_value)
        return Relaxed(is_optimal, np.array(solution.col_value), np.array(solution.row_dual), objective)
