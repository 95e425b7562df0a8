"""The commands around a job: init, check, compare, and names of methods elsewhere."""

import json
import sqlite3
from pathlib import Path

import pandas as pd
import pytest

import cellveil as cv
from cellveil.job import read_job
from cellveil.job.starter_job import starter_job
from cellveil.microdata.column_roles import ColumnRole, guessed_columns
from cellveil.report.comparison_page import comparison_chart, comparison_page
from cellveil.report.method_comparison import ComparedRun, Comparison
from helpers.command import Command, listing

ROWS = 120


def records() -> pd.DataFrame:
    """Firms with everything that a job can make use of."""
    firms = range(ROWS)
    return pd.DataFrame(
        {
            "firm_id": [f"F{firm}" for firm in firms],
            "holding": [f"H{firm // 2}" for firm in firms],
            "nace": [f"{'AB'[firm % 2]}{firm % 6 + 10}" for firm in firms],
            "section": ["AB"[firm % 2] for firm in firms],
            "age_group": ["young"] * ROWS,
            "size_group": [("small", "medium", "large")[firm % 7 % 3] for firm in firms],
            "weight": [1.0 + firm % 3 for firm in firms],
            "employees": [3 + firm % 40 for firm in firms],
            "turnover": [1000.5 + 37 * firm % 911 for firm in firms],
            "remark": [f"text {firm}" for firm in firms],
        }
    )


def write(frame: pd.DataFrame, path: Path) -> Path:
    if path.suffix == ".csv":
        frame.to_csv(path, index=False, sep=";", decimal=",")
    elif path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".xlsx":
        frame.to_excel(path, index=False)
    elif path.suffix == ".dta":
        frame.to_stata(path, write_index=False)
    else:
        with sqlite3.connect(path) as connection:
            frame.to_sql("firms", connection, index=False)
    return path


@pytest.mark.parametrize("end", [".csv", ".parquet", ".xlsx", ".dta", ".db"])
def test_init_guesses_the_same_from_every_kind_of_file(end: str, tmp_path: Path, command: Command) -> None:
    data = write(records(), tmp_path / f"firms{end}")
    out = tmp_path / "jobs" / "job.toml"
    out.parent.mkdir()
    ended = command("init", data, "--out", out)
    assert ended.code == 0, ended.err
    job = read_job(out)
    assert job.microdata is not None and job.microdata.contributor == "firm_id"
    assert (job.microdata.holding, job.microdata.weight) == ("holding", "weight")
    (table,) = job.tables
    assert table.dimensions == ["nace", "size_group"] and table.response == "turnover"
    assert job.dimensions["nace"].levels == ["section"]
    assert "# other amounts: employees" in out.read_text()
    assert "not used: age_group, remark" in ended.out
    assert str(tmp_path) not in out.read_text()
    if end in (".csv", ".dta"):
        checked = command("check", out, "--json")
        assert checked.code == 0, checked.err
        assert json.loads(checked.out)["against"] == "outsiders and every single holding"


def test_init_overwrites_nothing_and_says_what_is_wrong(tmp_path: Path, command: Command) -> None:
    data = write(records(), tmp_path / "firms.csv")
    (tmp_path / "job.toml").write_text("mine")
    ended = command("init", data, "--out", tmp_path / "job.toml")
    assert ended.code == 2 and "there already" in ended.err and (tmp_path / "job.toml").read_text() == "mine"
    (tmp_path / "ids.csv").write_text("id,amount\n" + "".join(f"F{i},{i}.5\n" for i in range(60)))
    ended = command("init", tmp_path / "ids.csv", "--out", tmp_path / "other.toml")
    assert ended.code == 2 and "no column looks like a dimension" in ended.err
    assert command("init", tmp_path / "none.csv", "--out", tmp_path / "other.toml").code == 2
    assert not (tmp_path / "other.toml").exists()


