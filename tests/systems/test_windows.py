"""Windows, played: device names, capitals, drives, files that are open, functions that are not there."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import cellveil.files
import cellveil.publishing.lock
import cellveil.publishing.staging
import cellveil.service.worker
import cellveil.service.worker_process
from cellveil import tabulate
from cellveil.errors import InputError
from cellveil.files import flush_folder, path_from, write_text
from cellveil.microdata.data_files import expand_files
from cellveil.publishing import swap as swap_module
from cellveil.publishing.staging import new_run, staged
from cellveil.service.job_folders import JobFolder, checked_name, safe_name
from cellveil.service.worker_process import WorkerProcess
from cellveil.tasks.choice import default_workers
from helpers.command import Command
from helpers.other_systems import WINDOWS, as_on_windows, second_name

posix = pytest.mark.skipif(os.name != "posix", reason="this plays Windows elsewhere")

RECORDS = "region,branch,sales\nN,a,5\nN,b,7\nN,c,5\nS,a,6\nS,b,9\nS,c,8\n"

JOB = """
output = "out"
rules = ["threshold:1"]

[microdata]
file = "firms.csv"
decimal = "."

[[tables]]
name = "aux"
dimensions = ["region"]
response = "sales"

[[tables]]
name = "AUX"
dimensions = ["branch"]
response = "sales"

[release]
formats = ["csv"]
"""


def test_tables_named_as_devices_or_alike_but_for_capitals(tmp_path: Path, command: Command) -> None:
    """A job with lines that end as on Windows, and a byte-order mark."""
    for name, text in (("firms.csv", RECORDS), ("job.toml", JOB)):
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    ended = command("run", tmp_path / "job.toml")
    assert ended.code == 0, ended.err
    files = sorted(path.name for path in (tmp_path / "out" / "public").iterdir())
    assert files == ["about.json", "table-AUX-2.csv", "table-aux.csv"]


def test_files_of_tables_keep_apart_on_disk_and_are_no_devices() -> None:
    from cellveil.publishing.releasing import _stems

    names = ["Sales", "SALES", "straße", "STRASSE", "é", "e\u0301", "nul.x", "com1", "a.", "CON"]
    stems = _stems(names)
    assert len({cellveil.files.folded_name(stem) for stem in stems}) == len(names)
    assert not any(cellveil.files.is_reserved_name(f"{stem}.csv") for stem in stems)
    assert not any(stem.endswith((".", " ")) or set(stem) & set('<>:"/\\|?*') for stem in stems)


@pytest.mark.parametrize(
    "name",
    [
        *("C:/data/firms.csv", "C:firms.csv", "\\\\server\\share\\firms.csv", "//server/share/firms.csv"),
        *("data\\firms.csv", "aux.csv", "NUL", "x/com1.tar.gz", "firms.csv.", "firms.csv ", "firms.csv:more"),
    ],
)
def test_the_service_takes_no_name_that_means_something_else(name: str) -> None:
    with pytest.raises(InputError, match="plain name"):
        checked_name(name)
    assert checked_name(safe_name(name))


@posix
@pytest.mark.parametrize("name", ["data\\firms.csv", "C:\\data\\firms.csv", "\\\\server\\share\\firms.csv"])
def test_backslashes_elsewhere_are_explained(name: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="Write / between folders"):
        expand_files([name])


def test_data_on_another_drive_are_named_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert path_from(tmp_path, tmp_path / "data" / "firms.csv") == "data/firms.csv"

    def no_way(path: object, start: object) -> str:
        raise ValueError("path is on mount 'D:', start on mount 'C:'")

    monkeypatch.setattr(os.path, "relpath", no_way)
    assert path_from(tmp_path, tmp_path / "firms.csv") == (tmp_path / "firms.csv").as_posix()


def test_files_without_numbers_are_not_taken_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some network drives answer 0 for the number of every file; all records count nevertheless."""
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(RECORDS, encoding="utf-8")
    real = Path.stat

    def without_number(path: Path, **options: Any) -> os.stat_result:
        fields = list(real(path, **options))
        fields[1] = 0
        return os.stat_result(fields)

    monkeypatch.setattr(Path, "stat", without_number)
    assert [file.name for file in expand_files([tmp_path / "*.csv", tmp_path / "a.csv"])] == [
        "a.csv",
        "b.csv",
    ]


