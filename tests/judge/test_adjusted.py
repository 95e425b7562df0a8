"""The audit of adjusted tables finds every fault; the attacker; the command; files; annealing and bounds."""

import json
from pathlib import Path

import numpy as np
import openpyxl
import pytest

import cellveil as cv
from cellveil.adjustment.annealed_splitting import SplittingAnnealing
from cellveil.adjustment.fixed_senses import FixedSenses
from cellveil.adjustment.large_tables import annealed
from cellveil.adjustment.lower_bound import cover_bound
from cellveil.adjustment.mixed_integer import SenseProgram
from cellveil.adjustment.model import build_model
from cellveil.adjustment.start_rules import start_senses
from cellveil.clock import Deadline
from cellveil.problem import Problem, Status
from cellveil.report.adjustment_figures import comparison
from helpers.command import Command
from helpers.examples import few_of

INTERIOR = [[20, 50, 10], [8, 19, 22], [17, 32, 12]]


@pytest.fixture
def problem() -> Problem:
    return cv.two_way(INTERIOR, primaries={(0, 0): 3, (1, 2): 4})


def cell_of(problem: Problem, *codes: str) -> int:
    return problem.table.cell(*codes)


# -- faults --------------------------------------------------------------------------------------------------


def test_a_good_table_passes(problem: Problem) -> None:
    audit = cv.audit_adjusted(problem, cv.adjust(problem).values)
    assert audit.is_safe and audit.faults == ()


def test_every_fault_is_found(problem: Problem) -> None:
    good = cv.adjust(problem).values
    broken = good.copy()
    broken[cell_of(problem, "r2", "c1")] += 1
    assert "relations do not hold" in cv.audit_adjusted(problem, broken).faults[0]
    true = problem.table.values
    assert "inside their levels" in cv.audit_adjusted(problem, true).faults[0]
    limited = cv.audit_adjusted(problem, good, limits={"interior": 0, "marginals": 0, "total": 0})
    assert "bounds or limits" in limited.faults[0]
    status = problem.status.copy()
    moved = np.flatnonzero((good != true) & (status == Status.SAFE))[0]
    status[moved] = Status.FROZEN
    assert not cv.audit_adjusted(problem.replace(status=status), good).is_safe
    lb = problem.lb.copy()
    fell = int(np.flatnonzero(good < true)[0])
    lb[fell] = true[fell]
    assert not cv.audit_adjusted(problem.replace(lb=lb), good).is_safe
    with pytest.raises(cv.InputError):
        cv.audit_adjusted(problem, good.astype(float))  # type: ignore[arg-type]


def test_no_message_tells_a_value(problem: Problem) -> None:
    secret = cv.two_way([[98765, 50], [8, 19]], primaries={(0, 0): 30})
    broken = secret.table.values.copy()
    broken[cell_of(secret, "r0", "c0")] += 1
    assert "9876" not in str(cv.audit_adjusted(secret, broken).faults)


# -- the attacker --------------------------------------------------------------------------------------------


def test_both_senses_stay_possible_where_there_is_room(problem: Problem) -> None:
    audit = cv.audit_adjusted(problem, cv.adjust(problem).values)
    assert audit.is_open.all() and not audit.pinned.any()


def test_a_sense_that_bounds_give_away_is_known() -> None:
    problem = cv.two_way(INTERIOR, primaries={(0, 0): 3})
    cell = int(problem.primaries[0])
    found = cv.adjust(problem, "start", start="up")
    ub = problem.ub.copy()
    ub[cell] = found.values[cell] + 1  # too low for the true value to have fallen by 3
    audit = cv.audit_adjusted(problem.replace(ub=ub), found.values)
    assert audit.is_safe and audit.is_open.tolist() == [False]


