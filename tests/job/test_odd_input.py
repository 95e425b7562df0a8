"""Input that is odd, and was taken without a word: each gets a note or an error, normal data none."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import duckdb
import numpy as np
import pytest

import cellveil as cv
from cellveil.errors import InputError
from cellveil.job.checking import check_job
from cellveil.progress import NoteTaker
from helpers.command import Command

TABLE = 'dimensions = ["region"]\nresponse = "value"\n'
RULES = '[[rules]]\nrule = "threshold"\nminimum = 3\n'


def firms(number: int = 60, seed: int = 1) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    return [[f"f{k}", "ABC"[k % 3], "xy"[k % 2], str(rng.integers(10_000, 99_999))] for k in range(number)]


def job(folder: Path, lines: list[list[str]], more: str = "", top: str = "", header: str = "") -> cv.Job:
    text = "\n".join([header or "firm,region,branch,sales", *(",".join(line) for line in lines)])
    (folder / "firms.csv").write_text(f"{text}\n")
    (folder / "job.toml").write_text(
        f'attackers = []\n{top}\n[microdata]\nfile = "firms.csv"\ncontributor = "firm"\n{more}\n'
        f'[[tables]]\ndimensions = ["region", "branch"]\nresponse = "sales"\n{RULES}'
    )
    return cv.read_job(folder / "job.toml")


def notes_of(given: cv.Job) -> str:
    taker = NoteTaker(None)
    check_job(given, progress=taker)
    return "\n".join(taker.notes)


def test_normal_data_get_no_note(tmp_path: Path) -> None:
    assert notes_of(job(tmp_path, firms())) == ""


ALIKE = {
    "accents": ("caf\N{LATIN SMALL LETTER E WITH ACUTE}", "cafe\N{COMBINING ACUTE ACCENT}"),
    "leading zeros": ("7", "007"),
    "point": ("7", "7.0"),
    "capitals": ("de17", "DE17"),
}


@pytest.mark.parametrize("pair", ALIKE)
def test_ids_that_differ_only_in_how_they_are_written(tmp_path: Path, pair: str) -> None:
    lines = firms()
    lines[0][0], lines[3][0] = ALIKE[pair]
    notes = notes_of(job(tmp_path, lines))
    assert "2 ids in column 'firm' are 1" in notes
    assert not any(name in notes for name in ALIKE[pair])


def test_ids_of_holdings_are_looked_at_as_well(tmp_path: Path) -> None:
    lines = [[*line, f"h{k % 20}"] for k, line in enumerate(firms())]
    lines[0][4], lines[1][4], lines[2][4] = "1", "01", "1.0"
    given = job(tmp_path, lines, 'holding = "group"', header="firm,region,branch,sales,group")
    assert "3 ids in column 'group' are 1" in notes_of(given)


def test_records_of_weight_0_count_for_no_threshold(tmp_path: Path) -> None:
    lines = [[*line, "1"] for line in firms(12)]  # two contributors in each of six cells
    lines += [["more", "A", "x", "5000", "0"]]
    lines += [
        [f"g{k}", region, branch, "5000", "2"] for k, (region, branch) in enumerate(["Ay", "By", "Cx", "Cy"])
    ]
    given = job(tmp_path, lines, 'weight = "w"', header="firm,region,branch,sales,w")
    assert "1 record of weight 0 left out" in notes_of(given)
    table = cv.tabulate(
        str(tmp_path / "firms.csv"), ["region", "branch"], "sales", contributor="firm", weight="w"
    )
    assert table.units is not None
    assert int(table.units.count[table.cell("A", "x")]) == 2
    with pytest.raises(InputError, match="all records have weight 0"):
        notes_of(
            job(
                tmp_path,
                [[*line[:4], "0"] for line in lines],
                'weight = "w"',
                header="firm,region,branch,sales,w",
            )
        )


def test_copies_of_records(tmp_path: Path) -> None:
    lines = firms()
    assert "3 records with the same id, codes and amounts" in notes_of(job(tmp_path, [*lines, *lines[:3]]))


def test_codes_that_are_one_number(tmp_path: Path) -> None:
    lines = firms()
    for k, line in enumerate(lines):
        line[1] = ["7", "007", "8"][k % 3]
    assert "the codes '007' and '7' differ only in how they are written" in notes_of(job(tmp_path, lines))


@pytest.mark.parametrize("minimum", ["2.5", "3.1"])
def test_a_minimum_that_is_not_whole(tmp_path: Path, minimum: str) -> None:
    given = job(tmp_path, firms())
    text = (tmp_path / "job.toml").read_text().replace("minimum = 3", f"minimum = {minimum}")
    (tmp_path / "job.toml").write_text(text)
    with pytest.raises(InputError, match=r"job\.toml, line \d+: .*whole numbers.*Write \d"):
        check_job(cv.read_job(given.file))


def test_a_column_of_dates_as_a_dimension(tmp_path: Path) -> None:
    lines = firms(120)
    for k, line in enumerate(lines):
        line[1] = str(date(2026, 1, 1) + timedelta(days=k))
    notes = notes_of(job(tmp_path, lines))
    assert "its 120 codes are dates" in notes
    assert "cells that are not 0" in notes and "are unsafe" in notes


def test_repair_tells_what_it_changed(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("region,value,status\nTotal,60,s\nA,20,u\nB,31,s\nC,10.5,s\n")
    (tmp_path / "job.toml").write_text(
        'attackers = []\n[[tables]]\ndimensions = ["region"]\nfile = "table.csv"\nrepair = true\n'
    )
    assert "repair changed 1 total, the largest by 1.5" in notes_of(cv.read_job(tmp_path / "job.toml"))


def with_lines_above(folder: Path, kind: str, above: int) -> str:
    name = f"table.{kind}"
    rows = [["Turnover 2025"], [], ["in thousands"]][:above]
    rows += [["region", "value", "status"], ["A", 20, "u"], ["B", 40, "s"], ["C", 40, "s"]]
    if kind == "xlsx":
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        for number, row in enumerate(rows, 1):
            for place, value in enumerate(row, 1):
                book.active.cell(number, place, value)
        book.save(folder / name)
    else:
        (folder / name).write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n")
    return name


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
@pytest.mark.parametrize("above", [1, 2, 3])
@pytest.mark.parametrize("use", ["table", "microdata"])
def test_as_many_lines_are_proposed_as_must_be_skipped(
    tmp_path: Path, kind: str, above: int, use: str
) -> None:
    name = with_lines_above(tmp_path, kind, above)
    if use == "table":
        body = f'[[tables]]\ndimensions = ["region"]\nfile = "{name}"\ntotals = "none"\nSKIP'
    else:
        body = f'[microdata]\nfile = "{name}"\nSKIP\n[[tables]]\n{TABLE}{RULES}'
    (tmp_path / "job.toml").write_text(f"attackers = []\n{body}".replace("SKIP", ""))
    with pytest.raises(InputError, match=f"skip = {above}"):
        check_job(cv.read_job(tmp_path / "job.toml"))
    (tmp_path / "job.toml").write_text(f"attackers = []\n{body}".replace("SKIP", f"skip = {above}"))
    check_job(cv.read_job(tmp_path / "job.toml"))


@pytest.mark.parametrize("use", ["table", "microdata"])
@pytest.mark.parametrize("query", ["", 'query = "SELECT * FROM t"\n'])
def test_a_view_on_another_file(tmp_path: Path, command: Command, use: str, query: str) -> None:
    (tmp_path / "other.csv").write_text("region,value\nA,20\nB,40\n")
    with duckdb.connect(str(tmp_path / "data.duckdb")) as database:
        database.execute(f"CREATE VIEW t AS SELECT * FROM read_csv('{tmp_path / 'other.csv'}')")
    body = f'[[tables]]\ndimensions = ["region"]\nfile = "data.duckdb"\ntotals = "none"\n{query}'
    if use == "microdata":
        body = f'[microdata]\nfile = "data.duckdb"\n{query}[[tables]]\n{TABLE}'
    (tmp_path / "job.toml").write_text(f"attackers = []\n{body}{RULES}")
    for verb in ("check", "run"):
        ended = command(verb, tmp_path / "job.toml")
        assert ended.code == 2 and "only this database may be read" in ended.err, ended
