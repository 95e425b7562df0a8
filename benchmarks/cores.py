"""Are the cores used? `auto` with one worker and with two: cost at equal time, and time to equal cost.

    python benchmarks/cores.py                                   irregular and three-way tables, 60 seconds
    python benchmarks/cores.py --tables hier16 ninenew --limit 30 --seeds 1 2
    python benchmarks/cores.py --tables hier16 --limit 60 --cpu  on a machine that does other things too
    python benchmarks/cores.py --faster 1.5                      two workers have two thirds of the time

Every run has a process of its own. *Cost* is that of one worker at the limit over that of two. *Time* is
the moment at which one worker had found the dearer of the two patterns, or one as cheap, over that of two
workers. Both are above 1 where the second core is of use; means are geometric.

The plans of `auto` are made for the limit: whatever the number of workers, the cheapest patterns come towards
its end, so *time* says little where both have the same limit. With `--faster F` two workers get the limit
divided by F. Where *cost* is 1 or more then, whoever gives two workers has a pattern as cheap F times sooner.

With `--cpu` the clock is the processor time of the first thread, or that of the whole process shared out over
the workers, whichever is more: about what a quiet machine would take, less what workers wait for each other.
Names of tables are those of `limits.py` and `three_way.py`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import threading
import time
from itertools import product
from types import SimpleNamespace
from typing import Any

import limits
import three_way

IRREGULAR = ["hier13", "hier16", "two5in6", "ninenew", "nine12"]


def count_time_of_workers(workers: int) -> None:
    """Let time limits count processor time by worker; see the head of the module."""
    from cellveil import clock

    own = time.pthread_getcpuclockid(threading.main_thread().ident or 0)

    def ticking() -> float:
        return max(time.clock_gettime(own), time.process_time() / workers)

    clock.time = SimpleNamespace(monotonic=ticking, perf_counter=ticking)  # type: ignore[attr-defined]


def run_one(task: dict[str, Any]) -> dict[str, Any]:
    """Protect one table, in this process: how cost falls."""
    import cellveil as cv
    from cellveil.clock import counted_time
    from cellveil.progress import Progress

    if task["cpu"]:
        count_time_of_workers(task["workers"])
    for sizes in ((6, 7), (5, 4, 4)):
        cv.suppress(cv.random_table(sizes, seed=1), attackers=[], time_limit=2.0)
    name = task["table"]
    problem = three_way.problem_of(name, 1) if name in three_way.TABLES else limits.problem_of(name)
    falls: list[tuple[float, float]] = []

    class Trace(Progress):
        def advance(self, done: int = 1, total: int | None = None, **figures: Any) -> None:
            cost = figures.get("cost", math.inf)
            if cost < (falls[-1][1] if falls else math.inf):
                falls.append((counted_time() - began, cost))

    began = counted_time()
    found = cv.suppress(
        problem,
        attackers=[],
        time_limit=task["limit"],
        seed=task["seed"],
        workers=task["workers"],
        progress=Trace(),
    )
    return {"falls": falls, "cost": found.cost, "outcome": str(found.outcome)}


def in_own_process(task: dict[str, Any]) -> dict[str, Any]:
    """Do one task in a process of its own."""
    command = [sys.executable, __file__, "--task", json.dumps(task)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, check=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def moment(falls: list[tuple[float, float]], cost: float) -> float:
    """When a run first had a pattern at most so dear; endless where it never had."""
    return next((when for when, least in falls if least <= cost * (1 + 1e-9)), math.inf)


def compared(one: dict[str, Any], two: dict[str, Any]) -> tuple[float, float]:
    """How many times as good two workers are: by cost at the limit, by time to equal cost."""
    reached = max(one["falls"][-1][1], two["falls"][-1][1])
    return one["cost"] / two["cost"], moment(one["falls"], reached) / moment(two["falls"], reached)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=[*IRREGULAR, *three_way.TABLES])
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--faster", type=float, default=1.0)
    parser.add_argument("--task", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.task:
        print(json.dumps(run_one(json.loads(given.task))))
        return
    print("| table | seed | cost, one worker | two | cost | time |\n|---|--:|--:|--:|--:|--:|")
    ratios = []
    for table, seed in product(given.tables, given.seeds):
        task = {"table": table, "seed": seed, "limit": given.limit, "cpu": given.cpu}
        one = in_own_process(task | {"workers": 1})
        two = in_own_process(task | {"workers": 2, "limit": given.limit / given.faster})
        ratios.append(compared(one, two))
        figures = f"{one['cost']:,.10g} | {two['cost']:,.10g} | {ratios[-1][0]:.3f} | {ratios[-1][1]:.2f}"
        print(f"| {table} | {seed} | {figures} |", flush=True)
    cost, faster = (three_way.geometric_mean([ratio[k] for ratio in ratios]) for k in range(2))
    print(f"geometric means: cost {cost:.3f}, time {faster:.2f}")


if __name__ == "__main__":
    main()
