"""Are patterns the same in two checkouts? Seeded runs without a time limit: all methods, twenty tables.

    python benchmarks/same_patterns.py OLD NEW             two checkouts, each with its src folder
    python benchmarks/same_patterns.py OLD NEW --margin 1  costs may differ by 1 % instead
    python benchmarks/same_patterns.py OLD --keep old.json runs of one, to be given in its place later

Each checkout runs in processes of its own, by public names only. Printed is every run that differs, and at
the end how many do; the exit code says whether any does.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

INSTANCES = Path(os.environ.get("CELLVEIL_INSTANCES") or Path(__file__).parents[2] / "shared" / "instances")

SHAPES = {
    "6x6": (6, 6),
    "10x8": (10, 8),
    "15x12": (15, 12),
    "30x20": (30, 20),
    "4x4x4": (4, 4, 4),
    "6x5x4": (6, 5, 4),
    "8x7x6": (8, 7, 6),
    "12x10x8": (12, 10, 8),
    "3x3x3x3": (3, 3, 3, 3),
    "5x4x3x3": (5, 4, 3, 3),
    "9x9x3": (9, 9, 3),
}
PUBLIC = ("targus", "table7", "table8", "osorio", "hie1327d", "hie1372d", "cbs")
BUSINESS = ("business", "linked")

SLOW = {"genetic", "optimal", "textbook", "grouped", "modular"}
"""Run on the tables of up to `SMALL` cells only."""
SMALL = 200
FLAT = {"network", "cycles"}
"""For two-way tables."""


def problem_of(name: str) -> Any:
    """The problem that a name stands for."""
    import cellveil as cv

    if name in SHAPES:
        return cv.random_table(list(SHAPES[name]), seed=len(name))
    if name in BUSINESS:
        data = cv.business(2_000, 3)
        industry, region, size = data.dimensions
        pairs = [(region, size)] if name == "business" else [(region, size), (industry, size)]
        tables = [cv.tabulate(data.frame, dims, "turnover", contributor="firm") for dims in pairs]
        return cv.make_problem(tables[0] if len(tables) == 1 else cv.link(tables), cv.PPercent(10))
    return cv.read_instance(next(INSTANCES.glob(f"*/{name}.jj")))


def run_table(name: str) -> dict[str, list[Any]]:
    """Digest of the pattern and cost of every method, in this process."""
    import cellveil as cv

    problem, found = problem_of(name), {}
    methods = [m for m in cv.METHODS if m not in FLAT or name.count("x") == 1]
    for method in methods:
        if method in SLOW and problem.table.num_cells > SMALL:
            continue
        try:
            result = cv.suppress(problem, method, attackers=[], seed=5)
        except cv.CellveilError as error:
            found[method] = [type(error).__name__, 0.0]
            continue
        digest = hashlib.sha256(result.pattern.hidden.tobytes()).hexdigest()[:16]
        found[method] = [digest, result.cost]
    if problem.table.num_cells <= SMALL:
        try:
            values = cv.adjust(problem, "tabu", seed=5).values
            found["adjust"] = [hashlib.sha256(values.tobytes()).hexdigest()[:16], 0.0]
        except cv.CellveilError as error:
            found["adjust"] = [type(error).__name__, 0.0]
    return found


def run_checkout(folder: Path, name: str) -> dict[str, list[Any]]:
    """The same, in a process that imports the package from the checkout; or as kept in a file."""
    if folder.is_file():
        kept: dict[str, dict[str, list[Any]]] = json.loads(folder.read_text("utf-8"))
        return kept[name]
    environment = os.environ | {"PYTHONPATH": str(folder / "src"), "CELLVEIL_INSTANCES": str(INSTANCES)}
    done = subprocess.run(
        [sys.executable, __file__, "--table", name],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{folder}, {name}:\n{done.stderr}")
    answer: dict[str, list[Any]] = json.loads(done.stdout.splitlines()[-1])
    return answer


def main() -> None:
    """Compare two checkouts, or run one table (for the processes)."""
    parser = argparse.ArgumentParser()
    parser.add_argument("checkouts", nargs="*", type=Path)
    parser.add_argument("--tables", nargs="*", default=[*SHAPES, *PUBLIC, *BUSINESS])
    parser.add_argument("--margin", type=float, default=None, help="per cent by which costs may differ")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--table", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.table:
        print(json.dumps(run_table(given.table)))
        return
    if given.keep:
        runs = {name: run_checkout(given.checkouts[0], name) for name in given.tables}
        given.keep.write_text(json.dumps(runs, indent=1), "utf-8")
        return
    old, new = given.checkouts
    differing = total = 0
    for name in given.tables:
        before, after = run_checkout(old, name), run_checkout(new, name)
        for method in before:
            total += 1
            one, other = before[method], after.get(method, ["nothing", 0.0])
            is_same = one[0] == other[0]
            if not is_same and given.margin is not None and one[1] > 0:
                is_same = abs(other[1] - one[1]) <= given.margin / 100 * one[1]
            if not is_same:
                differing += 1
                print(f"{name:10} {method:12} cost {one[1]:,.0f} → {other[1]:,.0f}", flush=True)
        print(f"{name:10} {len(before)} runs", flush=True)
    print(f"{differing} of {total} runs differ on {len(given.tables)} tables")
    raise SystemExit(bool(differing))


if __name__ == "__main__":
    main()
