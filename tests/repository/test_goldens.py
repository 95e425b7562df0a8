"""The quick part of the recorded results, and the scripts that compare: what is planted is reported."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers.pages import ROOT

sys.path += [str(ROOT / "tools"), str(ROOT / "benchmarks")]

import yardstick

import goldens
from golden_units import Unit, lasting, lasting_json

GROUPS = sorted(file.stem for file in goldens.GOLDENS.glob("*.jsonl"))


@pytest.mark.skipif(
    not goldens.MACHINE.exists() or json.loads(goldens.MACHINE.read_text("utf-8")) != goldens.machine(),
    reason="results agree to the last bit only with the libraries of tests/goldens/machine.json",
)
@pytest.mark.filterwarnings("ignore")  # as where they are recorded
@pytest.mark.parametrize("group", GROUPS)
def test_results_are_those_recorded(group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in goldens.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    recorded, told = goldens.read(group), []
    for unit in goldens.all_units([group], quick=True):
        found = dict(unit.run())
        told += [*goldens.differences(recorded, found), *goldens.missing(recorded, unit, found)]
    assert not told, "\n".join([*told, "Meant? Then: python tools/goldens.py record; see its head"])


def unit(name: str, **aspects: Any) -> Unit:
    return Unit("planted", name, lambda: [(f"{name} · auto", aspects)])


def given(*units: Unit, monkeypatch: pytest.MonkeyPatch, folder: Path) -> argparse.Namespace:
    """Arguments under which these units, in this process, are all there is."""
    monkeypatch.setattr(goldens, "GOLDENS", folder)
    monkeypatch.setattr(goldens, "MACHINE", folder / "machine.json")
    monkeypatch.setattr(goldens, "all_units", lambda *_, **__: list(units))
    monkeypatch.setattr(goldens, "run_units", lambda *_: [(one, dict(one.run()), 0.0) for one in units])
    return argparse.Namespace(groups=[], only="", quick=False, workers=1, clock=1.0)


def test_a_planted_difference_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    both = {"monkeypatch": monkeypatch, "folder": tmp_path}
    assert goldens.record(given(unit("6x6", hidden="a", cost=100), unit("7x7", hidden="b"), **both)) == 0
    assert goldens.compare(given(unit("6x6", hidden="a", cost=100), unit("7x7", hidden="b"), **both)) == 0
    capsys.readouterr()

    assert goldens.compare(given(unit("6x6", hidden="c", cost=121), **both)) == 1
    told = capsys.readouterr().out
    assert "planted: 6x6 · auto: hidden a → c; cost 100 → 121" in told and "1.21000" in told

    crash = Unit("planted", "6x6", lambda: [("6x6", {goldens.CRASH: "KeyError"})])
    assert goldens.compare(given(crash, **both)) == 1
    told = capsys.readouterr().out
    assert "6x6: not recorded" in told and "6x6 · auto: recorded, and no longer there" in told
    assert goldens.record(given(crash, **both)) == 1, "a crash is not recorded"


def test_a_part_that_is_recorded_leaves_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = {"monkeypatch": monkeypatch, "folder": tmp_path}
    goldens.record(given(unit("6x6", hidden="a"), unit("7x7", hidden="b"), **both))
    arguments = given(unit("7x7", hidden="c"), **both)
    arguments.only = "7x7"
    goldens.record(arguments)
    assert goldens.read("planted") == {"6x6 · auto": {"hidden": "a"}, "7x7 · auto": {"hidden": "c"}}


def test_what_changes_from_run_to_run_is_left_out() -> None:
    text = 'at 2026-01-31 12:00:00, after 3.5 s, in /tmp/x/out, "a.csv": "' + 64 * "0" + '"'
    assert lasting(text, {"/tmp/x": "‹folder›"}) == (
        'at ‹time›, after ‹seconds›, in ‹folder›/out, "a.csv": "‹sum›"'
    )
    assert lasting_json({"cost": 1, "parts": [{"seconds": 2, "gap": 0}]}) == {
        "cost": 1,
        "parts": [{"gap": 0}],
    }


# -- the yardstick -------------------------------------------------------------------------------------------


def runs(cost: float, *, safe: bool = True, number: int = 3) -> list[dict[str, Any]]:
    return [
        {"family": "counts", "table": "t", "seed": seed, "limit": 10.0, "cost": cost * seed, "is_safe": safe}
        | {"bound": 50.0, "suppressed": 7}
        for seed in range(1, number + 1)
    ]


@pytest.mark.parametrize(
    ("new", "fault"),
    [
        (runs(100.5), ""),
        (runs(90), ""),
        (runs(102), "2.0 % more cost"),
        (runs(100, safe=False), "3 no longer safe"),
        (runs(100, number=2), "1 runs missing"),
    ],
)
def test_a_family_that_got_worse_is_reported(new: list[dict[str, Any]], fault: str) -> None:
    lines, holds = yardstick.compared(runs(100), new, 1.0)
    assert holds == (not fault) and fault in lines[-1]


def test_a_run_that_is_interrupted_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, done = tmp_path / "new" / "r.json", []

    def quickly(task: dict[str, Any]) -> dict[str, Any]:
        done.append(task["seed"])
        return {"cost": 1.0, "is_safe": True}

    monkeypatch.setattr(yardstick, "in_own_process", quickly)
    arguments = argparse.Namespace(family=["a million cells"], limit=[10.0], seeds=1, out=file)
    yardstick.run_all(arguments)
    arguments.seeds = 2
    yardstick.run_all(arguments)
    assert done == [1, 2] and [run["seed"] for run in yardstick.read(file)] == [1, 2]


@pytest.mark.parametrize("family", ["two-way", "moderate values", "counts", "unit weights", "giants"])
def test_tables_of_the_yardstick_have_what_their_family_says(family: str) -> None:
    make = next(iter(yardstick.FAMILIES[family].values()))
    problem = make(1)
    assert problem.content_hash == make(1).content_hash != make(2).content_hash
    assert len(problem.primaries) > 20 and ((problem.weight == 1).all() == (family == "unit weights"))
