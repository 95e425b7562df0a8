"""One space of cells: identity by content, and cross-classification by cliques against all combinations."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from cellveil.tables.build import table_from_interior
from cellveil.tables.coarser import fold, fold_to_level, join
from cellveil.tables.crossing import cross_classified
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.link import link
from cellveil.tables.space import (
    Column,
    Space,
    SpaceTable,
    class_dimension,
    is_complete,
    refined,
    space_table,
    tables_in,
)

Sets = tuple[int, ...]


def table_of(columns: dict[str, Column], sets: dict[str, list[int]], records: dict[Sets, int]) -> SpaceTable:
    """The table of all combinations of these sets; a cell is filled where some record lies in it."""
    names, order = list(sets), list(columns)
    keys = list(product(*(range(len(sets[name])) for name in names)))
    arrays = tuple(np.array(column, dtype=np.int64) for column in zip(*keys, strict=True))
    found = SpaceTable("v", tuple(names), tuple(tuple(sets[name]) for name in names), arrays, True)
    found.filled = {
        cell
        for cell in found.cells()
        if any(
            amount
            and all(own >> record[order.index(name)] & 1 for name, own in zip(names, cell, strict=True))
            for record, amount in records.items()
        )
    }
    return found


def values_of(space: Space, records: dict[Sets, int]) -> list[int]:
    return [
        sum(
            amount
            for record, amount in records.items()
            if all(own >> place & 1 for own, place in zip(sets, record, strict=True))
        )
        for _, sets in space.cells
    ]


def interval(rows: list[np.ndarray], right: list[float], aim: np.ndarray) -> tuple[float, float]:
    ends = []
    for sign in (1, -1):
        found = linprog(
            sign * aim, A_eq=np.array(rows), b_eq=np.array(right), bounds=(0, None), method="highs"
        )
        ends.append(sign * found.fun if found.status == 0 else -sign * np.inf)
    return ends[0], ends[1]


@st.composite
def worlds(
    draw: st.DrawFn,
) -> tuple[dict[str, Column], dict[Sets, int], list[dict[str, list[int]]], list[bool]]:
    """Columns, records, tables by sets of codes, and which of all cells are published."""
    sizes = draw(st.lists(st.integers(2, 3), min_size=2, max_size=4))
    columns = {
        f"c{k}": Column(f"c{k}", [f"{k}{code}" for code in range(size)]) for k, size in enumerate(sizes)
    }
    places = list(product(*map(range, sizes)))
    amounts = draw(st.lists(st.sampled_from([0, 0, 1, 3, 7]), min_size=len(places), max_size=len(places)))
    records = dict(zip(places, amounts, strict=True))
    tables = []
    for _ in range(draw(st.integers(2, 3))):
        names = draw(st.lists(st.sampled_from(sorted(columns)), min_size=1, max_size=2, unique=True))
        sets = {}
        for name in names:
            everything = columns[name].everything
            split = draw(st.integers(1, everything - 1)) if everything > 1 else 1
            sets[name] = [everything, split, everything & ~split]
        tables.append(sets)
    shown = draw(st.lists(st.booleans(), min_size=40, max_size=40))
    return columns, records, tables, shown


@settings(max_examples=60, deadline=None)
@given(worlds())
def test_intervals_by_cliques_are_those_over_all_combinations(world) -> None:  # type: ignore[no-untyped-def]
    columns, records, tables, shown = world
    space = Space(list(columns.values()))
    for sets in tables:
        space.add(table_of(columns, sets, records))
    stated = len(space.cells)
    linked = cross_classified(space)
    assert not linked.not_tested
    values, published = values_of(space, records), [shown[cell % 40] for cell in range(stated)]
    empty = [space.is_empty(*cell) for cell in space.cells[:stated]]
    rows, right = [], []
    for terms in linked.rows:
        row = np.zeros(len(space.cells))
        for cell, coef in terms:
            row[cell] += coef
        assert row @ np.array(values) == 0, "what is implied holds"
        rows.append(row), right.append(0.0)
    for cell in range(stated):
        if published[cell] or empty[cell]:
            row = np.zeros(len(space.cells))
            row[cell] = 1
            rows.append(row), right.append(float(values[cell]))
    places = list(records)
    all_rows, all_right = [], []

    def covering(sets: Sets) -> np.ndarray:
        return np.array(
            [all(own >> k & 1 for own, k in zip(sets, place, strict=True)) for place in places], float
        )

    for cell in range(stated):
        if published[cell] or empty[cell]:
            all_rows.append(covering(space.cells[cell][1])), all_right.append(float(values[cell]))
    if not all_rows:
        return
    for cell in range(min(stated, 8)):
        if not published[cell] and not empty[cell]:
            aim = np.zeros(len(space.cells))
            aim[cell] = 1
            assert interval(rows, right, aim) == pytest.approx(
                interval(all_rows, all_right, covering(space.cells[cell][1]))
            )


def test_a_cell_is_what_it_contains_whatever_it_is_called() -> None:
    tree = Hierarchy.from_dict({"Total": {"N": ["N1", "N2"], "S": ["S1"]}})
    full = Dimension.of("region", tree)
    flat = Dimension.of("region", Hierarchy.flat(["N1", "N2", "S1"], "All"))
    one = fold(full, ["N"])
    assert one.finest == (("N1", "N2", "S1"), ("N1", "N2"), ("S1",))
    assert fold_to_level(full, 1).finest == one.finest
    assert join(flat, {"N1": "N", "N2": "N"}).finest == one.finest
    columns = {"region": Column("region", flat.finest[0])}
    space = Space(list(columns.values()))
    detailed = table_from_interior([flat], {"region": ["N1", "N2", "S1"]}, [4, 5, 6])
    coarse = table_from_interior([one], {"region": ["N", "S"]}, [9, 6])
    first = space.add(space_table(detailed, columns))
    second = space.add(space_table(coarse, columns))
    assert second[0] == first[0], "the totals, All and Total"
    assert second[2] == first[3], "S and S1"
    linked = cross_classified(space)
    rows = [dict(row) for row in linked.rows]
    assert {int(second[1]): -1, int(first[1]): 1, int(first[2]): 1} in rows


def test_codes_that_cross_are_split_into_what_tells_them_apart() -> None:
    column = Column("age", "abcd")
    assert refined(column.everything, [0b0011, 0b0110]) == [0b0010, 0b0001, 0b0100, 0b1000]
    space = Space([column])
    for sets in ((0b1111, 0b0011, 0b1100), (0b1111, 0b0110, 0b1001)):
        keys = (np.arange(3, dtype=np.int64),)
        table = SpaceTable("v", ("age",), (sets,), keys, True, filled={(codes,) for codes in sets})
        space.add(table)
    linked = cross_classified(space)
    assert len(space.cells) == 9 and not linked.not_tested
    assert sorted(column.codes_in(sets[0]) for _, sets in space.cells[5:]) == [("a",), ("b",), ("c",), ("d",)]


def test_what_lies_in_an_empty_cell_is_empty() -> None:
    space = Space([Column("a", "xy"), Column("b", "pq")])
    keys = (np.array([0, 1, 2], dtype=np.int64),)
    space.add(SpaceTable("v", ("a",), ((3, 1, 2),), keys, True, filled={(3,), (1,)}))
    assert space.is_empty("v", (2, 3)) and space.is_empty("v", (2, 1))
    assert not space.is_empty("v", (1, 1)) and not space.is_empty("w", (2, 3))


def test_too_many_combinations_are_named_and_not_added() -> None:
    columns = [Column(f"c{k}", [f"{k}-{code}" for code in range(30)]) for k in range(4)]
    space = Space(columns)
    for one, other in combinations(range(4), 2):
        sets = tuple((1 << 30) - 1 if code < 0 else 1 << code for code in range(-1, 30))
        keys = tuple(np.indices((31, 31)).reshape(2, -1).astype(np.int64))
        table = SpaceTable("v", (f"c{one}", f"c{other}"), (sets, sets), keys, False)
        space.add(table)
    linked = cross_classified(space)
    (words,) = linked.not_tested
    assert "c0 × c1 × c2 × c3" in words and "810,000 combinations" in words and "of 4 triples" in words


def test_equations_hold_for_every_set_in_use() -> None:
    column = Column("reg", ["N", "S"])
    space = Space([column], [{"tot": -1, "dom": 1, "exp": 1}])
    for variable, sets in (("tot", (3, 1, 2)), ("dom", (3, 1))):
        keys = (np.arange(len(sets), dtype=np.int64),)
        space.add(SpaceTable(variable, ("reg",), (sets,), keys, False))
    rows = [dict(row) for row in cross_classified(space).rows]
    named = [{space.cells[cell]: coef for cell, coef in row.items()} for row in rows]
    assert {("tot", (1,)): -1, ("dom", (1,)): 1, ("exp", (1,)): 1} in named
    assert {("tot", (2,)): -1, ("dom", (2,)): 1, ("exp", (2,)): 1} in named


def test_a_linked_table_without_its_parts_is_taken_apart_by_its_totals() -> None:
    region = Dimension.of("region", Hierarchy.flat(["N", "S"]))
    size = Dimension.of("size", Hierarchy.flat(["small", "large"]))
    by_region = table_from_interior([region], {"region": ["N", "S"]}, [4, 6])
    by_size = table_from_interior([size], {"size": ["small", "large"]}, [1, 9])
    joint = link([by_region, by_size])
    assert [part.variable for part, _ in tables_in(joint)] == ["value", "value"]
    plain = joint.replace(dimensions=tuple(Dimension.unstructured(d.name, d.codes) for d in joint.dimensions))
    assert not is_complete(by_region.replace(values=np.array([11, 4, 6])))
    assert is_complete(by_region) and plain.num_cells == 5


def test_classes_are_tabulated_under_names_that_no_data_have() -> None:
    column = Column("region", ["N1", "N2", "S"])
    dimension = class_dimension(column, [0b011, 0b100], [0b111])
    assert dimension.finest[dimension.index["N2"]] and dimension.index["N1"] == dimension.index["N2"]
    assert dimension.total == 2 and dimension.is_parent.tolist() == [False, False, True]
