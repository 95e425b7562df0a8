"""The audit of an adjusted table: is it what it must be, what does it tell an attacker, what is it worth.

It shares no code with the methods of `adjustment`, and takes nothing from them but the values to publish.

Kept, exactly, in whole numbers: every relation; common bounds; limits; fixed cells and zeros; and every
sensitive cell to or beyond one of its levels.

The attacker knows the published table, the relations, the common bounds, which cells are sensitive, their
levels, and how far other cells may have moved: everything but the senses. A table t is possible for it when
t keeps relations and bounds and the published table is a proper adjustment of t. It *knows the sense* of a
cell when it rose (or fell) in all possible tables. The true table shows one sense possible; the other is
shown by a possible table with the opposite sense. One such table for all cells at once is t = x + y, the
published table with the adjustment added once more, wherever that stays within bounds; for other cells it is
looked for by cubes (`attack.cubes`) in tables with dimensions, and by programs. Each is checked exactly. A
sense that was not shown open counts as known. A cell whose sense is known is *pinned down* unless a possible
table shows it as far from its true value as both levels together; where the sense is open, the table that
shows it does.

Correlations are those of the literature: between true and published values, for all cells, sensitive ones,
and the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cellveil.attack.cubes import Cubes, may_have_cubes
from cellveil.errors import InputError
from cellveil.problem import Problem, Status
from cellveil.progress import counted_time
from cellveil.tables.keys import Int
from cellveil.tables.numbers import UNBOUNDED

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

Float = NDArray[np.float64]
Bool = NDArray[np.bool_]

PROGRAM_SECONDS = 10.0
MOST_CELLS = 20_000
"""Seconds for the programs of one question; and none from so many cells on."""

CUBE_ROUNDS, CUBE_PATIENCE = 60, 8
"""How often a cube is looked for around every cell, and how often in vain."""


@dataclass(frozen=True)
class Utility:
    """What the adjustment did to the table; amounts in its own unit."""

    cells: int
    changed: int
    totals: int
    totals_changed: int
    l1: float
    value_weighted: float
    l2: float
    largest_percent: float
    mean_percent: float
    correlation: float | None
    correlation_sensitive: float | None
    correlation_others: float | None


@dataclass(frozen=True, eq=False)
class AdjustedAudit:
    """The verdict on one adjusted table.

    Parameters
    ----------
    faults
        What is not kept, in words; none where the table is what it must be.
    sensitive
        Numbers of the sensitive cells.
    is_open
        For each of them, whether the attacker cannot tell its sense.
    pinned
        For each of them, whether the attacker may be able to tell its value: its sense is known, and no
        possible table shows it as far off as the two levels together.
    """

    faults: tuple[str, ...]
    sensitive: Int
    is_open: Bool
    pinned: Bool
    utility: Utility
    seconds: float

    @property
    def is_safe(self) -> bool:
        """Whether everything asked is kept."""
        return not self.faults

    @property
    def num_known(self) -> int:
        """How many senses the attacker knows, or was not shown not to know."""
        return int((~self.is_open).sum())

    def to_dict(self) -> dict[str, Any]:
        """Figures for reports."""
        return {
            "safe": self.is_safe,
            "faults": list(self.faults),
            "sensitive": len(self.sensitive),
            "senses_open": int(self.is_open.sum()),
            "senses_known_or_not_shown_open": self.num_known,
            "pinned_or_not_shown_open": int(self.pinned.sum()),
            "seconds": self.seconds,
        }


def audit_adjusted(
    problem: Problem,
    values: Int,
    *,
    limits: Mapping[str, float | None] | None = None,
    time_limit: float = PROGRAM_SECONDS,
) -> AdjustedAudit:
    """Judge the values to publish.

    Parameters
    ----------
    values
        One scaled integer per cell.
    limits
        Per cent that ``interior`` cells, ``marginals`` and the grand ``total`` may move; missing: no limit.
    time_limit
        Seconds for the programs of the attack.
    """
    begun = time.perf_counter()
    values = np.asarray(values)
    if values.shape != problem.table.values.shape or values.dtype.kind != "i":
        raise InputError("an adjusted table has one whole number per cell", remedy="Give scaled integers.")
    room = _Rooms.of(problem, limits or {})
    faults = tuple(room.faults(values))
    cells = problem.primaries
    is_open = is_wide = np.zeros(len(cells), dtype=bool)
    if not faults:
        is_open = _open_senses(room, values, time_limit)
        is_wide = _wide_values(room, values, is_open, time_limit)
    pinned = ~is_wide
    return AdjustedAudit(
        faults, cells, is_open, pinned, utility_of(problem, values), time.perf_counter() - begun
    )


@dataclass(frozen=True, eq=False)
class _Rooms:
    """How far cells may move, and sensitive ones must."""

    problem: Problem
    down: Float
    up: Float
    rise: Int
    fall: Int

    @classmethod
    def of(cls, problem: Problem, limits: Mapping[str, float | None]) -> _Rooms:
        down, up = problem.down.copy(), problem.up.copy()
        names = np.array(["interior", "marginals", "total"])[_kinds(problem)]
        for name, percent in limits.items():
            if percent is None:
                continue
            share = Fraction(str(percent)) / 100
            for cell in np.flatnonzero((names == name) & (problem.status != Status.PRIMARY)).tolist():
                most = float(int(abs(int(problem.table.values[cell])) * share))
                down[cell], up[cell] = min(down[cell], most), min(up[cell], most)
        fixed = problem.status == Status.FROZEN
        down[fixed] = up[fixed] = 0.0
        cells = problem.primaries
        wider = np.maximum(problem.spl - problem.lpl - problem.upl, 0)[cells]
        return cls(problem, down, up, problem.upl[cells] + (wider + 1) // 2, problem.lpl[cells] + wider // 2)

    @cached_property
    def columns(self) -> csc_matrix:
        """The relations' coefficients in whole numbers, cell by cell."""
        return self.problem.table.relations.matrix.tocsc().astype(np.int64)

    def faults(self, values: Int) -> list[str]:
        """What the published values break."""
        problem, found = self.problem, []
        broken = problem.table.relations.residuals(values)
        if broken:
            found.append(
                f"{len(broken)} relations do not hold, first {problem.table.relation_name(min(broken))}"
            )
        y = values - problem.table.values
        outside = np.flatnonzero((y > self.up) | (-y > self.down))
        if len(outside):
            found.append(f"{len(outside)} cells pass their bounds or limits, first {self._name(outside[0])}")
        inside = problem.primaries[~self.is_beyond(y[problem.primaries])]
        if len(inside):
            found.append(
                f"{len(inside)} sensitive cells stay inside their levels, first {self._name(inside[0])}"
            )
        return found

    def is_beyond(self, own: Int) -> Bool:
        """Which sensitive cells reach one of their levels."""
        return np.asarray(((own >= self.rise) & (self.rise > 0)) | ((own <= -self.fall) & (self.fall > 0)))

    def _name(self, cell: np.int64) -> str:
        return self.problem.table.cell_name(int(cell))