def test_init_over_a_ready_made_table(tmp_path: Path, command: Command) -> None:
    rows = ["region;size;value;status"]
    values = {"N": (40, 30), "S": (25, 61)}
    for region, (small, large) in values.items():
        rows += [f"{region};small;{small};{'u' if region == 'N' else 's'}", f"{region};large;{large};s"]
        rows.append(f"{region};Total;{small + large};s")
    sums = [sum(pair) for pair in zip(*values.values(), strict=True)]
    rows += [f"Total;small;{sums[0]};s", f"Total;large;{sums[1]};s", f"Total;Total;{sum(sums)};s"]
    (tmp_path / "table.csv").write_text("\n".join(rows) + "\n")
    assert command("init", tmp_path / "table.csv", "--out", tmp_path / "job.toml").code == 0
    job = read_job(tmp_path / "job.toml")
    assert job.tables[0].file is not None and job.tables[0].status == "status"
    checked = command("check", tmp_path / "job.toml")
    assert checked.code == 0 and "Unsafe      1 cell (11.1 %)" in checked.out


def test_prefixes_are_offered_and_not_taken(tmp_path: Path) -> None:
    frame = records()[["firm_id", "nace", "size_group", "turnover"]]
    job = starter_job(write(frame, tmp_path / "firms.csv"), tmp_path)
    assert "# digits = [1, 1, 1]" in job.text or "# digits = [1, 2]" in job.text


def test_a_status_of_persons_is_a_dimension_and_a_unit_of_measure_no_contributor() -> None:
    texts = {"status": ["employed", "retired"] * 30, "unit": ["EUR", "USD"] * 30}
    roles = [column.role for column in guessed_columns(texts, {"status": None, "unit": None})]
    assert roles == [ColumnRole.DIMENSION, ColumnRole.DIMENSION]


# -- check and compare ---------------------------------------------------------------------------------------


JOB = """\
title = "Firms"
output = "out"
attackers = []
[microdata]
file = "firms.csv"
contributor = "firm"
[[tables]]
dimensions = ["region", "branch"]
response = "turnover"
[[rules]]
rule = "p%"
p = 10
[[rules]]
rule = "threshold"
minimum = 2
{more}
"""


