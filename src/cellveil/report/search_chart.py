"""Cost of the suppression pattern and its lower bound over the time of the search, as an SVG drawing.

Costs are drawn in per cent of the dearest one: the cost of a single hidden cell may be its value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cellveil.publishing.page_templates import environment
from cellveil.report.run_facts import SearchPoint

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, KEY = 560.0, 240.0, 66.0, 54.0, 12.0, 14.0


def search_svg(points: Sequence[SearchPoint], lasted: float) -> str:
    """The drawing, for a search that lasts so many seconds so far; empty where there is nothing to draw.

    Examples
    --------
    >>> search_svg([], 1.0)
    ''
    >>> search_svg([SearchPoint(0.0, 80.0, None), SearchPoint(5.0, 40.0, 20.0)], 10.0).startswith("<svg")
    True
    """
    curve = search_curve(points, lasted)
    return (
        "" if curve is None else environment("cellveil.report").get_template("search.svg").render(curve=curve)
    )


def search_curve(points: Sequence[SearchPoint], lasted: float) -> dict[str, Any] | None:
    """What the template needs: two step lines and the labels of the axes.

    The bound is drawn where the last point has one: it holds for the pattern of that point.
    """
    if not points or not points[-1].cost:
        return None
    end = max(lasted, points[-1].seconds, 0.1)
    most = max(point.cost for point in points)

    def at(after: float, amount: float) -> tuple[float, float]:
        across = LEFT + (WIDTH - LEFT) * min(after / end, 1.0)
        return round(across, 1), round(TOP + (HEIGHT - TOP - BOTTOM) * (1 - amount / most), 1)

    cost = [(point.seconds, point.cost) for point in points]
    bounds = [(point.seconds, point.bound) for point in points if point.bound is not None]
    bound = bounds if points[-1].bound is not None else []
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "left": LEFT,
        "base": HEIGHT - BOTTOM,
        "top": TOP,
        "key": HEIGHT - KEY,
        "cost": _steps([at(*point) for point in cost], at(end, points[-1].cost)),
        "bound": _steps([at(*point) for point in bound], at(end, bound[-1][1])) if bound else "",
        "end": f"{end:.3g} s",
    }


def _steps(places: Sequence[tuple[float, float]], last: tuple[float, float]) -> str:
    """A line that stays level until the next point."""
    line = [places[0]]
    for across, upwards in [*places[1:], last]:
        line += [(across, line[-1][1]), (across, upwards)]
    return " ".join(f"{across},{upwards}" for across, upwards in line)
