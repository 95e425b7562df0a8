"""One output for each table of a job: files, sheets and sections; and the audit of these from outside."""

import json
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

import cellveil as cv
from cellveil.formats.release_folder import read_release
from cellveil.judge.published import audit_published
from helpers.command import Command
from helpers.public_files import public_rows
from helpers.reports import data_of

JOB = """
title = "Turnover"
output = "out"

[microdata]
file = "firms.csv"

[[tables]]
name = "By region and size"
dimensions = ["region", "size"]
response = "turnover"

[[tables]]
dimensions = ["region", "branch"]
response = "turnover"

[[rules]]
rule = "threshold"
minimum = 3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = []
    for k in range(200):
        region, size, branch = "NSWE"[k % 4], ["small", "large"][k % 3 == 0], "abcde"[k % 5]
        if (region, size) != ("E", "large") and (region, branch) != ("E", "c"):
            rows.append((region, size, branch, 100_000 + 7919 * k))
    rows += [("E", "large", "a", 654_321), ("E", "large", "b", 765_432)]
    frame = pd.DataFrame(rows, columns=["region", "size", "branch", "turnover"])
    frame.to_csv(tmp_path / "firms.csv", index=False)
    return tmp_path


def run(folder: Path, text: str = JOB) -> Path:
    (folder / "job.toml").write_text(text, encoding="utf-8")
    result = cv.run_job(cv.read_job(folder / "job.toml"))
    assert result.is_safe and result.release is not None
    return result.release.folder


def test_each_table_has_its_own_files(folder: Path) -> None:
    public = run(folder)
    stems = ("By-region-and-size", "turnover-by-region-branch")
    assert sorted(path.name for path in public.iterdir()) == sorted(
        ["about.json", "index.html", "table.xlsx", *(f"{s}.{e}" for s in stems for e in ("csv", "parquet"))]
    )
    first, second = (pd.read_csv(public / f"{stem}.csv", dtype=str) for stem in stems)
    assert list(first.columns) == ["region", "size", "value", "flag"]
    assert list(second.columns) == ["region", "branch", "value", "flag"]
    assert len(first) == 5 * 3 and len(second) == 5 * 6 - 1
    frame = pd.read_parquet(public / f"{stems[1]}.parquet")
    assert frame["value"].isna().tolist() == (second["value"] == "x").tolist()


def test_a_common_cell_is_the_same_in_both_tables(folder: Path) -> None:
    public = run(folder)
    rows = public_rows(public)  # asserts it
    about = json.loads((public / "about.json").read_text())
    assert about["cells"] == len(rows)
    assert about["hidden_cells"] == sum(row["value"] == "x" for row in rows) > 0
    assert [table["name"] for table in about["tables"]] == [
        "By region and size",
        "turnover by region, branch",
    ]
    assert about["tables"][0]["dimensions"][0] == {"name": "region", "codes": 5, "total": "Total"}


def test_sheets_and_sections(folder: Path) -> None:
    public = run(folder)
    book = openpyxl.load_workbook(public / "table.xlsx")
    assert book.sheetnames == ["1 By region and size", "2 turnover by region, branch", "Notes"]
    sheet = [list(row) for row in book["2 turnover by region, branch"].values]
    assert sheet[0][0] == "turnover by region, branch"
    page = (public / "index.html").read_text(encoding="utf-8")
    assert page.count("<h2>By region and size</h2>") == page.count("<h2>turnover by region, branch</h2>") == 1
    assert page.count("<div data-table=") == 2 and "2 tables" in page
    report = data_of((folder / "out" / "internal" / "report.html").read_text(encoding="utf-8"))
    assert [one["name"] for one in report["tables"]] == ["By region and size", "turnover by region, branch"]


def test_zeros_are_0_and_no_dash_is_left(folder: Path) -> None:
    public = run(folder)
    book = openpyxl.load_workbook(public / "table.xlsx")
    rows = {row[0]: row for row in book["2 turnover by region, branch"].values if row[0]}
    place = rows["branch"].index("E")
    assert rows["c"][place] == 0  # nobody is there
    page = (public / "index.html").read_text(encoding="utf-8")
    assert '<td class="e">0</td>' in page and "–</td>" not in page


def test_detail_that_was_not_tabulated_is_empty(tmp_path: Path) -> None:
    rows = ["Total,Total,12,s", "Total,a,5,s", "Total,b,7,s", "N,Total,8,s", "N,a,3,u", "N,b,5,s"]
    rows += ["S,Total,4,s", "S,a,2,s", "S,b,2,s", "N1,Total,3,s", "N2,Total,5,s"]
    (tmp_path / "table.csv").write_text("region,size,value,status\n" + "\n".join(rows) + "\n")
    job = 'output = "out"\n[dimensions.region]\ndigits = [1, 1]\n'
    job += '[[tables]]\ndimensions = ["region", "size"]\nfile = "table.csv"\nincomplete = "allow"\n'
    (tmp_path / "job.toml").write_text(job)
    result = cv.run_job(cv.read_job(tmp_path / "job.toml"))
    assert result.release is not None
    page = (result.release.folder / "index.html").read_text(encoding="utf-8")
    assert '<td class="e"></td>' in page and "not tabulated" in page


def test_names_that_are_one_file_where_capitals_do_not_count(folder: Path) -> None:
    text = JOB.replace(
        'dimensions = ["region", "branch"]', 'name = "BY REGION/AND SIZE"\ndimensions = ["region"]'
    )
    names = {path.name for path in run(folder, text).iterdir()}
    assert {"By-region-and-size.csv", "BY-REGION-AND-SIZE-2.csv"} <= names


def test_a_file_in_the_way_is_named_before_the_search(folder: Path) -> None:
    run(folder)
    (folder / "out" / "public" / "My-table.csv").write_text("mine")
    (folder / "job.toml").write_text(JOB.replace("By region and size", "My table"), encoding="utf-8")
    with pytest.raises(cv.InputError, match=r"My-table\.csv"):
        cv.run_job(cv.read_job(folder / "job.toml"))


def test_the_release_is_audited_from_its_public_files(folder: Path, command: Command) -> None:
    public = run(folder)
    published = read_release(public, {})
    assert [dimension.name for dimension in published.table.dimensions] == ["region", "size", "branch"]
    assert int(published.suppressed.sum()) == json.loads((public / "about.json").read_text())["hidden_cells"]
    assert audit_published(published).is_safe
    done = command("audit", public)
    assert done.code == 0 and "No hidden cell is disclosed." in done.out
    file = public / "By-region-and-size.csv"
    hidden = next(row for row in file.read_text().splitlines() if row.endswith("x,x") and "Total" not in row)
    other = file.read_text().replace(hidden, hidden.replace("x,x", "1419753,"))
    file.write_text(other)  # one hidden value told: the other of its row follows
    assert command("audit", public).code == 1


def test_several_variables_in_one_release(folder: Path) -> None:
    frame = pd.read_csv(folder / "firms.csv")
    frame["staff"] = frame["turnover"] // 1000
    frame.to_csv(folder / "firms.csv", index=False)
    text = JOB.replace(
        '["region", "branch"]\nresponse = "turnover"', '["region", "size"]\nresponse = "staff"'
    )
    public = run(folder, text)
    published = read_release(public, {})
    assert [dimension.name for dimension in published.table.dimensions] == ["region", "size", "variable"]
    assert {row["variable"] for row in public_rows(public)} == {"turnover", "staff"}


def test_decimals_of_each_table_are_its_own(folder: Path) -> None:
    frame = pd.read_csv(folder / "firms.csv")
    frame["hours"] = frame["turnover"] / 100
    frame.to_csv(folder / "firms.csv", index=False)
    text = JOB.replace('["region", "branch"]\nresponse = "turnover"', '["region"]\nresponse = "hours"')
    public = run(folder, text)
    values = [pd.read_csv(path, dtype=str)["value"][0] for path in sorted(public.glob("*.csv"))]
    assert "." not in values[0] and "." in values[1]
