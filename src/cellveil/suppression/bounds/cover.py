"""`cover_bound`: what every safe pattern must cost at least, read off single relations.

Where a primary cell p of a relation Σ c_j y_j = 0 moves by its level d, the other hidden cells must make up
for c_p d between them, each within its own capacity. With x_j = 1 where cell j is hidden beyond the start, H
the other cells hidden at the start, and cap_j how far c_j y_j can go in the direction needed,

    Σ_{j not in H} min(cap_j, n) x_j  ≥  n   with   n = |c_p| d − Σ_{j in H} cap_j,   where n > 0.

Of all primaries of a relation and direction the one with the largest n implies the others, so there are two
rows per relation at most; and a third one for sliding levels, as up and down together must reach spl:
Σ over both directions of the capacities, cut at what the cells themselves can move, is at least |c_p| spl.
A level that one side cannot take (spl beyond the cell's own room) is a level of the other side.

A hidden cell that does not move is of no use: some cheapest pattern has none. So in a relation without a
hidden cell at the start, where x_j = 1 another one must be hidden: x_j ≤ Σ_{i ≠ j} x_i. These rows are added
where the solution breaks them.

Requires any relations whatever, integer coefficients included.
Ensures that no safe pattern hides cells beyond `hidden_at_start` for less than the bound: the relaxed bound
by multipliers evaluated with all rounding taken off, the integral one by the solver's branch and bound less
its tolerance. The bound is ∞ where a relation cannot be met even if everything in it is hidden.
Does not ensure that the suggestion is safe: it only meets the levels in every relation on its own.
Cost: a few passes over the relations, and LPs over those that are not met at the start.

References: cover inequalities as in Fischetti & Salazar (2001).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.clock import Deadline, counted_time
from cellveil.problem import Problem, Status
from cellveil.solvers.covering import Covered, Covering, proven_bound, solve_relaxed, solve_whole
from cellveil.solvers.tolerances import EQUAL, INTEGRALITY
from cellveil.tables.relations import Relations

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


ROUNDS = 20
"""How often rows against lonely cells are added at most, between relaxations."""

MOST_ENTRIES = 400_000
"""Programs with more entries get no further rows: they gain little and take long."""

WHOLE_ROUNDS = 5
"""The same, between solves with whole cells."""

EXACT = 2.0**53
"""Sums of whole numbers up to this are exact in floats."""


@dataclass(frozen=True, repr=False, eq=False)
class CoverBound:
    """A lower bound of the cost, and where it comes from.

    Parameters
    ----------
    bound
        No safe pattern hides cells beyond those hidden at the start for less weight; ∞ where none is safe.
    fractional
        Share of each cell the solution hides (0 for cells hidden at the start).
    suggestion
        Cells beyond the start that meet all needs of single relations, and cost little.
    is_integral_bound
        Whether the bound is that of whole cells, at least in part, not only of fractions.
    seconds
        Time it took.
    """

    bound: float
    fractional: Float
    suggestion: Bool
    is_integral_bound: bool
    seconds: float

    def __repr__(self) -> str:
        kind = "integral" if self.is_integral_bound else "relaxed"
        return f"CoverBound({self.bound:g}, {kind}, {int(self.suggestion.sum())} cells suggested)"


def cover_bound(
    problem: Problem,
    *,
    time_limit: float | None = None,
    integral: bool = False,
    nodes: int | None = None,
) -> CoverBound:
    """Bound the cost of every safe pattern from below; see the head of the module.

    Parameters
    ----------
    time_limit
        Seconds for the solver; the bound of what was reached counts.
    integral
        Whether to solve with whole cells after the relaxation.
    nodes
        Most nodes of each search for whole cells; None for as many as it takes.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> problem = two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
    >>> cover_bound(problem)
    CoverBound(39, relaxed, 3 cells suggested)
    """
    start = counted_time()
    deadline = None if time_limit is None else start + time_limit
    model = _Model(problem)
    if model.is_infeasible:
        everything = model.usable & ~problem.hidden_at_start
        seconds = counted_time() - start
        return CoverBound(np.inf, everything.astype(np.float64), everything, False, seconds)
    model.relax(deadline)
    fractional = model.spread(np.nan_to_num(model.point))
    if integral:
        model.make_whole(deadline, nodes)
    suggestion = model.spread(_rounded(model.program, model.point)) > 0
    bound = _round_up(model.bound, model.program.cost)
    return CoverBound(bound, fractional, suggestion, integral, counted_time() - start)


class _Model:
    """The covering program of a problem: needs first, rows against lonely cells as they turn out to matter.

    Attributes
    ----------
    usable
        Cells that can move at all.
    columns
        The cells that stand in some row; the columns of the program.
    program, relaxed
        The program so far, and its relaxed answer.
    point
        The last point found, relaxed or whole.
    bound
        The best one proven.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.usable = (problem.status != Status.FROZEN) & ((problem.down > 0) | (problem.up > 0))
        self.columns: Int = np.zeros(0, dtype=np.int64)
        upl, lpl = _levels(problem)
        slack = 1 - 2.0**-50  # beyond 2⁵³ levels and bounds are rounded
        self.is_infeasible = bool(((upl * slack > problem.up) | (lpl * slack > problem.down)).any())
        self.bound = 0.0
        self._lonely = _Lonely(problem.table.relations, problem.hidden_at_start, self.usable)
        self._rows: list[csr_matrix] = []
        self._rhs: list[Float] = []
        if not self.is_infeasible:
            self._add_needs(upl, lpl)

    def relax(self, deadline: float | None) -> None:
        """Solve the relaxation, adding rows until no cell is lonely; the best bound of all rounds counts."""
        for _ in range(ROUNDS):
            self.program = self._program()
            self.relaxed = solve_relaxed(self.program, Deadline(_left(deadline)))
            self.point = self.relaxed.point
            self.bound = max(self.bound, self.relaxed.bound)
            if _left(deadline) == 0.0 or not self._add_lonely():
                return

    def make_whole(self, deadline: float | None, nodes: int | None) -> None:
        """Solve with whole cells where the relaxation splits some, adding rows against lonely cells."""
        for left in reversed(range(WHOLE_ROUNDS)):
            bound, self.point = _whole_parts(self.program, self.relaxed, deadline, nodes)
            self.bound = max(self.bound, bound)
            if not left or _left(deadline) == 0.0 or not self._add_lonely():
                return
            self.relax(deadline)

    def spread(self, point: Float | Bool) -> Float:
        """From columns to cells."""
        whole = np.zeros(self.problem.table.num_cells)
        whole[self.columns] = point
        return whole

    def _add_lonely(self) -> bool:
        """Add the rows that the point breaks; False where it breaks none, or the program is large enough."""
        if self.program.matrix.nnz > MOST_ENTRIES:
            return False
        rows = self._lonely.broken_rows(self.spread(np.nan_to_num(self.point)))
        if rows is None:
            return False
        self._rows.append(rows)
        self._rhs.append(np.zeros(rows.shape[0]))
        return True

    def _program(self) -> Covering:
        from scipy.sparse import vstack

        whole = vstack(self._rows, format="csr") if self._rows else self._nothing()
        self.columns = np.flatnonzero(np.bincount(whole.indices, minlength=whole.shape[1]))
        number = np.zeros(whole.shape[1], dtype=np.int32)
        number[self.columns] = np.arange(len(self.columns), dtype=np.int32)
        matrix = type(whole)(
            (whole.data, number[whole.indices], whole.indptr), shape=(whole.shape[0], len(self.columns))
        )
        rhs = np.concatenate([np.zeros(0), *self._rhs])
        return Covering(self.problem.weight[self.columns], matrix, rhs)

    def _nothing(self) -> csr_matrix:
        from scipy.sparse import csr_matrix

        return csr_matrix((0, self.problem.table.num_cells))

    def _add_needs(self, upl: Float, lpl: Float) -> None:
        """One row for each relation, and direction, that what is hidden at the start cannot meet."""
        entries = _Entries(self.problem, self.usable)
        if not entries.num_rows:
            return
        kinds = [
            entries.needs(entries.level(upl, lpl), entries.falls),
            entries.needs(entries.level(lpl, upl), entries.rises),
            entries.needs(*entries.sliding(upl, lpl)),
        ]
        self.is_infeasible = any(entries.is_beyond_reach(needs) for needs in kinds)
        for i, needs in enumerate(kinds):
            wanted = needs.is_open.copy()
            for j, other in enumerate(kinds):
                if i != j:
                    wanted &= ~entries.is_implied(needs, other, ties=j < i)
            rows = entries.rows(needs, wanted)
            self._rows.append(rows)
            self._rhs.append(np.ones(rows.shape[0]))


