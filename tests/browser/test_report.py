"""The internal report in a real browser: reading, folding, searching, explaining, printing."""

import numpy as np
import pytest

from cellveil.cli.app import run_command
from cellveil.datasets import two_way
from cellveil.errors import InfeasibleError
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.report.components import inlined_scripts
from cellveil.report.infeasible_report import InfeasibleReport
from cellveil.report.run_facts import Input, RunFacts
from cellveil.tables.build import table_from_interior
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from helpers.reports import large_table, planted, report_on

ODD = "<b>&\"'</b> a label that is longer than anybody would want it to be, =SUM(A1:A9)"
FACTS = RunFacts(
    made="2030-01-31 12:00 UTC", inputs=(Input("firms.csv", 12345, "ab" * 32),), job="job.toml", values=True
)


@pytest.fixture(scope="module")
def page() -> str:
    problem, pattern = planted([("A", "N"), ("B", "S")])
    problem = problem.replace(reasons={"rule of three": problem.status == 1, ODD: problem.status == 1})
    labels = {"industry": {"A": ODD}, "region": {"West": "the West"}}
    return report_on(problem, pattern, title=ODD, labels=labels, facts=FACTS, parameters={"p": 1}).to_html()


def test_the_page_fits_and_everybody_can_use_it(opened, page):
    narrow = opened(page, width=400)
    assert narrow.sticking_out() == [] == narrow.bent()
    narrow.page.locator("td.u").first.click()
    box = narrow.page.locator("#panel").bounding_box()
    assert box["width"] == 400 and box["y"] > 200 and narrow.sticking_out() == []
    wide = opened(page)
    wide.page.locator("td.u").first.click()
    assert wide.findings_in_both() == [] and wide.errors == []


def test_values_are_seen_on_demand_and_the_page_says_so(opened, page):
    seen = opened(page)
    text = seen.page.locator("main").inner_text
    note = seen.page.locator(".secret-note")
    assert "98,765,432" not in text() and not note.is_visible()
    assert "CONFIDENTIAL" not in seen.printed().text
    seen.page.get_by_role("button", name="Hidden values too").click()
    assert "98,765,432" in text() and note.is_visible()
    printed = seen.printed()
    assert printed.faults() == [] and printed.text.count("CONFIDENTIAL") > len(printed.document)
    assert "98,765,432" in printed.text
    seen.page.get_by_role("button", name="After protection").click()
    assert "98,765,432" not in text() and not note.is_visible() and seen.errors == []


def test_before_and_after_and_shades_by_loss(opened, page):
    seen = opened(page)
    secondary, mark = seen.page.locator(".view td.m"), seen.page.locator(".view td i", has_text="S")
    assert secondary.count() == mark.count() == 2
    seen.page.get_by_role("button", name="Before protection").click()
    assert secondary.count() == mark.count() == 0 and seen.page.locator(".view td.u").count() == 2
    assert "87,654,321" in seen.page.locator(".view").inner_text()
    assert seen.page.locator(".secret-note").is_visible()
    seen.page.get_by_role("button", name="After protection").click()
    seen.page.get_by_role("button", name="Shade by loss").click()
    whole = seen.page.locator(".view td").first
    assert whole.get_attribute("title") == "44 % of the finest cells below it hidden"
    assert whole.get_attribute("class") == "h4" and secondary.count() == 0 and mark.count() == 2
    seen.page.get_by_role("button", name="Hidden values too").click()
    assert whole.get_attribute("title") == "99 % of the value below it hidden"
    assert seen.findings() == [] and seen.errors == []


def test_without_values_there_is_nothing_to_switch(opened):
    seen = opened(report_on(*planted()).to_html())
    assert seen.page.locator(".sides").count() == 0 and seen.page.locator(".switches button").count() == 1


TWICE = """() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  return [0, 1].map((number) => {
    const root = document.createElement("div");
    root.id = `mount${number}`;
    document.body.append(root);
    return mountTables(root, data, { compact: true, explain: async () => { throw new Error("asleep"); } });
  }).length;
}"""


