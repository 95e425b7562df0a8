"""The experiments of Serpell, Smith, Clark & Staggemeier (2011) on large tables: tables 2, 3 and 4."""

from __future__ import annotations

from typing import Any

import numpy as np

from cellveil.judge.exposure import unpickable
from experiments.record import Figures, Record
from experiments.tables import Setting, Shape, measured, wilcoxon

SIDES = {
    Shape((100, 33, 78), share=44617 / 257400): (960, 0, 887, 76),
    Shape((100, 25, 96), share=59853 / 240000): (1135, 0, 1086, 51),
    Shape((100, 73, 35), share=24981 / 255500): (1797, 7, 1070, 733),
    Shape((100, 66, 38), share=86250 / 250800): (403, 0, 403, 0),
}
"""The tables of table 1, and what table 2 has of them: K_u; lower only, upper only, both."""

SIZES = (
    Shape((51, 77, 40), (0, 1), 16224 / 157080),
    Shape((88, 50, 40), (0,), 24076 / 176000),
    Shape((100, 66, 38), (), 86250 / 250800),
    Shape((21, 35, 60, 6), (), 44934 / 264600),
    Shape((489, 1026), (), 68445 / 501714),
    Shape((243, 2132), (), 109855 / 518076),
    Shape((100, 242, 22), (1, 2), 59416 / 532400),
    Shape((100, 56, 97), (), 164239 / 543200),
    Shape((90, 90, 90), (), 164927 / 729000),
    Shape((100, 100, 100), (), 227590 / 1000000),
)
"""The tables of table 3."""

VARIED = (
    Shape((100, 112, 4), (1,)), Shape((100, 27, 18)), Shape((100, 21, 24)), Shape((100, 5, 106), (2,)),
    Shape((100, 7, 83)), Shape((100, 20, 31)), Shape((100, 6, 112), (2,)), Shape((100, 20, 36)),
    Shape((100, 76, 10)), Shape((100, 4, 212), (2,)), Shape((100, 85, 10)), Shape((100, 11, 90), (2,)),
    Shape((50, 50, 40)), Shape((50, 50, 40)), Shape((100, 43, 27)), Shape((100, 158, 9), (1,)),
    Shape((100, 30, 51)), Shape((100, 91, 23)), Shape((100, 25, 96)), Shape((100, 66, 38)),
    Shape((100, 55, 46)), Shape((100, 73, 35)), Shape((100, 33, 78)),
)  # fmt: skip
"""The tables of table 4."""

VARIANTS: dict[str, dict[str, object]] = {
    "level": {"by": "level"},
    "level, marginals": {"by": "level", "preselect": "marginals"},
    "level, both": {"by": "level", "preselect": "both"},
    "relation, marginals": {"by": "relation", "preselect": "marginals"},
    "relation, both": {"by": "relation", "preselect": "both"},
}
"""The five columns of table 4."""

MOST = {"quick": 600, "medium": 5_000, "full": 10**9}
"""Places of a table at most; larger ones shrink."""

LIMIT = {"quick": 20.0, "medium": 120.0, "full": 50 * 3600.0}
"""Seconds for one run; the paper's limit is 50 hours."""


AUTO_LIMIT = {"quick": 3.0, "medium": 30.0, "full": 3600.0}
"""Seconds for auto, which otherwise goes on improving as long as it may."""

AUTO_SHARE = 1 / 3
"""The same as a share of a limit that is given."""

METHODS: dict[str, dict[str, object]] = {"grouped": {}, "genetic": {"groups": 2}, "auto": {}}
"""What is compared on the ten sizes."""


def sides(setting: Setting) -> Record:
    """Table 2: which level of the exposed cells is not kept."""
    rows = setting.each(SIDES, lambda shape: _failing_sides(shape, setting.seed))
    failing = [row["lower only"] + row["upper only"] + row["both"] for row in rows]
    upper = [row["upper only"] + row["both"] for row in rows]
    share = 100 * sum(upper) / max(sum(failing), 1)
    return Record(
        "Which level of exposed cells is not kept (2011, tables 1 and 2)",
        {"budget": setting.budget, "seed": setting.seed},
        [Figures("table2", "Primary cells that unpicking exposes", rows)],
        [f"The upper level is among those not kept in {share:.1f} % of the exposed cells."],
    )


def _failing_sides(shape: Shape, seed: int) -> dict[str, Any]:
    """One line of table 2."""
    problem, paper = shape.problem(seed), SIDES[shape]
    found = unpickable(problem)
    return {
        "table": str(shape),
        "primaries": len(problem.primaries),
        "K_u": int(found.candidates.sum()),
        "lower only": int((found.lower & ~found.upper).sum()),
        "upper only": int((found.upper & ~found.lower).sum()),
        "both": int((found.lower & found.upper).sum()),
        "paper: K_u": paper[0],
        "paper: lower, upper, both": " / ".join(map(str, paper[1:])),
    }


