"""`grouped`: the incremental linear program for groups of primary cells at once.

For comparison: it has never been cheapest in our own figures, and `auto` does not use it.

For each group g of primaries, first upwards, then downwards,

    min Σ c_i (y⁺_i + y⁻_i)   subject to   M (y⁺ − y⁻) = 0,   0 ≤ y⁺_i ≤ ub_i − a_i,   0 ≤ y⁻_i ≤ a_i − lb_i,
    y⁺_p ≥ upl_p, y⁻_p = 0  for all p in g,   or   y⁻_p ≥ lpl_p, y⁺_p = 0  for all p in g

with c_i the weight of cell i, or next to nothing once it is hidden; what moves is hidden. The groups keep the
rule of `engines.grouping`. First come the primaries that unpicking shows to be candidates for
initially exposed ones (K_u), then all others, as far as nothing has protected them by then: each deviation is
made exact and counts for every demand it meets, and members that are protected are left out.

In components of some thousand cells the programs are solved by simplex. In larger ones splitting takes the
members of a group by size, the large ones first, and reaches as many of the levels together as it can; what
can then be met inside the hidden cells is harvested. What a group leaves open (cells that cannot all move at
once, or a vertex that does not come out exact) is protected one by one in the end.

Requires any relations whatever. Ensures an exact witness for every demand, or names those that no pattern
meets. Does not ensure the least cost: a group may hide more than its members need one by one.
Cost: two programs for each group, whatever the number of primaries.

Reference: equations (9) to (19) and section 3.4 of Serpell, Smith, Clark & Staggemeier (2011).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.clock import NO_LIMIT, Deadline
from cellveil.judge.exposure import unpickable
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.suppression.draft import Draft
from cellveil.suppression.engines.group_programs import GroupProgramsParams, protect_in_order
from cellveil.suppression.engines.grouping import groups_of
from cellveil.suppression.presolve.preparation import PreselectParams
from cellveil.tables.structure import structured


@dataclass(frozen=True, kw_only=True)
class GroupedParams(PreselectParams, GroupProgramsParams):
    """Parameters of `grouped`."""


def grouped(
    problem: Problem,
    *,
    deadline: Deadline = NO_LIMIT,
    seed: int = 0,
    progress: Progress | None = None,
    params: GroupedParams | None = None,
) -> Draft:
    """Protect groups of primaries, then what they leave; see the head of the module.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> problem = two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
    >>> float(problem.weight[grouped(problem).hidden & ~problem.hidden_at_start].sum())
    39.0
    """
    problem = problem.replace(table=structured(problem.table))
    params = params or GroupedParams()
    cells = np.flatnonzero(unpickable(problem).candidates)
    first = groups_of(problem, cells, wanted=params.groups, by=params.by)
    return protect_in_order(problem, first, deadline, progress, seed=seed, params=params)