def _kinds(problem: Problem) -> NDArray[np.int64]:
    """0 for cells that are no totals, 1 for totals, 2 for totals that are parts of nothing."""
    relations = problem.table.relations
    is_total, is_part = (np.zeros(relations.num_cells, dtype=bool) for _ in range(2))
    row, coefs, cells = relations.row_of_entry, relations.coefs, relations.cells
    for sign in (1, -1):
        mine = coefs * sign > 0
        alone = (np.bincount(row[mine], minlength=len(relations)) == 1) & (
            np.bincount(row[~mine], minlength=len(relations)) > 1
        )
        is_total[cells[mine & alone[row]]] = True
        is_part[cells[mine & ~alone[row]]] = True
    return np.where(is_total, np.where(is_part, 1, 2), 0)


# -- the attack --------------------------------------------------------------------------------------------


def _open_senses(room: _Rooms, values: Int, time_limit: float) -> Bool:
    """For which sensitive cells a possible table with the other sense was shown."""
    problem, y = room.problem, values - room.problem.table.values
    rose = y[problem.primaries] > 0
    mirrored = -y  # the table x + y, of which x is the adjustment by −y
    is_open = np.zeros(len(rose), dtype=bool)
    if _is_possible(room, values, mirrored):
        is_open |= (mirrored[problem.primaries] > 0) != rose

    def other_side(place: int) -> tuple[bool, int]:
        return not rose[place], -room.fall[place] if rose[place] else room.rise[place]

    return _shown_by_tables(room, values, is_open, other_side, lambda own: (own > 0) != rose, time_limit)


def _wide_values(room: _Rooms, values: Int, is_open: Bool, time_limit: float) -> Bool:
    """Which sensitive cells a possible table shows as far from the true one as both levels together."""
    y, width = (values - room.problem.table.values)[room.problem.primaries], room.rise + room.fall

    def farther(place: int) -> tuple[bool, int]:
        up = bool(y[place] > 0)
        return up, y[place] + (width[place] if up else -width[place])

    return _shown_by_tables(room, values, is_open, farther, lambda own: np.abs(own - y) >= width, time_limit)


