"""The data and drawings of the report's page, against their definitions."""

import hashlib
import json

import numpy as np
import pytest

from cellveil.cli.app import run_command
from cellveil.datasets import two_way
from cellveil.errors import InfeasibleError
from cellveil.job import run_job
from cellveil.pattern import Pattern
from cellveil.progress import Phase, Progress
from cellveil.report.attack_chart import interval_rows
from cellveil.report.infeasible_report import InfeasibleReport
from cellveil.report.loss_charts import heat_maps, level_bars
from cellveil.report.lost_shares import changes, lost_shares
from cellveil.report.page_cells import PageParams, PageSource, as_json, page_cells
from cellveil.report.run_facts import Input, RunFacts, SearchCurve, SearchPoint, inputs_of
from cellveil.report.search_chart import search_curve, search_svg
from cellveil.rules import Threshold
from cellveil.suppression import suppress
from helpers.reports import HIDDEN, data_of, forms_of, parse, planted, report_on

VALUES = RunFacts(values=True, rule=Threshold(3), made="today", job="job.toml")


def test_values_are_in_the_data_of_the_page_and_nowhere_else():
    problem, pattern = planted(list(HIDDEN)[:2])
    problem = problem.replace(reasons={"threshold rule (minimum 3)": problem.status == 1})
    page = report_on(problem, pattern, facts=VALUES).to_html()
    data = data_of(page)
    assert data["truth"] == problem.table.values[pattern.hidden].tolist()
    known = data["primaries"]
    value = int(problem.table.values[known["cells"][0]])
    assert known["needLower"][0] == value - 1000 and known["needUpper"][0] == value + 1000
    assert known["lower"][0] <= value - 1000 and known["arithmetic"][0] == [
        "f = 2 contributors, fewer than the minimum of 3"
    ]
    rest = page.replace(page.partition('id="data">')[2].partition("</script>")[0], "")
    assert not [form for value in HIDDEN.values() for form in forms_of(value) if form in rest]


def test_the_page_consists_of_its_parts():
    report = report_on(*planted(), title="T", facts=VALUES)
    page, files = report.to_html(), report.parts().files()
    manifest = json.loads(files["manifest.json"])
    names = [part["name"] for part in manifest["parts"]]
    assert {*names, "cells.json", "manifest.json"} == set(files) and manifest["tone"] == "good"
    assert all(files[name] in page and "style=" not in files[name] for name in (*names, "cells.json"))
    assert not [
        form for value in HIDDEN.values() for form in forms_of(value) for name in names if form in files[name]
    ]


def test_what_is_lost_below_each_cell():
    problem, pattern = planted()
    table, hidden = problem.table, pattern.hidden
    shares = lost_shares(table, hidden, np.ones(table.num_cells, dtype=np.int64))
    values = lost_shares(table, hidden, np.abs(table.values))
    assert shares[table.cell("A", "N")] == 100 and shares[table.cell("C", "N")] == 0
    assert shares[table.cell()] == 44 and shares[table.cell("A")] == 67 and values[table.cell("A")] == 99
    assert lost_shares(table, ~hidden & False, table.values * 0) == [None] * table.num_cells
    assert changes(np.array([5, 3, 1]), np.array([5, 4, 0])) == [0, 25.0, None]


def test_the_page_allows_no_network_and_only_its_own_script():
    page = report_on(*planted()).to_html()
    script = page.partition("<script>")[2].partition("</script>")[0]
    import base64

    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in page


def test_data_close_no_element_and_keep_large_numbers():
    assert as_json({"a": "</script><b>&"}) == '{"a":"\\u003c/script\\u003e\\u003cb\\u003e\\u0026"}'
    problem = two_way([[2**55 + 1, 4], [5, 6]], primaries={(1, 1): 2})
    source = PageSource(problem, Pattern(problem.status, "p"), problem.table.values)
    data = json.loads(as_json(page_cells(source)))
    assert str(2**55 + 1) in data["published"] and 4 in data["published"]