@dataclass(frozen=True, repr=False, eq=False)
class _Needs:
    """Rows Σ share x ≥ 1, one per relation: the share of each entry, and which relations have such a row."""

    share: Float
    is_open: Bool


class _Entries:
    """The entries of the relations that hold a primary cell, and how far each can make up for others.

    Attributes
    ----------
    rises, falls
        How far coefficient × deviation of an entry can go up and down.
    """

    def __init__(self, problem: Problem, usable: Bool) -> None:
        whole = problem.table.relations
        primary = problem.status == Status.PRIMARY
        holds = np.bincount(whole.row_of_entry[primary[whole.cells]], minlength=len(whole)) > 0
        relations = whole.take_rows(np.flatnonzero(holds))
        self.problem, self.cells, self.coefs = problem, relations.cells, relations.coefs
        self.row, self.indptr, self.num_rows = relations.row_of_entry, relations.indptr, len(relations)
        self.primary = primary[self.cells]
        self.hidden = problem.hidden_at_start[self.cells]
        self.size = np.abs(self.coefs).astype(np.float64)
        up, down = (np.where(usable, room, 0.0)[self.cells] for room in (problem.up, problem.down))
        self.rises, self.falls = (
            np.where(self.coefs > 0, own, other) * self.size for own, other in ((up, down), (down, up))
        )

    def level(self, along: Float, against: Float) -> Float:
        """What coefficient × deviation of a primary must reach, given the levels for both of its signs."""
        level = np.where(self.coefs > 0, along[self.cells], against[self.cells])
        return np.where(self.primary, level * self.size, 0.0)

    def sliding(self, upl: Float, lpl: Float) -> tuple[Float, Float]:
        """Need and capacity of both directions together, where a sliding level asks for more than each."""
        spl = self.problem.spl.astype(np.float64)
        need = np.where(spl > upl + lpl, spl, 0.0)[self.cells] * self.size
        cap = np.zeros(len(self.cells))
        for own, other in ((self.rises, self.falls), (self.falls, self.rises)):
            cap += np.minimum(other, self._largest(np.minimum(own, need))[self.row])
        return need, cap

    def needs(self, need: Float, cap: Float) -> _Needs:
        """The rows that are left when the cells hidden at the start have given what they can."""
        cap = np.minimum(cap, self._largest(need)[self.row])  # beyond it nothing changes; and it is finite
        held = np.where(self.hidden, cap, 0.0)
        sums = np.bincount(self.row, weights=held, minlength=self.num_rows)[self.row]
        doubt = np.where(sums + need < EXACT, 0.0, (sums + need) * self._longest * 2.0**-52)
        missing = np.where(need > 0, need - (sums - held) - doubt, 0.0)
        residual = self._largest(missing)
        is_open = residual > 0
        share = np.where(self.hidden, 0.0, cap) / np.where(is_open, residual, np.inf)[self.row]
        return _Needs(np.minimum(share * (1 + 2.0**-50), 1.0), is_open)

    def is_beyond_reach(self, needs: _Needs) -> bool:
        """Whether some row is not met even if all its cells are hidden."""
        sums = np.bincount(self.row, weights=needs.share, minlength=self.num_rows)
        return bool((needs.is_open & (sums < 1 - EQUAL)).any())

    def is_implied(self, needs: _Needs, other: _Needs, *, ties: bool) -> Bool:
        """In which relations the other row says as much or more; equal ones count if `ties`."""
        implied = other.is_open & needs.is_open & ~self._any(other.share > needs.share)
        return implied if ties else implied & self._any(other.share < needs.share)

    def rows(self, needs: _Needs, wanted: Bool) -> csr_matrix:
        """The wanted rows, one column per cell of the table."""
        from scipy.sparse import csr_matrix

        taken = wanted[self.row] & (needs.share > 0)
        counts = np.bincount(self.row[taken], minlength=self.num_rows)[wanted]
        indptr = np.concatenate([[0], np.cumsum(counts)])
        shape = (len(counts), self.problem.table.num_cells)
        return csr_matrix((needs.share[taken], self.cells[taken], indptr), shape=shape)

    def _largest(self, amounts: Float) -> Float:
        return np.asarray(np.maximum.reduceat(amounts, self.indptr[:-1]))

    def _any(self, entries: Bool) -> Bool:
        return np.asarray(np.logical_or.reduceat(entries, self.indptr[:-1]))

    @property
    def _longest(self) -> int:
        return int(np.diff(self.indptr).max(initial=0)) + 2


