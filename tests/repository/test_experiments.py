"""The experiments on the smallest of tables: that they run, and that their figures mean what they say."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cellveil.cli.app import run_command
from cellveil.datasets import random_table
from cellveil.errors import InputError
from cellveil.judge.outsider import audit_outsider
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.progress import Progress
from cellveil.suppression.draft import Draft, MethodEnding
from experiments import BUDGETS, EXPERIMENTS, preprocessing, reproduce, scaling, searching
from experiments.__main__ import app
from experiments.record import Figures, Record
from experiments.tables import Contributors, Shape, contributors_for, wilcoxon


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Budgets for a second each."""
    scale = preprocessing.Scale(4, (4, 6), (3, 4), 5.0, 1, (6, 5, 5), 1)
    monkeypatch.setitem(preprocessing.SCALES, "quick", scale)
    monkeypatch.setitem(searching.RUNS, "quick", (1, 12))
    monkeypatch.setattr(
        searching, "figure_2_table", lambda seed: random_table((8, 7), hierarchical=[0], seed=seed)
    )
    monkeypatch.setitem(searching.PEERS, "quick", (1, (5, 6), 2.0))
    monkeypatch.setitem(scaling.MOST, "quick", 60)
    monkeypatch.setitem(scaling.AUTO_LIMIT, "quick", 0.1)
    monkeypatch.setattr(scaling, "SIZES", scaling.SIZES[1:3])
    monkeypatch.setattr(scaling, "VARIED", scaling.VARIED[:2])
    few = {shape.shrunk(3000): paper for shape, paper in list(scaling.SIDES.items())[:1]}
    monkeypatch.setattr(scaling, "SIDES", few)


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.usefixtures("tiny")
def test_every_experiment_writes_its_page_and_data(name: str, tmp_path: Path) -> None:
    assert run_command([name, "--out", str(tmp_path / "out"), "--quiet"], app) == 0
    page = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    data = json.loads((tmp_path / "out" / "figures.json").read_text(encoding="utf-8"))
    assert page.startswith("# ") and all(rows for rows in data["tables"].values())
    assert all((tmp_path / "out" / f"{table}.csv").exists() for table in data["tables"])
    assert (name == "2011-mutation") == (tmp_path / "out" / "figure2.svg").exists()


def test_the_same_seed_gives_the_same_figures(tiny: None) -> None:
    first, second = (reproduce("2013-candidates", seed=3) for _ in range(2))
    assert first == second


class Impatient(Progress):
    """Presses Ctrl-C after the first figure."""

    def advance(self, done: float, total: float | None = None, **figures: object) -> None:
        raise KeyboardInterrupt


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.usefixtures("tiny")
def test_an_interrupt_keeps_the_figures_so_far(name: str) -> None:
    record = reproduce(name, progress=Impatient())
    assert record.remarks[-1].startswith("Interrupted when 1 of ")
    assert record.tables[0].rows and record.markdown()


