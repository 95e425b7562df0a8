"""The commands: exit codes, files, reports and output as the contract has them."""

import csv
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import cellveil as cv
from cellveil.cli.app import app
from cellveil.datasets import demo_job
from cellveil.formats.jj import write_jj
from cellveil.formats.tidy_folder import write_folder
from cellveil.pattern import Pattern
from cellveil.problem import Status
from cellveil.suppression.draft import MethodEnding
from helpers.command import Command, listing

INTERRUPTED = MethodEnding.INTERRUPTED_SEARCH
INTERIOR = [[20, 50, 10, 45], [8, 19, 22, 71], [17, 32, 12, 33], [61, 28, 77, 15]]
SUPPRESS_KEYS = {
    *("method", "outcome", "reason", "cells", "primaries", "secondaries", "cost", "lower_bound", "gap"),
    *("certified_demands", "demands", "unsafe_cells", "seconds", "seed", "versions"),
}
AUDIT_KEYS = {"cell", "lower", "upper", "required_lower", "required_upper", "safe"}


def problem() -> cv.Problem:
    weighty = cv.two_way(INTERIOR, primaries={(0, 0): 3, (1, 1): (2, 6), (2, 3): 5})
    number = np.arange(weighty.table.num_cells, dtype=np.float64)
    return weighty.replace(weight=1.0 + (7 * number) % 11)


