"""The cells of the report's page as compact data: the page draws tables and explanations from them.

Columns are lists by cell number, relations are cut down to their hidden cells, and no text is prepared for a
cell but the arithmetic of the rules. Values of hidden cells are only in it where the office wants them in.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellveil.arrays import Float, Int
from cellveil.certificate.certificate import Certificate
from cellveil.explaining.cell_facts import fired_rules
from cellveil.explaining.witness_support import WitnessSupport
from cellveil.judge.outsider import OutsiderReport
from cellveil.params import Params, param
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.publishing.publication import Labels, Lines, TablePart
from cellveil.report.figures import GIVEN, Margins
from cellveil.report.lost_shares import changes, has_levels, lost_shares
from cellveil.rules.base import Rule
from cellveil.tables.table import Table

EXACT = 2**53
"""Up to this number a page reads whole numbers exactly; larger ones go as text."""


@dataclass(frozen=True, kw_only=True)
class PageParams(Params):
    """Sizes of what a page carries."""

    most_worked_out: int = param(5000, "Primaries with the arithmetic of their rules.", least=0)
    most_helped: int = param(6, "Primaries named for a cell that helps to protect them.", least=0)


@dataclass(frozen=True, repr=False, eq=False)
class PageSource:
    """What the data of a page are made from.

    Parameters
    ----------
    published
        The value of each cell as it is published; of no meaning where it is hidden.
    is_adjusted
        Whether an adjusted table is published, so that nothing is hidden.
    outsider, certificate
        The audit and its proof, where there are any.
    values
        Whether the values of hidden cells are in it.
    """

    problem: Problem
    pattern: Pattern
    published: Int
    is_adjusted: bool = False
    labels: Labels | None = None
    tables: tuple[TablePart, ...] = ()
    outsider: OutsiderReport | None = None
    certificate: Certificate | None = None
    rule: Rule | None = None
    values: bool = False


def page_cells(source: PageSource, params: PageParams | None = None) -> dict[str, Any]:
    """Everything that the scripts of the page read."""
    params, problem = params or PageParams(), source.problem
    table = problem.table
    is_open = np.ones(table.num_cells, dtype=bool) if source.is_adjusted else ~source.pattern.hidden
    data: dict[str, Any] = {
        "adjusted": source.is_adjusted,
        "decimals": table.decimals,
        "variable": table.variable,
        "tables": list(_tables(source)),
        "status": "".join(_letters(source)),
        "published": _numbers(np.where(is_open, source.published, 0)),
        "contributors": None if table.contributors is None else table.contributors.tolist(),
        "rules": [*problem.reasons, GIVEN],
        "primaries": _primaries(source, params),
        "equations": _equations(table, source.pattern) if not source.is_adjusted else [],
        "helps": _helps(source, params),
    }
    if source.values:
        asked = np.ones(table.num_cells, dtype=bool) if source.is_adjusted else ~is_open
        data["truth"] = _numbers(table.values[asked])
    return data


def as_json(data: Mapping[str, Any]) -> str:
    """The data as text that may stand in a script element: nothing in it closes the element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _tables(source: PageSource) -> Iterator[dict[str, Any]]:
    """Each table with the lines of its dimensions; `cells` are its numbers in the joint table."""
    whole = TablePart("", source.problem.table, np.arange(source.problem.table.num_cells))
    for part in source.tables or (whole,):
        table, labels = part.table, source.labels or {}
        about = f"{table.variable} by {', '.join(dimension.name for dimension in table.dimensions)}"
        lines = [Lines.of(dimension, labels.get(dimension.name, {})) for dimension in table.dimensions]
        yield {
            "name": part.name or about,
            "about": about,
            "dimensions": [
                {"name": dimension.name} | _lines(one)
                for dimension, one in zip(table.dimensions, lines, strict=True)
            ],
            "keys": [column.tolist() for column in table.keys],
            "cells": part.cells.tolist() if source.tables else None,
            "lost": _lost(source, part) if has_levels(table) else None,
        }


def _lost(source: PageSource, part: TablePart) -> dict[str, Any]:
    """What is lost below each cell, in per cent: of the finest cells, and of value where values are in it."""
    truth, published = source.problem.table.values[part.cells], source.published[part.cells]
    if source.is_adjusted:
        found = {"cells": lost_shares(part.table, published != truth, np.ones_like(truth))}
        return found | ({"value": changes(published, truth)} if source.values else {})
    hidden = source.pattern.hidden[part.cells]
    found = {"cells": lost_shares(part.table, hidden, np.ones_like(truth))}
    return found | ({"value": lost_shares(part.table, hidden, np.abs(truth))} if source.values else {})


def _lines(lines: Lines) -> dict[str, Any]:
    return {
        "codes": list(lines.names),
        "labels": list(lines.labels) if any(lines.labels) else None,
        "depth": lines.depth.tolist(),
        "total": lines.is_total.astype(int).tolist(),
        "number": lines.code.tolist(),
    }


