"""How a run ends on the terminal: verdict in colour, officials' table, rules, time, and what would help."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from cellveil.cli.streams import fitted, painted, width_of_output
from cellveil.errors import counted

if TYPE_CHECKING:
    from cellveil.report import Report

WORTH_NAMING = 0.2
"""Least share of the loss for a second dimension to be named."""

SAFE, RELAXED, NOT_SAFE = "green", "yellow", "red"


def told(report: Report) -> list[str]:
    """The report as lines of the terminal."""
    from cellveil.report.summary_text import summary_text

    width = width_of_output()
    colour = NOT_SAFE if not report.is_safe else RELAXED if report.suppression.relaxation else SAFE
    lines: list[str] = []
    for line in summary_text(report, width).split("\n"):
        parts = fitted(line, width)
        lines += [painted(part, colour) for part in parts] if line == report.verdict else parts
    return lines


def told_costly(report: Report, command: str) -> list[str]:
    """Where much is hidden: which dimension and codes cost most, and which command measures what helps.

    Parameters
    ----------
    command
        What to type for measured proposals; empty where there is nothing to type.
    """
    from cellveil.report.costly_codes import MUCH, costly_dimensions

    published = next(line for line in report.classes if line.name == "published")
    hidden, value = 100 - published.percent_cells, published.percent_value
    if report.instead is not None or not (hidden > MUCH or (value is not None and 100 - value > MUCH)):
        return []
    share = "" if value is None else f" and {100 - value:.0f} % of the value"
    lines = ["", f"Much is hidden: {hidden:.0f} % of the cells{share}."]
    shows_cost = report.cost_texts[0] != "–"
    dearest = costly_dimensions(report.problem, report.suppression.pattern)
    for place, dimension in enumerate(dearest[:2]):
        if place and dimension.share < WORTH_NAMING:
            break
        codes = [
            f"{code.code} ({code.hidden:,} of {counted(code.cells, 'cell')}"
            + (f", {_about(code.share)} of the loss)" if shows_cost else ")")
            for code in dimension.codes
        ]
        what = "Most is lost in" if place == 0 else "Then in"
        lines.append(f"{what} {dimension.name}: {', '.join(codes)}.")
    if command:
        lines.append(f"What recoding or other weights would give is measured by: {command}")
    return [part for line in lines for part in fitted(line, width_of_output())]


def _about(share: float) -> str:
    """In steps of ten per cent, which leaves the value of a single cell open."""
    tens = round(10 * share)
    return f"about {10 * tens} %" if tens else "below 5 %"


def listed(pairs: Iterable[tuple[str, object]]) -> list[str]:
    """Lines of a name and what it stands for, one below the other."""
    return [f"{name:11} {what}" for name, what in pairs]


def duration(seconds: float) -> str:
    """A time for people.

    Examples
    --------
    >>> duration(0.34), duration(34.2), duration(150)
    ('0.3 s', '34 s', '2 min 30 s')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def shown_path(path: Path) -> Path:
    """Relative to the working folder where that is shorter."""
    try:
        return path.resolve().relative_to(Path.cwd())
    except ValueError:
        return path


def with_files(folder: Path, names: Iterable[str]) -> str:
    """A folder, and some of its files where there is room: the page first, and how many there are besides."""
    files = sorted(names, key=lambda name: (name != "index.html", name))
    more = f" and {len(files) - 3} more" if len(files) > 3 else ""
    whole, width = f"{folder} ({', '.join(files[:3])}{more})", width_of_output()
    return whole if width is None or len(whole) + 12 <= width else str(folder)
