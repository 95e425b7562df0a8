"""Jobs where only the package itself is installed: no workbook unless it is asked for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from helpers.command import Command

RECORDS = "region,branch,sales\nN,a,5\nN,b,7\nS,a,6\nS,b,9\n"
JOB = """
output = "out"
rules = ["threshold:1"]
[microdata]
file = "firms.csv"
decimal = "."
[[tables]]
dimensions = ["region", "branch"]
response = "sales"
"""


def test_a_workbook_is_left_out_unless_it_is_asked_for(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    (tmp_path / "firms.csv").write_text(RECORDS, encoding="utf-8")
    job, public = tmp_path / "job.toml", tmp_path / "out" / "public"
    job.write_text(JOB + '[release]\nformats = ["csv", "xlsx"]\n', encoding="utf-8")
    ended = command("run", job)
    assert ended.code == 2 and "pip install 'cellveil[excel]'" in ended.err
    assert not public.exists()
    job.write_text(JOB, encoding="utf-8")
    ended = command("run", job)
    assert ended.code == 0 and "no workbook is written" in ended.out + ended.err
    assert sorted(path.suffix for path in public.iterdir()) == [".csv", ".html", ".json", ".parquet"]
