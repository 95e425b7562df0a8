"""Hidden cells that can influence each other: connected by relations, independent of all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.tables.relations import Relations

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix


@dataclass(frozen=True, repr=False, eq=False)
class Component:
    """Some cells, and all relations that hold at least one of them, restricted to them.

    Parameters
    ----------
    cells
        Numbers of the cells.
    rows
        Numbers of the relations.
    matrix
        Coefficients, one column per cell, one row per relation.
    """

    cells: Int
    rows: Int
    matrix: csc_matrix


def component_numbers(relations: Relations, chosen: Bool) -> Int:
    """For each of the chosen cells the number of its connected component; −1 for the others."""
    number = np.full(len(chosen), -1, dtype=np.int64)
    cells = np.flatnonzero(chosen)
    number[cells] = _labels(relations, cells)[0]
    return number


def split(relations: Relations, chosen: Bool) -> tuple[Int, list[Component]]:
    """Split the chosen cells into connected components.

    Returns
    -------
    number, components
        For each cell the number of its component (−1 if not chosen), and the components.
    """
    cells = np.flatnonzero(chosen)
    number = np.full(len(chosen), -1, dtype=np.int64)
    if not len(cells):
        return number, []
    cell_label, row_label, rows, part = _labels(relations, cells)
    number[cells] = cell_label
    count = int(cell_label.max()) + 1
    by_cell, by_row = np.argsort(cell_label, kind="stable"), np.argsort(row_label, kind="stable")
    cell_borders = np.searchsorted(cell_label[by_cell], np.arange(count + 1))
    row_borders = np.searchsorted(row_label[by_row], np.arange(count + 1))
    components = []
    arranged = part[:, by_cell]
    for k in range(count):
        mine = by_cell[cell_borders[k] : cell_borders[k + 1]]
        lines = by_row[row_borders[k] : row_borders[k + 1]]
        block = arranged[:, cell_borders[k] : cell_borders[k + 1]].tocsr()[lines].tocsc()
        components.append(Component(cells[mine], rows[lines], block))
    return number, components


def _labels(relations: Relations, cells: Int) -> tuple[Int, Int, Int, csc_matrix]:
    """The component of each cell and of each relation that holds one of them, these relations, and both."""
    from scipy.sparse import bmat
    from scipy.sparse.csgraph import connected_components

    part = relations.matrix.tocsc()[:, cells].tocsr()
    rows = np.flatnonzero(np.diff(part.indptr))
    part = part[rows]
    labels = np.arange(len(cells))
    if len(rows):
        _, labels = connected_components(bmat([[None, part], [part.T, None]]), directed=False)
    row_label, cell_label = labels[: len(rows)], labels[len(rows) :]
    names, cell_label = np.unique(cell_label, return_inverse=True)
    return cell_label, np.searchsorted(names, row_label), rows, part.tocsc()