def test_limits_pin_down_a_cell_whose_sense_is_known() -> None:
    """It has one level, so it fell; the others can have made up for 10 or 11: its value is known within 1."""
    problem = cv.two_way([[100, 50], [60, 70]], primaries={(0, 0): (10, 0)})
    cell, limits = int(problem.primaries[0]), {"interior": 22.0, "marginals": 0.0, "total": 0.0}
    values = problem.table.values.copy()
    for codes, step in ((("r0", "c0"), -10), (("r0", "c1"), 10), (("r1", "c0"), 10), (("r1", "c1"), -10)):
        values[cell_of(problem, *codes)] += step
    audit = cv.audit_adjusted(problem, values, limits=limits)
    assert values[cell] < problem.table.values[cell] and audit.is_safe
    assert audit.is_open.tolist() == [False] and audit.pinned.tolist() == [True]
    free = cv.audit_adjusted(problem, values)
    assert free.is_open.tolist() == [False] and free.pinned.tolist() == [False]


# -- utility -------------------------------------------------------------------------------------------------


def test_utility(problem: Problem) -> None:
    found = cv.adjust(problem, objective="value")
    y = found.values - problem.table.values
    utility = found.judged.utility
    assert utility.l1 == np.abs(y).sum() and utility.changed == (y != 0).sum()
    assert utility.value_weighted == (np.abs(y) * problem.table.values).sum() == found.cost
    assert utility.totals == 7 and utility.l2 == (y * y).sum()
    assert utility.correlation == pytest.approx(np.corrcoef(problem.table.values, found.values)[0, 1])


# -- large tables, on a small one ----------------------------------------------------------------------------


@pytest.mark.parametrize("objective", ["l1", "value", "l2"])
def test_annealing_and_rounding_keep_everything(objective: str) -> None:
    problem = cv.random_table((6, 5, 4), contributors=4, zeros=0.1, primaries=0.15, seed=2, unit=10)
    model = build_model(problem, objective)
    annealing = SplittingAnnealing(model)
    senses = annealing.senses(300, start_senses(model, "least"))
    settled = annealing.settle(senses, 300)
    found = annealed(model, senses, 300, Deadline(None))
    assert found is not None and cv.audit_adjusted(problem, problem.table.values + found.y).is_safe
    assert found.cost == model.cost(found.y)
    exact = FixedSenses(model).relax(senses)  # for squares a bound from below
    assert exact is not None and model.cost(settled) >= 0.99 * exact.cost
    if model.power == 1:
        assert model.cost(settled) == pytest.approx(exact.cost, rel=0.05)


@pytest.mark.parametrize("seed", few_of(range(4), 2))
@pytest.mark.parametrize("objective", ["l1", "value", "l2"])
def test_the_covering_bound_holds(seed: int, objective: str) -> None:
    sizes = (4, 3) if objective == "l2" else (4, 4)  # squares take far longer
    problem = cv.random_table(sizes, contributors=3, zeros=0.1, primaries=0.25, seed=seed, unit=10)
    model = build_model(problem, objective)
    bound = cover_bound(model)
    best = cv.adjust(problem, "exact", objective=objective)
    assert 0 < bound <= best.cost * (1 + 1e-9)
    relaxed = SenseProgram(model, None).relaxation()
    assert relaxed is not None and relaxed <= best.cost * (1 + 1e-9)


def test_large_tables_take_the_way_without_programs() -> None:
    problem = cv.random_table((6, 5, 4), contributors=4, zeros=0.1, primaries=0.15, seed=2, unit=10)
    found = cv.adjust(problem, options={"large.most_movable": 10})
    assert found.is_safe and list(found.seconds) == ["model", "anneal", "bound", "audit"]
    assert found.gap is not None and 0 <= found.gap < 0.5


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