def sizes(setting: Setting) -> Record:
    """Table 3: the ten sizes, by groups, by the genetic algorithm and by auto."""
    return compared(setting.each(SIZES, lambda shape: by_three_methods(shape, setting)), setting)


def by_three_methods(full: Shape, setting: Setting) -> dict[str, Any]:
    """One line of table 3."""
    shape = full.shrunk(MOST[setting.budget])
    problem = shape.problem(setting.seed)
    row: dict[str, Any] = {
        "paper's table": str(full),
        "table": str(shape),
        "cells": problem.table.num_cells,
        "primaries": len(problem.primaries),
        "K_u": int(unpickable(problem).candidates.sum()),
    }
    for method, options in METHODS.items():
        limit = setting.seconds(AUTO_LIMIT if method == "auto" else LIMIT)
        if method == "auto" and setting.time_limit is not None:
            limit *= AUTO_SHARE
        found = measured(problem, method, options=options, time_limit=limit, seed=setting.seed)
        row |= {f"{method} cost": found["cost"], f"{method} s": found["seconds"]}
        row[f"{method} safe"] = found["safe"]
    return row


def compared(rows: list[dict[str, Any]], setting: Setting) -> Record:
    """The page of table 3."""
    cheaper = sum(row["auto cost"] <= row["genetic cost"] for row in rows)
    faster = float(np.median([row["genetic s"] / row["auto s"] for row in rows]))
    settings = {"budget": setting.budget, "seed": setting.seed, "places at most": MOST[setting.budget]}
    return Record(
        "The ten sizes (2011, table 3)",
        settings | {"seconds per run": setting.seconds(LIMIT)},
        [Figures("table3", "Cost (primaries and secondaries) and seconds", rows)],
        [
            f"auto costs no more than genetic in {cheaper} of {len(rows)} tables; "
            f"genetic takes {faster:.2g} times as long in the median.",
            f"All patterns shown safe: {all(row[f'{m} safe'] for row in rows for m in METHODS)}.",
            "The paper needed about 60 hours for tables of 250,000 cells.",
        ],
    )


def variants(setting: Setting) -> Record:
    """Table 4: orders of groups and pre-selection, by the genetic algorithm."""
    found = setting.each(range(len(VARIED)), lambda number: _by_variants(number, setting))
    costs, times = ([line[k] for line in found] for k in range(2))
    settings = {"budget": setting.budget, "seed": setting.seed, "places at most": MOST[setting.budget]}
    return Record(
        "Orders of groups and pre-selection (2011, table 4)",
        settings | {"seconds per run": setting.seconds(LIMIT)},
        [
            Figures("table4a", "Cost (primaries and secondaries)", costs),
            Figures("table4b", "Processor time, s", times),
            Figures("tests", "Against grouping by level without pre-selection", _tests(costs, times)),
        ],
        [_friedman("cost", costs), _friedman("time", times)],
    )


def _by_variants(number: int, setting: Setting) -> tuple[dict[str, Any], dict[str, Any]]:
    """Cost and processor time of one table: a line of table 4."""
    shape = VARIED[number].shrunk(MOST[setting.budget])
    problem = shape.problem(setting.seed + number)
    limit = setting.seconds(LIMIT)
    found = {
        name: measured(
            problem, "genetic", options={"groups": 2, **options}, time_limit=limit, seed=setting.seed
        )
        for name, options in VARIANTS.items()
    }
    head = {"table": str(shape), "cells": problem.table.num_cells, "primaries": len(problem.primaries)}
    costs, times = ({name: run[what] for name, run in found.items()} for what in ("cost", "cpu"))
    return head | costs, head | times


def _tests(costs: list[dict[str, Any]], times: list[dict[str, Any]]) -> list[dict[str, Any]]:
    first, *others = VARIANTS
    rows = []
    for name in others:
        row: dict[str, Any] = {"variant": name}
        for what, table in (("cost", costs), ("time", times)):
            mine, base = ([line[which] for line in table] for which in (name, first))
            row[f"median {what} ratio"] = float(np.median(np.array(mine) / np.array(base)))
            row[f"{what}: p"] = wilcoxon(mine, base)
        rows.append(row)
    return rows


def _friedman(what: str, table: list[dict[str, Any]]) -> str:
    from scipy.stats import friedmanchisquare

    columns = [[line[name] for line in table] for name in VARIANTS]
    if all(column == columns[0] for column in columns):
        return f"Friedman's test over {what}: no difference at all."
    p = float(friedmanchisquare(*columns).pvalue)
    return f"Friedman's test over {what}: p = {p:.2g}."
