"""A comparison of suppression patterns as a picture: bars for each measure, and a page with the table too."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from cellveil.publishing.page_templates import environment
from cellveil.report.components import component_files
from cellveil.report.method_comparison import ComparedRun, Comparison

WIDTH, LINE, NAMES, FIGURES = 720, 22, 190, 110
SAFE, NOT_SAFE = "#1f5f99", "#b3261e"
STYLES = ("base.css", "palette.css", "components.css")


def comparison_chart(comparison: Comparison) -> str:
    """Bars for hidden cells, hidden values, cost by each weights, and seconds; one picture.

    Examples
    --------
    >>> run = ComparedRun("auto", "value", True, "safe", 4, 25.0, 12.5, {"value": 40.0}, 0.0, 1.5)
    >>> text = comparison_chart(Comparison("t", ("value",), (run,)))
    >>> text.startswith("<svg") and text.count("<rect")
    4
    """
    runs = [run for run in comparison.runs if run.safe is not None]
    panels: list[tuple[str, list[float | None], str]] = [
        ("hidden cells", [run.hidden for run in runs], ",.0f"),
        ("hidden value, in per cent", [run.percent_value for run in runs], ".1f"),
    ]
    for kind in comparison.weights:
        costs = [run.costs[kind] for run in runs]
        panels.append((f"cost of secondary cells by the weights {kind}", costs, ",.0f"))
    panels.append(("seconds", [run.seconds for run in runs], ".1f"))
    parts, top = [], 20
    for title, values, form in panels:
        parts += [f'<text x="8" y="{top}" font-weight="bold">{escape(title)}</text>']
        parts += _bars(runs, values, form, top + 8)
        top += 8 + LINE * len(runs) + 30
    title = escape(comparison.title or "Methods side by side")
    return "\n".join(
        [
            f'<svg class="compared" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" '
            f'role="img" aria-label="{title}" font-family="sans-serif" font-size="13">',
            *parts,
            "</svg>\n",
        ]
    )


def _bars(runs: Sequence[ComparedRun], values: Sequence[float | None], form: str, top: int) -> list[str]:
    room = WIDTH - NAMES - FIGURES
    largest = max((value for value in values if value is not None), default=0.0) or 1.0
    parts = []
    for place, (run, value) in enumerate(zip(runs, values, strict=True)):
        y = top + LINE * place
        name = escape(f"{run.method}, {run.weights}" + ("" if run.safe else " (NOT SAFE)"))
        parts.append(f'<text x="{NAMES - 8}" y="{y + 15}" text-anchor="end">{name}</text>')
        length = 0.0 if value is None else room * value / largest
        shown = "–" if value is None else format(value, form)
        kind, colour = ("reach", SAFE) if run.safe else ("reach short", NOT_SAFE)
        size = f'x="{NAMES}" y="{y + 3}" width="{length:.1f}" height="{LINE - 6}"'
        parts.append(f'<rect class="{kind}" {size} fill="{colour}"/>')
        parts.append(f'<text x="{NAMES + length + 6:.1f}" y="{y + 15}">{shown}</text>')
    return parts


def comparison_html(comparison: Comparison) -> str:
    """The table and the bars, as a part of a page."""
    from markupsafe import Markup

    chart = comparison_chart(comparison) if any(run.safe is not None for run in comparison.runs) else ""
    return (
        environment("cellveil.report")
        .get_template("comparison.html")
        .render(compared=comparison, chart=Markup(chart))
    )


def comparison_page(comparison: Comparison) -> str:
    """One self-contained page: the table, and the bars."""
    from markupsafe import Markup

    files = component_files()
    return (
        environment("cellveil.report")
        .get_template("comparison_page.html")
        .render(
            title=comparison.title or "Methods side by side",
            style=Markup("".join(files[name] for name in STYLES)),
            part=Markup(comparison_html(comparison)),
        )
    )
