"""The SQL of tabulation in other dialects: golden statements, hostile names, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp

from cellveil.errors import InputError
from cellveil.microdata import sql
from cellveil.microdata.engine_choice import EngineChoice
from cellveil.microdata.engine_probe import check_alike
from cellveil.microdata.engine_sql import RULES, Translator, known_dialects
from cellveil.microdata.foreign_engine import checked_query
from cellveil.microdata.number_marks import NumberMarks
from cellveil.microdata.records import Records, Roles
from cellveil.microdata.source_options import SourceOptions
from cellveil.microdata.tabulate import tabulate
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from helpers.records import assert_equal_tables, random_records

GOLDEN = Path(__file__).parent / "golden_sql"
HOSTILE = ['a"b', "a`b", "a\\b", "a'; DROP TABLE x; --", "a]b", "${x} %s ?", "ä\u0301 😀", "select"]
REGION = Dimension.of("region", Hierarchy.from_dict({"Total": {"N": ["N1", "N2"], "S": ["S1", "S2", "W11"]}}))


class Written:
    """An engine that writes down what it would run, and finds nothing wrong."""

    native = False

    def __init__(self, dialect: str) -> None:
        self._translate = Translator(dialect, Translator(dialect, "", "").quoted("firms"), "cv_")
        self.lines: list[str] = []

    def make(self, name: str, select: str, *, cheap: bool = False) -> None:
        self.lines.append(self._translate.make(name, select))

    def drop(self, name: str) -> None:
        self.lines.append(f"DROP TABLE {self._translate.name(name)}")

    def load(self, name: str, columns: Any) -> None:
        kinds = {column: "VARCHAR" if column == "code" else "INTEGER" for column in columns}
        self.lines.append(self._translate.columns(name, kinds))
        self.lines.append(self._translate.values(name, list(zip(*columns.values(), strict=True))))

    def row(self, query: str) -> tuple[Any, ...]:
        self.lines.append(self._translate(query))
        number = len(sqlglot.parse_one(query, read="duckdb").expressions)
        return (0, *[0, 0] * (number // 2)) if "sum(" in query else (1, *[0] * (number - 1))

    def cells(self, query: str) -> Any:
        raise AssertionError


class Firms:
    """Columns of a table of firms."""

    types: ClassVar = {
        "region": "VARCHAR",
        "firm": "BIGINT",
        "sales": "DECIMAL",
        "weight": "DOUBLE",
        "asks": "VARCHAR",
        "costs": "VARCHAR",
    }
    options, name, title = SourceOptions(marks=NumberMarks(",", ".")), None, "the microdata"

    def first(self, condition: str, column: str) -> None:
        raise AssertionError


def statements(dialect: str) -> str:
    """All kinds of statements, from the records to lists of the largest."""
    engine = Written(dialect)
    roles = Roles(("region",), "sales", "costs", weight="weight", members={"unit": "firm"}, request="asks")
    records = Records(engine, Firms(), [REGION], roles)
    records.read(2)
    level = sql.MemberLevel("unit", True, True, False)
    engine.make("t1", level.rows("records", 1))
    engine.make("t2", level.marked("t1", 0, 1))
    engine.make("t3", level.figures_of("t1", 1))
    engine.make(
        "t4",
        sql.largest(
            f"({level.sizes_of('t1', 1, sql.TOP)})", ["c0"], level.rankings[sql.TOP], 3, native=False
        ),
    )
    engine.make("ids", sql.numbered_ids(["t4"]))
    engine.make(
        "t5",
        sql.group(f"({sql.covered('t3', 'closure0', 0, 1, list(level.figures))})", ["c0"], level.figures),
    )
    return ";\n\n".join(engine.lines) + ";\n"


@pytest.mark.parametrize("dialect", [*RULES])
def test_golden_statements(dialect: str) -> None:
    """Written by ``python -m pytest`` with the file removed, and looked at by somebody."""
    file = GOLDEN / f"{dialect}.sql"
    if not file.exists():
        GOLDEN.mkdir(exist_ok=True)
        file.write_text(statements(dialect), encoding="utf-8")
        pytest.fail(f"{file.name} was written: look at it")
    assert statements(dialect) == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("dialect", [*RULES])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_one_identifier(dialect: str, name: str) -> None:
    translator = Translator(dialect, Translator(dialect, "", "").quoted(name), "cv_")
    text = translator(f"SELECT {sql.as_text(f'm.{sql.ident(name)}', 'VARCHAR')} AS x FROM microdata AS m")
    (tree,) = sqlglot.parse(text, read=dialect)
    assert tree is not None
    assert next(column.name for column in tree.find_all(exp.Column)) == name
    assert [table.name for table in tree.find_all(exp.Table)] == [name]


@pytest.mark.parametrize("dialect", [*RULES])
def test_hostile_codes_are_one_text(dialect: str) -> None:
    statement = Translator(dialect, "", "cv_").values("codes0", [(name, 1) for name in HOSTILE])
    (tree,) = sqlglot.parse(statement, read=dialect)
    assert tree is not None
    assert [text.name for text in tree.find_all(exp.Literal) if text.is_string] == HOSTILE


def test_queries_are_one_select() -> None:
    assert checked_query("SELECT 1 -- all;", "postgres") == "SELECT 1 -- all"
    for query in ("DROP TABLE x", "SELECT 1; SELECT 2", "INSERT INTO x VALUES (1)", "", "SELEC 1 FROM"):
        with pytest.raises(InputError, match="not one SELECT"):
            checked_query(query, "postgres")


def test_a_connection_of_duckdb_gives_the_same_table() -> None:
    data = random_records(300, 5)
    options: dict[str, Any] = {"contributor": "firm", "weight": "weight"}
    mine = tabulate(data, [REGION, "sector"], "sales", **options)
    with duckdb.connect() as connection:
        connection.register("frame", data)
        connection.execute('CREATE TABLE "firms" AS SELECT * FROM frame')
        found = tabulate(
            "firms", [REGION, "sector"], "sales", connection=connection, dialect="duckdb", **options
        )
    assert_equal_tables(mine, found)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"engine": "sparc"}, "no engine 'sparc'"),
        ({"dialect": "postgres"}, "no connection"),
        ({"connection": object()}, "dialect of the connection"),
        ({"connection": object(), "dialect": "nosql"}, "dialect 'nosql' is not known"),
        ({"engine": "postgres", "threads": 2}, "are for DuckDB"),
    ],
)
def test_contradictions_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        tabulate(pa.table({"region": ["N1"]}), [REGION], **arguments)


def test_an_engine_that_computes_otherwise_is_refused() -> None:
    class Careless:
        """Rounds 2.5 to the even number."""

        def row(self, query: str) -> tuple[Any, ...]:
            with duckdb.connect() as connection:
                return (2, *connection.execute(query).fetchall()[0][1:])

    with pytest.raises(InputError, match="rounding of halves"):
        check_alike(Careless(), EngineChoice("trino", connection=object()))  # type: ignore[arg-type]


def test_dialects_are_those_of_sqlglot() -> None:
    assert {*RULES, "trino", "duckdb"} <= set(known_dialects())
