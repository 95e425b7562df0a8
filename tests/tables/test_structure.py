"""Dimensions recovered from relations alone: the same as those the table was made of, or none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st

from cellveil.arrays import Int
from cellveil.datasets import random_table, two_way
from cellveil.errors import InputError
from cellveil.formats.jj import read_jj, write_jj
from cellveil.tables.build import build_relations
from cellveil.tables.dimension import Dimension
from cellveil.tables.relations import Relations
from cellveil.tables.structure import with_structure
from cellveil.tables.table import CELL, Table
from helpers.instances import INSTANCES, needs_instances
from helpers.small_problems import small_table
from helpers.structure import stripped

SHAPES = [
    ((7, 9), ()),
    ((5, 6, 7), ()),
    ((4, 5, 3, 4), ()),
    ((12, 6), (0,)),
    ((14, 11), (0, 1)),
    ((12, 6, 4), (0,)),
    ((12, 9, 5), (0, 1)),
    ((9, 9, 9), (0, 1, 2)),
    ((9, 8, 3, 4), (0, 1)),
]


def shuffled(table: Table, rng: np.random.Generator) -> tuple[Table, Int]:
    """The table with cells, relations, terms and signs in random order; and the new number of each cell."""
    relations = table.relations.take_rows(rng.permutation(len(table.relations)))
    number = rng.permutation(table.num_cells)
    order = np.lexsort((rng.random(len(relations.cells)), relations.row_of_entry))
    is_long = np.diff(relations.indptr) > 2
    sign = np.where(is_long & (rng.random(len(relations)) < 0.5), -1, 1)[relations.row_of_entry]
    mixed = Relations(
        table.num_cells,
        relations.indptr,
        number[relations.cells[order]].astype(np.int32),
        (relations.coefs * sign)[order],
        relations.rhs,
    )
    values = table.values[np.argsort(number)]
    keys = tuple(column[np.argsort(number)] for column in table.keys)
    return table.replace(values=values, relations=mixed, keys=keys), number


def same_groups(one: Int, other: Int) -> bool:
    """Whether two columns of codes differ only in the names of the codes."""
    pairs = len(np.unique(np.column_stack([one, other]), axis=0))
    return pairs == len(np.unique(one)) == len(np.unique(other))


def rows_of(relations: Relations) -> set[tuple[tuple[int, int], ...]]:
    """The relations as a set; the first cell's coefficient is made positive."""
    rows = set()
    for row in range(len(relations)):
        cells, coefs = relations.row(row)
        terms = sorted(zip(cells.tolist(), coefs.tolist(), strict=True))
        rows.add(tuple((cell, coef * terms[0][1]) for cell, coef in terms))
    return rows


def check_same(found: Table | None, table: Table) -> None:
    """The recovered keys are those of the table, and its equations make the relations of the table."""
    assert found is not None
    assert found.relations is table.relations or rows_of(found.relations) == rows_of(table.relations)
    assert found.num_cells == table.num_cells
    left = list(table.keys)
    for column in found.keys:
        match = [i for i, other in enumerate(left) if same_groups(column, other)]
        assert match, "a column of codes that the table does not have"
        del left[match[0]]
    assert not left
    made = build_relations(found.dimensions, found.keys, found.num_cells)
    assert rows_of(made) == rows_of(table.relations)
    for dimension in found.dimensions:
        assert dimension.total >= 0
        assert all(equation.parent < min(equation.codes[1:]) for equation in dimension.equations)


@pytest.mark.parametrize(("sizes", "hierarchical"), SHAPES)
@pytest.mark.parametrize("zeros", [0.0, 0.4, 0.8])
def test_tables_come_back(sizes, hierarchical, zeros) -> None:
    rng = np.random.default_rng(len(sizes))
    problem = random_table(sizes, hierarchical=hierarchical, contributors=3, zeros=zeros, seed=4)
    table, _ = shuffled(problem.table, rng)
    check_same(with_structure(stripped(table)), table)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**20), st.sampled_from(SHAPES), st.floats(0.0, 0.95), st.sampled_from([0.5, 1.0, 4.0]))
@example(1458, ((12, 6), (0,)), 0.875, 0.5)
def test_sparse_tables_come_back(seed, shape, zeros, contributors) -> None:
    sizes, hierarchical = shape
    try:
        problem = random_table(
            sizes, hierarchical=hierarchical, contributors=contributors, zeros=zeros, seed=seed
        )
    except InputError:  # no cell at all was drawn
        reject()
    table, _ = shuffled(problem.table, np.random.default_rng(seed))
    found = with_structure(stripped(table))
    if found is not None:  # too few cells may be left to tell the dimensions apart
        check_same(found, table)


def test_through_a_file(tmp_path: Path) -> None:
    problem = random_table((10, 8, 5), hierarchical=[0], contributors=1, seed=2)
    write_jj(problem, tmp_path / "table.jj")
    bare = read_jj(tmp_path / "table.jj").table
    assert not bare.is_structured
    found = with_structure(bare)
    check_same(found, problem.table)
    assert found is not None and found.is_structured
    assert [d.name for d in found.dimensions] == ["d1", "d2", "d3"]
    assert found.relations is bare.relations and (found.values == bare.values).all()


