"""The attack on an adjusted table: which true tables it leaves possible.

The attacker knows the published table x, the relations, the common bounds, which cells are sensitive, their
levels, and how far other cells may have moved: everything but the senses. A table t is *possible* for it when
t keeps relations and bounds and x is a proper adjustment of t. Limits are shares of the true value, so each
candidate has its own: |x − t| ≤ limit · |t|, which is all t between x / (1 + limit) and x / (1 − limit). A
limit that were worked out from the true table would rule out candidates that the attacker cannot rule out,
and let pass others that it can.

It *knows the sense* of a cell when it rose (or fell) in all possible tables. The true table shows one sense
possible; the other is shown by a possible table with the opposite sense. One such table for all cells at once
is t = x + y, the published table with the adjustment y added once more, wherever that is possible; for other
cells it is looked for by cubes (`deviations.cubes`) in tables with dimensions, and by programs. Each is
checked exactly, in whole numbers. A sense that was not shown open counts as known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Float, Int
from cellveil.clock import Deadline
from cellveil.deviations.cubes import Cubes, has_cubes
from cellveil.params import Params, param
from cellveil.problem import Problem
from cellveil.tables.scaled import UNBOUNDED

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix


@dataclass(frozen=True, kw_only=True)
class AdjustedAttackParams(Params):
    """Parameters of the attack on adjusted tables."""

    most_cells: int = param(20_000, "Largest table for mixed-integer programs.", least=0)
    nodes: int = param(20, "Branch-and-cut nodes of such a program.", least=1)
    seconds: float = param(10.0, "Seconds for the programs of senses, and for those of widths.", least=0)


FREE = -1
"""The share of a cell that may move without a limit."""


@dataclass(frozen=True, eq=False)
class Shares:
    """How far each cell may move: so many `whole`-ths of its true value, 0 for none, FREE for any."""

    part: Int
    whole: int

    def keep(self, y: Int, table: Int, cells: Int | slice = slice(None)) -> Bool:
        """Where a movement stays within the limit of a true value; exact.

        Movements are whole, so |y| ≤ ⌊share · |t|⌋ is the same as |y| · whole ≤ part · |t|.
        """
        part = self.part[cells]
        moved, most = _times(np.abs(y), self.whole), _times(np.abs(table), np.maximum(part, 0))
        return np.asarray((part == FREE) | (moved <= most), dtype=bool)

    def true_values(self, published: Int, farthest: int) -> tuple[Int, Int]:
        """Between which true values each published one can come from; open ends are cut at `farthest`.

        With shares of 1 and more, the half with the sign of the published value: what is found in it is
        possible.
        """
        size, part = np.abs(published), np.maximum(self.part, 0)
        scaled, most = _times(size, self.whole), np.full(len(size), farthest)
        least = -(-scaled // (part + self.whole))
        below = part < self.whole
        most[below] = (scaled[below] // (self.whole - part[below])).astype(np.int64)
        least = np.asarray(least).astype(np.int64)
        low, high = np.where(published < 0, -most, least), np.where(published < 0, -least, most)
        anything = (self.part == FREE) | ((published == 0) & ~below)
        return np.where(anything, -farthest, low), np.where(anything, farthest, high)


def _times(values: Int, factor: int | Int) -> NDArray[Any]:
    """The product, in Python's own integers where it may leave 64 bits."""
    largest = int(np.abs(values).max(initial=0)) * int(np.max(factor, initial=1))
    return values * factor if largest < 2**62 else values.astype(object) * factor


