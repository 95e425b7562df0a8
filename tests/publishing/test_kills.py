"""A run may be killed at any moment: public has the old release or the new one, whole, and nothing stays."""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cellveil.errors import InputError
from cellveil.job.output_folder import open_output
from cellveil.publishing.kept_releases import changed_files, kept_releases
from cellveil.publishing.staging import Staging
from helpers.command import Command, listing
from helpers.kill_points import NEW, OLD, SCENARIOS, run

HELPERS = Path(__file__).parents[1] / "helpers"
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that are copies")

CASES = [
    pytest.param(scenario, way, marks=() if (scenario, way) == ("replace", "exchange") else pytest.mark.slow)
    for scenario in SCENARIOS
    for way in ("exchange", "renames")
]


@pytest.mark.parametrize(("scenario", "way"), CASES)
def test_a_kill_at_every_change_of_the_file_system(scenario: str, way: str, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, HELPERS / "kill_points.py", tmp_path, scenario, way],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert found["wrong"] == [], ended.stderr
    assert found["kills"] >= (30 if scenario == "direct" else 36)


JOB = """
output = "out"
[[tables]]
dimensions = ["region"]
file = "table.csv"
totals = "none"
[[cells]]
key = {region = "N"}
status = "u"
"""


def write_job(folder: Path) -> None:
    (folder / "table.csv").write_text("region,value\nN,20\nS,30\nW,50\n")
    (folder / "job.toml").write_text(JOB)


def test_a_second_run_into_the_same_folder_ends_at_once(tmp_path: Path, command: Command) -> None:
    write_job(tmp_path)
    with open_output(tmp_path / "out", []):
        before = listing(tmp_path)
        ended = command("run", tmp_path / "job.toml")
        assert ended.code == 2 and "another run is writing into this folder" in ended.err
        assert str(tmp_path / "out" / "public") in ended.err
        assert listing(tmp_path) == before
    assert command("run", tmp_path / "job.toml").code == 0
    modes = {
        path.relative_to(tmp_path / "out"): path.stat().st_mode & 0o777 for path in walk(tmp_path / "out")
    }
    assert all(mode & 0o077 == 0 for path, mode in modes.items() if path.parts[0] == "internal")
    assert modes[Path("internal")] == 0o700 and modes[Path("internal/pattern.csv")] == 0o600
    assert modes[Path("public/table.csv")] & 0o400


def walk(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


@pytest.mark.parametrize("broken", ["public", "internal"])
def test_a_failing_exchange_leaves_both_folders(
    broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path / "out", OLD)
    before = listing(tmp_path)
    real = Staging.exchange

    def exchange(self: Staging) -> None:
        if self.folder.name == broken:
            raise OSError("device is busy")
        real(self)

    monkeypatch.setattr(Staging, "exchange", exchange)
    for what in (NEW,) if broken == "public" else (NEW, None):
        with pytest.raises(InputError, match="nothing was released"):
            run(tmp_path / "out", what)
        assert listing(tmp_path) == before


def test_what_comes_in_at_the_last_moment_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path, OLD)
    real = Staging.exchange

    def exchange(self: Staging) -> None:
        if self.folder.exists():
            (self.folder / "late.txt").write_text("late")
        real(self)

    monkeypatch.setattr(Staging, "exchange", exchange)
    run(tmp_path, NEW)
    assert (tmp_path / "public" / "late.txt").read_text() == "late"
    assert (tmp_path / "internal" / "late.txt").read_text() == "late"
    assert [path.name for path in walk(tmp_path) if path.name.startswith(".")] == []


def test_a_release_that_could_not_be_told_is_not_denied(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_job(tmp_path)

    def broken(*_: object) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("cellveil.cli.run._ending", broken)
    ended = command("run", tmp_path / "job.toml")
    assert ended.code == 2 and "the release is made" in ended.err
    assert "othing was released" not in ended.err


@pytest.mark.slow
def test_a_hundred_jobs_killed_at_random_moments(tmp_path: Path) -> None:
    """Whole jobs, as processes; half of the kills fall into the time of writing."""
    write_job(tmp_path)
    program = [sys.executable, "-m", "cellveil", "run", tmp_path / "job.toml", "--quiet"]

    def result() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in walk(tmp_path / "out" / "public")}

    def run_with(values: str) -> dict[str, bytes]:
        (tmp_path / "table.csv").write_text(f"region,value\n{values}")
        assert subprocess.run(program, check=False).returncode == 0
        return result()

    one, two = "N,20\nS,30\nW,50\n", "N,21\nS,31\nW,57\n"
    wanted = {one: run_with(one), two: run_with(two)}
    present, draw = two, random.Random(1)
    for number in range(100):
        other = one if present == two else two
        (tmp_path / "table.csv").write_text(f"region,value\n{other}")
        process = subprocess.Popen(program)
        if number % 2:
            while process.poll() is None and not list(
                (tmp_path / "out").glob(".internal.cellveil-[0-9a-f]*")
            ):
                time.sleep(0.001)
            time.sleep(draw.random() * 0.05)
        else:
            time.sleep(draw.random() * 3)
        process.kill()
        process.wait()
        found = result()
        assert found in (wanted[present], wanted[other])
        present = present if found == wanted[present] else other
        for path in (tmp_path / "out").iterdir():
            assert path.name == "public" or path.is_file() or path.stat().st_mode & 0o077 == 0
    assert run_with(one) == wanted[one]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["internal", "public", "releases"]
    kept = kept_releases(tmp_path / "out")
    assert [changed_files(path) for path in kept] == [[], []]
    copies = [{path.name: path.read_bytes() for path in folder.iterdir()} for folder in kept]
    assert all(files in copies for files in wanted.values())
