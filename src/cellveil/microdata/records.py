"""The records of microdata, staged by an engine as leaf numbers and scaled integers, and checked.

One scan maps codes to leaf numbers, by joins with small tables, and keeps numbers only. Faults are counted
there; only when there are any is the source read again to find the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from cellveil.errors import InputError, counted
from cellveil.microdata import sql
from cellveil.microdata.engine import Engine
from cellveil.microdata.number_marks import EVIDENCE, POINTS, NumberMarks, plain_sql
from cellveil.microdata.record_faults import (
    RecordFault,
    Variable,
    missing_id,
    negative,
    no_answer,
    wrong_code,
    wrong_number,
    wrong_weight,
)
from cellveil.microdata.roles import check_one_column_each, check_roles
from cellveil.microdata.source_records import SOURCE, RecordSource, of_record
from cellveil.progress import Progress
from cellveil.tables.dimension import Dimension
from cellveil.tables.scaled import LARGEST, MAX_DECIMALS, REMEDIES


@dataclass(frozen=True)
class Roles:
    """Which column plays which part.

    `members` has the id columns of units and holdings; `recognised_by` the columns that number the records
    alike in every table of theirs, where there are no ids of units; `numbered_apart` says that no other table
    has these numbers.
    """

    dimensions: tuple[str, ...]
    response: str | None = None
    shadow: str | None = None
    costs: tuple[str, ...] = ()
    weight: str | None = None
    members: Mapping[str, str] = field(default_factory=dict)
    request: str | None = None
    request_codes: tuple[str, str] = ("1", "2")
    waiver: str | None = None
    passive: bool = False
    recognised_by: tuple[str, ...] = ()
    numbered_apart: bool = False

    def __post_init__(self) -> None:
        ids = {"contributor": self.members.get("unit"), "holding": self.members.get("holding")}
        single = ("response", "shadow", "weight", "request", "waiver")
        parts = {name: getattr(self, name) for name in single} | ids
        check_roles(self.dimensions, [*parts.items(), *(("cost", column) for column in self.costs)])
        check_one_column_each(self.dimensions)
        if self.passive and self.request is None:
            raise InputError(
                "confidentiality is passive, and no column says who requests protection",
                remedy="Name the request variable: otherwise nobody would be protected.",
            )

    @property
    def title(self) -> str:
        """What is tabulated, in words."""
        return f"{self.response or 'count'} by {' × '.join(self.dimensions)}"

    @property
    def of_record(self) -> str:
        """What the name of a record ends with, where other tables do not know it again."""
        return "" if self.recognised_by and not self.numbered_apart else f" ({self.title})"

    @property
    def may_waive(self) -> bool:
        """Whether some may count as having waived protection."""
        return self.waiver is not None or self.passive

    def needed(self) -> list[str]:
        """All columns to read."""
        single = (self.response, self.shadow, self.weight, self.request, self.waiver)
        named = [name for name in single if name]
        return [*self.dimensions, *self.costs, *self.members.values(), *named, *self.recognised_by]

    def numbers(self) -> dict[str, str]:
        """Alias and column of every number."""
        single = {"response": self.response, "shadow": self.shadow, "weight": self.weight}
        named = {alias: column for alias, column in single.items() if column}
        return named | {f"cost{k}": column for k, column in enumerate(self.costs)}

    def columns(self) -> dict[str, str]:
        """Alias and name of the sums beside the value."""
        return {a: c for a, c in self.numbers().items() if a == "shadow" or a.startswith("cost")}


class Records:
    """The staged records, as the view or table ``records`` of a connection.

    Its columns are c0, c1, … (leaf numbers), value (the response, weighted), amount (the contribution),
    weighted (the same, weighted) and weight, the sums asked for, unit, holding, request1, request2 and
    waived, as far as there are such; beside it stand the tables closure0, closure1, … of the dimensions.
    """

    def __init__(
        self,
        engine: Engine,
        microdata: RecordSource,
        dimensions: Sequence[Dimension],
        roles: Roles,
        progress: Progress | None = None,
    ) -> None:
        self._engine, self._microdata = engine, microdata
        self._dimensions, self._roles = tuple(dimensions), roles
        self._progress = progress or Progress()
        self._trims = [_differ_without_blanks(dimension) for dimension in self._dimensions]
        self.variables: dict[str, Variable] = {}
        self.value_decimals = 0
        self.has_waivers = False
        self._raw = "raw"

    @property
    def amount_decimals(self) -> int:
        """Decimals of the contributions."""
        return self.variables["shadow"].decimals if self._roles.shadow else self.value_decimals

    def read(
        self,
        decimals: int | None,
        *,
        rounding: bool = False,
        allow_negative: bool = False,
        at_least: int = 0,
    ) -> None:
        """Stage the records, settle the decimals and check for faults."""
        if decimals is not None and not 0 <= decimals <= MAX_DECIMALS:
            raise InputError(f"{decimals} decimals are declared", remedy=f"Use 0 to {MAX_DECIMALS}.")
        for alias, column in self._roles.numbers().items():
            self.variables[alias] = self._variable(column)
        for axis, dimension in enumerate(self._dimensions):
            self._register(axis, dimension)
        self._engine.make("raw", self._staging())
        self._settle_marks(self._microdata.options.marks)
        self._settle_decimals(decimals, rounding, at_least)
        self._check(allow_negative)
        cheap = all(variable.kind == "integer" for variable in self.variables.values())
        self._engine.make("records", self._records(), cheap=cheap)
        if not cheap:
            self._engine.drop(self._raw)
        self._check_sums()

    def _variable(self, column: str) -> Variable:
        read = sql.number(of_record(column), self._microdata.types[column])
        if read is None:
            raise InputError(
                f"column {column!r} holds no numbers", file=self._microdata.name, remedy="Name another one."
            )
        return Variable(column, *read)

    def _settle_marks(self, said: NumberMarks) -> None:
        """Numbers written as text with decimal points, whatever their marks."""
        texts = {alias: v for alias, v in self.variables.items() if self._is_text(v.column)}
        if not texts or said == POINTS:
            return
        shown = ", ".join(
            " OR ".join(
                f"coalesce(bool_or(regexp_matches(raw_{a}, {sql.literal(how)})), FALSE)" for a in texts
            )
            for how in EVIDENCE.values()
        )
        found = dict(zip(EVIDENCE, map(bool, self._engine.row(f"SELECT {shown} FROM raw")), strict=True))
        marks, notes = said.settled(found, self._microdata.title)
        for note in notes:
            self._progress.note(note)
        if marks == POINTS:
            return
        plain = {f"raw_{alias}": plain_sql(f"raw_{alias}", marks) for alias in texts}
        chosen = ", ".join(f"{plain[name]} AS {name}" if name in plain else name for name in self._staged())
        self._engine.make("plain", f"SELECT {chosen} FROM raw")
        self._engine.drop("raw")
        self._raw = "plain"
        for alias, variable in texts.items():
            reader = plain_sql(variable.reader, marks)
            self.variables[alias] = replace(variable, reader=reader, marks=marks)

    def _is_text(self, column: str) -> bool:
        return sql.base_type(self._microdata.types[column]) in ("VARCHAR", "ENUM")

    def _register(self, axis: int, dimension: Dimension) -> None:
        """The small tables of one dimension: code → leaf number, leaf → codes that cover it."""
        leaves = {
            code.strip(" ") if self._trims[axis] else code: n
            for code, n in dimension.index.items()
            if not dimension.is_parent[n]
        }
        leaf, cover = dimension.closure
        self._engine.load(f"codes{axis}", {"code": list(leaves), "leaf": list(leaves.values())})
        self._engine.load(f"closure{axis}", {"leaf": leaf.tolist(), "cover": cover.tolist()})

    def _staging(self) -> str:
        """The records with leaf numbers for codes and numbers read, not yet scaled."""
        roles, types = self._roles, self._microdata.types
        texts = [
            sql.as_text(of_record(column), types[column], trim=trim)
            for column, trim in zip(roles.dimensions, self._trims, strict=True)
        ]
        columns = ", ".join(f"{expression} AS {name}" for name, expression in self._staged().items())
        joins = " ".join(
            f"LEFT JOIN codes{axis} ON codes{axis}.code = {text}" for axis, text in enumerate(texts)
        )
        source = sql.recognised_records(SOURCE, roles.recognised_by) if roles.recognised_by else SOURCE
        return f"SELECT {columns} FROM {source} AS m {joins}"

    def _staged(self) -> dict[str, str]:
        """The columns of the staged records, and the SQL of each in terms of the source."""
        roles, types = self._roles, self._microdata.types
        columns = {f"c{axis}": f"codes{axis}.leaf" for axis in range(len(self._dimensions))}
        columns |= {f"raw_{alias}": variable.reader for alias, variable in self.variables.items()}
        columns |= {
            level: sql.filled_text(of_record(column), types[column])
            for level, column in roles.members.items()
        }
        if roles.request:
            column = of_record(roles.request)
            columns |= {
                f"request{number}": sql.flag(column, types[roles.request], [code])
                for number, code in enumerate(roles.request_codes, 1)
            }
        if roles.may_waive:
            columns["waived"] = self._waived()
        if roles.recognised_by:
            columns[sql.RECORD] = of_record(sql.RECORD_NUMBER)
        return columns | {"padded": self._is_padded()}

    def _waived(self) -> str:
        """SQL: 1 if a record waives protection, or, where confidentiality is passive, requests none."""
        roles, types = self._roles, self._microdata.types
        waived = sql.yes_or_no(of_record(roles.waiver), types[roles.waiver]) if roles.waiver else "0"
        if not roles.passive or roles.request is None:
            return waived
        requested = sql.flag(of_record(roles.request), types[roles.request], roles.request_codes)
        return f"1 - (1 - ({waived})) * ({requested})"  # NULL where the answer cannot be read

    def _is_padded(self) -> str:
        """SQL: whether a code or id of a record has outer blanks, and no code of its dimension has."""
        pairs = zip(self._roles.dimensions, self._dimensions, strict=True)
        columns = [name for name, d in pairs if all(code == code.strip(" ") for code in d.index)]
        texts = [f"CAST({of_record(c)} AS VARCHAR)" for c in (*columns, *self._roles.members.values())]
        return f"coalesce({' OR '.join(f'{text} <> trim({text})' for text in texts) or 'FALSE'}, FALSE)"

    def _settle_decimals(self, decimals: int | None, rounding: bool, at_least: int) -> None:
        """Decimals of every number: declared, else as needed; where numbers are rounded, as sums allow."""
        for alias, variable in self.variables.items():
            rounded = rounding or alias.startswith("cost")
            if alias == "response" and decimals is not None:
                found = decimals
            elif alias == "weight":
                found = self._decimals_needed(alias, variable) if self._counts_by_weight(decimals) else 0
            else:
                found = max(self._decimals_needed(alias, variable), at_least)
                found = min(found, self._decimals_that_fit(alias)) if rounded else found
            self.variables[alias] = replace(variable, decimals=found, rounding=rounded)
        if "response" in self.variables:
            self.value_decimals = self.variables["response"].decimals
        elif self._counts_by_weight(decimals):
            self.value_decimals = self.variables["weight"].decimals
        else:
            self.value_decimals = decimals or 0

    def _counts_by_weight(self, decimals: int | None) -> bool:
        return decimals is None and self._roles.response is None and self._roles.weight is not None

    def _decimals_needed(self, alias: str, variable: Variable) -> int:
        return next((d for d in range(MAX_DECIMALS) if self._suffice(alias, variable.kind, d)), MAX_DECIMALS)

    def _decimals_that_fit(self, alias: str) -> int:
        """How many decimals leave the sum well below 62 bits."""
        number = sql.as_float(f"raw_{alias}", self.variables[alias].kind)
        number = f"abs({number}) * greatest(1, {self._weight or 1})"
        total = self._engine.row(f"SELECT sum({number}) FROM {self._raw} WHERE isfinite({number})")[0] or 0.0
        return next((d for d in range(MAX_DECIMALS, 0, -1) if total * 10.0**d < LARGEST / 4), 0)

    def _suffice(self, alias: str, kind: sql.Kind, decimals: int) -> bool:
        query = sql.all_on_grid(self._raw, f"raw_{alias}", kind, decimals)
        return kind == "integer" or bool(self._engine.row(query)[0])

    @property
    def _weight(self) -> str | None:
        if not self._roles.weight:
            return None
        return sql.sampling_weight("raw_weight", self.variables["weight"].kind)

    def _amount(self) -> str:
        """The scaled contribution of a record."""
        alias = "shadow" if self._roles.shadow else "response"
        if alias not in self.variables:
            return f"CAST({10**self.value_decimals} AS BIGINT)"
        return self.variables[alias].scaled(f"raw_{alias}")

    def _value(self) -> str:
        """The scaled response of a record."""
        if "response" not in self.variables:
            return f"CAST({10**self.value_decimals} AS BIGINT)"
        return self.variables["response"].scaled("raw_response")

    def _records(self) -> str:
        """Scaled and weighted integers instead of numbers."""
        columns = {
            "value": sql.weighted(self._value(), self._weight),
            "amount": self._amount(),
        }
        for alias in self._roles.columns():
            variable = self.variables[alias]
            columns[alias] = sql.weighted(variable.scaled(f"raw_{alias}"), self._weight)
        if self._weight:
            columns["weighted"] = sql.weighted(self._amount(), self._weight)
            columns["weight"] = f"CAST(round({self._weight} * {sql.WEIGHT_UNIT}) AS BIGINT)"
        columns |= {level: level for level in self._roles.members}
        columns |= {"request1": "request1", "request2": "request2"} if self._roles.request else {}
        columns |= {"waived": "waived"} if self._roles.may_waive else {}
        columns |= {sql.RECORD: sql.RECORD} if self._roles.recognised_by else {}
        chosen = ", ".join(f"{expression} AS {name}" for name, expression in columns.items())
        select = f"SELECT {', '.join(sql.codes(len(self._dimensions)))}, {chosen} FROM {self._raw}"
        return f"{select} WHERE {self._weight} > 0" if self._weight else select

    # -- faults ------------------------------------------------------------------------------------------

    def _check(self, allow_negative: bool) -> None:
        """Count faults in one pass; raise for the first kind that occurs."""
        faults = list(self._faults(allow_negative))
        counts = ", ".join(f"count(*) FILTER (WHERE {fault.staged})" for fault in faults)
        number, padded, *found = self._engine.row(
            f"SELECT count(*), count(*) FILTER (WHERE padded), {counts} FROM {self._raw}"
        )
        if not number:
            raise InputError(
                "there are no records", file=self._microdata.name, remedy="Check that it is the right file."
            )
        for fault, count in zip(faults, found, strict=True):
            if count:
                raise self._located(fault, int(count))
        if padded:
            told = f"blanks around codes and ids were cut off ({counted(padded, 'record')})"
            self._progress.note(f"{self._microdata.title}: {told}")
        self._note_oddities(number)
        if self._roles.may_waive:
            self.has_waivers = bool(self._engine.row(f"SELECT max(waived) FROM {self._raw}")[0])

    def _note_oddities(self, number: int) -> None:
        """Tell of records without weight, of ids that differ only in how they are written, and of copies."""
        if self._weight:
            idle = self._engine.row(
                f"SELECT count(*), count(*) FILTER (WHERE {self._weight} = 0) FROM {self._raw}"
            )[1]
            if idle == number:
                raise InputError(
                    f"all records have weight 0 in column {self._roles.weight!r}",
                    file=self._microdata.name,
                    remedy="Name the right column: records of weight 0 stand for nothing.",
                )
            if idle:
                told = f"{counted(idle, 'record')} of weight 0 left out: they count for no rule and no cell"
                self._progress.note(f"{self._microdata.title}: {told}")
        if not self._engine.native:
            return
        for level, column in self._roles.members.items():
            groups, ids = self._engine.row(sql.written_alike(self._raw, level))
            if groups:
                self._progress.note(
                    f"{self._microdata.title}: WARNING: {ids:,} ids in column {column!r} are {groups:,} if "
                    "capitals, blanks, leading zeros and forms of accents do not count. Each counts as a "
                    "contributor of its own: if they are one, correct the data"
                )
        if self._roles.members and self._roles.response:
            (copies,) = self._engine.row(sql.copies(self._raw, self._staged(), "raw_response"))
            if copies:
                self._progress.note(
                    f"{self._microdata.title}: {counted(copies, 'record')} with the same id, codes and "
                    "amounts as another one: all are added up. If they are copies, remove them"
                )

    def _faults(self, allow_negative: bool) -> Iterator[RecordFault]:
        roles, types = self._roles, self._microdata.types
        for axis, column in enumerate(roles.dimensions):
            text = sql.filled_text(of_record(column), types[column], trim=self._trims[axis])
            unknown = f"({text}) IS NULL OR ({text}) NOT IN (SELECT code FROM codes{axis})"
            yield RecordFault(
                column, f"c{axis} IS NULL", unknown, partial(wrong_code, self._dimensions[axis])
            )
        for level, column in roles.members.items():
            text = sql.filled_text(of_record(column), types[column])
            yield RecordFault(column, f"{level} IS NULL", f"({text}) IS NULL", partial(missing_id, column))
        if roles.waiver:
            condition = f"({sql.yes_or_no(of_record(roles.waiver), types[roles.waiver])}) IS NULL"
            yield RecordFault(roles.waiver, "waived IS NULL", condition, partial(no_answer, roles.waiver))
        for alias, variable in self.variables.items():
            yield from self._number_faults(alias, variable, allow_negative)

    def _number_faults(self, alias: str, variable: Variable, allow_negative: bool) -> Iterator[RecordFault]:
        def fault(expression: Callable[[str], str], test: str, describe: Callable[[Any], Any]) -> RecordFault:
            staged, original = expression(f"raw_{alias}"), expression(f"({variable.reader})")
            return RecordFault(variable.column, f"({staged}) {test}", f"({original}) {test}", describe)

        if alias == "weight":
            yield fault(
                partial(sql.sampling_weight, kind=variable.kind),
                "IS NULL",
                partial(wrong_weight, variable.column),
            )
            return
        yield fault(variable.scaled, "IS NULL", partial(wrong_number, variable))
        if not allow_negative and not alias.startswith("cost"):
            yield fault(variable.scaled, "< 0", partial(negative, variable.column))

    def _located(self, fault: RecordFault, count: int) -> InputError:
        found = self._microdata.first(fault.original, fault.column)
        if found is None:
            return InputError(f"column {fault.column!r} is at fault in {counted(count, 'record')}")
        part, row, content = found
        what, remedy = fault.describe(content)
        others = f" ({counted(count - 1, 'further record')} with such a fault)" if count > 1 else ""
        return part.error(f"{what}{others}", row, remedy)

    def _check_sums(self) -> None:
        """No sum of records may leave 62 bits, whatever is added up."""
        value = self._roles.response or self._roles.weight or "count"
        amount = self._roles.shadow or value
        names = {"value": value, "amount": amount} | self._roles.columns()
        names |= {"weighted": amount} if self._weight else {}
        sums = ", ".join(f"sum(CAST(abs({name}) AS HUGEINT)), count({name})" for name in names)
        number, *figures = self._engine.row(f"SELECT count(*), {sums} FROM records")
        for column, total, count in zip(names.values(), figures[::2], figures[1::2], strict=True):
            if count < number or total >= LARGEST:
                raise InputError(
                    f"the sum of column {column!r} is too large",
                    file=self._microdata.name,
                    remedy=REMEDIES["is too large"],
                )


def _differ_without_blanks(dimension: Dimension) -> bool:
    """Whether no two codes are the same without their outer blanks, so that these may be cut off."""
    return len({code.strip(" ") for code in dimension.index}) == len(dimension.index)
