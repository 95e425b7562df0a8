"""Every kind of bad job, instance, pattern or command line ends in exit code 2 with a message that names the
place and the remedy, shows no value, and leaves every file as it was.

The data hold the recognisable amounts 987654 and 876543; no message may show them.
"""

import errno
import os
import re
from pathlib import Path
from typing import Any

import pytest

from cellveil.job import read_job
from helpers.command import Command, listing

SECRETS = ("987654", "876543")

JOB = """\
title = "Turnover"
output = "out"
labels = "labels.csv"

[microdata]
file = "firms.csv"
contributor = "firm"

[dimensions.region]
hierarchy = "region.csv"

[[tables]]
dimensions = ["region", "size"]
response = "turnover"

[[rules]]
rule = "p%"
p = 10

[[rules]]
rule = "threshold"
minimum = 2

[[cells]]
key = {region = "N", size = "small"}
status = "m"

[release]
formats = ["csv"]
"""

FILES = {
    "firms.csv": """\
firm,holding,region,size,turnover
a,g,N,small,987654
b,g,N,small,3
c,h,N,large,40
d,h,S,small,50
e,i,S,large,60
f,i,S,large,876543
k,i,S,small,70
l,i,N,large,80
""",
    "region.csv": "parent,child\nTotal,N\nTotal,S\n",
    "labels.csv": "dimension,code,label\nregion,N,North\nregion,S,South\n",
    "table.csv": "region,value\nTotal,987655\nN,987654\nS,1\n",
    "job.toml": JOB,
}

TABLE_JOB = """\
[[tables]]
dimensions = ["region"]
file = "table.csv"

[[cells]]
key = {region = "N"}
status = "u"
"""