def test_two_tables_on_one_page_do_not_disturb_each_other(opened, page):
    """As a page of a service has them: modules of their own, no shared cells or panel."""
    module = f"{inlined_scripts()}\nglobalThis.mountTables = mountTables;"
    data = page.partition('id="data">')[2].partition("</script>")[0]
    html = (
        f'<!doctype html><script type="application/json" id="data">{data}</script><script>{module}</script>'
    )
    seen = opened(html)
    assert seen.page.evaluate(TWICE) == 2
    one, two = (seen.page.locator(f"#mount{number}") for number in range(2))
    one.get_by_role("button", name="Hidden values too").click()
    assert "98,765,432" in one.inner_text() and "98,765,432" not in two.inner_text()
    two.locator("td.u").first.click()
    assert two.locator(".panel").is_visible() and not one.locator(".panel").is_visible()
    assert (one.locator(".chosen").count(), two.locator(".chosen").count()) == (0, 1)
    two.get_by_text("No further explanation: asleep").wait_for()
    two.get_by_role("button", name="fold West").click()
    assert one.locator("tbody tr").count() == two.locator("tbody tr").count() + 1 and seen.errors == []


def test_a_cell_is_explained_by_keys_alone(opened, page):
    seen = opened(page)
    first = seen.page.locator(".view td[tabindex='0']")
    first.focus()
    for key in ("ArrowDown", "ArrowRight"):
        seen.page.keyboard.press(key)
    name = seen.page.evaluate(
        "() => [document.activeElement.dataset.row, document.activeElement.dataset.column]"
    )
    assert name == ["1", "1"]
    seen.page.keyboard.press("Enter")
    panel = seen.page.locator("#panel")
    assert panel.is_visible() and seen.page.evaluate("() => document.activeElement.id") == "panel"
    told = panel.inner_text()
    assert "Primary: hidden, and to be protected" in told and "rule of three" in told and "Sufficient" in told
    assert "Hidden cells in the same equations" in told and "It helps to protect" in told
    assert "cellveil explain job.toml" in told and "choose “Hidden values too”" in told
    seen.page.keyboard.press("Escape")
    assert not panel.is_visible()
    assert seen.page.evaluate("() => document.activeElement.dataset.row") == "1" and seen.errors == []


def test_rows_and_columns_fold_and_are_found_again(opened, page):
    seen = opened(page)
    rows = seen.page.locator(".view tbody tr")
    before = rows.count()
    seen.page.get_by_role("button", name="fold West").click()
    assert rows.count() == before - 1
    seen.page.get_by_label("Columns").select_option(label="region")
    columns = seen.page.locator(".view thead th")
    assert columns.count() == before  # West stays folded
    seen.page.get_by_role("button", name="fold Total").first.click()
    seen.page.get_by_role("button", name="Fold columns").click()
    assert columns.count() < 1 + before
    seen.page.get_by_label("Find a code or label in").fill("w")
    seen.page.get_by_role("button", name="region: W", exact=True).click()
    assert columns.count() == 1 + before and seen.errors == []


def test_slices_of_further_dimensions(opened):
    dimensions = [Dimension.of(name, Hierarchy.flat([f"{name}1", f"{name}2"])) for name in "abc"]
    codes = {name: [] for name in "abc"}
    for place in range(8):
        for axis, name in enumerate("abc"):
            codes[name].append(f"{name}{1 + (place >> axis) % 2}")
    table = table_from_interior(dimensions, codes, list(range(1, 9)))
    problem = Problem.of(table, {})
    seen = opened(report_on(problem, Pattern(problem.status, "nothing")).to_html())
    total = seen.page.locator(".view td").first
    assert total.inner_text() == "36"
    seen.page.locator(".choose label").nth(2).locator("select").select_option(label="\u2003c2")
    assert total.inner_text() == "26" and "c: c2" in seen.page.locator(".view").inner_text()
    assert seen.errors == []


def test_the_list_of_primaries_sorts_and_filters(opened, page):
    seen = opened(page)
    first = seen.page.locator("#list tbody tr td").first
    names = set()
    for _ in range(2):
        seen.page.locator("#list thead button", has_text="industry").click()
        names.add(first.inner_text().split()[0])
    assert names == {"A", "B"}
    seen.page.get_by_label("Find in the list").fill("b")
    seen.page.locator("#list select").select_option(label="rule of three")
    assert "shown" in seen.page.locator("#list [role=status]").inner_text()
    first.locator("button").click()
    assert seen.page.locator("#panel").is_visible() and seen.errors == []


LINKED = """
attackers = []
rules = ["threshold:3"]
[microdata]
file = "firms.csv"
contributor = "firm"
[[tables]]
dimensions = ["region", "branch"]
response = "sales"
[[tables]]
dimensions = ["region", "size"]
response = "sales"
[suppress]
method = "hypercube"
"""


