"""Capacity (Benders) cuts, their cover and mixed-integer rounding cuts, and bridge-less inequalities.

**Capacity cuts** (Benders cuts; the capacity constraints of Fischetti & Salazar 2001). Let h be any
combination of the relations with whole multipliers: Σ h_i y_i = 0 for every deviation y. If primary p is to
move by d upwards, then with s = h_p > 0

    s d  ≤  s y_p  =  − Σ_{i ≠ p} h_i y_i  ≤  Σ_{i ≠ p} cap_i x_i,
    cap_i = |h_i| × (up_i if h_i < 0 else down_i),

as a cell moves only where it is hidden (x_i = 1). Here y_p = d may be assumed, since a deviation can be
scaled down. A capacity beyond the right side is as good as the right side itself: if such a cell is hidden
the row holds, if none is, the capacities of the others count in full. So with H the cells hidden at the start
and r = s d − Σ_{i in H} min(cap_i, s d),

    Σ_{i not in H} min(cap_i, r) / r · x_i  ≥  1          wherever r > 0,

for every safe pattern, whatever h is and however it was found; infinite capacities need no bound. Downwards
the capacities change places. A sliding level asks for R_up + R_down ≥ spl, where each side is bounded by a
combination of its own (divided by its s, and cut at spl) or by the cell's own room; the sum of both bounds is
the row's left side. The relations themselves, one by one, give the rows of `bounds.cover`.

*Cells taken for granted*: even if all cells of some set S are hidden, the others must make up for the rest.
So the same row holds with r − Σ_{i in S} cap_i for r, where that is above 0, and without S on the left side:
a knapsack cover row. It is the stronger the more of S is hidden anyway, since more capacities are cut.

**Bridge-less inequalities** (Fischetti & Salazar 1999, 2001). Some cheapest pattern has no cell that could be
published, so each of its secondaries moves in some deviation, and in no combination h may it be the only
hidden cell: Σ_{i ≠ j, h_i ≠ 0} x_i ≥ x_j. (Where some of these is hidden at the start there is nothing to
ask.)

References: Fischetti & Salazar (1999, 2000, 2001). Equation numbers are those of Zhang, Chen, Cheng &
Jacobsen, *Overview of Cell Suppression Methods*.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.params import Params, param
from cellveil.solvers.cutting_planes import Row
from cellveil.solvers.tolerances import EQUAL
from cellveil.suppression.exact.parts import Need, Part, Width

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

ABOVE = 1.0 + 2.0**-50
"""Coefficients are rounded up by this factor: division must not make a row stricter than it is."""


@dataclass(frozen=True, kw_only=True)
class CutParams(Params):
    """Parameters of cover and mixed-integer rounding cuts."""

    granted: float = param(0.3, "Cells with x above this may be fixed at 1 in cover cuts.", least=0, most=1)
    most_granted: int = param(60, "Cells that are fixed at most.", least=0)
    divisors: int = param(12, "Coefficients that a cut is divided by for mixed-integer rounding.", least=1)
    fraction: float = param(
        0.02, "Least fractional part of the right side in mixed-integer rounding.", least=0, most=1
    )


@dataclass(frozen=True, eq=False)
class Capacity:
    """Σ reach · x[columns] ≥ left, capacities not yet cut at the right side; less than `least` is nothing."""

    columns: Int
    reach: Float
    left: float
    least: float

    @cached_property
    def key(self) -> tuple[bytes, bytes, float]:
        """The same for those that say the same."""
        return self.columns.tobytes(), self.reach.tobytes(), self.left

    def row(self) -> Row:
        """With no cell taken for granted."""
        return self._row_without(np.zeros(len(self.columns), dtype=bool), self.left)

    def row_against(self, x: Float, params: CutParams) -> Row:
        """With those cells taken for granted, the most hidden first, by which x breaks the row the most."""
        share = x[self.columns]
        order = np.argsort(-share, kind="stable")
        order = order[share[order] > params.granted][: params.most_granted]
        lefts = np.concatenate([[self.left], self.left - np.cumsum(self.reach[order])])
        lefts = lefts[lefts > self.least]
        cut = np.minimum(self.reach / lefts[:, None], 1.0) * share
        given = np.tril(cut[:, order[: len(lefts)]], -1).sum(axis=1)
        broken = 1.0 - cut.sum(axis=1) + given
        best = int(np.argmax(broken > broken.max() - 1e-9))
        granted = np.zeros(len(self.columns), dtype=bool)
        granted[order[:best]] = True
        return self._row_without(granted, float(lefts[best]))

    def rounded_against(self, x: Float, params: CutParams) -> Row:
        """The cover cut of `row_against`, rounded where the point breaks it more then."""
        return rounded(self.row_against(x, params), x, params)

    def _row_without(self, granted: Bool, left: float) -> Row:
        kept = ~granted
        return Row(self.columns[kept], np.minimum(self.reach[kept] / left * ABOVE, 1.0), 1.0)


def rounded(row: Row, x: Float, params: CutParams) -> Row:
    """A row Σ a x ≥ 1, a ≤ 1, or what rounding makes of it, whichever the point breaks more.

    Since x is whole, Σ u x ≥ b implies Σ F(u) x ≥ ⌈b⌉ with f = b − ⌊b⌋, F(u) = ⌊u⌋ + min((u − ⌊u⌋) / f, 1)
    (mixed-integer rounding); it is applied to the row divided by one of its own coefficients. F is continuous
    and grows, so that rounding u up, and the result, keeps it true.
    """
    share = x[row.columns]
    steps = np.unique(row.shares[(share > 1e-9) & (row.shares < 1.0)])[-params.divisors :]
    if not len(steps):
        return row
    least = (1.0 - 2.0**-45) / steps
    part = least - np.floor(least)
    steps, least, part = (one[part > params.fraction] for one in (steps, least, part))
    if not len(steps):
        return row
    scaled = row.shares / steps[:, None] * ABOVE
    whole = np.floor(scaled)
    coefs = (whole + np.minimum((scaled - whole) / part[:, None], 1.0)) / np.ceil(least)[:, None]
    broken = 1.0 - coefs @ share
    best = int(np.argmax(broken))
    if broken[best] <= row.violation(x) + 1e-9:
        return row
    return Row(row.columns, np.minimum(coefs[best] * (1.0 + 2.0**-40), 1.0), 1.0)


def need_capacity(part: Part, combination: Int, need: Need) -> Capacity | None:
    """What a combination says about one direction; None where it says nothing."""
    # (17): Σ q x ≥ level over a cut of the network; here for any combination of any relations
    columns = np.flatnonzero(combination)
    reach = _reach(part, columns, combination[columns], need.own, need.up)
    return None if reach is None else _capacity(part, columns, reach, float(need.amount))


def width_capacity(part: Part, upwards: Int | None, downwards: Int | None, width: Width) -> Capacity | None:
    """What two say about a sliding level; None for a combination: the cell's own room is the bound."""
    total, amount = np.zeros(part.num_cells), float(width.amount)
    for combination, up in ((upwards, True), (downwards, False)):
        if combination is None:
            amount -= float((part.up if up else part.down)[width.own])
            continue
        columns = np.flatnonzero(combination)
        reach = _reach(part, columns, combination[columns], width.own, up)
        if reach is None:
            return None
        total[columns] += np.minimum(reach, width.amount)
    columns = np.flatnonzero(total)
    return _capacity(part, columns, total[columns], amount)


