"""Where information is lost: the share of hidden cells by level of each dimension, and as a heat map."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.publishing.publication import Labels, Lines, TablePart
from cellveil.report.figures import tells_a_cell
from cellveil.tables.dimension import Dimension
from cellveil.tables.table import Table

MOST_LINES = 24
"""Rows and columns of a heat map."""

SHADES = 8
"""Steps of colour from nothing hidden to everything hidden."""


def level_bars(problem: Problem, pattern: Pattern, *, values: bool) -> list[dict[str, Any]]:
    """For each dimension and depth: how many cells, and the shares of them that are hidden."""
    primary = pattern.hidden & (problem.status == Status.PRIMARY)
    size = np.abs(problem.table.values)
    found = []
    for dimension, column in zip(problem.table.dimensions, problem.table.keys, strict=True):
        depth = _depths(dimension)[column]
        if dimension.hierarchies and depth.max(initial=0) > 0:
            rows = [
                _level(int(level), depth == level, primary, pattern.hidden, size if values else None)
                for level in np.unique(depth)
            ]
            found.append({"name": dimension.name, "rows": rows})
    return found


def _depths(dimension: Dimension) -> Int:
    """The depth at which each code is printed."""
    lines = Lines.of(dimension, {})
    depth = np.zeros(len(dimension), dtype=np.int64)
    depth[lines.code[::-1]] = lines.depth[::-1]
    return depth


def _level(level: int, here: Bool, primary: Bool, hidden: Bool, size: Int | None) -> dict[str, Any]:
    cells = int(here.sum())
    first = 100 * float((here & primary).sum()) / cells
    all_hidden = 100 * float((here & hidden).sum()) / cells
    row = {
        "name": "total" if level == 0 else f"level {level}",
        "cells": f"{cells:,}",
        "primary": round(first, 2),
        "secondary": round(all_hidden - first, 2),
        "hidden": f"{all_hidden:.1f} %",
        "value": "",
    }
    if size is not None:
        whole, lost = sum(size[here].tolist()), size[here & hidden]
        is_told = bool(whole) and not tells_a_cell(lost)  # the page shows it before anybody asks for values
        row["value"] = f"{100 * sum(lost.tolist()) / whole:.1f} %" if is_told else "–"
    return row


def heat_maps(
    problem: Problem, pattern: Pattern, tables: Sequence[TablePart], labels: Labels
) -> list[dict[str, Any]]:
    """For each table with two dimensions: shares of hidden finest cells, by upper lines of the first two."""
    whole = TablePart("", problem.table, np.arange(problem.table.num_cells))
    found = (_heat_map(part, pattern.hidden[part.cells], labels) for part in tables or (whole,))
    return [one for one in found if one is not None]


def _heat_map(part: TablePart, hidden: Bool, labels: Labels) -> dict[str, Any] | None:
    table = part.table
    if len(table.dimensions) < 2 or not all(dimension.hierarchies for dimension in table.dimensions[:2]):
        return None
    axes = sorted((0, 1), key=lambda axis: -len(table.dimensions[axis]))
    groups = [_upper(table, axis) for axis in axes]
    finest = ~np.any([d.is_parent[k] for d, k in zip(table.dimensions, table.keys, strict=True)], axis=0)
    rows = [
        {
            "name": _named(table.dimensions[axes[0]], row, labels),
            "cells": list(_shares(finest & below, groups[1], hidden)),
        }
        for row, below in groups[0]
    ]
    if not rows or not groups[1]:
        return None
    return {
        "heading": part.name,
        "down": table.dimensions[axes[0]].name,
        "across": [_named(table.dimensions[axes[1]], code, labels) for code, _ in groups[1]],
        "across_name": table.dimensions[axes[1]].name,
        "rows": rows,
    }


def _upper(table: Table, axis: int) -> list[tuple[int, Bool]]:
    """The codes right below the total, and for each the cells whose code it covers."""
    dimension, column = table.dimensions[axis], table.keys[axis]
    depth = _depths(dimension)
    leaf, cover = dimension.closure
    found = []
    for code in np.flatnonzero(depth == 1).tolist()[:MOST_LINES]:
        below = np.zeros(len(dimension), dtype=bool)
        below[leaf[cover == code]] = True
        found.append((code, below[column]))
    return found


def _shares(here: Bool, columns: Sequence[tuple[int, Bool]], hidden: Bool) -> Iterator[dict[str, Any]]:
    for _, below in columns:
        cells = int((here & below).sum())
        share = float((here & below & hidden).sum()) / cells if cells else 0.0
        shade = 0 if not share else min(SHADES, 1 + int(share * SHADES))
        yield {
            "text": f"{100 * share:.0f}" if cells else "",
            "shade": shade,
            "tip": f"{100 * share:.1f} % of {cells:,}",
        }


def _named(dimension: Dimension, code: int, labels: Labels) -> dict[str, str]:
    name = dimension.codes[code]
    return {"code": name, "label": labels.get(dimension.name, {}).get(name, "")}
