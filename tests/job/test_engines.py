"""Jobs that name an engine: one place for the records, no address in the file, and what `check` says."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellveil.errors import InputError
from cellveil.job.checking import check_job
from cellveil.job.reading import read_job
from helpers.postgres import MISSING, postgres_server, program

TABLE = """
[[tables]]
dimensions = ["region"]
response = "sales"
[[rules]]
rule = "threshold"
minimum = 3
"""


def job(folder: Path, microdata: str) -> Path:
    path = folder / "job.toml"
    path.write_text(f"[microdata]\n{microdata}\n{TABLE}", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("microdata", "message"),
    [
        ('engine = "postgres"\nconnection = "postgresql://u:secret@h/d"\ntable = "t"', "connection"),
        ('engine = "postgres"\nfile = "a.csv"', "named by table or query"),
        ('engine = "postgres"\ntable = "t"\nquery = "SELECT 1"', "one of them"),
        ('engine = "spark"\ntable = "t"', "named by file or query"),
        ('engine = "spark"\nfile = "a.parquet"\nmemory_limit = "1GB"', "memory_limit is for DuckDB"),
        ('file = "a.csv"\ntable = "t"', "table is for other engines"),
        ('contributor = "firm"', "key .microdata.file. is missing"),
        ('engine = "oracle"\ntable = "t"', "engine"),
    ],
)
def test_the_records_have_one_place(tmp_path: Path, microdata: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        read_job(job(tmp_path, microdata))
    assert "secret" not in str(error.value)


def test_addresses_of_lakes_are_no_paths(tmp_path: Path) -> None:
    found = read_job(job(tmp_path, 'engine = "spark"\nfile = ["s3://lake/firms.parquet", "b.parquet"]'))
    assert found.microdata is not None
    assert found.microdata.file == ["s3://lake/firms.parquet", str(tmp_path / "b.parquet")]


@pytest.mark.skipif(program("initdb") is None, reason=MISSING)
def test_check_says_which_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from adbc_driver_postgresql import dbapi

    with postgres_server() as address:
        with dbapi.connect(address) as connection, connection.cursor() as cursor:
            rows = "generate_series(1, 8) AS i"
            cursor.execute(f"CREATE TABLE firms AS SELECT 'N' || i % 3 AS region, i AS sales FROM {rows}")
            connection.commit()
        monkeypatch.setenv("SURVEY_DB", address)
        said = 'engine = "postgres"\nconnection = "SURVEY_DB"\ntable = "firms"'
        checked = check_job(read_job(job(tmp_path, said)))
    assert checked.engine == "PostgreSQL"
    assert "Engine      PostgreSQL tabulates the microdata" in checked.lines()
    assert (checked.cells, checked.primaries) == (4, 1)
    assert address not in "".join(checked.lines())
