"""A table whose hidden values are easily recognised wherever they turn up."""

import numpy as np

from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.tables.build import table_from_interior
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy

HIDDEN = {
    ("A", "N"): "9876543.21",
    ("A", "S"): "8765432.19",
    ("B", "N"): "7654321.98",
    ("B", "S"): "6543219.87",
}
PUBLISHED = {
    ("A", "W"): "4321.77",
    ("B", "W"): "55.50",
    ("C", "N"): "3.10",
    ("C", "S"): "0.25",
    ("C", "W"): "7",
}


def planted(primary=("A", "N")):
    """A table whose four hidden cells have values that are easily recognised."""
    industry = Dimension.of("industry", Hierarchy.flat(["A", "B", "C"]))
    region = Dimension.of("region", Hierarchy.from_dict({"Total": {"N": [], "S": [], "West": ["W"]}}))
    cells = HIDDEN | PUBLISHED
    codes = {"industry": [a for a, _ in cells], "region": [b for _, b in cells]}
    table = table_from_interior([industry, region], codes, list(cells.values()), decimals=2)
    problem = Problem.of(table, {table.cell(*primary): (10_000, 10_000)})
    hidden = np.zeros(table.num_cells, dtype=bool)
    hidden[[table.cell(*key) for key in HIDDEN]] = True
    return problem, Pattern.hiding(problem, hidden, "by hand")
