"""The report on a suppression as a few lines of text: verdict, officials' table, rules, cost."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from cellveil.errors import counted
from cellveil.report.adjusted_release import adjusted_summary

if TYPE_CHECKING:
    from cellveil.report.report import Report

WITHHELD = "–: not shown, as it would tell too much about a single hidden cell"

MOST_TOLD = 6
"""Cells exempt or left open that are named one by one."""

ORDER = ("published", "primary", "secondary", "total")
"""Lines of the officials' table."""

ZERO = "  0"
"""The line of published cells whose value is 0, below that of all published cells."""


def summary_text(report: Report, width: int | None = None) -> str:
    """The report as text; of an adjusted table where that is published.

    Parameters
    ----------
    width
        Characters of a line of the officials' table, at most; sentences are not broken.
    """
    if report.instead is not None:
        return adjusted_summary(report)
    run = report.suppression
    cost, bound = report.cost_texts
    lines = [*_verdict(report), "", *officials_text(report, width), ""]
    lines += [f"Unsafe by {told}" for told in rules_text(report)]
    lines.append(f"Method {run.method}: {run.outcome} ({run.reason}), cost {cost}, {bound}")
    lines += [] if report.price is None else [report.price.text]
    return "\n".join([*lines, *([WITHHELD] if any(line.value is None for line in report.classes) else [])])


def _verdict(report: Report) -> list[str]:
    """The verdict, against whom, and everything that goes with it."""
    run, decisions = report.suppression, report.decisions
    lines = [report.heading, report.verdict, report.told_not_asked, *decisions[:MOST_TOLD]]
    if len(decisions) > MOST_TOLD:
        lines.append(f"and {len(decisions) - MOST_TOLD:,} more such cells: the report lists them")
    lines += [report.out_of_time] if report.out_of_time else []
    lines += [f"Released under an exception: {report.override}"] if report.override else []
    lines += [] if run.relaxation is None else run.relaxation.lines()
    return [*lines, *report.over_time, *(f"Note: {note}" for note in report.notes)]


def officials_text(report: Report, width: int | None = None) -> list[str]:
    """The officials' table: number and value of cells by class, with their shares.

    Where there is no room, values are left out first, then shares.
    """
    classes = {line.name: line for line in report.classes}
    shown_zero = int(((report.problem.table.values == 0) & ~report.suppression.pattern.hidden).sum())
    cells = max(report.problem.table.num_cells, 1)
    rows = [("", "cells", "%", "value", "%")]
    for name in ORDER:
        line = classes[name]
        value = "–" if line.value is None else f"{Decimal(line.value):,}"
        share = "–" if line.percent_value is None else f"{line.percent_value:.1f}"
        rows.append((name, f"{line.cells:,}", f"{line.percent_cells:.1f}", value, share))
        if name == "published" and shown_zero:
            rows.append((ZERO, f"{shown_zero:,}", f"{100 * shown_zero / cells:.1f}", "0", "0.0"))
    lines: list[str] = []
    for places in ((1, 2, 3, 4), (1, 2), (1,)):
        widths = [max(len(row[place]) for row in rows) for place in range(5)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *(row[place].rjust(widths[place]) for place in places)])
            for row in rows
        ]
        if width is None or len(lines[0]) <= width:
            break
    return lines


def rules_text(report: Report) -> list[str]:
    """Which rules fired, and how often."""
    return [f"{name}: {counted(count, 'cell')}" for name, count in report.rules.items()]
