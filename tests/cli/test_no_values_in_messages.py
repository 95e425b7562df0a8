"""No message, representation or output shows what may be a contribution, however the input is malformed."""

from __future__ import annotations

import gzip
import logging
import traceback
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cellveil.errors import InputError
from cellveil.formats.columns import read_columns
from cellveil.microdata.tabulate import tabulate
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from helpers.command import Command

SECRETS = ("777001", "Acme", "F000")
"""An amount, a name and an id."""

REGION = Dimension.of("region", Hierarchy.from_dict({"Total": {"N": ["N1", "N2"], "S": ["S1", "S2"]}}))
RECORDS = "F000,N1,small,777001\nAcme,N2,small,7\nF002,S1,large,9\n"
HEADER = "firm,region,size,turnover\n"
JOB = """\
output = "out"
[microdata]
file = "firms.csv"
contributor = "firm"
{more}
[dimensions.region]
{region}
[[tables]]
dimensions = ["region", "size"]
response = "turnover"
[[rules]]
rule = "p%"
"""
TREE = "parent,child\nTotal,N\nTotal,S\nN,N1\nN,N2\nS,S1\nS,S2\n"

MICRODATA = {
    "no header": RECORDS,
    "no header, one line": "F000,N1,small,777001\n",
    "mixed-up columns": "firm,region,size,turnover\nF000,777001,small,N1\nAcme,7,small,N2\n",
    "amount in the place of the region": HEADER + RECORDS.replace("N1", "777001"),
    "name in the place of the region": HEADER + RECORDS.replace("N1", "Acme"),
    "text in the place of the amount": HEADER + RECORDS.replace("777001", "777001x"),
    "amount with a comma": HEADER + RECORDS.replace("777001", "777001,5"),
    "amount with a separator": HEADER + RECORDS.replace("777001", '"777001,5,5"'),
    "many decimals": HEADER + RECORDS.replace("777001", "777001.12345678901"),
    "negative": HEADER + RECORDS.replace("777001", "-777001"),
    "too large": HEADER + RECORDS.replace("777001", "777001" + "0" * 30),
    "quote not closed": HEADER + RECORDS.replace("Acme", '"Acme'),
    "too few fields": HEADER + RECORDS.replace("small,777001", "777001"),
    "no id": HEADER + RECORDS.replace("F000", ""),
    "duplicate header": "Acme,Acme,777001,F000\n" + RECORDS,
    "header of values": "F000,Acme,region,777001\n" + RECORDS,
    "wrong delimiter": (HEADER + RECORDS).replace(",", "^"),
    "wrong encoding": HEADER + RECORDS.replace("Acme", "Acm\udce9"),
    "binary": "\x00Acme777001\x00",
}


def assert_silent(text: str, what: object = "") -> None:
    for secret in SECRETS:
        assert secret not in text, (what, text)


