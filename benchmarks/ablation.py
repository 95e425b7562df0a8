"""What does each stage of a plan bring? Costs with one stage left out, as ratios to the full plan.

    python benchmarks/ablation.py                       twelve tables, three seeds, 10 s of processor time
    python benchmarks/ablation.py adjust                the same for the methods of adjustment
    python benchmarks/ablation.py --time-limit 30
    python benchmarks/ablation.py --time-limit 30 --tables hier16 two5in6 ninenew --seeds 2
    python benchmarks/ablation.py --tables 30x20 8x7x6 --seeds 1 --no-limit

Time limits count processor time of one worker here, so that it does not matter what else the machine does.
Printed is a table in Markdown: for each plan and stage the geometric mean, the least and the largest ratio of
costs, and the ratio of times. A mean ratio of costs above 1 says that the stage pays; stages that no table
runs are not listed. Tables AxBxC are random, with an h for each hierarchical dimension from the first on;
other names are public instance files.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cellveil as cv
from cellveil import clock
from cellveil.adjustment import adjusting
from cellveil.progress import Progress
from cellveil.suppression.methods.auto import optional_stages

INSTANCES = Path(os.environ.get("CELLVEIL_INSTANCES") or Path(__file__).parents[2] / "shared" / "instances")

TABLES = {
    "network": ("60x40", "40x30h"),
    "small": ("8x7x6", "12x10x8", "13x9x5hh", "5x4x3x3"),
    "large": ("17x17x17", "30x15x15", "40x20x6hh"),
    "irregular": ("hier16", "two5in6", "ninenew"),
}
"""Tables for each plan of `auto`."""

ADJUSTED = {
    "auto": ("30x20", "40x25", "8x7x6", "12x10x8", "30x12h", "13x9x5hh"),
    "tabu": ("30x20", "8x7x6", "30x12h"),
    "descent": ("30x20", "8x7x6", "30x12h"),
}
"""Tables for the methods of `adjust`."""


def problem_of(name: str) -> cv.Problem:
    """The table that a name stands for."""
    if shape := re.fullmatch(r"(\d+(?:x\d+)+)(h*)", name):
        sizes = [int(size) for size in shape[1].split("x")]
        return cv.random_table(sizes, hierarchical=list(range(len(shape[2]))), seed=len(name))
    return cv.read_instance(INSTANCES / "csp" / f"{name}.jj")


def count_processor_time() -> None:
    """Let time limits count processor time."""
    ticking = SimpleNamespace(monotonic=time.process_time, perf_counter=time.perf_counter)
    clock.time = ticking  # type: ignore[attr-defined]


class Stages(Progress):
    """Which stages a run goes through."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def stage(self, name: str) -> None:
        """See `Progress`."""
        self.names.add(name)


@dataclass(frozen=True)
class Run:
    """One run: its cost, seconds and stages."""

    cost: float
    seconds: float
    stages: set[str]


def run(problem: cv.Problem, seed: int, time_limit: float | None, without: str = "", adjust: str = "") -> Run:
    """Suppress by `auto`, or adjust by a method, with one stage left out."""
    stages, begun = Stages(), time.process_time()
    options: dict[str, Any] = {"seed": seed, "time_limit": time_limit, "options": {"without": without}}
    result: Any
    if adjust:
        result = cv.adjust(problem, adjust, progress=stages, **options)
    else:
        result = cv.suppress(problem, "auto", progress=stages, workers=1, **options)
    assert result.is_safe
    return Run(result.cost, time.process_time() - begun, stages.names)


Ratios = dict[tuple[str, str], list[tuple[float, float]]]
"""Of costs and of seconds, over tables and seeds, by plan and stage."""


def ablation(
    tables: Sequence[tuple[str, str]], seeds: int, time_limit: float | None, *, is_adjusted: bool = False
) -> Ratios:
    """Leave out every stage that runs; `tables` are pairs of plan (or method of `adjust`) and table."""
    ratios: Ratios = {}
    stages_of = adjusting.optional_stages if is_adjusted else optional_stages
    for plan, table in tables:
        problem, adjust = problem_of(table), plan if is_adjusted else ""
        for seed in range(1, seeds + 1):
            full = run(problem, seed, time_limit, "", adjust)
            for stage in stages_of(plan):
                if stage in full.stages and full.cost > 0:
                    less = run(problem, seed, time_limit, stage, adjust)
                    found = ratios.setdefault((plan, stage), [])
                    found.append((less.cost / full.cost, less.seconds / full.seconds))
    return ratios


def markdown(ratios: Ratios) -> str:
    """The table."""
    lines = [
        "| plan | left out | runs | cost, mean | least | largest | time, mean |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for (plan, stage), found in ratios.items():
        costs, seconds = zip(*found, strict=True)
        cost, taken = (math.exp(math.fsum(map(math.log, each)) / len(each)) for each in (costs, seconds))
        spread = f"{min(costs):.3f} | {max(costs):.3f}"
        lines.append(f"| {plan} | {stage} | {len(found)} | {cost:.3f} | {spread} | {taken:.2f} |")
    return "\n".join(lines)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["auto", "adjust"], default="auto")
    parser.add_argument("--tables", nargs="+")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--time-limit", type=float, default=10.0)
    parser.add_argument("--no-limit", action="store_true")
    given = parser.parse_args()
    is_adjusted = given.what == "adjust"
    plans = ADJUSTED if is_adjusted else TABLES
    count_processor_time()
    run(problem_of("4x4x4"), 0, None, "", "auto" if is_adjusted else "")
    chosen = [(plan, t) for plan, tables in plans.items() for t in tables if t in (given.tables or tables)]
    limit = None if given.no_limit else given.time_limit
    print(markdown(ablation(chosen, given.seeds, limit, is_adjusted=is_adjusted)))


if __name__ == "__main__":
    main()
