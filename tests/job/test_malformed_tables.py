"""A corpus of malformed tables and microdata: each ends in exit code 2 with the place and what to write.

The data hold the recognisable amounts 987654 and 876543; no message may show them.
"""

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from helpers.command import Command, listing

SECRETS = ("987654", "876543", "987.654", "987,654")

TABLE = """\
region;size;value;status;firms;x1;x2
Total;Total;1864242;s;14;987654;876543
Total;a;987663;s;6;987654;5
Total;b;876579;s;8;876543;20
N;Total;987673;s;8;987654;9
N;a;987654;u;1;987654;
N;b;19;s;7;9;8
S;Total;876569;s;6;876543;9
S;a;9;s;5;5;3
S;b;876560;s;2;876543;17
"""

JOB = """\
output = "out"

[[tables]]
dimensions = ["region", "size"]
file = "table.csv"
contributors = "firms"
top = ["x1", "x2"]

[[rules]]
rule = "p%"
p = 10
"""

FIRMS = "firm,region,sales\n" + "".join(f"f{k},{'NS'[k % 2]},{987654 + k}\n" for k in range(8))

MICRODATA_JOB = """\
output = "out"

[microdata]
file = "firms.csv"
contributor = "firm"

[[tables]]
dimensions = ["region"]
response = "sales"

[[rules]]
rule = "threshold"
minimum = 3
"""


def table(old: str, new: str) -> dict[str, Any]:
    assert old in TABLE
    return {"table.csv": TABLE.replace(old, new, 1)}


def job(old: str, new: str, whole: str = JOB) -> dict[str, Any]:
    assert old in whole
    return {"job.toml": whole.replace(old, new, 1)}


def microdata(name: str = "firms.csv", content: str | bytes = FIRMS, **changes: str) -> dict[str, Any]:
    text = MICRODATA_JOB.replace("firms.csv", name)
    for old, new in changes.items():
        text = text.replace(f"{old} =", f"{new}\n{old} =", 1)
    return {"job.toml": text, name: content}


