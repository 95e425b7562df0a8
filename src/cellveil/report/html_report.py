"""The internal report as a page: the verdict, the figures, the table in colours, and every primary cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any

from cellveil.arrays import Int
from cellveil.problem import Status
from cellveil.publishing.html_page import Mark, environment, sections_of
from cellveil.publishing.publication import Publication, grouped
from cellveil.report.adjusted_release import adjusted_tiles
from cellveil.report.adjustment_figures import pinned_down
from cellveil.report.figures import reasons_of

if TYPE_CHECKING:
    from cellveil.report import Report

MAX_UNSAFE = 200
"""How many cells that are not safe are listed with what tells them."""

MAX_LISTED = 500
"""How many primary cells are listed one by one."""

COLOURS = {"primary": "var(--primary)", "secondary": "var(--secondary)", "published": "var(--published)"}

OUTCOMES = {
    "optimal": "proven optimal",
    "safe": "safe, not proven optimal",
    "not_safe": "not safe",
    "infeasible": "infeasible",
}


def render(report: Report) -> str:
    """The whole page."""
    problem = report.problem
    publication = Publication.of(problem.table, report.view, labels=report.labels)
    publication = publication.in_tables(report.tables, report.labels)
    return (
        environment("cellveil.report")
        .get_template("internal.html")
        .render(
            **_common(report),
            table=problem.table,
            sections=sections_of(publication, list(_markers(report))),
            tiles=_tiles(report) if report.instead is None else adjusted_tiles(report),
            adjusted=_adjusted_sections(report),
            histogram=_histogram(report),
            primaries=list(_primaries(report)),
            num_primaries=len(problem.primaries),
            unsafe=list(_unsafe(report)),
            audit=None if report.audit is None else report.audit.outsider,
            parameters=list(_flat(report.parameters)),
            data=report.to_dict(),
            adjustment=report.adjustment,
            pinned_down=pinned_down,
            comparison=_comparison(report.adjustment),
        )
    )


def _adjusted_sections(report: Report) -> list[dict[str, Any]]:
    """The adjusted table, where it is to be published; its values are public."""
    if report.instead is None or report.decisive is None or not report.decisive.is_safe:
        return []
    whole = Publication.of(report.problem.table, report.decisive.view, labels=report.labels)
    return sections_of(whole.in_tables(report.tables, report.labels))


def render_summary(report: Report) -> str:
    """Verdict and officials' table, for notebooks."""
    return environment("cellveil.report").get_template("summary.html").render(**_common(report))


def _common(report: Report) -> dict[str, Any]:
    return {
        "report": report,
        "classes": [_class_line(report, line) for line in report.classes],
        "bars": _bars(report),
    }


def _class_line(report: Report, line: Any) -> dict[str, Any]:
    value, decimals = line.value, report.problem.table.decimals
    return {
        "name": line.name,
        "cells": f"{line.cells:,}",
        "percent_cells": f"{line.percent_cells:.1f}",
        "value": "–" if value is None else grouped(int(value.replace(".", "")), decimals),
        "percent_value": _one_decimal(line.percent_value),
        "colour": COLOURS.get(line.name, "transparent"),
    }


def _bars(report: Report) -> list[dict[str, Any]]:
    """Stacked bars of the shares: by cells, and by value where that is shown."""
    parts = [line for line in report.classes if line.name in COLOURS]
    bars = [("cells", [line.percent_cells for line in parts])]
    shares = [line.percent_value for line in parts if line.percent_value is not None]
    if len(shares) == len(parts):
        bars.append(("value", shares))
    return [{"name": name, "parts": list(_stacked([line.name for line in parts], s))} for name, s in bars]


def _stacked(names: list[str], shares: list[float]) -> Iterator[dict[str, Any]]:
    start = 0.0
    for name, share in zip(names, shares, strict=True):
        tip = f"{name} {share:.1f} %"
        yield {"x": round(start, 3), "width": round(share, 3), "colour": COLOURS[name], "tip": tip}
        start += share


def _comparison(adjustment: Mapping[str, Any] | None) -> list[tuple[str, str, str]]:
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


