"""The experiments of Serpell, Smith, Clark & Staggemeier (2013): candidates, and what they save."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from cellveil.arrays import Bool
from cellveil.clock import Deadline
from cellveil.errors import InfeasibleError
from cellveil.judge.exposure import ALGORITHMS, Exposure, exposure
from cellveil.judge.outsider import audit_outsider
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.suppression.draft import Draft, MethodEnding
from cellveil.suppression.methods.elimination import elimination
from cellveil.suppression.methods.optimal import optimal
from cellveil.suppression.methods.textbook import TextbookParams, textbook
from experiments.kelly import kelly
from experiments.record import Figures, Record
from experiments.tables import Contributors, Setting, Shape, wilcoxon

KINDS = ((2, 0, 155), (2, 1, 137), (2, 2, 1), (3, 0, 20))
"""Dimensions, how many of them are trees, and the number of such tables in table 2."""


@dataclass(frozen=True)
class Scale:
    """How large the tables are, how many, and how many seconds an exact solution may take."""

    tables: int
    sides: tuple[int, int]
    sides_3d: tuple[int, int]
    seconds: float
    bootstraps: int
    bootstrap_sizes: tuple[int, int, int]
    timed: int


SCALES = {
    "quick": Scale(31, (4, 9), (3, 5), 5.0, 2, (14, 12, 12), 8),
    "medium": Scale(104, (4, 9), (3, 5), 5.0, 6, (20, 14, 14), 60),
    "full": Scale(313, (6, 25), (4, 9), 300.0, 200, (35, 30, 25), 400),
}


def candidates(setting: Setting) -> Record:
    """Tables 3 and 5: which sets of candidates protect everything, and how many primaries they save."""
    scale = SCALES[setting.budget]
    seconds = setting.seconds({setting.budget: scale.seconds})
    made = list(enumerate(tables(scale, setting.seed)))
    rows = [
        row
        for found in setting.each(made, lambda one: _judged_sets(one[0], *one[1], seconds))
        for row in found
    ]
    booted = _bootstrapped(scale, setting)
    remarks = _remarks(rows)
    return Record(
        "Candidates for initially exposed cells (2013, tables 3 and 5)",
        {
            "budget": setting.budget,
            "tables": scale.tables,
            "seed": setting.seed,
            "seconds per exact solution": seconds,
        },
        [
            Figures("table5", "Sets of candidates: tables protected, and primaries saved", _table_5(rows)),
            Figures("by_kind", "Average saving (%) by kind of table", _by_kind(rows)),
            Figures("bootstrap", "Average saving (%) in resampled three-way tables", booted),
        ],
        remarks,
        details=[Figures("candidates", "All tables", rows)],
    )


def _judged_sets(
    number: int, kind: tuple[int, int], problem: Problem, seconds: float
) -> list[dict[str, Any]]:
    """One table: a line for each set."""
    sets = exposure(problem)
    head = {
        "table": number,
        "dimensions": kind[0],
        "trees": kind[1],
        "cells": problem.table.num_cells,
        "primaries": len(problem.primaries),
        "unpickable only": not sets.K_n.any(),
    }
    return [head | row for row in _protected_by(problem, sets, seconds)]


def tables(scale: Scale, seed: int) -> list[tuple[tuple[int, int], Problem]]:
    """Tables of the kinds of table 2, in these proportions, with sizes and shares drawn at random."""
    rng = np.random.default_rng(seed)
    made: list[tuple[tuple[int, int], Problem]] = []
    total = sum(count for *_, count in KINDS)
    for dimensions, trees, count in KINDS:
        wanted = max(round(count * scale.tables / total), 1)
        sides = scale.sides if dimensions == 2 else scale.sides_3d
        while wanted:
            sizes = rng.integers(sides[0], sides[1] + 1, dimensions)
            sizes[:trees] = np.maximum(sizes[:trees], 7)
            shape = Shape(tuple(sizes.tolist()), tuple(range(trees)))
            problem = shape.problem(int(rng.integers(2**31)))
            if len(problem.primaries):
                made.append(((dimensions, trees), problem))
                wanted -= 1
    return made


def _protected_by(problem: Problem, sets: Exposure, seconds: float) -> list[dict[str, Any]]:
    """For each set: the share of primaries it saves, and whether the cheapest pattern for it protects all."""
    judged: dict[bytes, bool | None] = {}
    rows = []
    for algorithm in ALGORITHMS:
        chosen = sets.candidates(algorithm)
        key = chosen.tobytes()
        if key not in judged:
            judged[key] = _is_enough(problem, chosen, seconds)
        saving = 100 * (1 - int(chosen.sum()) / len(problem.primaries))
        rows.append({"algorithm": algorithm, "saving": saving, "protected": judged[key]})
    return rows


def _is_enough(problem: Problem, chosen: Bool, seconds: float) -> bool | None:
    """Whether the cheapest pattern for these primaries protects all; None where it was not found in time."""
    draft = _uninterrupted(optimal(problem.only(chosen), deadline=Deadline(seconds)))
    if draft.infeasible or draft.reason is not MethodEnding.COMPLETE:
        return None
    return audit_outsider(problem, Pattern.hiding(problem, draft.hidden, "candidates"), exact=False).is_safe


def _table_5(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    paper = {"E": (9.27, 9.27), "K1": (23.64, 20.13), "K3": (28.81, -2.95), "K5": (11.75, 11.75)}
    table = []
    for algorithm in ALGORITHMS:
        mine = [row for row in rows if row["algorithm"] == algorithm and row["protected"] is not None]
        failed = sum(not row["protected"] for row in mine)
        saving = float(np.mean([row["saving"] for row in mine]))
        table.append(
            {
                "algorithm": algorithm,
                "total": len(mine),
                "succeeded": len(mine) - failed,
                "failed": failed,
                "average saving (%)": saving,
                "adjusted saving (%)": saving - 100 * failed / len(mine),
                "paper: average": paper[algorithm][0],
                "paper: adjusted": paper[algorithm][1],
            }
        )
    return table


def _by_kind(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    kinds: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        kinds[row["dimensions"], row["trees"]].append(row)
    return [
        {"dimensions": dimensions, "trees": trees, "tables": len(mine) // len(ALGORITHMS)}
        | {
            name: float(np.mean([row["saving"] for row in mine if row["algorithm"] == name]))
            for name in ALGORITHMS
        }
        for (dimensions, trees), mine in kinds.items()
    ]


def _remarks(rows: Sequence[dict[str, Any]]) -> list[str]:
    saving = {name: [row["saving"] for row in rows if row["algorithm"] == name] for name in ("E", "K5")}
    p = wilcoxon(saving["K5"], saving["E"])
    unpickable = [row["unpickable only"] for row in rows if row["algorithm"] == "E"]
    return [
        f"K5 against E by Wilcoxon's signed ranks: p = {p:.2g} (paper: below 0.001)."
        if p is not None
        else "K5 and E are the same in every table.",
        f"K_u = K in {100 * np.mean(unpickable):.1f} % of the tables (paper: about 99 %).",
    ]


def _bootstrapped(scale: Scale, setting: Setting) -> list[dict[str, Any]]:
    """Savings in three-way tables whose contributors are drawn anew from those of one table."""
    setting.progress.stage("resampled tables")
    source = Contributors.invented(scale.bootstrap_sizes, setting.seed)

    def savings_of(number: int) -> dict[str, float]:
        problem = source.resampled(setting.seed * 1000 + number)
        sets = exposure(problem)
        return {
            name: 100 * (1 - int(sets.candidates(name).sum()) / len(problem.primaries))
            for name in ("E", "K5")
        }

    each = setting.each(range(scale.bootstraps), savings_of)
    savings = {name: [one[name] for one in each] for name in ("E", "K5")}
    return [
        {
            "algorithm": name,
            "tables": len(found),
            "mean (%)": float(np.mean(found)),
            "standard deviation": float(np.std(found)),
            "paper: mean": {"E": 14.95, "K5": 22.98}[name],
        }
        for name, found in savings.items()
        if found
    ]


# -- table 6 -------------------------------------------------------------------------------------------------

Run = Callable[[Problem], Draft]


def _plain_lp(problem: Problem) -> Draft:
    return textbook(problem, params=TextbookParams(harvest=False, order="given"))


METHODS: dict[str, tuple[Run, tuple[int, int]]] = {
    "Kelly ILP": (lambda problem: kelly(problem, deadline=Deadline(60.0)), (4, 6)),
    "Kelly LP": (_plain_lp, (8, 24)),
    "Kelly LP with harvest": (textbook, (8, 24)),
    "Elimination LP": (elimination, (6, 14)),
}
"""Method, and range of the sides of its two-way tables: as large as it can take in little time."""

PAPER_6 = {"Kelly ILP": (71.3, 26.4, 2.3), "Kelly LP": (90.2, 7.9, 1.9), "Elimination LP": (91.0, 4.5, 4.5)}

SAME = 0.02
"""Times that differ by less than this share count as equal."""


def processor_time(setting: Setting) -> Record:
    """Table 6: processor time and cost with and without K5, for three methods."""
    scale = SCALES[setting.budget]
    details: list[dict[str, Any]] = []
    for name, (run, sides) in METHODS.items():
        setting.progress.stage(name)
        made = _timed_tables(sides, scale.timed, setting.seed)
        found = zip(made, setting.each(made, partial(_with_and_without, run=run)), strict=False)
        details += [
            {"method": name, "cells": problem.table.num_cells, **row} for problem, row in found if row
        ]
    return Record(
        "Processor time with and without candidates (2013, table 6)",
        {
            "budget": setting.budget,
            "tables per method": scale.timed,
            "seed": setting.seed,
            "algorithm": "K5",
        },
        [
            Figures("table6", "Share of tables (%) that need less processor time", _table_6(details)),
            Figures("cost", "Cost of the patterns (% of tables)", _costs(details)),
        ],
        [
            "Times are those of the method alone, as in the paper; finding K5 takes an audit of the bare "
            "table, whose median is in the table.",
            "Kelly LP solves a program for every demand, in the order of the cells. With harvest, a solution "
            "also settles the other demands it meets, and the largest come first: there is less for "
            "candidates to save.",
        ],
        details=[Figures("runs", "All runs", details)],
    )


def _timed_tables(sides: tuple[int, int], count: int, seed: int) -> list[Problem]:
    """Two-way tables with primaries, every other one with a tree where the sides allow it."""
    rng = np.random.default_rng(seed)
    made: list[Problem] = []
    while len(made) < count:
        trees = int(rng.random() < 0.5 and sides[1] >= 7)
        sizes = rng.integers(sides[0], sides[1] + 1, 2)
        sizes[:trees] = np.maximum(sizes[:trees], 7)
        problem = Shape(tuple(sizes.tolist()), tuple(range(trees))).problem(int(rng.integers(2**31)))
        if len(problem.primaries):
            made.append(problem)
    return made


def _with_and_without(problem: Problem, run: Run) -> dict[str, Any] | None:
    start = time.process_time()
    chosen = exposure(problem).candidates("K5")
    finding = time.process_time() - start
    try:
        timed = {name: _timed(asked, run) for name, asked in
                 (("without", problem), ("with", problem.only(chosen)))}  # fmt: skip
    except InfeasibleError:
        return None
    if any(draft.infeasible or draft.reason is not MethodEnding.COMPLETE for draft, _ in timed.values()):
        return None
    weight = problem.weight
    cost = {name: float(weight[draft.hidden].sum()) for name, (draft, _) in timed.items()}
    pattern = Pattern.hiding(problem, timed["with"][0].hidden, "candidates")
    return {
        "primaries": len(problem.primaries),
        "candidates": int(chosen.sum()),
        "seconds without": timed["without"][1],
        "seconds with": timed["with"][1],
        "seconds to find them": finding,
        "cost without": cost["without"],
        "cost with": cost["with"],
        "safe": audit_outsider(problem, pattern, exact=False).is_safe,
    }


def _timed(problem: Problem, run: Run) -> tuple[Draft, float]:
    start = time.process_time()
    return _uninterrupted(run(problem)), time.process_time() - start


def _uninterrupted(draft: Draft) -> Draft:
    if draft.reason.is_interrupt:
        raise KeyboardInterrupt
    return draft


def _by_method(details: Sequence[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The runs of each method that has some."""
    for name in METHODS:
        mine = [row for row in details if row["method"] == name]
        if mine:
            yield name, mine