def bridgeless_row(part: Part, combination: Int, own: int) -> Row | None:
    """The bridge-less inequality of a cell; None where it says nothing."""
    others = combination != 0
    if not others[own] or (others & part.held).any():
        return None
    columns = np.flatnonzero(others)
    return Row(columns, np.where(columns == own, -1.0, 1.0), 0.0)


def relation_capacities(part: Part) -> list[Capacity]:
    """What single relations say: the strictest of each relation and direction, and all on sliding levels."""
    matrix = part.component.matrix.tocsr().astype(np.int64)
    by_cell = part.component.matrix.tocsc()
    strictest: dict[tuple[int, bool], tuple[float, Capacity]] = {}
    for need in part.needs:
        for relation in by_cell.indices[by_cell.indptr[need.own] : by_cell.indptr[need.own + 1]].tolist():
            entries = slice(matrix.indptr[relation], matrix.indptr[relation + 1])
            columns, coefs = matrix.indices[entries].astype(np.int64), matrix.data[entries]
            reach = _reach(part, columns, coefs, need.own, need.up)
            capacity = None if reach is None else _capacity(part, columns, reach, float(need.amount))
            if capacity is None:
                continue
            size = int(coefs[columns == need.own][0])
            side, left = (relation, need.up == (size > 0)), capacity.left * abs(size)
            if side not in strictest or strictest[side][0] < left:
                strictest[side] = left, capacity
    return [capacity for _, capacity in strictest.values()] + _width_capacities(part, matrix)


def _width_capacities(part: Part, matrix: csr_matrix) -> list[Capacity]:
    found = []
    for width in part.widths:
        for relation in part.component.matrix[:, width.own].indices.tolist():
            combination = matrix[relation].toarray()[0]
            found.append(width_capacity(part, combination, combination, width))
    return [capacity for capacity in found if capacity is not None]


def _reach(part: Part, columns: Int, coefs: Int, own: int, up: bool) -> Float | None:
    """What each cell of a combination lets the cell move; None where it does not hold the cell."""
    sizes = coefs[columns == own]
    if not len(sizes):
        return None
    size = int(sizes[0])
    rising = (coefs < 0) == ((size > 0) == up)
    rooms = np.where(rising, part.up[columns], part.down[columns])
    reach = rooms * (np.abs(coefs) / abs(size) * ABOVE)
    return np.where(columns == own, 0.0, reach)


def _capacity(part: Part, columns: Int, reach: Float, amount: float) -> Capacity | None:
    if not amount > 0:
        return None
    reach = np.minimum(reach, amount)
    held = part.held[columns]
    left = amount - float(reach[held].sum())
    if not left > EQUAL * amount:
        return None
    kept = (reach > 0) & ~held
    order = np.argsort(columns[kept])
    return Capacity(columns[kept][order], reach[kept][order], left, EQUAL * amount)
