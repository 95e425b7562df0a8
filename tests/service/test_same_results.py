"""The service gives the results of the command line: uploaded records, built-in data, the way of the page."""

import io
import json
import zipfile
from pathlib import Path

import pytest

from cellveil.job import read_job, run_job
from helpers.command import Command
from helpers.service import FIRMS, JOB, ServiceClient


def public_files(archive: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(archive)) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def run_here(archive: bytes, folder: Path) -> dict[str, bytes]:
    """Run what job.zip holds as a person would, and give the public files."""
    with zipfile.ZipFile(io.BytesIO(archive)) as packed:
        packed.extractall(folder)
    result = run_job(read_job(folder / "job.toml"))
    assert result.release is not None
    public = result.release.folder
    return {
        path.relative_to(public).as_posix(): path.read_bytes() for path in public.rglob("*") if path.is_file()
    }


def figures(report: bytes) -> dict[str, object]:
    data = json.loads(report)
    return {
        key: data[key]
        for key in ("verdict", "cost", "primaries", "secondaries", "demands", "hashes", "rules")
    }


def test_uploaded_records_give_the_files_of_the_command_line(
    ann: ServiceClient, firms: str, tmp_path: Path, command: Command
) -> None:
    id = ann.submit(JOB, {"data/firms.csv": firms}, name="Turnover")
    with ann.stream("GET", f"/jobs/{id}/events") as events:
        lines = list(events.iter_lines())
    job = ann.job(id)
    assert (job["state"], job["exit_code"], job["safe"], job["name"]) == ("done", 0, True, "Turnover")
    assert "event: progress" in lines and "event: end" in lines

    released = public_files(ann.get(f"/jobs/{id}/downloads/release.zip").content)
    here = run_here(ann.get(f"/jobs/{id}/downloads/job.zip").content, tmp_path)
    assert {name for name in here if not name.startswith(".")} == set(released) and len(here) > 1
    assert [name for name in here if here[name] != released.get(name)] == []
    internal = tmp_path / "results" / "internal"
    assert ann.get(f"/jobs/{id}/downloads/pattern.csv").content == (internal / "pattern.csv").read_bytes()
    assert figures(ann.get(f"/jobs/{id}/downloads/report.json").content) == figures(
        (internal / "report.json").read_bytes()
    )

    result = ann.get(f"/jobs/{id}/result").json()
    assert result["safe"] and result["against"] == "outsiders" and "contributors" in result["not_asked"]
    view = ann.get(f"/jobs/{id}/view").json()
    for part in (*(one["name"] for one in view["parts"]), view["cells"]):
        assert ann.get(f"/jobs/{id}/view/{part}").status_code == 200
    assert ann.get(f"/jobs/{id}/view/search.svg").status_code in (200, 404)

    told = ann.get(f"/jobs/{id}/cells/N1,small/explanation").json()
    assert told == json.loads(command("explain", tmp_path / "job.toml", "N1,small", "--json").out)

    asked = ann.get(f"/jobs/{id}/request").json()
    assert asked["toml"] == JOB and asked["files"] == {"data/firms.csv": firms}


def test_what_the_page_proposes_for_an_upload_can_be_checked(
    ann: ServiceClient, firms: str, tmp_path: Path, command: Command
) -> None:
    found = ann.post(f"/files/{firms}/columns").json()
    roles = {column["name"]: column["role"] for column in found["columns"]}
    assert roles == {
        "firm": "contributor",
        "region": "dimension",
        "size": "dimension",
        "turnover": "response",
    }
    assert (found["kind"], found["rows"]) == ("records", 120)
    draft = ann.post("/drafts", json={"source": {"file": firms}, "choices": found["proposed"]}).json()
    assert draft["files"] == {"data/firms.csv": firms}
    answer = ann.post("/checks", json=draft)
    (tmp_path / "data").mkdir()
    (tmp_path / "data/firms.csv").write_text(FIRMS)
    (tmp_path / "job.toml").write_text(draft["toml"])
    told = json.loads(command("check", tmp_path / "job.toml", "--json").out)
    assert answer.status_code == 200 and answer.json() == told
    assert set(told["rules"]) == {"p% rule (p = 10)", "threshold rule (minimum 3)"}


@pytest.mark.slow
def test_built_in_data_give_the_files_of_the_command_line(ann: ServiceClient, tmp_path: Path) -> None:
    found = ann.post("/datasets/business-small/columns").json()
    choices = found["proposed"] | {"method": "hypercube", "time_limit": None}
    draft = ann.post("/drafts", json={"source": {"dataset": "business-small"}, "choices": choices}).json()
    id = ann.submit(draft["toml"], draft["files"])
    assert ann.waited(id)["safe"]
    released = public_files(ann.get(f"/jobs/{id}/downloads/release.zip").content)
    here = run_here(ann.get(f"/jobs/{id}/downloads/job.zip").content, tmp_path)
    different = [name for name in released if here[name] != released[name] and not name.endswith(".xlsx")]
    assert different == [] and len(released) > 3


def test_a_job_can_be_run_again_with_changes_and_deleted(
    ann: ServiceClient, firms: str, sleepers: None
) -> None:
    first = ann.submit(JOB, {"data/firms.csv": firms}, draft={"step": 3})
    assert ann.post(f"/jobs/{first}/cancel").status_code == 202
    assert ann.waited(first)["state"] == "cancelled"
    assert ann.delete(f"/files/{firms}").status_code == 204
    again = ann.post(
        f"/jobs/{first}/again", json={"toml": JOB.replace("p%:10", "p%:5"), "name": "again"}
    ).json()
    assert again["id"] != first and ann.get(f"/jobs/{again['id']}/request").json()["draft"] == {"step": 3}
    assert "p%:5" in ann.get(f"/jobs/{again['id']}/downloads/job.toml").text
    assert ann.post(f"/jobs/{first}/again", json={"toml": "labels = '/etc/passwd'"}).status_code == 422
    for id in (first, again["id"]):
        assert ann.delete(f"/jobs/{id}").status_code == 204
        assert ann.get(f"/jobs/{id}").status_code == 404


def test_an_error_of_the_engine_is_told_whole(ann: ServiceClient, firms: str) -> None:
    id = ann.submit(JOB.replace('"turnover"', '"turnovr"'), {"data/firms.csv": firms})
    job = ann.waited(id)
    assert (job["state"], job["exit_code"]) == ("failed", 2)
    error = job["error"]
    assert error["file"] == "data/firms.csv" and "turnovr" in error["message"] and "turnover" in error["hint"]
    assert ann.get(f"/jobs/{id}/result").status_code == 409
    names = {one["name"] for one in ann.get(f"/jobs/{id}/downloads").json()}
    assert names == {"job.toml", "job.zip"}
