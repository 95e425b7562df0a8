"""A-priori files (.hst): statuses, costs and protection levels of single cells, set by hand.

A line has the codes of a cell, an action and its numbers, cut at a separator::

    N1;A;u            unsafe, with the level for cells set by hand
    N1;A;pl;10;15     lower and upper protection level of an unsafe cell
    N2;A;s            safe
    N2;B;p            protected: must be published
    N2;C;m            hidden already (ml likewise)
    N2;A;c;1          cost (w likewise)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from math import ceil
from pathlib import Path

import numpy as np

from cellveil.argus.argus_table import ArgusTable
from cellveil.argus.cell_status import CellStatus
from cellveil.argus.lexer import fields_of, quoted
from cellveil.argus.source_text import SourceText, read_source
from cellveil.errors import InputError
from cellveil.files import write_text
from cellveil.formats.exact_numbers import FAULTS, decimal_of
from cellveil.problem import Status
from cellveil.rules.base import DEFAULT_RANGE
from cellveil.rules.percentages import Number, fraction, margin
from cellveil.tables.scaled import LARGEST, UNBOUNDED


class Action(Enum):
    """What is set; the value stands in the file."""

    SAFE = "S"
    UNSAFE = "U"
    PROTECT = "P"
    SECONDARY = "M"
    COST = "C"
    LEVELS = "PL"


SPELLINGS = {"ML": Action.SECONDARY, "W": Action.COST} | {action.value: action for action in Action}
NUM_NUMBERS = {Action.COST: 1, Action.LEVELS: 2}

FROM = {
    Action.SAFE: range(CellStatus.SAFE, CellStatus.PROTECTED + 1),
    Action.UNSAFE: range(CellStatus.SAFE, CellStatus.UNSAFE_MANUAL + 1),
    Action.PROTECT: range(CellStatus.SAFE, CellStatus.SAFE_MANUAL + 1),
    Action.SECONDARY: range(CellStatus.SAFE, CellStatus.SAFE_MANUAL + 1),
    Action.COST: range(CellStatus.SAFE, CellStatus.EMPTY_NONSTRUCTURAL),
    Action.LEVELS: range(CellStatus.UNSAFE_RULE, CellStatus.UNSAFE_MANUAL + 1),
}
"""The statuses an action is possible from."""


@dataclass(frozen=True)
class AprioriLine:
    """One line: a cell, what is set, and its numbers, which are not shown."""

    codes: tuple[str, ...]
    action: Action
    numbers: tuple[Decimal, ...] = field(default=(), repr=False)
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class AprioriFile:
    """The lines of a file.

    Parameters
    ----------
    lines
        What is set, in order.
    file
        Where it was read from.
    faults
        Lines that could not be read, where they are passed over.
    """

    lines: tuple[AprioriLine, ...]
    file: str | None = field(default=None, compare=False)
    faults: tuple[InputError, ...] = field(default=(), compare=False)


@dataclass(frozen=True, repr=False)
class AprioriResult:
    """The table with what was set, how much that is, and which lines were passed over.

    Parameters
    ----------
    table
        The table afterwards.
    counts
        How often each action was done.
    num_made_safe
        Cells that a rule had marked, and that were set to safe by hand.
    num_empty
        Lines about empty cells, which do nothing.
    faults
        Lines that could not be done.
    """

    table: ArgusTable
    counts: dict[Action, int]
    num_made_safe: int
    num_empty: int
    faults: tuple[InputError, ...]

    def __repr__(self) -> str:
        return f"AprioriResult({sum(self.counts.values())} lines done, {len(self.faults)} passed over)"


def read_hst(
    path: Path | str,
    num_codes: int,
    *,
    separator: str = ",",
    ignore_errors: bool = False,
    encoding: str | None = None,
) -> AprioriFile:
    """Read an a-priori file.

    Parameters
    ----------
    num_codes
        How many codes a cell has.
    separator
        One character.
    ignore_errors
        Pass over lines that cannot be read and keep what is wrong with them.

    Raises
    ------
    InputError
        At the first wrong line; whatever is ignored, when the first line does not have the separator.
    """
    source = read_source(path, encoding)
    if len(separator) != 1 or separator in ' "':
        raise InputError("the separator is not one character", file=path, remedy="Use ',' or ';'.")
    found: list[AprioriLine] = []
    faults: list[InputError] = []
    for number, line in source.numbered():
        if not found and not faults and separator not in line:
            raise source.fault(
                number, f"the line does not have the separator {separator!r}", "Say the right separator."
            )
        try:
            found.append(_line_of(source, number, line, separator, num_codes))
        except InputError as error:
            if not ignore_errors:
                raise
            faults.append(error)
    return AprioriFile(tuple(found), source.file, tuple(faults))


def _line_of(source: SourceText, number: int, line: str, separator: str, num_codes: int) -> AprioriLine:
    try:
        fields = fields_of(line, separator)
    except InputError as error:
        raise error.located(file=source.file, line=number) from None
    while len(fields) > num_codes + 1 and fields[-1] == "":
        fields.pop()
    if len(fields) <= num_codes:
        raise source.fault(
            number,
            f"the line has {len(fields)} fields; a cell has {num_codes} codes, and an action follows",
            f"Write the codes and the action, separated by {separator!r}.",
        )
    mark = fields[num_codes].strip().upper()
    if mark == "AB":
        raise source.fault(
            number, "bounds cannot be set in this file", "Give protection levels (PL), or remove the line."
        )
    if mark not in SPELLINGS:
        raise source.fault(
            number,
            f"field {num_codes + 1} is no action",
            "Use S, U, P, M, C or PL; check that the line has a code for each dimension.",
        )
    action, texts = SPELLINGS[mark], fields[num_codes + 1 :]
    needed = NUM_NUMBERS.get(action, 0)
    if len(texts) != needed:
        raise source.fault(
            number, f"{mark} needs {needed} numbers, and {len(texts)} follow", "Correct the line."
        )
    numbers = tuple(_number(source, number, text) for text in texts)
    return AprioriLine(tuple(fields[:num_codes]), action, numbers, number)


def _number(source: SourceText, number: int, text: str) -> Decimal:
    found = decimal_of(text.replace(",", "."))
    if isinstance(found, str):
        raise source.fault(number, f"a number {found}", FAULTS[found])
    if found < 0:
        raise source.fault(number, "a number is negative", "Costs and levels are 0 or more.")
    return found


def write_hst(lines: Sequence[AprioriLine], path: Path | str, *, separator: str = ";") -> None:
    """Write an a-priori file; reading it with the same separator gives the same lines."""
    texts = []
    for line in lines:
        if any(separator in code for code in line.codes):
            raise InputError(
                f"a code holds the separator {separator!r}", file=path, remedy="Take another separator."
            )
        codes = [quoted(code) for code in line.codes]
        texts.append(separator.join([*codes, line.action.value, *(f"{n:f}" for n in line.numbers)]))
    write_text(Path(path), "".join(f"{text}\n" for text in texts))


def apply_apriori(
    table: ArgusTable,
    given: AprioriFile,
    *,
    safety_range: Number = DEFAULT_RANGE,
    ignore_errors: bool = False,
) -> AprioriResult:
    """Set what a file says, line by line.

    A code with a single child and the child are one cell: what is set for one holds for the other. A cell
    that a rule had marked and that is set to safe counts as waived, and is counted in the result.

    Parameters
    ----------
    safety_range
        Level of cells set to unsafe, in % of their value.
    ignore_errors
        Pass over lines that cannot be done and keep what is wrong with them.
    """
    work = _Changes(table, fraction(safety_range, "safety_range"))
    faults = list(given.faults)
    for line in given.lines:
        try:
            work.set(line)
        except InputError as error:
            located = error.located(file=given.file, line=line.line)
            if not ignore_errors:
                raise located from None
            faults.append(located)
    return work.result(tuple(faults))


class _Changes:
    """Copies of the columns of a problem, changed line by line."""

    def __init__(self, table: ArgusTable, percent: Fraction) -> None:
        problem = table.problem
        self.table, self.percent = table, percent
        self.numbers = table.numbers.copy()
        self.columns = {
            name: getattr(problem, name).copy() for name in ("status", "weight", "lpl", "upl", "spl")
        }
        values = problem.table.values
        self.waived = np.zeros(len(values), bool) if problem.waived is None else problem.waived.copy()
        self.by_rule = (problem.status == Status.PRIMARY) & (table.numbers != CellStatus.UNSAFE_MANUAL)
        self.manual = np.zeros(len(values), dtype=bool)
        self.counts = dict.fromkeys(Action, 0)
        self.num_empty = 0
        self.do = {
            Action.SAFE: self._safe,
            Action.UNSAFE: self._unsafe,
            Action.PROTECT: self._protect,
            Action.SECONDARY: self._secondary,
            Action.COST: self._cost,
            Action.LEVELS: self._levels,
        }

    def set(self, line: AprioriLine) -> None:
        cell = self.table.find(line.codes)
        if cell < 0 or self.numbers[cell] >= CellStatus.EMPTY_NONSTRUCTURAL:
            self.num_empty += 1
            return
        now = CellStatus(int(self.numbers[cell]))
        if now not in FROM[line.action]:
            raise InputError(
                f"{line.action.value} is not possible for a cell of status {now.letter}",
                cell=self.table.problem.table.cell_name(cell),
                remedy="Levels are set for unsafe cells, P and M for safe ones, U not for protected ones.",
            )
        self.do[line.action](cell, line.numbers)
        self.counts[line.action] += 1

    def _put(self, cell: int, number: CellStatus, status: Status, lpl: int = 0, upl: int = 0) -> None:
        self.numbers[cell], self.columns["status"][cell] = number, status
        self.columns["lpl"][cell], self.columns["upl"][cell], self.columns["spl"][cell] = lpl, upl, 0

    def _safe(self, cell: int, _: tuple[Decimal, ...]) -> None:
        self.waived[cell] |= self.by_rule[cell]
        zero = self.table.problem.table.values[cell] == 0
        self._put(cell, CellStatus.SAFE_MANUAL, Status.FROZEN if zero else Status.SAFE)

    def _unsafe(self, cell: int, _: tuple[Decimal, ...]) -> None:
        (level,) = margin(self.table.problem.table.values[cell : cell + 1], self.percent).tolist()
        self.waived[cell], self.manual[cell] = False, True
        self._put(cell, CellStatus.UNSAFE_MANUAL, Status.PRIMARY, min(level, self._room(cell)), level)

    def _protect(self, cell: int, _: tuple[Decimal, ...]) -> None:
        self._put(cell, CellStatus.PROTECTED, Status.FROZEN)

    def _secondary(self, cell: int, _: tuple[Decimal, ...]) -> None:
        self._put(cell, CellStatus.SECONDARY_MANUAL, Status.SECONDARY)

    def _cost(self, cell: int, numbers: tuple[Decimal, ...]) -> None:
        self.columns["weight"][cell] = float(numbers[0]) or 1.0

    def _levels(self, cell: int, numbers: tuple[Decimal, ...]) -> None:
        decimals = self.table.problem.table.decimals
        scaled = [number.scaleb(decimals) for number in numbers]
        if any(number >= LARGEST for number in scaled):
            raise InputError("a level is too large", remedy="Use the unit of the values.")
        lpl, upl = map(ceil, scaled)
        lpl = min(lpl, self._room(cell))
        if not (lpl or upl):
            raise InputError(
                "both levels are 0, so nothing would protect the cell", remedy="Give one above 0, or use S."
            )
        self.columns["lpl"][cell], self.columns["upl"][cell], self.columns["spl"][cell] = lpl, upl, 0

    def _room(self, cell: int) -> int:
        problem = self.table.problem
        low = int(problem.lb[cell])
        return UNBOUNDED if low == -UNBOUNDED else int(problem.table.values[cell]) - low

    def result(self, faults: tuple[InputError, ...]) -> AprioriResult:
        problem = self.table.problem
        unsafe = self.columns["status"] == Status.PRIMARY
        reasons = {name: cells & unsafe for name, cells in problem.reasons.items()}
        reasons["manual"] = (reasons.get("manual", False) | self.manual) & unsafe
        same = unsafe & np.logical_and.reduce(
            [self.columns[name] == getattr(problem, name) for name in ("lpl", "upl")]
        )
        changed = problem.replace(
            **self.columns,
            origins={origin: cells & same for origin, cells in problem.origins.items()},
            waived=self.waived if self.waived.any() else None,
            reasons={name: cells for name, cells in reasons.items() if cells.any()},
        )
        made_safe = int((self.waived & ~unsafe & self.by_rule).sum())
        table = self.table.replace(problem=changed, numbers=self.numbers)
        return AprioriResult(table, self.counts, made_safe, self.num_empty, faults)
