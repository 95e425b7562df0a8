"""The report on a job that publishes an adjusted table: it speaks of that table, and of the pattern last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cellveil.errors import counted
from cellveil.report.adjustment_figures import summary

if TYPE_CHECKING:
    from cellveil.report.report import Report

ADJUSTED = "adjusted table"

MOVED = ("method", "outcome", "reason", "cost", "lower_bound", "gap", "seconds", "seed")
"""Figures of a run that are those of the adjustment where it is published."""

OF_PATTERN = ("secondaries", "certified_demands", "demands", "hidden_for_lack_of_time", "num_lps")
"""Figures that only a pattern has."""


def adjusted_summary(report: Report) -> str:
    """A few lines of text about the adjusted table."""
    figures = dict(report.adjustment or {})
    lines = [f"{report.heading}: {ADJUSTED}", report.verdict, report.told_not_asked]
    lines += [f"Released under an exception: {report.override}"] if report.override else []
    lines += [f"Note: {note}" for note in report.notes]
    if "utility" not in figures:
        return "\n".join(
            [*lines, "", f"There is no adjusted table: {figures.get('reason', '')}".rstrip(": ")]
        )
    hidden = "No cell is hidden; the pattern below was made for comparison, and is not published."
    return "\n".join([*lines, hidden, "", summary(figures)])


def with_adjusted(report: Report, data: dict[str, Any]) -> dict[str, Any]:
    """The figures of a report with those of the adjusted table in front, those of the pattern apart."""
    figures = dict(report.adjustment or {})
    pattern = {name: data[name] for name in (*MOVED, *OF_PATTERN)}
    head = {name: figures.get(name) for name in MOVED} | {"seconds": figures.get("seconds", {})}
    unsafe: Sequence[int] = () if report.decisive is None else report.decisive.unsafe_cells.tolist()
    return (
        data
        | head
        | dict.fromkeys(OF_PATTERN, 0)
        | {"pattern": pattern}
        | {"unsafe_cells": report.problem.table.cell_names(unsafe)}
    )


def adjusted_tiles(report: Report) -> list[tuple[str, str, str]]:
    """The figures at the top of the page: name, figure, remark."""
    figures = dict(report.adjustment or {})
    tiles = [
        (
            "Cells",
            f"{report.problem.table.num_cells:,}",
            counted(len(report.problem.table.relations), "relation"),
        ),
        ("Sensitive", f"{len(report.problem.primaries):,}", "moved beyond the levels"),
    ]
    if "utility" not in figures:
        return [*tiles, ("Adjusted table", "none", "nothing was published")]
    utility, gap = figures["utility"], figures["gap"]
    shown = "no bound" if gap is None else f"gap {100 * gap:.1f} %"
    return [
        *tiles,
        ("Changed", f"{utility['changed']:,}", counted(utility["totals_changed"], "total") + " among them"),
        ("Mean change", f"{utility['mean_percent']:.3g} %", f"largest {utility['largest_percent']:.3g} %"),
        ("Cost", _amount(figures["cost"]), f"objective {figures['objective']}, {shown}"),
        ("Method", str(figures["method"]), str(figures["outcome"])),
    ]


def _amount(cost: float) -> str:
    return f"{cost:,.0f}" if abs(cost) >= 1000 else f"{cost:.4g}"