def test_equations_and_helped_primaries():
    problem = two_way([[20, 50, 10], [8, 19, 22]], primaries={(0, 0): 3})
    run = suppress(problem, "sequential")
    source = PageSource(problem, run.pattern, problem.table.values, certificate=run.certificate)
    data = page_cells(source, PageParams(most_helped=1))
    relations = problem.table.relations
    expected = []
    for row in range(len(relations)):
        cells, coefs = relations.row(row)
        hidden = [cell for cell in cells.tolist() if run.pattern.hidden[cell]]
        if len(hidden) > 1:
            expected.append([int(cells[coefs < 0][0]), *hidden])
    assert data["equations"] == expected and expected
    secondaries = np.flatnonzero(run.pattern.status == 2).tolist()
    assert data["helps"]["cells"] == secondaries and set(data["helps"]["count"]) == {1}
    assert all(helped == problem.primaries.tolist() for helped in data["helps"]["primaries"])


def test_intervals_are_drawn_to_scale():
    report = report_on(*planted(list(HIDDEN)))
    rows = interval_rows(report.problem.table, report.margins)
    assert [row["name"] for row in rows] == report.problem.table.cell_names(report.margins.cells)
    assert all(row["x"] <= 100 - 100 / 3 + 0.1 and row["is_safe"] for row in rows)
    bare = report_on(report.problem, Pattern.hiding(report.problem, report.problem.hidden_at_start, "p"))
    assert (
        interval_rows(report.problem.table, None) == []
        and len(interval_rows(bare.problem.table, bare.margins)) == 4
    )


def test_loss_by_level_and_as_a_map():
    problem, pattern = planted()
    industry, region = level_bars(problem, pattern, values=True)
    assert [row["name"] for row in region["rows"]] == ["total", "level 1"]
    share = 100 * pattern.hidden.sum() / 12
    assert industry["rows"][1]["hidden"] == f"{share:.1f} %" and industry["rows"][1]["cells"] == "12"
    assert industry["rows"][0]["hidden"] == "0.0 %" and industry["rows"][1]["value"] not in ("", "–")
    assert level_bars(problem, pattern, values=False)[0]["rows"][1]["value"] == ""
    alone = Pattern.hiding(problem, problem.hidden_at_start, "one cell")
    assert level_bars(problem, alone, values=True)[0]["rows"][1]["value"] == "–"
    (drawn,) = heat_maps(problem, pattern, (), {})
    by_name = {row["name"]["code"]: [cell["text"] for cell in row["cells"]] for row in drawn["rows"]}
    columns = [column["code"] for column in drawn["across"]]
    for (a, b), text in {("A", "N"): "100", ("B", "S"): "100", ("C", "N"): "0"}.items():
        row, column = (a, b) if a in by_name else (b, a)
        assert by_name[row][columns.index(column)] == text


def test_cost_and_bound_over_time():
    curve = SearchCurve(Progress())
    for cost, bound, left in ((90, 0, 3), (80, 0, 0), (85, 10, 0), (70, 10, 0), (70, 10, 0)):
        curve.stage("search")
        curve.advance(1, None, cost=cost, bound=bound, open=left)
    curve.advance(1, 2, hidden=4)
    curve.phase(Phase.OTHERS)
    for cost, bound in ((95, None), (97, 8), (90, None)):
        curve.advance(1, None, cost=cost, bound=bound)
    known = [(80, None), (80, 10), (70, 10), (95, 10), (90, 10)]
    assert [(point.cost, point.bound) for point in curve.points] == known
    assert search_curve([], 1.0) is None and search_svg([], 1.0) == ""
    assert search_svg(curve.points[:1], 1.0)
    drawn = search_curve([SearchPoint(0.0, 80.0, None), SearchPoint(5.0, 40.0, 20.0)], 10.0)
    assert drawn["cost"].split()[0] == "66.0,12.0" and drawn["end"] == "10 s" and drawn["bound"]


def test_inputs_are_told_with_their_digests(tmp_path):
    (tmp_path / "a.csv").write_text("x")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "b.csv").write_text("yy")
    found = inputs_of([tmp_path / "a.csv", tmp_path / "folder", tmp_path / "a.csv"])
    assert found == (
        Input("a.csv", 1, hashlib.sha256(b"x").hexdigest()),
        Input("b.csv", 2, hashlib.sha256(b"yy").hexdigest()),
    )


