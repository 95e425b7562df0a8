"""What does each stage of `auto` bring? Costs with one stage left out, as ratios to the full plan.

    python benchmarks/ablation.py                       twelve tables, three seeds, without a time limit
    python benchmarks/ablation.py --time-limit 20       with one
    python benchmarks/ablation.py --tables 6x6 4x4x4 --seeds 1

Printed is a table in Markdown: for each stage the geometric mean and the largest ratio of costs, and the
ratio of times. A ratio of costs above 1 says that the stage pays; stages that no table runs are not listed.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import cellveil as cv
from cellveil.progress import Progress
from cellveil.suppression.methods.auto import PLANS, optional_stages

TABLES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "6x6": ((6, 6), ()),
    "15x12": ((15, 12), ()),
    "30x20": ((30, 20), ()),
    "14x5h": ((14, 5), (0,)),
    "12x10hh": ((12, 10), (0, 1)),
    "4x4x4": ((4, 4, 4), ()),
    "6x5x4": ((6, 5, 4), ()),
    "8x7x6": ((8, 7, 6), ()),
    "12x10x8": ((12, 10, 8), ()),
    "9x4x4h": ((9, 4, 4), (0,)),
    "3x3x3x3": ((3, 3, 3, 3), ()),
    "5x4x3x3": ((5, 4, 3, 3), ()),
}
"""Sizes, and which dimensions are hierarchical."""


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


def run(problem: cv.Problem, seed: int, time_limit: float | None, without: str = "") -> Run:
    """Suppress by `auto`, with one stage left out."""
    stages, begun = Stages(), time.perf_counter()
    result = cv.suppress(
        problem, "auto", seed=seed, time_limit=time_limit, options={"without": without}, progress=stages
    )
    assert result.is_safe
    return Run(result.cost, time.perf_counter() - begun, stages.names)


def ablation(
    tables: Sequence[str], seeds: int, time_limit: float | None
) -> dict[str, list[tuple[float, float]]]:
    """For each stage the ratios of costs and of seconds, over tables and seeds where it runs."""
    names = dict.fromkeys(name for plan in PLANS for name in optional_stages(plan))
    ratios: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for table in tables:
        sizes, hierarchical = TABLES[table]
        problem = cv.random_table(sizes, hierarchical=list(hierarchical), seed=len(table))
        for seed in range(1, seeds + 1):
            full = run(problem, seed, time_limit)
            for name in names:
                if name in full.stages and full.cost > 0:
                    less = run(problem, seed, time_limit, name)
                    ratios[name].append((less.cost / full.cost, less.seconds / full.seconds))
    return {name: found for name, found in ratios.items() if found}


def markdown(ratios: dict[str, list[tuple[float, float]]]) -> str:
    """The table."""
    lines = ["| left out | runs | cost, mean | cost, largest | time, mean |", "|---|--:|--:|--:|--:|"]
    for name, found in ratios.items():
        costs, seconds = zip(*found, strict=True)
        means = [math.exp(math.fsum(map(math.log, each)) / len(each)) for each in (costs, seconds)]
        lines.append(f"| {name} | {len(found)} | {means[0]:.4f} | {max(costs):.4f} | {means[1]:.2f} |")
    return "\n".join(lines)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--time-limit", type=float)
    given = parser.parse_args()
    print(markdown(ablation(given.tables, given.seeds, given.time_limit)))


if __name__ == "__main__":
    main()
