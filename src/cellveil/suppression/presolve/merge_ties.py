"""Tied cells are one cell: the problem made smaller.

Whoever hides one of two tied cells (`cellveil.deviations.ties`) must hide the other, or neither moves. The
*merged* problem has one cell for each class of tied cells, with the tightest capacities, the largest levels
and the sum of the weights, and none for cells that do not move; so it is smaller, its bounds are better, and
its patterns and witnesses are those of the problem itself. Whether a witness holds is decided elsewhere,
exactly.

Requires any relations. Ensures that a pattern of the merged problem is safe if and only if the unfolded one
is. Cost: one sparse elimination.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.deviations.demand import Demand, Demands
from cellveil.deviations.ties import Ties
from cellveil.deviations.witness import Witnesses
from cellveil.problem import Problem, Status
from cellveil.suppression.draft import Draft
from cellveil.tables.dimension import Dimension
from cellveil.tables.relations import Relations
from cellveil.tables.scaled import UNBOUNDED
from cellveil.tables.table import CELL, Table


@dataclass(frozen=True, eq=False)
class Merged:
    """A problem with tied cells as one, and the way back.

    Parameters
    ----------
    whole, problem
        The problem as it was, and the merged one.
    number, sign
        For each cell of the whole the cell of the merged problem it belongs to (−1 if it never moves), and
        whether it moves with it (1) or against it (−1).
    """

    whole: Problem
    problem: Problem
    number: Int
    sign: Int

    @property
    def forced(self) -> float:
        """What must be hidden with the primaries in any case, beyond the start."""
        return float(self.whole.weight[self._forced].sum())

    @property
    def cells_of(self) -> Int:
        """For each cell of the merged problem how many of the whole it stands for, and last the others."""
        counts = np.bincount(self.number[self.number >= 0], minlength=self.problem.table.num_cells)
        return np.append(counts, int((self.number < 0).sum()))

    @property
    def _forced(self) -> Bool:
        tied = self._of_class(self.problem.status == Status.PRIMARY)
        return np.asarray(tied & ~self.whole.hidden_at_start)

    def fold(self, hidden: Bool) -> Bool:
        """The classes of which some cell is hidden; cells that never move need not be."""
        chosen = np.zeros(self.problem.table.num_cells, dtype=bool)
        chosen[self.number[hidden & (self.number >= 0)]] = True
        return chosen

    def unfold(self, draft: Draft) -> Draft:
        """What a draft of the merged problem means for the whole."""
        bound = None if draft.lower_bound is None else draft.lower_bound + self.forced
        return replace(
            draft,
            hidden=self.whole.hidden_at_start | self._of_class(draft.hidden),
            infeasible=[self._demand(demand) for demand in draft.infeasible],
            lower_bound=bound,
            witnesses=self._witnesses(draft.witnesses),
            hurried=None if draft.hurried is None else self._of_class(draft.hurried),
        )

    def _of_class(self, chosen: Bool) -> Bool:
        """Which cells belong to the chosen cells of the merged problem."""
        return np.asarray((self.number >= 0) & chosen[self.number])

    def _demand(self, demand: Demand) -> Demand:
        """The largest demand of the class in that direction."""
        members = np.flatnonzero(self.number == demand.cell)
        demands = Demands(self.whole)
        amounts = np.where((self.sign[members] > 0) == demand.up, demands.up[members], demands.down[members])
        cell = int(members[amounts.argmax()])
        return Demand(cell, demand.up == (self.sign[cell] > 0), demand.amount)

    def _witnesses(self, witnesses: Witnesses) -> Witnesses:
        order = np.argsort(self.number, kind="stable")
        borders = np.searchsorted(self.number[order], np.arange(self.problem.table.num_cells + 1))
        sizes = np.diff(borders)[witnesses.cells]
        ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        places = np.repeat(borders[witnesses.cells] - ends[:-1], sizes) + np.arange(ends[-1])
        cells = order[places]
        numerators = np.repeat(witnesses.numerators, sizes) * self.sign[cells]
        starts = ends[witnesses.starts]
        owner = np.repeat(np.arange(len(witnesses)), np.diff(starts))
        ascending = np.lexsort((cells, owner))
        return Witnesses(starts, cells[ascending], numerators[ascending], witnesses.denominators)


def merged(problem: Problem) -> Merged | None:
    """The problem with tied cells merged; None where that is not possible, or a primary cannot move."""
    movable = np.flatnonzero(problem.status != Status.FROZEN)
    ties = Ties.of(problem.table.relations, movable) if len(movable) else None
    if ties is None or not ties.num_classes:
        return None
    number = np.full(problem.table.num_cells, -1, dtype=np.int64)
    sign = np.ones(problem.table.num_cells, dtype=np.int64)
    number[movable], sign[movable] = ties.number, ties.sign
    if (number[problem.primaries] < 0).any():
        return None
    return Merged(problem, _merged(problem, number, sign, ties.num_classes), number, sign)


def _merged(problem: Problem, number: Int, sign: Int, count: int) -> Problem:
    cells = np.flatnonzero(number >= 0)
    class_, forwards = number[cells], sign[cells] > 0
    _, first = np.unique(class_, return_index=True)
    values = problem.table.values[cells[first]]
    own = problem.table.values[cells]
    room_up = np.where(problem.ub[cells] == UNBOUNDED, UNBOUNDED, problem.ub[cells] - own)
    room_down = np.where(problem.lb[cells] == -UNBOUNDED, UNBOUNDED, own - problem.lb[cells])

    def least(with_it: Int, against: Int) -> Int:
        result = np.full(count, UNBOUNDED, dtype=np.int64)
        np.minimum.at(result, class_, np.where(forwards, with_it, against))
        return result

    def most(with_it: Int, against: Int) -> Int:
        result = np.zeros(count, dtype=np.int64)
        np.maximum.at(result, class_, np.where(forwards, with_it, against))
        return result

    up, down = least(room_up, room_down), least(room_down, room_up)
    lpl, upl, spl = problem.lpl[cells], problem.upl[cells], problem.spl[cells]
    status = np.full(count, Status.SECONDARY, dtype=np.int8)
    status[class_[problem.status[cells] == Status.SAFE]] = Status.SAFE
    status[class_[problem.status[cells] == Status.PRIMARY]] = Status.PRIMARY
    weight = np.where(problem.hidden_at_start[cells], 0.0, problem.weight[cells])
    return Problem(
        Table(
            (Dimension.unstructured(CELL, map(str, range(count))),),
            (np.arange(count, dtype=np.int32),),
            values,
            problem.table.decimals,
            _merged_relations(problem.table.relations, number, sign, values),
        ),
        status=status,
        weight=np.bincount(class_, weight, count).astype(np.float64),
        lb=np.where(down == UNBOUNDED, -UNBOUNDED, values - down),
        ub=np.where(up == UNBOUNDED, UNBOUNDED, values + up),
        lpl=most(lpl, upl),
        upl=most(upl, lpl),
        spl=most(spl, spl),
    )


def _merged_relations(relations: Relations, number: Int, sign: Int, values: Int) -> Relations:
    """The relations between classes; their right-hand sides are what the values give."""
    from scipy.sparse import csr_array

    kept = number[relations.cells] >= 0
    cells = relations.cells[kept]
    matrix = csr_array(
        (relations.coefs[kept] * sign[cells], (relations.row_of_entry[kept], number[cells])),
        shape=(len(relations), len(values)),
    )
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix = matrix[np.flatnonzero(np.diff(matrix.indptr))]
    return Relations(
        len(values),
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int32),
        matrix.data.astype(np.int64),
        np.asarray(matrix @ values, dtype=np.int64),
    ).distinct()
