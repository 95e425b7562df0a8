"""Plain charts as SVG: curves, labelled points and shares, readable in print and on a screen."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

COLOURS = ("#0b5fa5", "#c4501b", "#2f7d32", "#7b3fa0", "#8a6d00", "#b0305c")
DASHES = ("", "7 3", "2 3", "9 3 2 3", "5 5", "1 4")
WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 84, 170, 40, 52
BAR, BAR_NAMES = 22, 190
LETTER, LINE = 7.5, 13
STEPS = [sign * LINE * number for number in range(1000) for sign in (-1, 1)]
"""Where a name may stand beside its dot: at its height, else as near as there is room."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Axis:
    """Numbers along a side of a chart: from the first tick to the last, evenly or by their logarithms."""

    ticks: Sequence[float]
    is_log: bool = False

    @classmethod
    def around(cls, values: Sequence[float], *, is_log: bool = False) -> Axis:
        """An axis of round numbers that holds all values; powers of ten where it is logarithmic.

        Examples
        --------
        >>> Axis.around([0.02, 30], is_log=True).ticks
        [0.01, 0.1, 1.0, 10.0, 100.0]
        """
        low, high = (min(values), max(values)) if values else (1.0, 1.0)
        if is_log:
            first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
            return cls([10.0**power for power in range(first, max(last, first + 1) + 1)], True)
        return cls(_round_numbers(low, high) if high > low else _round_numbers(low - 0.5, high + 0.5))

    def share(self, value: float) -> float:
        """Where a value stands, from 0 at the first tick to 1 at the last."""
        first, last, place = (
            math.log10(number) if self.is_log else number for number in (self.ticks[0], self.ticks[-1], value)
        )
        return (place - first) / (last - first)


def line_chart(curves: Mapping[str, Sequence[Point]], *, title: str, x: str, y: str) -> str:
    """One line for each curve, with axes from nice number to nice number and a legend.

    Examples
    --------
    >>> text = line_chart({"a": [(0, 1), (10, 3)]}, title="t", x="calls", y="cost")
    >>> text.startswith("<svg") and text.count("<polyline")
    1
    """
    points = [point for curve in curves.values() for point in curve] or [(0.0, 0.0)]
    across, upwards = (Axis.around([point[side] for point in points]) for side in (0, 1))
    parts = list(_frame(across, upwards, title=title, x=x, y=y))
    for number, (name, curve) in enumerate(curves.items()):
        style = f'fill="none" stroke="{_colour(number)}" stroke-width="2" stroke-dasharray="{_dash(number)}"'
        line = " ".join(f"{left:.1f},{top:.1f}" for left, top in (_at(across, upwards, p) for p in curve))
        parts.append(f'<polyline points="{line}" {style}/>')
        height_of = TOP + 10 + 20 * number
        start = WIDTH - RIGHT + 12
        parts.append(f'<line x1="{start}" x2="{start + 28}" y1="{height_of}" y2="{height_of}" {style}/>')
        parts.append(f'<text x="{start + 34}" y="{height_of + 4}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>\n"])


def point_chart(
    points: Mapping[str, Point], *, title: str, x: str, y: str, log: tuple[bool, bool] = (False, False)
) -> str:
    """A dot for each name, which stands beside it; axes may be logarithmic.

    Examples
    --------
    >>> text = point_chart({"a": (0.1, 1), "b": (20, 3)}, title="t", x="s", y="cost", log=(True, False))
    >>> text.count("<circle"), ">0.1<" in text
    (2, True)
    """
    across, upwards = (
        Axis.around([point[side] for point in points.values()], is_log=log[side]) for side in (0, 1)
    )
    parts = list(_frame(across, upwards, title=title, x=x, y=y))
    taken: list[tuple[float, float, float]] = []
    for number, (name, point) in enumerate(points.items()):
        left, top = _at(across, upwards, point)
        start, end = left + 9, left + 9 + LETTER * len(name)
        foot = next(top + 4 + step for step in STEPS if _is_free(taken, start, end, top + 4 + step))
        taken.append((start, end, foot))
        parts.append(f'<circle cx="{left:.1f}" cy="{top:.1f}" r="5" fill="{_colour(number)}"/>')
        parts.append(f'<text x="{start:.1f}" y="{foot:.1f}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>\n"])


def share_chart(rows: Mapping[str, Mapping[str, float]], colours: Mapping[str, str], *, title: str) -> str:
    """A bar for each name, parted by kind; `colours` has the kinds in their order.

    Examples
    --------
    >>> text = share_chart({"a": {"yes": 3, "no": 1}}, {"yes": "#0b5fa5", "no": "#b0305c"}, title="t")
    >>> text.count('height="16"')
    2
    """
    room = WIDTH - BAR_NAMES - 20
    parts, top = [], TOP + 26
    for number, (kind, colour) in enumerate(colours.items()):
        beside = BAR_NAMES + 150 * number
        parts.append(f'<rect x="{beside}" y="{TOP - 4}" width="14" height="14" fill="{colour}"/>')
        parts.append(f'<text x="{beside + 20}" y="{TOP + 8}">{escape(kind)}</text>')
    for name, counts in rows.items():
        parts.append(f'<text x="{BAR_NAMES - 8}" y="{top + 13}" text-anchor="end">{escape(name)}</text>')
        left, whole = float(BAR_NAMES), sum(counts.values()) or 1.0
        for kind, colour in colours.items():
            if length := room * counts.get(kind, 0) / whole:
                size = f'x="{left:.1f}" y="{top}" width="{length:.1f}" height="16"'
                parts.append(f'<rect {size} fill="{colour}"/>')
                left += length
        top += BAR
    return "\n".join([*_head(title, BAR_NAMES, top + 8), *parts, "</svg>\n"])


def _head(title: str, left: int, height: int) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(title)}" font-family="sans-serif" font-size="13">'
    )
    yield f'<rect width="{WIDTH}" height="{height}" fill="white"/>'
    yield f'<text x="{left}" y="22" font-size="15">{escape(title)}</text>'


