"""The attackers' intervals against what is required, drawn for the cells with the least margin."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from cellveil.report.figures import Margins
from cellveil.tables.table import Table

MOST_ROWS = 20
"""Cells that are drawn."""

FURTHEST = 3.0
"""The axis ends at so many times the requirement."""

HALF = 100.0
"""Units of the drawing on each side of the value."""


def interval_rows(table: Table, margins: Margins | None) -> list[dict[str, Any]]:
    """A row for each of the first cells: name, bar, and whether it ends beyond the axis on either side."""
    return [] if margins is None else list(_rows(table, margins))


def _rows(table: Table, margins: Margins) -> Iterator[dict[str, Any]]:
    for place, cell in enumerate(margins.cells[:MOST_ROWS].tolist()):
        down, up = float(margins.times_down[place]), float(margins.times_up[place])
        left, right = HALF - _at(down), HALF + _at(up)
        margin = float(margins.margin[place])
        yield {
            "cell": cell,
            "name": table.cell_name(cell),
            "x": round(left, 1),
            "width": round(max(right - left, 1.0), 1),
            "cut_left": down > FURTHEST,
            "cut_right": up > FURTHEST,
            "is_safe": bool(margins.safe[place]),
            "margin": "∞" if math.isinf(margin) else f"{100 * margin:,.0f} %",
        }


def _at(times: float) -> float:
    return HALF * min(times, FURTHEST) / FURTHEST
