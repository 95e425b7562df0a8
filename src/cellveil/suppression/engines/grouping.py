"""Groups of primary cells that one deviation is to protect together.

A group must leave, in every relation it has several cells of, at least half of the levels of that relation's
primaries to others: for all relations j and groups g

    |j ∩ g| ≤ 1   or   Σ_{i ∈ j∩g} upl_i ≤ ½ Σ_{i ∈ j∩P} upl_i   and the same with lpl,

so that what rises in a group can be made up for by primaries outside it.

Cells are dealt out one by one, each to the first group that may take it, new groups being opened where none
may. *By level*: in increasing order of the levels, so that small ones come together and large ones do. *By
relation*: relation after relation, and first to the group that has most cells of the cell's relations.

Requires any relations. Ensures the rule above. Does not ensure the wanted number of groups: that is how many
there are at the outset, each with room for its share. A sliding level counts as half of it on each side.
Cost: a few operations for each cell, relation and group.

Reference: equations (17) to (19) and section 3.6 of Serpell, Smith, Clark & Staggemeier (2011).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Int
from cellveil.params import Params, param
from cellveil.problem import Problem

ORDERS = ("level", "relation")


@dataclass(frozen=True, kw_only=True)
class GroupingParams(Params):
    """How primaries are grouped."""

    groups: int = param(2, "Wanted number of groups; 0: every cell by itself.", least=0)
    by: str = param("level", "What brings cells together.", choices=ORDERS)


def groups_of(problem: Problem, cells: Int, *, wanted: int = 2, by: str = "level") -> list[Int]:
    """Deal the primary cells out to groups, as many as wanted or more.

    Parameters
    ----------
    wanted
        How many groups to begin with; 0 puts every cell into a group of its own, in the same order.
    by
        "level" or "relation".

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> diagonal = two_way([[9, 5, 4], [3, 8, 2], [7, 6, 9]], primaries=[(0, 0), (1, 1), (2, 2)])
    >>> [len(group) for group in groups_of(diagonal, diagonal.primaries, wanted=1)]
    [3]
    >>> row = two_way([[9, 5, 4], [3, 8, 2], [7, 6, 9]], primaries=[(0, 0), (0, 1), (0, 2)])
    >>> [len(group) for group in groups_of(row, row.primaries, wanted=1)]
    [1, 1, 1]
    """
    deal = _Deal(problem, wanted, -(-len(cells) // wanted) if wanted else 1)
    for cell in _in_order(problem, cells, by).tolist():
        deal.place(cell, by == "relation")
    return [np.array(members, dtype=np.int64) for members in deal.members if members]


def _levels(problem: Problem) -> tuple[Int, Int]:
    """Upper and lower levels, doubled: what a sliding level asks for beyond them goes half to each side."""
    return 2 * problem.upl + problem.sliding, 2 * problem.lpl + problem.sliding


def _in_order(problem: Problem, cells: Int, by: str) -> Int:
    level = np.maximum(*_levels(problem))[cells]
    if by == "level":
        return cells[np.lexsort((cells, level))]
    columns = problem.table.relations.columns
    first = columns.rows[np.minimum(columns.indptr[cells], max(len(columns.rows) - 1, 0))]
    return cells[np.lexsort((cells, level, first))]


class _Deal:
    """The groups so far, and what each has of every relation."""

    def __init__(self, problem: Problem, wanted: int, share: int) -> None:
        relations = problem.table.relations
        self.columns, self.share, self.alone = relations.columns, share, wanted == 0
        self.levels = _levels(problem)
        sums = [np.concatenate([[0], np.cumsum(level[relations.cells])]) for level in self.levels]
        self.limits = [total[relations.indptr[1:]] - total[relations.indptr[:-1]] for total in sums]
        self.members: list[list[int]] = [[] for _ in range(wanted)]
        self.taken: list[dict[int, tuple[int, int, int]]] = [{} for _ in range(wanted)]

    def place(self, cell: int, beside: bool) -> None:
        """Put the cell into the first group that may take it, or a new one."""
        start, end = self.columns.indptr[cell : cell + 2].tolist()
        rows = self.columns.rows[start:end].tolist()
        order = list(range(len(self.members)))
        if beside:
            order.sort(key=lambda g: -sum(self.taken[g][row][0] for row in rows if row in self.taken[g]))
        order.sort(key=lambda g: len(self.members[g]) >= self.share)  # stable: full ones come last
        group = next((g for g in order if not self.alone and self._may_take(g, cell, rows)), None)
        if group is None:
            group = len(self.members)
            self.members.append([])
            self.taken.append({})
        self.members[group].append(cell)
        for row in rows:
            self.taken[group][row] = self._with(group, cell, row)

    def _with(self, group: int, cell: int, row: int) -> tuple[int, int, int]:
        count, up, down = self.taken[group].get(row, (0, 0, 0))
        return count + 1, up + int(self.levels[0][cell]), down + int(self.levels[1][cell])

    def _may_take(self, group: int, cell: int, rows: list[int]) -> bool:
        for row in rows:
            count, *sums = self._with(group, cell, row)
            if count > 1 and any(2 * s > limit[row] for s, limit in zip(sums, self.limits, strict=True)):
                return False
        return True
