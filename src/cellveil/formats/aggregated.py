"""Aggregated tables as offices keep them: values, statuses, levels, bounds, and the contributors behind them.

One row is one cell. What a row may tell beside the value: how many contribute, the largest contributions (so
that the p %, (n, k) and pq rules can be applied), a status, protection levels, known bounds, and further
figures such as costs. Where totals are not given they are computed, and so are the contributors behind them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Float, Int
from cellveil.errors import counted, may_be_amount, name_some
from cellveil.formats.columns import Columns
from cellveil.formats.exact_numbers import Amounts
from cellveil.formats.ready_made import BOUNDS, LEVELS, Totals, build_table, with_contributors
from cellveil.formats.rows import Rows, cells_of_rows, open_rows, put_on_cells
from cellveil.problem import STATUS_OF_LETTER, Status
from cellveil.progress import Progress
from cellveil.publishing.sdmx_codes import CONF_MEANINGS
from cellveil.rules.given_marks import UNSAID, GivenMarks
from cellveil.tables.build import Incomplete
from cellveil.tables.computed_totals import largest_of_parts, sums_of_parts
from cellveil.tables.contributions import Contributions
from cellveil.tables.dimension import Dimension
from cellveil.tables.scaled import text_of
from cellveil.tables.table import Table
from cellveil.tables.totals import is_interior

WORDS: Mapping[str, str] = {
    **{status.letter: status.letter for status in Status},
    **{"": "s", "safe": "s", "unsafe": "u", "primary": "u", "secondary": "m", "frozen": "z"},
}
"""What a status means when nothing else is said; capitals do not count, and an empty one is safe."""

MAX_SHOWN = 12
"""Longer texts, and more of them, are not shown: they may not be statuses."""


@dataclass(frozen=True)
class CellColumns:
    """Which column of the rows tells what; None where there is none.

    Parameters
    ----------
    value
        Values of the cells.
    contributors
        Numbers of contributors.
    top
        The largest contributions, the largest first.
    shadow
        What the contributions add up to, where that is not the value.
    status, statuses
        Statuses, and what they mean (u, m, s or z); by default `WORDS`.
    lpl, upl, spl, lb, ub
        Protection levels and known bounds.
    others
        Further figures, such as costs.
    """

    value: str = "value"
    contributors: str | None = None
    top: tuple[str, ...] = ()
    shadow: str | None = None
    status: str | None = None
    statuses: Mapping[str, str] = field(default_factory=dict)
    lpl: str | None = None
    upl: str | None = None
    spl: str | None = None
    lb: str | None = None
    ub: str | None = None
    others: tuple[str, ...] = ()

    def amounts(self) -> dict[str, str]:
        """Levels and bounds that have a column, and it."""
        return {name: column for name in (*LEVELS, *BOUNDS) if (column := getattr(self, name))}

    def numbers(self) -> list[str]:
        """All columns of numbers."""
        single = (self.value, self.contributors, self.shadow)
        named = [name for name in single if name] + [*self.top, *self.amounts().values(), *self.others]
        return list(dict.fromkeys(named))

    def parts(self) -> Iterator[tuple[str, str | None]]:
        """What each column is called in messages, and the column."""
        yield "value", self.value
        yield "number of contributors", self.contributors
        yield "status", self.status
        yield "total of the contributions", self.shadow
        yield from ((f"{number}. largest contribution", name) for number, name in enumerate(self.top, 1))
        yield from self.amounts().items()


@dataclass(frozen=True)
class TableWishes:
    """How a table is made from its rows; see `read_table`."""

    totals: Totals = "given"
    decimals: int | None = None
    incomplete: Incomplete = "error"
    repair: bool = False
    allow_negative: bool = False


def read_aggregated(
    columns: Columns,
    dimensions: Mapping[str, Dimension],
    named: CellColumns,
    wishes: TableWishes,
    progress: Progress,
) -> tuple[Table, GivenMarks]:
    """Make a table of the rows, and what they say of its cells."""
    rows = open_rows(columns, dimensions)
    values = columns.amounts(named.value)
    amounts = {name: columns.amounts(column) for name, column in named.amounts().items()}
    top = [columns.amounts(name) for name in named.top]
    exact = [values, *amounts.values(), *(top if named.shadow is None else ())]
    decimals = max(column.decimals for column in exact) if wishes.decimals is None else wishes.decimals
    options = {name: getattr(wishes, name) for name in ("totals", "incomplete", "allow_negative")}
    options["mismatch"] = "compute" if wishes.repair else "error"
    table = build_table(rows, values, decimals, value=named.value, **options)
    cells = cells_of_rows(rows, table)
    if wishes.repair:
        change = np.abs(table.values[cells] - rows.numbers(named.value, values, decimals))
        number = len(np.unique(cells[change > 0]))
        largest = f", the largest by {text_of(int(change.max()), decimals)}" if number else ""
        told = f"repair changed {counted(number, 'total')}{largest}" if number else "repair changed no total"
        progress.note(f"{_name(columns)}: {told}")
    reader = _CellReader(rows, table, cells, named, wishes)
    table = reader.counted(table)
    table = table.replace(
        units=reader.contributions(table, top) if top else None,
        columns={name: reader.figures(name) for name in named.others},
    )
    if reader.computes_totals and (top or named.contributors):
        progress.note(
            f"{_name(columns)}: totals are computed, and the contributors behind them as if each stood in "
            "one cell only; where some stand in several, give the totals in the file"
        )
    return table, reader.marks(amounts, progress)


class _CellReader:
    """Puts what the rows say on the cells of the table."""

    def __init__(self, rows: Rows, table: Table, cells: Int, named: CellColumns, wishes: TableWishes) -> None:
        self._rows, self._table, self._cells = rows, table, cells
        self._named, self._wishes = named, wishes

    def counted(self, table: Table) -> Table:
        """The table with numbers of contributors; those of computed totals are sums."""
        table = with_contributors(table, self._rows, self._named.contributors)
        if table.contributors is None or not self.computes_totals:
            return table
        counts = table.contributors[self._cells]
        unknown = self._on_cells((counts < 0).astype(np.int64), "contributors") > 0
        summed = self._on_cells(np.maximum(counts, 0), "contributors")
        return table.replace(contributors=np.where(unknown, -1, summed))

    def figures(self, column: str) -> Float:
        """Further figures of all cells."""
        given = self._rows.columns.floats(column)
        self._rows.check(np.isnan(given), f"the {column} is missing", "Give it for every cell.")
        return np.asarray(self._on_cells(given, column), dtype=np.float64)

    @cached_property
    def _without_row(self) -> Bool:
        """The cells that no row is about: totals that are computed."""
        found = np.ones(self._table.num_cells, dtype=bool)
        found[self._cells] = False
        return found

    @property
    def computes_totals(self) -> bool:
        """Whether some totals are not in the rows."""
        return bool(self._without_row.any())

    def _on_cells(self, given: NDArray[Any], what: str) -> NDArray[Any]:
        """Amounts of the rows on the cells, and their sums on computed totals; n × k: the largest k."""
        found = np.zeros((self._table.num_cells, *given.shape[1:]), dtype=given.dtype)
        for target, column in zip(np.atleast_2d(found.T), np.atleast_2d(given.T), strict=True):
            put_on_cells(self._rows, target, self._cells, column, what)
        if self.computes_totals:
            inner = is_interior(self._table.dimensions, [keys[self._cells] for keys in self._table.keys])
            of_parts = largest_of_parts if given.ndim > 1 else sums_of_parts
            computed = of_parts(self._table, self._cells[inner], given[inner])
            found[self._without_row] = computed[self._without_row]
        return found

    # -- contributions -----------------------------------------------------------------------------------

    def contributions(self, table: Table, top: list[Amounts]) -> Contributions:
        """The largest contributions, and what they say of the number of contributors."""
        decimals, total = table.decimals, table.values
        if self._named.shadow is not None:
            shadow = self._rows.columns.amounts(self._named.shadow)
            decimals = max(shadow.decimals, *(column.decimals for column in top))
            given_total = self._rows.numbers(self._named.shadow, shadow, decimals)
            total = self._on_cells(given_total, self._named.shadow)
        given = [
            self._rows.numbers(name, column, decimals, default=np.zeros(len(self._cells), dtype=np.int64))
            for name, column in zip(self._named.top, top, strict=True)
        ]
        largest = np.abs(np.stack(given, axis=1))
        missing = np.stack([column.missing for column in top], axis=1)
        self._check_top(largest, missing, total[self._cells], table.contributors)
        largest = -np.sort(-largest, axis=1)
        ranked = self._on_cells(largest, "contributions")
        return Contributions(
            decimals,
            _counts(ranked, total, table.contributors),
            total,
            np.maximum(np.abs(total), ranked.sum(axis=1)),
            ranked,
            np.full(ranked.shape, -1, dtype=np.int32),
        )

    def _check_top(self, largest: Int, missing: Bool, total: Int, known: Int | None) -> None:
        """Raise where the largest contributions cannot be those of the cell, or some are not given."""
        rows, found = self._rows, largest.sum(axis=1)
        if not self._wishes.allow_negative:
            rows.check(
                found > np.abs(total),
                "the largest contributions are more than their total",
                "Correct them, or name the column of their total: shadow = …",
            )
        filled = (~missing).sum(axis=1)
        counts = np.full(len(total), -1) if known is None else known[self._cells]
        rows.check(
            (counts >= 0) & ((largest > 0).sum(axis=1) > counts),
            "there are more largest contributions than contributors",
            "Correct the number of contributors.",
        )
        few = missing.any(axis=1) & (found < np.abs(total)) & ~((counts >= 0) & (counts <= filled))
        rows.check(
            few,
            "a largest contribution is missing, although those given do not make up the whole",
            "Give it, or the number of contributors if there are no more.",
        )

    # -- statuses, levels, bounds ------------------------------------------------------------------------

    def marks(self, amounts: Mapping[str, Amounts], progress: Progress) -> GivenMarks:
        """Statuses, levels and bounds of the cells."""
        said = GivenMarks.nothing(self._table.num_cells)
        rows = {name: np.full(len(self._cells), UNSAID, dtype=np.int64) for name in _FIELDS}
        for name, column in amounts.items():
            options: dict[str, Any] = {"bound": name in BOUNDS, "default": rows[name]}
            rows[name] = self._rows.numbers(
                self._named.amounts()[name], column, self._table.decimals, **options
            )
            if name in LEVELS:
                wrong = (rows[name] < 0) & ~column.missing
                self._rows.check(wrong, f"the {name} is negative", "Levels are distances from the value.")
        rows["status"] = self._statuses(rows, progress)
        for name in LEVELS:
            rows[name][rows["status"] != Status.PRIMARY] = UNSAID
        for name in _FIELDS:
            put_on_cells(self._rows, getattr(said, name), self._cells, rows[name], name)
        return said

    def _statuses(self, rows: Mapping[str, Int], progress: Progress) -> Int:
        name = _name(self._rows.columns)
        if self._named.status is not None:
            found = read_statuses(self._rows, self._named.status, self._named.statuses)
            counts = Counter(Status(int(status)).letter for status in found)
            told = ", ".join(f"{counts[letter]} {letter}" for letter in "umzs" if counts[letter])
            progress.note(f"{name}: statuses from the column {self._named.status!r}: {told}")
            return np.asarray(found, dtype=np.int64)
        levels: Int = np.maximum.reduce([rows[level] for level in LEVELS])
        if (levels > 0).any():
            progress.note(
                f"{name}: there is no status; "
                f"{counted(int((levels > 0).sum()), 'cell counts', 'cells count')} as unsafe (u) "
                "by a level above 0"
            )
        return np.where(levels > 0, np.int64(Status.PRIMARY), np.int64(Status.SAFE))


_FIELDS = tuple(field.name for field in fields(GivenMarks))


def read_statuses(rows: Rows, column: str, meanings: Mapping[str, str]) -> NDArray[np.int64]:
    """The status of each row; every text must have a meaning, capitals aside."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.utf8_trim_whitespace(rows.columns.column(column).cast(pa.string())).fill_null("").to_pylist()
    means = {word.strip().casefold(): letter for word, letter in (meanings or WORDS).items()}
    means.setdefault("", "s")
    unknown = np.array([text.casefold() not in means for text in texts])
    if unknown.any():
        odd = list(dict.fromkeys(text for text in texts if text and text.casefold() not in means))
        raise rows.columns.fault(
            int(np.argmax(unknown)),
            f"the status in column {column!r} {_shown(odd)}",
            f"Say what each of them means, for example statuses = {_example(texts)}.",
            rows.cell_name(int(np.argmax(unknown))),
        )
    return np.array([STATUS_OF_LETTER[means[text.casefold()]] for text in texts], dtype=np.int64)


