"""Figures of the report's page as templates take them: officials' table, tiles, comparisons, parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from cellveil.errors import counted
from cellveil.publishing.publication import grouped
from cellveil.report.adjusted_release import adjusted_tiles

if TYPE_CHECKING:
    from cellveil.report.report import Report

DRAWN = ("primary", "secondary", "published")
"""The classes of cells that bars consist of."""

OUTCOMES = {
    "optimal": "proven optimal",
    "safe": "safe, not proven optimal",
    "not_safe": "not safe",
    "infeasible": "infeasible",
}

Tile = tuple[str, str, str]
"""Name, figure, remark."""


def officials_lines(report: Report) -> list[dict[str, Any]]:
    """The lines of the officials' table as text."""
    return [_class_line(report, line) for line in report.classes]


def _class_line(report: Report, line: Any) -> dict[str, Any]:
    value, decimals = line.value, report.problem.table.decimals
    return {
        "name": line.name,
        "cells": f"{line.cells:,}",
        "percent_cells": f"{line.percent_cells:.1f}",
        "value": "–" if value is None else grouped(int(value.replace(".", "")), decimals),
        "percent_value": _one_decimal(line.percent_value),
    }


def share_bars(report: Report) -> list[dict[str, Any]]:
    """Stacked bars of the shares: by cells, and by value where that is shown."""
    parts = [line for line in report.classes if line.name in DRAWN]
    bars = [("cells", [line.percent_cells for line in parts])]
    shares = [line.percent_value for line in parts if line.percent_value is not None]
    if len(shares) == len(parts):
        bars.append(("value", shares))
    return [{"name": name, "parts": list(_stacked([line.name for line in parts], s))} for name, s in bars]


def _stacked(names: list[str], shares: list[float]) -> Iterator[dict[str, Any]]:
    start = 0.0
    for name, share in zip(names, shares, strict=True):
        tip = f"{name} {share:.1f} %"
        yield {"x": round(start, 3), "width": round(share, 3), "name": name, "tip": tip}
        start += share


def tiles_of(report: Report) -> list[Tile]:
    """The figures at the top, for the head of the unit."""
    released = "nothing" if report.release is None else counted(len(report.release.files), "file")
    last = ("Released", released, report.published or "the public folder holds no release")
    if report.instead is not None:
        return [*adjusted_tiles(report), last]
    run, cells = report.suppression, {line.name: line for line in report.classes}
    published, share = cells["published"], cells["published"].percent_value
    return [
        (
            "Cells published" if report.is_safe else "Cells not hidden",
            f"{published.percent_cells:.1f} %",
            f"{published.cells:,} of {report.problem.table.num_cells:,}",
        ),
        (
            "Value published" if report.is_safe else "Value not hidden",
            "–" if share is None else f"{share:.1f} %",
            "not shown: it may tell a single cell" if share is None else "of the sum over all cells",
        ),
        (
            "Primary",
            f"{cells['primary'].cells:,}",
            f"{cells['primary'].percent_cells:.1f} % of the cells",
        ),
        (
            "Secondary",
            f"{cells['secondary'].cells:,}",
            f"{cells['secondary'].percent_cells:.1f} % of the cells",
        ),
        ("Cost", *report.cost_texts),
        ("Method", run.method, OUTCOMES.get(run.outcome, run.outcome)),
        last,
    ]


def histogram_of(report: Report) -> list[dict[str, Any]]:
    """How many cells have intervals of which width, compared with what is required."""
    if report.margins is None or not len(report.margins.cells):
        return []
    counts = report.margins.histogram()
    most = max(count for _, count in counts) or 1
    return [
        {
            "name": name,
            "count": f"{count:,}",
            "share": round(100 * count / most, 1),
            "is_short": number == 0,
        }
        for number, (name, count) in enumerate(counts)
    ]


def comparison_of(adjustment: Mapping[str, Any] | None) -> list[tuple[str, str, str]]:
    """What suppression hides and what adjustment changes, line by line."""
    compared = (adjustment or {}).get("comparison")
    if not compared:
        return []
    one, two = compared["suppression"], compared["adjustment"]
    return [
        ("cells hidden or changed", f"{one['hidden_cells']:,}", f"{two['changed_cells']:,}"),
        ("totals among them", f"{one['hidden_totals']:,}", f"{two['changed_totals']:,}"),
        ("% of cells", f"{one['percent_cells']:.1f}", f"{two['percent_cells']:.1f}"),
        ("% of value in these cells", _one_decimal(one["percent_value"]), _one_decimal(two["percent_value"])),
        ("mean change of all cells, %", "0", f"{two['mean_percent']:.2f}"),
        ("gap to the best, %", _percent(one["gap"]), _percent(two["gap"])),
    ]


def _one_decimal(percent: float | None) -> str:
    return "–" if percent is None else f"{percent:.1f}"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"


def method_lines(figures: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Method, outcome, seed and the seconds of each stage."""
    lines = [
        ("method", str(figures["method"])),
        ("outcome", f"{OUTCOMES.get(figures['outcome'], figures['outcome'])} ({figures['reason']})"),
        ("seed", str(figures["seed"])),
    ]
    if figures.get("num_lps") is not None:
        lines.append(("linear programs", f"{figures['num_lps']:,}"))
    return [*lines, *((f"seconds: {stage}", f"{time:.2f}") for stage, time in figures["seconds"].items())]


def flat(parameters: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Nested parameters as lines: “rules.p_percent”, “10”."""
    for name, value in parameters.items():
        if isinstance(value, Mapping) and value:
            yield from flat(value, f"{prefix}{name}.")
        elif isinstance(value, list | tuple) and not any(isinstance(entry, Mapping) for entry in value):
            yield f"{prefix}{name}", ", ".join(map(str, value)) or "none"
        elif isinstance(value, list | tuple):
            yield from flat({str(number): entry for number, entry in enumerate(value, 1)}, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", str(value)
