"""A job whose tables share no cell: each is searched by itself, and one that cannot be done stops the job."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cellveil as cv
from helpers.command import Command

FIRMS = [
    ("N", "food", [90, 3]), ("N", "wood", [20, 25, 30]), ("S", "food", [40, 35, 30]),
    ("S", "wood", [50, 45, 20]), ("W", "food", [20, 15, 25]), ("W", "wood", [30, 35, 20]),
]  # fmt: skip


def job_file(folder: Path, more: str = "", search: str = "") -> Path:
    lines = [(region, branch, sales) for region, branch, amounts in FIRMS for sales in amounts]
    rows = [
        f"f{k},{region},{branch},{sales},{sales // 2 + 7}" for k, (region, branch, sales) in enumerate(lines)
    ]
    (folder / "firms.csv").write_text("\n".join(["firm,region,branch,sales,wages", *rows]) + "\n")
    tables = [
        f'[[tables]]\ndimensions = ["region", "branch"]\nresponse = "{name}"\n' for name in ("sales", "wages")
    ]
    path = folder / "job.toml"
    path.write_text(
        'output = "out"\nattackers = []\nrules = ["p%:10"]\n'
        '[microdata]\nfile = "firms.csv"\ncontributor = "firm"\n'
        f"{''.join(tables)}{more}"
        f'[suppress]\n{search}options = {{"run.shared.parts.least_cells" = 1}}\n'
    )
    return path


HOPELESS = "".join(
    f'[[cells]]\nkey = {{variable = "wages", {key}}}\nstatus = "z"\n'
    for key in ('region = "N"', 'region = "N", branch = "wood"')
)
"""Nothing that could be hidden beside the unsafe cell is left in its row of the second table."""


def test_all_tables_are_protected_and_released_together(tmp_path: Path) -> None:
    done = cv.run_job(job_file(tmp_path, search="seeds = 2\n"))
    assert done.is_safe and done.release is not None
    assert {"sales-by-region-branch.csv", "wages-by-region-branch.csv"} < set(done.release.files)
    assert done.report.to_dict()["parameters"]["suppress"]["seeds"] == 2


def test_one_that_nothing_protects_stops_the_job(tmp_path: Path, command: Command) -> None:
    job = job_file(tmp_path, HOPELESS)
    ended = command("run", job)
    assert ended.code == 3 and "wages" in ended.err and "sales" not in ended.err
    assert not (tmp_path / "out" / "public").exists()
    assert (tmp_path / "out" / "internal" / "report.html").exists()
    ended = command("run", job, "--overview", tmp_path / "overview")
    (line,) = json.loads((tmp_path / "overview" / "overview.json").read_text("utf-8"))["jobs"]
    assert ended.code == 3 and line["state"] == "infeasible" and not line["public"]


@pytest.mark.parametrize("search", ["seedz = 2\n", "seeds = 0\n", "seeds = 101\n", 'seeds = "many"\n'])
def test_a_wrong_number_of_seeds_is_told_with_its_line(tmp_path: Path, command: Command, search: str) -> None:
    ended = command("check", job_file(tmp_path, search=search))
    assert ended.code == 2 and "job.toml, line" in ended.err and "seeds" in ended.err


def test_a_misspelt_option_is_refused(command: Command, tmp_path: Path) -> None:
    for words in (["--seedz", "2"], ["--seeds", "0"], ["--seeds", "many"]):
        ended = command("suppress", "absent", "--out", tmp_path / "p.csv", *words)
        assert ended.code == 2 and "seed" in ended.err
