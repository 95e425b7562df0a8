"""The audit of an adjusted table: is it what it must be, what does it tell an attacker, what is it worth.

It shares no code with the methods of `adjustment`, and takes nothing from them but the values to publish.

Kept, exactly, in whole numbers: every relation; common bounds; limits; fixed cells and zeros; and every
sensitive cell to or beyond one of its levels.

An adjusted table hides nothing, so a cell that is to be hidden without a demand of its own (status m) cannot
be kept: its true value would be published, or follow from the others. Such a table is refused; the cell needs
a level (status u) to be moved, or the table is to be suppressed.

What an attacker can tell is found in `attack.adjusted`: for which sensitive cells it cannot tell the sense. A
cell whose sense is known is *pinned down* unless a possible table shows it as far from its true value as both
levels together; where the sense is open, the table that shows it does.

Correlations are those of the literature: between true and published values, for all cells, sensitive ones,
and the others.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from numbers import Real
from typing import Any

import numpy as np

from cellveil.arrays import Bool, Float, Int, freeze
from cellveil.clock import Deadline
from cellveil.errors import InputError, counted, nearest_name
from cellveil.judge.adjusted_attack import (
    FREE,
    AdjustedAttackParams,
    Candidates,
    Shares,
    open_senses,
    wide_values,
)
from cellveil.problem import Problem, Status, check_problem
from cellveil.tables.scaled import UNBOUNDED

KINDS = ("interior", "marginals", "total")
"""The kinds of cells that have limits: no totals, totals, and totals that are parts of nothing."""


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

    def __post_init__(self) -> None:
        freeze(self, ("sensitive", "is_open", "pinned"))

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
    time_limit: float | None = None,
    params: AdjustedAttackParams | None = None,
) -> AdjustedAudit:
    """Judge the values to publish.

    Parameters
    ----------
    values
        One scaled integer per cell.
    limits
        Per cent that ``interior`` cells, ``marginals`` and the grand ``total`` may move; missing: no limit.
    time_limit
        Seconds for the programs of the attack; by default as `params` say.
    """
    check_problem(problem)
    begun, params = time.perf_counter(), params or AdjustedAttackParams()
    seconds = params.seconds if time_limit is None else time_limit
    values = np.asarray(values)
    if values.shape != problem.table.values.shape or values.dtype.kind != "i":
        raise InputError("an adjusted table has one whole number per cell", remedy="Give scaled integers.")
    rules = _Rules.of(problem, limits or {})
    faults = tuple(rules.faults(values))
    cells = problem.primaries
    is_open = is_wide = np.zeros(len(cells), dtype=bool)
    if not faults:
        known = Candidates(problem, values, rules.shares, rules.rise, rules.fall, params)
        is_open = open_senses(known, Deadline(seconds))
        is_wide = wide_values(known, is_open, rules.rise + rules.fall, Deadline(seconds))
    return AdjustedAudit(
        faults, cells, is_open, ~is_wide, utility_of(problem, values), time.perf_counter() - begun
    )


@dataclass(frozen=True, eq=False)
class _Rules:
    """How far cells may move, and sensitive ones must."""

    problem: Problem
    shares: Shares
    rise: Int
    fall: Int

    @classmethod
    def of(cls, problem: Problem, limits: Mapping[str, float | None]) -> _Rules:
        shares = {name: share for name in KINDS if (share := _share(limits, name)) is not None}
        whole = lcm(*(share.denominator for share in shares.values()))
        part = np.full(problem.table.num_cells, FREE, dtype=np.int64)
        kinds = _kinds(problem)
        for name, share in shares.items():
            part[kinds == KINDS.index(name)] = int(share * whole)
        part[problem.status == Status.FROZEN] = 0
        part[problem.primaries] = FREE
        rise, fall = (level[problem.primaries] for level in problem.halved_levels)
        return cls(problem, Shares(part, whole), rise, fall)

    def faults(self, values: Int) -> list[str]:
        """What the published values break."""
        problem, found = self.problem, []
        to_hide = np.flatnonzero(problem.status == Status.SECONDARY)
        if len(to_hide):
            found.append(
                f"{counted(len(to_hide), 'cell is', 'cells are')} to be hidden, "
                f"but an adjusted table hides nothing, first "
                f"{self._name(to_hide[0])}"
            )
        broken = problem.table.relations.residuals(values)
        if broken:
            found.append(
                f"{counted(len(broken), 'relation does', 'relations do')} not hold, "
                f"first {problem.table.relation_name(min(broken))}"
            )
        outside = np.flatnonzero(~self._keeps(values))
        if len(outside):
            found.append(
                f"{counted(len(outside), 'cell passes its', 'cells pass their')} bounds or limits, "
                f"first {self._name(outside[0])}"
            )
        own = (values - problem.table.values)[problem.primaries]
        is_beyond = ((own >= self.rise) & (self.rise > 0)) | ((own <= -self.fall) & (self.fall > 0))
        inside = problem.primaries[~is_beyond]
        if len(inside):
            words = ("sensitive cell stays inside its", "sensitive cells stay inside their")
            found.append(f"{counted(len(inside), *words)} levels, first {self._name(inside[0])}")
        return found

    def _keeps(self, values: Int) -> Bool:
        """Which cells stay within common bounds and within the limits of their true values."""
        problem = self.problem
        above = (problem.lb == -UNBOUNDED) | (values >= problem.lb)
        below = (problem.ub == UNBOUNDED) | (values <= problem.ub)
        true = problem.table.values
        return np.asarray(above & below & self.shares.keep(values - true, true))

    def _name(self, cell: np.int64) -> str:
        return self.problem.table.cell_name(int(cell))


def _share(limits: Mapping[str, float | None], name: str) -> Fraction | None:
    """The limit of one kind of cells; refuses names that are none, and what is no share."""
    for given in limits:
        if given not in KINDS:
            raise InputError(f"unknown limit {given!r}", remedy=nearest_name(str(given), KINDS))
    percent = limits.get(name)
    if percent is None:
        return None
    if isinstance(percent, bool) or not isinstance(percent, Real) or not 0 <= percent < np.inf:
        raise InputError(f"the limit of {name} is not a share", remedy="Give per cent, 0 or more.")
    return Fraction(str(percent)) / 100


def _kinds(problem: Problem) -> Int:
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