@pytest.fixture(params=["jj", "folder"])
def instance(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The same problem in both formats."""
    if request.param == "jj":
        write_jj(problem(), tmp_path / "t.jj")
        return tmp_path / "t.jj"
    write_folder(problem(), tmp_path / "t")
    return tmp_path / "t"


@pytest.fixture
def jj(tmp_path: Path) -> Path:
    write_jj(problem(), tmp_path / "t.jj")
    return tmp_path / "t.jj"


def pattern_rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def write_statuses(path: Path, statuses: list[str]) -> Path:
    path.write_text("cell,status\n" + "".join(f"{cell},{s}\n" for cell, s in enumerate(statuses)))
    return path


def letters() -> list[str]:
    return [Status(number).letter for number in problem().status.tolist()]


def frozen_row() -> cv.Problem:
    """A primary cell whose row is frozen but for it."""
    plain = cv.two_way([[20, 50, 10], [8, 19, 22]], primaries={(0, 0): 3})
    status = plain.status.copy()
    for column in ("c1", "c2", "Total"):
        status[plain.table.cell("r0", column)] = Status.FROZEN
    return plain.replace(status=status)


# -- suppress ------------------------------------------------------------------------------------------------


def test_suppress_writes_a_safe_pattern_and_its_report(
    instance: Path, tmp_path: Path, command: Command
) -> None:
    out, report = tmp_path / "p.csv", tmp_path / "r.json"
    ended = command("suppress", instance, "--method", "auto", "--out", out, "--report", report)
    assert ended.code == 0 and ended.err == ""
    figures = json.loads(report.read_text())
    assert figures.keys() >= SUPPRESS_KEYS
    assert figures["outcome"] in ("safe", "optimal") and figures["unsafe_cells"] == []
    assert figures["cells"] == 25 and figures["primaries"] == 3
    assert figures["certified_demands"] == figures["demands"] == 6
    assert figures["versions"]["cellveil"] == cv.__version__
    assert str(tmp_path) not in report.read_text()

    header, *rows = pattern_rows(out)
    assert header == (["cell", "status"] if instance.suffix == ".jj" else ["row", "column", "status"])
    assert len(rows) == 25
    found = [row[-1] for row in rows]
    assert figures["secondaries"] == found.count("m") and found.count("u") == 3
    weights = problem().weight
    cost = sum(weights[cell] for cell, status in enumerate(found) if status == "m")
    if instance.suffix == ".jj":  # cells are numbered as in the problem
        assert figures["cost"] == pytest.approx(cost)
    assert command("audit", instance, out).code == 0


def test_pattern_keeps_every_given_status(jj: Path, tmp_path: Path, command: Command) -> None:
    command("suppress", jj, "--out", tmp_path / "p.csv")
    for before, (_, after) in zip(letters(), pattern_rows(tmp_path / "p.csv")[1:], strict=True):
        assert after == before or (before, after) == ("s", "m")


@pytest.mark.parametrize("weights", ["given", "value", "one"])
def test_weights(weights: str, jj: Path, tmp_path: Path, command: Command) -> None:
    ended = command("suppress", jj, "--out", tmp_path / "p.csv", "--weights", weights, "--json")
    figures = json.loads(ended.out)
    cells = [int(cell) for cell, status in pattern_rows(tmp_path / "p.csv")[1:] if status == "m"]
    of_cell = {
        "given": problem().weight,
        "value": np.abs(problem().table.floats()),
        "one": np.ones(problem().table.num_cells),
    }
    assert cells
    assert figures["cost"] == pytest.approx(of_cell[weights][cells].sum())
    assert figures["parameters"]["weights"] == weights


def test_same_call_same_result_whatever_the_workers(jj: Path, tmp_path: Path, command: Command) -> None:
    reports = []
    for name, workers in (("a", 1), ("b", 1), ("c", 3)):
        out, report = tmp_path / f"{name}.csv", tmp_path / f"{name}.json"
        options = ("--seed", 7, "--workers", workers, "--report", report)
        assert command("suppress", jj, "--out", out, *options).code == 0
        figures = json.loads(report.read_text())
        reports.append({key: figures[key] for key in SUPPRESS_KEYS - {"seconds"}} | {"p": out.read_bytes()})
    assert reports[0] == reports[1] == reports[2]
    assert reports[0]["seed"] == 7


def test_infeasible_names_the_cells(tmp_path: Path, command: Command) -> None:
    write_folder(frozen_row(), tmp_path / "t")
    out, report = tmp_path / "p.csv", tmp_path / "r.json"
    out.write_text("an older pattern")
    ended = command("suppress", tmp_path / "t", "--out", out, "--report", report)
    assert ended.code == 3 and ended.out == ""
    assert "no pattern can protect (r0, c0)" in ended.err and "The cheapest way out" in ended.err
    assert not out.exists()
    figures = json.loads(report.read_text())
    assert figures.keys() >= SUPPRESS_KEYS
    assert figures["outcome"] == "infeasible" and figures["unsafe_cells"] == ["(r0, c0)"]
    assert set(figures["conflicting_cells"]) == {"(r0, c1)", "(r0, c2)", "(r0, Total)"}
    printed = command("suppress", tmp_path / "t", "--out", out, "--json")
    assert printed.code == 3 and json.loads(printed.out) == figures


def test_pattern_that_is_not_safe_is_not_written(
    jj: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = cv.suppress

    def too_little(problem: cv.Problem, *arguments: Any, **options: Any) -> cv.Suppression:
        pattern = Pattern.hiding(problem, problem.hidden_at_start, "too little")
        verdict = cv.audit(problem, pattern)
        found = real(problem, *arguments, **options)
        return replace(found, pattern=pattern, audit=verdict, outcome="not_safe", reason="hides too little")

    monkeypatch.setattr("cellveil.suppression.suppress", too_little)
    out, report = tmp_path / "p.csv", tmp_path / "r.json"
    out.write_text("an older pattern")
    ended = command("suppress", jj, "--out", out, "--report", report)
    assert ended.code == 1 and "no pattern was written" in ended.out
    assert not out.exists()
    figures = json.loads(report.read_text())
    assert figures["outcome"] == "not_safe" and len(figures["unsafe_cells"]) == 3


def test_interrupt_exits_130_and_changes_nothing(
    jj: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("cellveil.suppression.suppress", interrupted)
    before = listing(tmp_path)
    ended = command("suppress", jj, "--out", tmp_path / "p.csv", "--report", tmp_path / "r.json")
    assert ended.code == 130 and ended.out == "" and "interrupted" in ended.err
    assert listing(tmp_path) == before


# -- audit ---------------------------------------------------------------------------------------------------


def test_audit_of_primaries_alone_is_not_safe(jj: Path, tmp_path: Path, command: Command) -> None:
    report = tmp_path / "r.json"
    ended = command("audit", jj, write_statuses(tmp_path / "p.csv", letters()), "--report", report)
    assert ended.code == 1 and "NOT SAFE: 3 cells" in ended.out
    figures = json.loads(report.read_text())
    assert figures["safe"] is False and figures["attacker"] == "outsider"
    assert all(cell.keys() >= AUDIT_KEYS for cell in figures["cells"])
    values = problem().table.values
    for cell in figures["cells"]:  # alone in its row: the attacker knows it
        assert cell["lower"] == cell["upper"] == values[int(cell["cell"])] and cell["safe"] is False


def test_audit_gives_the_intervals(tmp_path: Path, command: Command) -> None:
    """Two by two hidden cells: each may move until one of them is 0; worked out by hand."""
    write_folder(cv.two_way([[20, 50], [8, 19]], primaries={(0, 0): 3}), tmp_path / "t")
    (tmp_path / "p.csv").write_text("row,column,status\nr0,c0,u\nr0,c1,m\nr1,c0,m\nr1,c1,m\n")
    ended = command("audit", tmp_path / "t", tmp_path / "p.csv", "--json")
    assert ended.code == 0
    (cell,) = json.loads(ended.out)["cells"]
    assert cell["cell"] == "(r0, c0)" and cell["safe"] is True
    assert (cell["required_lower"], cell["required_upper"]) == (17, 23)
    assert cell["lower"] == pytest.approx(20 - 19) and cell["upper"] == pytest.approx(20 + 8)


def test_audit_of_a_published_primary_is_not_safe(jj: Path, tmp_path: Path, command: Command) -> None:
    command("suppress", jj, "--out", tmp_path / "p.csv")
    statuses = [status for _, status in pattern_rows(tmp_path / "p.csv")[1:]]
    primary = statuses.index("u")
    statuses[primary] = "s"
    write_statuses(tmp_path / "p.csv", statuses)
    ended = command("audit", jj, tmp_path / "p.csv", "--json")
    assert ended.code == 1
    unsafe = [cell["cell"] for cell in json.loads(ended.out)["cells"] if not cell["safe"]]
    assert str(primary) in unsafe


def test_audit_without_time_is_not_safe(tmp_path: Path, command: Command) -> None:
    write_folder(problem(), tmp_path / "t")
    assert command("suppress", tmp_path / "t", "--out", tmp_path / "p.csv").code == 0
    ended = command("audit", tmp_path / "t", tmp_path / "p.csv", "--time-limit", "0")
    assert ended.code == 1 and "time ran out" in ended.out


def test_many_unsafe_cells_are_cut_in_the_output(tmp_path: Path, command: Command) -> None:
    big = cv.two_way(
        [[10 + 3 * i + 7 * j for j in range(6)] for i in range(4)],
        primaries=[(i, j) for i in range(4) for j in range(6)],
    )
    write_folder(big, tmp_path / "t")
    lines = [",".join([*big.table.key(int(cell)), "s"]) for cell in big.primaries]
    (tmp_path / "p.csv").write_text("\n".join(["row,column,status", *lines]))
    ended = command("audit", tmp_path / "t", tmp_path / "p.csv")
    assert ended.code == 1
    assert ended.out.count("not protected") == 20 and "and 4 more" in ended.out


# -- output --------------------------------------------------------------------------------------------------


def test_quiet_prints_nothing_and_json_only_json(jj: Path, tmp_path: Path, command: Command) -> None:
    out = tmp_path / "p.csv"
    for arguments in (("suppress", jj, "--out", out), ("audit", jj, out)):
        quiet = command(*arguments, "--quiet")
        assert (quiet.code, quiet.out, quiet.err) == (0, "", "")
        printed = command(*arguments, "--json")
        assert printed.err == "" and isinstance(json.loads(printed.out), dict)
        assert command(*arguments).out.strip()


def test_methods_are_listed(command: Command) -> None:
    ended = command("methods")
    assert ended.code == 0
    assert [line.split()[0] for line in ended.out.splitlines()] == list(cv.METHODS)


@pytest.mark.parametrize("name", ["", "demo", "run", "suppress", "audit", "methods"])
def test_help(name: str) -> None:
    shown = CliRunner().invoke(app, [*([name] if name else []), "--help"])
    assert shown.exit_code == 0 and "Usage:" in shown.output


def test_version_and_exit_codes_of_the_real_program(tmp_path: Path) -> None:
    """`main` ends the process itself, so it is tried from outside."""

    def program(*arguments: object) -> subprocess.CompletedProcess[str]:
        call = [sys.executable, "-m", "cellveil", *map(str, arguments)]
        return subprocess.run(call, capture_output=True, text=True, check=False)

    version = program("--version")
    assert (version.returncode, version.stdout) == (0, f"cellveil {cv.__version__}\n")
    write_folder(frozen_row(), tmp_path / "t")
    infeasible = program("suppress", tmp_path / "t", "--out", tmp_path / "p.csv")
    assert infeasible.returncode == 3 and infeasible.stdout == ""
    missing = program("audit", tmp_path / "none", tmp_path / "p.csv")
    assert missing.returncode == 2 and missing.stderr.count("\n") == 1


# -- demo ----------------------------------------------------------------------------------------------------


LIMIT = "time_limit = 30                # seconds; the cheapest certified pattern by then is taken\n"
QUICK = {
    'method = "auto"': 'method = "hypercube"',
    LIMIT: "",
    'output = "."\n': 'output = "."\ndefault_attackers = false\n',
}


@pytest.mark.parametrize("changes", [QUICK, pytest.param({}, marks=pytest.mark.slow)])
def test_demo_ends_with_a_release_and_can_be_run_again(
    changes: dict[str, str], tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a quick method without a limit, so that no result depends on time; as it is, in the slow suite.

    Without a limit, protection against single holdings takes minutes, so that the quick one does without.
    """
    for old, new in changes.items():
        assert old in demo_job.JOB
        monkeypatch.setattr(demo_job, "JOB", demo_job.JOB.replace(old, new))
    out = tmp_path / "demo"
    ended = command("demo", "--firms", 100, "--out", out)
    others = "" if changes else " and every single holding"
    assert ended.code == 0 and f"Safe against outsiders{others}: every one of the" in ended.out
    assert f"Report      {out / 'internal' / 'report.html'}" in ended.out
    assert f"Job         {out / 'job.toml'}\n" in ended.out
    assert f"Run it      cellveil run {out / 'job.toml'}\n" in ended.out
    public = listing(out / "public")
    tables = ("industry-region", "industry-size", "region-size")
    data = {f"turnover-by-{table}.{end}" for table in tables for end in ("csv", "parquet")}
    assert set(public) == {"about.json", "index.html", "table.xlsx", *data}
    assert (out / "internal" / "report.html").is_file()

    again = command("run", out / "job.toml", "--json")
    assert again.code == 0 and json.loads(again.out)["safe"] is True
    assert listing(out / "public") == public
    instance = cv.read_instance(out / "internal" / "instance")
    pattern = cv.read_pattern(out / "internal" / "pattern.csv", instance)
    attackers = [cv.Attacker()] if changes else None
    assert cv.audit(instance, pattern, attackers=attackers, exact=False).is_safe


def test_an_interrupted_search_keeps_its_pattern_and_says_so(
    jj: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = cv.suppress

    def interrupted(*given: Any, **settings: Any) -> cv.Suppression:
        return replace(search(*given, **settings), ending=INTERRUPTED, reason=str(INTERRUPTED))

    monkeypatch.setattr("cellveil.suppression.suppress", interrupted)
    ended = command("suppress", jj, "--out", tmp_path / "p.csv")
    assert ended.code == 130 and "best certified pattern was kept" in ended.err
    assert command("audit", jj, tmp_path / "p.csv").code == 0


def test_an_interrupt_while_the_program_loads_shows_no_trace() -> None:
    code = (
        "import sys\n"
        "class Stop:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'typer': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Stop())\n"
        "from cellveil.__main__ import main\n"
        "main()"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 130 and "Traceback" not in ended.stderr and "interrupted" in ended.stderr
