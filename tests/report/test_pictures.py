"""Pictures of the report against the numbers that stand beside them."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from cellveil.judge.outsider import OutsiderReport
from cellveil.report.attack_chart import interval_rows
from cellveil.report.comparison_page import comparison_chart
from cellveil.report.figures import Margins
from cellveil.report.loss_charts import level_bars
from cellveil.report.method_comparison import ComparedRun, Comparison
from cellveil.report.page_figures import histogram_of, share_bars
from cellveil.report.run_facts import RunFacts, SearchPoint
from cellveil.report.search_chart import BOTTOM, HEIGHT, LEFT, WIDTH
from helpers.reports import HIDDEN, planted, report_on

BASE = HEIGHT - BOTTOM


def lines_of(svg: str) -> dict[str, list[tuple[float, float]]]:
    """The polylines of a drawing by their classes."""
    found = {}
    for line in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}polyline"):
        pairs = [pair.split(",") for pair in line.attrib["points"].split()]
        found[line.attrib["class"]] = [(float(x), float(y)) for x, y in pairs]
    return found


def drawn_search(points, cost, bound, seconds):
    """The drawing of the search in a report that ends with this cost and bound."""
    report = report_on(*planted(), facts=RunFacts(search=points))
    object.__setattr__(report.suppression, "cost", cost)
    object.__setattr__(report.suppression, "lower_bound", bound)
    object.__setattr__(report.suppression, "seconds", seconds)
    return report.parts().files().get("search.svg", "")


@pytest.mark.parametrize(
    ("points", "cost", "bound"),
    [
        ([(1.0, 90.0, 10.0), (2.0, 70.0, 10.0)], 70.0, 70.0),  # proven optimal at the very end
        ([(1.0, 90.0, 80.0), (2.0, 80.0, 80.0)], 100.0, 28.0),  # protection against others costs more
        ([(1.0, 90.0, None)], 60.0, 30.0),
        ([(1.0, 90.0, None)], 60.0, None),
        ([(1.0, 90.0, 20.0)], 60.0, None),
    ],
)
def test_the_search_ends_at_the_cost_and_bound_of_the_report(points, cost, bound):
    told = tuple(SearchPoint(*point) for point in points)
    svg = drawn_search(told, cost, bound, {"suppress": 6.0, "suppress: cubes": 5.0, "audit": 2.0})
    lines = lines_of(svg)
    assert lines["cost"][-1][0] == WIDTH and ">8 s<" in svg
    most = max([cost, *(point.cost for point in told)])
    assert (BASE - lines["cost"][-1][1]) / (BASE - 12.0) == pytest.approx(cost / most, abs=1e-3)
    assert ("bound" in lines) == (bound is not None)
    if bound is not None:
        share = (BASE - lines["bound"][-1][1]) / (BASE - lines["cost"][-1][1])
        assert 1 - share == pytest.approx(1 - bound / cost, abs=2e-3)  # the gap
    assert lines["cost"][0][0] == pytest.approx(LEFT + (WIDTH - LEFT) / 8, abs=0.1)


def test_a_search_that_ends_where_it_began_is_not_drawn():
    assert drawn_search((SearchPoint(1.0, 60.0, 30.0),), 60.0, 30.0, {"suppress": 2.0}) == ""
    assert drawn_search((), 60.0, 30.0, {"suppress": 2.0}) == ""


def margins(*, value=100, reach, need, width=0):
    """The margins of one cell whose attacker reaches so far down and up."""
    problem, _ = planted()
    cell = int(problem.primaries[0])
    values = problem.table.values.copy()
    values[cell] = value
    object.__setattr__(problem.table, "values", values)
    audit = OutsiderReport.__new__(OutsiderReport)
    one = {
        "cells": [cell],
        "lower": [value - reach[0]],
        "upper": [value + reach[1]],
        "required_lower": [value - need[0]],
        "required_upper": [value + need[1]],
        "required_width": [width],
    }
    for name, numbers in one.items():
        object.__setattr__(audit, name, np.array(numbers, dtype=int if name == "cells" else float))
    enough = reach[0] >= need[0] and reach[1] >= need[1] and sum(reach) >= width
    object.__setattr__(audit, "safe", np.array([enough]))
    return problem.table, Margins.of(problem, audit)


@pytest.mark.parametrize("value", [100, 0])
@pytest.mark.parametrize(
    ("reach", "need", "width", "left", "right", "margin"),
    [
        ((10, 10), (10, 10), 0, 100 / 3, 100 / 3, "100 %"),
        ((0, 0), (10, 10), 0, 0.5, 0.5, "0 %"),
        ((20, 5), (10, 10), 0, 200 / 3, 50 / 3, "50 %"),
        ((90, 90), (10, 10), 0, 100, 100, "900 %"),
        ((0, 0), (10, 0), 0, 0.5, 0.5, "0 %"),
        ((5, 10), (10, 0), 0, 50 / 3, 100 / 3, "50 %"),
        ((0, 0), (0, 0), 20, 0.5, 0.5, "0 %"),
        ((10, 10), (0, 0), 20, 100 / 3, 100 / 3, "100 %"),
        ((2, 3), (0, 0), 20, 20 / 3, 10, "25 %"),
    ],
)
def test_a_bar_is_as_long_as_the_interval(value, reach, need, width, left, right, margin):
    [row] = interval_rows(*margins(value=value, reach=reach, need=need, width=width))
    assert row["margin"] == margin
    assert row["width"] == pytest.approx(left + right, abs=0.11)
    if sum(reach):
        assert row["x"] == pytest.approx(100 - left, abs=0.11)


def test_bars_of_the_histogram_are_as_long_as_their_counts():
    report = report_on(*planted(list(HIDDEN)))
    bins = histogram_of(report)
    counts = [int(one["count"].replace(",", "")) for one in bins]
    assert sum(counts) == len(report.margins.cells)
    assert [one["share"] for one in bins] == [round(100 * count / max(counts), 1) for count in counts]
    assert bins[0]["is_short"] and bins[0]["share"] == 0


def test_bars_of_shares_end_where_their_numbers_say():
    report = report_on(*planted())
    lines = {line.name: line for line in report.classes}
    for bar in share_bars(report):
        places = [part["x"] for part in bar["parts"]]
        ends = [part["x"] + part["width"] for part in bar["parts"]]
        assert places[0] == 0 and ends[:-1] == pytest.approx(places[1:], abs=0.01)
        assert ends[-1] == pytest.approx(100, abs=0.01)
        for part in bar["parts"]:
            shown = getattr(lines[part["name"]], f"percent_{bar['name']}")
            assert part["width"] == pytest.approx(shown, abs=1e-3) and f"{shown:.1f} %" in part["tip"]


def test_bars_of_levels_are_as_long_as_the_share_beside_them():
    for one in level_bars(*planted(), values=False):
        for row in one["rows"]:
            assert row["primary"] + row["secondary"] == pytest.approx(float(row["hidden"][:-2]), abs=0.06)


def test_bars_of_methods_are_as_long_as_their_numbers():
    runs = [
        ComparedRun("auto", "value", True, "safe", 4, 25.0, 12.5, {"value": 40.0}, 0.0, 1.5),
        ComparedRun("hypercube", "value", False, "NOT SAFE", 8, 50.0, 0.0, {"value": 0.0}, None, 3.0),
    ]
    svg = comparison_chart(Comparison("t", ("value",), tuple(runs)))
    widths = [float(width) for width in re.findall(r'<rect [^>]*width="([\d.]+)"', svg)]
    room = max(widths)
    shares = [0.5, 1, 1, 0, 1, 0, 0.5, 1]
    assert widths == pytest.approx([room * share for share in shares], abs=0.1)
