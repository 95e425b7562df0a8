"""Tables without their dimensions: the relations are all that is left."""

from __future__ import annotations

import numpy as np

from cellveil.tables.dimension import Dimension
from cellveil.tables.table import CELL, Table


def stripped(table: Table) -> Table:
    """The table without its dimensions."""
    names = Dimension.unstructured(CELL, [str(i) for i in range(table.num_cells)])
    return table.replace(dimensions=(names,), keys=(np.arange(table.num_cells, dtype=np.int32),))
