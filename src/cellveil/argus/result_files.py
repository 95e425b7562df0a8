"""Results as tau-ARGUS writes them: CSV matrix, pivot, code-value, SBS, intermediate table and JJ file.

Which of them may leave the office: CSV, and pivot and code-value without status, show ``x`` for every hidden
cell. All others hold the values of hidden cells or tell primary from secondary suppressions; they are
internal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from enum import IntEnum
from pathlib import Path

import numpy as np

from cellveil.argus.argus_table import ArgusTable, DisplayCode
from cellveil.argus.cell_status import CellStatus
from cellveil.argus.intermediate import write_intermediate
from cellveil.argus.jj_result import write_jj_result
from cellveil.argus.lexer import quoted
from cellveil.arrays import Int
from cellveil.errors import InputError, nearest_name
from cellveil.files import write_text
from cellveil.formats.exact_numbers import texts_of
from cellveil.pattern import Pattern
from cellveil.tables.contributions import Contributions

HIDDEN, EMPTY = "x", "-"


class ResultKind(IntEnum):
    """Kinds of result files, by their numbers in batch files."""

    CSV = 1
    PIVOT = 2
    CODE_VALUE = 3
    SBS = 4
    INTERMEDIATE = 5
    JJ = 6


OPTIONS = {
    "AS": "status",
    "SE": "drop_empty",
    "FL": "header",
    "QU": "quotes",
    "HL": "levels",
    "SO": "status_only",
    "AR": "audit",
    "HI": "holding",
    "TR": "drop_trivial",
}
"""Options of batch files, and the fields they set."""


@dataclass(frozen=True)
class ResultOptions:
    """What is written besides codes and values.

    Parameters
    ----------
    status
        The number of the status; hidden cells then show their values.
    drop_empty
        Leave out empty cells.
    header
        Names of the variables in the first line of code-value files; pivot files always have it.
    quotes
        Codes in quotes.
    levels
        The level of each code, in SBS files.
    status_only
        No shadow and no contributions, in intermediate files.
    audit
        Feasibility intervals, in intermediate files.
    holding
        Counts and contributions of holdings, in intermediate files.
    drop_trivial
        One line for a code and its only child, in JJ files.

    Examples
    --------
    >>> ResultOptions.parse("AS+FL+QU-").header
    True
    """

    status: bool = False
    drop_empty: bool = False
    header: bool = False
    quotes: bool = True
    levels: bool = False
    status_only: bool = False
    audit: bool = False
    holding: bool = False
    drop_trivial: bool = False

    @classmethod
    def parse(cls, text: str) -> ResultOptions:
        """Read options such as ``AS+FL-``; those not named are off, quotes aside."""
        given: dict[str, bool] = {}
        marks = text.replace(" ", "").upper()
        for place in range(0, len(marks), 3):
            name, sign = marks[place : place + 2], marks[place + 2 : place + 3]
            if name not in OPTIONS:
                raise InputError(f"unknown option {name!r}", remedy=nearest_name(name, list(OPTIONS)))
            if sign not in ("+", "-"):
                raise InputError(f"the option {name} has no sign", remedy=f"Write {name}+ or {name}-.")
            given[OPTIONS[name]] = sign == "+"
        return cls(**given)

    def text(self) -> str:
        """The options as batch files write them."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return "".join(f"{mark}{'+' if values[name] else '-'}" for mark, name in OPTIONS.items())


def is_public(kind: ResultKind, options: ResultOptions) -> bool:
    """Whether such a file shows no hidden value, and does not tell primary from secondary cells."""
    return kind is ResultKind.CSV or (
        kind in (ResultKind.PIVOT, ResultKind.CODE_VALUE) and not options.status
    )


def write_result(
    table: ArgusTable,
    kind: ResultKind,
    path: Path | str,
    *,
    pattern: Pattern | None = None,
    adjusted: Int | None = None,
    options: ResultOptions | None = None,
) -> tuple[str, ...]:
    """Write a result file, and return notes on what it has no place for.

    Parameters
    ----------
    pattern
        The secondary suppressions; without one, only the unsafe cells are hidden.
    adjusted
        Values after an adjustment, scaled like those of the table: they are shown in place of the values,
        and no cell is hidden. With `options.status`, value and status follow. CSV, pivot and code-value only.
    """
    options = options or ResultOptions()
    path = Path(path)
    if adjusted is not None and kind not in (ResultKind.CSV, ResultKind.PIVOT, ResultKind.CODE_VALUE):
        raise InputError(
            "adjusted values cannot be written to such a file", remedy="Write CSV, pivot or code-value."
        )
    if kind is ResultKind.INTERMEDIATE:
        return write_intermediate(
            table, path, pattern=pattern, drop_empty=options.drop_empty, quotes=options.quotes,
            simple=options.status_only, holding=options.holding, audit=options.audit,
        )  # fmt: skip
    if kind is ResultKind.JJ:
        write_jj_result(table, path, pattern=pattern, drop_trivial=options.drop_trivial)
    else:
        writer = {ResultKind.CSV: _csv_lines, ResultKind.SBS: _sbs_lines}.get(kind, _record_lines)
        lines = writer(_Cells(table, pattern, options, adjusted), kind is ResultKind.PIVOT)
        write_text(path, "".join(f"{line}\n" for line in lines))
    return ()