MALFORMED: dict[str, tuple[dict[str, Any], str]] = {
    # statuses, levels, bounds
    "a status without a meaning": (
        table("987654;u", "987654;P"),
        r"table\.csv, line 6, cell \(N, a\): the status in column 'status' has no known meaning: 'P'\. "
        r'Say what each of them means, for example statuses = \{"s" = "s", "P" = "\?"\}',
    ),
    "a column of amounts for statuses": (
        job('file = "table.csv"', 'file = "table.csv"\nstatus = "x2"') | {"table.csv": TABLE},
        r"the column 'x2' is the status and the 2\. largest contribution",
    ),
    "values as statuses": (
        job('top = ["x1", "x2"]', 'status = "x1"'),
        r"table\.csv, line 2.*the status in column 'x1' has no known meaning\. Say what",
    ),
    "a meaning that is none": (
        job('file = "table.csv"', 'file = "table.csv"\nstatuses = {P = "p"}'),
        r"job\.toml, line 6: tables\.statuses\.P is none of 'u', 'm', 's' or 'z'",
    ),
    "a status column that is not there": (
        job('file = "table.csv"', 'file = "table.csv"\nstatus = "state"'),
        r"table\.csv, line 1: there is no column 'state'\. Did you mean 'status'\? The key status",
    ),
    "a negative level": (
        {
            "table.csv": re.sub(r"(?m)$", ";1", TABLE.strip())
            .replace("x2;1", "x2;lpl")
            .replace(";u;1;987654;;1", ";u;1;987654;;-1")
            + "\n"
        },
        r"table\.csv, line 6, cell \(N, a\): the lpl is negative\. Levels are distances",
    ),
    "a bound above the value": (
        {"table.csv": re.sub(r"(?m)$", ";2", TABLE.strip()).replace("x2;2", "x2;ub") + "\n"},
        r"its value lies outside lb and ub.*Correct the bounds",
    ),
    # contributors
    "contributions above the value": (
        table("19;s;7;9;8", "19;s;7;12;8"),
        r"table\.csv, line 7, cell \(N, b\): the largest contributions are more than their total.*shadow =",
    ),
    "more contributions than contributors": (
        table("876560;s;2;", "876560;s;1;"),
        r"table\.csv, line 10, cell \(S, b\): there are more largest contributions than contributors",
    ),
    "a contribution that is not given": (
        table("19;s;7;9;8", "19;s;7;9;"),
        r"table\.csv, line 7, cell \(N, b\): a largest contribution is missing.*number of contributors",
    ),
    "a number of contributors that is none": (
        table("9;s;5;5;3", "9;s;some;5;3"),
        r"table\.csv, line 9, cell \(S, a\): the firms is not a number",
    ),
    "half a contributor": (
        table("9;s;5;5;3", "9;s;4.5;5;3"),
        r"table\.csv, line 9, cell \(S, a\): the firms has more decimals than declared",
    ),
    "too few largest contributions for the rule": (
        job('top = ["x1", "x2"]', 'top = ["x1"]'),
        r"needs the 2 largest contributions, but only 1 are kept",
    ),
    "a rule that needs contributions where there are none": (
        job('contributors = "firms"\ntop = ["x1", "x2"]\n', ""),
        r"needs the contributions at unit level.*top = ",
    ),
    # numbers and files
    "a comma that can be read in two ways": (
        {
            "table.csv": "region;size;value;status\nTotal;Total;1,234;s\n",
            "job.toml": JOB.replace('contributors = "firms"\ntop = ["x1", "x2"]\n', ""),
        },
        r"table\.csv: numbers have a comma that may be a decimal or a thousands mark\. Write decimal = ",
    ),
    "points and commas": (
        table("19;s;7;9;8", "19,5;s;7;9.5;8"),
        r"table\.csv: some numbers have a decimal comma and others a decimal point\. Write decimal = ",
    ),
    "a thousands mark in the wrong place": (
        table("19;s;7;9;8", "1.9;s;7;9;8") | job('file = "table.csv"', 'file = "table.csv"\nthousands = "."'),
        r"table\.csv, line 7, cell \(N, b\): the value is not a number",
    ),
    "the same mark twice": (
        job('file = "table.csv"', 'file = "table.csv"\ndecimal = ","\nthousands = ","'),
        r"job\.toml, line 6: the decimal and the thousands mark are the same",
    ),
    "a title above the header": (
        {"table.csv": "Turnover of firms\n" + TABLE},
        r"table\.csv, line 1: there is no column 'region'\. It has 1 columns.*skip = 1",
    ),
    "more lines to skip than there are": (
        job('file = "table.csv"', 'file = "table.csv"\nskip = 99'),
        r"table\.csv: 99 lines are to be skipped, and there are no more\. Lower skip",
    ),
    "an Excel file named as CSV": (
        {"table.csv": b"PK\x03\x04" + b"\x00" * 50},
        r"table\.csv: the name is that of a text file, but this is an Excel file or another zip archive.*"
        r"Give it its proper name\. Save it as one of: CSV .*, Parquet .*, SPSS",
    ),
    "an old Excel file": (
        job("table.csv", "table.xls") | {"table.xls": b"\xd0\xcf\x11\xe0"},
        r"table\.xls: files that end in \.xls are not read\. Save it as one of: CSV .*Excel \(\.xlsx",
    ),
    "a sheet that is not there": (
        job('"table.csv"', '"book.xlsx"\nsheet = "Tabel"') | {"book.xlsx": "Table"},
        r"book\.xlsx: there is no sheet 'Tabel'\. Did you mean 'Table'",
    ),
    "rows of no table": (
        job('file = "table.csv"', 'file = "table.csv"\nrows = {status = "T7"}'),
        r"table\.csv: no row has status = 'T7'",
    ),
    "rows by a column that is not there": (
        job('file = "table.csv"', 'file = "table.csv"\nrows = {tab = "T7"}'),
        r"table\.csv, line 1: there is no column 'tab'",
    ),
    "a code that is empty": (
        table("S;a;9", ";a;9"),
        r"table\.csv, line 9: the column 'region' is empty\. Give the code",
    ),
    "a cell twice, apart from blanks": (
        table("S;a;9;s;5;5;3\n", "S;a;9;s;5;5;3\nS ;a;9;s;5;5;3\n"),
        r"table\.csv, line 10, cell \(S, a\): the cell occurs twice",
    ),
    "codes in two orders": (
        job("[[rules]]", '[dimensions.size]\ncodes = ["a", "b"]\norder = "data"\n\n[[rules]]'),
        r"job\.toml, line 11: the codes have their order already\. Leave order out",
    ),
    "a code that is not in the list": (
        job("[[rules]]", '[dimensions.size]\ncodes = ["a", "c"]\n\n[[rules]]'),
        r"table\.csv, line 4.*unknown code in dimension 'size'",
    ),
    # microdata
    "microdata of a kind that is not read": (
        microdata("firms.json", "[]"),
        r"firms\.json: files that end in \.json are not read\. Save it as one of: CSV",
    ),
    "a text named as SPSS": (
        microdata("firms.sav"),
        r"firms\.sav: not a readable file of SPSS.*export it as CSV or Parquet",
    ),
    "a text named as SAS": (microdata("firms.sas7bdat"), r"firms\.sas7bdat: not a readable file of SAS"),
    "a text named as Stata": (microdata("firms.dta"), r"firms\.dta: not a readable file of Stata"),
    "a text named as a database": (
        microdata("firms.duckdb"),
        r"firms\.duckdb: neither a DuckDB nor an SQLite database",
    ),
    "a Parquet file named as CSV": (
        microdata("firms.csv", b"PAR1" + b"\x00" * 30),
        r"firms\.csv: the name is that of a text file, but this is a Parquet file",
    ),
    "a code that differs in capitals from that of the hierarchy": (
        {
            "job.toml": MICRODATA_JOB + '\n[dimensions.region]\nhierarchy = "tree.csv"\n',
            "tree.csv": "parent,child\nTotal,N\nTotal,s\n",
            "firms.csv": FIRMS,
        },
        r"firms\.csv, line 3: unknown code in dimension 'region'.*Apart from capitals, .* it is 's'",
    ),
    "a comma in microdata that can be read in two ways": (
        microdata(content=FIRMS.replace(",", ";").replace("98765", "98,76")),
        r"firms\.csv: numbers have a comma that may be a decimal or a thousands mark",
    ),
    "a decimal mark that is none": (
        microdata(file='decimal = "·"'),
        r"job\.toml, line 4: microdata\.decimal is none of '\.' or ','",
    ),
}


def lay(folder: Path, files: dict[str, Any]) -> Path:
    for name, content in ({"job.toml": JOB, "table.csv": TABLE} | files).items():
        if name == "book.xlsx":
            pd.DataFrame({"region": ["N"]}).to_excel(folder / name, sheet_name=content, index=False)
        else:
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder / "job.toml"


def test_the_good_files_are_good(tmp_path: Path, command: Command) -> None:
    assert command("run", lay(tmp_path, {})).code == 0
    (tmp_path / "other").mkdir()
    assert command("run", lay(tmp_path / "other", microdata())).code == 0


def test_there_are_enough() -> None:
    assert len(MALFORMED) >= 25


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_file_is_told_with_its_place_and_the_remedy(
    name: str, tmp_path: Path, command: Command
) -> None:
    files, message = MALFORMED[name]
    path = lay(tmp_path, files)
    before = listing(tmp_path)
    done = command("run", path)
    assert done.code == 2, done.out
    assert re.search(message, done.err.replace("\n", " ")), done.err
    assert not any(secret in done.err for secret in SECRETS)
    assert listing(tmp_path) == before
