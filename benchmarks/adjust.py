"""`adjust` on the family of the literature and on public instances: cost, bound, gap, seconds, memory.

    python benchmarks/adjust.py family --sides 10 15 20 25 30 35 46 100 --time-limit 60
    python benchmarks/adjust.py family --sides 20 --objectives l1 value --largest 10
    python benchmarks/adjust.py public --time-limit 60

`family` adjusts tables of n × n × n interior cells (`experiments.three_way.cube`), and says at the end how
seconds grow with the number of cells. `public` adjusts the instance files. Every table has a process of its
own, so that memory is that of one table.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

INSTANCES = Path(os.environ.get("CELLVEIL_INSTANCES") or Path(__file__).parents[2] / "shared" / "instances")


def run_one(task: dict[str, Any]) -> dict[str, Any]:
    """Adjust one table, in this process."""
    sys.path.append(str(Path(__file__).parents[1]))
    import cellveil as cv
    from experiments.three_way import cube

    if "file" in task:
        problem = cv.read_instance(task["file"])
    else:
        problem = cube(task["side"], seed=task["seed"], largest=task["largest"], spread=task["spread"])
    began = time.monotonic()
    found = cv.adjust(problem, task["method"], objective=task["objective"], time_limit=task["time_limit"])
    return {
        "cells": problem.table.num_cells,
        "sensitive": len(problem.primaries),
        "cost": found.cost,
        "bound": found.lower_bound,
        "gap": found.gap,
        "outcome": found.outcome,
        "is_safe": found.is_safe,
        "seconds": time.monotonic() - began,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def in_own_process(task: dict[str, Any]) -> dict[str, Any]:
    """Adjust one table, in a process of its own."""
    command = [sys.executable, __file__, "one", json.dumps(task)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def show(name: str, objective: str, found: dict[str, Any]) -> None:
    """One line of the table."""
    gap = "no bound" if found["gap"] is None else f"{100 * found['gap']:.2f} %"
    shown = "optimal" if found["outcome"] == "optimal" else gap
    if not found["is_safe"]:
        shown = "NOT SAFE"
    print(
        f"| {name} | {found['cells']:,} | {found['sensitive']:,} | {objective} | {found['cost']:,.10g} "
        f"| {shown} | {found['seconds']:.0f} | {found['megabytes']:,} |",
        flush=True,
    )


def growth(figures: list[tuple[int, float]]) -> str:
    """Between neighbouring sizes: seconds ∝ cells ** exponent."""
    steps = [
        f"{a:,} → {b:,}: {math.log(t / s) / math.log(b / a):.2f}"
        for (a, s), (b, t) in pairwise(figures)
        if b > a
    ]
    return "; ".join(steps)


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["family", "public", "one"])
    parser.add_argument("task", nargs="?", help=argparse.SUPPRESS)
    parser.add_argument("--sides", type=int, nargs="+", default=[10, 15, 20, 25, 30, 35, 46])
    parser.add_argument("--objectives", nargs="+", default=["l1", "value"])
    parser.add_argument("--method", default="auto")
    parser.add_argument("--names", nargs="*", help="public instances; all by default")
    parser.add_argument("--largest", type=int, default=1000)
    parser.add_argument("--spread", choices=["uniform", "log"], default="uniform")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=None)
    options = parser.parse_args()
    if options.what == "one":
        print(json.dumps(run_one(json.loads(options.task))))
        return
    print("| table | cells | sensitive | objective | cost | gap | seconds | MB |")
    print("|---|--:|--:|---|--:|--:|--:|--:|")
    for objective in options.objectives:
        base = {"objective": objective, "time_limit": options.time_limit, "method": options.method}
        figures = []
        if options.what == "family":
            for side in options.sides:
                task = {
                    "side": side,
                    "seed": options.seed,
                    "largest": options.largest,
                    "spread": options.spread,
                }
                found = in_own_process(base | task)
                show(f"{side}³", objective, found)
                figures.append((found["cells"], found["seconds"]))
            print(f"\nexponents of growth, {objective}: {growth(figures)}\n")
        else:
            for file in sorted((INSTANCES / "csp").glob("*.jj")):
                if not options.names or file.stem in options.names:
                    show(file.stem, objective, in_own_process(base | {"file": str(file)}))


if __name__ == "__main__":
    main()
