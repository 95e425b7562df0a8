"""What cutting planes need: rows, and a live LP that grows by rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cellveil.arrays import Float, Int
from cellveil.errors import SolverError


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
    """Point, multipliers of the rows, objective; `is_optimal` tells whether they are more than a guess."""

    is_optimal: bool
    point: Float
    multipliers: Float
    objective: float


class GrowingLP:
    """min cost·x subject to rows a·x ≥ b, lower ≤ x ≤ upper; rows come and go, the basis stays.

    Parameters
    ----------
    cost
        One per column.
    lower, upper
        Bounds of the columns.
    """

    def __init__(self, cost: Float, lower: Float, upper: Float) -> None:
        import highspy

        api: Any = highspy
        self._api, self._solver = api, api.Highs()
        model = api.HighsLp()
        n = len(cost)
        model.num_row_, model.num_col_ = 0, n
        model.col_cost_, model.col_lower_, model.col_upper_ = cost, lower, upper
        model.row_lower_ = model.row_upper_ = np.zeros(0)
        model.a_matrix_.format_ = api.MatrixFormat.kRowwise
        model.a_matrix_.start_, model.a_matrix_.index_ = np.zeros(1, dtype=np.int32), np.zeros(0, np.int32)
        model.a_matrix_.value_ = np.zeros(0)
        for option, value in (("output_flag", False), ("threads", 1), ("presolve", "off")):
            self._must(self._solver.setOptionValue(option, value))
        self._must(self._solver.passModel(model))

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
        self._must(self._solver.addRows(len(rows), least, most, len(index), starts, index, value))

    def drop(self, numbers: Int) -> None:
        """Remove rows; those after them move up."""
        if len(numbers):
            self._must(self._solver.deleteRows(len(numbers), numbers.astype(np.int32)))

    def solve(self, time_limit: float | None = None) -> Relaxed:
        """Solve from the last basis."""
        limit = np.inf if time_limit is None else self._solver.getRunTime() + max(time_limit, 0.0)
        self._must(self._solver.setOptionValue("time_limit", limit))  # always: it would bind the next solve
        self._solver.run()
        is_optimal = self._solver.getModelStatus() == self._api.HighsModelStatus.kOptimal
        solution = self._solver.getSolution()
        objective = float(self._solver.getInfo().objective_function_value)
        point, multipliers = np.array(solution.col_value), np.array(solution.row_dual)
        return Relaxed(is_optimal, point, multipliers, objective)

    def _must(self, status: Any) -> None:
        if status == self._api.HighsStatus.kError:
            raise SolverError("the LP solver rejected rows. Please report this with the table's shape.")