@dataclass(frozen=True, eq=False)
class Candidates:
    """The tables that an attacker holds possible.

    Parameters
    ----------
    problem
        The truth, from which relations, bounds and sensitive cells are taken.
    published
        The adjusted values.
    shares
        The limits; FREE for sensitive cells.
    rise, fall
        The levels of the sensitive cells, 0 where there is no such sense.
    """

    problem: Problem
    published: Int
    shares: Shares
    rise: Int
    fall: Int
    params: AdjustedAttackParams = field(default_factory=AdjustedAttackParams)

    @cached_property
    def y(self) -> Int:
        """How far each cell was moved."""
        return np.asarray(self.published - self.problem.table.values)

    @cached_property
    def columns(self) -> csc_matrix:
        """The relations' coefficients in whole numbers, cell by cell."""
        return self.problem.table.relations.matrix.tocsc().astype(np.int64)

    @cached_property
    def place(self) -> Int:
        """The place of each cell among the sensitive ones, −1 for others."""
        place = np.full(self.problem.table.num_cells, -1)
        place[self.problem.primaries] = np.arange(len(self.problem.primaries))
        return place

    def fits(self, y: Int, cells: Int | slice = slice(None)) -> Bool:
        """Where a movement leads back to a value within bounds, levels and limits."""
        problem, place = self.problem, self.place[cells]
        table, lb, ub = self.published[cells] - y, problem.lb[cells], problem.ub[cells]
        rise, fall = np.append(self.rise, 0)[place], np.append(self.fall, 0)[place]
        is_beyond = ((y >= rise) & (rise > 0)) | ((y <= -fall) & (fall > 0))
        fine = np.where(place >= 0, is_beyond, self.shares.keep(y, table, cells))
        return np.asarray(fine & ((lb == -UNBOUNDED) | (table >= lb)) & ((ub == UNBOUNDED) | (table <= ub)))

    def has(self, y: Int) -> bool:
        """Whether the published table may be the adjustment by y of another."""
        return bool(self.fits(y).all()) and not self.problem.table.relations.residuals(self.published - y)

    @cached_property
    def bounds(self) -> tuple[Float, Float]:
        """What the attacker knows of y cell by cell; open ends are cut at the size of the whole table."""
        problem, x = self.problem, self.published
        most = int(np.abs(x).max(initial=1))
        least, largest = self.shares.true_values(x, 2 * most)
        least = np.where(problem.lb == -UNBOUNDED, least, np.maximum(least, problem.lb))
        largest = np.where(problem.ub == UNBOUNDED, largest, np.minimum(largest, problem.ub))
        low, high = (x - largest).astype(float), (x - least).astype(float)
        return np.maximum(low, -float(most)), np.minimum(high, float(most))


def open_senses(known: Candidates, deadline: Deadline) -> Bool:
    """For which sensitive cells a possible table with the other sense was shown."""
    cells = known.problem.primaries
    rose = known.y[cells] > 0
    is_open = np.zeros(len(rose), dtype=bool)
    if known.has(-known.y):  # the table x + y, of which x is the adjustment by −y
        is_open |= (-known.y[cells] > 0) != rose

    def other_side(place: int) -> tuple[bool, int]:
        return not rose[place], -known.fall[place] if rose[place] else known.rise[place]

    return _shown_by_tables(known, is_open, other_side, lambda own: (own > 0) != rose, deadline)


def wide_values(known: Candidates, is_open: Bool, width: Int, deadline: Deadline) -> Bool:
    """Which sensitive cells are shown open, or by a possible table `width` away from their true values."""
    y = known.y[known.problem.primaries]

    def farther(place: int) -> tuple[bool, int]:
        up = bool(y[place] > 0)
        return up, y[place] + (width[place] if up else -width[place])

    return _shown_by_tables(known, is_open, farther, lambda own: np.abs(own - y) >= width, deadline)


def _shown_by_tables(
    known: Candidates,
    shown: Bool,
    goal: Callable[[int], tuple[bool, int]],
    shows: Callable[[Int], Bool],
    deadline: Deadline,
) -> Bool:
    """What was shown already, and what further possible tables show, each looked for because of one cell.

    Parameters
    ----------
    goal
        For a sensitive cell: whether it is to rise, and how far it has to go.
    shows
        Of the sensitive cells' movements in a possible table: for which cells it is enough.
    """
    found = shown | _shown_by_cubes(known, shown, goal)
    if known.problem.table.num_cells > known.params.most_cells:
        return found
    for place in np.flatnonzero(~found).tolist():
        if found[place] or deadline.is_over:
            continue
        other = _possible(known, place, *goal(place), deadline)
        if other is not None and known.has(other):
            found |= shows(other[known.problem.primaries])
    return found


