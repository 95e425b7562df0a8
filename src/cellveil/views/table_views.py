"""Tables for notebooks: coloured by status, folding by hierarchy, hidden and unsafe cells without values.

A view shows values only of what an audit has shown safe, unless it is asked for all of them. Linked tables
stand one after the other. It is plain HTML without scripts: rows fold by ``<details>``, columns by a box in
their head that a rule of style asks for its state. Colours are tints that suit light and dark pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.judge import Audit
from cellveil.plots import line_chart
from cellveil.problem import Problem, Status
from cellveil.publishing.publication import Labels, Lines, TablePart, grouped
from cellveil.report import Report
from cellveil.report.figures import Margins, reasons_of
from cellveil.shown import View
from cellveil.tables.link import LinkedTable, cells_in
from cellveil.tables.table import Table
from cellveil.views.cell_frames import audit_of, objections_to, table_of
from cellveil.views.line_window import LineWindow

if TYPE_CHECKING:
    from jinja2 import Template

MOST_CELLS = 1_500
"""Cells of a view, if nothing else is said."""

OPEN_ROWS = 30
"""Views with more rows begin with their lower levels folded."""

OPEN_COLUMNS = 14
"""Views with more columns begin with their lower levels folded."""

WIDEST = 28
"""Characters of the first column at most."""

LEAST_PLOTTED = 3
"""Fewest primary cells of a plot."""

MOST_REACH = 500
"""Per cent of what is required that a plot shows at most."""

MOST_TOLD = 6
"""Cells exempt or left open that a view names one by one."""

SECRET = "•"
"""In place of a value that nobody was shown to be allowed to see."""


def view_of(thing: Any, *, values: bool = False, cells: int | None = None) -> View:
    """The view of something; see `cellveil.shown.Shown.show`."""
    table = table_of(thing)
    if table is None:
        return View(_template("plain.html").render(text=repr(thing)), repr(thing))
    sheet = _Sheet.of(thing, table, values)
    parts = _table_parts(thing, table)
    most = max((cells or MOST_CELLS) // len(parts), 1)
    html = _template("table.html").render(
        title=repr(thing) if sheet.verdict is None else sheet.subject,
        sheet=sheet,
        parts=[_part(sheet, part, LineWindow.of(part.table, sheet.labels, most)) for part in parts],
        plot=_margins(thing),
    )
    return View(html, repr(thing))


def _table_parts(thing: Any, table: Table) -> tuple[TablePart, ...]:
    """The tables that are shown, one after the other: those that a joint table was linked from, or itself."""
    report = getattr(thing, "report", None)
    if isinstance(report, Report) and report.tables:
        return report.tables
    if isinstance(table, LinkedTable) and len(table.tables) > 1:
        return tuple(TablePart(_subject(one), one, cells_in(table, one)) for one in table.tables)
    return (TablePart("", table, np.arange(table.num_cells)),)


def _part(sheet: _Sheet, part: TablePart, window: LineWindow) -> dict[str, Any]:
    """One table of a view, as the template shows it."""
    columns = _columns(window, part.table)
    return {
        "name": part.name,
        "blocks": list(_blocks(sheet, part, window)),
        "columns": columns,
        "folds": [column.fold for column in columns if column.fold],
        "corner": part.table.dimensions[window.down].name,
        "width": _widths(sheet, window, columns),
        "cut": _cut_note(window) if window.is_cut else "",
    }


@dataclass(frozen=True, repr=False, eq=False)
class _Sheet:
    """What a view tells of each cell, and of the whole.

    Parameters
    ----------
    shown
        Whose values are shown.
    amounts
        The values, scaled.
    verdict
        The verdict in words; None where nothing was audited.
    remarks
        What belongs to the verdict: who was not asked, cells left open, what was taken for granted.
    is_confidential
        Whether it shows values that are not for everybody.
    """

    table: Table
    amounts: Int
    shown: Bool
    status: Any
    problem: Problem | None
    labels: Labels
    verdict: str | None
    remarks: tuple[str, ...]
    is_safe: bool
    is_confidential: bool

    @classmethod
    def of(cls, thing: Any, table: Table, values: bool) -> _Sheet:
        audit = audit_of(thing)
        problem = thing if isinstance(thing, Problem) else None if audit is None else audit.problem
        objections = objections_to(thing)
        amounts, shown = table.values, np.full(table.num_cells, values)
        if audit is not None and not objections:
            shown = shown | ~audit.view.hidden
            if audit.adjusted is not None:
                amounts = audit.view.published
        report = getattr(thing, "report", None)
        verdict = getattr(report, "verdict", None) or (None if audit is None else audit.verdict)
        return cls(
            table,
            amounts,
            shown,
            _status(problem, audit),
            problem,
            getattr(report, "labels", {}),
            verdict,
            _remarks(report, audit),
            not objections,
            values,
        )

    @property
    def subject(self) -> str:
        return _subject(self.table)

    @property
    def counts(self) -> list[tuple[str, str, int]]:
        """Name, class and number of cells of each kind; none where no cell has a status."""
        if self.status is None:
            return []
        kinds = (("primary", "p"), ("secondary", "s"), ("must be published", "z"))
        numbers = [int((self.status == kind).sum()) for kind in (1, 2, 3)]
        rest = len(self.status) - sum(numbers)
        told = [(name, kind, number) for (name, kind), number in zip(kinds, numbers, strict=True)]
        name = "published" if self.is_safe else "others"
        return [one for one in (*told, (name, "", rest)) if one[2]]

    @property
    def withheld(self) -> bool:
        """Whether values are kept back because nothing has shown them safe."""
        return not self.is_safe and not self.is_confidential

    def cell(self, number: int) -> tuple[str, str, str]:
        """Text, class and tooltip."""
        if number < 0:
            return "", "e", ""
        status = Status.SAFE if self.status is None else Status(int(self.status[number]))
        kind, tip = _marked(status, self.problem, number)
        if self.shown[number]:
            return grouped(int(self.amounts[number]), self.table.decimals), kind, tip
        return "x" if self.is_safe else SECRET, kind, tip


def _remarks(report: Report | None, audit: Audit | None) -> tuple[str, ...]:
    """What a reader of the verdict has to know."""
    if report is None:
        return () if audit is None else (f"Not tested: {audit.not_asked}.",)
    decisions = report.decisions
    more = [f"and {len(decisions) - MOST_TOLD:,} more such cells"] if len(decisions) > MOST_TOLD else []
    notes = [f"Note: {note}" for note in report.notes]
    notes += [f"Released under an exception: {report.override}"] if report.override else []
    told = [report.told_not_asked, report.out_of_time, *decisions[:MOST_TOLD], *more, *notes]
    return tuple(line for line in told if line)


def _status(problem: Problem | None, audit: Audit | None) -> Any:
    if audit is not None and audit.pattern is not None:
        return audit.pattern.status
    return None if problem is None else problem.status


def _marked(status: Status, problem: Problem | None, cell: int) -> tuple[str, str]:
    if status is Status.PRIMARY:
        return "p", "Primary" if problem is None else f"Primary: {reasons_of(problem, cell)}"
    if status is Status.SECONDARY:
        return "s", "Secondary: hidden so that primary cells cannot be worked out"
    return ("z", "Must be published") if status is Status.FROZEN else ("", "")


def _subject(table: Table) -> str:
    return f"{table.variable} by {', '.join(d.name for d in table.dimensions)}"


def _blocks(sheet: _Sheet, part: TablePart, window: LineWindow) -> Iterator[dict[str, Any]]:
    number = np.append(part.cells, -1)  # where no cell stands, −1 stays −1
    for place, (choice, cells) in enumerate(window.blocks()):
        chosen = [
            f"{part.table.dimensions[axis].name}: {_name(window.lines[axis], line)}"
            for axis, line in zip(window.others, choice, strict=True)
        ]
        rows = _rows(sheet, window, number[cells])
        yield {"chosen": ", ".join(chosen), "open": not place, "rows": rows}


def _rows(sheet: _Sheet, window: LineWindow, cells: Int) -> list[dict[str, Any]]:
    lines, shown = window.lines[window.down], window.shown[window.down].tolist()
    depth = [int(lines.depth[line]) for line in shown]
    is_open = len(shown) <= OPEN_ROWS
    rows = []
    for place, (line, here) in enumerate(zip(shown, cells.tolist(), strict=True)):
        below = depth[place + 1] if place + 1 < len(shown) else 0
        rows.append(
            {
                "name": _name(lines, line),
                "depth": depth[place],
                "total": bool(lines.is_total[line]),
                "folds": below > depth[place],
                "closes": max(depth[place] - below, 0) if below <= depth[place] else 0,
                "open": is_open or depth[place] == 0,
                "cells": [sheet.cell(cell) for cell in here],
            }
        )
    return rows


def _name(lines: Lines, line: int) -> str:
    return f"{lines.names[line]} {lines.labels[line]}".rstrip()


@dataclass(frozen=True)
class _Column:
    """The head of a column.

    Parameters
    ----------
    fold
        Places of the first and the last column that it folds, counted from 1 with the column of names; ()
        where none stands below it.
    is_open
        Whether these are shown at first.
    """

    name: str
    is_total: bool = False
    fold: tuple[int, ...] = ()
    is_open: bool = True


def _columns(window: LineWindow, table: Table) -> list[_Column]:
    if window.across < 0:
        return [_Column(table.variable)]
    lines, shown = window.lines[window.across], window.shown[window.across].tolist()
    depth = [int(lines.depth[line]) for line in shown]
    columns = []
    for place, line in enumerate(shown):
        last = place
        while last + 1 < len(shown) and depth[last + 1] > depth[place]:
            last += 1
        fold = (place + 3, last + 2) if last > place else ()
        is_open = len(shown) <= OPEN_COLUMNS or depth[place] == 0
        columns.append(_Column(_name(lines, line), bool(lines.is_total[line]), fold, is_open))
    return columns


def _widths(sheet: _Sheet, window: LineWindow, columns: Sequence[_Column]) -> tuple[int, int]:
    """Characters of the first column and of the others."""
    lines = window.lines[window.down]
    names = [
        len(_name(lines, line)) + 2 * int(lines.depth[line]) for line in window.shown[window.down].tolist()
    ]
    largest = int(np.abs(sheet.amounts[sheet.shown]).max(initial=0))
    values = len(grouped(largest, sheet.table.decimals)) + 2
    heads = max(len(column.name) + 2 * bool(column.fold) for column in columns) + 3
    corner = len(window.table.dimensions[window.down].name)
    return min(max(*names, corner) + 4, WIDEST), min(max(values, heads, 6), WIDEST)


def _margins(thing: Any) -> str:
    """The reach of the intervals of all primary cells, the least first; empty where there are not several."""
    audit = audit_of(thing)
    outsider = None if audit is None else audit.outsider
    if audit is None or outsider is None or len(outsider.cells) < LEAST_PLOTTED:
        return ""
    reach = np.sort(np.minimum(100 * Margins.of(audit.problem, outsider).margin, MOST_REACH))
    return line_chart(
        {
            "reach": [(place + 1.0, float(each)) for place, each in enumerate(reach)],
            "required": [(1.0, 100.0), (float(len(reach)), 100.0)],
        },
        title="Reach of attackers' intervals",
        x="primary cells, least reach first",
        y=f"per cent of what is required, up to {MOST_REACH}",
    )


def _cut_note(window: LineWindow) -> str:
    left_out = [
        f"{len(kept)} of {len(lines)} lines of {dimension.name}"
        for kept, lines, dimension in zip(window.shown, window.lines, window.table.dimensions, strict=True)
        if len(kept) < len(lines)
    ]
    return f"A window of the table: {', '.join(left_out)}. More of it: .show(cells=100_000), or .to_pandas()."


@cache
def _template(name: str) -> Template:
    """A template; everything put into it is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("cellveil.views"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)
