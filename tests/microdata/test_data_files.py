"""Which files paths and patterns stand for: an existing path is itself, and no file counts twice."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cellveil.errors import InputError
from cellveil.job import read_job
from cellveil.job.build_tables import build_tables
from cellveil.microdata.codes import distinct_codes
from cellveil.microdata.data_files import expand_files
from cellveil.microdata.tabulate import tabulate
from cellveil.progress import Progress
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy

REGION = Dimension.of("region", Hierarchy.flat(["N", "S"]))

ODD_NAMES = ["firms[1].csv", "a*b.csv", "a?.csv", "{a,b}.csv", "~.csv", "it's.csv", "[!x].csv", "**.csv"]


def write(path: Path, sales: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"region,sales\nN,{sales}\nS,1\n")
    return path


def total(source: object) -> int:
    return int(tabulate(source, [REGION], "sales", threads=1).values[0])


@pytest.mark.parametrize("name", ODD_NAMES)
def test_an_existing_path_is_that_very_file(tmp_path: Path, name: str) -> None:
    for other in ("firms1.csv", "aXb.csv", "ab.csv", "a1.csv", "a.csv", "b.csv", "y.csv"):
        write(tmp_path / other, 100)
    odd = write(tmp_path / name, 5)
    assert total(odd) == total(str(odd)) == 6
    assert total([odd]) == 6
    assert distinct_codes(str(odd), ["sales"]) == [("1",), ("5",)]


def test_a_folder_may_look_like_a_pattern(tmp_path: Path) -> None:
    write(tmp_path / "d1" / "x.csv", 100)
    write(tmp_path / "d[1]" / "x.csv", 5)
    assert total(tmp_path / "d[1]" / "x.csv") == 6


def test_a_recoded_file_is_read_whatever_its_folder_is_called(tmp_path: Path) -> None:
    odd = tmp_path / "d[1]" / "x*.csv"
    odd.parent.mkdir()
    odd.write_bytes("region,sales,name\nN,5,Zürich\nS,1,x\n".encode("cp1252"))
    table = tabulate(odd, [REGION], "sales", encoding="cp1252", temp_directory=odd.parent)
    assert int(table.values[0]) == 6


def test_no_file_counts_twice(tmp_path: Path) -> None:
    first = write(tmp_path / "a.csv", 5)
    write(tmp_path / "a1.csv", 7)
    assert total([first, tmp_path / "a?.csv", tmp_path / "*.csv", first]) == 6 + 8
    assert expand_files([tmp_path / "*.csv", first]) == [first, tmp_path / "a1.csv"]


def test_links_and_detours_are_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = write(tmp_path / "a.csv", 5)
    (tmp_path / "soft.csv").symlink_to(first)
    os.link(first, tmp_path / "hard.csv")
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    assert total(["a.csv", "soft.csv", "hard.csv", "folder/../a.csv", first, "*.csv"]) == 6


def test_the_working_folder_may_have_a_folder_called_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    write(home / "x.csv", 100)
    write(home / "y.csv", 7)
    write(tmp_path / "~" / "x.csv", 5)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.chdir(tmp_path)
    assert total("~/x.csv") == 6  # it exists
    assert total("~/y.csv") == 8


def test_patterns_through_folders_pass_over_folders_but_a_matched_folder_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", 5)
    write(tmp_path / "deep" / "er" / "b.csv", 7)
    assert total(tmp_path / "**" / "*.csv") == 6 + 8
    (tmp_path / "parts.csv").mkdir()
    with pytest.raises(InputError, match="a folder where a file is expected"):
        total(tmp_path / "*.csv")
    with pytest.raises(InputError, match="does not exist"):
        total(tmp_path / "none-*.csv")
    with pytest.raises(InputError, match="no microdata file"):
        total([])


def test_a_link_to_nothing_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", 5)
    (tmp_path / "b.csv").symlink_to(tmp_path / "gone.csv")
    with pytest.raises(InputError, match=r"b\.csv: cannot read"):
        total(tmp_path / "*.csv")


@pytest.mark.parametrize("suffix", ["parquet", "PARQUET"])
def test_names_of_folders_are_no_columns(tmp_path: Path, suffix: str) -> None:
    folder = tmp_path / "region=S"
    folder.mkdir()
    file = folder / f"part[1].{suffix}"
    pq.write_table(pa.table({"region": ["N", "N"], "sales": [5, 1]}), file)
    table = tabulate(file, [REGION], "sales")
    assert table.codes(0) == ["Total", "N"] and table.values.tolist() == [6, 6]
    write(folder / "x.csv", 5)
    assert tabulate(folder / "x.csv", [REGION], "sales").values.tolist() == [6, 5, 1]
    pq.write_table(pa.table({"sales": [5, 1]}), file)
    with pytest.raises(InputError, match="no column 'region'"):
        tabulate(file, [REGION], "sales")


def test_the_folder_of_a_job_is_not_part_of_a_pattern(tmp_path: Path) -> None:
    job = (
        '[microdata]\nfile = ["part-?.csv", "odd[1].csv"]\n[[tables]]\ndimensions = ["region"]\n'
        'response = "sales"\n[[rules]]\nrule = "threshold"\n'
    )
    for folder in (tmp_path / "job[1]", tmp_path / "job1"):
        write(folder / "part-1.csv", 5 if "[" in folder.name else 100)
        write(folder / "odd[1].csv", 7 if "[" in folder.name else 100)
        write(folder / "odd1.csv", 1000)
        (folder / "job.toml").write_text(job)
    read = read_job(tmp_path / "job[1]" / "job.toml")
    assert int(build_tables(read, 3, Progress()).table.values[0]) == 6 + 8
    assert {"part-1.csv", "odd[1].csv"} <= {file.name for file in read.confidential_inputs()}
