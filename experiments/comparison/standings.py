"""What the runs of a comparison come to: ratios to the cheapest safe pattern, gaps to the best bound, shares.

Unsafe patterns never win: the cheapest pattern of a table is the cheapest safe one of all runs, the best
bound the largest that any run proved. A run without a safe pattern counts as infinitely dear.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

from cellveil.errors import InputError
from cellveil.files import write_text
from experiments.comparison.runs import RUNS, SETTINGS_FILE, TABLES_FILE, Run, RunFile

SAFE, UNSAFE, NONE = "safe", "not safe", "no pattern"

KEPT = (
    *(
        "table",
        "contestant",
        "version",
        "seed",
        "limit",
        "clock",
        "state",
        "why",
        "safe",
        "audited",
        "second",
    ),
    *("short", "disclosed", "cost", "hidden", "secondaries", "bound", "seconds", "cpu", "wall", "megabytes"),
    "load",
)
"""What is kept of a run, in this order."""

FACTS = ("table", "family", "set", "what", "cells", "relations", "primaries", "digest")
"""What is kept of a table."""

ROUNDING = 1e-9
"""Relative difference up to which a bound and a cost are the same."""


@dataclass(frozen=True)
class Standings:
    """Runs, the tables they are about, and under what conditions they were made."""

    tables: Sequence[Mapping[str, Any]]
    runs: Sequence[Run]
    about: Mapping[str, Any]

    @classmethod
    def of_folder(cls, folder: Path) -> Standings:
        """Those of the tables and the limit that were asked for last; of versions that ran, the last one."""
        if not (folder / SETTINGS_FILE).is_file():
            raise InputError("there is no comparison in the folder", file=folder, remedy="Run one first.")
        about = json.loads((folder / SETTINGS_FILE).read_text("utf-8"))
        tables = json.loads((folder / TABLES_FILE).read_text("utf-8"))
        digests = {(table["table"], table["digest"]) for table in tables}
        limit, is_cpu = about["setting"]["limit"], about["setting"]["counts_cpu"]
        runs = {
            (run["table"], run["contestant"], run["seed"]): run
            for run in RunFile(folder / RUNS).runs
            if (run["table"], run["digest"]) in digests
            and (run["limit"], run["clock"] == "processor") == (limit, is_cpu)
        }
        return cls(tables, list(runs.values()), about)

    @classmethod
    def of_file(cls, path: Path) -> Standings:
        """What `keep` wrote."""
        given = json.loads(path.read_text("utf-8"))
        runs = [dict(zip(given["columns"], line, strict=True)) for line in given["runs"]]
        return cls(given["tables"], runs, given["about"])

    def keep(self, path: Path) -> None:
        """Write all of it to one small file."""
        order = {table["table"]: place for place, table in enumerate(self.tables)}
        runs = sorted(self.runs, key=lambda run: (order[run["table"]], run["contestant"], run["seed"]))
        lines = ",\n  ".join(json.dumps([run.get(key) for key in KEPT]) for run in runs)
        facts = ",\n  ".join(json.dumps({key: table[key] for key in FACTS}) for table in self.tables)
        text = (
            f'{{\n "about": {json.dumps(self.about)},\n "tables": [\n  {facts}\n ],\n'
            f' "columns": {json.dumps(KEPT)},\n "runs": [\n  {lines}\n ]\n}}\n'
        )
        write_text(path, text)

    # -- by table --------------------------------------------------------------------------------------------

    @cached_property
    def cheapest(self) -> dict[str, float]:
        """By table: the least cost of a safe pattern."""
        found: dict[str, float] = {}
        for run in self.runs:
            if kind_of(run) == SAFE:
                found[run["table"]] = min(run["cost"], found.get(run["table"], math.inf))
        return found

    @cached_property
    def bounds(self) -> dict[str, float]:
        """By table: the largest lower bound.

        Raises
        ------
        InputError
            When a bound is above the cost of a safe pattern: then one of them is wrong.
        """
        found: dict[str, float] = {}
        for run in self.runs:
            if run.get("bound") is not None:
                found[run["table"]] = max(run["bound"], found.get(run["table"], -math.inf))
        for table, bound in found.items():
            cost = self.cheapest.get(table, math.inf)
            if bound > cost + ROUNDING * max(abs(cost), 1.0):
                raise InputError(
                    f"a bound of {bound:,.10g} for {table!r}, where a safe pattern costs {cost:,.10g}",
                    remedy="A bound or a verdict is wrong: nothing is shown until it is known which.",
                )
        return found

    # -- by run ----------------------------------------------------------------------------------------------

    def ratio(self, run: Run) -> float:
        """Cost over that of the cheapest safe pattern; infinite without a safe one."""
        if kind_of(run) != SAFE:
            return math.inf
        best = self.cheapest[run["table"]]
        return run["cost"] / best if best else (1.0 if not run["cost"] else math.inf)

    def gap(self, run: Run) -> float | None:
        """How much of the cost is above the best bound; None without a safe pattern or a bound."""
        bound = self.bounds.get(run["table"])
        if bound is None or kind_of(run) != SAFE:
            return None
        return max(run["cost"] - bound, 0.0) / run["cost"] if run["cost"] else 0.0

    # -- by contestant ---------------------------------------------------------------------------------------

    @cached_property
    def contestants(self) -> list[str]:
        """Everybody who ran, the best first: by the share of runs within a tenth of the cheapest pattern."""
        names = dict.fromkeys(run["contestant"] for run in self.runs)
        return sorted(names, key=lambda name: (-self.share_within(name, 1.1), -self.share_within(name, 2.0)))

    def of(self, contestant: str, family: str = "") -> list[Run]:
        """The runs of a contestant, in all families or in one."""
        inside = {table["table"] for table in self.tables if family in ("", table["family"])}
        return [run for run in self.runs if run["contestant"] == contestant and run["table"] in inside]

    def share_within(self, contestant: str, factor: float) -> float:
        """Share of its runs in which it is safe and within a factor of the cheapest."""
        runs = self.of(contestant)
        return sum(self.ratio(run) <= factor * (1 + ROUNDING) for run in runs) / len(runs) if runs else 0.0

    def counts(self, contestant: str) -> dict[str, int]:
        """How many of its patterns are safe, how many are not, and how often there is none."""
        kinds = [kind_of(run) for run in self.of(contestant)]
        return {kind: kinds.count(kind) for kind in (SAFE, UNSAFE, NONE)}

    def mean_ratio(self, contestant: str, family: str = "") -> float | None:
        """Geometric mean of the ratios of its safe patterns; None where it has none."""
        return geometric_mean(
            [ratio for run in self.of(contestant, family) if math.isfinite(ratio := self.ratio(run))]
        )

    def median_of(self, contestant: str, key: str) -> float | None:
        """The median of a figure over its patterns."""
        found = [run[key] for run in self.of(contestant) if kind_of(run) != NONE and run[key] is not None]
        return median(found) if found else None

    def median_gap(self, contestant: str) -> float | None:
        """The median of its gaps to the best bounds."""
        gaps = [gap for run in self.of(contestant) if (gap := self.gap(run)) is not None]
        return median(gaps) if gaps else None


def kind_of(run: Run) -> str:
    """Safe, not safe, or no pattern."""
    if run["state"] != "pattern":
        return NONE
    return SAFE if run["safe"] is True else UNSAFE


def geometric_mean(values: Sequence[float]) -> float | None:
    """Of positive numbers; None of none.

    Examples
    --------
    >>> geometric_mean([1, 4]), geometric_mean([])
    (2.0, None)
    """
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values else None
