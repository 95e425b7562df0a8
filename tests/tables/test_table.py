"""Tables from interiors and from cells against construction with dicts; names, gaps, repair, messages."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellveil.errors import InputError
from cellveil.tables.build import (
    assemble,
    build_relations,
    encode,
    relations_along,
    roll_up,
    table_from_cells,
    table_from_interior,
)
from cellveil.tables.contributions import Contributions
from cellveil.tables.dimension import Dimension, Equation
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.relations import Relations
from cellveil.tables.scaled import LARGEST
from cellveil.tables.table import Table
from helpers.contributions import of_lists
from helpers.naive_tables import (
    brute_relations,
    brute_totals,
    columns_of,
    contents,
    flat,
    interiors,
    relation_set,
)

ROW, COL = flat("row", "ab"), flat("col", "xy")
TREE = Dimension.of("tree", Hierarchy.from_dict({"Total": {"A": ["A1", "A2"], "B": ["B1"], "C": []}}))


@settings(deadline=None, max_examples=60)
@given(interiors() | interiors(-9, 9, fewest=8))
def test_interior_against_dicts(given_table):
    axes, interior = given_table
    table = table_from_interior(axes, columns_of(axes, interior), list(interior.values()))
    expected = brute_totals(axes, interior)
    assert contents(table) == expected
    rows = relation_set(table)
    wanted = brute_relations(axes, expected)
    assert len(rows) == len(set(rows)) == len(wanted)
    assert set(rows) == set(wanted)
    by_key = contents(table)
    for row in rows:
        assert sum(coef * by_key[key] for key, coef in row) == 0
    assert table.relations.residuals(table.values) == {}
    assert not table.relations.rhs.any()


@settings(deadline=None, max_examples=40)
@given(interiors(1, fewest=5), st.randoms(use_true_random=False))
def test_cells_in_any_order_give_the_same_table(given_table, random):
    axes, interior = given_table
    cells = list(brute_totals(axes, interior).items())
    random.shuffle(cells)
    table = table_from_cells(axes, columns_of(axes, [key for key, _ in cells]), [value for _, value in cells])
    assert list(contents(table).items()) == cells
    assert sorted(map(sorted, relation_set(table))) == sorted(map(sorted, brute_relations(axes, dict(cells))))


@settings(deadline=None, max_examples=40)
@given(interiors(1, fewest=4), st.data())
def test_one_wrong_value_is_found_and_repaired(given_table, data):
    axes, interior = given_table
    cells = brute_totals(axes, interior)
    tied = sorted({key for row in brute_relations(axes, cells) for key, _ in row})
    if not tied:
        return
    wrong = data.draw(st.sampled_from(tied))
    damaged = cells | {wrong: cells[wrong] + 1}
    codes, values = columns_of(axes, damaged), list(damaged.values())
    with pytest.raises(InputError, match=r"does not add up: .* is off|off by the whole value"):
        table_from_cells(axes, codes, values)
    repaired = contents(table_from_cells(axes, codes, values, repair=True))
    inner = {key: value for key, value in damaged.items() if key in interior}
    assert repaired == brute_totals(axes, inner)


@settings(deadline=None, max_examples=40)
@given(interiors(1, fewest=4), st.data())
def test_a_missing_total_is_found(given_table, data):
    axes, interior = given_table
    cells = brute_totals(axes, interior)
    totals = sorted(set(cells) - set(interior))
    if not totals:
        return
    gone = data.draw(st.sampled_from(totals))
    rest = {key: value for key, value in cells.items() if key != gone}
    with pytest.raises(InputError, match=r"the total above .* is missing|does not add up"):
        table_from_cells(axes, columns_of(axes, rest), list(rest.values()))
    assert contents(table_from_cells(axes, columns_of(axes, rest), list(rest.values()), repair=True)) == cells


# -- gaps, aliases, faults --------------------------------------------------------------------------------


def cells(text: str, axes, **options) -> Table:
    """A table from lines of codes and a value."""
    lines = [line.split() for line in text.strip().splitlines()]
    codes = columns_of(axes, [tuple(line[:-1]) for line in lines])
    return table_from_cells(axes, codes, [line[-1] for line in lines], **options)


def test_a_bare_total():
    text = "Total 30\nA 20\nB 4\nC 6"
    with pytest.raises(InputError, match=r"cell \(A\): the total has a value, but none of its parts"):
        cells(text, [TREE])
    table = cells(text, [TREE], incomplete="allow")
    assert relation_set(table) == [frozenset({(("Total",), -1), *((((c,), 1)) for c in "ABC")})]
    with pytest.raises(
        InputError, match=r"cell \(A\): the total has no parts it could be computed from"
    ) as e:
        cells(text, [TREE], incomplete="allow", repair=True)
    assert "20" not in str(e.value)


def test_a_bare_total_of_zero_says_nothing_wrong():
    table = cells("Total 10\nA 0\nB 4\nC 6", [TREE])
    assert table.num_cells == 4
    assert contents(cells("Total 10\nA 0\nB 4\nC 6", [TREE], repair=True)) == {
        ("Total",): 10,
        ("B",): 4,
        ("C",): 6,
    }


def test_a_missing_total_is_named():
    with pytest.raises(InputError, match=r"the total above \(B\), \(C\) is missing \(1 total is missing"):
        cells("B 4\nC 6", [TREE])


def test_incomplete_does_not_excuse_a_wrong_sum():
    with pytest.raises(InputError, match="does not add up"):
        cells("Total 31\nA 20\nB 4\nC 6", [TREE], incomplete="allow")


def test_two_names_of_one_cell():
    table = cells("Total 10\nB 4\nC 6\nB1 4", [TREE])
    assert contents(table) == {("Total",): 10, ("B",): 4, ("C",): 6}
    assert contents(cells("Total 10\nB1 4\nC 6", [TREE])) == contents(table)
    assert table.cell("B1") == table.cell("B") == table.cell(tree="B1")
    with pytest.raises(InputError, match=r"line 5, cell \(B\): the cell occurs twice with different values"):
        cells("Total 10\nB 4\nC 6\nB1 5", [TREE])
    inner = table_from_interior([TREE], {"tree": ["A1", "B1"]}, [1, 2])
    assert contents(inner)[("B",)] == 2
    with pytest.raises(InputError, match="occurs twice"):
        table_from_interior([TREE], {"tree": ["B", "B1"]}, [2, 2])


def test_aliases_multiply_over_dimensions():
    other = Dimension.of("other", Hierarchy.from_dict({"T": {"p": ["p1"], "q": []}}))
    one, two = ("Total", "A", "A1", "A2", "B", "B1"), ("T", "p", "p1", "q")
    totals = brute_totals([TREE, other], {("A1", "p"): 1, ("A2", "q"): 2, ("B", "p"): 3})
    name = {"B1": "B", "p1": "p"}
    rows = {
        (a, b): totals[name.get(a, a), name.get(b, b)]
        for a, b in product(one, two)
        if (name.get(a, a), name.get(b, b)) in totals
    }
    table = table_from_cells([TREE, other], columns_of([TREE, other], rows), list(rows.values()))
    assert contents(table) == totals


@pytest.mark.parametrize(
    ("codes", "values", "message"),
    [
        ({"row": ["a", "zz"]}, [1, 2], r"line 3: unknown code in dimension 'row'"),
        ({"rwo": ["a", "b"]}, [1, 2], r"no column for dimension 'row'. Did you mean 'rwo'"),
        ({"row": ["a", "a"]}, [1, 2], r"line 3, cell \(a\): the cell occurs twice"),
        ({"row": ["a", "Total"]}, [1, 2], r"line 3: code 'Total' of dimension 'row' is a total"),
        ({"row": ["a", "b"]}, [1, None], r"line 3, cell \(b\): the value is missing"),
        ({"row": ["a", "b"]}, [1, "x"], r"line 3, cell \(b\): the value is not a number"),
        ({"row": ["a", "b"]}, [1], "the columns have different lengths: 1, 2"),
        ({"row": ["a", "b"]}, [LARGEST - 1, 1], r"cell \(Total\): the value is too large"),
        ({"row": ["a", "b"]}, [LARGEST - 1, 1 - LARGEST], "the total of the table is too large"),
        ({"row": ["a", "b"]}, [LARGEST, 1], r"line 2, cell \(a\): the value is too large"),
    ],
)
def test_interior_that_is_wrong(codes, values, message):
    with pytest.raises(InputError, match=message) as caught:
        table_from_interior([ROW], codes, values)
    assert caught.value.remedy


def test_sums_do_not_wrap():
    four = flat("x", "abcd")
    with pytest.raises(InputError, match="too large"):
        table_from_interior([four], {"x": list("abcd")}, [2**62 - 1] * 4)
    keys, (sums,) = roll_up([four], encode([four], {"x": ["a", "b"]}), [np.array([2**61, 2**61])])
    with pytest.raises(InputError, match=r"cell \(Total\): the value is too large"):
        assemble([four], keys, sums, 0)


def test_tables_need_dimensions_with_names_of_their_own():
    with pytest.raises(InputError, match="no dimension"):
        table_from_interior([], {}, [1])
    with pytest.raises(InputError, match="two dimensions have the same name"):
        table_from_interior([ROW, ROW], {"row": ["a"]}, [1])


def test_lengths_of_two_code_columns():
    with pytest.raises(InputError, match="different lengths: 1, 2"):
        table_from_cells([ROW, COL], {"row": ["a", "b"], "col": ["x"]}, [1, 2])


def test_a_table_without_cells():
    table = table_from_interior([ROW, COL], {"row": [], "col": []}, [])
    assert (table.num_cells, len(table.relations)) == (0, 0)
    assert table.find([np.array([0]), np.array([0])]).tolist() == [-1]


def test_codes_outside_every_equation_make_no_relation():
    loose = Dimension("v", ("p", "q", "r", "other"), (Equation.total(0, [1, 2]),))
    relations = build_relations([loose], [np.array([3], dtype=np.int32)], 1)
    assert (len(relations), relations.indptr.tolist()) == (0, [0])
    _, equation = relations_along(0, [loose], [np.array([3, 1], dtype=np.int32)], 2)
    assert equation.tolist() == [0]


def test_in_each_relation_the_total_comes_first():
    table = table_from_interior([ROW, COL], {"row": ["b", "a"], "col": ["y", "x"]}, [1, 2])
    for row in range(len(table.relations)):
        assert table.relations.row(row)[1][0] == -1


def test_twelve_dimensions_of_a_hundred_codes():
    """The product of the sizes is far above 2^63."""
    axes = [
        Dimension.of(f"d{axis}", Hierarchy.flat([f"c{code}" for code in range(99)])) for axis in range(12)
    ]
    assert np.prod([float(len(d)) for d in axes]) > 2.0**63
    rng = np.random.default_rng(7)
    keys = {tuple(f"c{code}" for code in rng.integers(0, 99, 12)) for _ in range(2)}
    keys.add((*min(keys)[:-1], "c98"))
    interior = {key: 3 + place for place, key in enumerate(sorted(keys))}
    table = table_from_interior(axes, columns_of(axes, interior), list(interior.values()))
    totals = brute_totals(axes, interior)
    assert contents(table) == totals
    assert len(table.relations) == len(brute_relations_fast(axes, totals))
    assert not table.relations.residuals(table.values)
    picks = [*interior, ("c0",) * 12]
    asked = [np.array([d.index[key[axis]] for key in picks]) for axis, d in enumerate(axes)]
    found = table.find(asked)
    assert [table.key(int(cell)) for cell in found[:-1]] == list(interior)
    assert found[-1] == -1
    read = table_from_cells(axes, columns_of(axes, totals), list(totals.values()))
    assert contents(read) == totals


def brute_relations_fast(axes, totals) -> set:
    """With flat dimensions there is one relation per axis and combination of the other codes."""
    return {(axis, key[:axis] + key[axis + 1 :]) for key in totals for axis in range(len(axes))}


# -- finding and naming -----------------------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(interiors(1, fewest=4))
def test_find_every_possible_key(given_table):
    axes, interior = given_table
    table = table_from_interior(axes, columns_of(axes, interior), list(interior.values()))
    everything = list(product(*(range(len(d)) for d in axes)))[:3000]
    found = table.find([np.array(column) for column in zip(*everything, strict=True)])
    number = {table.key(cell): cell for cell in range(table.num_cells)}
    names = [tuple(d.codes[code] for d, code in zip(axes, key, strict=True)) for key in everything]
    assert found.tolist() == [number.get(name, -1) for name in names]


TWO = table_from_interior([ROW, COL], {"row": list("aab"), "col": list("xyx")}, [1, 2, 4])


def test_cell_by_codes():
    assert TWO.values[TWO.cell()] == 7
    assert TWO.values[TWO.cell("a")] == 3
    assert TWO.values[TWO.cell(col="x")] == 5
    assert TWO.values[TWO.cell("a", col="y")] == 2
    assert TWO.key(TWO.cell("b", "x")) == ("b", "x")
    assert TWO.codes(1)[TWO.cell("b", "x")] == "x"


@pytest.mark.parametrize(
    ("codes", "by_name", "message"),
    [
        (("a", "x", "y"), {}, "3 codes for 2 dimensions"),
        ((), {"rwo": "a"}, r"no dimension 'rwo'. Did you mean 'row'"),
        (("A",), {}, "dimension 'row' has no code 'A'"),
        (("b", "y"), {}, r"the table has no cell \(b, y\)"),
    ],
)
def test_cells_that_are_not_there(codes, by_name, message):
    with pytest.raises(InputError, match=message):
        TWO.cell(*codes, **by_name)


def test_names():
    assert TWO.cell_name(TWO.cell("b", "x")) == "(b, x)"
    assert TWO.cell_names([TWO.cell(), TWO.cell("a")]) == ["(Total, Total)", "(a, Total)"]
    names = {TWO.relation_name(row) for row in range(len(TWO.relations))}
    assert names == {
        "(Total, Total) = (a, Total) + (b, Total)",
        "(Total, x) = (a, x) + (b, x)",
        "(Total, y) = (a, y)",
        "(Total, Total) = (Total, x) + (Total, y)",
        "(a, Total) = (a, x) + (a, y)",
        "(b, Total) = (b, x)",
    }
    six = flat("d", "abcdef")
    table = table_from_interior([six], {"d": list("abcdef")}, [1] * 6)
    assert table.relation_name(0) == "(Total) = (a) + (b) + (c) + (d) + … (6 terms)"


def plain(values, rows, rhs=None, decimals=0) -> Table:
    dimension = Dimension.unstructured("cell", [f"c{number}" for number in range(len(values))])
    keys = (np.arange(len(values), dtype=np.int32),)
    relations = Relations.from_rows(len(values), rows, rhs)
    return Table((dimension,), keys, np.array(values), decimals, relations)


def test_relations_with_coefficients_and_constants_in_words():
    table = plain([5, 1, 2, 0], [[(0, -1), (1, 2), (2, 1)], [(1, 3)], [(0, -1), (1, 1)]], [0, 3, -40], 1)
    assert table.relation_name(0) == "c0 = 2·c1 + c2"
    assert table.relation_name(1) == "0 = 3·c1 − a constant"
    assert not table.is_structured
    assert table.cell_name(1) == "c1"


# -- what is frozen, and what is not told -----------------------------------------------------------------


def test_values_and_keys_are_read_only():
    for array in (TWO.values, *TWO.keys):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5
    with pytest.raises(AttributeError):
        TWO.values = np.zeros(3)
    copy = TWO.replace(variable="turnover")
    assert (copy.variable, TWO.variable) == ("turnover", "value")


def test_reprs_carry_no_value():
    secret = 918273645
    held = of_lists([[secret, 1], [secret], [2], [3]])
    table = table_from_interior([ROW], {"row": ["a", "b"]}, [secret, secret])
    table = table.replace(
        units=held, contributors=np.array([secret] * 3), columns={"cost": np.ones(3) * secret}
    )
    for thing in (table, table.relations, held, ROW, table.dimensions):
        for text in (repr(thing), str(thing), getattr(thing, "_repr_html_", str)()):
            assert "18273" not in text


def test_how_much_is_said_with_decimals():
    with pytest.raises(InputError, match=r"\(Total\) = \(a\) \+ \(b\) is off\. Correct") as caught:
        table_from_cells([ROW], {"row": ["Total", "a", "b"]}, ["10", "6.25", "4"])
    assert caught.value.cell == "(Total)"
    with pytest.raises(InputError, match=r"is off; 1 further relation does not hold either"):
        plain([5, 1, 1], [[(0, -1), (1, 1), (2, 1)], [(0, -1), (1, 1)]]).check_additive(file="t.jj")


@pytest.mark.parametrize(
    ("values", "rows", "rhs", "message"),
    [
        ([7654321, 0, 0], [[(0, -1), (1, 1), (2, 1)]], None, "is off by the whole value of c0"),
        ([0, 7654321, 0], [[(0, -1), (1, 1), (2, 1)]], None, "is off by the whole value of c1"),
        ([0, 7654321, 0], [[(0, -1), (1, 2), (2, 1)]], None, "is off by the whole value of c1"),
        ([0, 7654321, 0], [[(0, -1), (1, 1), (2, 1)]], [5], "does not hold: c1, its only cell that is not 0"),
        ([7654321], [[(0, 1)]], None, "is off by the whole value of c0"),
    ],
)
def test_the_difference_does_not_tell_a_lone_value(values, rows, rhs, message):
    with pytest.raises(InputError, match=message) as caught:
        plain(values, rows, rhs).check_additive()
    assert "54321" not in str(caught.value)
    assert "15308" not in str(caught.value)


def test_a_lone_total_in_a_file_is_not_told():
    with pytest.raises(InputError, match=r"off by the whole value of \(Total\), its only cell") as caught:
        table_from_cells([ROW], {"row": ["Total", "a", "b"]}, [7654321, 0, 0])
    assert "7654321" not in str(caught.value)


# -- contributions ----------------------------------------------------------------------------------------


def held(decimals: int, names: tuple[str, ...], who, top, requests) -> Contributions:
    top = np.array(top, dtype=np.int64)
    return Contributions(
        decimals,
        count=np.arange(1, len(top) + 1),
        total=-top.sum(axis=1),
        absolute=top.sum(axis=1),
        top=top,
        who=np.array(who, dtype=np.int32),
        names=names,
        top_weight=np.ones(top.shape) * decimals,
        waived=top > 5,
        largest_unwaived=top[:, 0],
        requests=np.array(requests, dtype=np.int64),
    )


ONE = held(0, ("u", "v"), [[0, 1, -1], [1, -1, -1]], [[9, 4, 0], [3, 0, 0]], [[9, -1], [-1, -1]])
OTHER = held(2, ("w", "v"), [[0, 1], [1, -1]], [[900, 400], [300, 0]], [[-1, 400], [300, -1]])


def test_contributions_of_several_tables():
    both = Contributions.stack([ONE, OTHER])
    assert (both.decimals, both.depth, both.names, len(both)) == (2, 2, ("u", "v", "w"), 4)
    assert both.top.tolist() == [[900, 400], [300, 0], [900, 400], [300, 0]]
    assert both.who.tolist() == [[0, 1], [1, -1], [2, 1], [1, -1]]
    assert both.total.tolist() == [-1300, -300, -1300, -300]
    assert both.absolute.tolist() == [1300, 300, 1300, 300]
    assert both.largest_unwaived.tolist() == [900, 300, 900, 300]
    assert both.requests.tolist() == [[900, -1], [-1, -1], [-1, 400], [300, -1]]
    assert both.count.tolist() == [1, 2, 1, 2]
    assert both.top_weight.tolist() == [[0, 0], [0, 0], [2, 2], [2, 2]]
    assert both.waived.tolist() == [[True, False], [False, False], [True, True], [True, False]]
    assert both.weighted_count is None
    assert ONE.requests.tolist() == [[9, -1], [-1, -1]]


def test_contributions_of_one_table_stay():
    same = Contributions.stack([ONE])
    assert same.who.tolist() == ONE.who.tolist()
    assert same.names == ONE.names
    assert same.take(np.array([1])).top.tolist() == [[3, 0, 0]]


def test_contributions_that_do_not_fit():
    large = held(0, ("u",), [[0]], [[LARGEST - 1]], [[-1, -1]])
    with pytest.raises(InputError, match="too large"):
        Contributions.stack([large, OTHER])
