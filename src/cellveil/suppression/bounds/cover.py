"""`cover_bound`: what every safe pattern must cost at least, read off single relations.

Where a primary cell p of a relation Σ c_j y_j = 0 moves by its level d, the other hidden cells must make up
for c_p d between them, each within its own capacity. With x_j = 1 where cell j is hidden beyond the start, H
the other cells hidden at the start, and cap_j how far c_j y_j can go in the direction needed,

    Σ_{j not in H} min(cap_j, n) x_j  ≥  n   with   n = |c_p| d − Σ_{j in H} cap_j,   where n > 0.

Of all primaries of a relation and direction the one with the largest n implies the others, so there are two
rows per relation at most; and a third one for sliding levels, as up and down together must reach spl:
Σ over both directions of the capacities, cut at what the cells themselves can move, is at least |c_p| spl.
A level that one side cannot take (spl beyond the cell's own room) is a level of the other side.

Cells that must move whatever is hidden (`implied_demands`), such as totals above a giant, are hidden and have
demands of their own to begin with.

A hidden cell that does not move is of no use: some cheapest pattern has none. So in a relation without a
hidden cell at the start, where x_j = 1 another one must be hidden: x_j ≤ Σ_{i ≠ j} x_i. These rows are added
where the solution breaks them: bridge-less inequalities of single relations.

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
from cellveil.clock import NO_LIMIT, Deadline, counted_time
from cellveil.params import Params, param
from cellveil.problem import Problem, Status
from cellveil.solvers.covering import Covering, solve_relaxed
from cellveil.suppression.bounds.implied_demands import with_implied_demands
from cellveil.suppression.bounds.relation_rows import RelationBridges, RelationCovers
from cellveil.suppression.bounds.whole_covers import rounded_point, solve_by_parts

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True, kw_only=True)
class CoverParams(Params):
    """Parameters of the cover bound."""

    rounds: int = param(20, "Rounds of bridge-less inequalities between relaxations.", least=1)
    whole_rounds: int = param(5, "The same between solves with whole cells.", least=1)
    most_entries: int = param(400_000, "Entries beyond which no inequality is added.", least=0)
    implied_rounds: int = param(10, "Rounds of implied demands.", least=0)


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
    forced
        Cells beyond the start that every safe pattern hides.
    is_integral_bound
        Whether the bound is that of whole cells, at least in part, not only of fractions.
    seconds
        Time it took.
    """

    bound: float
    fractional: Float
    suggestion: Bool
    forced: Bool
    is_integral_bound: bool
    seconds: float

    def __repr__(self) -> str:
        kind = "integral" if self.is_integral_bound else "relaxed"
        return f"CoverBound({self.bound:g}, {kind}, {int(self.suggestion.sum())} cells suggested)"


def cover_bound(
    problem: Problem,
    *,
    deadline: Deadline = NO_LIMIT,
    integral: bool = False,
    nodes: int | None = None,
    params: CoverParams | None = None,
) -> CoverBound:
    """Bound the cost of every safe pattern from below; see the head of the module.

    Parameters
    ----------
    deadline
        When it is over the bound of what was reached counts.
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
    start, params = counted_time(), params or CoverParams()
    usable = (problem.status != Status.FROZEN) & ((problem.down > 0) | (problem.up > 0))
    implied = with_implied_demands(problem, usable, params.implied_rounds)
    forced = implied.hidden_at_start & ~problem.hidden_at_start
    model = _CoverProgram(implied, usable, params)
    if model.is_infeasible:
        everything = usable & ~problem.hidden_at_start
        seconds = counted_time() - start
        return CoverBound(np.inf, everything.astype(np.float64), everything, forced, False, seconds)
    model.relax(deadline)
    fractional = np.where(forced, 1.0, model.spread(np.nan_to_num(model.point)))
    if integral:
        model.make_whole(deadline, nodes)
    suggestion = forced | (model.spread(rounded_point(model.program, model.point)) > 0)
    own = problem.weight[forced]
    bound = model.bound + math.fsum(own) * (1 - 2.0**-50)
    bound = whole_bound(bound, np.concatenate([own, model.program.cost]))
    return CoverBound(bound, fractional, suggestion, forced, integral, counted_time() - start)


class _CoverProgram:
    """The covering program of a problem: cover inequalities first, bridge-less ones as they are broken.

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

    def __init__(self, problem: Problem, usable: Bool, params: CoverParams) -> None:
        self.problem, self.usable, self.params = problem, usable, params
        self.columns: Int = np.zeros(0, dtype=np.int64)
        upl, lpl = _levels(problem)
        slack = 1 - 2.0**-50  # beyond 2⁵³ levels and bounds are rounded
        self.is_infeasible = bool(((upl * slack > problem.up) | (lpl * slack > problem.down)).any())
        self.bound = 0.0
        self._bridges = RelationBridges(problem.table.relations, problem.hidden_at_start, self.usable)
        self._rows: list[csr_matrix] = []
        self._rhs: list[Float] = []
        if not self.is_infeasible:
            self._add_needs(upl, lpl)

    def relax(self, deadline: Deadline) -> None:
        """Relax, adding bridge-less inequalities until none is violated; the best bound counts."""
        for _ in range(self.params.rounds):
            self.program = self._program()
            self.relaxed = solve_relaxed(self.program, deadline)
            self.point = self.relaxed.point
            self.bound = max(self.bound, self.relaxed.bound)
            if deadline.is_over or not self._add_bridges():
                return

    def make_whole(self, deadline: Deadline, nodes: int | None) -> None:
        """Solve with whole cells where the relaxation splits some, adding bridge-less inequalities."""
        for left in reversed(range(self.params.whole_rounds)):
            bound, self.point = solve_by_parts(self.program, self.relaxed, deadline, nodes)
            self.bound = max(self.bound, bound)
            if not left or deadline.is_over or not self._add_bridges():
                return
            self.relax(deadline)

    def spread(self, point: Float | Bool) -> Float:
        """From columns to cells."""
        whole = np.zeros(self.problem.table.num_cells)
        whole[self.columns] = point
        return whole

    def _add_bridges(self) -> bool:
        """Add the rows that the point breaks; False where it breaks none, or the program is large enough."""
        if self.program.matrix.nnz > self.params.most_entries:
            return False
        rows = self._bridges.violated_rows(self.spread(np.nan_to_num(self.point)))
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
        entries = RelationCovers(self.problem, self.usable)
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


def _levels(problem: Problem) -> tuple[Float, Float]:
    """How far each cell must go up and down, with what of spl the other side has no room for."""
    upl, lpl = problem.one_sided_levels
    return upl.astype(np.float64), lpl.astype(np.float64)


def whole_bound(bound: float, price: Float) -> float:
    """The next sum that whole prices can make.

    Examples
    --------
    >>> whole_bound(3.2, np.array([1.0, 2.0])), whole_bound(3.2, np.array([1.5]))
    (4.0, 3.2)
    """
    is_whole = bool((price == np.floor(price)).all()) and bound < 2.0**52
    return float(np.ceil(bound)) if is_whole else bound