def _shown_by_tables(
    room: _Rooms,
    values: Int,
    known: Bool,
    goal: Callable[[int], tuple[bool, int]],
    shows: Callable[[Int], Bool],
    time_limit: float,
) -> Bool:
    """What is known already, and what further possible tables show, each looked for because of one cell.

    Parameters
    ----------
    goal
        For a sensitive cell: whether it is to rise, and how far it has to go.
    shows
        Of the sensitive cells' movements in a possible table: for which cells it is enough.
    """
    found = known | _shown_by_cubes(room, values, known, goal)
    if room.problem.table.num_cells > MOST_CELLS:
        return found
    deadline = counted_time() + time_limit
    for place in np.flatnonzero(~found).tolist():
        if found[place] or counted_time() > deadline:
            continue
        other = _possible(room, values, place, *goal(place), deadline - counted_time())
        if other is not None and _is_possible(room, values, other):
            found |= shows(other[room.problem.primaries])
    return found


def _shown_by_cubes(room: _Rooms, values: Int, known: Bool, goal: Callable[[int], tuple[bool, int]]) -> Bool:
    """What a cube around the cell shows: it goes where it is to, the other corners stay on their sides."""
    problem, places = room.problem, np.flatnonzero(~known)
    found = np.zeros(len(known), dtype=bool)
    if not may_have_cubes(problem.table) or not len(places):
        return found
    y, cells = values - problem.table.values, problem.primaries
    ups, reaches = (np.array(side) for side in zip(*map(goal, places.tolist()), strict=True))
    wanted, place_of = np.zeros(len(y), dtype=np.int64), np.full(len(y), -1)
    wanted[cells[places]] = np.abs(reaches - y[cells[places]])
    place_of[cells] = np.arange(len(cells))
    low, high = (np.rint(end).astype(np.int64) for end in _attacker_bounds(room, values))
    low[cells] = np.where(y[cells] > 0, np.maximum(low[cells], room.rise), low[cells])
    high[cells] = np.where(y[cells] < 0, np.minimum(high[cells], -room.fall), high[cells])
    rooms = np.maximum(high - y, 0), np.maximum(y - low, 0)
    search = Cubes(problem.table, np.ones(len(y), dtype=bool), *rooms)
    rng, barren = np.random.default_rng(0), 0
    for _ in range(CUBE_ROUNDS):
        before = int(found.sum())
        for up in (True, False):
            for batch in search.batches(cells[places[(ups == up) & ~found[places]]]):
                which, corners = search.find(batch, wanted[batch], up, rng)
                moves = search.signs(corners) * wanted[batch[which]][:, None] * (1 if up else -1)
                shown = _are_possible(room, values, corners, moves) & (corners[:, 0] == batch[which])
                found[place_of[batch[which[shown]]]] = True
        barren = 0 if found.sum() > before else barren + 1
        if barren == CUBE_PATIENCE or found[places].all():
            break
    return found


def _are_possible(room: _Rooms, values: Int, corners: Int, moves: Int) -> Bool:
    """Which of these changes, one in each line, lead to movements that the attacker cannot rule out."""
    from scipy.sparse import csc_matrix

    problem, count = room.problem, len(corners)
    y = (values - problem.table.values)[corners] + moves
    table = values[corners] - y
    lb, ub = problem.lb[corners], problem.ub[corners]
    fine = ((lb == -UNBOUNDED) | (table >= lb)) & ((ub == UNBOUNDED) | (table <= ub))
    place = np.full(problem.table.num_cells, -1)
    place[problem.primaries] = np.arange(len(problem.primaries))
    rise, fall = np.append(room.rise, 0)[place[corners]], np.append(room.fall, 0)[place[corners]]
    is_beyond = ((y >= rise) & (rise > 0)) | ((y <= -fall) & (fall > 0))
    is_within = (y <= room.up[corners]) & (-y <= room.down[corners])
    fine &= np.where(place[corners] >= 0, is_beyond, is_within)
    starts = np.arange(count + 1) * corners.shape[1]
    change = csc_matrix(
        (moves.ravel(), corners.ravel(), starts), shape=(problem.table.num_cells, count), dtype=np.int64
    )
    left = abs(room.columns @ change)
    return np.asarray(fine.all(axis=1) & (np.asarray(left.sum(axis=0)).ravel() == 0))


def _is_possible(room: _Rooms, values: Int, y: Int) -> bool:
    """Whether the published table may be the adjustment by y of a table within common bounds."""
    problem = room.problem
    table = values - y
    if ((problem.lb != -UNBOUNDED) & (table < problem.lb)).any():
        return False
    if ((problem.ub != UNBOUNDED) & (table > problem.ub)).any():
        return False
    others = problem.status != Status.PRIMARY
    if ((y > room.up) | (-y > room.down))[others].any() or not room.is_beyond(y[problem.primaries]).all():
        return False
    return not problem.table.relations.residuals(table)


