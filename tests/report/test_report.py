"""The internal report and the public page."""

import json
from dataclasses import fields, replace

import numpy as np
import pytest

from cellveil.judge import audit
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.public_view import PublicView
from cellveil.publishing import release
from cellveil.report import build_report
from cellveil.report.figures import GIVEN, Margins
from cellveil.tables.build import table_from_interior
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.link import LinkedTable
from helpers.reports import (
    HIDDEN,
    data_of,
    forms_of,
    large_table,
    parse,
    planted,
    public_page,
    report_on,
    run_of,
)

CONTRACT = {
    *("method", "outcome", "reason", "cells", "primaries", "secondaries", "cost", "lower_bound", "gap"),
    *("certified_demands", "demands", "unsafe_cells", "seconds", "seed", "versions"),
}


NASTY = "<b>&\"'</b><script>alert(1)</script>"


def pages():
    problem, pattern = planted()
    labels = {"industry": {"A": NASTY}}
    report = report_on(problem, pattern, title=NASTY, parameters={"p": NASTY}, labels=labels)
    view = PublicView.of(problem, pattern)
    return {
        "internal": report.to_html(),
        "notebook": report._repr_html_(),
        "public": public_page(problem, view, title=NASTY, note=NASTY, labels=labels),
    }


@pytest.mark.parametrize("name", ["internal", "notebook", "public"])
def test_pages_are_well_formed_escaped_and_self_contained(name):
    page = pages()[name]
    checker = parse(page)
    assert NASTY not in page and any(NASTY in text for text in checker.texts)
    for tag, attributes in checker.seen:
        values = dict(attributes)
        assert "src" not in values and tag != "link"
        assert not values.get("href", "").startswith("http")
    assert page.count("<script>") == (0 if name == "notebook" else 1)


@pytest.mark.parametrize("name", ["internal", "notebook", "public"])
@pytest.mark.parametrize(
    "primaries", [[("A", "N")], [("A", "N"), ("B", "S")], list(HIDDEN), list(HIDDEN)[:3]]
)
def test_no_page_shows_a_hidden_value(name, primaries):
    problem, pattern = planted(primaries)
    report = report_on(problem, pattern)
    page = {
        "internal": report.to_html() + report.summary(),
        "notebook": report._repr_html_(),
        "public": public_page(problem, PublicView.of(problem, pattern)),
    }[name]
    for value in HIDDEN.values():
        assert not [form for form in forms_of(value) if form in page]
    if name == "public":
        assert "1,031" in page
    if name == "internal":
        data = data_of(page)
        assert 1031 in data["published"] and "truth" not in data


def test_the_public_page_is_the_same_whichever_cell_is_primary():
    made = set()
    for primary in HIDDEN:
        problem, pattern = planted([primary], level=1000 + len(made))
        made.add(public_page(problem, PublicView.of(problem, pattern)))
    assert len(made) == 1
    assert next(iter(made)).count('<td class="h">x</td>') == 4
    hidden = [dict(attributes) for tag, attributes in parse(made.pop()).seen if tag == "td"]
    marked = [attributes for attributes in hidden if attributes.get("class") == "h"]
    assert len(marked) == 4 and all(attributes == {"class": "h"} for attributes in marked)


def test_the_internal_page_tells_primary_from_secondary_and_why():
    problem, pattern = planted()
    mask = problem.status == 1
    report = report_on(problem.replace(reasons={"rule of three": mask}), pattern)
    data = data_of(report.to_html())
    assert data["status"].count("u") == 1 and data["status"].count("m") == 3
    assert data["primaries"]["cells"] == problem.primaries.tolist() and data["primaries"]["rules"] == [[0]]
    assert data["rules"][0] == "rule of three" and data["contributors"][problem.primaries[0]] == 2