def lay(folder: Path, **changes: str | bytes | None) -> Path:
    """Write the good files but for changes (``firms_csv``); None leaves a file out. Returns the job file."""
    folder.mkdir(exist_ok=True)
    for name, text in (FILES | {key.replace("_", "."): value for key, value in changes.items()}).items():
        if text is not None:
            (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / "job.toml"


def job(old: str, new: str, whole: str = JOB) -> dict[str, str]:
    assert whole.count(old) >= 1
    return {"job_toml": whole.replace(old, new, 1)}


def data(old: str, new: str, file: str = "firms.csv") -> dict[str, str]:
    assert old in FILES[file]
    return {file.replace(".", "_"): FILES[file].replace(old, new, 1)}


BAD_JOBS: dict[str, tuple[dict[str, Any], str]] = {
    # the file as such
    "empty": ({"job_toml": ""}, r"job\.toml: the file is empty"),
    "not TOML": (
        job('title = "Turnover"', 'title = "Turnover'),
        r"job\.toml, line 1: not valid TOML.*quotes",
    ),
    "cut short": ({"job_toml": "[microdata"}, r"job\.toml, line 1: not valid TOML"),
    "binary": ({"job_toml": b"\xff\xfe\x00\x01"}, r"job\.toml, line 1: .*not encoded in UTF-8"),
    # keys
    "unknown key": (
        job('output = "out"', 'ouput = "out"'),
        r"line 2: unknown key 'ouput'\. Did you mean 'output'",
    ),
    "unknown section": (
        job("[release]", "[relase]"),
        r"line 28: unknown key 'relase'\. Did you mean 'release'",
    ),
    "unknown key of a table": (
        job('response = "turnover"', 'respons = "turnover"'),
        r"line 14: unknown key 'tables\.respons'\. Did you mean 'response'",
    ),
    "unknown key of the second table": (
        job("[[rules]]", '[[tables]]\ndimensions = ["size"]\nvalu = "x"\n\n[[rules]]'),
        r"line 18: unknown key 'tables\.valu'\. Did you mean 'value'",
    ),
    "unknown key of a dimension": (
        job("hierarchy =", "hierachy ="),
        r"line 10: unknown key 'dimensions\.region\.hierachy'\. Did you mean 'hierarchy'",
    ),
    "missing key": (
        job('file = "firms.csv"\n', ""),
        r"line 5: the key 'microdata\.file' is missing\. Add file",
    ),
    # types and ranges
    "text expected": (
        job('title = "Turnover"', "title = 5"),
        r"line 1: title is not a text\. Put it in quotes",
    ),
    "code not in quotes": (job('region = "N"', "region = 1"), r"line 25: cells\.key\.region is not a text"),
    "list expected": (
        job('["region", "size"]', '"region"'),
        r"line 13: tables\.dimensions is not a list\. Write",
    ),
    "single brackets": (
        job("[[tables]]", "[tables]"),
        r"line 12: tables is not a list\. Write \[\[tables\]\] in double brackets",
    ),
    "section expected": (
        {"job_toml": 'release = "csv"\n' + JOB.replace('[release]\nformats = ["csv"]\n', "")},
        r"line 1: release is not a set of keys",
    ),
    "quoted number": (
        job("[release]", '[suppress]\nseed = "1"\n[release]'),
        r"line 29: suppress\.seed is not a whole number\. Write it without quotes",
    ),
    "negative limit": (
        job("[release]", "[suppress]\ntime_limit = -1\n[release]"),
        r"line 29: suppress\.time_limit is not above 0",
    ),
    "endless limit": (
        job("[release]", "[suppress]\ntime_limit = inf\n[release]"),
        r"line 29: suppress\.time_limit is not a finite number",
    ),
    "yes for true": (
        job('contributor = "firm"', 'contributor = "firm"\nallow_negative = "yes"'),
        r"line 8: microdata\.allow_negative is neither true nor false",
    ),
    "unknown format": (
        job('["csv"]', '["csv", "pdf"]'),
        r"line 29: release\.formats is none of 'csv', 'parquet', 'sdmx', 'xlsx' or 'html'",
    ),
    "no format": (job('["csv"]', "[]"), r"line 29: release\.formats has too few entries"),
    "unknown status": (
        job('status = "m"', 'status = "x"'),
        r"line 26: cells\.status is none of 'u', 'm', 's' or 'z'",
    ),
    "unknown method": (
        job("[release]", '[suppress]\nmethod = "sequental"\n[release]'),
        r"line 29: unknown method 'sequental'\. Did you mean 'sequential'",
    ),
    "unknown weights": (
        job("[release]", '[weights]\nkind = "vale"\n[release]'),
        r"line 29: there are no weights 'vale'\. Did you mean 'value'",
    ),
    # rules
    "unknown rule": (
        job('"threshold"', '"treshold"'),
        r"line 20: unknown rule 'treshold'\. Did you mean 'threshold'",
    ),
    "unknown option of a rule": (
        job("minimum", "minimun"),
        r"line 20: .*no option 'minimun'\. Did you mean 'minimum'",
    ),
    "share for a percentage": (job("p = 10", "p = 0.1"), r"line 16: .*(share|per cent|%)"),
    "rule without its option": (job('"p%"', '"pq"'), r"line 16: the rule 'pq' lacks q\. Give q"),
    "text in a rule": (job("minimum = 2", 'minimum = "two"'), r"line 20: "),
    "list for a rule": (job('rule = "threshold"', 'rule = ["threshold"]'), r"line 20: .*(type|unknown rule)"),
    "rule with holdings without holdings": (
        job("p = 10", 'p = 10\nlevel = "holding"'),
        r"job\.toml, line 16: .*holding level.*Tabulate from microdata with a holding",
    ),
    "no rules": (
        {"job_toml": JOB[: JOB.index("[[rules]]")]},
        r"job\.toml: there are no rules and no unsafe cells.*Add \[\[rules\]\]",
    ),
    # contradictions
    "nothing to do": ({"job_toml": 'title = "x"\n'}, r"neither an instance nor a table\. Add"),
    "instance and rules": (
        {"job_toml": 'instance = "x.jj"\n[[rules]]\nrule = "p%"\np = 10\n'},
        r"line 2: there are both an instance and rules",
    ),
    "instance and weights": (
        {"job_toml": 'instance = "x.jj"\n[weights]\nkind = "one"\n'},
        r"line 2: there are both an instance and weights",
    ),
    "table without data": (
        {"job_toml": '[[tables]]\ndimensions = ["a"]\n[[rules]]\nrule = "threshold"\n'},
        r"line 1: the table has no file, and there is no \[microdata\]",
    ),
    "file and response": (
        job('response = "turnover"', 'response = "turnover"\nfile = "table.csv"'),
        r"line 14: response is for tables made from microdata, and this one has a file",
    ),
    "totals of microdata": (
        job('response = "turnover"', 'response = "turnover"\ntotals = "none"'),
        r"line 15: totals is for ready-made tables",
    ),
    "microdata for nothing": (
        {"job_toml": TABLE_JOB + '\n[microdata]\nfile = "firms.csv"\n'},
        r"line 9: no table uses the microdata",
    ),
    "hierarchy and digits": (
        job('hierarchy = "region.csv"', 'hierarchy = "region.csv"\ndigits = [1, 1]'),
        r"line 11: hierarchy and digits are given\. Give one",
    ),
    "lead without hrc": (
        job('hierarchy = "region.csv"', 'hierarchy = "region.csv"\nlead = "."'),
        r"line 11: lead is given, but no \.hrc file",
    ),
    "total of its own": (
        job('hierarchy = "region.csv"', 'hierarchy = "region.csv"\ntotal = "All"'),
        r"line 11: total is given, but the hierarchy brings its own",
    ),
    "dimension twice": (
        job('["region", "size"]', '["size", "size"]'),
        r"line 13: the dimension 'size' stands twice",
    ),
    "request codes for nothing": (
        job('contributor = "firm"', 'contributor = "firm"\nrequest_codes = ["1", "2"]'),
        r"line 8: request_codes are given, but no request column",
    ),
    "levels of nothing": (
        job("[release]", "[levels]\nlower_factor = 0\nupper_factor = 0\n[release]"),
        r"line 28: both factors are 0 .*nothing would be protected",
    ),
    "part twice": (
        job("[[rules]]", '[equations]\nturnover = ["a", "a"]\n\n[[rules]]'),
        r"line 17: a part stands twice in the sum",
    ),
    # names that lead nowhere
    "dimension of no table": (
        job("[dimensions.region]", "[dimensions.regio]"),
        r"line 9: no table has the dimension 'regio'\. Did you mean 'region'",
    ),
    "dimension without a column": (
        job('["region", "size"]', '["region", "sise"]'),
        r"firms\.csv.*no column 'sise'\. Did you mean 'size'",
    ),
    "response without a column": (
        job('response = "turnover"', 'response = "turnovr"'),
        r"firms\.csv.*no column 'turnovr'\. Did you mean 'turnover'",
    ),
    "contributor without a column": (
        job('contributor = "firm"', 'contributor = "frm"'),
        r"firms\.csv.*no column 'frm'\. Did you mean 'firm'",
    ),
    "equation of nothing": (
        job("[[rules]]", '[equations]\nturnover = ["domestic", "export"]\n\n[[rules]]'),
        r"job\.toml, line 16: an equation names 'domestic', which no table has",
    ),
    "cell of no dimension": (
        job('size = "small"', 'sise = "small"'),
        r"job\.toml, line 24: .*dimension 'sise'",
    ),
    "cell of no code": (
        job('region = "N"', 'region = "W"'),
        r"job\.toml, line 24: dimension 'region' has no code 'W'",
    ),
    "unsafe cell to be published": (
        job('status = "m"', 'status = "z"'),
        r"job\.toml, line 24, cell \(N, small\): set to be published, but unsafe by the rules",
    ),
    "waived cell that is hidden": (
        job('status = "m"', 'status = "m"\nwaived = true'),
        r"line 27: a waived cell is one to be published.*s or z",
    ),
    "cell set in two ways": (
        job("[release]", '[[cells]]\nkey = {size = "small", region = "N"}\nstatus = "s"\n[release]'),
        r"job\.toml, line 24, cell \(N, small\): it is set to m and to s",
    ),
    # files
    "no microdata": ({"firms_csv": None}, r"firms\.csv: the file does not exist\. Check the path"),
    "no microdata of the pattern": (
        job('"firms.csv"', '"part-*.csv"'),
        r"part-\*\.csv: the file does not exist",
    ),
    "no hierarchy": ({"region_csv": None}, r"region\.csv: the file does not exist\. Check the path"),
    "hierarchy without columns": (
        data("parent,child", "mother,child", "region.csv"),
        r"region\.csv, line 1: there is no column 'parent'",
    ),
    "hierarchy with two parents": (
        data("Total,S\n", "Total,S\nN,S\n", "region.csv"),
        r"region\.csv.*'?S'?",
    ),
    "no labels file": ({"labels_csv": None}, r"labels\.csv: the file does not exist"),
    "labels without a column": (
        data("dimension,code,label", "dimension,code,name", "labels.csv"),
        r"labels\.csv, line 1: there is no column 'label'",
    ),
    "labels of other dimensions": (
        {"labels_csv": "dimension,code,label\nRegion,N,North\n"},
        r"labels\.csv: there is no label of any dimension.*region, size",
    ),
    "two labels of a code": (
        data("region,S,South", "region,N,Noord", "labels.csv"),
        r"labels\.csv, line 3: the code 'N' of 'region' has two labels",
    ),
    "record with an unknown code": (data("d,h,S", "d,h,W"), r"firms\.csv, line 5.*unknown code"),
    "record without a code": (data("d,h,S", "d,h,"), r"firms\.csv, line 5.*region"),
    "record without a number": (data("small,50", "small,"), r"firms\.csv, line 5.*turnover"),
    "record with text": (data("small,50", "small,fifty"), r"firms\.csv, line 5.*turnover"),
    "negative record": (data("small,987654", "small,-987654"), r"firms\.csv, line 2.*negative"),
    "record with a field too many": (data("b,g,N,small,3", "b,g,N,small,3,9"), r"firms\.csv, line 3"),
    "no records": (
        {"firms_csv": "firm,holding,region,size,turnover\n"},
        r"job\.toml, line 12: dimension 'size' has no codes",
    ),
    "missing instance": ({"job_toml": 'instance = "x.jj"\n'}, r"x\.jj: the file does not exist"),
    "ready-made table that does not add up": (
        {"job_toml": TABLE_JOB, "table_csv": FILES["table.csv"].replace("S,1\n", "S,2\n")},
        r"table\.csv.*(add up|additive)",
    ),
    "ready-made table without its column": (
        {"job_toml": TABLE_JOB, "table_csv": "region,amount,tax\nTotal,987655,5\nN,987654,4\nS,1,1\n"},
        r"table\.csv, line 1: there is no column 'value'",
    ),
    "ready-made table without its dimension": (
        {"job_toml": TABLE_JOB.replace('"region"', '"regions"').replace("region =", "regions =")},
        r"table\.csv, line 1: there is no column 'regions'\. Did you mean 'region'",
    ),
    # the release
    "symbol that is a number": (
        job("[release]", '[release]\nsymbol = "0"'),
        r"job\.toml, line 28: the symbol of hidden cells '0' is a number",
    ),
    "symbol that tells of the value": (
        job("[release]", '[release]\nsymbol = "<5"'),
        r"job\.toml, line 28: the symbol of hidden cells '<5' says something of the values",
    ),
    "more decimals than there are": (
        job("[release]", "[release]\ndecimals = 2"),
        r"job\.toml, line 28: 2 decimals cannot be shown",
    ),
    "microdata in the public folder": (
        job('file = "firms.csv"', 'file = "out/public/firms.csv"'),
        r"firms\.csv: this confidential input lies in .*public",
    ),
}


@pytest.mark.parametrize("name", BAD_JOBS)
def test_bad_job_is_refused(name: str, tmp_path: Path, command: Command) -> None:
    changes, message = BAD_JOBS[name]
    path = lay(tmp_path / "work", **changes)
    before = listing(tmp_path)

    ended = command("run", path)

    assert ended.code == 2, ended.err
    assert re.search(message, ended.err), ended.err
    assert_plain(ended.err)
    assert ended.out == ""
    assert listing(tmp_path) == before


def assert_plain(message: str) -> None:
    """One sentence or two, no trace, no value, and something to do."""
    assert message.startswith("cellveil: ") and message.count("\n") == 1
    assert "Traceback" not in message and "internal error" not in message
    assert "pydantic" not in message.lower() and "Input should" not in message
    assert not [secret for secret in SECRETS if secret in message]
    assert re.search(r"[.?!…]$", message.strip()), message


def test_the_good_job_is_good(tmp_path: Path, command: Command) -> None:
    ended = command("run", lay(tmp_path / "work"))
    assert ended.code == 0, ended.err
    table = lay(tmp_path / "other", job_toml=TABLE_JOB.replace('"table.csv"', '"big.csv"'))
    (table.parent / "big.csv").write_text("region,value\nTotal,1975308\nN,987654\nS,987654\n")
    assert command("run", table).code == 0


# -- instances, patterns and targets -------------------------------------------------------------------------

CELLS = """region,value,status,lpl,upl
Total,1975309,s,0,0
N,987654,u,10,10
S,987655,s,0,0
"""
TREE = "parent,child\nTotal,N\nTotal,S\n"
PATTERN = "region,status\nN,u\nS,m\n"


@pytest.fixture
def instance(tmp_path: Path) -> Path:
    folder = tmp_path / "instance"
    folder.mkdir()
    (folder / "cells.csv").write_text(CELLS)
    (folder / "hier_region.csv").write_text(TREE)
    (folder / "pattern.csv").write_text(PATTERN)
    return folder


BAD_CALLS: dict[str, tuple[list[str], dict[str, str], str]] = {
    "no instance": (["suppress", "none.jj", "--out", "p.csv"], {}, r"none\.jj: the file does not exist"),
    "csv as instance": (
        ["suppress", "instance/cells.csv", "--out", "p.csv"],
        {},
        r"not a CSV file\. Name the folder",
    ),
    "empty folder": (
        ["suppress", ".", "--out", "p.csv"],
        {},
        r"the folder has no cells\.csv\. Name a folder",
    ),
    "unknown method": (
        ["suppress", "instance", "--out", "p.csv", "--method", "atuo"],
        {},
        r"unknown method 'atuo'\. Did you mean 'auto'",
    ),
    "no time": (
        ["suppress", "instance", "--out", "p.csv", "--time-limit", "0"],
        {},
        r"time limit is not above 0",
    ),
    "pattern over the cells": (
        ["suppress", "instance", "--out", "instance/cells.csv"],
        {},
        r"cells\.csv: the result would overwrite the instance",
    ),
    "pattern and report in one": (
        ["suppress", "instance", "--out", "p.csv", "--report", "p.csv"],
        {},
        r"p\.csv: two results would go to one file",
    ),
    "folder as pattern": (
        ["suppress", "instance", "--out", "."],
        {},
        r"a folder where a file is to be written",
    ),
    "file as folder": (
        ["suppress", "instance", "--out", "instance/cells.csv/p.csv"],
        {},
        r"a file stands where a folder is needed",
    ),
    "report over the pattern": (
        ["audit", "instance", "instance/pattern.csv", "--report", "instance/pattern.csv"],
        {},
        r"would overwrite the pattern",
    ),
    "bad status": (
        ["suppress", "instance", "--out", "p.csv"],
        {"cells.csv": CELLS.replace(",u,", ",q,")},
        r"cells\.csv, line 3, cell \(N\): the status",
    ),
    "does not add up": (
        ["suppress", "instance", "--out", "p.csv"],
        {"cells.csv": CELLS.replace("1975309", "1975308")},
        r"cells\.csv.*add up",
    ),
    "level of a cell that is not primary": (
        ["suppress", "instance", "--out", "p.csv"],
        {"cells.csv": CELLS.replace("s,0,0", "s,1,0")},
        r"cell \(Total\): it has protection levels",
    ),
    "no pattern": (["audit", "instance", "none.csv"], {}, r"none\.csv: the file does not exist"),
    "pattern of an unknown cell": (
        ["audit", "instance", "instance/pattern.csv"],
        {"pattern.csv": PATTERN.replace("S,m", "W,m")},
        r"pattern\.csv, line 3.*unknown code",
    ),
    "pattern with a cell twice": (
        ["audit", "instance", "instance/pattern.csv"],
        {"pattern.csv": PATTERN + "S,s\n"},
        r"pattern\.csv, line 4, cell \(S\): the cell occurs twice",
    ),
    "pattern without status": (
        ["audit", "instance", "instance/pattern.csv"],
        {"pattern.csv": PATTERN.replace("status", "state")},
        r"pattern\.csv, line 1: there is no column 'status'",
    ),
    "pattern with another status": (
        ["audit", "instance", "instance/pattern.csv"],
        {"pattern.csv": PATTERN.replace("S,m", "S,x")},
        r"pattern\.csv, line 3, cell \(S\): the status",
    ),
    "no job": (["run", "none.toml"], {}, r"none\.toml: the file does not exist"),
    "folder as job": (["run", "instance"], {}, r"instance: a folder where a file is expected"),
    "demo over other files": (
        ["demo", "--out", "instance"],
        {},
        r"instance: the folder holds files that are not of the demo",
    ),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_bad_instance_or_pattern_is_refused(
    name: str, tmp_path: Path, instance: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments, changes, message = BAD_CALLS[name]
    for file, text in changes.items():
        (instance / file).write_text(text)
    monkeypatch.chdir(tmp_path)
    before = listing(tmp_path)

    ended = command(*arguments)

    assert ended.code == 2, ended.err
    assert re.search(message, ended.err), ended.err
    assert_plain(ended.err)
    assert listing(tmp_path) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["unknown"],
        ["suppress"],
        ["suppress", "instance"],
        ["suppress", "instance", "--out", "p.csv", "--weights", "two"],
        ["suppress", "instance", "--out", "p.csv", "--seed", "-1"],
        ["suppress", "instance", "--out", "p.csv", "--seed", "one"],
        ["suppress", "instance", "--out", "p.csv", "--workers", "0"],
        ["suppress", "instance", "--out", "p.csv", "--time-limit", "-1"],
        ["suppress", "instance", "--out", "p.csv", "--metod", "auto"],
        ["audit", "instance", "instance/pattern.csv", "--attacker", "nobody"],
        ["demo", "--firms", "3"],
        ["run"],
    ],
    ids=" ".join,
)
def test_bad_usage_is_refused(
    arguments: list[str], tmp_path: Path, instance: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = listing(tmp_path)
    ended = command(*arguments)
    assert ended.code == 2
    assert "Usage: cellveil" in ended.err and "Traceback" not in ended.err
    assert ended.out == ""
    assert listing(tmp_path) == before


# -- when the machine fails ----------------------------------------------------------------------------------


def fill_disk(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Let the disk be full whenever a file whose name holds one of these is flushed or written."""
    real = os.fsync

    def full(handle: int) -> None:
        target = str(Path(f"/proc/self/fd/{handle}").readlink())
        if any(name in target for name in names):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    monkeypatch.setattr(os, "fsync", full)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs to know the file of a handle")
@pytest.mark.parametrize("name", ["cells", "pattern", "about"])
def test_full_disk_leaves_everything_as_it_was(
    name: str, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = lay(tmp_path / "work")
    assert command("run", path).code == 0
    lay(tmp_path / "work", **data("c,h,N,large,40", "c,h,N,large,41"))
    before = listing(tmp_path)
    fill_disk(monkeypatch, f".{name}.")
    ended = command("run", path)
    assert ended.code == 2 and "No space left" in ended.err
    assert_plain(ended.err)
    assert listing(tmp_path) == before


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs to know the file of a handle")
def test_no_release_without_its_report(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = lay(tmp_path / "work")
    fill_disk(monkeypatch, ".report.")
    before = listing(tmp_path)
    assert command("run", path).code == 2
    assert listing(tmp_path) == before


def test_a_bug_tells_no_data(tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError(SECRETS[0])

    monkeypatch.setattr("cellveil.job.past.suppress", broken)
    before = listing(tmp_path)
    ended = command("run", lay(tmp_path / "work"))
    assert ended.code == 1 and "internal error (KeyError in " in ended.err
    assert SECRETS[0] not in ended.err + ended.out
    assert not (tmp_path / "work" / "out").exists() and before == {}


def test_unwritable_output_is_found_before_the_work(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = lay(tmp_path / "work")
    (tmp_path / "work" / "out").write_text("a file")
    monkeypatch.setattr("cellveil.job.past.suppress", None)
    ended = command("run", path)
    assert ended.code == 2 and "a file where a folder is needed" in ended.err


def test_lines_are_found_in_all_ways_of_writing(tmp_path: Path) -> None:
    text = """\
# [title]
tables = [{dimensions = ["a"], file = "t.csv"}]
"suppress".seed = 1
rules = [
  {rule = "threshold"},
]
[ release ]   # the files
"symbol" = "x"
[dimensions."a"]
column = "b"
"""
    path = tmp_path / "job.toml"
    path.write_text(text)
    source = read_job(path)._source
    assert source is not None
    places: dict[tuple[str | int, ...], int | None] = {
        ("tables", 0, "file"): 2,
        ("suppress", "seed"): 3,
        ("rules", 0): 4,
        ("release",): 7,
        ("release", "symbol"): 8,
        ("dimensions", "a", "column"): 10,
        ("title",): None,
    }
    assert {place: source.line_of(place) for place in places} == places
