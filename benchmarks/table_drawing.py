"""Tables, intervals and boxes as SVG, in the colours of the report.

Colours are variables of the style sheet with those of a light page to fall back on: a drawing that is part of
a page follows it into the dark, one that is shown as a picture is light.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

COLOURS = {
    "ink": "#1b2430",
    "soft": "#5b6878",
    "line": "#d5dce4",
    "paper": "#ffffff",
    "panel": "#f4f6f9",
    "head": "#e9eef4",
    "accent": "#1f5f99",
    "good": "#1d7a46",
    "good-soft": "#e2f3e8",
    "bad": "#b3261e",
    "bad-soft": "#fbe4e1",
    "primary": "#b23a1e",
    "primary-ink": "#fff",
    "secondary": "#f6d98a",
    "secondary-ink": "#4a3600",
    "hidden": "#ebe3cf",
    "hidden-ink": "#5c4a12",
    "required": "#8a94a0",
}
LINE, GAP, CHARACTER = 26, 12, 7.4
"""Height of a line, space between parts, width of a character."""


def colour(name: str) -> str:
    """A colour of the palette, for an attribute."""
    return f"var(--{name}, {COLOURS[name]})"


@dataclass
class Drawing:
    """Shapes on paper; `text` is the whole SVG."""

    title: str
    width: float = 0
    height: float = 0
    shapes: list[str] = field(default_factory=list)

    def box(self, x: float, y: float, width: float, height: float, fill: str, line: str = "") -> None:
        stroke = f' stroke="{colour(line)}"' if line else ""
        self.shapes.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{colour(fill)}"{stroke}/>'
        )
        self._reach(x + width, y + height)

    def words(
        self, x: float, y: float, text: str, fill: str = "ink", *, anchor: str = "start", bold: bool = False
    ) -> None:
        weight = ' font-weight="650"' if bold else ""
        self.shapes.append(
            f'<text x="{x:g}" y="{y:g}" fill="{colour(fill)}" text-anchor="{anchor}"{weight}>'
            f"{escape(text)}</text>"
        )
        share = {"start": 1.0, "middle": 0.5, "end": 0.0}[anchor]
        self._reach(x + share * len(text) * CHARACTER, y + 6)

    def line(self, x1: float, y1: float, x2: float, y2: float, stroke: str, width: float = 1) -> None:
        self.shapes.append(
            f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{colour(stroke)}" '
            f'stroke-width="{width:g}"/>'
        )
        self._reach(max(x1, x2), max(y1, y2))

    def _reach(self, x: float, y: float) -> None:
        self.width, self.height = max(self.width, x), max(self.height, y)

    @property
    def text(self) -> str:
        wide, high = round(self.width + GAP), round(self.height + GAP)
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" '
                f'viewBox="0 0 {wide} {high}" font-family="system-ui, sans-serif" font-size="13">',
                f"<title>{escape(self.title)}</title>",
                f'<rect width="{wide}" height="{high}" fill="{colour("paper")}"/>',
                *self.shapes,
                "</svg>",
                "",
            ]
        )


@dataclass(frozen=True)
class Shown:
    """A cell as it is drawn: its text, and whether it is primary, secondary, hidden, moved or nothing."""

    text: str
    kind: str = ""


FILLS = {
    "primary": ("primary", "primary-ink"),
    "secondary": ("secondary", "secondary-ink"),
    "hidden": ("hidden", "hidden-ink"),
    "known": ("bad-soft", "bad"),
    "moved": ("good-soft", "good"),
    "sum": ("panel", "ink"),
}


def draw_table(
    drawing: Drawing,
    rows: Sequence[str],
    columns: Sequence[str],
    cell: Callable[[int, int], Shown],
    *,
    at: tuple[float, float] = (GAP, GAP),
    caption: str = "",
) -> tuple[float, float]:
    """A table with a caption; returns its right and lower end."""
    left, top = at
    if caption:
        drawing.words(left, top + 13, caption, bold=True)
        top += LINE
    first = max(map(len, rows)) * CHARACTER + 16
    shown = [[cell(row, column) for column in range(len(columns))] for row in range(len(rows))]
    widths = [
        max(1.1 * len(name), *(len(line[number].text) for line in shown)) * CHARACTER + 18
        for number, name in enumerate(columns)
    ]
    drawing.box(left, top, first + sum(widths), LINE, "head")
    x = left + first
    for name, width in zip(columns, widths, strict=True):
        drawing.words(x + width - 8, top + 17, name, anchor="end", bold=True)
        x += width
    for number, (name, line) in enumerate(zip(rows, shown, strict=True), 1):
        y = top + number * LINE
        drawing.words(left + 6, y + 17, name)
        x = left + first
        for one, width in zip(line, widths, strict=True):
            if one.kind:
                drawing.box(x + 1, y + 1, width - 2, LINE - 2, FILLS[one.kind][0])
            drawing.words(
                x + width - 8, y + 17, one.text, FILLS[one.kind][1] if one.kind else "ink", anchor="end"
            )
            x += width
        drawing.line(left, y + LINE, left + first + sum(widths), y + LINE, "line")
    return left + first + sum(widths), top + (len(rows) + 1) * LINE


def legend(drawing: Drawing, entries: Iterable[tuple[str, str]], at: tuple[float, float]) -> None:
    """Little boxes with what their colours mean, in one line."""
    x, y = at
    for kind, text in entries:
        drawing.box(x, y, 14, 14, FILLS[kind][0])
        drawing.words(x + 20, y + 12, text, "soft")
        x += 20 + len(text) * CHARACTER + 14


def lines_of(dimension: Any) -> tuple[list[str], list[str]]:
    """The codes of a dimension, its total last, and how they are named in a table: parts are indented."""
    tree = dimension.hierarchies[0]
    below = {child: parent for parent, child in tree.pairs()}

    def depth(code: str) -> int:
        return 0 if code not in below else 1 + depth(below[code])

    codes = [code for code in tree.codes if code != tree.root]
    return [*codes, tree.root], [
        "–" * (depth(code) - 1) + " " * (depth(code) > 1) + code for code in codes
    ] + [tree.root]
