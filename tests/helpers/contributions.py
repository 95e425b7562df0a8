"""Tables with listed contributions: loose cells, and two-way tables of few contributors."""

import numpy as np

from cellveil.problem import Problem
from cellveil.tables.contributions import Contributions
from cellveil.tables.dimension import Dimension
from cellveil.tables.relations import Relations
from cellveil.tables.table import Table


def of_lists(contributions: list[list[int]], *, depth: int | None = None, decimals: int = 0) -> Contributions:
    """What is known of each cell from the list of its contributions.

    >>> of_lists([[155, 4, 1], [28, 10]]).top
    array([[155,   4,   1],
           [ 28,  10,   0]])
    """
    depth = depth or max((len(row) for row in contributions), default=1) or 1
    top = np.zeros((len(contributions), depth), dtype=np.int64)
    for position, row in enumerate(contributions):
        largest = sorted((abs(amount) for amount in row), reverse=True)[:depth]
        top[position, : len(largest)] = largest
    return Contributions(
        decimals,
        np.array([len(row) for row in contributions], dtype=np.int64),
        np.array([sum(row) for row in contributions], dtype=np.int64),
        np.array([sum(map(abs, row)) for row in contributions], dtype=np.int64),
        top,
        np.full(top.shape, -1, dtype=np.int32),
    )


def table_of(contributions, values=None, *, decimals=0, **further):
    """A table of loose cells; the values are the sums of the contributions unless given."""
    units = contributions
    if not isinstance(units, Contributions):
        units = of_lists(contributions)
    n = len(units)
    dimension = Dimension.unstructured("item", [f"c{i}" for i in range(n)])
    leaves = np.array([dimension.index[f"c{i}"] for i in range(n)], dtype=np.int32)
    values = units.total.copy() if values is None else np.array(values, dtype=np.int64)
    further = {"units": units} | further
    return Table((dimension,), (leaves,), values, decimals, Relations.empty(n), **further)


def with_contributions(problem: Problem, cells: dict[tuple[int, int], list[int]]) -> Problem:
    """Contributions to interior cells; those to totals follow. Contributors have one cell each."""
    table = problem.table
    rows: list[list[int]] = []
    for cell in range(table.num_cells):
        row, column = table.key(cell)
        rows.append(
            [
                amount
                for (r, c), amounts in cells.items()
                for amount in amounts
                if row in ("Total", f"r{r}") and column in ("Total", f"c{c}")
            ]
        )
    depth = max(len(row) for row in rows)
    known = of_lists(rows, depth=depth)
    ids = {
        (key, rank): i
        for i, (key, rank) in enumerate((k, j) for k, a in cells.items() for j in range(len(a)))
    }
    who = np.full(known.top.shape, -1, dtype=np.int32)
    for cell in range(table.num_cells):
        row, column = table.key(cell)
        mine = [
            (-abs(amount), ids[key, rank])
            for key, amounts in cells.items()
            for rank, amount in enumerate(amounts)
            if row in ("Total", f"r{key[0]}") and column in ("Total", f"c{key[1]}")
        ]
        for place, (_, number) in enumerate(sorted(mine)):
            who[cell, place] = number
    names = tuple(f"firm {i}" for i in range(len(ids)))
    units = Contributions(0, known.count, known.total, known.absolute, known.top, who, names)
    return problem.replace(table=table.replace(units=units))
