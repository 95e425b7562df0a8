"""The SQL of tabulation in other dialects: statements written for DuckDB, translated by sqlglot.

Wherever two engines may read, round, compare or order differently, the translation spells out what DuckDB
does, so that the cells are the same bit by bit:

- texts compare and sort byte by byte, whatever the collation of their columns;
- TRIM cuts off the separators of Unicode, not the blank alone;
- a text is a number only when it looks like a plain decimal; what cannot be cast becomes NULL;
- ROUND takes halves of floats away from zero; sums of 128 bits are exact decimals of 38 digits;
- such a sum becomes a float as in DuckDB, in two words of 64 bits.

Names of columns and tables stay quoted identifiers throughout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from cellveil.errors import InputError, MissingExtraError
from cellveil.microdata.source_records import SOURCE

if TYPE_CHECKING:
    from sqlglot import exp

SEPARATORS = "".join(map(chr, (0x20, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000)))
"""The category Zs of Unicode, which TRIM of DuckDB cuts off."""

PLAIN_NUMBER = r"^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE]([+]?[0-9]{1,2}|-([0-9]{1,2}|[12][0-9]{2})))?$"
"""Texts that are numbers in every engine."""


@dataclass(frozen=True)
class DialectRules:
    """Where a dialect needs more than sqlglot knows.

    Parameters
    ----------
    exact
        Type of whole numbers of 38 digits.
    decimal
        Type of decimals, as a pattern of precision and scale.
    collated
        A text that compares byte by byte, as a pattern.
    make
        Statement that runs a query into a temporary table, as a pattern.
    has_try_cast
        Whether a cast of text may fail without an error.
    half_even
        Whether ROUND takes halves of floats to the even number.
    matches
        Whether a text has a part that fits a regular expression, where sqlglot would ask for all of it.
    """

    exact: str = "DECIMAL(38, 0)"
    decimal: str = "DECIMAL({precision}, {scale})"
    collated: str = "text"
    make: str = "CREATE TEMPORARY TABLE {name} AS {select}"
    has_try_cast: bool = True
    half_even: bool = False
    matches: str = ""


RULES: Mapping[str, DialectRules] = {
    "postgres": DialectRules(collated='text COLLATE "C"', has_try_cast=False, half_even=True),
    "spark": DialectRules(collated="text COLLATE UTF8_BINARY"),
    "databricks": DialectRules(collated="text COLLATE UTF8_BINARY"),
    "snowflake": DialectRules(collated="COLLATE(text, 'utf8')", matches="REGEXP_INSTR(x, how) > 0"),
    "bigquery": DialectRules(
        exact="BIGNUMERIC", decimal="BIGNUMERIC({precision}, {scale})", collated="COLLATE(text, '')"
    ),
}
"""Dialects that have rules of their own; others get the plain ones, and the probe decides."""


@cache
def known_dialects() -> tuple[str, ...]:
    """The dialects that sqlglot knows."""
    sqlglot = _sqlglot()
    return tuple(sorted(dialect.value for dialect in sqlglot.dialects.Dialects if dialect.value))


def _sqlglot() -> Any:
    try:
        import sqlglot
        import sqlglot.dialects
    except ImportError:
        raise MissingExtraError("sqlglot", "engines", "another engine than DuckDB") from None
    return sqlglot


class Translator:
    """From statements for DuckDB to those of another dialect.

    Parameters
    ----------
    dialect
        As sqlglot calls it.
    source
        SQL of that dialect that stands for the relation of the records, after FROM.
    prefix
        Begin of the names of all tables that are made, so that no other table is meant by them.

    Examples
    --------
    >>> translator = Translator("postgres", '"firms"', "cv_")
    >>> translator("SELECT count(*) FROM microdata AS m")
    'SELECT COUNT(*) FROM "firms" AS "m"'
    >>> Translator("duckdb", '"firms"', "cv_")("SELECT 1")
    'SELECT 1'
    """

    def __init__(self, dialect: str, source: str, prefix: str) -> None:
        self._sqlglot = _sqlglot()
        self.dialect, self.rules = dialect, RULES.get(dialect, DialectRules())
        self._source, self._prefix = source, prefix
        self._made = {SOURCE}
        self._rewriters = _rewriters(dialect, self.rules) if dialect != "duckdb" else {}

    def __call__(self, statement: str) -> str:
        """One query in the dialect."""
        tree = self._sqlglot.parse_one(statement, read="duckdb")
        for node in reversed(list(tree.dfs())):  # what stands inside comes first
            rewritten = self._rewritten(node)
            if rewritten is not node:
                node.replace(rewritten)
        exp = self._sqlglot.exp
        for number, subquery in enumerate(tree.find_all(exp.Subquery)):
            if not subquery.alias and isinstance(subquery.parent, exp.From):
                subquery.set("alias", exp.TableAlias(this=self.ident(f"q{number}")))
        text = str(tree.sql(dialect=self.dialect, identify=True))
        return text.replace(self.quoted(self._prefix + SOURCE), self._source)

    def name(self, table: str) -> str:
        """The quoted name of a table that is made."""
        self._made.add(table)
        return self.quoted(self._prefix + table)

    def make(self, table: str, select: str) -> str:
        """The statement that runs a query into a temporary table."""
        return self.rules.make.format(name=self.name(table), select=self(select))

    def values(self, table: str, rows: list[tuple[Any, ...]]) -> str:
        """The statement that puts rows of texts and whole numbers into a table."""
        exp = self._sqlglot.exp
        tuples = (
            "(" + ", ".join(exp.convert(field).sql(dialect=self.dialect) for field in row) + ")"
            for row in rows
        )
        return f"INSERT INTO {self.name(table)} VALUES {', '.join(tuples)}"

    def columns(self, table: str, names: Mapping[str, str]) -> str:
        """The query of an empty table with columns of these types."""
        casts = ", ".join(f"CAST(NULL AS {kind}) AS {name}" for name, kind in names.items())
        return self.make(table, f"SELECT {casts} WHERE 1 = 0")

    def ident(self, name: str) -> exp.Identifier:
        """A quoted identifier."""
        found: exp.Identifier = self._sqlglot.exp.to_identifier(name, quoted=True)
        return found

    def quoted(self, name: str) -> str:
        """The same as text."""
        return str(self.ident(name).sql(dialect=self.dialect))

    def _rewritten(self, node: Any) -> Any:
        exp = self._sqlglot.exp
        if isinstance(node, exp.Table) and _is_plain(node.this) and node.name in self._made:
            alias = node.alias or node.name
            return exp.Table(
                this=self.ident(self._prefix + node.name), alias=exp.TableAlias(this=self.ident(alias))
            )
        rewrite = self._rewriters.get(type(node).__name__)
        return node if rewrite is None else rewrite(node)


def _is_plain(identifier: Any) -> bool:
    return identifier is not None and not identifier.args.get("quoted")


# -- expressions that engines see differently -------------------------------------------------------------


def _rewriters(dialect: str, rules: DialectRules) -> dict[str, Callable[[Any], Any]]:
    """By kind of expression, what DuckDB does by it in words that every engine understands alike."""
    rewriters: dict[str, Callable[[Any], Any]] = {
        "Anonymous": _finite,
        "Cast": lambda node: _cast(node, dialect, rules),
        "TryCast": lambda node: _try_cast(node, dialect, rules),
        "Trim": _trim,
        "Floor": _refused,
        "IsNan": _refused,
        "Filter": lambda node: _filled("COUNT(CASE WHEN x THEN 1 END)", x=node.expression.this),
    }
    if rules.half_even:
        rewriters["Round"] = _round
    if rules.matches:
        rewriters["RegexpLike"] = lambda node: _matches(node, dialect, rules)
    return rewriters


def _filled(template: str, dialect: str = "duckdb", /, **nodes: Any) -> Any:
    """A pattern of SQL with expressions in place of the columns of these names."""
    sqlglot = _sqlglot()
    tree = sqlglot.exp.paren(sqlglot.parse_one(template, read=dialect), copy=False)
    for column in list(tree.find_all(sqlglot.exp.Column)):
        if column.name in nodes:
            node = nodes[column.name].copy()
            column.replace(sqlglot.exp.paren(node) if isinstance(node, sqlglot.exp.Condition) else node)
    return tree


def _finite(node: Any) -> Any:
    if node.name.lower() != "isfinite":
        raise InputError(f"the function {node.name} has no translation", remedy="Use DuckDB.")
    return _filled("abs(x) < CAST('inf' AS DOUBLE)", x=node.expressions[0])


def _trim(node: Any) -> Any:
    exp = _sqlglot().exp
    return exp.Trim(this=node.this, expression=exp.Literal.string(SEPARATORS), position="BOTH")


def _round(node: Any) -> Any:
    """Halves away from zero, exactly: twice a float, its whole part and half of that are exact."""
    if node.args.get("decimals") is not None:  # of decimals
        return node
    return _filled("sign(x) * ceil(trunc(2 * abs(x)) / 2)", x=node.this)


def _cast(node: Any, dialect: str, rules: DialectRules) -> Any:
    exp = _sqlglot().exp
    kinds, exact = exp.DataType.Type, exp.DataType.build(rules.exact, dialect=dialect)
    if node.is_type(kinds.INT128):
        return exp.cast(node.this, exact)
    if node.is_type(kinds.TEXT, kinds.VARCHAR):
        return _filled(rules.collated, dialect, text=node)
    if node.is_type(kinds.DOUBLE) and isinstance(node.this, exp.Column) and node.this.name == "product":
        return _two_words(node.this, exact)
    return node


def _two_words(number: Any, exact: Any) -> Any:
    """A whole number of 128 bits as a float: its words of 64 bits are rounded, and then their sum."""
    exp = _sqlglot().exp
    return _filled(
        "CASE WHEN x < 0 AND x >= -word THEN -CAST(-x - 1 AS DOUBLE) - 1 "
        "ELSE CAST((x % word + word) % word AS DOUBLE) + CAST(x - (x % word + word) % word AS DOUBLE) END",
        x=number,
        word=exp.cast(exp.Literal.string(str(2**64)), exact),
    )


def _try_cast(node: Any, dialect: str, rules: DialectRules) -> Any:
    """NULL for what is no number; PostgreSQL has no such cast and asks first."""
    exp = _sqlglot().exp
    kinds = exp.DataType.Type
    if node.is_type(kinds.BIGINT):  # of whole numbers only
        end = exp.cast(exp.Literal.string(f"{2.0**63!r}"), "DOUBLE")
        return _filled("CASE WHEN x >= -e AND x < e THEN CAST(x AS BIGINT) END", x=node.this, e=end)
    text, to = exp.cast(node.this, "TEXT"), node.to
    if node.is_type(kinds.DECIMAL):
        precision, scale = (int(size.name) for size in node.to.expressions)
        to = exp.DataType.build(rules.decimal.format(precision=precision, scale=scale), dialect=dialect)
    found = exp.TryCast(this=text.copy(), to=to, safe=True, requires_string=True)
    if not rules.has_try_cast:
        found = exp.cast(text.copy(), to)
        if node.is_type(kinds.DECIMAL):
            fits = f"ABS(ROUND(CAST(x AS NUMERIC), {scale})) < 1e{precision - scale}"
            found = _filled(f"CASE WHEN {fits} THEN CAST(x AS {to.sql(dialect)}) END", dialect, x=text)
    is_number = exp.RegexpLike(this=text, expression=exp.Literal.string(PLAIN_NUMBER))
    if rules.matches:
        is_number = _matches(is_number, dialect, rules)
    return _filled("CASE WHEN a THEN b END", a=is_number, b=found)


def _matches(node: Any, dialect: str, rules: DialectRules) -> Any:
    return _filled(rules.matches, dialect, x=node.this, how=node.expression)


def _refused(node: Any) -> Any:
    raise InputError(
        "codes and ids that are stored as floating-point numbers are not read by this engine",
        remedy="Cast the column to text or to whole numbers in a query.",
    )