def test_json_has_the_keys_of_the_contract(tmp_path):
    problem, pattern = planted([("A", "N"), ("B", "S")])
    verdict = audit(problem, pattern)
    done = release(verdict, tmp_path / "out", formats=["csv"])
    parameters = {"rules": {"p": np.int64(10)}, "limit": np.inf, "folder": tmp_path}
    run = run_of(problem, pattern, verdict)
    report = build_report(problem, run, verdict, title="T", parameters=parameters, release=done)
    data = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert set(data) >= CONTRACT
    assert (data["cells"], data["primaries"], data["secondaries"]) == (16, 2, 2)
    assert data["safe"] and data["unsafe_cells"] == [] and data["demands"] == data["certified_demands"] == 4
    assert data["gap"] == pytest.approx(0.5) and data["seed"] == 7
    assert data["parameters"] == {"rules": {"p": 10}, "limit": None, "folder": str(tmp_path)}
    assert data["hashes"]["view"] == data["audit"]["view_hash"] == data["release"]["view_hash"]
    assert set(data["versions"]) >= {"cellveil", "python", "numpy", "highspy"}
    table = {line["name"]: line for line in data["table"]}
    assert [table[name]["value"] for name in ("primary", "secondary")] == [None, None]
    assert table["published"]["percent_value"] + 100 * sum(HIDDEN.values()) / float(
        table["total"]["value"]
    ) == pytest.approx(100)
    assert [table[name]["cells"] for name in table] == [2, 2, 12, 16]


ALL_LINES = {"primary", "secondary", "published", "total"}


@pytest.mark.parametrize(
    ("primaries", "secondaries", "withheld"),
    [
        ([50, 40, 30], [], set()),
        ([50, 40, 30], [20, 30, 40], set()),
        ([50, 40, 30], [20, 30], {"primary", "secondary"}),
        ([50], [20, 30, 40], {"primary", "secondary"}),
        ([50, 0, 0], [20, 30, 40], {"primary", "secondary"}),  # zeros hide nothing
        ([0, 0, 0], [20, 30, 40], {"primary", "secondary"}),
        ([5000, 40, 30], [400, 500, 600], {"primary", "secondary"}),  # nearly the largest
        ([50, 0], [0, 0], ALL_LINES),
        ([50], [], ALL_LINES),
        ([50], [60], ALL_LINES),
        ([0], [0, 0], ALL_LINES),
        ([5000, 40], [10], ALL_LINES),
    ],
)
def test_sums_that_tell_a_single_cell_are_left_out(primaries, secondaries, withheld):
    values = [*primaries, *secondaries, 70, 80]
    codes = [f"c{number}" for number in range(len(values))]
    table = table_from_interior([Dimension.of("d", Hierarchy.flat(codes))], {"d": codes}, values)
    problem = Problem.of(table, {table.cell(code): (0, 1) for code in codes[: len(primaries)]})
    hidden = np.zeros(table.num_cells, dtype=bool)
    hidden[[table.cell(code) for code in codes[: len(primaries) + len(secondaries)]]] = True
    report = report_on(problem, Pattern.hiding(problem, hidden, "by hand"))
    assert {line.name for line in report.classes if line.value is None} == withheld
    assert all((line.value is None) == (line.percent_value is None) for line in report.classes)
    printed = {word.strip(",") for word in (report.summary() + repr(report.suppression)).split()}
    assert not withheld or not {str(sum(primaries)), str(sum(secondaries) or "-")} & printed
    assert ("not shown" in report.summary()) == bool(withheld)


def test_an_unsafe_table_is_reported_as_such():
    problem, _ = planted()
    report = report_on(problem, Pattern.hiding(problem, problem.hidden_at_start, "primaries only"))
    page = report.to_html()
    assert not report.is_safe and report.verdict.startswith("NOT SAFE")
    assert "<b>NOT SAFE</b>" in page and "INSUFFICIENT" in page and "Safe: " not in page
    assert report.to_dict()["unsafe_cells"] == ["(A, N)"]


def test_an_audit_of_another_view_counts_as_none():
    problem, pattern = planted()
    other = audit(problem, Pattern.hiding(problem, pattern.hidden | (problem.table.values == 55), "more"))
    report = build_report(problem, run_of(problem, pattern, audit(problem, pattern)), other)
    data = report.to_dict()
    assert not data["safe"] and data["audit"] is None and data["certified_demands"] == 0
    assert data["unsafe_cells"] == ["(A, N)"]
    assert "There is no audit of this view" in report.to_html()
    assert "there is no audit of this view" in report.summary()


