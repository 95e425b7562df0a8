"""Three-way tables of 10,000 to 45,000 cells: cost of `auto` beside its own bound and beside the best one.

    python benchmarks/three_way.py                       eight tables, 120 seconds of the processor each
    python benchmarks/three_way.py --only HH --trace     one of them, and how cost falls
    python benchmarks/three_way.py --bounds 120          better bounds alone, so many seconds each
    python benchmarks/three_way.py --workers 2 --wall    two threads, limits on the clock on the wall

Weights are values. Each run has a process of its own, and its limit counts processor time unless `--wall` is
said. "× own" is the cost over the bound that `auto` reports, "× best" over the best one known: that of
`--best FILE`, as `--bounds … --json FILE` writes it.
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
from pathlib import Path
from types import SimpleNamespace
from typing import Any

TABLES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "30x20x20": ((30, 20, 20), ()),
    "40x30x25": ((40, 30, 25), ()),
    "60x30x20": ((60, 30, 20), ()),
    "100x27x18": ((100, 27, 18), ()),
    "35x35x35": ((35, 35, 35), ()),
    "60x25x15 H": ((60, 25, 15), (0,)),
    "40x30x20 HH": ((40, 30, 20), (0, 1)),
    "40x25x20 counts": ((40, 25, 20), ()),
}
"""Sizes, and axes that are trees."""


def problem_of(name: str, seed: int) -> Any:
    """The table that a name stands for; one of counts has values like a frequency table's."""
    from cellveil.datasets import random_table
    from cellveil.datasets.random_tables import with_primaries

    sizes, trees = TABLES[name]
    is_counts = name.endswith("counts")
    problem = random_table(sizes, hierarchical=trees, contributors=6.0 if is_counts else 3.0, seed=seed)
    if not is_counts:
        return problem
    assert problem.table.contributors is not None
    counts = problem.table.replace(values=problem.table.contributors)
    return with_primaries(counts, problem.primaries, 0.1, "value")


def count_processor_time() -> None:
    """Let time limits count processor time."""
    from cellveil import clock

    ticking = SimpleNamespace(monotonic=time.process_time, perf_counter=time.process_time)
    clock.time = ticking  # type: ignore[attr-defined]


def run_one(task: dict[str, Any]) -> dict[str, Any]:
    """Protect one table, or bound its cost, in this process."""
    import cellveil as cv
    from cellveil.clock import Deadline
    from cellveil.progress import Progress
    from cellveil.suppression.bounds.cover import cover_bound
    from cellveil.suppression.exact.relaxation import lower_bound

    if not task["wall"]:
        count_processor_time()
    problem = problem_of(task["table"], task["seed"])
    about = {"cells": problem.table.num_cells, "primaries": len(problem.primaries)}
    if task["bounds"]:
        whole = cover_bound(problem, deadline=Deadline(task["bounds"] / 2), integral=True, nodes=200)
        better = lower_bound(problem, deadline=Deadline(task["bounds"] / 2))
        return about | {"cover": whole.bound, "relaxation": better, "bound": max(whole.bound, better)}
    cv.suppress(cv.random_table((5, 4, 4), seed=1), attackers=[], time_limit=2.0)

    class Trace(Progress):
        name, last = "", math.inf

        def stage(self, name: str) -> None:
            self.name = name
            if task["trace"]:
                print(f"  {time.process_time() - cpu:7.1f} {name}", file=sys.stderr, flush=True)

        def advance(self, done: int = 1, total: int | None = None, **figures: Any) -> None:
            if task["trace"] and not figures.get("open", 1) and figures["cost"] < 0.995 * self.last:
                self.last = figures["cost"]
                print(f"  {time.process_time() - cpu:7.1f}   {self.last:,.0f}", file=sys.stderr, flush=True)

    began, cpu = time.monotonic(), time.process_time()
    found = cv.suppress(
        problem,
        attackers=[],
        seed=task["seed"],
        time_limit=task["limit"],
        workers=task["workers"],
        options=task["options"],
        progress=Trace(),
    )
    return about | {
        "secondaries": found.num_secondaries if hasattr(found, "num_secondaries") else None,
        "cost": found.cost,
        "bound": found.lower_bound,
        "outcome": str(found.outcome),
        "stages": {stage: round(seconds, 1) for stage, seconds in found.seconds.items()},
        "cpu": time.process_time() - cpu,
        "wall": time.monotonic() - began,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
    }


def in_own_process(task: dict[str, Any]) -> dict[str, Any]:
    """Do one task in a process of its own."""
    command = [sys.executable, __file__, "--task", json.dumps(task)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, check=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def geometric_mean(values: list[float]) -> float:
    """Of positive numbers."""
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values else math.nan


def show(records: dict[str, dict[str, Any]], name: str, best: dict[str, float]) -> None:
    """One line of the table of figures."""
    found = records[name]
    if "cost" not in found:
        print(
            f"| {name} | {found['cells']} | {found['cover']:,.0f} | {found['relaxation']:,.0f} |", flush=True
        )
        return
    found["own"] = found["cost"] / found["bound"]
    found["best"] = found["cost"] / max(found["bound"], best.get(name, 0.0))
    print(
        f"| {name} | {found['cells']} | {found['primaries']} | {found['cost']:,.0f} | {found['bound']:,.0f} "
        f"| {found['own']:.2f} | {found['best']:.2f} | {found['cpu']:.0f} | {found['wall']:.0f} "
        f"| {found['megabytes']:.0f} | {found['outcome']} |",
        flush=True,
    )
    print("   ", found["stages"], file=sys.stderr, flush=True)


def main() -> None:
    """Read the options, run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[""], help="tables whose name contains one of these")
    parser.add_argument("--time-limit", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--wall", action="store_true")
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--bounds", type=float, default=0.0)
    parser.add_argument("--option", nargs="*", default=[], help="options of auto, name=value")
    parser.add_argument("--best", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--task", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.task:
        print(json.dumps(run_one(json.loads(given.task))))
        return
    best = json.loads(given.best.read_text("utf-8")) if given.best else {}
    task = {key: getattr(given, key) for key in ("seed", "workers", "wall", "trace", "bounds")}
    task |= {"limit": given.time_limit, "options": dict(each.split("=", 1) for each in given.option)}
    records: dict[str, dict[str, Any]] = {}
    for name in TABLES:
        if any(part in name for part in given.only):
            records[name] = in_own_process(task | {"table": name})
            show(records, name, {each: found["bound"] for each, found in best.items()})
    if not given.bounds:
        own, better = (geometric_mean([found[key] for found in records.values()]) for key in ("own", "best"))
        print(f"geometric means: {own:.3f} × own bound, {better:.3f} × best bound")
    if given.json:
        given.json.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
