"""Are time limits kept? Method × table × attackers × limit: seconds beside the limit, cost, outcome.

    python benchmarks/limits.py                                  the small matrix
    python benchmarks/limits.py --tables 30x15x15 demo --limits 5 10 60
    python benchmarks/limits.py --tables hier16 ninenew --methods auto sequential --limits 10
    python benchmarks/limits.py --tables 1560 17401 --attackers insider --limits 40
    python benchmarks/limits.py --tables 100x100x100 --methods auto hypercube --limits 60
    python benchmarks/limits.py --tables hier13 hier16 two5in6 ninenew nine12 --limits 60 --seeds 1 2 3 --cpu
    python benchmarks/limits.py --tables hier16 --limits 60 --weights one
    python benchmarks/limits.py --adjust --tables 20x20 30x15x15 hier16 --limits 5

Every run has a process of its own, in which a tiny table is protected first, so that compiled loops are
loaded. `seconds` are those of the search, audit and verification aside; a run keeps its limit if they are
at most 1.1 × limit + 3. `CPU` are seconds of the processor for the same, which do not grow with what else
the machine does; with two threads they may exceed `seconds`. With `--cpu` limits count
processor time and one thread works, for a machine that does other things too; whether they are kept is not
told then. A run that takes far longer is ended.

Tables: AxB or AxBxC are random tables, with an h for each dimension that is a tree, from the first on; 1560,
17076 and 17401 are business tables with contributions (industry × size and industry × region, 50,000 firms;
industry × region × size, 3,000 firms); linked is all pairs of industry, region and size; 50linked is a
publication of 50 linked tables with 50,000 cells, 100linked one with 100,000; demo is the linked table of
`cellveil demo`; other names are public instance files.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

INSTANCES = Path(os.environ.get("CELLVEIL_INSTANCES") or Path(__file__).parents[2] / "shared" / "instances")

MATRIX = ["20x20", "12x10x8", "30x15x15", "demo"]
ASIDE = ("audit", "verify")
GIVEN_UP = 6.0
"""A run is ended after so many times its limit, and two minutes."""


def problem_of(name: str) -> Any:
    """The problem that a name stands for."""
    import cellveil as cv
    from cellveil.datasets import random_table
    from cellveil.datasets.linked_tables import publication

    if shape := re.fullmatch(r"(\d+(?:x\d+)+)(h*)", name):
        sizes = [int(size) for size in shape[1].split("x")]
        return random_table(sizes, hierarchical=list(range(len(shape[2]))), seed=1)
    if name == "demo":
        return _demo()
    if name.endswith("0linked"):
        return publication(1_000 * int(name.removesuffix("linked")), tables=50, seed=1)
    if name in ("1560", "17076", "17401", "linked"):
        return _business(name)
    return cv.read_instance(next(INSTANCES.glob(f"*/{name}.jj")))


def _business(name: str) -> Any:
    from cellveil.datasets import business
    from cellveil.microdata.tabulate import tabulate
    from cellveil.rules import AnyOf, PPercent, Threshold
    from cellveil.rules.apply import make_problem
    from cellveil.tables.link import link

    data = business(3_000 if name == "17401" else 50_000)
    industry, region, size = data.dimensions
    chosen = {
        "1560": [(industry, size)],
        "17076": [(industry, region)],
        "17401": [(industry, region, size)],
        "linked": [(industry, region), (industry, size), (region, size)],
    }[name]
    tables = [tabulate(data.frame, dims, "turnover", contributor="firm") for dims in chosen]
    rule = PPercent(10) if name != "linked" else AnyOf(PPercent(10), Threshold(3, safety_range=20))
    return make_problem(link(tables) if len(tables) > 1 else tables[0], rule)


def _demo() -> Any:
    from cellveil.datasets import business
    from cellveil.datasets.demo_job import write_demo_job
    from cellveil.job.build_tables import build_tables
    from cellveil.job.reading import read_job
    from cellveil.progress import Progress
    from cellveil.rules import rule_from_dict
    from cellveil.rules.apply import make_problem

    with TemporaryDirectory() as folder:
        job = read_job(write_demo_job(business(), Path(folder)))
        return make_problem(build_tables(job, 3, Progress()).table, rule_from_dict(job.rules))


def run_one(task: dict[str, Any]) -> dict[str, Any]:
    """Protect one table, in this process."""
    import cellveil as cv
    from cellveil.attackers.attacker import Attacker
    from cellveil.datasets import random_table

    if task["cpu"]:
        from ablation import count_processor_time

        count_processor_time()
    tiny = [random_table(sizes, seed=1) for sizes in ((6, 7), (5, 4, 4))]
    problem = problem_of(task["table"])
    if task["weights"] == "one":
        problem = problem.replace(weight=np.ones(problem.table.num_cells))
    if task["adjust"]:
        for one in tiny:
            cv.adjust(one, time_limit=2.0)
        began, cpu = time.monotonic(), time.process_time()
        fit = cv.adjust(problem, task["method"], time_limit=task["limit"])
        seconds = sum(s for stage, s in fit.seconds.items() if stage not in ASIDE)
        figures = {"cost": fit.cost, "gap": fit.gap, "outcome": fit.outcome, "reason": fit.reason}
        return figures | {
            "seconds": seconds,
            "cpu": time.process_time() - cpu,
            "all": time.monotonic() - began,
        }
    attackers = [Attacker(kind, p=10.0 if kind == "pq" else None) for kind in task["attackers"]]
    for one in tiny:
        for method in {task["method"], "hypercube"}:
            cv.suppress(one, method, attackers=[], time_limit=2.0)
    began, cpu = time.monotonic(), time.process_time()
    found = cv.suppress(
        problem,
        task["method"],
        attackers=attackers,
        time_limit=task["limit"],
        seed=task["seed"],
        workers=1 if task["cpu"] else None,
    )
    seconds = sum(s for stage, s in found.seconds.items() if ":" not in stage and stage not in ASIDE)
    return {
        "cells": problem.table.num_cells,
        "primaries": len(problem.primaries),
        "hidden": int(found.pattern.hidden.sum()),
        "for lack of time": getattr(found, "hidden_for_lack_of_time", None),
        "cost": found.cost,
        "gap": found.gap,
        "outcome": found.outcome,
        "reason": found.reason,
        "seconds": seconds,
        "cpu": time.process_time() - cpu,
        "all": time.monotonic() - began,
        "stages": {stage: round(s, 2) for stage, s in found.seconds.items()},
    }


def in_own_process(task: dict[str, Any]) -> dict[str, Any]:
    """Protect one table, in a process of its own; ended when it takes far too long."""
    command = [sys.executable, __file__, "--one", json.dumps(task)]
    most = GIVEN_UP * task["limit"] + 120
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=most, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"ended after {most:.0f} s"}
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1][:200]}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def show(task: dict[str, Any], found: dict[str, Any], *, stages: bool) -> bool:
    """One line of the table; tells whether the limit was kept."""
    limit = task["limit"]
    name = f"| {task['table']} | {task['seed']} | {task['method']} | {'+'.join(task['attackers']) or '–'} "
    name += f"| {limit:g} "
    if "error" in found:
        print(f"{name}| {found['error']} |", flush=True)
        return "ended" not in found["error"]
    is_kept = task["cpu"] or found["seconds"] <= 1.1 * limit + 3
    gap = "–" if found["gap"] is None else f"{100 * found['gap']:.1f} %"
    print(
        f"{name}| {found['seconds']:.1f} | {found['cpu']:.1f} | {found['all']:.1f} | {found['cost']:,.10g} "
        f"| {gap} | {found.get('hidden', '')} | {found['outcome']}: {found['reason'][:90]} "
        f"| {'kept' if is_kept else 'NOT KEPT'} |",
        flush=True,
    )
    if stages:
        print("   ", found.get("stages"), flush=True)
    return is_kept


def main() -> None:
    """Run the matrix."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--tables", nargs="+", default=MATRIX)
    parser.add_argument("--methods", nargs="+", default=["auto"], help="names, or all")
    parser.add_argument("--attackers", nargs="*", default=[])
    parser.add_argument("--limits", nargs="+", type=float, default=[5.0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--weights", choices=["value", "one"], default="value")
    parser.add_argument("--cpu", action="store_true", help="limits count processor time of one thread")
    parser.add_argument("--adjust", action="store_true")
    parser.add_argument("--stages", action="store_true", help="also seconds by stage")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(run_one(json.loads(given.one))))
        return
    methods = given.methods
    if methods == ["all"]:
        from cellveil.adjustment.adjusting import METHODS as ADJUSTING
        from cellveil.suppression.suppressing import METHODS

        methods = list(ADJUSTING if given.adjust else METHODS)
    print("| table | seed | method | attackers | limit | s | CPU | all | cost | gap | hidden | outcome | |")
    print("|---|--:|---|---|--:|--:|--:|--:|--:|--:|--:|---|---|")
    kept = True
    for table, method, limit, seed in product(given.tables, methods, given.limits, given.seeds):
        task = {"table": table, "method": method, "limit": limit, "seed": seed}
        task |= {key: getattr(given, key) for key in ("adjust", "attackers", "weights", "cpu")}
        kept &= show(task, in_own_process(task), stages=given.stages)
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    main()
