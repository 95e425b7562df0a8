"""Whether an engine tabulates microdata like DuckDB: expressions whose results it must give bit by bit.

Rounding of halves, text that is a number or none, order and equality of texts, blanks, empty texts, numbers
that are not finite, sums of 128 bits and what they are as floats. An engine that answers otherwise is refused
before it reads a record: its table would not be the same.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from cellveil.errors import InputError
from cellveil.microdata import sql
from cellveil.microdata.engine import Engine
from cellveil.microdata.engine_choice import EngineChoice
from cellveil.microdata.number_marks import EVIDENCE, NumberMarks, plain_sql

TESTED = ("spark", "postgres")
"""Engines whose errors of overflow the tests hold."""

TOO_LARGE = f"SELECT CAST(CAST('{2**63}' AS HUGEINT) AS BIGINT) AS x"


def _float(text: str) -> str:
    return f"TRY_CAST(CAST('{text}' AS VARCHAR) AS DOUBLE)"


def _text(text: str) -> str:
    return f"CAST({sql.literal(text)} AS VARCHAR)"


def _whether(condition: str) -> str:
    return f"CASE WHEN {condition} THEN 1 WHEN NOT ({condition}) THEN 0 END"


PRODUCTS = (2**53 + 1, -(2**60) - 1, 2**65 + 2**13 + 1, -(2**66) - 2**12 - 1, 10**37 + 1)

MARKED = "1\u202f234\u00a0567,25"

PROBES: dict[str, list[str]] = {
    "rounding of halves": [
        f"CAST(round({_float(x)}) AS BIGINT)" for x in ("2.5", "-2.5", "0.49999999999999994", "1e3")
    ],
    "texts that are numbers": [
        sql.scaled(_text(x), "decimal", 2, rounding=True)
        for x in ("12.5", "1.005", "-1.005", "1e3", "12x", "")
    ],
    "marks of numbers": [
        *(_whether(f"regexp_matches({_text(MARKED)}, {sql.literal(how)})") for how in EVIDENCE.values()),
        plain_sql(_text(MARKED), NumberMarks(",", " ")),
        plain_sql(_text("1.234,5"), NumberMarks(",", ".")),
    ],
    "order of texts": [
        _whether(f"{_text(a)} < {_text(b)}")
        for a, b in (("a", "B"), ("Z", "é"), ("a", "á"), ("-b", "a"), ("10", "9"), ("\uffee", "\U00010000"))
    ],
    "equal texts": [
        _whether(f"{_text(a)} = {_text(b)}")
        for a, b in (("a", "A"), ("a", "a "), ("é", "e\u0301"), ("ß", "ss"))
    ],
    "empty texts": [_whether(f"{_text('')} IS NULL"), _whether(f"trim({_text(' ')}) = ''")],
    "blanks": [_whether(f"trim({_text(f' {blank}a{blank}')}) = 'a'") for blank in (" ", "\u00a0", "\t")],
    "floats": [
        _whether(f"isfinite({_float('1e99')} * {_float('1e99')})"),
        f"{_float('1')} / 3",
        f"{_float('0.1')} * 3",
        sql.weighted("7", _float("0.35714285714285715")),
    ],
    "sums of 128 bits": [
        f"(SELECT CAST(product AS DOUBLE) FROM (SELECT CAST('{x}' AS HUGEINT) AS product))" for x in PRODUCTS
    ],
}


def check_alike(engine: Engine, choice: EngineChoice) -> None:
    """Raise where an engine does not compute like DuckDB."""
    import duckdb

    from cellveil.microdata.duckdb_engine import DuckDBEngine

    columns = [f"{x} AS p{place}" for place, x in enumerate(x for group in PROBES.values() for x in group)]
    query = f"SELECT {', '.join(columns)}"
    with duckdb.connect() as connection:
        wanted = DuckDBEngine(connection).row(query)
    names = [name for name, group in PROBES.items() for _ in group]
    for name, mine, theirs in zip(names, wanted, engine.row(query), strict=True):
        if _plain(mine) != _plain(theirs):
            raise _unlike(choice, name)
    if choice.name not in TESTED:
        try:
            engine.row(TOO_LARGE)
        except InputError:
            return
        raise _unlike(choice, "sums that are too large")


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, (bool, Decimal)) else value


def _unlike(choice: EngineChoice, name: str) -> InputError:
    return InputError(
        f"{choice} does not compute like DuckDB ({name}), so that its table would be another one",
        remedy="Use DuckDB, Spark or PostgreSQL, or set the engine to exact arithmetic and binary collation.",
    )
