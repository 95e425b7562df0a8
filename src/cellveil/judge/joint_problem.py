"""Several releases as one audit problem: the union of their cells and of their relations.

A cell of a former release and one of the new table are one unknown when they have the same variable and the
same codes by name. Of their values it is assumed that **hidden ones are unchanged, unless something says
otherwise**:

- A cell that both publish, with different values, was revised: the former value is a cell of its own.
- A relation of a former release that does not hold with the true values of today contains a revision: its
  hidden cells are cells of their own too (`set_apart`). That is found exactly.
- `revised`: all hidden cells of former releases are cells of their own.

Each assumption of equality makes the attacker stronger, never weaker. Where values have different decimals,
those that agree up to the coarser rounding are the same, and a former relation holds up to the rounding of
its terms (a slack cell).

Hidden cells that only former releases have are unknown to the audit as well. It needs some table that agrees
with everything published, with the true values in the cells of the new one: a linear or integer program finds
the missing values, which are checked exactly. Which table it is does not matter for what follows from the
publications. Where none is found, nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.judge.former_release import FormerRelease
from cellveil.judge.joint_cells import JointCells
from cellveil.pattern import Pattern
from cellveil.problem import LEVELS, Problem, Status
from cellveil.tables.dimension import Dimension
from cellveil.tables.named_keys import key_name
from cellveil.tables.relations import Relations
from cellveil.tables.table import CELL, Table


@dataclass(frozen=True, repr=False, eq=False)
class JointProblem:
    """The releases together.

    Parameters
    ----------
    problem
        The cells of the new table first, then what only former releases have. Demands are those of the new
        table; cells that former releases hide must not be known exactly (a sliding level of one unit).
    hidden
        What no release shows.
    added
        For each cell beyond the new table: the place of its release, and its number there (−1: rounding).
    common
        How many cells the new table has in common with former releases.
    revised, set_apart
        Names of published cells with another value now, and of hidden ones that were taken as revised.
    """

    problem: Problem
    hidden: Bool
    added: tuple[tuple[int, int], ...]
    common: int
    revised: tuple[str, ...]
    set_apart: tuple[str, ...]

    @property
    def num_own(self) -> int:
        """How many cells the new table has."""
        return self.problem.table.num_cells - len(self.added)

    @property
    def pattern(self) -> Pattern:
        """The pattern of all releases together; a primary cell that one of them shows is not hidden."""
        is_primary = self.problem.status == Status.PRIMARY
        secret = np.where(is_primary, Status.PRIMARY, Status.SECONDARY)
        return Pattern(np.where(self.hidden, secret, Status.SAFE).astype(np.int8), "several releases")

    def without_demands(self, cells: Sequence[int]) -> JointProblem:
        """The same, with nothing asked of these cells."""
        asked = np.ones(self.problem.table.num_cells, dtype=bool)
        asked[list(cells)] = False
        return replace(self, problem=self.problem.only(asked))


def join_releases(
    problem: Problem,
    pattern: Pattern,
    formers: Sequence[FormerRelease],
    *,
    revised: bool = False,
    deadline: Deadline = NO_LIMIT,
) -> JointProblem | str:
    """Join a pattern with former releases, none of them adjusted; or say why that cannot be done."""
    apart: list[set[int]] = [_hidden_cells(former) if revised else set() for former in formers]
    while True:
        union = JointCells(problem, pattern, formers)
        for place, former in enumerate(formers):
            union.add(place, former, apart[place])
        contradicted = union.contradicted()
        if not contradicted:
            break
        for place, cell in contradicted:
            apart[place].add(cell)
    relations = union.relations()
    values = union.base_point(relations, deadline)
    if values is None:
        names = ", ".join(former.name for former in formers)
        return (
            f"no table was found that agrees with the new values and with {names}: hidden values may have "
            "been revised. Say so (revised), or leave that release out"
        )
    told = [
        f"{former.name}: {key_name(former.keys[cell])}"
        for former, cells in zip(formers, apart, strict=True)
        for cell in sorted(cells)
        if not revised
    ]
    return JointProblem(
        _problem(problem, union, relations, values),
        np.array(union.hidden),
        tuple(union.added),
        len(union.common),
        tuple(union.revised),
        tuple(told),
    )


def _hidden_cells(former: FormerRelease) -> set[int]:
    assert former.published is not None
    return set(np.flatnonzero(former.published.view.hidden).tolist())


def _problem(problem: Problem, union: JointCells, relations: Relations, values: Int) -> Problem:
    """The joint problem; where nothing but relations was added, with all that the table knows."""
    own, number = union.num_own, len(values)
    hidden = np.array(union.hidden)
    factor = 10 ** (union.decimals - problem.table.decimals)
    if number == own and factor == 1:
        table, lb, ub = problem.table.replace(relations=relations), np.array(union.lb), np.array(union.ub)
        return problem.replace(table=table, lb=lb, ub=ub, reasons={})
    names = Dimension.unstructured(CELL, union.names)
    table = Table((names,), (np.arange(number, dtype=np.int32),), values, union.decimals, relations)
    asked = [cell for cell in union.suppressed if hidden[cell]]
    status = np.where(hidden, Status.SECONDARY, Status.FROZEN).astype(np.int8)
    status[:own], status[asked] = problem.status, Status.PRIMARY
    levels = {name: np.zeros(number, dtype=np.int64) for name in LEVELS}
    for name, amounts in levels.items():
        amounts[:own] = getattr(problem, name) * factor
    levels["spl"][asked] = [union.suppressed[cell] for cell in asked]
    weight = np.concatenate([problem.weight, np.zeros(number - own)])
    lb, ub = np.array(union.lb, dtype=np.int64), np.array(union.ub, dtype=np.int64)
    return Problem(table, status, weight, lb, ub, levels["lpl"], levels["upl"], levels["spl"])