def test_an_override_stands_in_the_report(tmp_path):
    problem, _ = planted()
    pattern = Pattern.hiding(problem, problem.hidden_at_start, "primaries only")
    verdict = audit(problem, pattern)
    done = release(verdict, tmp_path / "out", formats=["csv"], override="minister's order")
    report = build_report(problem, run_of(problem, pattern, verdict), verdict, release=done)
    assert report.to_dict()["override"] == "minister's order"
    assert "minister&#39;s order" in report.to_html() and "minister's order" in report.summary()


def test_margins_against_their_definition():
    problem, pattern = planted(list(HIDDEN))
    problem = problem.replace(
        spl=np.where(problem.status == 1, 50_000_000, 0), upl=np.zeros(16, dtype=np.int64)
    )
    verdict = audit(problem, pattern)
    verdict = verdict.outsider
    margins = Margins.of(problem, verdict)
    assert list(margins.margin) == sorted(margins.margin)
    for place, cell in enumerate(margins.cells.tolist()):
        at = verdict.cells.tolist().index(cell)
        value = int(problem.table.values[cell])
        down, up = value - verdict.lower[at], verdict.upper[at] - value
        assert margins.margin[place] == pytest.approx(min(down / 1000, (down + up) / 50_000_000))
        assert margins.down[place] == pytest.approx(100 * down / value)
        assert margins.required_down[place] == pytest.approx(100 * 1000 / value)
        assert margins.required_up[place] == 0
    assert sum(count for _, count in margins.histogram()) == 4


def test_rules_are_counted_for_primary_cells_only():
    problem, pattern = planted(list(HIDDEN))
    first = np.zeros(16, dtype=bool)
    first[problem.primaries[:2]] = True
    first[0] = True
    report = report_on(problem.replace(reasons={"a": first, "b": np.zeros(16, dtype=bool)}), pattern)
    assert report.rules == {"a": 2, GIVEN: 2}


def test_a_table_without_primaries_is_safe():
    problem, _ = planted([])
    report = report_on(problem, Pattern(problem.status, "nothing"))
    assert report.verdict == "Safe against outsiders: the table has no primary cells"
    parse(report.to_html())


def test_large_tables_are_in_the_page_with_all_their_cells():
    problem, pattern = large_table()
    page = report_on(problem, pattern).to_html()
    data = data_of(page)
    assert problem.table.num_cells == 107_500 == len(data["status"]) == len(data["tables"][0]["keys"][0])
    assert len(page) < 8_000_000
    parse(page)
    public = public_page(problem, PublicView.of(problem, pattern))
    assert len(public) < 3_000_000


def test_a_table_with_one_dimension_has_one_column():
    table = table_from_interior(
        [Dimension.of("d", Hierarchy.flat(["a", "b", "c"]))], {"d": ["a", "b", "c"]}, [5, 6, 7]
    )
    problem = Problem.of(table, {1: (1, 1)})
    report = report_on(problem, Pattern.hiding(problem, np.array([False, True, True, False]), "by hand"))
    assert report.is_safe
    parse(report.to_html())
    parse(public_page(problem, report.view, symbol=""))


def test_the_internal_page_says_what_the_verdict_does_not_cover():
    plain, pattern = planted()
    own = {field.name: getattr(plain.table, field.name) for field in fields(plain.table)}
    linked = plain.replace(table=LinkedTable(**own, notes=("firms & units",)))
    for problem, is_noted in ((plain, False), (linked, True)):
        page = report_on(problem, pattern).to_html()
        assert ("Not covered by this verdict" in page) == ("<li>firms &amp; units</li>" in page) == is_noted


def test_cells_hidden_for_lack_of_time_are_told_first():
    problem, pattern = planted()
    verdict = audit(problem, pattern)
    hurried = replace(run_of(problem, pattern, verdict), hidden_for_lack_of_time=1234)
    report = build_report(problem, hurried, verdict)
    told = "1,234 cells are hidden only because the time limit was too short"
    assert told in report.summary().splitlines()[3] and told in report.to_html()
    assert report.to_dict()["hidden_for_lack_of_time"] == 1234
    assert "time limit" not in build_report(problem, run_of(problem, pattern, verdict), verdict).summary()