@pytest.fixture
def job_file(tmp_path: Path) -> Path:
    rows = ["firm,region,branch,turnover"]
    for firm in range(96):
        size = 9000 if firm in (0, 13) else 100 + firm % 7
        rows.append(f"F{firm},{'NSW'[firm % 3]},{'abcd'[firm // 3 % 4]},{size}")
    (tmp_path / "firms.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "job.toml").write_text(JOB.format(more=""))
    return tmp_path / "job.toml"


def test_check_tells_what_will_be_asked_and_writes_nothing(job_file: Path, command: Command) -> None:
    before = listing(job_file.parent)
    ended = command("check", job_file, "--json")
    assert ended.code == 0 and listing(job_file.parent) == before
    figures = json.loads(ended.out)
    assert figures["cells"] == 20 and figures["rules"] == {"p% rule (p = 10)": 2}
    assert figures["primaries"] == 2 and figures["demands"] == 4
    assert figures["against"] == "outsiders" and "by decision of the office" in figures["not_asked"]
    assert figures["plan"] == "network" and figures["feasible"] is True
    assert figures["warnings"] == ["a rule never fires: threshold rule (minimum 2)"]
    told = command("check", job_file).out
    assert "Table       turnover: region 4 × branch 5, 20 cells" in told and "Everything is in place." in told
    assert command("check", job_file, "--quiet").out == ""


def test_check_finds_what_cannot_be_protected(job_file: Path, command: Command) -> None:
    frozen = "".join(
        f'[[cells]]\nkey = {{region = "N", branch = "{branch}"}}\nstatus = "z"\n' for branch in "bcd"
    )
    frozen += '[[cells]]\nkey = {region = "N"}\nstatus = "z"\n'
    job_file.write_text(JOB.format(more=frozen))
    ended = command("check", job_file)
    assert ended.code == 3 and "INFEASIBLE" in ended.out and ended.err == ""


def test_check_refuses_a_wrong_job(job_file: Path, command: Command) -> None:
    job_file.write_text(JOB.format(more='[suppress]\nmethod = "hitas"\n'))
    ended = command("check", job_file)
    assert ended.code == 2 and "hitas, of tau-ARGUS and sdcTable, is called modular here" in ended.err


def test_compare_measures_every_run_by_all_weights(job_file: Path, command: Command, tmp_path: Path) -> None:
    before = listing(job_file.parent)
    ended = command("compare", job_file, "--methods", "cycles,hypercube", "--weights", "value,one", "--json")
    assert ended.code == 0 and listing(job_file.parent) == before
    runs = json.loads(ended.out)["runs"]
    assert [(run["method"], run["weights"]) for run in runs] == [
        *(("cycles", "value"), ("hypercube", "value"), ("cycles", "one"), ("hypercube", "one")),
    ]
    for run in runs:
        assert run["safe"] and set(run["costs"]) == {"value", "one"}
        assert run["costs"]["one"] == run["hidden"] - 2 and run["gap"] >= 0
    out = tmp_path / "c.html"
    told = command("compare", job_file, "--methods", "hypercube", "--out", out)
    assert told.code == 0 and "cost (given)" in told.out and "<svg" in out.read_text()


def test_compare_refuses_unknown_names(job_file: Path, command: Command, tmp_path: Path) -> None:
    asked = {
        ("--methods", "hypercub"): "Did you mean 'hypercube'?",
        ("--methods", "GHMITER"): "is called hypercube here",
        ("--weights", "valu"): "'value'",
        ("--methods", " , "): "an empty list",
        ("--out", tmp_path / "c.doc"): ".html, .svg, .csv, .json",
    }
    for option, words in asked.items():
        ended = command("compare", job_file, *option)
        assert ended.code == 2 and words in ended.err


def test_an_interrupted_comparison_keeps_what_is_complete(
    job_file: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cellveil.job import past

    real = past.suppress

    def interrupted(problem: cv.Problem, method: str, **options: object) -> cv.Suppression:
        if method == "cycles":
            raise KeyboardInterrupt
        return real(problem, method, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(past, "suppress", interrupted)
    ended = command("compare", job_file, "--methods", "hypercube,cycles")
    assert ended.code == 130 and "1 complete runs are shown" in ended.err and "hypercube" in ended.out


def test_pictures_escape_names_and_mark_what_is_not_safe() -> None:
    runs = (
        ComparedRun("a<b", "one", False, "not_safe", 3, 10.0, None, {"one": 3.0}, None, 0.5),
        ComparedRun("auto", "one", None, why_not="infeasible"),
    )
    comparison = Comparison("<Firms>", ("one",), runs)
    page, chart = comparison_page(comparison), comparison_chart(comparison)
    assert "<Firms>" not in page and "a<b" not in page and "NOT SAFE" in page and "infeasible" in page
    assert "a&lt;b, one (NOT SAFE)" in chart and not comparison.is_safe


# -- methods -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [*cv.METHODS, "adjust", "run", "HiTaS", "ghmiter", "gauss", "opt", "cta", "rounding"]
)
def test_methods_always_says_something(name: str, command: Command) -> None:
    ended = command("methods", name)
    assert ended.code == 0 and len(ended.out.split()) > 5
    if name in cv.METHODS:
        assert name in ended.out


def test_names_of_other_programs_lead_to_ours(command: Command) -> None:
    assert command("methods", "hitas").out.startswith("hitas, of tau-ARGUS and sdcTable, is called modular")
    wrong = command("methods", "hypercub")
    assert wrong.code == 2 and "Did you mean 'hypercube'?" in wrong.err
    with pytest.raises(cv.InputError, match="is called elimination here"):
        cv.suppress(cv.two_way([[1, 2], [3, 4]], primaries={(0, 0): 1}), "gauss")
