"""`verify` on the files of a job: against whom the pattern is shown to be protected, and against whom not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from helpers.command import Command

JOB = """\
output = "out"
[microdata]
file = "firms.csv"
contributor = "firm"
[[tables]]
dimensions = ["region", "size"]
response = "turnover"
[[rules]]
rule = "p%"
p = 10
[[attackers]]
kind = "insider"
{more}
"""


def run_job(folder: Path, command: Command, more: str = "") -> tuple[Path, Path, Path]:
    """The internal files of a job that keeps single contributors off: instance, pattern and certificate."""
    rng = np.random.default_rng(5)
    lines = ["firm,region,size,turnover"]
    for firm in range(90):
        turnover = (rng.integers(1, 4000) ** 2 / 100).round(2)
        lines.append(f"Firm {firm} Ltd,{'NSWE'[rng.integers(4)]},{'slm'[rng.integers(3)]},{turnover}")
    (folder / "firms.csv").write_text("\n".join(lines) + "\n")
    (folder / "job.toml").write_text(JOB.format(more=more))
    done = command("run", folder / "job.toml")
    assert done.code == 0, done.out + done.err
    internal = folder / "out" / "internal"
    return internal / "instance", internal / "pattern.csv", internal / "certificate"


def test_a_stranger_verifies_a_job_from_its_files(tmp_path: Path, command: Command) -> None:
    files = run_job(tmp_path, command)
    done = command("verify", *files)
    assert done.code == 0, done.out + done.err
    assert "Valid" in done.out
    assert "Shown to be protected against outsiders and every single contributor." in done.out
    done = command("verify", *files, "--json")
    figures = json.loads(done.out)
    assert figures["valid"] and figures["against"] == "outsiders and every single contributor"
    outsider, insider = figures["attackers"]
    assert outsider["shown"] and outsider["kind"] == "outsider" and outsider["level"] is None
    assert insider["shown"] and (insider["kind"], insider["level"], insider["coalition"]) == (
        "insider",
        "unit",
        1,
    )
    assert insider["certified_demands"] == insider["demands"] > 0
    assert b"Ltd" not in files[2].read_bytes()
    named = [file for file in files[0].iterdir() if "Ltd" in file.read_text()]
    assert [file.name for file in named] == ["contributor_ids.csv"]
    public = [file for file in (tmp_path / "out" / "public").rglob("*") if file.is_file()]
    assert public and not any(b"Ltd" in file.read_bytes() for file in public)
    named[0].unlink()
    assert command("verify", *files).code == 0, "ids serve explanations only"


@pytest.mark.parametrize("file", ["largest_units.csv", "level_origins.csv"])
def test_without_what_it_rests_on_it_is_not_valid(file: str, tmp_path: Path, command: Command) -> None:
    files = run_job(tmp_path, command)
    (files[0] / file).unlink()
    done = command("verify", *files)
    assert done.code == 1 and "NOT VALID" in done.out and "Fault" in done.out
    assert "Shown to be protected against nobody." in done.out


def test_the_audit_of_the_files_agrees(tmp_path: Path, command: Command) -> None:
    instance, pattern, _ = run_job(tmp_path, command)
    done = command("audit", instance, pattern, "--attacker", "insider")
    assert done.code == 0, done.out + done.err
