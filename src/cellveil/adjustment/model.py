"""What an adjustment has to respect: how far each cell may move, and how far sensitive cells must.

An adjustment y (published value − true value) keeps M y = 0. Every cell stays within its bounds and limits,
−down ≤ y ≤ up; cells that must be published as they are (and zeros) do not move. A sensitive cell moves to or
beyond one of its levels: y ≥ rise or y ≤ −fall. Which of the two is its *sense*.

A sliding level that is wider than both levels together widens both by halves. A level of 0 protects nothing:
a cell with only one level has only one sense.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from cellveil.adjustment.adjust_params import AdjustParams
from cellveil.arrays import Bool, Float, Int
from cellveil.errors import AdjustmentError, InputError, counted, nearest_name
from cellveil.problem import Problem, Status
from cellveil.tables.relations import Relations
from cellveil.tables.scaled import UNBOUNDED
from cellveil.tables.table import Table

Objective = Literal["l1", "value", "given", "l2"]
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)

INTERIOR, MARGINAL, GRAND_TOTAL = 0, 1, 2


@dataclass(frozen=True)
class Limits:
    """How far cells that are not sensitive may move, in per cent of their values; None: as bounds allow.

    Parameters
    ----------
    interior
        Cells that are no totals.
    marginals
        Totals other than the grand total.
    total
        The grand total: totals that are parts of nothing. 0 keeps it.
    """

    interior: float | None = None
    marginals: float | None = None
    total: float | None = None

    def __post_init__(self) -> None:
        for name in ("interior", "marginals", "total"):
            percent = getattr(self, name)
            if percent is not None and not 0 <= percent < np.inf:
                raise InputError(f"the limit of {name} is not a share", remedy="Give per cent, 0 or more.")

    @classmethod
    def same(cls, percent: float | None) -> Limits:
        """One limit for all."""
        return cls(percent, percent, percent)


@dataclass(frozen=True, eq=False)
class Model:
    """The rooms, levels and weights of one adjustment; amounts in units of the last digit.

    Parameters
    ----------
    down, up
        How far each cell may fall and rise.
    cells
        The sensitive cells, ascending; what follows is per sensitive cell.
    rise, fall
        The least movements.
    can_rise, can_fall
        Which senses are possible at all.
    weight, power
        The objective is Σ weight · |y| ** power.
    params
        Tuning numbers of the engines that work on the model.
    """

    problem: Problem
    down: Int
    up: Int
    cells: Int
    rise: Int
    fall: Int
    can_rise: Bool
    can_fall: Bool
    weight: Float
    power: int
    params: AdjustParams = field(default_factory=AdjustParams)

    @property
    def relations(self) -> Relations:
        """How the cells add up."""
        return self.problem.table.relations

    @property
    def is_movable(self) -> Bool:
        """Which cells may move."""
        return (self.down > 0) | (self.up > 0)

    @cached_property
    def place(self) -> Int:
        """The number of each cell among the sensitive ones, −1 for others."""
        place = np.full(self.relations.num_cells, -1)
        place[self.cells] = np.arange(len(self.cells))
        return place

    @cached_property
    def is_inner(self) -> Bool:
        """Which cells are no totals."""
        return np.asarray(kinds_of_cells(self.problem.table) == INTERIOR)

    def possible(self, wanted: Bool) -> Bool:
        """The senses that are wanted (True: rise), where they are possible."""
        return np.asarray((wanted & self.can_rise) | ~self.can_fall)

    def cost(self, y: NDArray[np.generic]) -> float:
        """The objective, in the table's own unit."""
        size = np.abs(np.asarray(y, dtype=np.float64))
        return float((self.weight * (size if self.power == 1 else size * size)).sum())

    def rooms(self, senses: Bool) -> tuple[Int, Int]:
        """Least and greatest y of every cell, given the senses (True: rise)."""
        low, high = -self.down, self.up.copy()
        low[self.cells] = np.where(senses, self.rise, low[self.cells])
        high[self.cells] = np.where(senses, high[self.cells], -self.fall)
        return low, high

    def senses_of(self, y: Float) -> Bool:
        """The nearest possible senses to a movement."""
        return self.possible(y[self.cells] > (self.rise - self.fall) / 2.0)

    def fits(self, y: Int) -> bool:
        """Whether whole numbers keep everything, exactly."""
        own = y[self.cells]
        moved = ((own >= self.rise) & self.can_rise) | ((own <= -self.fall) & self.can_fall)
        inside = bool(((y >= -self.down) & (y <= self.up)).all() and moved.all())
        return inside and not _sums(self.relations, y).any()


def _sums(relations: Relations, y: Int) -> Int:
    """M y; exact as long as no sum passes 64 bits, which movements within the limits of a table do not."""
    return np.add.reduceat(
        np.append(relations.coefs * y[relations.cells], 0), relations.indptr[:-1]
    ) * (np.diff(relations.indptr) > 0)  # fmt: skip


