"""Programs over the records of a job: whether its public CSV files let readers work out a primary cell.

Nothing of the package is used but the list of primary cells and their levels, which the run has written. The
unknowns are sums of the finest cells of all dimensions together, none of them negative; every published
figure of every table is an equation. An outsider knows that; a contributor knows its own records as well.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linprog

LEAVES = {
    "region": ["N1", "N2", "S1", "S2"],
    "branch": ["a", "b", "c"],
    "size": ["0-9", "10-49", "50+"],
}
INNER = {"N": ["N1", "N2"], "S": ["S1", "S2"]}
UNREAD = ("join", "recode", "column", "levels", "digits", "total", "codes", "shadow", "rows", "rounding")
"""Keys that change what codes and values mean: jobs with them are not judged."""

TOLERANCE = 1e-6
CONTRIBUTORS = 12

Key = tuple[str, ...]


@dataclass
class Figures:
    """The unknowns of one variable, and what is known of them: rows of equations."""

    axes: tuple[str, ...]
    cells: list[Key]
    rows: list[np.ndarray]
    sums: list[float]

    def form(self, codes: Mapping[str, str]) -> np.ndarray:
        """The sum of the finest cells below these codes."""
        parts = [leaves_of(axis, codes.get(axis, "Total")) for axis in self.axes]
        return np.array(
            [all(c in part for c, part in zip(cell, parts, strict=True)) for cell in self.cells], float
        )

    def ends(self, form: np.ndarray, known: np.ndarray | None = None) -> tuple[float, float] | None:
        """The least and the largest value of a sum for whoever knows a part of each cell."""
        least = np.zeros(len(self.cells)) if known is None else known
        found = []
        for sign in (1, -1):
            ended = linprog(
                sign * form, A_eq=np.array(self.rows), b_eq=self.sums, bounds=[(low, None) for low in least]
            )
            if ended.status == 3:
                found.append(np.inf)
            elif ended.status != 0:
                return None
            else:
                found.append(float(ended.fun) * sign)
        return (found[0], found[1]) if np.isfinite(found[0]) else None


def leaves_of(axis: str, code: str) -> list[str]:
    """The finest codes below a code."""
    return LEAVES[axis] if code == "Total" else INNER.get(code, [code]) if axis == "region" else [code]


def disclosed(folder: Path, job: Mapping[str, Any], public: Path) -> Iterator[str]:
    """What readers of the public files work out of primary cells, in words; jobs it cannot read aside."""
    about = json.loads((public / "about.json").read_text())
    tables = [table for table in job["tables"] if isinstance(table, dict)]
    axes = {axis for table in tables for axis in table["dimensions"]}
    is_read = axes <= set(LEAVES) and len(tables) <= 2 and "assumes" not in about and "adjusted" not in about
    changed = any(
        key in part
        for part in [*tables, *job.get("dimensions", {}).values()]
        if isinstance(part, dict)
        for key in (
            "join",
            "recode",
            "column",
            "levels",
            "digits",
            "total",
            "codes",
            "shadow",
            "rows",
            "rounding",
        )
    )
    instance = public.parent / "internal" / "instance" / "cells.csv"
    if not is_read or changed or job.get("allow_negative") or not instance.exists():
        return
    with instance.open() as file:
        cells = list(csv.DictReader(file))
    if any("variable" in row for row in cells[:1]):
        return
    if any(code not in [*LEAVES[axis], "Total", *(INNER if axis == "region" else [])] for row in cells
           for axis, code in row.items() if axis in axes):  # fmt: skip
        return
    figures = _figures(sorted(axes), public, about)
    if figures is None:
        return
    own = list(_own_parts(folder, job, figures))
    for row in cells:
        if row["status"] != "u":
            continue
        form, value = figures.form(row), float(row["value"])
        ends = figures.ends(form)
        if ends is None:
            yield f"the program of {_name(row, axes)} has no end"
            continue
        lower, upper, both = (float(row.get(level) or 0) for level in ("lpl", "upl", "spl"))
        slack = TOLERANCE * max(1.0, abs(value))
        if (
            ends[0] > value - lower + slack
            or ends[1] < value + upper - slack
            or ends[1] - ends[0] < both - slack
        ):
            yield f"outsiders narrow {_name(row, axes)} to less than its levels"
        for known in own:
            mine = float(form @ known)
            found = figures.ends(form, known) if 0 < mine < value else None
            if found is not None and found[1] - found[0] < TOLERANCE:
                yield f"a contributor works out {_name(row, axes)} exactly"
                break


def _name(row: Mapping[str, str], axes: set[str]) -> str:
    return "(" + ", ".join(row[axis] for axis in row if axis in axes) + ")"


def _figures(axes: Sequence[str], public: Path, about: Mapping[str, Any]) -> Figures | None:
    """Unknowns and equations of all CSV files."""
    figures = Figures(tuple(axes), list(product(*(LEAVES[axis] for axis in axes))), [], [])
    for file in sorted(public.glob("*.csv")):
        if file.name.endswith(".sdmx.csv"):
            continue
        with file.open() as opened:
            rows = list(csv.DictReader(opened))
        names = [axis for axis in axes if rows and axis in rows[0]]
        shown = {tuple(row[axis] for axis in names) for row in rows}
        for row in rows:
            if row["flag"] == "":
                figures.rows.append(figures.form({axis: row[axis] for axis in names}))
                figures.sums.append(float(row["value"]))
        finest = [_finest(axis, {key[place] for key in shown}) for place, axis in enumerate(names)]
        for key in product(*finest):
            if key not in shown:
                figures.rows.append(figures.form(dict(zip(names, key, strict=True))))
                figures.sums.append(0.0)
    return figures if figures.rows else None


def _finest(axis: str, shown: set[str]) -> list[str]:
    """The codes of a table without a part that is shown."""
    return sorted(code for code in shown if not shown & (_below(axis, code) - {code}))


def _below(axis: str, code: str) -> set[str]:
    inner = set(INNER) if axis == "region" and code == "Total" else set()
    return {*leaves_of(axis, code), *inner}


def _own_parts(folder: Path, job: Mapping[str, Any], figures: Figures) -> Iterator[np.ndarray]:
    """What each of some contributors has in the finest cells, where the job keeps off contributors."""
    micro = job.get("microdata") or {}
    table = job["tables"][0]
    if (
        "attackers" in job
        or micro.get("contributor") != "firm"
        or "weight" in micro
        or micro.get("file") != "firms.csv"
    ):
        return
    with (folder / "firms.csv").open() as file:
        records = list(csv.DictReader(file))
    number = {cell: place for place, cell in enumerate(figures.cells)}
    uses_holdings = any(
        isinstance(rule, dict) and rule.get("level") == "holding" for rule in job.get("rules", [])
    )
    who = micro["holding"] if uses_holdings and "holding" in micro else "firm"
    for one in sorted({record[who] for record in records})[:CONTRIBUTORS]:
        part = np.zeros(len(figures.cells))
        for record in records:
            if record[who] == one:
                cell = number[tuple(record[axis] for axis in figures.axes)]
                part[cell] += float(record[table["response"]]) if "response" in table else 1
        yield part
