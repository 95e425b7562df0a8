"""Hidden counts of which everybody knows that they are at least 1."""

import numpy as np

from cellveil.problem import Status
from cellveil.rules.least_counts import with_least_counts
from cellveil.tables.build import table_from_interior
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.link import link
from cellveil.tables.table import Table


def of(variable: str, values: list[int]) -> Table:
    region = Dimension.of("region", Hierarchy.flat(["N", "S", "W"]))
    return table_from_interior([region], {"region": ["N", "S", "W"]}, values, variable=variable)


def test_a_hidden_amount_of_zero_says_nothing_of_counts() -> None:
    table = link([of("count", [2, 3, 0]), of("balance", [7, 0, 0])])
    counts = table.variables == table.variables[table.values == 2][0]
    status = np.full(table.num_cells, Status.SAFE, dtype=np.int8)
    status[(table.values == 0) & counts] = Status.FROZEN
    free = np.zeros(table.num_cells, dtype=np.int64)
    known = with_least_counts(table, free, status)
    assert (known == (counts & (table.values > 0))).all()
    status[(table.values == 0) & counts] = Status.SAFE  # now a hidden count may be 0
    assert not with_least_counts(table, free, status).any()