def test_an_infeasible_run_has_a_page_that_says_what_would_help():
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})
    problem = problem.replace(status=np.where(problem.status == 0, 3, problem.status).astype(np.int8))
    with pytest.raises(InfeasibleError) as raised:
        suppress(problem)
    report = InfeasibleReport(problem, raised.value, "auto", 0, title="T", facts=VALUES, notes=("a note",))
    page = report.to_html()
    parse(page)
    assert "INFEASIBLE: some cells cannot be protected" in page and "relax = true" in page
    assert "must be published" in page and "a note" in page and "(r0, c0)" in page
    assert data_of(page)["truth"] == [20] and repr(report) == "InfeasibleReport('T', 1 cell)"


JOB = """
attackers = []
[[tables]]
file = "cells.csv"
dimensions = ["region"]
value = "sales"
[dimensions.region]
hierarchy = "regions.csv"
[[cells]]
key = {region = "N"}
status = "u"
[release]
formats = ["csv"]
"""


@pytest.mark.parametrize("values", [True, False])
def test_a_job_says_whether_its_report_carries_values(tmp_path, values):
    (tmp_path / "cells.csv").write_text("region,sales\nTotal,70\nN,10\nS,25\nW,35\n")
    (tmp_path / "regions.csv").write_text("parent,child\nTotal,N\nTotal,S\nTotal,W\n")
    (tmp_path / "job.toml").write_text(JOB + ("" if values else "[report]\nvalues = false\n"))
    assert run_command(["run", str(tmp_path / "job.toml"), "--quiet"]) == 0
    folder = tmp_path / "cellveil-output" / "internal"
    page, figures = (folder / "report.html").read_text(), json.loads((folder / "report.json").read_text())
    data = data_of(page)
    assert ("truth" in data) == ("value" in data["tables"][0]["lost"]) == values
    names = [one["name"] for one in figures["inputs"]]
    assert names == ["job.toml", "cells.csv", "regions.csv"] and figures["made"]
    assert figures["inputs"][1]["sha256"] in page


def test_a_report_compares_methods_where_the_job_asks_for_it(tmp_path):
    (tmp_path / "cells.csv").write_text("region,sales\nTotal,70\nN,10\nS,25\nW,35\n")
    (tmp_path / "regions.csv").write_text("parent,child\nTotal,N\nTotal,S\nTotal,W\n")
    job = tmp_path / "job.toml"
    job.write_text(JOB + '[suppress]\nmethod = "hypercube"\n[report]\ncompare = ["cycles", "hypercube"]\n')
    assert run_command(["run", str(job), "--quiet"]) == 0
    folder = tmp_path / "cellveil-output" / "internal"
    page, figures = (folder / "report.html").read_text(), json.loads((folder / "report.json").read_text())
    assert [run["method"] for run in figures["methods_compared"]["runs"]] == ["hypercube", "cycles"]
    assert all(run["safe"] for run in figures["methods_compared"]["runs"])
    assert "Methods side by side" in page and "cycles, given" in page
    parse(page)
    job.write_text(JOB + '[report]\ncompare = "hitas"\n')
    assert run_command(["run", str(job), "--quiet"]) == 2


def test_the_page_of_an_adjusted_table_does_not_lean_on_the_pattern(tmp_path):
    """The certificate is of the pattern, which is not published: the verdict rests on the audit."""
    (tmp_path / "cells.csv").write_text("region,sales\nTotal,70\nN,10\nS,25\nW,35\n")
    (tmp_path / "regions.csv").write_text("parent,child\nTotal,N\nTotal,S\nTotal,W\n")
    (tmp_path / "job.toml").write_text(JOB + "[adjust]\npublish = true\n")
    result = run_job(tmp_path / "job.toml")
    parts = {part.name: part for part in result.report.parts().parts}
    assert "1 sensitive cell was moved beyond its levels" in parts["first_screen.html"].html
    run = parts["run.html"].html
    assert "The verdict on the adjusted table rests on its audit." in run and "proves the verdict" not in run
    assert parts["primaries.html"].title == "Sensitive cells and why"
    assert "by the pattern, which is not published" in parts["primaries.html"].html
    data = json.loads(result.report.parts().files()["cells.json"])
    assert data["adjusted"] and len(data["truth"]) == 4 and len(data["tables"][0]["lost"]["value"]) == 4
