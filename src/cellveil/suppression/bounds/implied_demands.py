"""Implied demands: bound propagation from protection levels to cells that every safe pattern must hide.

Where a primary cell p of a relation Σ c_j y_j = 0 moves by its level, the others must make up for c_p d. What
they can do without cell q, each within its own capacity, is often less than that, as for the total above a
giant. Then q moves by what is missing,

    |c_q y_q|  ≥  |c_p| d − Σ_{j ≠ p, q} cap_j  >  0,

whatever is hidden: it is a cell with a demand of its own, and so on through its other relations, until
nothing changes or the rounds are over.

Requires any relations. Ensures that exactly the patterns that are safe for the problem are safe for the one
with implied demands, all of which hide the cells named. Sliding levels count as far as they are one-sided.
Cost: linear in the entries of the relations that hold a primary, for each round.

References: pre-selection of marginals in Serpell, Smith, Clark & Staggemeier (2011, section 3.6), there for
total = Σ parts.
"""

from __future__ import annotations

import numpy as np

from cellveil.arrays import Bool, Float
from cellveil.problem import Problem, Status
from cellveil.suppression.bounds.relation_rows import EXACT, RelationCovers


def with_implied_demands(problem: Problem, usable: Bool, rounds: int) -> Problem:
    """The problem in which cells that must move anyway are primary, by as much as they must.

    Parameters
    ----------
    usable
        Cells that can move at all.
    rounds
        Most steps from relation to relation.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> problem = two_way([[90, 3, 2], [8, 19, 7]], primaries={(0, 0): 12})
    >>> implied = with_implied_demands(problem, problem.table.values > 0, 5)
    >>> implied.table.cell_names(implied.primaries), implied.upl[implied.primaries].tolist()
    (['(Total, c0)', '(r0, Total)', '(r0, c0)'], [4, 7, 12])
    """
    changed: Bool | None = None
    for _ in range(rounds):
        covers = RelationCovers(problem, usable, changed)
        if not covers.num_rows:
            return problem
        upl, lpl = (level.astype(np.float64) for level in problem.one_sided_levels)
        up, down, forced = np.zeros((3, problem.table.num_cells))
        for along, against, caps in ((upl, lpl, covers.falls), (lpl, upl, covers.rises)):
            amount = _missing(covers, covers.level(along, against), caps)
            entries = np.flatnonzero((amount > 0) & usable[covers.cells])
            cells, amount = covers.cells[entries], amount[entries]
            np.maximum.at(forced, cells, amount)
            is_rise = (covers.coefs[entries] < 0) == (caps is covers.falls)
            for side, mine in ((up, is_rise), (down, ~is_rise)):
                np.maximum.at(side, cells[mine], np.floor(amount[mine] / covers.size[entries[mine]]))
        is_new = (forced > 0) & ~problem.hidden_at_start
        changed = (up > upl) | (down > lpl)
        if not (is_new.any() or changed.any()):
            return problem
        problem = _raised(problem, is_new, up, down)
    return problem


def _missing(covers: RelationCovers, need: Float, caps: Float) -> Float:
    """For each entry what the other entries of its relation cannot do without it, for one of them."""
    caps = np.minimum(caps, covers.largest(need)[covers.row])  # beyond it nothing changes; and it is finite
    sums = np.bincount(covers.row, weights=caps, minlength=covers.num_rows)
    score = np.where(need > 0, need + caps, -np.inf)
    first = covers.largest(score)
    is_first = score == first[covers.row]
    second = covers.largest(np.where(is_first, -np.inf, score))
    several = np.bincount(covers.row[is_first], minlength=covers.num_rows) > 1
    others = np.where(is_first & ~several[covers.row], second[covers.row], first[covers.row])
    total = sums[covers.row] + np.where(np.isfinite(others), others, 0.0)
    doubt = np.where(total < EXACT, 0.0, total * covers.longest * 2.0**-52)
    return np.asarray(others + caps - sums[covers.row] - doubt)


def _raised(problem: Problem, is_new: Bool, up: Float, down: Float) -> Problem:
    upl, lpl = (
        np.maximum(level, more.astype(np.int64)) for level, more in ((problem.upl, up), (problem.lpl, down))
    )
    asked = np.maximum(upl, lpl) > 0
    primary = (problem.status == Status.PRIMARY) | asked
    status = np.where(is_new, Status.SECONDARY, problem.status)
    return problem.replace(status=np.where(primary, Status.PRIMARY, status).astype(np.int8), upl=upl, lpl=lpl)
