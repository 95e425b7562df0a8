"""Bounds below what everybody knows: refused without a reason, and repeated in words with one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import cellveil as cv
from cellveil.errors import InputError, NotSafeError
from cellveil.problem import UNKNOWN_SIGNS
from cellveil.tables.scaled import UNBOUNDED
from helpers.command import Command

PERSONS = "".join(
    f"{region},{sex}\n" * number
    for region, sex, number in [
        ("A", "f", 1),
        ("A", "m", 9),
        ("B", "f", 8),
        ("B", "m", 1),
        ("C", "f", 7),
        ("C", "m", 6),
    ]
)
MICRODATA = '[microdata]\nfile = "persons.csv"\n[[tables]]\ndimensions = ["region", "sex"]\n'
READY_MADE = '[[tables]]\ndimensions = ["region"]\nfile = "table.csv"\n'
ROWS = "A,1,1,-5\nB,9,9,0\nC,8,8,0\nTotal,18,18,0\n"
RULE = '[[rules]]\nrule = "threshold"\nminimum = 3\n'
REASON = "Net migration, by chance positive everywhere."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "persons.csv").write_text(f"region,sex\n{PERSONS}")
    (tmp_path / "table.csv").write_text(f"region,value,persons,low\n{ROWS}")
    return tmp_path


def job(folder: Path, top: str, body: str) -> Path:
    path = folder / "job.toml"
    path.write_text(f"output = 'out'\nattackers = []\n{top}\n{body}{RULE}")
    return path


DOORS = {
    "free": ('bounds = "free"', MICRODATA),
    "column": ("", f'{READY_MADE}contributors = "persons"\nlb = "low"\n'),
    "ready-made": ('bounds = "free"', f'{READY_MADE}contributors = "persons"\n'),
}


@pytest.mark.parametrize("command_name", ["run", "check", "compare"])
@pytest.mark.parametrize("door", DOORS)
def test_without_a_reason_they_are_refused(
    folder: Path, command: Command, door: str, command_name: str
) -> None:
    ended = command(command_name, job(folder, *DOORS[door]))
    assert ended.code == 2
    assert UNKNOWN_SIGNS in ended.err and "bounds_reason" in ended.err
    assert not (folder / "out").exists()


@pytest.mark.parametrize("door", DOORS)
def test_with_a_reason_verdict_report_and_release_repeat_it(
    folder: Path, command: Command, door: str
) -> None:
    top, body = DOORS[door]
    path = job(folder, f'{top}\nbounds_reason = "{REASON}"', body)
    ended = command("run", path)
    assert ended.code == 0, ended
    told = " ".join(ended.out.split())
    assert UNKNOWN_SIGNS in told and REASON in told
    report = json.loads((folder / "out/internal/report.json").read_text())
    assert UNKNOWN_SIGNS in report["verdict"] and REASON in report["verdict"]
    about = json.loads((folder / "out/public/about.json").read_text())
    assert UNKNOWN_SIGNS in about["assumes"] and REASON in about["assumes"]
    assert UNKNOWN_SIGNS in " ".join(command("check", path).out.split())


def test_what_a_job_wrote_says_it_again(folder: Path, command: Command) -> None:
    top, body = DOORS["free"]
    cv.run_job(job(folder, f'{top}\nbounds_reason = "{REASON}"', body))
    internal = folder / "out/internal"
    files = internal / "instance", internal / "pattern.csv"
    assert UNKNOWN_SIGNS in " ".join(command("audit", *files, "--attacker", "outsider").out.split())
    assert UNKNOWN_SIGNS in " ".join(command("verify", *files, internal / "certificate").out.split())


def test_of_an_instance(folder: Path) -> None:
    problem = cv.two_way([[20, 50, 10], [8, 19, 22]], primaries={(0, 0): 3})
    wide = problem.replace(lb=np.full(problem.table.num_cells, -UNBOUNDED))
    cv.write_instance(wide, folder / "instance")
    text = 'output = "out"\ninstance = "instance"\n'
    (folder / "job.toml").write_text(text)
    with pytest.raises(InputError, match="bounds_reason"):
        cv.run_job(folder / "job.toml")
    found = cv.suppress(cv.read_instance(folder / "instance"))
    assert found.is_safe and UNKNOWN_SIGNS in found.audit.verdict
    with pytest.raises(NotSafeError, match="no reason is given"):
        cv.release(found, folder / "public")
    assert not (folder / "public").exists()
    (folder / "job.toml").write_text(f'bounds_reason = "{REASON}"\n{text}')
    result = cv.run_job(folder / "job.toml")
    assert result.release is not None and REASON in result.report.verdict


def test_a_reason_that_nothing_needs_is_an_error(folder: Path) -> None:
    with pytest.raises(InputError, match="bounds_reason"):
        cv.read_job(job(folder, f'bounds_reason = "{REASON}"', MICRODATA))
