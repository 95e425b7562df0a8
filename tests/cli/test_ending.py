"""How a run ends on the terminal, and what is measured on request."""

import io
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import cellveil as cv
from cellveil.cli.ending import duration, told, told_costly
from cellveil.cli.run import run_command
from cellveil.cli.streams import painted
from cellveil.job import read_job
from cellveil.job.advice import AdviceParams, measured_proposals, proposals
from cellveil.job.preparing import prepare
from cellveil.progress import Progress
from cellveil.report import build_report
from cellveil.report.summary_text import officials_text
from helpers.command import Command

JOB = """\
output = "out"
{top}
[microdata]
file = "firms.csv"
contributor = "firm"
[dimensions.region]
digits = [1, 1]
[[tables]]
dimensions = ["region", "branch"]
response = "turnover"
[[rules]]
rule = "p%"
p = 10
[suppress]
method = "hypercube"
"""


@pytest.fixture
def job_file(tmp_path: Path) -> Path:
    rows = ["firm,region,branch,turnover"]
    for firm in range(160):
        region, branch = f"{'NS'[firm % 2]}{firm % 3 + 1}", "abc"[firm % 5 % 3]
        rows.append(f"F{firm},{region},{branch},{90_000 if firm < 12 else 100 + firm % 7}")
    (tmp_path / "firms.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "job.toml").write_text(JOB.format(top="attackers = []"))
    return tmp_path / "job.toml"


@pytest.fixture(scope="module")
def report() -> cv.Report:
    values = [[20_000, 50_000, 10_000], [8_000, 0, 22_000], [17_000, 32_000, 12_000]]
    problem = cv.two_way(values, primaries={(0, 0): 3000, (2, 1): 3000, (1, 2): 900})
    found = cv.suppress(problem, "hypercube")
    return build_report(problem, found, found.audit, title="Turnover")


def test_the_table_of_officials(report: cv.Report) -> None:
    head, published, zero, primary, secondary, total = officials_text(report)
    assert head.split() == ["cells", "%", "value", "%"]
    assert [line.split()[0] for line in (published, zero, primary, secondary, total)] == [
        *("published", "0", "primary", "secondary", "total"),
    ]
    hidden = report.suppression.pattern.hidden
    assert int(zero.split()[1]) == int((~hidden & (report.problem.table.values == 0)).sum())
    assert total.split()[3] == f"{int(np.abs(report.problem.table.values).sum()):,}"
    assert len({len(line) for line in (head, published, zero, primary, secondary, total)}) == 1


@pytest.mark.parametrize(("width", "columns"), [(None, 5), (100, 5), (30, 3), (20, 2)])
def test_the_table_fits_narrow_terminals(report: cv.Report, width: int | None, columns: int) -> None:
    lines = officials_text(report, width)
    assert len(lines[-1].split()) == columns
    assert width is None or max(map(len, lines)) <= width


def test_rules_and_verdict_are_told(report: cv.Report) -> None:
    text = "\n".join(told(report))
    assert "Safe against outsiders" in text and "Unsafe by given with the table: 3 cells" in text
    assert "Method hypercube" in text and "Not tested: " in text


def test_colours_only_where_they_are_wanted(report: cv.Report, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert painted("Safe", "green").startswith("\x1b[32m")
    assert next(line for line in told(report) if "\x1b[" in line).startswith("\x1b[32m")
    monkeypatch.setenv("TERM", "dumb")
    assert painted("Safe", "green") == "Safe"
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert painted("Safe", "green") == "Safe"


def test_where_it_costs_most(report: cv.Report) -> None:
    lines = told_costly(report, "cellveil run job.toml --advise")
    assert re.fullmatch(r"Much is hidden: \d+ % of the cells and \d+ % of the value\.", lines[1])
    assert lines[2].startswith("Most is lost in ") and lines[-1].endswith("--advise")
    figures = "\n".join(lines)
    for value in np.abs(report.problem.table.values[report.suppression.pattern.hidden]).tolist():
        assert str(value) not in figures and f"{value:,}" not in figures


def test_nothing_is_said_where_little_is_hidden() -> None:
    problem = cv.two_way([[i + 3 * j + 5 for i in range(9)] for j in range(9)], primaries={(0, 0): 3})
    found = cv.suppress(problem, "hypercube")
    assert told_costly(build_report(problem, found, found.audit), "x") == []


def test_run_ends_with_three_paths_and_advice_on_request(job_file: Path, command: Command) -> None:
    ended = command("run", job_file)
    assert ended.code == 0 and ended.err == ""
    names = [line.split()[0] for line in ended.out.splitlines()[-4:]]
    assert names == ["Time", "Report", "Public", "Job"]
    assert f"cellveil run {job_file} --advise" in ended.out and "Unsafe by p% rule (p = 10): " in ended.out

    again = command("run", job_file, "--advise")
    assert again.code == 0
    measured = again.out.partition("Measured by method hypercube")[2].splitlines()
    rows = [line.split() for line in measured[2:] if " of " in line]
    assert rows[0][-3:] == ["as", "it", "is"]
    assert any("region without its lowest level" in line for line in measured)
    assert '[weights] kind = "one"' in again.out and "to_level = 1" in again.out


def test_an_interrupt_while_advice_is_measured_keeps_the_release(
    job_file: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("cellveil.job.advice.measured_proposals", interrupted)
    ended = command("run", job_file, "--advise")
    assert ended.code == 130 and "the run is complete and the release is made" in ended.err
    assert (job_file.parent / "out" / "public" / "table.csv").is_file()


def test_a_proposal_is_what_the_changed_job_gives(job_file: Path) -> None:
    job = read_job(job_file)
    problem = prepare(job, Progress()).problem
    pattern = cv.suppress(problem, "hypercube").pattern
    advice = measured_proposals(job, problem, pattern)
    assert not advice.as_it_is.setting and advice.as_it_is.safe
    assert advice.as_it_is.published == int((~pattern.hidden).sum())
    for made, told_of in zip(proposals(job, problem, pattern, AdviceParams()), advice.proposals, strict=True):
        assert made.setting == told_of.setting and not told_of.why_not
        changed = prepare(made.job, Progress()).problem
        assert changed.table.num_cells == told_of.cells
    folded = next(one for one in advice.proposals if "to_level" in one.setting)
    job_file.write_text(job_file.read_text().replace("digits = [1, 1]", "digits = [1, 1]\nto_level = 1"))
    assert (
        prepare(read_job(job_file), Progress()).problem.table.num_cells
        == folded.cells
        < problem.table.num_cells
    )


def test_times_for_people() -> None:
    assert [duration(seconds) for seconds in (0.04, 59.6, 60, 3600)] == [
        *("0.0 s", "1 min 0 s", "1 min 0 s", "60 min 0 s"),
    ]


@pytest.mark.parametrize(
    ("own", "found", "typed"),
    [
        ("bin/cellveil", "bin/cellveil", "cellveil"),
        ("Scripts/cellveil", "Scripts/cellveil.EXE", "cellveil"),  # as a launcher of Windows names it
        ("bin/cellveil", "other/cellveil", "bin/cellveil"),
        ("bin/cellveil", None, "bin/cellveil"),
        ("-c", None, "cellveil"),
    ],
)
def test_the_command_to_type_needs_no_file_of_the_programs_name(own, found, typed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [own if own == "-c" else str(tmp_path / own)])
    monkeypatch.setattr("cellveil.cli.run.which", lambda name: found and str(tmp_path / found))
    assert run_command(Path("job.toml")) == f"{typed} run job.toml"