# -- the command and its files -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["instance.jj", "instance"])
def test_adjust_writes_values_and_figures(problem: Problem, tmp_path: Path, cli: Command, name: str) -> None:
    cv.write_instance(problem, tmp_path / name)
    out, report = tmp_path / "adjusted.csv", tmp_path / "report.json"
    ended = cli("adjust", tmp_path / name, "--out", out, "--report", report, "--compare")
    assert ended.code == 0, ended.err
    read = cv.read_instance(tmp_path / name)
    values = cv.read_adjusted(out, read)
    assert cv.audit_adjusted(read, values).is_safe
    figures = json.loads(report.read_text())
    assert figures["outcome"] == "optimal" and figures["objective"] == "l1" and figures["gap"] == 0
    assert figures["deviation_l1"] == np.abs(values - read.table.values).sum() == figures["lower_bound"]
    assert figures["comparison"]["suppression"]["hidden_cells"] > 0
    assert out.read_text().splitlines()[0].endswith("value")


def test_infeasible_ends_with_three_and_leaves_no_file(
    problem: Problem, tmp_path: Path, cli: Command
) -> None:
    cv.write_instance(problem, tmp_path / "i.jj")
    out, report = tmp_path / "adjusted.csv", tmp_path / "report.json"
    out.write_text("old")
    ended = cli("adjust", tmp_path / "i.jj", "--out", out, "--report", report, "--limit", "0")
    assert ended.code == 3 and "conflict" in ended.err and not out.exists()
    assert json.loads(report.read_text())["outcome"] == "infeasible"


def test_wrong_options_end_with_two(problem: Problem, tmp_path: Path, cli: Command) -> None:
    cv.write_instance(problem, tmp_path / "i.jj")
    out = tmp_path / "adjusted.csv"
    assert cli("adjust", tmp_path / "i.jj", "--out", out, "--start", "uq").code == 2
    assert cli("adjust", tmp_path / "i.jj", "--out", tmp_path / "i.jj").code == 2
    with pytest.raises(cv.InputError):
        cv.adjust(problem, "exakt")
    with pytest.raises(cv.InputError):
        cv.adjust(problem, objective="l3")


def test_a_job_adjusts_beside_the_pattern(problem: Problem, tmp_path: Path, cli: Command) -> None:
    cv.write_instance(problem, tmp_path / "instance")
    job = tmp_path / "job.toml"
    job.write_text(
        'instance = "instance"\noutput = "out"\n[release]\nformats = ["csv"]\n[adjust]\nlimit = 40\n'
    )
    assert cli("run", job).code == 0
    figures = json.loads((tmp_path / "out" / "internal" / "report.json").read_text())
    assert figures["adjustment"]["outcome"] == "optimal"
    assert figures["adjustment"]["comparison"]["adjustment"]["changed_cells"] > 0
    values = cv.read_adjusted(tmp_path / "out" / "internal" / "adjusted.csv", problem)
    assert cv.audit_adjusted(problem, values, limits={"interior": 40, "marginals": 40, "total": 40}).is_safe
    assert not list((tmp_path / "out" / "public").glob("*adjusted*"))


def test_a_job_publishes_the_adjusted_table_alone(problem: Problem, tmp_path: Path, cli: Command) -> None:
    cv.write_instance(problem, tmp_path / "instance")
    job, out = tmp_path / "job.toml", tmp_path / "out"
    head = 'instance = "instance"\noutput = "out"\n[release]\nformats = ["csv", "html"]\n[adjust]\n'
    job.write_text(head + "publish = true\n")
    assert cli("run", job).code == 0
    read = cv.read_instance(tmp_path / "instance")
    values = cv.read_adjusted(out / "internal" / "adjusted.csv", read)
    published = cv.read_adjusted(out / "public" / "table.csv", read)
    assert (published == values).all() and (values[read.primaries] != read.table.values[read.primaries]).all()
    assert json.loads((out / "public" / "about.json").read_text())["adjusted"] == "yes"
    assert "not exactly as compiled" in (out / "public" / "index.html").read_text()
    page = (out / "internal" / "report.html").read_text()
    assert "Suppression or adjustment" in page and "in place of the suppressed one" in page
    job.write_text(head + "publish = true\nlimit = 0\n")  # no adjustment: nothing may stay public
    assert cli("run", job).code == 1, "nothing was released"
    assert not (out / "public").exists()
    assert "There is no adjustment" in (out / "internal" / "report.html").read_text()