def _frame(across: Axis, upwards: Axis, *, title: str, x: str, y: str) -> Iterator[str]:
    """Title, names of the axes, ticks and lines across."""
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    yield from _head(title, LEFT, HEIGHT)
    yield f'<text x="{LEFT + width / 2:.0f}" y="{HEIGHT - 10}" text-anchor="middle">{escape(x)}</text>'
    middle = f"translate(16 {TOP + height / 2:.0f})"
    yield f'<text transform="{middle} rotate(-90)" text-anchor="middle">{escape(y)}</text>'
    for tick in across.ticks:
        left, _ = _at(across, upwards, (tick, upwards.ticks[0]))
        yield f'<text x="{left:.1f}" y="{TOP + height + 18}" text-anchor="middle">{tick:,g}</text>'
    for tick in upwards.ticks:
        _, top = _at(across, upwards, (across.ticks[0], tick))
        yield f'<line x1="{LEFT}" x2="{LEFT + width}" y1="{top:.1f}" y2="{top:.1f}" stroke="#ddd"/>'
        yield f'<text x="{LEFT - 6}" y="{top + 4:.1f}" text-anchor="end">{_short(tick)}</text>'


def _at(across: Axis, upwards: Axis, point: Point) -> Point:
    """The place of a point in the picture."""
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    return LEFT + width * across.share(point[0]), TOP + height * (1 - upwards.share(point[1]))


def _is_free(taken: Sequence[tuple[float, float, float]], start: float, end: float, foot: float) -> bool:
    """Whether no text stands where one from `start` to `end` would."""
    return all(start >= last or end <= first or abs(foot - other) >= LINE for first, last, other in taken)


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _dash(number: int) -> str:
    """Another one when colours come round again, so that no two curves look alike."""
    return DASHES[(number + number // len(COLOURS)) % len(DASHES)]


def _round_numbers(low: float, high: float, wanted: int = 5) -> list[float]:
    """Round numbers around an interval."""
    rough = (high - low) / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [step * number for number in range(first, last + 1)]


def _short(value: float) -> str:
    return f"{value / 1e6:,g} M" if abs(value) >= 1e6 else f"{value:,g}"