def _possible(room: _Rooms, values: Int, place: int, up: bool, reach: int, seconds: float) -> Int | None:
    """An adjustment that the attacker cannot rule out, which moves one cell that far, or None."""
    from cellveil.solvers.mixed import Budget, Program, solve

    problem = room.problem
    cells, count = problem.primaries, len(problem.primaries)
    low, high = _attacker_bounds(room, values)
    own = cells[place]
    if up:
        low[own] = max(low[own], reach)
    else:
        high[own] = min(high[own], reach)
    if low[own] > high[own] or (room.rise if up else room.fall)[place] == 0:
        return None
    matrix, rows = _sense_rows(room, (low, high))
    senses = np.zeros(count), np.ones(count)
    program = Program(
        matrix,
        rows,
        (np.concatenate([low, senses[0]]), np.concatenate([high, senses[1]])),
        np.zeros(matrix.shape[1]),
        np.arange(matrix.shape[1]) >= len(low),
    )
    answer = solve(program, budget=Budget(seconds=max(seconds, 0.1), nodes=20))
    return None if answer.point is None else np.rint(answer.point[: len(low)]).astype(np.int64)


def _attacker_bounds(room: _Rooms, values: Int) -> tuple[Float, Float]:
    """What the attacker knows of y cell by cell; open ends are cut at the size of the whole table."""
    problem = room.problem
    most = float(np.abs(values).max(initial=1))
    below = np.where(problem.ub == UNBOUNDED, -most, (values - problem.ub).astype(float))
    above = np.where(problem.lb == -UNBOUNDED, most, (values - problem.lb).astype(float))
    low, high = np.maximum(-room.down, below), np.minimum(room.up, above)
    sensitive = problem.primaries
    low[sensitive], high[sensitive] = below[sensitive], above[sensitive]
    return np.maximum(low, -most), np.minimum(high, most)


def _sense_rows(room: _Rooms, bounds: tuple[Float, Float]) -> tuple[Any, tuple[Float, Float]]:
    """M y = 0, and y ≥ rise where the sense is 1, y ≤ −fall where it is 0."""
    from scipy.sparse import csc_matrix, diags, hstack, vstack

    problem = room.problem
    cells, count = problem.primaries, len(problem.primaries)
    relations = problem.table.relations
    pick = csc_matrix((np.ones(count), (np.arange(count), cells)), shape=(count, relations.num_cells))
    low, high = bounds[0][cells], bounds[1][cells]
    first = hstack([pick, -diags(room.rise - low)])  # y − (rise − low) s ≥ low
    second = hstack([pick, -diags(high + room.fall)])  # y − (high + fall) s ≤ −fall
    plain = hstack([relations.matrix, csc_matrix((len(relations), count))])
    nothing, infinite = np.zeros(len(relations)), np.full(count, np.inf)
    rows = (
        np.concatenate([nothing, low, -infinite]),
        np.concatenate([nothing, infinite, -room.fall.astype(float)]),
    )
    return vstack([plain, first, second]).tocsc(), rows


# -- utility -------------------------------------------------------------------------------------------------


def utility_of(problem: Problem, values: Int) -> Utility:
    """How much of the table is left."""
    table, unit = problem.table, 10.0**problem.table.decimals
    y = (values - table.values).astype(float) / unit
    size = np.abs(table.floats())
    is_total, changed = _kinds(problem) > 0, y != 0
    percent = 100.0 * np.abs(y[size > 0]) / size[size > 0]
    sensitive = problem.status == Status.PRIMARY
    true, published = table.floats(), values / unit
    return Utility(
        cells=table.num_cells,
        changed=int(changed.sum()),
        totals=int(is_total.sum()),
        totals_changed=int((is_total & changed).sum()),
        l1=float(np.abs(y).sum()),
        value_weighted=float((size * np.abs(y)).sum()),
        l2=float((y * y).sum()),
        largest_percent=float(percent.max(initial=0.0)),
        mean_percent=float(percent.mean()) if len(percent) else 0.0,
        correlation=_correlation(true, published),
        correlation_sensitive=_correlation(true[sensitive], published[sensitive]),
        correlation_others=_correlation(true[~sensitive], published[~sensitive]),
    )


def _correlation(one: Float, other: Float) -> float | None:
    """None where there is none: fewer than two cells, or all alike."""
    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    return float(np.corrcoef(one, other)[0, 1])