def _table_6(details: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    rows = []
    for name, mine in _by_method(details):
        with_, without = ([row[f"seconds {which}"] for row in mine] for which in ("with", "without"))
        ratio = np.array(with_) / np.maximum(without, 1e-9)
        rows.append(
            {
                "method": name,
                "tables": len(mine),
                "with K5": 100 * float((ratio < 1 - SAME).mean()),
                "without": 100 * float((ratio > 1 + SAME).mean()),
                "equal": 100 * float((np.abs(ratio - 1) <= SAME).mean()),
                "median ratio": float(np.median(ratio)),
                "Wilcoxon p": wilcoxon(with_, without),
                "median seconds without": float(np.median(without)),
                "to find K5": float(np.median([row["seconds to find them"] for row in mine])),
                "all safe": all(row["safe"] for row in mine),
                "paper: with, without, equal": " / ".join(map(str, PAPER_6.get(name, ("–",)))),
            }
        )
    return rows


def _costs(details: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    rows = []
    for name, mine in _by_method(details):
        with_, without = (np.array([row[f"cost {which}"] for row in mine]) for which in ("with", "without"))
        rows.append(
            {
                "method": name,
                "identical": 100 * float((with_ == without).mean()),
                "cheaper with K5": 100 * float((with_ < without).mean()),
                "cheaper without": 100 * float((with_ > without).mean()),
                "Wilcoxon p": wilcoxon(with_.tolist(), without.tolist()),
                "paper": "81.8 / 14.2 / 4.0" if name == "Kelly LP" else "",
            }
        )
    return rows
