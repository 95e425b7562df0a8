"""A comparison of patterns as a picture: bars for each measure as SVG, and a page with the table as well."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from cellveil.job.comparing import ComparedRun, Comparison

WIDTH, LINE, NAMES, FIGURES = 720, 22, 190, 110
SAFE, NOT_SAFE = "#0b5fa5", "#c4501b"
STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem;
  color: #1b1b1b; background: #fff; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #ccc; text-align: right; white-space: nowrap; }
th:nth-child(-n+2), td:nth-child(-n+2), td:last-child, th:last-child { text-align: left; }
svg { max-width: 100%; height: auto; }
@media (prefers-color-scheme: dark) {
  body { color: #eee; background: #16181a; } th, td { border-color: #444; } svg { background: #fff; }
}
"""


def comparison_chart(comparison: Comparison) -> str:
    """Bars for hidden cells, hidden values, cost by each weights, and seconds; one picture.

    Examples
    --------
    >>> run = ComparedRun("auto", "value", True, "safe", 4, 25.0, 12.5, {"value": 40.0}, 0.0, 1.5)
    >>> text = comparison_chart(Comparison("t", ("value",), (run,)))
    >>> text.startswith("<svg") and text.count("<rect")
    5
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
    parts, top = [], 34
    for title, values, form in panels:
        parts += [f'<text x="8" y="{top}" font-weight="bold">{escape(title)}</text>']
        parts += _bars(runs, values, form, top + 8)
        top += 8 + LINE * len(runs) + 30
    title = escape(comparison.title or "Methods side by side")
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" width="{WIDTH}" role="img" '
            f'aria-label="{title}" font-family="sans-serif" font-size="13">',
            f'<rect width="{WIDTH}" height="{top}" fill="white"/>',
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
        colour = SAFE if run.safe else NOT_SAFE
        parts.append(
            f'<rect x="{NAMES}" y="{y + 3}" width="{length:.1f}" height="{LINE - 6}" fill="{colour}"/>'
        )
        parts.append(f'<text x="{NAMES + length + 6:.1f}" y="{y + 15}">{shown}</text>')
    return parts


def comparison_page(comparison: Comparison) -> str:
    """One self-contained page: the table, and the bars."""
    title = escape(comparison.title or "Methods side by side")
    head = "".join(f"<th scope=col>{escape(name)}</th>" for name in comparison.head())
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>" for row in comparison.rows()
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{STYLE}</style></head>\n<body><main><h1>{title}</h1>\n"
        "<p>Methods and weights side by side. Costs are comparable within a column: each column measures all "
        "patterns by the same weights, whichever of them a search minimised; * is the least. The gap is that "
        "of the weights that the search minimised; ? means that no bound is proven.</p>\n"
        f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>\n'
        f"{comparison_chart(comparison)}<p>Internal: not for publication.</p></main></body></html>\n"
    )