def test_linked_tables_have_a_grid_each_and_say_what_they_share(opened, tmp_path):
    rows = [(firm, "NSW"[firm % 3], "ab"[firm % 2], "xyz"[(firm // 3) % 3], 10 + firm) for firm in range(40)]
    lines = ["firm,region,branch,size,sales", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "firms.csv").write_text("\n".join([*lines, "99,N,c,x,7"]) + "\n")
    (tmp_path / "job.toml").write_text(LINKED)
    assert run_command(["run", str(tmp_path / "job.toml"), "--quiet"]) == 0
    seen = opened(tmp_path / "cellveil-output" / "internal" / "report.html", width=400)
    names = seen.page.locator(".views button").all_inner_texts()
    assert names == ["sales by region, branch", "sales by region, size"]
    for place, name in enumerate(names):
        seen.page.get_by_role("button", name=name).click()
        grid = seen.page.locator(".view:not([hidden])")
        shared = grid.locator("td.shared")  # the total and those of the regions
        assert grid.count() == 1 and shared.count() == 4 and seen.sticking_out() == []
        assert shared.first.get_attribute("title") == f"also in {names[1 - place]}"
    shared.first.click()
    assert "; ".join(names) in seen.page.locator("#panel").inner_text()
    assert seen.page.get_by_text("stands in several tables").is_visible() and seen.errors == []
    assert seen.printed().faults() == []


def infeasible() -> str:
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})
    problem = problem.replace(status=np.where(problem.status == 0, 3, problem.status).astype(np.int8))
    error = InfeasibleError(["(r0, c0)"], ["(r0, c1)"], way_out="Free a cell.")
    return InfeasibleReport(problem, error, "auto", 0, title=ODD, facts=FACTS).to_html()


def not_safe() -> str:
    problem, _ = planted()
    return report_on(problem, Pattern.hiding(problem, problem.hidden_at_start, "primaries only")).to_html()


@pytest.mark.parametrize("made", [infeasible, not_safe])
def test_other_outcomes_fit_and_print(opened, made):
    seen = opened(made(), width=400)
    assert seen.sticking_out() == [] and seen.printed().faults() == [] and seen.errors == []
    assert seen.page.locator(".verdict.bad").count() == 1


def test_a_table_of_100_000_cells_stays_usable(opened):
    html = report_on(*large_table()).to_html()
    assert len(html) < 15_000_000
    seen = opened(html)
    rows = seen.page.locator(".view tbody tr")
    assert rows.count() < 60
    seen.page.get_by_role("button", name="Open all rows").click()
    seen.page.get_by_role("button", name="Open all columns").click()
    assert seen.page.locator(".view td").count() < 4000
    seen.page.get_by_label("Find a code or label in").fill("a5.5")
    seen.page.keyboard.press("Enter")
    seen.page.keyboard.press("Enter")
    assert "a5.5" in seen.page.locator("#panel h2").inner_text() and seen.errors == []


def test_a_wide_table_without_a_hierarchy_is_drawn_in_parts(opened):
    sizes = {"down": 200, "across": 300}
    dimensions = [
        Dimension.of(name, Hierarchy.flat([f"{name}{code:03}" for code in range(size)]))
        for name, size in sizes.items()
    ]
    codes = {
        "down": [f"down{place:03}" for place in range(200)] * 2,
        "across": [f"across{place % 150 + half * 150:03}" for half in range(2) for place in range(200)],
    }
    problem = Problem.of(table_from_interior(dimensions, codes, list(range(1, 401))), {})
    seen = opened(report_on(problem, Pattern(problem.status, "nothing")).to_html())
    cells = seen.page.locator(".view td")
    assert 100 < cells.count() < 4000
    seen.page.locator(".view td[tabindex='0']").focus()
    for key, column in (("Control+End", "200"), ("Home", "0"), ("End", "200")):
        seen.page.keyboard.press(key)
        place = seen.page.evaluate(
            "() => [document.activeElement.dataset.row, document.activeElement.dataset.column]"
        )
        assert place == ["300", column] and cells.count() < 4000
    head = seen.page.locator(".view thead th[data-column='200']")
    cell = seen.page.locator(".view td[data-row='300'][data-column='200']")
    assert abs(head.bounding_box()["x"] - cell.bounding_box()["x"]) < 1 and seen.errors == []
