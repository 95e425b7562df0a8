"""The verbs of a worker, in this very process: what each writes, tells, and ends with."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

import cellveil as cv
from cellveil.errors import InputError
from cellveil.formats.tidy_folder import write_folder
from cellveil.service.job_folders import JobFolder
from cellveil.service.worker_channel import Channel
from cellveil.service.worker_task import WorkerTask, perform
from helpers.command import Command
from helpers.service import FIRMS, JOB

LIMITS = {"rows": 10_000, "unpacked": 10_000_000}


def performed(verb: str, folder: JobFolder, **options: Any) -> tuple[int, dict[str, Any]]:
    """The exit code, and the last line that was told."""
    told = io.StringIO()
    given = {"verb": verb, "folder": str(folder.path), "options": options, "limits": LIMITS}
    code = perform(WorkerTask.of(given, Channel(told)))
    return code, json.loads(told.getvalue().splitlines()[-1])["data"]


def report(folder: JobFolder) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder.out / "internal/report.json").read_text("utf-8"))
    return found


@pytest.fixture
def folder(tmp_path: Path) -> JobFolder:
    """A job with an instance of two ways."""
    problem = cv.two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
    write_folder(problem, tmp_path / "instance")
    made = JobFolder(tmp_path / "job")
    files = {f"inst/{path.name}": path for path in (tmp_path / "instance").iterdir()}
    made.fill({}, "", files)
    return made


def test_verbs_on_an_instance(folder: JobFolder, command: Command) -> None:
    code, told = performed("suppress", folder, instance="inst", method="optimal")
    internal = folder.out / "internal"
    assert (code, told["safe"]) == (0, True) and report(folder)["outcome"] == "optimal"
    for name in ("pattern.csv", "certificate"):
        (internal / name).rename(folder.input / name)

    named = {"instance": "inst", "pattern": "pattern.csv"}
    assert performed("audit", folder, **named)[0] == 0
    instance, pattern = folder.input / "inst", folder.input / "pattern.csv"
    here = json.loads(command("audit", instance, pattern, "--json").out)
    assert report(folder)["cells"] == here["cells"] and report(folder)["safe"]

    code, told = performed("verify", folder, **named, certificate="certificate")
    assert (code, told["safe"]) == (0, True) and report(folder)["valid"]

    code, told = performed("adjust", folder, instance="inst")
    assert (code, told["safe"]) == (0, True) and (internal / "adjusted.csv").is_file()

    text = pattern.read_text()
    pattern.write_text(text.replace(",m", ",s"))
    assert performed("audit", folder, **named)[0] == 1
    assert performed("verify", folder, **named, certificate="certificate")[0] == 1


def test_methods_side_by_side(tmp_path: Path) -> None:
    (tmp_path / "firms.csv").write_text(FIRMS)
    folder = JobFolder(tmp_path / "job")
    folder.fill({}, JOB, {"data/firms.csv": tmp_path / "firms.csv"})
    code, told = performed("compare", folder, methods=["hypercube", "network"], weights=["given"])
    assert (code, told["safe"]) == (0, True)
    assert [run["method"] for run in report(folder)["runs"]] == ["hypercube", "network"]
    assert "<svg" in (folder.out / "internal/comparison.html").read_text("utf-8")


def test_an_infeasible_job_has_a_report_and_views(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("region,value,status\nTotal,30,z\nA,10,u\nB,20,z\n")
    folder = JobFolder(tmp_path / "job")
    toml = '[[tables]]\ndimensions = ["region"]\nfile = "t.csv"\n[suppress]\nmethod = "hypercube"\n'
    folder.fill({}, toml, {"t.csv": tmp_path / "t.csv"})
    code, told = performed("run", folder)
    assert (code, told["safe"]) == (3, False) and told["error"]["kind"] == "infeasible"
    assert "INFEASIBLE" in told["verdict"] and report(folder)["outcome"] == "infeasible"
    assert (folder.view / "manifest.json").is_file() and not (folder.out / "public").exists()


def test_limits_hold_for_every_verb(folder: JobFolder) -> None:
    (folder.input / "inst/more.csv").write_text("a\n" * 20_000)
    for verb in ("suppress", "adjust", "audit", "verify"):
        with pytest.raises(InputError, match="10,000 records"):
            performed(verb, folder, instance="inst", pattern="x", certificate="x")