def _tiles(report: Report) -> list[tuple[str, str, str]]:
    """The figures at the top: name, figure, remark."""
    run, cells = report.suppression, {line.name: line for line in report.classes}
    return [
        (
            "Cells",
            f"{report.problem.table.num_cells:,}",
            f"{len(report.problem.table.relations):,} relations",
        ),
        ("Primary", f"{cells['primary'].cells:,}", f"{cells['primary'].percent_cells:.1f} % of the cells"),
        (
            "Secondary",
            f"{cells['secondary'].cells:,}",
            f"{cells['secondary'].percent_cells:.1f} % of the cells",
        ),
        ("Cost", *report.cost_texts),
        ("Demands met", f"{run.certified_demands if report.audit else 0:,}", f"of {run.demands:,}"),
        ("Method", run.method, OUTCOMES.get(run.outcome, run.outcome)),
    ]


def _marker(report: Report) -> Callable[[int], tuple[str, str]]:
    """Colours and tooltips of hidden cells."""
    status, contributors = report.problem.status, report.problem.table.contributors

    def mark(cell: int) -> tuple[str, str]:
        if status[cell] != Status.PRIMARY:
            return "m", "Secondary: hidden so that primary cells cannot be worked out"
        count = _contributors(contributors, cell)
        return "u", f"Primary: {reasons_of(report.problem, cell)}" + (
            f" ({count} contributors)" if count else ""
        )

    return mark


def _markers(report: Report) -> Iterator[Mark]:
    """The marks of each table that is shown."""
    mark = _marker(report)
    if not report.tables:
        yield mark
    for part in report.tables:
        yield partial(_mark_of_part, mark, part.cells)


def _mark_of_part(mark: Mark, cells: Int, cell: int) -> tuple[str, str]:
    return mark(int(cells[cell]))


def _contributors(contributors: Any, cell: int) -> str:
    return "" if contributors is None or contributors[cell] < 0 else f"{int(contributors[cell]):,}"


def _histogram(report: Report) -> list[dict[str, Any]]:
    if report.margins is None or not len(report.margins.cells):
        return []
    counts = report.margins.histogram()
    most = max(count for _, count in counts) or 1
    return [
        {
            "name": name,
            "count": f"{count:,}",
            "height": round(90 * count / most, 1),
            "colour": "var(--bad)" if number == 0 else "var(--published)",
        }
        for number, (name, count) in enumerate(counts)
    ]


def _primaries(report: Report) -> Iterator[dict[str, Any]]:
    """The primary cells with reason and interval, least margin first; at most `MAX_LISTED`."""
    problem, margins = report.problem, report.margins
    table = problem.table
    cells = problem.primaries if margins is None else margins.cells
    for place, cell in enumerate(cells[:MAX_LISTED].tolist()):
        key = table.key(cell)
        labels = [
            report.labels.get(d.name, {}).get(code, "") for d, code in zip(table.dimensions, key, strict=True)
        ]
        row = {
            "key": list(zip(key, labels, strict=True)),
            "reason": reasons_of(problem, cell),
            "contributors": _contributors(table.contributors, cell) or "–",
        }
        if margins is None:
            yield row | {"interval": "–", "required": "–", "margin": "–", "safe": False}
            continue
        yield row | {
            "interval": _span(margins.down[place], margins.up[place]),
            "required": _span(margins.required_down[place], margins.required_up[place]),
            "margin": _share(100 * margins.margin[place]),
            "safe": bool(margins.safe[place]),
        }


def _unsafe(report: Report) -> Iterator[tuple[str, list[str]]]:
    """The first unsafe cells, and how each could be worked out where that was found."""
    if report.audit is None or not len(report.audit.unsafe_cells):
        return
    told = report.audit.explanations
    for cell in report.audit.unsafe_cells[:MAX_UNSAFE].tolist():
        yield report.problem.table.cell_name(cell), list(told.get(cell, ()))


def _span(down: float, up: float) -> str:
    """An interval around the value in percent of it: “−10 % … +25 %”."""
    return "–" if isnan(down) or isnan(up) else f"−{_share(down)} … +{_share(up)}"


def _share(percent: float) -> str:
    if not isfinite(percent):
        return "∞"
    return f"{percent:,.1f} %" if abs(percent) < 1000 else f"{percent:,.0f} %"


def _flat(parameters: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Nested parameters as lines: “rules.p_percent”, “10”."""
    for name, value in parameters.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{name}.")
        elif isinstance(value, list | tuple) and not any(isinstance(entry, Mapping) for entry in value):
            yield f"{prefix}{name}", ", ".join(map(str, value))
        elif isinstance(value, list | tuple):
            yield from _flat(
                {str(number): entry for number, entry in enumerate(value, 1)}, f"{prefix}{name}."
            )
        else:
            yield f"{prefix}{name}", str(value)
