"""Infeasible suppression problems: the conflicts, and the cheapest relaxation of the requirements.

A way out frees cells that must be published, and lowers levels. Protection comes first:

1. Levels are lowered only as far as they are out of reach even if every cell is freed that is not zero.
2. For the levels that are left, the cheapest set of cells is freed: with everything else hidden this is again
   a suppression problem, in which the cells to be published are the candidates with their weights, and
   `optimal` solves it.

A freed cell need not be hidden in the end; it may be. A cell that cannot move at all, whatever is freed,
would be laid open by every pattern: then there is no way out, and the cell must be recoded.

Requires a problem without a safe pattern. Ensures that the relaxed problem has a safe pattern, as far as the
linear programs tell (`suppress` audits it like any other), and the least weight of freed cells where
`is_cheapest`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.errors import InfeasibleError, counted, name_some
from cellveil.judge.outsider import audit_outsider
from cellveil.params import Params, param
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.solvers.tolerances import ROUNDING
from cellveil.suppression.draft import Draft, MethodEnding
from cellveil.suppression.infeasible.conflicts import Conflict, Level, Reach, Side, conflict_with, levels_of
from cellveil.suppression.methods.optimal import optimal
from cellveil.tables.table import Table

FIXED = ("must be published", "is zero")

FIELDS: dict[Side, str] = {"upper": "upl", "lower": "lpl", "sliding": "spl"}


@dataclass(frozen=True, kw_only=True)
class DiagnosisParams(Params):
    """Parameters of the diagnosis of infeasible problems."""

    audit_share: float = param(0.4, "Share of the time for finding the cells in conflict.", least=0, most=1)
    most_conflicts: int = param(20, "Levels that are explained.", least=0)


@dataclass(frozen=True)
class Lowered:
    """A level that is lowered, and the share of it that is kept."""

    cell: int
    name: str
    side: Side
    kept: float


@dataclass(frozen=True, repr=False, eq=False)
class Relaxation:
    """A way out.

    Parameters
    ----------
    problem
        The relaxed problem.
    freed, freed_names
        Cells that no longer must be published.
    lowered
        Levels that are lowered.
    cost
        Sum of the weights of the freed cells.
    is_cheapest
        Whether it was proven that no cheaper set of freed cells would do.
    conflicts
        What stood in the way of the first levels that could not be met.
    """

    problem: Problem
    freed: tuple[int, ...]
    freed_names: tuple[str, ...]
    lowered: tuple[Lowered, ...]
    cost: float
    is_cheapest: bool
    conflicts: tuple[Conflict, ...] = ()

    def __repr__(self) -> str:
        return f"Relaxation({self})"

    def __str__(self) -> str:
        return " and ".join(
            [counted(len(self.freed), "cell freed", "cells freed")] * bool(self.freed)
            + [counted(len(self.lowered), "level lowered", "levels lowered")] * bool(self.lowered)
        )

    def lines(self) -> list[str]:
        """One for each cell and level, for people."""
        return [
            *(f"  freed, may be hidden: {name}" for name in self.freed_names),
            *(f"  lowered to {one.kept:.1%}: the {one.side} level of {one.name}" for one in self.lowered),
            *(f"  in the way of {conflict}" for conflict in self.conflicts),
        ]

    def to_dict(self) -> dict[str, Any]:
        """As data for JSON; names and shares only."""
        return {
            "freed_cells": list(self.freed_names),
            "lowered_levels": [
                {"cell": one.name, "level": one.side, "kept": round(one.kept, 6)} for one in self.lowered
            ],
            "cost": self.cost,
            "is_cheapest": self.is_cheapest,
            "conflicts": [one.to_dict() for one in self.conflicts],
        }


@dataclass(frozen=True, repr=False, eq=False)
class Diagnosis:
    """Why no pattern is safe, and what would help.

    Parameters
    ----------
    cells
        Primary cells with a level that cannot be met.
    conflicts
        For the first such levels, what stands in their way.
    relaxation
        The cheapest way out; None where there is none.
    hopeless
        Names of the cells for which there is none: they cannot move at all.
    was_cut
        Whether time ran out, so that nothing is known about ways out.
    """

    cells: Int
    conflicts: tuple[Conflict, ...]
    relaxation: Relaxation | None
    hopeless: tuple[str, ...]
    was_cut: bool = False

    def __repr__(self) -> str:
        return (
            f"Diagnosis({counted(len(self.cells), 'cell')} in conflict, way out: {self.relaxation or 'none'})"
        )

    def to_dict(self) -> dict[str, Any]:
        """As data for JSON; names and shares only."""
        return {
            "conflicts": [one.to_dict() for one in self.conflicts],
            "relaxation": None if self.relaxation is None else self.relaxation.to_dict(),
            "hopeless_cells": list(self.hopeless),
        }


def diagnose(
    problem: Problem,
    *,
    may_free: Bool | None = None,
    deadline: Deadline = NO_LIMIT,
    seed: int = 0,
    params: DiagnosisParams | None = None,
) -> Diagnosis:
    """Find out why no pattern is safe, and the cheapest way out; see the head of the module.

    Parameters
    ----------
    may_free
        The cells that a way out may free; by default all that are not zero.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})
    >>> status = problem.status.copy()
    >>> status[[problem.table.cell("r0"), problem.table.cell("r0", "c1")]] = Status.FROZEN
    >>> diagnosis = diagnose(problem.replace(status=status))
    >>> print(diagnosis.conflicts[0])
    the upper level of (r0, c0): (r0, Total) (must be published), (r0, c1) (must be published)
    >>> diagnosis.relaxation.freed_names
    ('(r0, c1)',)
    """
    params = params or DiagnosisParams()
    may_free = problem.table.values != 0 if may_free is None else may_free
    everything = problem.status != Status.FROZEN
    pattern, share = Pattern.hiding(problem, everything, "everything"), deadline.share(params.audit_share)
    unsafe = audit_outsider(problem, pattern, exact=False, deadline=share).unsafe_cells
    reach = Reach(problem)
    rooms = reach.rooms(everything)
    asked = levels_of(problem, unsafe.tolist())
    levels = [level for level in asked if not deadline.is_over and not reach.is_met(level, *rooms)]
    conflicts = tuple(
        conflict_with(reach, level) for level in levels[: params.most_conflicts] if not deadline.is_over
    )
    cells = np.unique(np.array([level.cell for level in levels], dtype=np.int64))
    lowered = {} if deadline.is_over else _lowered(reach, levels, may_free)
    if deadline.is_over:  # what was not asked yet might stand in the way as well
        return Diagnosis(cells, conflicts, None, (), was_cut=True)
    weaker = _with_levels(problem, lowered)
    if isinstance(weaker, tuple):
        return Diagnosis(cells, conflicts, None, weaker)
    draft = optimal(_to_free(problem, weaker, cells, may_free), deadline=deadline, seed=seed)
    found = _freeing(problem, weaker, lowered, draft)
    return Diagnosis(cells, conflicts, found and replace(found, conflicts=conflicts), ())


def infeasibility(
    problem: Problem, cells: Int, attacker: str = "", diagnosis: Diagnosis | None = None
) -> InfeasibleError:
    """The error that names the cells nobody can protect, what stands in the way, and what would help."""
    table = problem.table
    if diagnosis is None or not diagnosis.conflicts:
        nearby = _cells_around(problem, cells)
        fixed = nearby[(problem.status[nearby] == Status.FROZEN) & (table.values[nearby] != 0)]
        return InfeasibleError(table.cell_names(cells), table.cell_names(fixed), attacker)
    facts = {fact for conflict in diagnosis.conflicts for fact in conflict.facts}
    fixed = np.unique([fact.cell for fact in facts if fact.why in FIXED]).astype(np.int64)
    known = np.unique([fact.cell for fact in facts if fact.why not in FIXED]).astype(np.int64)
    sums = _sums_of_least_counts(problem, diagnosis)
    told = _sums_told(table, sums) if len(sums) else _bounds_told(table.cell_names(known))
    way_out = told + _way_out(diagnosis)
    return InfeasibleError(
        table.cell_names(diagnosis.cells),
        table.cell_names(fixed),
        attacker,
        way_out=way_out,
        details=diagnosis.to_dict(),
    )


def _cells_around(problem: Problem, cells: Int) -> Int:
    """The cells in relations with these."""
    relations = problem.table.relations
    rows = np.unique(relations.row_of_entry[np.isin(relations.cells, cells)])
    return np.unique(relations.take_rows(rows).cells)


def _sums_of_least_counts(problem: Problem, diagnosis: Diagnosis) -> Int:
    """Totals that cannot fall because each of their parts is known to be 1 or more: 2 = 1 + 1."""
    relations = problem.table.relations
    totals = np.unique(relations.cells[relations.coefs < 0])
    found = [
        conflict.cell
        for conflict in diagnosis.conflicts
        if conflict.side != "upper"
        and len(conflict.facts) > 1
        and all(fact.why == "lower bound is known" and problem.lb[fact.cell] > 0 for fact in conflict.facts)
    ]
    return np.intersect1d(np.array(found, dtype=np.int64), totals)


def _sums_told(table: Table, sums: Int) -> str:
    """Why such totals cannot be protected, and what can be done: in words without their values."""
    key = ", ".join(
        f"{dimension.name} = {code}"
        for dimension, code in zip(table.dimensions, table.key(int(sums[0])), strict=True)
    )
    others = counted(len(sums) - 1, "other", "others")
    which = f"the total {key}" + (f" and {others}" if len(sums) > 1 else "")
    return (
        f"A total such as 2 = 1 + 1 cannot be protected where zeros are published: readers know that each of "
        f"its suppressed parts is 1 or more. Such is {which}. Suppress the total without its lower level: "
        "write relax = true below [suppress] of the job. Or recode: join codes. Or round: publish an "
        "adjusted table, with publish = true below [adjust]. "
    )


def _bounds_told(names: list[str]) -> str:
    return f"What is known beforehand of {name_some(names)} leaves too little room. " if names else ""


def _way_out(diagnosis: Diagnosis) -> str:
    relaxation = diagnosis.relaxation
    if diagnosis.was_cut:
        return "There was no time to look for a way out: give a longer time limit, or recode the table."
    if relaxation is None:
        hopeless = f": {name_some(diagnosis.hopeless)} cannot move at all" if diagnosis.hopeless else ""
        return f"No relaxation helps{hopeless}. Recode the table."
    ways = []
    if relaxation.freed:
        ways.append(f"no longer insist on publishing {name_some(relaxation.freed_names)}")
    if relaxation.lowered:
        levels = [f"the {one.side} level of {one.name}" for one in relaxation.lowered]
        ways.append(f"lower {name_some(levels)}")
    how = "relax (relax = true below [suppress] of a job, --relax, relax=True)"
    return f"The cheapest way out: {', and '.join(ways)}. To take it, {how}; or recode."


def relaxed_like(problem: Problem, relaxation: Relaxation) -> Problem:
    """A problem on the same cells with the same cells freed and levels lowered."""
    status = problem.status.copy()
    status[list(relaxation.freed)] = Status.SAFE
    levels = {name: getattr(relaxation.problem, name) for name in FIELDS.values()}
    return problem.replace(status=status, **levels)


def _lowered(reach: Reach, levels: list[Level], may_free: Bool) -> dict[tuple[int, Side], tuple[int, float]]:
    """For levels out of reach even if all cells are freed that may be: what is in reach, and as a share."""
    problem = reach.problem
    rooms = reach.rooms((problem.status != Status.FROZEN) | may_free)
    found = {}
    for level in levels:
        if not reach.is_met(level, *rooms):
            kept = math.floor(reach.share(level, *rooms) * level.amount + ROUNDING)
            found[level.cell, level.side] = kept, kept / level.amount
    return found


def _with_levels(
    problem: Problem, lowered: dict[tuple[int, Side], tuple[int, float]]
) -> Problem | tuple[str, ...]:
    """The problem with lower levels; where a cell would be left without any, the names of such cells."""
    levels = {name: getattr(problem, name).copy() for name in FIELDS.values()}
    for (cell, side), (kept, _) in lowered.items():
        levels[FIELDS[side]][cell] = kept
    bare = [cell for cell in {cell for cell, _ in lowered} if not any(one[cell] for one in levels.values())]
    if bare:
        return tuple(problem.table.cell_names(np.array(sorted(bare))))
    return problem.replace(**levels)


def _to_free(problem: Problem, weaker: Problem, cells: Int, may_free: Bool) -> Problem:
    """Which cells to free, as a suppression problem: everything else is hidden."""
    is_frozen = problem.status == Status.FROZEN
    status = np.where(is_frozen, Status.SAFE, Status.SECONDARY).astype(np.int8)
    status[is_frozen & ~may_free] = Status.FROZEN
    status[cells] = Status.PRIMARY
    is_asked = status == Status.PRIMARY
    levels = {name: np.where(is_asked, getattr(weaker, name), 0) for name in FIELDS.values()}
    return problem.replace(status=status, reasons={}, **levels)


def freeing_all(problem: Problem, cells: Bool) -> Relaxation:
    """The relaxation that frees all these cells, where no cheaper one is known."""
    freed = np.flatnonzero(cells & (problem.status == Status.FROZEN))
    status = problem.status.copy()
    status[freed] = Status.SAFE
    names = tuple(problem.table.cell_names(freed))
    cost = float(problem.weight[freed].sum())
    return Relaxation(problem.replace(status=status), tuple(freed.tolist()), names, (), cost, False)


def _freeing(
    problem: Problem, weaker: Problem, lowered: dict[tuple[int, Side], tuple[int, float]], draft: Draft
) -> Relaxation | None:
    """The relaxation that frees what the draft hides; None where the programs contradict each other."""
    if draft.infeasible:
        return None
    freed = np.flatnonzero(draft.hidden & (problem.status == Status.FROZEN))
    names = problem.table.cell_names(freed)
    changed = weaker.status.copy()
    changed[freed] = Status.SAFE
    return Relaxation(
        weaker.replace(status=changed),
        tuple(freed.tolist()),
        tuple(names),
        tuple(
            Lowered(cell, problem.table.cell_name(cell), side, kept)
            for (cell, side), (_, kept) in sorted(lowered.items())
        ),
        float(problem.weight[freed].sum()),
        draft.reason is MethodEnding.COMPLETE,
    )
