"""A table restricted to cells that no relation ties to the others: its relations, and what dimensions it has.

Several tables in one job that share no cell are one table with dimensions of all of them. Each by itself has
fewer codes and dimensions, and may be a product of them, which the whole is not.
"""

from __future__ import annotations

import numpy as np

from cellveil.arrays import Codes, Int
from cellveil.tables.dimension import Dimension, Equation
from cellveil.tables.table import Table


def restricted(table: Table, cells: Int) -> Table:
    """The table of some cells, ascending, without contributions and further figures.

    Relations must hold cells of one side only. Dimensions are left out in which all cells have one code, and
    so are codes that no cell has.

    Examples
    --------
    >>> from cellveil.tables.build import table_from_interior
    >>> from cellveil.tables.hierarchy import Hierarchy
    >>> from cellveil.tables.link import link
    >>> region = Dimension.of("region", Hierarchy.flat(["N", "S"]))
    >>> sales = table_from_interior([region], {"region": ["N", "S"]}, [4, 6], variable="sales")
    >>> staff = table_from_interior([region], {"region": ["N", "S"]}, [1, 2], variable="staff")
    >>> both = link([sales, staff])
    >>> both
    Table('value', region 3 × variable 2, 6 cells, 2 relations)
    >>> restricted(both, np.flatnonzero(both.variables == 0))
    Table('value', region 3, 3 cells, 1 relation)
    """
    if len(cells) == table.num_cells:
        return _bare(table)
    number = np.full(table.num_cells, -1, dtype=np.int64)
    number[cells] = np.arange(len(cells))
    relations = table.relations
    filled = np.flatnonzero(np.diff(relations.indptr))
    rows = filled[number[relations.cells[relations.indptr[filled]]] >= 0]
    axes = [_restricted(own, keys[cells]) for own, keys in zip(table.dimensions, table.keys, strict=True)]
    kept = [axis for axis in axes if len(axis[0]) > 1] or axes[:1]
    return Table(
        tuple(dimension for dimension, _ in kept),
        tuple(keys for _, keys in kept),
        table.values[cells],
        table.decimals,
        relations.take_rows(rows).renumber(len(cells), number),
        variable=table.variable,
    )


def _bare(table: Table) -> Table:
    """All cells, without what a search does not look at."""
    return Table(
        table.dimensions, table.keys, table.values, table.decimals, table.relations, variable=table.variable
    )


def _restricted(dimension: Dimension, keys: Codes) -> tuple[Dimension, Codes]:
    """The codes that occur, and what is left of the equations between them."""
    used, places = np.unique(keys, return_inverse=True)
    number = {code: place for place, code in enumerate(used.tolist())}
    equations = (_renumbered(equation, number) for equation in dimension.equations)
    codes = tuple(dimension.codes[code] for code in used.tolist())
    left = Dimension(
        dimension.name,
        codes,
        tuple(equation for equation in equations if equation is not None),
        number.get(dimension.total, -1),
    )
    return left, places.reshape(-1).astype(np.int32)


def _renumbered(equation: Equation, number: dict[int, int]) -> Equation | None:
    """The equation between the codes that are left; None where it says nothing about them.

    Parts of a total that do not occur are empty; an equation of another kind needs all of its codes.
    """
    terms = [(number[code], coef) for code, coef in zip(equation.codes, equation.coefs, strict=True)
             if code in number]  # fmt: skip
    is_total = equation.parent in number and len(terms) > 1
    if len(terms) < len(equation.codes) and not is_total:
        return None
    codes, coefs = zip(*terms, strict=True)
    return Equation(codes, coefs, number.get(equation.parent, -1))