@pytest.mark.usefixtures("tiny")
def test_runs_that_were_cut_short_by_an_interrupt_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Methods answer an interrupt with the best they have: that is no figure of an experiment."""

    def cut_short(problem: Problem, seconds: float | None = None, **_: object) -> Draft:
        return Draft(problem.hidden_at_start, reason=MethodEnding.INTERRUPTED)

    monkeypatch.setattr(preprocessing, "optimal", cut_short)
    with pytest.raises(KeyboardInterrupt):
        reproduce("2013-candidates")


@pytest.mark.usefixtures("tiny")
def test_a_given_limit_takes_the_place_of_the_budgets(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []

    def noted(problem: Problem, method: str, *, time_limit: float, **_: object) -> dict[str, object]:
        limits.append(time_limit)
        return {"cost": 1.0, "seconds": 1.0, "safe": True}

    monkeypatch.setattr(scaling, "measured", noted)
    record = reproduce("2011-sizes", time_limit=6.0)
    assert limits == [6.0, 6.0, 2.0] * 2 and record.settings["seconds per run"] == 6.0


def test_names_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["2011-size"], app) == 2
    assert "Did you mean '2011-sizes'" in capsys.readouterr().err
    assert run_command([], app) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in EXPERIMENTS)
    with pytest.raises(InputError, match="unknown budget"):
        reproduce("2011-sizes", "huge")
    assert BUDGETS == tuple(preprocessing.SCALES) == tuple(searching.RUNS) == tuple(scaling.MOST)


def test_every_experiment_has_its_page() -> None:
    docs = Path(__file__).parents[2] / "docs" / "lab"
    overview = (docs / "experiments.md").read_text(encoding="utf-8")
    for name in EXPERIMENTS:
        assert f"(experiment-{name}.md)" in overview
        assert f"python -m experiments {name}" in (docs / f"experiment-{name}.md").read_text(encoding="utf-8")


# -- tables --------------------------------------------------------------------------------------------------


def test_shapes_shrink_in_proportion_and_keep_their_trees() -> None:
    shape = Shape((100, 242, 22), (1, 2), 0.1)
    small = shape.shrunk(1000)
    assert small.places <= 1000 and small.trees == shape.trees and str(small).count("H") == 2
    assert small.sizes[1] > small.sizes[0] > 3
    assert shape.shrunk(10**9) == shape


@pytest.mark.parametrize("share", [0.1, 0.2, 0.35])
def test_the_share_of_primaries_is_met(share: float) -> None:
    problem = Shape((60, 70), share=share).problem(1)
    assert len(problem.primaries) / (60 * 70) == pytest.approx(share, rel=0.15)
    assert contributors_for(share) > 2**0.5


def test_resampled_tables_add_up_and_differ() -> None:
    source = Contributors.invented((9, 8, 7), 1)
    first, second = source.resampled(1), source.resampled(2)
    for problem in (first, second):
        table = problem.table
        assert not table.relations.residuals(table.values)
        assert table.contributors is not None and int(table.contributors.max()) == len(source.cells)
        assert (problem.status[table.contributors < 3] == Status.PRIMARY).all()
    assert first.content_hash != second.content_hash


def test_kinds_of_tables_are_those_of_the_paper() -> None:
    made = preprocessing.tables(preprocessing.Scale(31, (4, 6), (3, 4), 1.0, 1, (4, 4, 4), 1), 1)
    counts = {kind: sum(other == kind for other, _ in made) for kind, _ in made}
    assert counts == {(2, 0): 15, (2, 1): 14, (2, 2): 1, (3, 0): 2}


def test_failures_are_taken_off_the_saving_as_in_table_5() -> None:
    """K3: 28.81 % on average, 101 of 318 failed: 28.81 − 100 · 101 / 318 = −2.95."""
    rows = [
        {"algorithm": name, "saving": 28.81, "protected": k >= 101}
        for name in ("E", "K1", "K3", "K5")
        for k in range(318)
    ]
    k3 = next(row for row in preprocessing._table_5(rows) if row["algorithm"] == "K3")
    assert k3["adjusted saving (%)"] == pytest.approx(-2.95, abs=0.005) and k3["failed"] == 101


def test_marginal_patterns_are_safe_and_proven_by_chains() -> None:
    for seed in range(4):
        problem = random_table((9, 8), contributors=3, seed=seed)
        draft = searching.marginal(problem)
        report = audit_outsider(
            problem, Pattern.hiding(problem, draft.hidden, "m"), exact=False, claims=draft.witnesses
        )
        assert report.is_safe
        leaves = all(
            not dimension.is_parent[column[problem.primaries]].any()
            for column, dimension in zip(problem.table.keys, problem.table.dimensions, strict=True)
        )
        assert report.num_lps == 0 or not leaves


def test_figures_are_rounded_for_people_only() -> None:
    figures = Figures("t", "x", [{"a": 123456.7, "b": 0.12345, "c": 12345, "d": None, "e": True}])
    assert figures.markdown().splitlines()[-1] == "| 123,457 | 0.123 | 12,345 |  | True |"
    assert figures.csv().splitlines()[-1] == "123456.7,0.12345,12345,,True"
    assert "(no rows)" in Record("t", {}, [Figures("t", "x", [])]).markdown()


def test_equal_figures_have_no_significance() -> None:
    assert wilcoxon([1.0, 2.0], [1.0, 2.0]) is None
    rng = np.random.default_rng(1)
    base = rng.random(40)
    assert wilcoxon((base + 1).tolist(), base.tolist()) < 1e-6  # type: ignore[operator]
