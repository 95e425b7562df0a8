"""Tabulation by PostgreSQL: the table of DuckDB bit by bit, and nothing but cells on the way."""

from __future__ import annotations

import os
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from cellveil.errors import InputError
from cellveil.microdata.codes import distinct_codes
from cellveil.microdata.engine_choice import EngineChoice
from cellveil.microdata.tabulate import tabulate
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from helpers.odd_records import MARKED_AMOUNTS, ODD_DIMENSIONS, ODD_OPTIONS, marked_records, odd_records
from helpers.postgres import MISSING, postgres_server, program
from helpers.records import assert_equal_tables, random_records

pytestmark = pytest.mark.skipif(program("initdb") is None, reason=MISSING)

REGION = Dimension.of(
    "region", Hierarchy.from_dict({"Total": {"N": ["N1", "N2"], "S": ["S1", "S2"], "W": ["W11"]}})
)
SECTOR = Dimension.of("sector", Hierarchy.from_dict({"All": {"A": ["A1", "A2"], "B": ["B1", "B2"]}}))
ROLES: dict[str, Any] = {"contributor": "firm", "holding": "group", "weight": "weight", "costs": ["weight"]}
VARIABLE = "CELLVEIL_TEST_ADDRESS"
HOSTILE = 'firm"; DROP TABLE firms; --'


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with postgres_server() as found:
        yield found


@pytest.fixture(autouse=True)
def environment(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, address)


def load(address: str, name: str, data: pa.Table) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(address) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest(name, data, mode="replace")
        connection.commit()


class Counted:
    """A connection that counts the rows that are fetched."""

    def __init__(self, connection: Any) -> None:
        self._connection, self.rows = connection, 0

    def cursor(self) -> Any:
        outer, cursor = self, self._connection.cursor()

        class Cursor:
            def __getattr__(self, name: str) -> Any:
                return getattr(cursor, name)

            def fetchmany(self, size: int) -> Any:
                found = cursor.fetchmany(size)
                outer.rows += len(found)
                return found

        return Cursor()


def test_the_table_is_that_of_duckdb_and_only_cells_are_fetched(address: str) -> None:
    import psycopg

    data = random_records(20_000, 1)
    load(address, "firms", data)
    mine = tabulate(data, [REGION, SECTOR], "sales", **ROLES)
    with psycopg.connect(address) as connection:
        counted = Counted(connection)
        theirs = tabulate(
            "public.firms", [REGION, SECTOR], "sales", connection=counted, dialect="postgres", **ROLES
        )
        assert_equal_tables(mine, theirs)
        left = connection.execute("SELECT count(*) FROM pg_class WHERE relname LIKE 'cellveil_%'").fetchone()
    assert left == (0,)
    depth, rankings = 3, 2
    assert counted.rows < 2 * mine.num_cells * (2 + depth * (rankings + 1)) + 100


def test_texts_numbers_and_names_of_all_kinds(address: str) -> None:
    data = odd_records(HOSTILE)
    load(address, "odd one", data)
    options = ODD_OPTIONS | {"contributor": HOSTILE}
    mine = tabulate(data, ODD_DIMENSIONS, "sales", **options)
    theirs = tabulate(
        "odd one", ODD_DIMENSIONS, "sales", engine=EngineChoice("postgres", VARIABLE), **options
    )
    assert_equal_tables(mine, theirs)
    assert mine.units is not None and theirs.units is not None
    assert mine.units.names == theirs.units.names == tuple(sorted(mine.units.names))
    chosen = EngineChoice("postgres", VARIABLE)
    assert distinct_codes(data, ["land"]) == distinct_codes("odd one", ["land"], choice=chosen)


def test_marks_of_amounts_written_as_text_are_found(address: str) -> None:
    for marks in MARKED_AMOUNTS:
        data = marked_records(marks)
        load(address, "marked", data)
        options: dict[str, Any] = {"contributor": "firm", "decimal": None, "allow_negative": True}
        mine = tabulate(data, "land", "sales", **options)
        chosen = EngineChoice("postgres", VARIABLE)
        assert_equal_tables(mine, tabulate("marked", "land", "sales", engine=chosen, **options))


def test_amounts_that_do_not_fit_the_marks_are_faults(address: str) -> None:
    data = pa.table({"land": ["N", "X"], "sales": ["1.234,5", "12.34"]})
    load(address, "misfit", data)
    options: dict[str, Any] = {"decimal": ",", "thousands": "."}
    for source, chosen in ((data, None), ("misfit", EngineChoice("postgres", VARIABLE))):
        with pytest.raises(InputError, match="the amount in column 'sales' is not a number"):
            tabulate(source, "land", "sales", engine=chosen, **options)


def test_faults_are_told_without_values(address: str) -> None:
    data = pa.table({"land": ["N", "X"], "firm": ["a", "b"], "sales": ["5", "x7y"]})
    load(address, "faulty", data)
    chosen: dict[str, Any] = {"engine": EngineChoice("postgres", VARIABLE)}
    known = [Dimension.of("land", Hierarchy.flat(["N", "X"]))]
    with pytest.raises(InputError, match="unknown code in dimension 'land'"):
        tabulate("faulty", [Dimension.of("land", Hierarchy.flat(["N"]))], **chosen)
    with pytest.raises(InputError, match="the amount in column 'sales' is not a number") as error:
        tabulate("faulty", known, "sales", **chosen)
    assert "x7y" not in str(error.value)
    with pytest.raises(InputError, match="there is no column 'sale'"):
        tabulate("faulty", known, "sale", **chosen)
    with pytest.raises(InputError, match="there is no such table"):
        tabulate("nothing", known, **chosen)
    with pytest.raises(InputError, match="not one SELECT"):
        tabulate(None, known, query="SELECT 1; DROP TABLE faulty", **chosen)
    with pytest.raises(InputError, match="have no order"):
        distinct_codes("faulty", ["land"], order="data", choice=chosen["engine"])


def test_sums_too_large_are_errors(address: str) -> None:
    data = pa.table({"land": ["N", "N"], "sales": [Decimal(2**61), Decimal(2**61)]})
    load(address, "large", data)
    known = [Dimension.of("land", Hierarchy.flat(["N"]))]
    with pytest.raises(InputError, match="too large"):
        tabulate("large", known, "sales", engine=EngineChoice("postgres", VARIABLE))


def test_addresses_stay_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "postgresql://spy:secret@localhost:1/none")
    choice = EngineChoice("postgres", VARIABLE)
    with pytest.raises(InputError) as error:
        tabulate("firms", [REGION], engine=choice)
    assert "secret" not in f"{error.value}{error.value.__cause__}{choice!r}"
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(InputError, match=f"environment variable {VARIABLE}"):
        tabulate("firms", [REGION], engine=choice)
    assert VARIABLE not in os.environ