class _Lonely:
    """Finds cells that are hidden alone in a relation."""

    def __init__(self, relations: Relations, hidden: Bool, usable: Bool) -> None:
        taken = usable[relations.cells]
        held = np.bincount(relations.row_of_entry[taken & hidden[relations.cells]], minlength=len(relations))
        part = relations.take_rows(np.flatnonzero(held == 0))
        taken = usable[part.cells]
        counts = np.bincount(part.row_of_entry[taken], minlength=len(part))
        self.cells = part.cells[taken]
        self.indptr = np.concatenate([[0], np.cumsum(counts[counts > 0])]).astype(np.int64)
        self.num_cells = relations.num_cells

    def broken_rows(self, x: Float) -> csr_matrix | None:
        """Σ_{i ≠ j} x_i − x_j ≥ 0 for each relation and cell j that break it; at most one cell does."""
        from scipy.sparse import csr_matrix

        if not len(self.cells):
            return None
        share = x[self.cells]
        largest = np.maximum.reduceat(share, self.indptr[:-1])
        broken = np.flatnonzero(2 * largest > np.add.reduceat(share, self.indptr[:-1]) + INTEGRALITY)
        if not len(broken):
            return None
        part = Relations(
            self.num_cells, self.indptr, self.cells, np.ones(len(self.cells), dtype=np.int64), self.indptr[1:]
        ).take_rows(broken)
        is_lonely = x[part.cells] == largest[broken][part.row_of_entry]
        sign = np.where(is_lonely, -1.0, 1.0)
        return csr_matrix((sign, part.cells, part.indptr), shape=(len(part), self.num_cells))