def _letters(source: PageSource) -> Iterable[str]:
    """One letter for each cell: primary u, secondary m, must be published z, changed c, else s."""
    problem, pattern = source.problem, source.pattern
    letters = np.where(problem.status == Status.FROZEN, "z", "s")
    if source.is_adjusted:
        letters = np.where(source.published != problem.table.values, "c", letters)
    else:
        letters = np.where(pattern.hidden, "m", letters)
    letters = np.where(problem.status == Status.PRIMARY, "u", letters)
    return [str(letter) for letter in letters.tolist()]


def _numbers(column: Int) -> list[int | str]:
    return [value if abs(value) < EXACT else str(value) for value in column.tolist()]


def _primaries(source: PageSource, params: PageParams) -> dict[str, Any]:
    """Columns by primary cell, least margin first; −1 stands for what is not bounded, null for nothing."""
    problem, report = source.problem, source.outsider
    margins = None if report is None else Margins.of(problem, report)
    cells = problem.primaries if margins is None else margins.cells
    found: dict[str, Any] = {"cells": cells.tolist(), "rules": _rules(problem, cells)}
    if margins is not None and report is not None:
        found |= {
            "down": _shares(margins.down),
            "up": _shares(margins.up),
            "needDown": _shares(margins.required_down),
            "needUp": _shares(margins.required_up),
            "margin": _shares(100 * margins.margin),
            "safe": margins.safe.astype(int).tolist(),
        }
        if source.values:
            found |= _ends(report, cells)
    if source.values:
        told = [_worked_out(source, cell) for cell in cells[: params.most_worked_out].tolist()]
        found["arithmetic"] = told if any(told) else None
    return found


def _worked_out(source: PageSource, cell: int) -> list[str]:
    problem = source.problem
    fired = fired_rules(problem, source.rule, cell, problem.reasons)
    return [rule.arithmetic for rule in fired if rule.arithmetic]


def _rules(problem: Problem, cells: Int) -> list[list[int]]:
    """For each cell the places of its rules in the list."""
    masks = [np.asarray(mask)[cells] for mask in problem.reasons.values()]
    given = len(masks)
    columns = np.array(masks).T.tolist() if masks else [[]] * len(cells)
    return [[place for place, fired in enumerate(row) if fired] or [given] for row in columns]


def _ends(report: OutsiderReport, cells: Int) -> dict[str, Any]:
    """The intervals and what they must reach, in units of the last digit."""
    place = {cell: number for number, cell in enumerate(report.cells.tolist())}
    order = [place[cell] for cell in cells.tolist()]
    return {
        "lower": [_end(number) for number in report.lower[order].tolist()],
        "upper": [_end(number) for number in report.upper[order].tolist()],
        "needLower": _numbers(report.required_lower[order]),
        "needUpper": _numbers(report.required_upper[order]),
        "exact": report.is_exact,
    }


def _end(number: float) -> int | str | None:
    return _numbers(np.array([round(number)]))[0] if math.isfinite(number) else None


def _shares(column: Float) -> list[float | None]:
    """Per cent to a tenth; −1 where not bounded, null where there is no share."""
    return [None if math.isnan(x) else -1 if math.isinf(x) else round(x, 1) for x in column.tolist()]


def _equations(table: Table, pattern: Pattern) -> list[list[int]]:
    """Relations that hold hidden cells: their total (−1 where it is none), and the hidden cells."""
    relations = table.relations
    owner = np.repeat(np.arange(len(relations)), np.diff(relations.indptr))
    is_hidden = pattern.hidden[relations.cells]
    totals = np.full(len(relations), -1, dtype=np.int64)
    negative = relations.coefs < 0
    single = np.bincount(owner[negative], minlength=len(relations)) == 1
    totals[owner[negative]] = relations.cells[negative]
    totals[~single] = -1
    rows = np.flatnonzero(np.bincount(owner[is_hidden], minlength=len(relations)) > 1)
    cells, starts = relations.cells.tolist(), relations.indptr.tolist()
    hidden = is_hidden.tolist()
    return [
        [int(totals[row]), *(cells[e] for e in range(starts[row], starts[row + 1]) if hidden[e])]
        for row in rows.tolist()
    ]


def _helps(source: PageSource, params: PageParams) -> dict[str, Sequence[Any]]:
    """Secondary cells, how many primaries each helps to protect, and the first of them."""
    if source.certificate is None or source.is_adjusted:
        return {"cells": [], "count": [], "primaries": []}
    support = WitnessSupport.of(source.problem, source.certificate)
    cells = np.flatnonzero(source.pattern.hidden & (np.diff(support.starts) > 0)).tolist()
    return {
        "cells": cells,
        "count": np.diff(support.starts)[cells].tolist(),
        "primaries": [support.of_cell(cell)[: params.most_helped].tolist() for cell in cells],
    }
