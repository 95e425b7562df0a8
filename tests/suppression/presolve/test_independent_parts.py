"""Independent parts of a problem: which cells go together, and what is left of tables and dimensions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from cellveil.datasets import random_table
from cellveil.problem import Problem, Status
from cellveil.suppression.presolve.independent_parts import PartsParams, parts_of, whole_part
from cellveil.tables.build import table_from_interior
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.link import link
from cellveil.tables.relations import Relations
from cellveil.tables.structure import is_product
from cellveil.tables.table import CELL, Table
from helpers.unlinked_tables import side_by_side

ANY = PartsParams(least_cells=1)


@pytest.fixture
def tables() -> list[Problem]:
    return [random_table((5, 4), contributors=2, seed=seed) for seed in (1, 2, 3)]


def test_tables_without_a_common_cell_are_parts(tables: list[Problem]) -> None:
    whole = side_by_side(*tables)
    parts = sorted(parts_of(whole, ANY), key=lambda part: int(part.cells[0]))
    assert len(parts) == 3
    for part, own in zip(parts, tables, strict=True):
        assert np.array_equal(part.problem.table.values, own.table.values)
        assert part.problem.table.relations.keys() == own.table.relations.keys()
        assert np.array_equal(part.problem.status, own.status)
        assert np.array_equal(part.problem.upl, own.upl)
    assert [part.size for part in parts_of(whole, ANY)] == sorted(part.size for part in parts)


def test_one_table_has_no_parts(tables: list[Problem]) -> None:
    assert parts_of(tables[0], ANY) == []
    whole = whole_part(tables[0])
    assert len(whole.cells) == tables[0].table.num_cells and whole.problem.table.units is None


def test_small_components_go_together(tables: list[Problem]) -> None:
    whole = side_by_side(*tables)
    assert parts_of(whole, PartsParams(least_cells=10_000)) == []
    assert parts_of(whole, PartsParams(least_cells=1, most_cells=3)) == []
    assert len(parts_of(whole, PartsParams(least_cells=1, most=2))) == 2
    sizes = [part.size for part in parts_of(whole, ANY)]
    two = parts_of(whole, PartsParams(least_cells=min(sizes) + 1))
    assert len(two) == 2 and sum(part.size for part in two) == sum(sizes)


def test_what_has_no_demand_is_in_no_part(tables: list[Problem]) -> None:
    idle = tables[2].only(np.zeros(tables[2].table.num_cells, dtype=bool))
    parts = parts_of(side_by_side(*tables[:2], idle), ANY)
    first = tables[0].table.num_cells + tables[1].table.num_cells
    assert len(parts) == 2 and max(int(part.cells.max()) for part in parts) < first


def test_a_cell_that_must_be_published_parts_what_it_ties() -> None:
    """a = b + c and a = d + e: with a published, b and c have nothing to do with d and e."""
    relations = Relations.from_rows(5, [[(0, -1), (1, 1), (2, 1)], [(0, -1), (3, 1), (4, 1)]])
    table = Table(
        (Dimension.unstructured(CELL, "abcde"),),
        (np.arange(5, dtype=np.int32),),
        np.array([10, 4, 6, 3, 7]),
        0,
        relations,
    )
    free = Problem.of(table, {1: 2, 3: 1})
    assert parts_of(free, ANY) == []
    parts = parts_of(free.replace(status=np.where(np.arange(5) == 0, Status.FROZEN, free.status)), ANY)
    assert len(parts) == 2
    for part in parts:  # both keep the published cell, and may not hide what is the other's
        assert len(part.cells) == 5 and part.size == 2 and len(part.problem.primaries) == 1


def flat_table(variable: str, *names: str) -> Table:
    """A product of flat dimensions of three codes."""
    codes = ["a", "b", "c"]
    axes = [Dimension.of(name, Hierarchy.flat(codes)) for name in names]
    cells = list(product(codes, repeat=len(names)))
    columns = {name: [cell[k] for cell in cells] for k, name in enumerate(names)}
    return table_from_interior(axes, columns, list(range(10, 10 + len(cells))), variable=variable)


def test_each_of_several_tables_is_a_product_again() -> None:
    both = link([flat_table("sales", "region", "branch"), flat_table("staff", "size", "form", "region")])
    inner = [np.flatnonzero(both.variables == number)[-1] for number in (0, 1)]
    parts = parts_of(Problem.of(both, {int(cell): 1 for cell in inner}), ANY)
    assert not is_product(both)
    assert [part.problem.table.num_cells for part in parts] == [16, 64]
    assert all(is_product(part.problem.table) for part in parts)
    assert [len(part.problem.table.dimensions) for part in parts] == [2, 3]
