"""The SQL of tabulation, as text: joins, GROUP BY and row_number() windows.

Every function returns a statement or an expression and runs nothing. A cell is named by its codes in the
columns c0, c1, …; a table that still carries leaf numbers in some of them is *rolled up* along an axis by a
join with the axis's closure (leaf, cover). Sums are cast to BIGINT: that they fit is checked beforehand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from cellveil.tables.scaled import LARGEST

Kind = Literal["integer", "decimal", "float"]

EXACT = "DECIMAL(38, 18)"
"""Type in which numbers written as text are read: 20 digits before the point, 18 behind it."""

WEIGHT_UNIT = 10**9
"""Sampling weights are added up as integers in this fraction, so that sums do not depend on their order."""

RECORD = "record"
"""Staged column with numbers of the records: without contributor ids each record is a contributor."""

RECORD_NUMBER = "cellveil record number"
"""The same in the source."""

TOP, PARTS = "top", "parts"
"""The two ways to rank contributions, see `MemberLevel.rankings`."""

INTEGERS = (
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "NULL"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"),
)
TRUE = ("true", "t", "yes", "y", "1")
FALSE = ("false", "f", "no", "n", "0", "")


# -- names and values ------------------------------------------------------------------------------------


def ident(name: str) -> str:
    """A quoted identifier.

    Examples
    --------
    >>> ident('a "b" c')
    '"a ""b"" c"'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A quoted text."""
    return "'" + text.replace("'", "''") + "'"


def codes(num_axes: int) -> list[str]:
    """The columns that name a cell."""
    return [f"c{axis}" for axis in range(num_axes)]


def base_type(data_type: str) -> str:
    """The type without its parameters: DECIMAL(9, 2) is a DECIMAL."""
    return data_type.split("(")[0].strip('" ').upper()


def as_text(column: str, data_type: str, *, trim: bool = True) -> str:
    """A code or id as text, without outer blanks; whole numbers stored as floats lose their “.0”."""
    text = f"CAST({column} AS VARCHAR)"
    if base_type(data_type) not in ("FLOAT", "DOUBLE"):
        return f"trim({text})" if trim and base_type(data_type) not in INTEGERS else text
    whole = f"CAST(TRY_CAST({column} AS BIGINT) AS VARCHAR)"
    return f"CASE WHEN isfinite({column}) AND {column} = floor({column}) THEN {whole} ELSE {text} END"


def filled_text(column: str, data_type: str, *, trim: bool = True) -> str:
    """The same, NULL where it is blank or not a number."""
    text = as_text(column, data_type, trim=trim)
    if base_type(data_type) in INTEGERS:
        return text
    blank = f"isnan({column})" if base_type(data_type) in ("FLOAT", "DOUBLE") else f"trim({text}) = ''"
    return f"CASE WHEN {blank} THEN NULL ELSE {text} END"


def one_of(words: Sequence[str]) -> str:
    """A list of texts for IN."""
    return f"({', '.join(literal(word) for word in words)})"


def flag(column: str, data_type: str, words: Sequence[str]) -> str:
    """1 where the column is one of these words, else 0."""
    return f"CASE WHEN trim({as_text(column, data_type)}) IN {one_of(words)} THEN 1 ELSE 0 END"


def yes_or_no(column: str, data_type: str) -> str:
    """1 for yes, 0 for no or missing, NULL for anything else."""
    text = f"lower(trim({as_text(column, data_type)}))"
    return (
        f"CASE WHEN {column} IS NULL OR {text} IN {one_of(FALSE)} THEN 0 "
        f"WHEN {text} IN {one_of(TRUE)} THEN 1 END"
    )


def written_alike(source: str, member: str) -> str:
    """How many ids differ only in how they are written, and how many there would be: two numbers.

    The query gives groups of such ids, and ids in them; capitals, blanks, leading zeros, ".0" and forms of
    accents do not count.
    """
    plain = f"replace(lower(nfc_normalize({member})), ' ', '')"
    whole = f"regexp_extract({plain}, '^0*([0-9]+?)([.,]0*)?$', 1)"
    ids = (
        f"SELECT DISTINCT {member} AS id, CASE WHEN {whole} <> '' THEN {whole} ELSE {plain} END AS alike "
        f"FROM {source}"
    )
    groups = f"SELECT count(*) AS ids FROM ({ids}) GROUP BY alike HAVING count(*) > 1"
    return f"SELECT count(*), coalesce(sum(ids), 0) FROM ({groups})"


def copies(source: str, columns: Iterable[str], amount: str) -> str:
    """How many rows are the same as another one in all columns, those without an amount aside."""
    names = ", ".join(columns)
    some = f"TRY_CAST({amount} AS DOUBLE) <> 0"
    groups = f"SELECT count(*) - 1 AS more FROM {source} WHERE {some} GROUP BY {names} HAVING count(*) > 1"
    return f"SELECT coalesce(sum(more), 0) FROM ({groups})"


# -- numbers ---------------------------------------------------------------------------------------------


def number(column: str, data_type: str) -> tuple[str, Kind] | None:
    """How a column is read, and as which kind of numbers; None if it holds none.

    Decimals may still be text, which is cast in one go with the scaling.
    """
    kind = base_type(data_type)
    if kind in INTEGERS:
        return f"TRY_CAST({column} AS BIGINT)", "integer"
    if kind == "DOUBLE":
        return column, "float"
    if kind == "FLOAT":  # through its shortest text, which is what was meant: 0.1, not 0.10000000149
        return f"CAST(CAST({column} AS VARCHAR) AS DOUBLE)", "float"
    if kind == "DECIMAL":
        return column, "decimal"
    if kind in ("VARCHAR", "ENUM"):
        return f"trim(CAST({column} AS VARCHAR))", "decimal"
    return None


def on_grid(x: str, kind: Kind, decimals: int) -> str:
    """Whether a number needs no more decimals than these; floats up to their precision."""
    if kind == "integer":
        return "TRUE"
    if kind == "decimal":
        wide, narrow = _wide(x), _narrow(x, decimals)
        return (
            f"CASE WHEN {narrow} IS NOT NULL THEN {wide} = {narrow} "
            f"ELSE {wide} = round({wide}, {decimals}) END"
        )
    shifted = f"{x} * 1e{decimals}"
    return f"abs({shifted} - round({shifted})) <= {4 * 2.0**-52!r} * abs({shifted})"


def all_on_grid(source: str, x: str, kind: Kind, decimals: int) -> str:
    """One value: whether no number needs more decimals than these; faulty ones aside."""
    usable = f"isfinite({x})" if kind == "float" else f"{_wide(x)} IS NOT NULL"
    return f"SELECT count(*) = 0 FROM {source} WHERE {usable} AND NOT ({on_grid(x, kind, decimals)})"


def scaled(x: str, kind: Kind, decimals: int, *, rounding: bool = False) -> str:
    """The number as a scaled integer; NULL where it is missing, not finite, too large or off the grid."""
    limit, unit = LARGEST // 10**decimals, 10**decimals
    value, tests = x, []
    if kind == "integer":
        integer = f"{x} * {unit}"
    elif kind == "decimal":
        value, narrow = _wide(x), _narrow(x, decimals)
        integer = (
            f"CASE WHEN {narrow} IS NOT NULL "
            f"THEN CAST(trunc({narrow}) AS BIGINT) * {unit} + CAST(({narrow} % 1) * {unit} AS BIGINT) "
            f"ELSE CAST(CAST({value} AS DECIMAL(38, {decimals})) * {unit} AS BIGINT) END"
        )
    else:
        tests.append(f"isfinite({x})")
        integer = f"CAST(round({x} * 1e{decimals}) AS BIGINT)"
    tests += [f"{value} > {-limit}", f"{value} < {limit}"]
    if not rounding:
        tests.append(f"({on_grid(x, kind, decimals)})")
    return f"CASE WHEN {' AND '.join(tests)} THEN {integer} END"


def _wide(x: str) -> str:
    return f"TRY_CAST({x} AS {EXACT})"


def _narrow(x: str, decimals: int) -> str:
    """The number where it fits into 64 bits, which is the rule and several times faster; else NULL."""
    return f"TRY_CAST({x} AS DECIMAL(18, {decimals}))"


def as_float(x: str, kind: Kind) -> str:
    """The number as a float; NULL where it is none."""
    return x if kind == "float" else f"{'TRY_CAST' if kind == 'decimal' else 'CAST'}({x} AS DOUBLE)"


def sampling_weight(x: str, kind: Kind) -> str:
    """The weight as a float; NULL where it is missing, not finite, too large or negative."""
    weight = as_float(x, kind)
    return f"CASE WHEN isfinite({weight}) AND {weight} BETWEEN 0 AND 1e9 THEN {weight} END"


def weighted(x: str, weight: str | None) -> str:
    """A scaled integer times the weight, rounded once; NULL where that is too large."""
    return x if weight is None else f"TRY_CAST(round({weight} * ({x})) AS BIGINT)"


# -- aggregates ------------------------------------------------------------------------------------------


def aggregate(name: str, how: str) -> str:
    """One column of a GROUP BY: a sum cast to BIGINT, or a maximum or minimum."""
    if how == "sum":
        return f"CAST(sum({name}) AS {'HUGEINT' if name == 'product' else 'BIGINT'}) AS {name}"
    return f"{how}({name}) AS {name}"


def group(source: str, keys: Sequence[str], measures: Mapping[str, str]) -> str:
    """Aggregate the measures of all rows with the same keys."""
    columns = [*keys, *(aggregate(name, how) for name, how in measures.items())]
    return f"SELECT {', '.join(columns)} FROM {source} GROUP BY {', '.join(keys)}"


def covered(source: str, closure: str, axis: int, num_axes: int, columns: Sequence[str]) -> str:
    """Every row once for each code that covers its leaf on this axis."""
    keys = [f"{closure}.cover AS {c}" if k == axis else f"s.{c}" for k, c in enumerate(codes(num_axes))]
    chosen = ", ".join([*keys, *(f"s.{column}" for column in columns)])
    return f"SELECT {chosen} FROM {source} AS s JOIN {closure} ON s.c{axis} = {closure}.leaf"


def largest(source: str, keys: Sequence[str], payload: Sequence[str], depth: int, *, native: bool) -> str:
    """The `depth` rows of largest size of every group, ties in the order of the payload.

    The native form first asks the top-n aggregate of DuckDB, which keeps a few numbers per group and sorts
    nothing: that is all where there is nothing but the size, and else leaves few rows for the window.
    """
    names = ", ".join(keys)
    if not native:
        return _first_places(source, keys, payload, depth)
    sizes = f"max(size, {depth})"
    if not payload:
        return f"SELECT {names}, unnest({sizes}) AS size FROM {source} GROUP BY {names}"
    least = f"SELECT {names}, list_min({sizes}) AS least FROM {source} GROUP BY {names}"
    match = " AND ".join(f"s.{key} = l.{key}" for key in keys)
    candidates = f"(SELECT s.* FROM {source} AS s JOIN ({least}) AS l ON {match} WHERE s.size >= l.least)"
    return _first_places(candidates, keys, payload, depth)


def _first_places(source: str, keys: Sequence[str], payload: Sequence[str], depth: int) -> str:
    columns = ", ".join([*keys, "size", *payload])
    order = ", ".join(["size DESC", *payload])
    place = f"row_number() OVER (PARTITION BY {', '.join(keys)} ORDER BY {order}) AS place"
    return f"SELECT {columns} FROM (SELECT {columns}, {place} FROM {source}) WHERE place <= {depth}"


def numbered_ids(sources: Sequence[str]) -> str:
    """The members of some tables with numbers in the order of their ids."""
    members = " UNION ".join(f"SELECT member FROM {source}" for source in sources)
    number = "CAST(row_number() OVER (ORDER BY member) - 1 AS INTEGER)"
    return f"SELECT member AS name, {number} AS member FROM ({members})"


def with_numbers(source: str, columns: Sequence[str], ids: str) -> str:
    """A table with the numbers of its members in place of their ids."""
    chosen = ", ".join(f"{'i' if column == 'member' else 's'}.{column}" for column in columns)
    return f"SELECT {chosen} FROM {source} AS s JOIN {ids} AS i ON s.member = i.name"


def numbered_records(source: str, keys: Sequence[str], payload: Sequence[str]) -> str:
    """The largest records of base cells with numbers of their own: each stands in one base cell."""
    order = ", ".join([*keys, "size DESC", *payload])
    number = f"row_number() OVER (ORDER BY {order}) - 1 AS member"
    return f"SELECT {', '.join([*keys, 'size', *payload])}, {number} FROM {source}"


def recognised_records(source: str, columns: Sequence[str]) -> str:
    """The records with numbers in the order of some columns: the same in every table of these records."""
    order = ", ".join(map(ident, columns))
    return f"(SELECT *, row_number() OVER (ORDER BY {order}) - 1 AS {ident(RECORD_NUMBER)} FROM {source})"


@dataclass(frozen=True)
class MemberLevel:
    """Who is counted as one contributor, and what is known of him.

    Parameters
    ----------
    member
        Column of the records with its id; None when every record is a contributor of its own, and only the
        largest of each base cell are numbered.
    weighted, requests, waivers
        Whether the records carry these.
    """

    member: str | None
    weighted: bool
    requests: bool
    waivers: bool

    @property
    def stands_once(self) -> bool:
        """Whether every contributor is one record, and so stands in one base cell."""
        return self.member in (None, RECORD)

    @property
    def key(self) -> list[str]:
        """The id column of the rows."""
        return ["member"] if self.member else []

    @property
    def flags(self) -> dict[str, str]:
        """A member requests if one of its records does, and has waived if all have."""
        requests = {"request1": "max", "request2": "max"} if self.requests else {}
        return requests | ({"waived": "min"} if self.waivers else {})

    @property
    def measures(self) -> dict[str, str]:
        """Columns of a row (member in a cell), and how those of several rows become one."""
        by_weight = ("weighted", "weight", "product", "records") if self.weighted else ()
        return dict.fromkeys(("amount", *by_weight), "sum") | self.flags

    @property
    def figures(self) -> dict[str, str]:
        """Columns of a cell, and how those of parts without a common member become one."""
        sums = ("members", "total", "absolute", *(["weighted_count"] if self.weighted else []))
        maxima = (*(["unwaived"] if self.waivers else []), *(name for name in self.flags if name != "waived"))
        return dict.fromkeys(sums, "sum") | dict.fromkeys(maxima, "max")

    @property
    def rankings(self) -> dict[str, list[str]]:
        """The lists of the largest: what is kept beside the size, in the order that breaks ties.

        `TOP` by unweighted amount; with weights also `PARTS`, by part of the weighted total.
        """
        weight = ["top_weight"] if self.weighted else []
        facts = [*weight, *(["waived"] if self.waivers else [])]
        top = {TOP: [*facts, *self.key] if self.stands_once else [*self.key, *facts]}
        return top | ({PARTS: self.key} if self.weighted else {})

    def rows(self, records: str, num_axes: int) -> str:
        """One row for each member in each base cell."""
        expressions = {
            "product": "CAST(weight AS HUGEINT) * amount AS product",
            "records": "1 AS records",
        }
        columns = [expressions.get(name, name) for name in self.measures]
        if not self.member:
            return f"SELECT {', '.join([*codes(num_axes), *columns])} FROM {records}"
        chosen = ", ".join([*codes(num_axes), f"{self.member} AS member", *columns])
        if self.stands_once:
            return f"SELECT {chosen} FROM {records}"
        grouped = group(
            f"(SELECT {chosen} FROM {records})", [*codes(num_axes), "member"], dict(self.measures)
        )
        if not self.flags:
            return grouped
        of_member = group(f"(SELECT {chosen} FROM {records})", ["member"], self.flags)
        kept = ", ".join(
            f"r.{c}" for c in (*codes(num_axes), "member", *self.measures) if c not in self.flags
        )
        flags = ", ".join(f"m.{name}" for name in self.flags)
        return f"SELECT {kept}, {flags} FROM ({grouped}) AS r JOIN ({of_member}) AS m ON r.member = m.member"

    def marked(self, rows: str, axis: int, num_axes: int) -> str:
        """The rows with `spans`: whether the member has further ones under the same codes before `axis`."""
        keys = [*codes(axis), "member"]
        several = f"SELECT {', '.join(keys)} FROM {rows} GROUP BY {', '.join(keys)} HAVING count(*) > 1"
        match = " AND ".join(f"r.{key} = d.{key}" for key in keys)
        chosen = ", ".join(f"r.{name}" for name in (*codes(num_axes), "member", *self.measures))
        return (
            f"SELECT {chosen}, d.member IS NOT NULL AS spans FROM {rows} AS r "
            f"LEFT JOIN ({several}) AS d ON {match}"
        )

    def figures_of(self, rows: str, num_axes: int) -> str:
        """The figures of cells from rows of which each is another member."""
        estimate = "weighted" if self.weighted else "amount"
        expressions = {
            "members": "count(*)",
            "total": f"CAST(sum({estimate}) AS BIGINT)",
            "absolute": f"CAST(sum(abs({estimate})) AS BIGINT)",
            "weighted_count": "CAST(sum(CAST(round(CAST(weight AS DOUBLE) / records) AS BIGINT)) AS BIGINT)",
            "unwaived": "max(CASE WHEN waived = 0 THEN abs(amount) ELSE 0 END)",
            "request1": "max(CASE WHEN request1 = 1 THEN abs(amount) ELSE -1 END)",
            "request2": "max(CASE WHEN request2 = 1 THEN abs(amount) ELSE -1 END)",
        }
        names = ", ".join(codes(num_axes))
        columns = ", ".join(f"{expressions[name]} AS {name}" for name in self.figures)
        return f"SELECT {names}, {columns} FROM {rows} GROUP BY {names}"

    def sizes_of(self, rows: str, num_axes: int, ranking: str) -> str:
        """Size and payload of every row for one of the rankings."""
        weight = (
            "CASE WHEN amount <> 0 THEN CAST(product AS DOUBLE) / amount "
            f"ELSE CAST(weight AS DOUBLE) / records END / {WEIGHT_UNIT}.0 AS top_weight"
        )
        size = f"abs({'weighted' if ranking == PARTS else 'amount'}) AS size"
        payload = [weight if name == "top_weight" else name for name in self.rankings[ranking]]
        return f"SELECT {', '.join([*codes(num_axes), size, *payload])} FROM {rows}"
