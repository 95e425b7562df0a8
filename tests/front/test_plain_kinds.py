"""Plain things where one would try them, and wrong kinds refused with a remedy."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cellveil as cv
from cellveil.attackers.attacker import as_attackers
from cellveil.tables.code_text import as_code

FIRMS = {
    "nace": ["A", "A", "B", "B", "C", "C"] * 3,
    "nuts2": [1, 2] * 9,
    "firm": list(range(18)),
    "sales": [90, 3, 20, 25, 30, 40, 35, 30, 50, 45, 20, 20, 15, 25, 30, 35, 20, 7],
}
FRAME = pd.DataFrame(FIRMS)
REGIONS = {"N": ["N1", "N2"], "S": ["S1"]}


@pytest.fixture(scope="module")
def table():
    return cv.tabulate(FRAME, ["nace", "nuts2"], "sales", contributor="firm")


@pytest.fixture(scope="module")
def problem(table):
    return cv.make_problem(table, ["p%:10", cv.Threshold(4)])


@pytest.fixture(scope="module")
def suppression(problem):
    return cv.suppress(problem)


# -- hierarchies and dimensions ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "codes", [[1, 2, 3], (1.0, 2.0, 3.0), np.array([1, 2, 3]), pd.Series(["1", "2", "3"])]
)
def test_numbers_are_codes(codes):
    assert cv.Hierarchy.flat(codes).leaves == ("1", "2", "3")


@pytest.mark.parametrize(
    "given",
    [
        REGIONS,
        {"Total": REGIONS},
        {"N1": "N", "N2": "N", "S1": "S"},
        [("Total", "N"), ("Total", "S"), ("N", "N1"), ("N", "N2"), ("S", "S1")],
        pd.DataFrame({"parent": ["Total", "Total", "N", "N", "S"], "child": ["N", "S", "N1", "N2", "S1"]}),
        cv.Hierarchy.from_dict({"Total": REGIONS}),
    ],
)
def test_a_tree_is_a_tree_however_it_is_described(given):
    assert cv.Hierarchy.of(given).codes == ("Total", "N", "N1", "N2", "S", "S1")
    assert cv.Dimension.of("region", given).aliases == {"S1": "S"}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cv.Hierarchy.of(3), "type int. Give, say,"),
        (lambda: cv.Hierarchy.of("North"), "type str. Give, say,"),
        (lambda: cv.Hierarchy.of([None, "a"]), "an empty code"),
        (lambda: cv.Hierarchy.of([True, "a"]), "a code is of type bool"),
        (lambda: cv.Hierarchy.flat(None), "type NoneType. Give a list of codes"),
        (lambda: cv.Hierarchy.from_dict(["a"]), "type list. Give a dict"),
        (lambda: cv.Hierarchy.from_pairs(["ab"]), "Give pairs of parent and child"),
        (lambda: cv.Dimension.of(1, ["a"]), "type int. Give a text"),
        (lambda: cv.table_from_interior(["r"], {"r": ["a"]}, [1]), "type str. Give Dimension.of"),
    ],
)
def test_what_is_no_tree_is_refused(make, message):
    with pytest.raises(cv.InputError, match=message):
        make()


def test_codes_are_texts():
    assert [as_code(code) for code in (1, np.int64(2), 3.0, 0.5, "04")] == ["1", "2", "3", "0.5", "04"]


# -- tables --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", [pd.DataFrame, pl.DataFrame, pa.table, dict, lambda f: pd.DataFrame(f).to_dict("records")]
)
def test_frames_mappings_and_records_make_the_same_table(table, kind):
    same = cv.tabulate(kind(FIRMS), ["nace", "nuts2"], "sales", contributor="firm")
    assert same.values.tolist() == table.values.tolist()
    assert [dimension.codes for dimension in same.dimensions] == [
        ("Total", "A", "B", "C"),
        ("Total", "1", "2"),
    ]


def test_one_name_and_mixed_dimensions_do_too(table):
    one = cv.tabulate(FRAME, "nace", "sales")
    mixed = cv.tabulate(FRAME, [cv.Dimension.of("nace", ["A", "B", "C"]), "nuts2"], "sales")
    assert one.values.tolist() == [table.values[table.cell(code)] for code in ("Total", "A", "B", "C")]
    assert mixed.values.tolist() == table.values.tolist()


def test_cells_are_named_by_numbers_too(table):
    assert table.cell("A", 1) == table.cell("A", "1") == table.cell(["A", 1]) == table.cell(nace="A", nuts2=1)
    assert table.cell(nuts2=2.0) == table.cell("Total", "2")


def test_ready_made_tables_take_names_and_mappings():
    cells = {"nace": ["A", "B"], "value": [4, 6]}
    by_name = cv.read_table(cells, ["nace"], totals="none")
    assert by_name.values.tolist() == cv.read_table(cells, {"nace": None}, totals="none").values.tolist()
    with pytest.raises(cv.InputError, match="Name the columns"):
        cv.read_table(cells, 3)


@pytest.mark.parametrize(
    ("give", "message"),
    [
        (lambda: cv.tabulate(FRAME, ["nacee"], "sales"), "Did you mean 'nace'"),
        (lambda: cv.tabulate(FRAME, [3], "sales"), "type int. Name the columns"),
        (lambda: cv.tabulate(FRAME, 3, "sales"), "type int. Name the columns"),
        (lambda: cv.tabulate(FRAME, "nace", ["sales"]), "type list. Give one column"),
        (lambda: cv.tabulate(FRAME, "nace", "sales", depth="3"), "type str. Give a whole number"),
        (lambda: cv.tabulate(None, "nace", "sales"), "NoneType cannot be read. Give a path"),
        (lambda: cv.tabulate({"nace": ["A"], "sales": [1, 2]}, "nace", "sales"), "differ in length"),
        (lambda: cv.tabulate({"nace": "A", "sales": [1]}, "nace", "sales"), "differ in length"),
        (lambda: cv.link(FRAME.to_dict("list")), "type dict. Give tables"),
    ],
)
def test_what_is_no_table_is_refused(give, message):
    with pytest.raises(cv.InputError, match=message):
        give()


def test_no_message_quotes_a_record():
    with pytest.raises(cv.InputError) as told:
        cv.tabulate([90, 3], "nace", "sales")
    assert "90" not in str(told.value)


# -- rules, attackers, verbs ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rules",
    ["threshold:4", cv.Threshold(4), ["threshold:4"], [cv.Threshold(4)], {"rule": "threshold", "minimum": 4}],
)
def test_rules_are_taken_as_they_come(table, rules):
    assert len(cv.make_problem(table, rules).primaries) == 6


@pytest.mark.parametrize("cells", ["A", {"nace": "A"}, [("A",)], [{"nace": "A"}]])
def test_one_cell_set_by_hand(table, cells):
    assert cv.make_problem(table, cv.Manual(cells)).primaries.tolist() == [table.cell("A")]


def test_primaries_by_codes_and_one_level(table):
    problem = cv.Problem.of(table, {("A", 1): 5, 3: (1, 2)})
    assert problem.primaries.tolist() == sorted([table.cell("A", "1"), 3])
    assert (problem.lpl[table.cell("A", "1")], problem.upl[table.cell("A", "1")]) == (5, 5)


@pytest.mark.parametrize(
    "given", ["insider", ["insider"], {"kind": "insider"}, cv.Attacker("insider"), [cv.Attacker("insider")]]
)
def test_attackers_by_name(given):
    assert as_attackers(given) == (cv.Attacker("insider"),)


def test_a_coalition_in_short(problem, suppression):
    found = cv.audit(problem, suppression, attackers=["outsider", "insider:coalition=2"])
    assert found.against == "outsiders and any two contributors together"


def test_what_was_found_goes_on_as_it_is(problem, suppression, tmp_path):
    assert cv.audit(problem, suppression).is_safe
    assert (cv.release(suppression, tmp_path, formats="csv").folder / "table.csv").is_file()


def test_a_job_is_not_released_twice(suppression, tmp_path):
    class Other:  # such as the result of a job, which may publish an adjusted table in place of its pattern
        audit = suppression.audit

    with pytest.raises(cv.InputError, match="a release needs an audit"):
        cv.release(Other(), tmp_path)


def test_arrays_and_frames_are_two_way_tables():
    values = [[20, 50], [8, 19]]
    for given in (np.array(values), pd.DataFrame(values)):
        assert cv.two_way(given, {(0, 0): 1}).content_hash == cv.two_way(values, {(0, 0): 1}).content_hash


@pytest.mark.parametrize(
    ("give", "message"),
    [
        (lambda p, s: cv.suppress(p.table), "type Table. Give a Problem"),
        (lambda p, s: cv.suppress(p, 3), "unknown method '3'"),
        (lambda p, s: cv.suppress(p, time_limit="5"), "type str. Give seconds"),
        (lambda p, s: cv.suppress(p, seed="a"), "type str. Give a whole number"),
        (lambda p, s: cv.suppress(p, attackers=[3]), "an attacker is of type int"),
        (lambda p, s: cv.suppress(p, attackers="insidr"), "Did you mean 'insider'"),
        (
            lambda p, s: cv.suppress(p, attackers={"kind": "insider", "colition": 2}),
            "Did you mean 'coalition'",
        ),
        (lambda p, s: cv.adjust(p.table), "type Table. Give a Problem"),
        (lambda p, s: cv.audit(p.table, s), "type Table. Give a Problem"),
        (lambda p, s: cv.audit(p, [1, 2]), "type list. Give what suppress or adjust returns"),
        (lambda p, s: cv.audit(p, s.pattern.hidden), "Make a pattern of the hidden cells"),
        (lambda p, s: cv.release(p, "public"), "a release needs an audit"),
        (lambda p, s: cv.make_problem(FRAME, "p%:10"), "type DataFrame. Give a Table"),
        (lambda p, s: cv.make_problem(p.table, cv.PPercent), "make one of it"),
        (lambda p, s: cv.AnyOf([cv.PPercent(10)]), "holds a list"),
        (lambda p, s: cv.Exempt("p%:10", {"nace": ["A"]}), "type str. Give a rule"),
        (lambda p, s: cv.Pattern.hiding(p, [1, 2], "by hand"), "12 truth values"),
        (lambda p, s: cv.Problem.of(p.table, [3]), "type list. Give levels by cell"),
        (lambda p, s: cv.unpick(p), "type Problem. Give PublicView.of"),
        (lambda p, s: cv.explain(p, 3), "type Problem. Give PublicView.of"),
        (lambda p, s: cv.build_report(p, s.pattern, None), "Give what suppress"),
        (lambda p, s: cv.read_job({"title": "x"}), "type dict. Give its path"),
        (lambda p, s: cv.run_job({"title": "x"}), "type dict. Give what read_job"),
    ],
)
def test_wrong_kinds_are_refused_with_a_remedy(problem, suppression, give, message):
    with pytest.raises(cv.InputError, match=message):
        give(problem, suppression)