def build_model(
    problem: Problem,
    objective: str = "l1",
    limits: Limits | None = None,
    weight: Float | None = None,
    params: AdjustParams | None = None,
) -> Model:
    """Prepare a problem for adjustment.

    Parameters
    ----------
    objective
        l1 (sum of absolute changes), value (weighted by the values), given (by the weights of the problem),
        or l2 (sum of squares).
    limits
        How far cells that are not sensitive may move.
    weight
        Weights in place of those of the objective.
    params
        Tuning numbers.

    Raises
    ------
    AdjustmentError
        When a sensitive cell has no room for either sense, or a cell is to be hidden without a level.
    """
    if objective not in OBJECTIVES:
        raise InputError(f"unknown objective {objective!r}", remedy=nearest_name(objective, OBJECTIVES))
    table, cells = problem.table, problem.primaries
    _refuse_hidden(problem)
    rise, fall = (level[cells] for level in problem.halved_levels)
    params = params or AdjustParams()
    farthest = params.farthest * int(np.maximum(rise, fall).sum()) + 1
    down, up = _rooms(problem, farthest, limits or Limits())
    can_rise = (rise > 0) & (rise <= up[cells])
    can_fall = (fall > 0) & (fall <= down[cells])
    stuck = cells[~(can_rise | can_fall)]
    if len(stuck):
        raise AdjustmentError(
            f"{len(stuck)} sensitive cells have room for neither sense",
            cells=table.cell_names(stuck),
            way_out="Lower their levels, or widen their bounds.",
        )
    power, unit = (2 if objective == "l2" else 1), 10.0**table.decimals
    if weight is None:
        weight = _weights(problem, objective)
    weight = np.asarray(weight) / unit**power
    return Model(problem, down, up, cells, rise, fall, can_rise, can_fall, weight, power, params)


def _refuse_hidden(problem: Problem) -> None:
    """A cell of status m has no level to move beyond, and would be published with its true value."""
    hidden = np.flatnonzero(problem.status == Status.SECONDARY)
    if len(hidden):
        raise AdjustmentError(
            f"{counted(len(hidden), 'cell is', 'cells are')} to be hidden (status m), "
            "but an adjusted table hides nothing",
            cells=problem.table.cell_names(hidden),
            way_out="Give them status u and a level, so that they are moved, or status s if they may be "
            "published; or suppress the table.",
        )


def _weights(problem: Problem, objective: str) -> Float:
    if objective == "value":
        return np.abs(problem.table.floats())
    return problem.weight if objective == "given" else np.ones(problem.table.num_cells)


def _rooms(problem: Problem, farthest: int, limits: Limits) -> tuple[Int, Int]:
    values = problem.table.values
    down = np.where(problem.lb == -UNBOUNDED, farthest, np.minimum(values - problem.lb, farthest))
    up = np.where(problem.ub == UNBOUNDED, farthest, np.minimum(problem.ub - values, farthest))
    kinds = kinds_of_cells(problem.table)
    for kind, percent in (
        (INTERIOR, limits.interior),
        (MARGINAL, limits.marginals),
        (GRAND_TOTAL, limits.total),
    ):
        if percent is not None:
            mine = (kinds == kind) & (problem.status != Status.PRIMARY)
            most = share_of(values[mine], percent)
            down[mine], up[mine] = np.minimum(down[mine], most), np.minimum(up[mine], most)
    frozen = problem.status == Status.FROZEN
    down[frozen] = up[frozen] = 0
    return down, up


def share_of(values: Int, percent: float) -> Int:
    """So many per cent of the absolute values, exactly, rounded down."""
    share = Fraction(str(percent)) / 100
    return np.array([int(share * abs(value)) for value in values.tolist()], dtype=np.int64)


def kinds_of_cells(table: Table) -> NDArray[np.int8]:
    """Interior cells, marginals and grand totals, told from the relations alone.

    A cell is a total where it stands alone on its side of a relation with several parts on the other; a grand
    total is part of nothing.
    """
    relations = table.relations
    row, positive = relations.row_of_entry, relations.coefs > 0
    right = np.bincount(row[positive], minlength=len(relations))
    left = np.bincount(row[~positive], minlength=len(relations))
    alone = np.where(positive, (right == 1)[row] & (left > 1)[row], (left == 1)[row] & (right > 1)[row])
    is_total, is_part = (np.zeros(table.num_cells, dtype=bool) for _ in range(2))
    is_total[relations.cells[alone]] = True
    is_part[relations.cells[~alone]] = True
    return np.where(is_total, np.where(is_part, MARGINAL, GRAND_TOTAL), INTERIOR).astype(np.int8)