def lay(folder: Path, job: str, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in {"region.csv": TREE, "job.toml": job, **files}.items():
        (folder / name).write_text(text, encoding="utf-8", errors="surrogateescape")
    return folder / "job.toml"


@pytest.mark.parametrize("name", MICRODATA)
@pytest.mark.parametrize("region", ['hierarchy = "region.csv"', "digits = [1, 1]", 'levels = ["size"]'])
def test_jobs(
    name: str, region: str, tmp_path: Path, command: Command, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    path = lay(tmp_path / "w", JOB.format(more="", region=region), **{"firms.csv": MICRODATA[name]})
    ended = command("run", path)
    if "hierarchy" in region:
        assert ended.code == 2, ended.err
    if ended.code == 2:
        assert_silent(ended.out + ended.err + caplog.text)


@pytest.mark.parametrize("name", MICRODATA)
def test_tabulation_of_files_and_frames(name: str, tmp_path: Path) -> None:
    text = MICRODATA[name].encode("utf-8", "surrogateescape")
    (tmp_path / "x.csv").write_bytes(text)
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(text))
    sources: list[Any] = [tmp_path / "x.csv", tmp_path / "x.csv.gz", [tmp_path / "x.csv"]]
    try:
        frame = pd.read_csv(tmp_path / "x.csv")
        pq.write_table(pa.Table.from_pandas(frame), tmp_path / "x.parquet")
        sources += [frame, pl.from_pandas(frame), frame.astype(object), tmp_path / "x.parquet"]
    except Exception:  # not a frame
        frame = None
    for source in sources:
        try:
            assert_silent(repr(tabulate(source, [REGION], "turnover", contributor="firm")))
        except InputError as error:
            assert_silent(str(error) + repr(error) + "".join(traceback.format_exception(error)), type(source))


def test_frames_of_mixed_types() -> None:
    frame = pd.DataFrame({"region": ["N1", "N2"], "turnover": ["777001", 5.0], "firm": ["Acme", b"F000"]})
    for source in (frame, frame.assign(turnover=[{"a": 777001}, 3])):
        with pytest.raises(InputError) as caught:
            tabulate(source, [REGION], "turnover", contributor="firm")
        assert_silent(str(caught.value))
    assert_silent(repr(read_columns(pa.table({"777001": [1], "Acme": [2]}))))


HIERARCHIES = {
    "microdata as hierarchy": HEADER + RECORDS,
    "microdata without header as hierarchy": RECORDS,
    "two parents": "parent,child\nTotal,N1\nTotal,N2\nTotal,N1\n",
}


@pytest.mark.parametrize("suffix", ["csv", "hrc"])
@pytest.mark.parametrize("name", HIERARCHIES)
def test_wrong_files_as_hierarchy(name: str, suffix: str, tmp_path: Path, command: Command) -> None:
    text = HIERARCHIES[name] + (HIERARCHIES[name] if suffix == "hrc" else "")
    job = JOB.format(more="", region=f'hierarchy = "tree.{suffix}"')
    path = lay(tmp_path / "w", job, **{"firms.csv": HEADER + RECORDS, f"tree.{suffix}": text})
    ended = command("run", path)
    assert ended.code == 2
    assert_silent(ended.out + ended.err)


@pytest.mark.parametrize("text", [RECORDS, HEADER + RECORDS, "777001 = Acme\n", '[Acme]\n[Acme]\nF000="x"\n'])
def test_data_as_job_or_instance(text: str, tmp_path: Path, command: Command) -> None:
    file = tmp_path / "wrong"
    file.write_text(text)
    for arguments in (("run", file), ("verify", file, file, file), ("audit", file, file)):
        ended = command(*arguments)
        assert ended.code == 2
        assert_silent(ended.out + ended.err)


CELLS = "region,value,status,lpl,upl\nTotal,777010,s,,\nN,777001,u,5,5\nS,9,s,,\n"
FOLDERS = {
    "no header": {"cells.csv": CELLS.partition("\n")[2]},
    "mixed-up columns": {"cells.csv": CELLS.replace("region,value", "value,region")},
    "value missing": {"cells.csv": CELLS.replace("777001", "0")},
    "cell missing": {"cells.csv": CELLS.replace("N,777001,u,5,5\n", "")},
    "value not a number": {"cells.csv": CELLS.replace("777001", "777001x")},
    "value in the place of the code": {"cells.csv": CELLS.replace("N,777001", "777001,N")},
    "value in the place of the status": {"cells.csv": CELLS.replace(",u,", ",777001,")},
    "equation with a value for a code": {"equations.csv": "equation,region,coefficient\ne,777001,1\n"},
    "equation with a value for a coefficient": {
        "equations.csv": "equation,region,coefficient\ne,N,777001.5\n"
    },
    "equation with a value in its header": {"equations.csv": "equation,777001,coefficient\ne,N,1\n"},
    "equation that does not hold": {"equations.csv": "equation,region,coefficient,rhs\ne,N,1,777001.5\n"},
    "contributions with a value for a code": {
        "contributions.csv": "region,contributor,amount\n777001,Acme,5\n"
    },
    "contributions without header": {"contributions.csv": "N,Acme,777001\n"},
    "contributions mixed up": {"contributions.csv": "region,contributor,amount\nN,777001,Acme\n"},
    "contributions that do not add up": {"contributions.csv": "region,contributor,amount\nN,Acme,1777001\n"},
    "tree of values": {"hier_region.csv": "F000,777001\nAcme,777001\n"},
}


@pytest.mark.parametrize("name", FOLDERS)
def test_instance_folders(name: str, tmp_path: Path, command: Command) -> None:
    files = {"cells.csv": CELLS, "hier_region.csv": "parent,child\nTotal,N\nTotal,S\n", **FOLDERS[name]}
    for file, text in files.items():
        (tmp_path / file).write_text(text)
    ended = command("suppress", tmp_path, "--out", tmp_path / "p.csv")
    assert ended.code == 2, ended
    assert_silent(ended.out + ended.err)
    (tmp_path / "pattern").write_text("region,status\n777001,m\n")
    ended = command("audit", tmp_path, tmp_path / "pattern")
    assert ended.code == 2
    assert_silent(ended.out + ended.err)


JJ = """\
0
3
0 777010 1 s 0 1e20 0 0 0
1 777001 1 u 0 1e20 5 5 0
2 9 1 s 0 1e20 0 0 0
1
0 3 : 0 (-1) 1 (1) 2 (1)
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1 777001 1", "777001 1 1"),
        ("777001", "777001x"),
        ("1 777001", "777001"),
        ("777001 1 u", "1 777001"),
        ("\n1\n", "\n777001\n"),
        ("0 3 :", "777001 3 :"),
        ("2 (1)", "777001 (1)"),
        ("2 (1)", "2 (777001.5)"),
        ("2 9", "777001 9"),
        ("0\n3", "777001\n3"),
        (" u 0", " u 777001"),
    ],
    ids=range(11),
)
def test_jj_files(old: str, new: str, tmp_path: Path, command: Command) -> None:
    (tmp_path / "x.jj").write_text(JJ.replace(old, new))
    ended = command("suppress", tmp_path / "x.jj", "--out", tmp_path / "p.csv")
    if ended.code != 0:
        assert_silent(ended.out + ended.err)
