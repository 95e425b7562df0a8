"""Tabulation by Spark: the table of DuckDB bit by bit, and nothing but cells on the way."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cellveil.errors import InputError
from cellveil.microdata.codes import distinct_codes
from cellveil.microdata.engine_choice import EngineChoice
from cellveil.microdata.tabulate import tabulate
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from helpers.odd_records import MARKED_AMOUNTS, ODD_DIMENSIONS, ODD_OPTIONS, marked_records, odd_records
from helpers.pages import ROOT
from helpers.records import assert_equal_tables, random_records
from helpers.spark import spark_session

pytest.importorskip("pyspark", reason='Spark is not installed: pip install "cellveil[spark]"')

REGION = Dimension.of(
    "region", Hierarchy.from_dict({"Total": {"N": ["N1", "N2"], "S": ["S1", "S2"], "W": ["W11"]}})
)
SECTOR = Dimension.of("sector", Hierarchy.from_dict({"All": {"A": ["A1", "A2"], "B": ["B1", "B2"]}}))
ROLES: dict[str, Any] = {"contributor": "firm", "holding": "group", "weight": "weight", "costs": ["weight"]}
HOSTILE = "fi`rm\"; DROP TABLE firms; --\\'"


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    with spark_session("local[2]") as found:
        yield found


def test_a_small_table_is_that_of_duckdb_and_only_cells_are_fetched(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql.classic.dataframe import DataFrame

    rows = []
    fetch = DataFrame.toArrow

    def counted(frame: Any) -> Any:
        found = fetch(frame)
        rows.append(len(found))
        return found

    monkeypatch.setattr(DataFrame, "toArrow", counted)
    data = random_records(2_000, 1)
    options: dict[str, Any] = {"contributor": "firm", "weight": "weight"}
    mine = tabulate(data, [REGION], "sales", **options)
    frame = session.createDataFrame(data)
    before = session.conf.get("spark.sql.ansi.enabled")
    session.conf.set("spark.sql.ansi.enabled", "false")
    assert_equal_tables(mine, tabulate(frame, [REGION], "sales", engine="spark", **options))
    assert session.conf.get("spark.sql.ansi.enabled") == "false"
    session.conf.set("spark.sql.ansi.enabled", before)
    assert session.catalog.listTables() == []
    assert sum(rows) < mine.num_cells * 20


@pytest.mark.slow
def test_many_records_with_holdings_and_weights(session: Any, tmp_path: Path) -> None:
    data = random_records(20_000, 1)
    pq.write_table(data, tmp_path / "firms.parquet")
    mine = tabulate(data, [REGION, SECTOR], "sales", **ROLES)
    theirs = tabulate(tmp_path / "firms.parquet", [REGION, SECTOR], "sales", engine="spark", **ROLES)
    assert_equal_tables(mine, theirs)


@pytest.mark.slow
def test_texts_numbers_and_names_of_all_kinds(session: Any) -> None:
    data = odd_records(HOSTILE)
    options = ODD_OPTIONS | {"contributor": HOSTILE}
    mine = tabulate(data, ODD_DIMENSIONS, "sales", **options)
    frame = session.createDataFrame(data)
    theirs = tabulate(frame, ODD_DIMENSIONS, "sales", engine="spark", **options)
    assert_equal_tables(mine, theirs)
    assert mine.units is not None and theirs.units is not None
    assert mine.units.names == theirs.units.names
    chosen = EngineChoice("spark", connection=session)
    assert distinct_codes(data, ["land"]) == distinct_codes(frame, ["land"], choice=chosen)


@pytest.mark.slow
def test_text_files_and_their_faults(session: Any, tmp_path: Path) -> None:
    file = tmp_path / "firms.csv"
    file.write_text('region;firm;sales\nN1;"a;b";1,5\nN2;c;2\n"S1";"d ""e""";3,25\n', encoding="utf-8")
    mine = tabulate(file, "region", "sales", contributor="firm", decimal=None)
    theirs = tabulate(file, "region", "sales", contributor="firm", decimal=None, engine="spark")
    assert_equal_tables(mine, theirs)
    with pytest.raises(InputError, match="the amount in column 'firm' is not a number") as error:
        tabulate(file, "region", "firm", engine="spark")
    assert "d " not in str(error.value)
    with pytest.raises(InputError, match="unknown code in dimension 'region'"):
        tabulate(file, [Dimension.of("region", Hierarchy.flat(["N1", "N2"]))], engine="spark")


@pytest.mark.slow
@pytest.mark.parametrize("marks", MARKED_AMOUNTS)
def test_marks_of_amounts_written_as_text_are_found(session: Any, marks: str) -> None:
    data = marked_records(marks)
    options: dict[str, Any] = {"contributor": "firm", "decimal": None, "allow_negative": True}
    frame = session.createDataFrame(data)
    mine = tabulate(data, "land", "sales", **options)
    assert_equal_tables(mine, tabulate(frame, "land", "sales", engine="spark", **options))


@pytest.mark.slow
def test_sums_too_large_are_errors(session: Any) -> None:
    heavy = pa.table({"land": ["N"] * 20, "firm": [1] * 20, "sales": [1] * 20, "weight": [9e8] * 20})
    frame = session.createDataFrame(heavy)
    known = [Dimension.of("land", Hierarchy.flat(["N"]))]
    for options in ({}, {"engine": "spark"}):
        with pytest.raises(InputError, match="too large"):
            tabulate(
                frame if options else heavy, known, "sales", contributor="firm", weight="weight", **options
            )


CLUSTER = """
import sys
sys.path[:0] = {paths!r}
from tests.microdata.test_spark import ROLES, REGION, SECTOR
from helpers.records import assert_equal_tables, random_records
from helpers.spark import spark_session
from cellveil.microdata.tabulate import tabulate
data = random_records(20_000, 1)
with spark_session("local-cluster[2,1,1024]") as session:
    theirs = tabulate(session.createDataFrame(data), [REGION, SECTOR], "sales", engine="spark", **ROLES)
assert_equal_tables(tabulate(data, [REGION, SECTOR], "sales", **ROLES), theirs)
print("equal")
"""


@pytest.mark.slow
def test_a_cluster_of_two_workers() -> None:
    code = CLUSTER.format(paths=[str(ROOT), str(ROOT / "tests"), str(ROOT / "src")])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=1800)
    assert done.stdout.splitlines()[-1:] == ["equal"], done.stderr[-3000:]
