"""Trees of codes from every source, every error, and dimensions against brute force."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellveil.errors import InputError
from cellveil.tables.dimension import Dimension, Equation
from cellveil.tables.hierarchy import Hierarchy
from helpers.naive_tables import dimensions

TREE = {"Total": {"A": ["A1", "A2"], "B": {"B1": ["B11", "B12"], "B2": []}, "C": None}}
PAIRS = [
    ("Total", "A"),
    ("Total", "B"),
    ("Total", "C"),
    ("A", "A1"),
    ("A", "A2"),
    ("B", "B1"),
    ("B", "B2"),
    ("B1", "B11"),
    ("B1", "B12"),
]
CODES = ("Total", "A", "A1", "A2", "B", "B1", "B11", "B12", "B2", "C")


def same_tree(tree: Hierarchy) -> bool:
    return tree.root == "Total" and sorted(tree.pairs()) == sorted(PAIRS)


# -- constructors -----------------------------------------------------------------------------------------


def test_from_nested():
    tree = Hierarchy.from_dict(TREE)
    assert tree.codes == CODES
    assert tree.leaves == ("A1", "A2", "B11", "B12", "B2", "C")
    assert tree.depth == 3
    assert same_tree(tree)
    assert Hierarchy.from_dict({1: [2, 3]}).codes == ("1", "2", "3")
    assert Hierarchy.from_dict({"T": {}}).leaves == ("T",)
    assert Hierarchy.from_dict({"T": None}).depth == 0


@pytest.mark.parametrize("order", [1, -1])
def test_from_pairs_in_any_order(order):
    assert same_tree(Hierarchy.from_pairs(PAIRS[::order]))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_from_frames(make):
    parents, children = zip(*PAIRS, strict=True)
    assert same_tree(Hierarchy.from_frame(make({"parent": parents, "child": children})))
    assert same_tree(Hierarchy.from_frame(make({"up": parents, "down": children}), "up", "down"))
    levels = make(
        {
            "one": ["A", "A", "B", "B", "B", "C"],
            "two": ["A1", "A2", "B1", "B1", "B2", "C"],
            "three": ["A1", "A2", "B11", "B12", "B2", "C"],
        }
    )
    tree = Hierarchy.from_columns(levels, ["one", "two", "three"])
    assert same_tree(tree)
    assert tree.codes == CODES
    numbers = make({"one": [1, 1], "two": [11, 12]})
    assert Hierarchy.from_columns(numbers, ["one", "two"], total="0").codes == ("0", "1", "11", "12")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_missing_code_is_no_code(make, missing):
    numbers = [1.5, missing] if missing else ["1.5", None]
    frame = make({"parent": ["T", "T"], "child": numbers})
    with pytest.raises(InputError, match=r"line 3: an empty code in column 'child'"):
        Hierarchy.from_frame(frame)
    with pytest.raises(InputError, match="an empty code"):
        Hierarchy.from_columns(frame, ["child"])


def test_a_missing_column_is_named():
    frame = pd.DataFrame({"parent": ["T"], "chlid": ["a"]})
    with pytest.raises(InputError, match=r"no column 'child'\. Did you mean 'chlid'"):
        Hierarchy.from_frame(frame)
    with pytest.raises(InputError, match="no column 'level'"):
        Hierarchy.from_columns(frame, ["level"])


def test_from_digits():
    tree = Hierarchy.from_digits(["A11", "A12", "B10", "A2", "C"], (1, 1, 1))
    assert sorted(tree.pairs()) == [
        ("A", "A1"),
        ("A", "A2"),
        ("A1", "A11"),
        ("A1", "A12"),
        ("B", "B1"),
        ("B1", "B10"),
        ("Total", "A"),
        ("Total", "B"),
        ("Total", "C"),
    ]
    assert Hierarchy.from_digits(["0123"], (2, 2), total="T").codes == ("T", "01", "0123")
    assert Hierarchy.from_digits(["12", "12"], (2,)).leaves == ("12",)


@pytest.mark.parametrize(
    ("codes", "widths", "message"),
    [
        (["A1", "A"], (1, 1), "1 code is both a leaf and the total of longer codes"),
        (["A123"], (1, 1), "4 characters; the levels end at"),
        ([""], (1, 1), "0 characters"),
        ([], (1, 1), "empty"),
        (["T1"], (1, 1), "its own parent"),
        (["A1"], (1, 0, 1), "its own parent"),
    ],
)
def test_digits_that_do_not_fit(codes, widths, message):
    with pytest.raises(InputError, match=message):
        Hierarchy.from_digits(codes, widths, total="T")


@pytest.mark.parametrize("lead", ["@", ".", "--", " "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_from_indented_file(tmp_path, lead, end):
    depth = {"A1": 1, "A2": 1, "B1": 1, "B11": 2, "B12": 2, "B2": 1}
    lines = [lead * depth.get(code, 0) + code + "  " for code in CODES[1:]]
    (tmp_path / "t.hrc").write_bytes(end.join(["", *lines, "   ", ""]).encode("utf-8-sig"))
    tree = Hierarchy.from_hrc(tmp_path / "t.hrc", lead=lead)
    assert tree.codes == CODES
    assert same_tree(tree)


def test_blanks_before_a_code_belong_to_it(tmp_path):
    (tmp_path / "t.hrc").write_text(" 1\n@ 11\n@ 12\t\n10\n")
    tree = Hierarchy.from_hrc(tmp_path / "t.hrc", total="All")
    assert tree.codes == ("All", " 1", " 11", " 12", "10")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("A\n@@A1\n", 2, "indented 2 times, but the code above only 0"),
        ("@A\n", 1, "indented 1 times, but there is no code above it"),
        ("A\n@A1\nA\n", 3, "the code is already in line 1"),
        ("A\n@A1\nB\n@A1\n", 4, "the code is already in line 2"),
        ("A\n@Total\n", 2, "the code of the total"),
        ("A\n@\n", 2, "a line without a code"),
        ("A\n@  \n", 2, "a line without a code"),
        ("", None, "is empty"),
        (" \n\n", None, "is empty"),
    ],
)
def test_indented_files_that_are_wrong(tmp_path, text, line, message):
    path = tmp_path / "t.hrc"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        Hierarchy.from_hrc(path)
    assert (caught.value.file, caught.value.line) == (str(path), line)
    assert caught.value.remedy


def test_indented_file_needs_a_lead(tmp_path):
    with pytest.raises(InputError, match="lead"):
        Hierarchy.from_hrc(tmp_path / "t.hrc", lead="")


# -- errors of trees --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("T", "a"), ("T", "b"), ("a", "c"), ("b", "c")], r"line 5: code 'c' has two parents .*'a' and 'b'"),
        ([("T", "a"), ("T", "a")], "line 3: the pair 'T', 'a' occurs twice"),
        ([("T", "T")], "line 2: code 'T' is its own parent"),
        ([("a", "b"), ("b", "a")], "a cycle: every code has a parent"),
        ([("T", "a"), ("x", "y"), ("y", "x")], "x, y: not below the total 'T'"),
        ([("T", "a"), ("S", "b")], "2 codes without a parent: T, S"),
        ([("T", "")], "line 2: an empty code"),
        ([("T", "  ")], "line 2: an empty code"),
        ([("", "a")], "line 2: an empty code"),
        ([], "the hierarchy is empty"),
    ],
)
def test_pairs_that_are_no_tree(pairs, message):
    with pytest.raises(InputError, match=message) as caught:
        Hierarchy.from_pairs(pairs, file="h.csv")
    assert caught.value.file == "h.csv"
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("nested", "message"),
    [
        ({}, "exactly one outermost code, not 0"),
        ({"a": [], "b": []}, "exactly one outermost code, not 2"),
        ({"T": "a"}, "below code 'T' stands something else"),
        ({"T": {"a": "a1"}}, "below code 'a' stands something else"),
        ({"T": 5}, "below code 'T' stands something else"),
        ({"T": ["a", {"b": ["b1"]}]}, "below code 'T' stands something else"),
        ({"T": ["a", "a"]}, "the pair 'T', 'a' occurs twice"),
        ({"T": {"a": ["x"], "b": ["x"]}}, "code 'x' has two parents"),
        ({"T": {"a": ["T"]}}, "cycle"),
        ({"T": [""]}, "an empty code"),
    ],
)
def test_nested_that_is_no_tree(nested, message):
    with pytest.raises(InputError, match=message):
        Hierarchy.from_dict(nested)


@pytest.mark.parametrize(
    ("children", "message"),
    [
        ({"T": ("a", "a")}, "code 'a' stands in the tree twice"),
        ({"T": ("a",), "a": ("T",)}, "code 'T' stands in the tree twice"),
        ({"T": ("a",), "x": ("y",)}, "x: not below the total"),
        ({"T": ("a", "")}, "an empty code"),
    ],
)
def test_hierarchy_checks_itself(children, message):
    with pytest.raises(InputError, match=message):
        Hierarchy("T", children)


def test_flat():
    assert Hierarchy.flat(["a", "b"]).codes == ("Total", "a", "b")
    with pytest.raises(InputError, match="empty"):
        Hierarchy.flat([])
    with pytest.raises(InputError, match="twice"):
        Hierarchy.flat(["a", "a"])


# -- dimensions -------------------------------------------------------------------------------------------


def by_name(dimension: Dimension) -> set[tuple[str, frozenset[str]]]:
    names = dimension.codes
    for equation in dimension.equations:
        assert equation.codes[0] == equation.parent
        assert equation.coefs == (-1, *[1] * (len(equation.codes) - 1))
    return {
        (names[equation.parent], frozenset(names[code] for code in equation.codes[1:]))
        for equation in dimension.equations
    }


def cover(dimension: Dimension) -> dict[str, set[str]]:
    covered: dict[str, set[str]] = {}
    for leaf, code in zip(*(column.tolist() for column in dimension.closure), strict=True):
        covered.setdefault(dimension.codes[code], set()).add(dimension.codes[leaf])
    return covered


def test_overlapping_hierarchies():
    regions = Hierarchy.from_dict({"Total": {"N": ["n1", "n2"], "S": ["s1", "s2", "s3"]}})
    coast = Hierarchy.from_dict({"Total": {"coast": ["n1", "s1"], "inland": ["n2", "s2", "s3"]}})
    ports = Hierarchy.from_dict({"ports": ["n1", "s2"]})
    halves = Hierarchy.from_dict({"halves": ["N", "S"]})
    dimension = Dimension.of("region", regions, coast, ports, halves)
    assert dimension.codes == (
        *("Total", "N", "n1", "n2", "S", "s1", "s2", "s3"),
        *("coast", "inland", "ports", "halves"),
    )
    assert dimension.codes[dimension.total] == "Total"
    assert by_name(dimension) == {
        ("Total", frozenset(["N", "S"])),
        ("N", frozenset(["n1", "n2"])),
        ("S", frozenset(["s1", "s2", "s3"])),
        ("Total", frozenset(["coast", "inland"])),
        ("coast", frozenset(["n1", "s1"])),
        ("inland", frozenset(["n2", "s2", "s3"])),
        ("ports", frozenset(["n1", "s2"])),
        ("halves", frozenset(["N", "S"])),
    }
    assert cover(dimension)["halves"] == cover(dimension)["Total"] == {"n1", "n2", "s1", "s2", "s3"}
    assert cover(dimension)["ports"] == {"n1", "s2"}
    level = dict(zip(dimension.codes, dimension.level.tolist(), strict=True))
    assert (level["Total"], level["halves"], level["N"], level["n1"], level["coast"]) == (0, 0, 1, 2, 1)
    parents = {code for code, is_one in zip(dimension.codes, dimension.is_parent, strict=True) if is_one}
    assert parents == {parent for parent, _ in by_name(dimension)}


def test_a_tree_given_twice_counts_once():
    tree = Hierarchy.from_dict(TREE)
    other = Hierarchy.from_pairs(PAIRS[::-1])
    assert by_name(Dimension.of("x", tree, other)) == by_name(Dimension.of("x", tree))
    assert len(Dimension.of("x", tree, other).equations) == len(Dimension.of("x", tree).equations)


def test_further_detail_in_a_further_tree():
    coarse = Hierarchy.flat(["A", "B"])
    fine = Hierarchy.from_dict({"A": ["A1", "A2"]})
    dimension = Dimension.of("x", coarse, fine)
    assert cover(dimension)["Total"] == {"A1", "A2", "B"}


@pytest.mark.parametrize(
    ("nested", "codes", "aliases"),
    [
        ({"T": {"a": ["a1"], "b": []}}, ("T", "a", "b"), {"a1": "a"}),
        ({"T": {"a": {"b": {"c": ["d"]}}, "e": []}}, ("T", "a", "e"), dict.fromkeys("bcd", "a")),
        ({"T": {"U": ["a", "b"]}}, ("T", "a", "b"), {"U": "T"}),
        ({"T": {"U": {"V": ["a", "b"]}}}, ("T", "a", "b"), {"U": "T", "V": "T"}),
        ({"T": {"U": {"a": {"b": ["c", "d"]}, "e": ["f"]}}}, ("T", "a", "c", "d", "e"), None),
        ({"T": ["a"]}, ("T",), {"a": "T"}),
    ],
)
def test_single_children_are_merged(nested, codes, aliases):
    dimension = Dimension.of("x", Hierarchy.from_dict(nested))
    assert dimension.codes == codes
    assert dimension.codes[dimension.total] == "T"
    if aliases is not None:
        assert dict(dimension.aliases) == aliases
    for alias, code in dimension.aliases.items():
        assert dimension.index[alias] == dimension.index[code]
        assert dimension.aliases[alias] == dimension.codes[dimension.index[code]]
    assert all(len(equation.codes) > 2 for equation in dimension.equations)


def test_single_children_across_trees_keep_the_first_name():
    first = Hierarchy.from_dict({"Total": {"N": ["n1", "n2"], "S": []}})
    second = Hierarchy.from_dict({"Everything": {"All": {"North": ["N"], "South": ["S"]}}})
    third = Hierarchy.from_dict({"World": ["Total"]})
    dimension = Dimension.of("x", first, second, third)
    assert dimension.codes == ("Total", "N", "n1", "n2", "S", "Everything")
    assert dict(dimension.aliases) == {"North": "N", "South": "S", "All": "Everything", "World": "Total"}
    assert dimension.codes[dimension.total] == "Total"
    assert by_name(dimension) == {
        ("Total", frozenset(["N", "S"])),
        ("N", frozenset(["n1", "n2"])),
        ("Everything", frozenset(["N", "S"])),
    }


def test_two_trees_that_tie_two_names_each_way():
    first = Hierarchy.from_dict({"T": {"a": ["b"], "c": []}})
    second = Hierarchy.from_dict({"b": ["a"]})
    assert dict(Dimension.of("x", first, second).aliases) == {"b": "a"}


FIRST = Hierarchy.from_dict({"Total": {"N": ["n1", "n2"], "S": ["s1", "s2"]}})


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"Total": ["n1", "n2", "s1"]}, "disagree about what 'Total' consists of; only in one of them: s2"),
        ({"Total": {"N": ["n1", "s1"], "rest": ["n2", "s2"]}}, "disagree about what 'N' consists of"),
        ({"x": ["n1", "new"]}, "unknown code new in a further"),
        ({"x": ["new1", "new2"]}, "unknown code new1, new2 in a further"),
        ({"n1": {"N": ["p", "q"]}}, "cycle"),
        ({"n1": ["N"]}, "cycle"),
        ({"x": {"N": [], "y": ["n1", "s1"]}}, "the parts of 'x' overlap"),
        ({"x": ["Total", "N"]}, "the parts of 'x' overlap"),
        ({"n1": ["n2"]}, "the parts of 'N' overlap"),
    ],
)
def test_trees_that_disagree(second, message):
    with pytest.raises(InputError, match=message) as caught:
        Dimension.of("region", FIRST, Hierarchy.from_dict(second))
    assert "'region'" in str(caught.value)
    assert caught.value.remedy


def test_a_dimension_needs_a_hierarchy():
    with pytest.raises(InputError, match="no hierarchy"):
        Dimension.of("x")


def test_unstructured_and_equations():
    dimension = Dimension.unstructured("cell", ["1", "2"])
    assert (len(dimension), dimension.total, dimension.equations) == (2, -1, ())
    assert Equation.total(0, [1, 2]) == Equation((0, 1, 2), (-1, 1, 1), 0)
    assert repr(dimension) == "Dimension('cell', 2 codes, 0 equations)"


# -- against brute force ----------------------------------------------------------------------------------


@given(dimensions(max_leaves=6))
def test_dimension_against_brute_force(dimension):
    trees = dimension.hierarchies
    resolve = {code: code for tree in trees for code in tree.codes} | dict(dimension.aliases)

    def leaves_of(tree: Hierarchy, code: str) -> frozenset[str]:
        below = tree.children.get(code, ())
        return frozenset([code]) if not below else frozenset().union(*(leaves_of(tree, c) for c in below))

    expected = {}
    for tree in trees:
        for code in tree.codes:
            covered = {resolve[leaf] for leaf in leaves_of(tree, code)}
            assert expected.setdefault(resolve[code], covered) == covered
    assert cover(dimension) == expected

    wanted = {
        (resolve[parent], frozenset(resolve[child] for child in below))
        for tree in trees
        for parent, below in tree.children.items()
        if len(below) > 1
    }
    assert by_name(dimension) == wanted
    assert len(dimension.equations) == len(wanted)

    tied = {
        frozenset((p, below[0])) for tree in trees for p, below in tree.children.items() if len(below) == 1
    }
    for pair in tied:
        assert len({resolve[code] for code in pair}) == 1
    assert len(dimension.codes) == len(set(resolve.values())) == len(set(dimension.codes))

    first = [dimension.index[code] for code in trees[0].codes]
    for parent, child in trees[0].pairs():
        assert dimension.index[parent] <= dimension.index[child]
    assert dimension.total == first[0]

    def longest(code: str) -> int:
        above = [p for p, below in wanted if code in below]
        return 1 + max(map(longest, above)) if above else 0

    assert dimension.level.tolist() == [longest(code) for code in dimension.codes]


@given(st.data())
def test_digits_and_nested_and_pairs_agree(data):
    codes = data.draw(st.sets(st.text("ab", min_size=3, max_size=3), min_size=1))
    tree = Hierarchy.from_digits(sorted(codes), (1, 1, 1))
    nested: dict = {}
    for code in sorted(codes):
        nested.setdefault(code[:1], {}).setdefault(code[:2], []).append(code)
    assert tree == Hierarchy.from_dict({"Total": nested}) == Hierarchy.from_pairs(tree.pairs())
