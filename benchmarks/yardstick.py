"""How good are the results? Cost, proven bound and suppressed cells by family, at fixed processor time.

    python benchmarks/yardstick.py run                       everything: 10 and 60 s, three seeds; hours
    python benchmarks/yardstick.py run --family two-way counts --limit 10 --seeds 1 --out new.json
    python benchmarks/yardstick.py show benchmarks/results/0.1.0.json
    python benchmarks/yardstick.py compare benchmarks/results/0.1.0.json new.json
    python benchmarks/yardstick.py compare OLD NEW --margin 1   exit code 1 where a family costs 1 % more

Every run has a process of its own and one worker, and its limit counts processor time, so it matters little
what else the machine does. A tiny table is protected first, so that compiled loops are loaded. Audit and
verification come on top of the limit. A seed is that of the search, and of the table where that is invented.

Results go to benchmarks/results, a file for each version, unless `--out` names another one. Runs that the
file has already are not repeated, failed ones aside: an interrupted `run` goes on where it was left.

Means are geometric, over the runs that both files have. *Cost* and *cells* (suppressed, or changed by
adjustment) are better below 1, *bound* above 1. A family gets worse where *cost* exceeds the margin, where a
run is no longer safe, or where a run of the old file is missing in the new one.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import limits
import numpy as np
from ablation import count_processor_time

import cellveil as cv
from cellveil.datasets.linked_tables import publication
from cellveil.datasets.random_tables import with_primaries
from cellveil.tables.build import assemble, roll_up

RESULTS = Path(__file__).parent / "results"
LIMITS, SEEDS = (10.0, 60.0), 3
SIZES = {"2,000": (13, 13, 12), "10,000": (22, 22, 21), "45,000": (38, 39, 30)}
"""Three-way tables by their cells, empty ones among them."""

Make = Callable[[int], cv.Problem]
Run = dict[str, Any]
KEY = ("family", "table", "seed", "limit")


def random(*sizes: int, trees: Sequence[int] = (), **settings: Any) -> Make:
    """A random table, whose values have heavy tails."""
    return lambda seed: cv.random_table(sizes, hierarchical=trees, seed=seed, **settings)


def giants(*sizes: int) -> Make:
    """Primaries anywhere, the largest cells among them."""
    return random(*sizes, contributors=8, zeros=0.2, primaries=0.065)


def moderate(*sizes: int, weight: Any = "value") -> Make:
    """Values of 1 to 1,000, all equally likely; primaries anywhere."""

    def make(seed: int) -> cv.Problem:
        rng = np.random.default_rng(seed)
        codes = [[f"{'abc'[axis]}{place}" for place in range(size - 1)] for axis, size in enumerate(sizes)]
        dims = [cv.Dimension.of(f"d{axis}", cv.Hierarchy.flat(some)) for axis, some in enumerate(codes)]
        leaves = np.meshgrid(*(np.flatnonzero(~dim.is_parent) for dim in dims), indexing="ij")
        stored = rng.random(leaves[0].size) >= 0.17
        keys = [axis.ravel()[stored].astype(np.int32) for axis in leaves]
        all_keys, (values,) = roll_up(dims, keys, [rng.integers(1, 1001, len(keys[0]))])
        table = assemble(dims, all_keys, values, 0)
        primaries = rng.choice(table.num_cells, round(0.054 * table.num_cells), replace=False)
        return with_primaries(table, np.sort(primaries), 0.1, weight)

    return make


def counts(*sizes: int) -> Make:
    """A table of numbers of contributors."""

    def make(seed: int) -> cv.Problem:
        problem = cv.random_table(sizes, contributors=6.0, seed=seed)
        table = problem.table.replace(values=problem.table.contributors)
        return with_primaries(table, problem.primaries, 0.1, "value")

    return make


def named(name: str) -> Make:
    """A table of `limits.py`: a public instance, or one of invented firms."""
    return lambda _: limits.problem_of(name)


def in_sizes(make: Callable[..., Make], **settings: Any) -> dict[str, Make]:
    """Three-way tables of one kind."""
    return {name: make(*sizes, **settings) for name, sizes in SIZES.items()}


FAMILIES: dict[str, dict[str, Make]] = {
    "two-way": {"60x40": random(60, 40), "100x100": random(100, 100)},
    "two-way trees": {"40x30": random(40, 30, trees=(0,)), "90x60": random(90, 60, trees=(0, 1))},
    "moderate values": in_sizes(moderate),
    "giants": in_sizes(giants),
    "three-way trees": in_sizes(random, trees=(0, 1)),
    "unit weights": in_sizes(moderate, weight="one"),
    "counts": in_sizes(counts),
    "four-way": {"5x4x3x3": random(5, 4, 3, 3), "9x9x8x8": random(9, 9, 8, 8)},
    "linked": {f"{cells:,}": lambda seed, cells=cells: publication(cells, tables=20, seed=seed)
               for cells in (2_000, 20_000)},
    "irregular": {name: named(name) for name in ("hier13", "hier16", "two5in6", "ninenew")},
    "contributors": {name: named(name) for name in ("1560", "17401")},
    "adjustment": {"20x20": random(20, 20), "30x15x15": random(30, 15, 15), "hier13": named("hier13")},
    "a million cells": {"100x100x100": random(100, 100, 100)},
}  # fmt: skip
"""Tables by family and name: functions of the seed."""


def run_one(task: Run) -> Run:
    """Protect or adjust one table, in this process."""
    count_processor_time()
    family, seed, limit = task["family"], task["seed"], task["limit"]
    problem = FAMILIES[family][task["table"]](seed)
    found = {"cells": problem.table.num_cells, "primaries": len(problem.primaries)}
    tiny = cv.random_table((5, 4, 4), seed=1)
    result: Any
    if family == "adjustment":
        cv.adjust(tiny, time_limit=2.0)
        began = time.process_time()
        result = cv.adjust(problem, time_limit=limit, seed=seed)
        found["suppressed"] = int((result.values != problem.table.values).sum())
    else:
        attackers = [cv.Attacker("insider")] if family == "contributors" else []
        cv.suppress(tiny, attackers=[], time_limit=2.0)
        began = time.process_time()
        result = cv.suppress(problem, attackers=attackers, time_limit=limit, seed=seed, workers=1)
        found["suppressed"] = int(result.pattern.hidden.sum())
    seconds = round(time.process_time() - began, 1)
    return found | {
        "cost": result.cost,
        "bound": result.lower_bound,
        "is_safe": result.is_safe,
        "outcome": str(result.outcome),
        "seconds": seconds,
    }


def in_own_process(task: Run) -> Run:
    """The same, in a process of its own."""
    command = [sys.executable, __file__, "--task", json.dumps(task)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1][:200], "is_safe": False}
    answer: Run = json.loads(done.stdout.splitlines()[-1])
    return answer


def key_of(run: Run) -> tuple[Any, ...]:
    """What tells runs apart."""
    return tuple(run[name] for name in KEY)


def read(path: Path) -> list[Run]:
    """The runs of a file."""
    runs: list[Run] = json.loads(path.read_text("utf-8"))["runs"] if path.exists() else []
    return runs


def write(path: Path, runs: Iterable[Run]) -> None:
    """Write the runs, one in a line."""
    about = {"version": cv.__version__, "machine": f"{platform.machine()}, {os.cpu_count()} cores"}
    lines = ",\n  ".join(json.dumps(run) for run in runs)
    head = json.dumps(about)[:-1]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'{head}, "runs": [\n  {lines}\n]}}\n', "utf-8")


def run_all(given: argparse.Namespace) -> None:
    """Run what the file does not have yet."""
    runs = {key_of(run): run for run in read(given.out) if "error" not in run}
    for family, limit in product(given.family, given.limit):
        for table, seed in product(FAMILIES[family], range(1, given.seeds + 1)):
            task = {"family": family, "table": table, "seed": seed, "limit": limit}
            if key_of(task) not in runs:
                runs[key_of(task)] = task | in_own_process(task)
                write(given.out, runs.values())
                print(json.dumps(runs[key_of(task)]), flush=True)
    print("\n".join(shown(runs.values())))


def mean(values: Iterable[float]) -> float:
    """The geometric mean; not a number where there is nothing."""
    some = [value for value in values if value > 0]
    return math.exp(math.fsum(map(math.log, some)) / len(some)) if some else math.nan


def groups_of(runs: Iterable[Run]) -> dict[tuple[str, float], list[Run]]:
    """Runs by family and limit."""
    found: dict[tuple[str, float], list[Run]] = {}
    for run in runs:
        found.setdefault((run["family"], run["limit"]), []).append(run)
    return found


def shown(runs: Iterable[Run]) -> Iterator[str]:
    """A table of means by family."""
    yield "| family | limit | runs | safe | cost | bound | bound / cost | suppressed |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|"
    for (family, limit), some in groups_of(runs).items():
        cost, bound, cells = (
            mean(run.get(name) or 0 for run in some) for name in ("cost", "bound", "suppressed")
        )
        gap = mean((run.get("bound") or 0) / run["cost"] for run in some if run.get("cost"))
        safe = sum(run["is_safe"] for run in some)
        figures = f"{cost:,.0f} | {bound:,.0f} | {gap:.3f} | {cells:,.0f}"
        yield f"| {family} | {limit:g} | {len(some)} | {safe} | {figures} |"


def compared(old: Sequence[Run], new: Sequence[Run], margin: float) -> tuple[list[str], bool]:
    """A table of ratios by family, and whether no family got worse."""
    lines = [
        "| family | limit | runs | cost | bound | cells | safe, old → new | |",
        "|---|--:|--:|--:|--:|--:|--:|---|",
    ]
    by_key, holds = {key_of(run): run for run in new}, True
    for (family, limit), before in groups_of(old).items():
        pairs = [(run, by_key[key_of(run)]) for run in before if key_of(run) in by_key]
        cost, bound, cells = (
            mean(b[name] / a[name] for a, b in pairs if a.get(name) and b.get(name))
            for name in ("cost", "bound", "suppressed")
        )
        lost = sum(a["is_safe"] and not b["is_safe"] for a, b in pairs)
        faults = [f"{100 * (cost - 1):.1f} % more cost"] * (cost > 1 + margin / 100)
        faults += [f"{lost} no longer safe"] * (lost > 0)
        faults += [f"{len(before) - len(pairs)} runs missing"] * (len(pairs) < len(before))
        holds &= not faults
        safe = f"{sum(a['is_safe'] for a, _ in pairs)} → {sum(b['is_safe'] for _, b in pairs)}"
        figures = f"{cost:.4f} | {bound:.4f} | {cells:.4f}"
        lines.append(f"| {family} | {limit:g} | {len(pairs)} | {figures} | {safe} | {', '.join(faults)} |")
    return lines, holds


def main() -> None:
    """Read the command line."""
    if sys.argv[1:2] == ["--task"]:
        print(json.dumps(run_one(json.loads(sys.argv[2]))))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("--family", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    run.add_argument("--limit", nargs="+", type=float, default=list(LIMITS))
    run.add_argument("--seeds", type=int, default=SEEDS)
    run.add_argument("--out", type=Path, default=RESULTS / f"{cv.__version__}.json")
    show = commands.add_parser("show")
    show.add_argument("file", type=Path)
    compare = commands.add_parser("compare")
    compare.add_argument("old", type=Path)
    compare.add_argument("new", type=Path)
    compare.add_argument("--margin", type=float, default=1.0, help="per cent by which a family may cost more")
    given = parser.parse_args()
    if given.command == "run":
        run_all(given)
    elif given.command == "show":
        print("\n".join(shown(read(given.file))))
    else:
        lines, holds = compared(read(given.old), read(given.new), given.margin)
        print("\n".join(lines))
        sys.exit(not holds)


if __name__ == "__main__":
    main()