class _Cells:
    """Texts of values, codes and statuses of a table."""

    def __init__(
        self, table: ArgusTable, pattern: Pattern | None, options: ResultOptions, adjusted: Int | None
    ) -> None:
        self.table, self.options, self.is_adjusted = table, options, adjusted is not None
        self.statuses = table.statuses(pattern)
        self.originals = self._texts(table.problem.table.values)
        self.texts = self.originals if adjusted is None else self._texts(adjusted)
        self.units = table.problem.table.units
        self.holdings = table.problem.table.holdings

    def _texts(self, values: Int) -> list[str]:
        decimals = self.table.problem.table.decimals
        zeros = "0" * (self.table.decimals - decimals)
        point = "." if zeros and not decimals else ""
        texts = texts_of(values, decimals, trim=False).to_pylist()
        return [f"{text}{point}{zeros}" for text in texts]

    def status(self, cell: int) -> CellStatus:
        return CellStatus(int(self.statuses[cell])) if cell >= 0 else CellStatus.EMPTY

    def value(self, cell: int, *, show: bool) -> str:
        status = self.status(cell)
        if status is CellStatus.EMPTY:
            return EMPTY
        return HIDDEN if status.is_hidden and not show and not self.is_adjusted else self.texts[cell]

    def original(self, cell: int) -> str:
        return EMPTY if self.status(cell) is CellStatus.EMPTY else self.originals[cell]

    def code(self, code: DisplayCode) -> str:
        return self.label(code.text)

    def label(self, text: str) -> str:
        """A code or name; commas are only safe between quotes."""
        if self.options.quotes:
            return quoted(text)
        if any(mark in text for mark in ',"\r\n'):
            raise InputError(
                "a code or name holds a comma, quote or line end", remedy="Write the file with quotes (QU+)."
            )
        return text

    def is_dropped(self, cell: int) -> bool:
        return self.options.drop_empty and self.status(cell) is CellStatus.EMPTY


def _header(cells: _Cells) -> str:
    names = [variable.name for variable in cells.table.variables]
    names.append(cells.table.response + ("_CTA" if cells.is_adjusted else ""))
    if cells.options.status:
        names += [*([f"{cells.table.response}_Orig"] if cells.is_adjusted else []), "Status"]
    return ",".join(map(cells.label, names))


def _record_lines(cells: _Cells, always_header: bool) -> Iterator[str]:
    """Pivot and code-value: one line per cell."""
    if always_header or cells.options.header:
        yield _header(cells)
    for codes, cell in cells.table.rows():
        if cells.is_dropped(cell):
            continue
        fields = [*map(cells.code, codes), cells.value(cell, show=cells.options.status)]
        if cells.options.status:
            fields += [cells.original(cell)] if cells.is_adjusted else []
            fields.append(str(int(cells.status(cell))))
        yield ",".join(fields)


def _csv_lines(cells: _Cells, _: bool) -> Iterator[str]:
    """A matrix of the last two dimensions, one for each combination of the others."""
    table = cells.table
    axes = [table.codes(axis) for axis in range(len(table.variables))]
    columns = ",".join(["", *map(cells.code, axes[-1])])
    layer: tuple[DisplayCode, ...] | None = None
    row: list[str] = []
    for codes, cell in table.rows():
        if codes[:-2] != layer:
            if layer is not None:
                yield ""
            layer = codes[:-2]
            if layer:
                yield ", ".join(f"Var {place},{cells.code(code)}" for place, code in enumerate(layer, 1))
            yield columns
        if not row:
            row = [cells.code(codes[-2])] if len(codes) > 1 else [""]
        row.append(cells.value(cell, show=False))
        if len(row) > len(axes[-1]):
            yield ",".join(row)
            row = []
    yield ""


FLAGS = {
    CellStatus.SAFE: "V",
    CellStatus.SAFE_MANUAL: "V",
    CellStatus.EMPTY_NONSTRUCTURAL: "V",
    CellStatus.PROTECTED: "V",
    CellStatus.UNSAFE_FREQUENCY: "A",
    CellStatus.SECONDARY: "D",
    CellStatus.SECONDARY_MANUAL: "D",
}
"""Flags of structural business statistics; what is not listed is dominance, B, C or F."""


def _sbs_lines(cells: _Cells, _: bool) -> Iterator[str]:
    """Codes, perhaps with levels; value, contributors, flag, and shares of the largest for unsafe cells."""
    count = cells.table.problem.table.contributors
    known = cells.holdings or cells.units
    flag_of = _rule_flag(cells)
    for codes, cell in cells.table.rows():
        status = cells.status(cell)
        if status is CellStatus.EMPTY:
            continue
        fields = []
        for code in codes:
            fields += [cells.code(code), *([str(code.level)] if cells.options.levels else [])]
        number = known.count[cell] if known is not None else count[cell] if count is not None else 0
        flag = FLAGS.get(status) or flag_of(cell)
        fields += [cells.value(cell, show=True), str(max(int(number), 0)), flag]
        if status not in FLAGS and known is not None:
            fields += _shares(known, cell, flag)
        yield ",".join(fields)


def _rule_flag(cells: _Cells) -> Callable[[int], str]:
    """F where a p% or (p, q) rule fires, C where two contributors dominate, B otherwise."""
    reasons = cells.table.problem.reasons
    two = [marks for name, marks in reasons.items() if name.startswith("dominance rule (n = 2")]
    close = [marks for name, marks in reasons.items() if name.startswith("p")]

    def flag(cell: int) -> str:
        if any(marks[cell] for marks in close):
            return "F"
        return "C" if any(marks[cell] for marks in two) else "B"

    return flag


def _shares(known: Contributions, cell: int, flag: str) -> list[str]:
    """Shares of the largest contributions in per cent: the first, that of two, or both apart."""
    whole = int(known.absolute[cell])
    top = [*np.asarray(known.top[cell]).tolist(), 0, 0]
    parts = {"F": [top[0], top[1]], "C": [top[0] + top[1]]}.get(flag, [top[0]])
    return [f"{100 * part / whole if whole else 0:.1f}" for part in parts]
