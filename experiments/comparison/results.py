"""The standings of suppression methods as tables and plots: what a person looks at."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from cellveil.files import write_text
from cellveil.plots import line_chart, point_chart, share_chart
from experiments.comparison.runs import Run
from experiments.comparison.standings import NONE, SAFE, UNSAFE, Standings, kind_of
from experiments.record import Figures as FigureTable

LARGEST_FACTOR = 3.0
"""Where the performance profile ends."""

KIND_COLOURS = {SAFE: "#1f5f99", UNSAFE: "#b3261e", NONE: "#c8ccd0"}
SHORT = {"refused": "refused", "failed": "failed", "over the limit": "limit"}
LEAST_SECONDS = 0.01
"""Shorter times are shown as this one on a logarithmic axis."""


def overall(standings: Standings) -> FigureTable:
    """A line for each contestant."""
    rows = []
    for name in standings.contestants:
        counts = standings.counts(name)
        rows.append(
            {
                "contestant": name,
                "runs": sum(counts.values()),
                **counts,
                "cheapest in": f"{100 * standings.share_within(name, 1.0):.0f} %",
                "within 10 %": f"{100 * standings.share_within(name, 1.1):.0f} %",
                "cost / cheapest": _number(standings.mean_ratio(name), ".3f"),
                "gap to bound": _percent(standings.median_gap(name)),
                "seconds": _number(standings.median_of(name, "seconds"), ".2g"),
                "MB": _number(standings.median_of(name, "megabytes"), ".0f"),
            }
        )
    return FigureTable("overall", "All tables.", rows)


def by_family(standings: Standings) -> FigureTable:
    """Geometric means of cost over the cheapest, contestant by family; with how many are safe if not all."""
    families = list(dict.fromkeys(table["family"] for table in standings.tables))
    rows = []
    for name in standings.contestants:
        row: dict[str, Any] = {"contestant": name}
        for family in families:
            runs = standings.of(name, family)
            safe = sum(kind_of(run) == SAFE for run in runs)
            mean = _number(standings.mean_ratio(name, family), ".3f")
            row[family] = mean if safe == len(runs) else f"{mean} ({safe} of {len(runs)})" if safe else "–"
        rows.append(row)
    return FigureTable("families", "Geometric mean of cost over the cheapest safe pattern.", rows)


def by_table(standings: Standings) -> FigureTable:
    """Cost over the cheapest, table by contestant; the worst of several seeds."""
    rows = []
    for table in standings.tables:
        name = table["table"]
        best, bound = standings.cheapest.get(name), standings.bounds.get(name)
        row: dict[str, Any] = {
            "table": name,
            "cells": table["cells"],
            "primary": table["primaries"],
            "bound": _number(bound, ",.0f"),
            "cheapest": _number(best, ",.0f"),
        }
        for contestant in standings.contestants:
            row[contestant] = _cell(standings, [r for r in standings.of(contestant) if r["table"] == name])
        rows.append(row)
    return FigureTable("tables", "Cost over the cheapest safe pattern.", rows)


def _cell(standings: Standings, runs: list[Run]) -> str:
    if not runs:
        return ""
    worst = max(runs, key=lambda run: (standings.ratio(run), kind_of(run)))
    if kind_of(worst) == UNSAFE:
        return "**unsafe**"
    return SHORT[worst["state"]] if kind_of(worst) == NONE else f"{standings.ratio(worst):.3f}"


def every_run(standings: Standings) -> FigureTable:
    """All runs, one line each."""
    rows = []
    for run in standings.runs:
        gap = standings.gap(run)
        rows.append(
            {
                "table": run["table"],
                "contestant": run["contestant"],
                "seed": run["seed"],
                "verdict": kind_of(run) if run["state"] == "pattern" else run["state"],
                "cost": run.get("cost"),
                "hidden": run.get("hidden"),
                "bound": standings.bounds.get(run["table"]),
                "gap": None if gap is None else round(gap, 4),
                "seconds": run.get("seconds"),
                "process cpu": run["cpu"],
                "process wall": run["wall"],
                "MB": run["megabytes"],
                "audit": run.get("audited"),
                "second opinion": run.get("second"),
                "short": run.get("short"),
                "disclosed": run.get("disclosed"),
                "why": run["why"],
            }
        )
    return FigureTable("runs", "Every run.", rows)


def profile_of(standings: Standings, contestant: str) -> list[tuple[float, float]]:
    """The steps of a performance profile: per cent of the runs that are safe and within a factor."""
    ratios = {standings.ratio(run) for run in standings.of(contestant)}
    steps, share = [(1.0, 0.0)], 0.0
    for factor in sorted(ratio for ratio in ratios if ratio <= LARGEST_FACTOR):
        steps.append((factor, share))
        share = 100 * standings.share_within(contestant, factor)
        steps.append((factor, share))
    return [*steps, (LARGEST_FACTOR, share)]


def plots(standings: Standings) -> dict[str, str]:
    """The plots by name, as SVG."""
    names = standings.contestants
    profile = {name: profile_of(standings, name) for name in names}
    effort = {
        name: (max(seconds, LEAST_SECONDS), ratio)
        for name in names
        if (seconds := standings.median_of(name, "seconds")) is not None
        and (ratio := standings.mean_ratio(name)) is not None
        and math.isfinite(ratio)
    }
    clock = "of the processor" if standings.about["setting"]["counts_cpu"] else "on the wall"
    return {
        "comparison-profile": line_chart(
            profile, title="Safe, and within a factor of the cheapest", x="factor", y="per cent of runs"
        ),
        "comparison-effort": point_chart(
            effort,
            title="Cost and time",
            x=f"median seconds {clock}",
            y="cost over the cheapest, geometric mean",
            log=(True, False),
        ),
        "comparison-safe": share_chart(
            {name: standings.counts(name) for name in names}, KIND_COLOURS, title="Verdicts of the audit"
        ),
    }


def write_results(standings: Standings, folder: Path) -> list[Path]:
    """Tables as Markdown and CSV, and plots, beside the runs."""
    tables = [overall(standings), by_family(standings), by_table(standings), every_run(standings)]
    pictures = plots(standings)
    parts = ["# Comparison of suppression methods"]
    for table in tables:
        parts += [f"**{table.caption}**", table.markdown()]
    parts += [f"![{name}]({name}.svg)" for name in pictures]
    texts = {"results.md": "\n\n".join(parts) + "\n"}
    texts |= {f"{table.name}.csv": table.csv() for table in tables}
    texts |= {f"{name}.svg": text for name, text in pictures.items()}
    for name, text in texts.items():
        write_text(folder / name, text)
    return [folder / name for name in texts]


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"