def test_all_words_are_about_the_adjusted_table_that_is_published(
    problem: Problem, tmp_path: Path, cli: Command
) -> None:
    cv.write_instance(problem, tmp_path / "instance")
    job, out = tmp_path / "job.toml", tmp_path / "out"
    job.write_text('title = "T"\ninstance = "instance"\noutput = "out"\n[adjust]\npublish = true\n')
    lines = cli("run", job).out.splitlines()
    assert lines[0] == "T: adjusted table" and "sensitive cells were moved" in lines[1]
    assert any(line.startswith("No cell is hidden") for line in lines)
    assert not any(line.startswith(("primary", "secondary")) for line in lines)
    figures = json.loads((out / "internal" / "report.json").read_text())
    assert figures["published"] == "adjusted table"
    for name in ("method", "outcome", "cost", "gap"):
        assert figures[name] == figures["adjustment"][name]
    assert figures["secondaries"] == 0 and figures["pattern"]["secondaries"] > 0
    assert figures["pattern"]["method"] == "auto" and figures["release"]["num_hidden"] == 0
    page = (out / "internal" / "report.html").read_text()
    assert "<h1>T: adjusted table</h1>" in page
    shown = page.index("What is shown is the table as published")
    assert shown < page.index('<h2 id="attack">What attackers learn from the pattern, which is not published')
    public = (out / "public" / "index.html").read_text()
    assert "Adjusted: some figures were changed" in public
    book = openpyxl.load_workbook(out / "public" / "table.xlsx")
    texts = [str(value) for row in book["Table"].values for value in row if value is not None]
    assert any(text.startswith("Adjusted: some figures") for text in texts)
    assert not any("not published" in text for text in texts)


def test_an_adjusted_release_is_refused_beside_attackers_it_is_not_audited_against(
    problem: Problem, tmp_path: Path, cli: Command
) -> None:
    cv.write_instance(problem, tmp_path / "instance")
    job = tmp_path / "job.toml"
    head = 'instance = "instance"\noutput = "out"\n'
    job.write_text(head + '[adjust]\npublish = true\n[[attackers]]\nkind = "integer"\n')
    done = cli("run", job)
    assert done.code == 2 and "not audited against other attackers" in done.err
    assert not (tmp_path / "out").exists()


def test_nothing_is_released_that_the_audit_faults(problem: Problem, tmp_path: Path) -> None:
    with pytest.raises(cv.NotSafeError, match="nothing was released"):
        cv.release(cv.audit(problem, problem.table.values), tmp_path / "public", formats=["csv"])
    assert not (tmp_path / "public").exists()


def with_hidden_cell(problem: Problem, *codes: str) -> Problem:
    """The same problem with one cell that is to be hidden, without a level."""
    status = problem.status.copy()
    status[cell_of(problem, *codes)] = Status.SECONDARY
    return problem.replace(status=status)