def test_stored_zeros_and_one_dimension() -> None:
    table = two_way([[1, 0, 2], [0, 0, 0], [3, 0, 4]]).table
    check_same(with_structure(stripped(table)), table)
    one = random_table((9,), hierarchical=[0], contributors=4, zeros=0, seed=1).table
    check_same(with_structure(stripped(one)), one)


def test_overlapping_trees() -> None:
    """Two trees over two regions each are a two-way table in their own right; both readings are true."""
    rng = np.random.default_rng(1)
    table = small_table("overlapping", rng)
    found = with_structure(stripped(table))
    assert found is not None and sorted(found.sizes) == [3, 3, 3]
    assert rows_of(build_relations(found.dimensions, found.keys, found.num_cells)) == rows_of(table.relations)


def test_variables_with_an_equation_are_a_dimension() -> None:
    table = small_table("variables", np.random.default_rng(1))
    check_same(with_structure(stripped(table)), table)


@pytest.mark.parametrize("seed", range(5))
def test_linked_tables_give_none(seed: int) -> None:
    assert with_structure(stripped(small_table("linked", np.random.default_rng(seed)))) is None


def without_row(table: Table, row: int) -> Table:
    kept = np.delete(np.arange(len(table.relations)), row)
    return table.replace(relations=table.relations.take_rows(kept))


def rank(relations: Relations) -> int:
    return int(np.linalg.matrix_rank(relations.matrix.toarray()))


def test_relations_left_out() -> None:
    """What follows from the rest may be left out; what says something may not."""
    table = stripped(random_table((5, 4, 4), contributors=4, zeros=0, seed=1).table)
    full = rank(table.relations)
    for row in range(0, len(table.relations), 3):
        less = without_row(table, row)
        assert rank(less.relations) == full and with_structure(less) is not None
    rng = np.random.default_rng(1)
    found = 0
    for missing in (2, 14) * 20:
        kept = np.sort(rng.permutation(len(table.relations))[:-missing])
        less = table.replace(relations=table.relations.take_rows(kept))
        if with_structure(less) is not None:
            found += 1
            assert rank(less.relations) == full, "nothing is said that the relations do not say"
    assert found >= 3, "two relations can be missing, 14 cannot"


def test_what_is_not_a_table_gives_none() -> None:
    table = stripped(random_table((5, 4), contributors=4, zeros=0, seed=1).table)
    relations = table.relations
    triple = Relations(
        relations.num_cells, relations.indptr, relations.cells, relations.coefs * 3, relations.rhs
    )
    assert with_structure(table.replace(relations=triple)) is None
    constant = Relations(
        relations.num_cells, relations.indptr, relations.cells, relations.coefs, relations.rhs + 1
    )
    assert with_structure(table.replace(relations=constant)) is None
    assert with_structure(table.replace(relations=Relations.empty(table.num_cells))) is None
    rng = np.random.default_rng(2)
    for _ in range(20):
        cells = [rng.permutation(20)[:4].tolist() for _ in range(15)]
        rows = [[(c, -1 if i == 0 else 1) for i, c in enumerate(row)] for row in cells]
        odd = Relations.from_rows(20, rows)
        names = Dimension.unstructured(CELL, [str(i) for i in range(20)])
        scattered = Table((names,), (np.arange(20, dtype=np.int32),), np.ones(20, dtype=np.int64), 0, odd)
        assert with_structure(scattered) is None


def test_a_cell_moved_to_another_relation_is_noticed() -> None:
    table = stripped(random_table((6, 5, 4), contributors=4, zeros=0, seed=3).table)
    rng = np.random.default_rng(0)
    for _ in range(20):
        cells = table.relations.cells.copy()
        first, second = rng.choice(len(cells), 2, replace=False)
        if cells[first] == cells[second]:
            continue
        cells[[first, second]] = cells[[second, first]]
        old = table.relations
        wrong = table.replace(relations=Relations(old.num_cells, old.indptr, cells, old.coefs, old.rhs))
        found = with_structure(wrong)
        if found is not None:
            made = build_relations(found.dimensions, found.keys, found.num_cells)
            assert rows_of(made) == rows_of(wrong.relations)


@needs_instances
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("cbs", (61, 183)),
        ("osorio", (101, 101)),
        ("table8", (31, 41)),
        ("table1", (6, 8, 33)),
        ("table7", (6, 8, 13)),
        ("targus", (9, 18)),
        ("hie1327d", (7, 13, 13)),
        ("hie1372d", (7, 7, 13)),
        ("hier133a", (13, 13, 13)),
        ("hier13", (13, 13, 13)),
        ("two5in6", None),
    ],
)
def test_public_instances(name: str, sizes: tuple[int, ...] | None) -> None:
    found = with_structure(read_jj(INSTANCES / "csp" / f"{name}.jj").table)
    assert (None if found is None else tuple(sorted(found.sizes))) == sizes
    if found is not None:
        made = build_relations(found.dimensions, found.keys, found.num_cells)
        assert rows_of(found.relations) <= rows_of(made)