def _shown(odd: list[str]) -> str:
    if len(odd) > MAX_SHOWN or any(len(text) > MAX_SHOWN or may_be_amount(text) for text in odd):
        return "has no known meaning"
    return f"has no known meaning: {name_some([repr(text) for text in odd])}"


def _example(texts: list[str]) -> str:
    found = [text for text in dict.fromkeys(texts) if text]
    if len(found) > MAX_SHOWN or any(len(text) > MAX_SHOWN or may_be_amount(text) for text in found):
        found = ["C", "D"]
    standard = all(text.upper() in CONF_MEANINGS or text.casefold() in WORDS for text in found)
    guess = {text: CONF_MEANINGS.get(text.upper(), "?") if standard else "?" for text in found}
    entries = [f'"{text}" = "{WORDS.get(text.casefold(), guess[text])}"' for text in found]
    meant = " if these are the codes of SDMX" if standard else ""
    means = "(u unsafe, m hidden, s may be published, z must be published)"
    return f"{{{', '.join(entries)}}}{meant} {means}"


def _counts(ranked: Int, total: Int, known: Int | None) -> Int:
    """Numbers of contributors, where not given the fewest that the largest contributions allow."""
    least = (ranked > 0).sum(axis=1) + (ranked.sum(axis=1) < np.abs(total))
    return least if known is None else np.where(known < 0, least, known)


def _name(columns: Columns) -> str:
    return Path(columns.file).name