def _shown_by_cubes(known: Candidates, shown: Bool, goal: Callable[[int], tuple[bool, int]]) -> Bool:
    """What a cube around the cell shows: it goes where it is to, the other corners stay on their sides."""
    table, y, cells = known.problem.table, known.y, known.problem.primaries
    places, found = np.flatnonzero(~shown), np.zeros(len(shown), dtype=bool)
    if not len(places) or not has_cubes(table):
        return found
    low, high = (np.rint(end).astype(np.int64) for end in known.bounds)
    low[cells] = np.where(y[cells] > 0, np.maximum(low[cells], known.rise), low[cells])
    high[cells] = np.where(y[cells] < 0, np.minimum(high[cells], -known.fall), high[cells])
    rooms = np.maximum(high - y, 0), np.maximum(y - low, 0)
    search = Cubes(table, np.ones(len(y), dtype=bool), rooms)
    cubes: dict[int, list[tuple[int, Int, Int]]] = defaultdict(list)
    for place, cell in zip(places.tolist(), cells[places].tolist(), strict=True):
        up, reach = goal(place)
        wanted = abs(int(reach - y[cell]))
        if (cube := search.find(cell, wanted, up=up)) is not None:
            cubes[len(cube[0])].append((place, cube[0], cube[1] * wanted))
    for alike in cubes.values():
        own, corners, moves = (np.array(part) for part in zip(*alike, strict=True))
        found[own[are_possible(known, corners, moves)]] = True
    return found


def are_possible(known: Candidates, corners: Int, moves: Int) -> Bool:
    """Which of these changes, one in each line, lead to movements that the attacker cannot rule out."""
    from scipy.sparse import csc_matrix

    cells, count = known.problem.table.num_cells, len(corners)
    fine = known.fits(known.y[corners] + moves, corners).all(axis=1)
    starts = np.arange(count + 1) * corners.shape[1]
    change = csc_matrix((moves.ravel(), corners.ravel(), starts), shape=(cells, count), dtype=np.int64)
    left = abs(known.columns @ change)
    return np.asarray(fine & (np.asarray(left.sum(axis=0)).ravel() == 0))


def _possible(known: Candidates, place: int, up: bool, reach: int, deadline: Deadline) -> Int | None:
    """An adjustment that the attacker cannot rule out, which moves one cell that far, or None."""
    from cellveil.solvers.mip import Budget, Program, solve

    cells, count = known.problem.primaries, len(known.problem.primaries)
    low, high = (end.copy() for end in known.bounds)
    own = cells[place]
    if up:
        low[own] = max(low[own], reach)
    else:
        high[own] = min(high[own], reach)
    if low[own] > high[own] or (known.rise if up else known.fall)[place] == 0:
        return None
    matrix, rows = _sense_rows(known, (low, high))
    senses = np.zeros(count), np.ones(count)
    program = Program(
        matrix,
        rows,
        (np.concatenate([low, senses[0]]), np.concatenate([high, senses[1]])),
        np.zeros(matrix.shape[1]),
        np.arange(matrix.shape[1]) >= len(low),
    )
    answer = solve(program, budget=Budget(deadline, nodes=known.params.nodes))
    return None if answer.point is None else np.rint(answer.point[: len(low)]).astype(np.int64)


def _sense_rows(known: Candidates, bounds: tuple[Float, Float]) -> tuple[Any, tuple[Float, Float]]:
    """M y = 0, and y ≥ rise where the sense is 1, y ≤ −fall where it is 0."""
    from scipy.sparse import csc_matrix, diags, hstack, vstack

    problem = known.problem
    cells, count = problem.primaries, len(problem.primaries)
    relations = problem.table.relations
    pick = csc_matrix((np.ones(count), (np.arange(count), cells)), shape=(count, relations.num_cells))
    low, high = bounds[0][cells], bounds[1][cells]
    first = hstack([pick, -diags(known.rise - low)])  # y − (rise − low) s ≥ low
    second = hstack([pick, -diags(high + known.fall)])  # y − (high + fall) s ≤ −fall
    plain = hstack([relations.matrix, csc_matrix((len(relations), count))])
    nothing, infinite = np.zeros(len(relations)), np.full(count, np.inf)
    rows = (
        np.concatenate([nothing, low, -infinite]),
        np.concatenate([nothing, infinite, -known.fall.astype(float)]),
    )
    return vstack([plain, first, second]).tocsc(), rows
