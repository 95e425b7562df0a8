"""No confidential value in logs, errors or the SQLite file; nothing that a spreadsheet would run."""

import csv
import io
import logging
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.service import JOB, RunningService, ServiceClient, running_service

PLANTED = "8675309"
"""A number that occurs nowhere but in the data."""


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.DEBUG):
        yield caplog


def bad_files() -> dict[str, str]:
    head = "firm,region,size,turnover\n"
    good = "".join(f"f{n},N{n % 3},small,{PLANTED}\n" for n in range(9))
    return {
        "a text for a number": f"{head}{good}f9,N1,small,{PLANTED}x\n",
        "a missing field": f"{head}{good}f9,N1,small,{PLANTED}\nf10,{PLANTED}\n",
        "too large": f"{head}{good}f9,N1,small,{PLANTED}{'0' * 30}\n",
        "negative": f"{head}{good}f9,N1,small,-{PLANTED}\n",
        "unbalanced quotes": f'{head}{good}f9,"N1,small,{PLANTED}\n',
    }


@pytest.mark.parametrize("number", [2, pytest.param(5, marks=pytest.mark.slow)])
def test_no_value_of_the_data_is_told(tmp_path: Path, logged: pytest.LogCaptureFixture, number: int) -> None:
    answers: list[str] = []
    with running_service(tmp_path / "state") as service, service.client() as ann:
        for content in list(bad_files().values())[:number]:
            file = ann.send_file(f"firms.csv?x={PLANTED[::-1]}", content)["id"]
            answer = ann.post("/checks", json={"toml": JOB, "files": {"data/firms.csv": file}})
            answers.append(answer.text)
            assert answer.status_code in (200, 422)
        assert sum("error" in answer for answer in answers) >= number - 1
        kept = b"".join(path.read_bytes() for path in (tmp_path / "state").glob("service.db*"))
    assert not any(PLANTED in answer for answer in answers)
    assert PLANTED.encode() not in kept
    assert PLANTED not in logged.text
    assert str(tmp_path) not in "".join(answers)


def test_the_log_has_no_names_and_tokens(
    service: RunningService, ann: ServiceClient, logged: pytest.LogCaptureFixture
) -> None:
    file = ann.send_file("planted-name.csv", "a\n1\n")
    ann.delete(f"/files/{file['id']}")
    ann.get("/jobs/planted-id-00000/cells/planted-code/explanation")
    text = "\n".join(record.getMessage() for record in logged.records if record.name.startswith("cellveil"))
    assert "POST /files" in text or "/files" in text
    assert "planted" not in text and "token" not in text


def test_a_bug_tells_its_place_only(
    service: RunningService,
    ann: ServiceClient,
    monkeypatch: pytest.MonkeyPatch,
    logged: pytest.LogCaptureFixture,
) -> None:
    def broken(owner: str) -> None:
        raise RuntimeError(f"quotes {PLANTED}")

    monkeypatch.setattr(service.desk.store, "files_of", broken)
    answer = ann.get("/files")
    assert answer.status_code == 500 and "RuntimeError" in answer.json()["error"]["message"]
    assert PLANTED not in answer.text and PLANTED not in logged.text


ODD = ('=cmd|"/C calc"!A0', "@SUM(1)", "+1+1", "<img src=x onerror=alert(1)>")


@pytest.mark.slow
def test_what_is_released_runs_nowhere(ann: ServiceClient) -> None:
    """Codes that a spreadsheet would take for formulas, or a browser for tags."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["firm", "region", "size", "turnover"])
    writer.writerows([f"f{n}", ODD[n % 4], "small" if n % 3 else "large", 10 + n] for n in range(60))
    files = {"data/firms.csv": ann.send_file("=cmd.csv", text.getvalue())["id"]}
    toml = JOB.replace('"csv", "html"', '"csv", "html", "xlsx"')
    job = ann.waited(ann.submit(toml, files, name="=1+1"))
    assert job["safe"], job
    with zipfile.ZipFile(io.BytesIO(ann.get(f"/jobs/{job['id']}/downloads/release.zip").content)) as packed:
        for name in packed.namelist():
            content = packed.read(name)
            if name.endswith(".csv"):
                fields = [
                    field for row in csv.reader(io.StringIO(content.decode("utf-8-sig"))) for field in row
                ]
                assert not [
                    field for field in fields if field[:1] in "=@+" and field[1:2] not in "0123456789"
                ]
            if name.endswith(".html"):
                assert b"<img" not in content
            if name.endswith(".xlsx"):
                with zipfile.ZipFile(io.BytesIO(content)) as book:
                    assert not [part for part in book.namelist() if b"<f>" in book.read(part)]
    for part in ann.get(f"/jobs/{job['id']}/view").json()["parts"]:
        assert "<img" not in ann.get(f"/jobs/{job['id']}/view/{part['name']}").text