@pytest.mark.parametrize("levels", [True, False])
def test_what_is_to_be_hidden_is_not_published_adjusted(
    problem: Problem, levels: bool, tmp_path: Path, cli: Command
) -> None:
    """Its true value would stand in the table, or follow from it, also where no cell is sensitive."""
    if not levels:
        nothing = np.zeros_like(problem.lpl)
        status = np.where(problem.status == Status.PRIMARY, Status.SAFE, problem.status).astype(np.int8)
        problem = problem.replace(status=status, lpl=nothing, upl=nothing)
    values = cv.adjust(problem).values
    asked = with_hidden_cell(problem, "r1", "c1")
    with pytest.raises(cv.AdjustmentError, match=r"hides nothing.*r1, c1.*status u") as error:
        cv.adjust(asked)
    assert error.value.exit_code == 3
    assert any("(r1, c1)" in fault for fault in cv.audit_adjusted(asked, values).faults)
    with pytest.raises(cv.NotSafeError, match="hides nothing"):
        cv.release(cv.audit(asked, values), tmp_path / "public", formats=["csv"])
    assert not (tmp_path / "public").exists()
    cv.write_instance(asked, tmp_path / "instance")
    assert cli("adjust", tmp_path / "instance", "--out", tmp_path / "adjusted.csv").code == 3
    assert not (tmp_path / "adjusted.csv").exists()
    job = tmp_path / "job.toml"
    job.write_text('instance = "instance"\noutput = "out"\n[adjust]\npublish = true\n')
    assert cli("run", job).code != 0
    assert not (tmp_path / "out" / "public").exists()
    assert not (tmp_path / "out" / "internal" / "adjusted.csv").exists()


def test_a_job_says_at_once_that_adjusted_tables_hide_nothing(tmp_path: Path, cli: Command) -> None:
    (tmp_path / "table.csv").write_text("region,value\nTotal,100\nN,40\nS,60\n")
    job = tmp_path / "job.toml"
    job.write_text(
        '[dimensions.region]\n[[tables]]\ndimensions = ["region"]\nfile = "table.csv"\n'
        '[[cells]]\nkey = {region = "N"}\nstatus = "u"\n[[cells]]\nkey = {region = "S"}\nstatus = "m"\n'
        "[adjust]\npublish = true\n"
    )
    done = cli("run", job)
    assert done.code == 2 and "line 10" in done.err and "hides nothing" in done.err
    assert not (tmp_path / "cellveil-output").exists()


def test_an_adjusted_table_keeps_the_levels_that_a_pattern_cannot(tmp_path: Path, cli: Command) -> None:
    """A pattern has to lower the upper level here; the adjusted table moves the cell by the lower one."""
    problem = cv.two_way([[50, 60], [70, 80]], primaries={(0, 0): 25})
    tight = problem.replace(ub=np.where(problem.status == Status.PRIMARY, 60, problem.ub))
    relaxed = cv.suppress(tight, relax=True).relaxation
    assert relaxed is not None and (relaxed.problem.upl < tight.upl).any()
    cv.write_instance(tight, tmp_path / "instance")
    job = tmp_path / "job.toml"
    job.write_text('instance = "instance"\noutput = "out"\n[suppress]\nrelax = true\n[adjust]\n')
    cli("run", job)
    read = cv.read_instance(tmp_path / "instance")
    assert cv.audit_adjusted(
        read, cv.read_adjusted(tmp_path / "out" / "internal" / "adjusted.csv", read)
    ).is_safe


def test_hidden_totals_are_counted_in_the_comparison() -> None:
    """A primary with no other cell in its row or column takes three totals with it."""
    problem = cv.two_way([[30, 0], [0, 40]], primaries={(0, 0): 3})
    suppression, adjustment = cv.suppress(problem), cv.adjust(problem)
    two = comparison(problem, adjustment, suppression)
    assert two["suppression"]["hidden_cells"] == 4 and two["suppression"]["hidden_totals"] == 3


def test_adjust_says_what_may_be_pinned_down(tmp_path: Path, cli: Command) -> None:
    """Known bounds of ± 60 % around a value that must move by 50 % tell which way it went."""
    problem = cv.two_way([[50, 60], [70, 80]], primaries={(0, 0): 25})
    tight = problem.replace(lb=problem.table.values * 4 // 10, ub=problem.table.values * 16 // 10)
    for name, kept in (("tight", tight), ("wide", problem)):
        cv.write_instance(kept, tmp_path / f"{name}.jj")
        ended = cli("adjust", tmp_path / f"{name}.jj", "--out", tmp_path / "adjusted.csv")
        assert ended.code == 0
        assert ("not to be released as it is" in ended.out) == (name == "tight"), ended.out