def _levels(problem: Problem) -> tuple[Float, Float]:
    """How far each cell must go up and down, with what of spl the other side has no room for."""
    upl, lpl = problem.one_sided_levels
    return upl.astype(np.float64), lpl.astype(np.float64)


def _rounded(program: Covering, point: Float) -> Bool:
    """Whole cells that meet the needs of the program: in each row the cells with the largest shares."""
    matrix = program.matrix
    chosen = np.zeros(matrix.shape[1], dtype=bool)
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    x = np.nan_to_num(point)[matrix.indices]
    order = np.lexsort((program.cost[matrix.indices], -x, row))
    order = order[(program.rhs[row] > 0)[order]]
    share = matrix.data[order]
    before = np.cumsum(share) - share
    first = np.flatnonzero(np.diff(row[order], prepend=-1))
    before -= np.repeat(before[first], np.diff(np.append(first, len(order))))
    chosen[matrix.indices[order[before < 1 - INTEGRALITY]]] = True
    return chosen | (np.nan_to_num(point) > 1 - INTEGRALITY)


def _whole_parts(
    program: Covering, relaxed: Covered, deadline: float | None, nodes: int | None
) -> tuple[float, Float]:
    """Bound and point with whole cells: each connected part that the relaxation splits is solved anew.

    Small parts come first, so that the time limit cuts off large ones only.
    """
    parts = _Parts(program, relaxed)
    point = np.where(relaxed.point > 0.5, 1.0, 0.0)
    solved: list[float] = []
    for number in parts.split_ones():
        part, columns, multipliers = parts.part(number)
        least = proven_bound(part, multipliers)
        if _left(deadline) != 0.0:
            answer = solve_whole(part, Deadline(_left(deadline)), nodes)
            least = max(least, answer.bound)
            point[columns] = np.where(np.isnan(answer.point), point[columns], answer.point)
        solved.append(least)
    rest = proven_bound(program, np.where(parts.is_split_row, 0.0, relaxed.multipliers))
    return rest + math.fsum(solved) * (1 - 2.0**-50), point


class _Parts:
    """A program sorted by connected parts: parts share no row and no column."""

    def __init__(self, program: Covering, relaxed: Covered) -> None:
        from scipy.sparse import bmat
        from scipy.sparse.csgraph import connected_components

        matrix = program.matrix
        rows, _ = matrix.shape
        count, labels = connected_components(bmat([[None, matrix], [matrix.T, None]]), directed=False)
        x = np.nan_to_num(relaxed.point, nan=0.5)
        is_split = np.zeros(count, dtype=bool)
        is_split[labels[rows:][np.abs(x - np.round(x)) > INTEGRALITY]] = True
        self.is_split_row = is_split[labels[:rows]]
        self._split = np.flatnonzero(is_split)
        self._rows, self._columns = (
            np.argsort(part, kind="stable") for part in (labels[:rows], labels[rows:])
        )
        self._row_borders = np.searchsorted(labels[:rows][self._rows], np.arange(count + 1))
        self._column_borders = np.searchsorted(labels[rows:][self._columns], np.arange(count + 1))
        self._program = Covering(
            program.cost[self._columns], matrix[self._rows][:, self._columns], program.rhs[self._rows]
        )
        self._multipliers = relaxed.multipliers[self._rows]

    def split_ones(self) -> list[int]:
        """The parts that the relaxation splits, small ones first."""
        width = np.diff(self._column_borders)[self._split]
        return [int(number) for number in self._split[np.argsort(width, kind="stable")]]

    def part(self, number: int) -> tuple[Covering, Int, Float]:
        """Program, column numbers and multipliers of one part."""
        first, last = self._column_borders[number : number + 2]
        rows = slice(*self._row_borders[number : number + 2])
        block = self._program.matrix[rows]
        matrix = type(block)(
            (block.data, block.indices - first, block.indptr), (block.shape[0], last - first)
        )
        program = Covering(self._program.cost[first:last], matrix, self._program.rhs[rows])
        return program, self._columns[first:last], self._multipliers[rows]


def _round_up(bound: float, cost: Float) -> float:
    """The next sum that whole weights can make."""
    is_whole = bool((cost == np.floor(cost)).all()) and bound < 2.0**52
    return float(np.ceil(bound)) if is_whole else bound


def _left(deadline: float | None) -> float | None:
    return None if deadline is None else max(deadline - counted_time(), 0.0)
