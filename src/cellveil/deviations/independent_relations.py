"""Relations without those that follow from others: the same deviations from fewer rows.

Linked tables say many things twice: half the relations of some are sums of others. Programs and eliminations
over all of them take up to three times as long. Bounds gain from every relation and keep them all.

Requires nothing of the relations. Ensures that the rows left span those of all, over the cells given.
"""

from __future__ import annotations

import numpy as np

from cellveil.arrays import Int
from cellveil.deviations.integer_kernel import Elimination, LatticeParams
from cellveil.problem import Problem, Status
from cellveil.tables.relations import Relations


def independent_relations(relations: Relations, cells: Int) -> Relations:
    """Rows that span all; those of a dense rest are kept as they are.

    Parameters
    ----------
    cells
        Cells that may move, ascending; the entries of others are left out.

    Examples
    --------
    >>> rows = [[(0, 1), (1, 1)], [(2, 1), (3, 1)], [(0, 1), (1, 1), (2, 1), (3, 1)]]
    >>> independent_relations(Relations.from_rows(4, rows), np.arange(4))
    Relations(2 relations over 4 cells)
    """
    elimination = Elimination(relations, cells, np.zeros(len(cells)), LatticeParams())
    elimination.run()
    kept = np.array(sorted({*elimination.pivot_rows, *elimination.rows}), dtype=np.int64)
    is_movable = np.zeros(relations.num_cells, dtype=bool)
    is_movable[cells] = True
    place = np.full(len(relations), -1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    row = place[relations.row_of_entry]
    taken = (row >= 0) & is_movable[relations.cells]
    lengths = np.bincount(row[taken], minlength=len(kept))
    return Relations(
        relations.num_cells,
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        relations.cells[taken],
        relations.coefs[taken],
        relations.rhs[kept],
    )


def spanning_relations(problem: Problem) -> Relations:
    """Relations of a problem without those that follow from others, over the cells that may move."""
    return independent_relations(problem.table.relations, np.flatnonzero(problem.status != Status.FROZEN))