def test_an_older_release_with_other_capitals_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "Sales.csv").write_text("old")
    second_name(folder / "Sales.csv", "sales.csv")
    with staged(folder, new_run()) as staging:
        staging.new.mkdir()
        (staging.new / "sales.csv").write_text("new")
        staging.complete(["Sales.csv"])
        staging.exchange()
    assert [(path.name, path.read_text()) for path in folder.iterdir()] == [("sales.csv", "new")]


def test_a_foreign_file_with_other_capitals_is_not_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "SALES.csv").write_text("somebody's")
    second_name(folder / "SALES.csv", "sales.csv")
    with staged(folder, new_run()) as staging:
        staging.new.mkdir()
        (staging.new / "sales.csv").write_text("new")
        with pytest.raises(InputError, match="not part of an older release"):
            staging.complete(["about.json"])
    assert (folder / "SALES.csv").read_text() == "somebody's"


# -- files that are open elsewhere ---------------------------------------------------------------------------


def refuse(*_: object, **__: object) -> None:
    raise PermissionError(
        13, "The process cannot access the file because it is being used by another process"
    )


def test_a_file_that_is_open_elsewhere_stays_and_the_reason_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_text(tmp_path / "pattern.csv", "old")
    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(InputError, match=r"Close the program that has it open.*nothing was changed"):
        write_text(tmp_path / "pattern.csv", "new")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("pattern.csv", "old")]


def test_a_release_that_is_open_elsewhere_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "table.csv").write_text("old")
    monkeypatch.setattr(swap_module, "swap_at_once", lambda one, other: False)
    with staged(folder, new_run()) as staging:
        staging.new.mkdir()
        (staging.new / "table.csv").write_text("new")
        staging.complete(["table.csv"])
        monkeypatch.setattr(Path, "rename", refuse)
        with pytest.raises(PermissionError):
            staging.exchange()
    assert [(path.name, path.read_text()) for path in folder.iterdir()] == [("table.csv", "old")]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


# -- functions that are not there ----------------------------------------------------------------------------


@posix
def test_the_lock_of_windows_keeps_others_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = as_on_windows(cellveil.publishing.lock, monkeypatch)
    folder = tmp_path / "out" / "public"
    with (
        lock.locked(folder),
        pytest.raises(InputError, match="another run is writing"),
        lock.locked(folder),
    ):
        pass
    with lock.locked(folder):
        pass
    assert list(tmp_path.iterdir()) == []


@posix
def test_releases_are_replaced_without_functions_of_posix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cellveil.publishing.staging, "os", WINDOWS)
    monkeypatch.setattr(cellveil.files, "os", WINDOWS)
    monkeypatch.setattr(swap_module, "sys", SimpleNamespace(platform="win32"))
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "table.csv").write_text("old")
    (folder / "notes.txt").write_text("somebody's")
    with staged(folder, new_run()) as staging:
        staging.new.mkdir()
        write_text(staging.new / "table.csv", "new")
        staging.complete(["table.csv"])
        staging.exchange()
        flush_folder(folder)
    found = {path.name: path.read_text() for path in folder.iterdir()}
    assert found == {"table.csv": "new", "notes.txt": "somebody's"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@posix
def test_workers_without_limits_groups_and_signals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resource", None)
    cellveil.service.worker._limit(2**30, 2**30)
    monkeypatch.setattr(cellveil.service.worker_process, "os", WINDOWS)
    monkeypatch.setattr(cellveil.service.worker_process, "signal", SimpleNamespace(SIGTERM=15))
    monkeypatch.setattr(
        cellveil.service.worker_process, "COMMAND", [sys.executable, "-S", "-c", "input(); input()"]
    )
    worker = WorkerProcess({}, JobFolder(tmp_path))
    worker.end()
    assert worker.wait() != 0


def test_cores_are_counted_without_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert default_workers() == 1


# -- files as they are written there -------------------------------------------------------------------------


def test_line_ends_and_code_pages(tmp_path: Path) -> None:
    text = "région;sales\nÎle;1,5\nÉ;2\n"
    plain, theirs = tmp_path / "plain.csv", tmp_path / "theirs.csv"
    plain.write_text(text, encoding="utf-8", newline="\n")
    theirs.write_bytes(text.replace("\n", "\r\n").encode("cp1252"))
    mine = tabulate(plain, "région", "sales", decimal=None)
    other = tabulate(theirs, "région", "sales", decimal=None, encoding="cp1252")
    assert mine.values.tolist() == other.values.tolist()
    assert mine.dimensions[0].index == other.dimensions[0].index
