"""Counts that are hidden are at least 1 where every count of 0 is published: everybody can tell so.

Of 15 = 10 + 3 + x + x the two hidden counts are 1 each, if neither can be 0. So the attacker of a table of
counts begins with 1, not with 0, unless zeros may be hidden too: by a rule about empty cells, or by hand.
"""

from __future__ import annotations

import numpy as np

from cellveil.arrays import Bool, Int, Statuses
from cellveil.problem import Status
from cellveil.tables.table import VARIABLE, Table

COUNT = "count"
"""Name of the variable where records were counted."""


def with_least_counts(table: Table, lb: Int, status: Statuses, *, counted: bool = False) -> Int:
    """Lower bounds as everybody knows them where zeros of a variable are published; else those given.

    Parameters
    ----------
    lb
        What is known apart from that.
    status
        Of all cells, those set by hand included.
    counted
        The values are counts, whatever the table tells of its contributors.

    Examples
    --------
    >>> from cellveil.tables.build import table_from_interior
    >>> from cellveil.tables.dimension import Dimension
    >>> from cellveil.tables.hierarchy import Hierarchy
    >>> size = Dimension.of("size", Hierarchy.flat("abc"))
    >>> table = table_from_interior([size], {"size": list("abc")}, [4, 1, 0])
    >>> status = np.where(table.values == 0, Status.FROZEN, Status.SAFE).astype(np.int8)
    >>> with_least_counts(table, np.zeros(4, dtype=np.int64), status, counted=True).tolist()
    [1, 1, 1, 0]
    """
    may_be_zero = np.unique(table.variables[(table.values == 0) & (status != Status.FROZEN)])
    known = (counted | _is_count(table)) & (table.values > 0) & (lb == 0)
    known &= ~np.isin(table.variables, may_be_zero)  # zeros of amounts say nothing of counts
    return np.where(known, 10**table.decimals, lb)  # a count of 1, also beside amounts with decimals


def _is_count(table: Table) -> Bool:
    """Cells of variables that count: records, or the contributors of every cell."""
    of_records = table.variable == COUNT
    names = next((one.codes for one in table.dimensions if one.name == VARIABLE), None)
    if names is not None and COUNT in names:
        of_records = table.variables == names.index(COUNT)
    if table.contributors is None or table.decimals:
        return np.full(table.num_cells, of_records)
    other = np.unique(table.variables[table.contributors != table.values])
    return of_records | ~np.isin(table.variables, other)
