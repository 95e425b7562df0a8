"""Suppression methods side by side: cost, proven bound, seconds by stage, memory; ratios to the textbook LP.

    python benchmarks/suppress.py --set small
    python benchmarks/suppress.py --set medium --methods auto,modular --only 3-D --time-limit 30
    python benchmarks/suppress.py --set three-way --methods auto --reference hypercube
    python benchmarks/suppress.py --set growth --only "some value" --methods auto --plot growth.svg
    python benchmarks/suppress.py --set public --json figures.json

The tables are artificial (`cellveil.datasets.random_table`): flat and hierarchical, with few, some and many
primary cells, weighted by value and by one; or the public instance files. Each run has a process of its own,
after one on a tiny table that compiles what is to be compiled. The bound is the cover bound, integral where
that takes a few seconds, or what the method itself has proven. "first" are the seconds until `auto` had its
first complete pattern. "cost ×" and "time ×" compare with the incremental linear program on the whole table
(or another `--reference`) in the same session, where that finishes within its limit.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

INSTANCES = Path(os.environ.get("CELLVEIL_INSTANCES") or Path(__file__).parents[2] / "shared" / "instances")

DENSITIES = {"few": (6.0, 0.3), "some": (3.0, 0.3), "many": (1.0, 0.7)}
"""Mean number of contributors and share of empty cells; primary are cells of one or two contributors."""

SHAPES: dict[str, dict[str, tuple[tuple[int, ...], tuple[int, ...]]]] = {
    "small": {
        "2-D": ((20, 25), ()),
        "3-D": ((8, 8, 8), ()),
        "4-D": ((5, 5, 5, 4), ()),
        "2-D H": ((24, 21), (0,)),
        "3-D HH": ((13, 9, 5), (0, 1)),
    },
    "medium": {
        "2-D": ((70, 70), ()),
        "3-D": ((17, 17, 17), ()),
        "4-D": ((9, 9, 8, 8), ()),
        "2-D HH": ((90, 60), (0, 1)),
        "3-D HH": ((40, 20, 6), (0, 1)),
    },
    "three-way": {
        "3-D": ((13, 11, 9), ()),
        "3-D b": ((17, 17, 17), ()),
        "3-D c": ((30, 15, 15), ()),
        "3-D H": ((30, 15, 15), (0,)),
        "3-D HH": ((40, 20, 8), (0, 1)),
    },
    "large": {
        "2-D": ((300, 300), ()),
        "3-D": ((100, 27, 18), ()),
        "4-D": ((16, 16, 16, 16), ()),
        "2-D HH": ((400, 200), (0, 1)),
        "3-D HH": ((100, 81, 22), (1, 2)),
    },
    "growth": {f"3-D {size}": ((size, size, size), ()) for size in (22, 32, 46, 68, 100)},
    "huge": {
        "2-D": ((489, 1026), ()),
        "3-D": ((100, 100, 100), ()),
        "4-D": ((32, 32, 32, 32), ()),
        "3-D HH": ((100, 242, 22), (1, 2)),
    },
}

REFERENCE_CELLS = 20_000
"""Tables with more cells are out of reach for whole-table LPs."""

BOUND_SECONDS = 5.0
GRACE = 120.0
"""Seconds beyond the limit, for reading, auditing and proving, before a run is ended."""


@dataclass(frozen=True)
class Case:
    """One table: a public instance, or what to draw."""

    name: str
    file: str = ""
    sizes: tuple[int, ...] = ()
    hierarchical: tuple[int, ...] = ()
    contributors: float = 3.0
    zeros: float = 0.3
    weight: str = "value"
    seed: int = 0


def cases(chosen: str, seed: int) -> Iterator[Case]:
    """The tables of a set."""
    if chosen == "public":
        for path in sorted((INSTANCES / "csp").glob("*.jj"), key=lambda path: path.stat().st_size):
            yield Case(path.stem, file=str(path))
        return
    for kind, (sizes, trees) in SHAPES[chosen].items():
        shape = "x".join(map(str, sizes))
        for density, (contributors, zeros) in DENSITIES.items():
            for weight in ("value", "one"):
                name = f"{kind} {shape} {density} {weight}"
                yield Case(name, "", sizes, trees, contributors, zeros, weight, seed)


# -- in a process of its own ---------------------------------------------------------------------------------


def run_one(task: dict[str, Any]) -> dict[str, Any]:
    """Build the table, and protect it or bound its cost."""
    import numpy as np

    from cellveil.clock import Deadline
    from cellveil.datasets import random_table
    from cellveil.formats.instance import read_instance
    from cellveil.problem import Status
    from cellveil.suppression import suppress
    from cellveil.suppression.bounds.cover import cover_bound

    case = Case(**task["case"])
    problem = (
        read_instance(case.file)
        if case.file
        else random_table(
            case.sizes,
            hierarchical=case.hierarchical,
            contributors=case.contributors,
            zeros=case.zeros,
            weight=case.weight,  # type: ignore[arg-type]
            seed=case.seed,
        )
    )
    if task["method"] is None:
        given = float(problem.weight[problem.status == Status.SECONDARY].sum())
        small = problem.table.num_cells <= REFERENCE_CELLS
        found = cover_bound(problem, deadline=Deadline(BOUND_SECONDS), integral=small)
        return {
            "cells": problem.table.num_cells,
            "primaries": len(problem.primaries),
            "bound": found.bound + given,
            "bound_seconds": found.seconds,
        }
    result = suppress(problem, task["method"], attackers=[], time_limit=task["time_limit"], seed=case.seed)
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        "secondaries": int(np.sum(result.pattern.hidden & (problem.status != Status.PRIMARY))),
        "cost": result.cost,
        "lower_bound": result.lower_bound,
        "outcome": result.outcome,
        "reason": result.reason,
        "seconds": dict(result.seconds),
        "lps": result.num_lps,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6,
    }


def in_a_process(case: Case, method: str | None, time_limit: float | None) -> dict[str, Any]:
    """Run one task; what goes wrong is part of the answer."""
    task = json.dumps({"case": asdict(case), "method": method, "time_limit": time_limit})
    command = [sys.executable, __file__, "--task", task]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    end = None if time_limit is None else time_limit + GRACE
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=end, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        return {"failed": "did not end in time"}
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["ended without a word"])[-1]}
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


# -- the table of figures ------------------------------------------------------------------------------------

HEADER = (
    f"{'table':<28} {'method':<12} {'cells':>8} {'prim.':>7} {'sec.':>7} {'cost':>12} {'bound':>12} "
    f"{'gap':>6} {'first':>6} {'suppress':>8} {'audit':>7} {'verify':>6} {'MB':>6} {'cost ×':>7} "
    f"{'time ×':>7}  outcome"
)


def total(seconds: dict[str, float]) -> float:
    """Suppression, audit and verification."""
    return sum(value for stage, value in seconds.items() if ":" not in stage)


def first(seconds: dict[str, float]) -> float | None:
    """Until the first complete pattern, where a stage says so."""
    stages = [seconds.get(f"suppress: {stage}") for stage in ("cubes", "start")]
    return seconds.get("suppress: bound", 0.0) + max(filter(None, stages)) if any(stages) else None


def compared(record: dict[str, Any], reference: dict[str, Any] | None) -> dict[str, Any]:
    """The record with gap and ratios, where there is something to compare with."""
    cost = record["cost"]
    record["bound"] = bound = min(max(record["bound"], record["lower_bound"] or 0.0), cost)
    record["gap"] = (cost - bound) / cost if cost > 0 else 0.0
    if reference and reference.get("reason") == "complete":
        same = cost == reference["cost"]
        record["cost_ratio"] = 1.0 if same else cost / reference["cost"] if reference["cost"] else None
        record["time_ratio"] = total(record["seconds"]) / total(reference["seconds"])
    return record


def line(record: dict[str, Any]) -> str:
    """One line of the table."""
    start = f"{record['table']:<28} {record['method']:<12} {record['cells']:>8} {record['primaries']:>7} "
    if "failed" in record:
        return f"{start}{record['failed']}"
    seconds = record["seconds"]
    start_seconds, cost_ratio, time_ratio = (
        f"{value:{width}.{digits}f}" if value is not None else f"{'–':>{width}}"
        for value, width, digits in (
            (first(seconds), 6, 1),
            (record.get("cost_ratio"), 7, 2),
            (record.get("time_ratio"), 7, 4),
        )
    )
    ended = (
        record["outcome"] if record["reason"] == "complete" else f"{record['outcome']}: {record['reason']}"
    )
    return (
        f"{start}{record['secondaries']:>7} {record['cost']:>12.6g} {record['bound']:>12.6g} "
        f"{record['gap']:>6.1%} {start_seconds} {seconds.get('suppress', 0.0):>8.2f} "
        f"{seconds.get('audit', 0.0):>7.2f} {seconds.get('verify', 0.0):>6.2f} "
        f"{record['megabytes']:>6.0f} {cost_ratio} {time_ratio}  {ended}"
    )


def geometric_mean(values: list[float]) -> str:
    """Of those above 0; with how many they are."""
    logs = [math.log(value) for value in values if value and value > 0]
    return f"{math.exp(sum(logs) / len(logs)):.3f} ({len(logs)})" if logs else "–"


def summary(records: list[dict[str, Any]]) -> Iterator[str]:
    """Geometric means per method, and what did not end safe."""
    titles = ("cost × (tables)", "time × (tables)", "cost / bound", "seconds")
    yield f"{'method':<12} {' '.join(f'{title:>18}' for title in titles)} unsafe"
    for method in dict.fromkeys(record["method"] for record in records):
        mine = [record for record in records if record["method"] == method]
        ended = [record for record in mine if "failed" not in record]
        means = [
            geometric_mean([record.get("cost_ratio") or 0.0 for record in ended]),
            geometric_mean([record.get("time_ratio") or 0.0 for record in ended]),
            geometric_mean([record["cost"] / record["bound"] for record in ended if record["bound"]]),
            geometric_mean([total(record["seconds"]) for record in ended]),
        ]
        unsafe = len(mine) - sum(record["outcome"] in ("safe", "optimal") for record in ended)
        yield f"{method:<12} {' '.join(f'{mean:>18}' for mean in means)} {unsafe:>6}"


def plot(records: list[dict[str, Any]]) -> str:
    """Seconds to the first complete pattern, and memory, against the number of cells.

    Both as shares of the largest table: straight lines where they grow as the cells do.
    """
    from cellveil.plots import line_chart

    ended = [record for record in records if "failed" not in record and first(record["seconds"])]
    last = ended[-1]
    curves = {
        "seconds to a first pattern": [
            (record["cells"], first(record["seconds"]) / first(last["seconds"])) for record in ended
        ],
        "memory": [(record["cells"], record["megabytes"] / last["megabytes"]) for record in ended],
        "proportional": [(record["cells"], record["cells"] / last["cells"]) for record in ended],
    }
    return line_chart(curves, title="Growth", x="cells", y="share of the largest table")


def bench(options: argparse.Namespace, methods: list[str], reference: str) -> Iterator[dict[str, Any]]:
    """Run all methods on all tables of the set."""
    for method in dict.fromkeys([reference, *methods]):
        in_a_process(Case("warm-up", "", (4, 4, 3)), method, 60.0)
    for case in cases(options.set, options.seed):
        if options.only not in case.name:
            continue
        about = in_a_process(case, None, 4 * BOUND_SECONDS)
        if "failed" in about:
            print(f"{case.name:<28} {about['failed']}", flush=True)
            continue
        known: dict[str, Any] | None = None
        if options.reference_limit and (reference != "textbook" or about["cells"] <= REFERENCE_CELLS):
            known = in_a_process(case, reference, options.reference_limit)
        for method in methods:
            repeats = method == reference and known is not None
            answer = known if repeats and known else in_a_process(case, method, options.time_limit)
            record = {"table": case.name, "method": method, **about, **answer}
            yield record if "failed" in record else compared(record, known)


def main() -> None:
    """Read the options, run, print."""
    from cellveil import __version__
    from cellveil.suppression import METHODS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--set", choices=[*SHAPES, "public"], default="small")
    parser.add_argument("--methods", default=",".join(METHODS), help="names, with commas")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for each method and table")
    parser.add_argument("--reference", default="textbook", help="the method that others are compared with")
    parser.add_argument("--reference-limit", type=float, default=60.0, help="seconds for that one")
    parser.add_argument("--only", default="", help="tables whose name contains this")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--plot", type=Path, help="draw seconds and memory against cells (SVG)")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        print(json.dumps(run_one(json.loads(options.task))))
        return
    methods = [name.strip() for name in options.methods.split(",")]
    unknown = [name for name in [*methods, options.reference] if name not in METHODS]
    if unknown:
        parser.error(f"unknown methods {unknown}; there are {', '.join(METHODS)}")
    reference = options.reference
    print(f"cellveil {__version__}, {platform.platform()}, Python {platform.python_version()}")
    print(f"compared with: {reference}; limit {options.time_limit:g} s\n{HEADER}", flush=True)
    records = []
    for record in bench(options, methods, reference):
        records.append(record)
        print(line(record), flush=True)
    print("\ngeometric means", *summary(records), sep="\n")
    if options.plot:
        options.plot.write_text(plot(records), encoding="utf-8")
    if options.json:
        about = {"version": __version__, "platform": platform.platform(), "reference": reference}
        options.json.write_text(json.dumps(about | {"runs": records}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
