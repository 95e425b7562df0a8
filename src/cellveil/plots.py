"""Plain line charts as SVG: curves over a common axis, readable in print and on a screen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

COLOURS = ("#0b5fa5", "#c4501b", "#2f7d32", "#7b3fa0", "#8a6d00", "#b0305c")
DASHES = ("", "7 3", "2 3", "9 3 2 3", "5 5", "1 4")
WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 84, 170, 40, 52

Point = tuple[float, float]


def line_chart(curves: Mapping[str, Sequence[Point]], *, title: str, x: str, y: str) -> str:
    """One line for each curve, with axes from nice number to nice number and a legend.

    Examples
    --------
    >>> text = line_chart({"a": [(0, 1), (10, 3)]}, title="t", x="calls", y="cost")
    >>> text.startswith("<svg") and text.count("<polyline")
    1
    """
    points = [point for curve in curves.values() for point in curve] or [(0.0, 0.0)]
    across = _ticks(*_ends([point[0] for point in points]))
    upwards = _ticks(*_ends([point[1] for point in points]))
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def at(point: Point) -> tuple[float, float]:
        return (
            LEFT + width * (point[0] - across[0]) / (across[-1] - across[0]),
            TOP + height * (1 - (point[1] - upwards[0]) / (upwards[-1] - upwards[0])),
        )

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(title)}" font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="22" font-size="15">{escape(title)}</text>',
        f'<text x="{LEFT + width / 2:.0f}" y="{HEIGHT - 10}" text-anchor="middle">{escape(x)}</text>',
        f'<text transform="translate(16 {TOP + height / 2:.0f}) rotate(-90)" text-anchor="middle">'
        f"{escape(y)}</text>",
    ]
    for tick in across:
        left, _ = at((tick, upwards[0]))
        parts.append(f'<text x="{left:.1f}" y="{TOP + height + 18}" text-anchor="middle">{tick:,g}</text>')
    for tick in upwards:
        _, top = at((across[0], tick))
        line = f'x1="{LEFT}" x2="{LEFT + width}" y1="{top:.1f}" y2="{top:.1f}"'
        parts.append(f'<line {line} stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{top + 4:.1f}" text-anchor="end">{_short(tick)}</text>')
    for number, (name, curve) in enumerate(curves.items()):
        colour, dash = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
        style = f'fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"'
        line = " ".join(f"{left:.1f},{top:.1f}" for left, top in map(at, curve))
        parts.append(f'<polyline points="{line}" {style}/>')
        height_of = TOP + 10 + 20 * number
        start = WIDTH - RIGHT + 12
        parts.append(f'<line x1="{start}" x2="{start + 28}" y1="{height_of}" y2="{height_of}" {style}/>')
        parts.append(f'<text x="{start + 34}" y="{height_of + 4}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _ends(values: Sequence[float]) -> Point:
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Round numbers around an interval."""
    rough = (high - low) / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [step * number for number in range(first, last + 1)]


def _short(value: float) -> str:
    return f"{value / 1e6:,g} M" if abs(value) >= 1e6 else f"{value:,g}"
