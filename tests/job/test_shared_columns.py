"""Two dimensions that classify by one column of the data: equal content, one cell."""

import csv
from pathlib import Path

import pytest

import cellveil as cv

AMOUNTS = {"a": [900, 3], "b": [40, 41, 42, 50], "c": [30, 35, 28, 31], "d": [20, 25, 22, 27]}

JOB = """
output = "out"
default_attackers = false
[microdata]
file = "records.csv"
[[rules]]
rule = "dominance"
n = 1
k = 80
[weights]
kind = "one"
[dimensions.region]
column = "reg"
[dimensions.area]
column = "reg"
"""


def run(folder: Path, tables: str) -> cv.JobResult:
    rows = [
        f"{code},{size},{amount}"
        for code, amounts in AMOUNTS.items()
        for amount, size in zip(amounts, "xyxy", strict=False)
    ]
    (folder / "records.csv").write_text("\n".join(["reg,size,v", *rows]))
    (folder / "job.toml").write_text(JOB + tables)
    return cv.run_job(cv.read_job(folder / "job.toml"))


def shown(folder: Path, name: str) -> dict[str, str]:
    """The published values of the codes of the first dimension."""
    text = (folder / "out/public" / f"{name}.csv").read_text()
    rows = csv.DictReader(text.splitlines())
    return {next(iter(row.values())): row["value"] for row in rows if row.get("size", "Total") == "Total"}


@pytest.mark.parametrize("first", ["region", "area"])
def test_the_same_code_of_two_tables_is_one_cell(tmp_path: Path, first: str) -> None:
    """Code a is primary. One table must show c, so that c protects a in neither table, suppressed or not."""
    second = "area" if first == "region" else "region"
    tables = f"""
[[tables]]
name = "one"
dimensions = ["{first}"]
response = "v"
[[tables]]
name = "two"
dimensions = ["{second}", "size"]
response = "v"
[[cells]]
key = {{}}
status = "z"
[[cells]]
key = {{{first} = "c"}}
status = "z"
[[cells]]
key = {{{second} = "c"}}
status = "m"
"""
    assert run(tmp_path, tables).audit.is_safe
    one, two = shown(tmp_path, "one"), shown(tmp_path, "two")
    assert one["a"] == two["a"] == "x" and one["c"] == "124"
    assert [one[code] for code in "bd"] == [two[code] for code in "bd"]
