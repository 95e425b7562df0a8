"""`optimal` on public instances and artificial tables, and against a plain Benders loop.

    python benchmarks/exact.py public --time-limit 600 --docs docs/lab/exact.md
    python benchmarks/exact.py two-way --seeds 10 --time-limit 300
    python benchmarks/exact.py benders --only public,two-way --time-limit 300

`public` solves the instance files up to `--most` cells; with `--docs` it writes the table of figures into
that page, between its marks. `two-way` solves flat tables of 100×100 with 5 % primary cells. `benders` solves
tables that can be proven and small ones both by `optimal` and by the textbook loop: a master program over the
patterns, its optimum attacked demand by demand, one row per broken demand, with the capacities as they
are; and on until none is. A run that the limit cuts short counts as the limit, and is marked.
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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

INSTANCES = Path(os.environ.get("CELLVEIL_INSTANCES") or Path(__file__).parents[2] / "shared" / "instances")
START, END = "<!-- figures: made by benchmarks/exact.py -->\n", "<!-- end of figures -->"
WIDEST = 1e3
"""The plain loop cuts capacities at so many times the amount, infinite ones among them."""

PUBLIC = ("targus", "table8", "table1", "table6", "table7", "hie1372d")
TWO_WAY = tuple(f"5% 100x100 {seed}" for seed in range(10))
SMALL = (
    *(f"5% {size} {seed}" for size in ("20x20", "40x40") for seed in (1, 2)),
    *(f"three-way {size} {seed}" for size in ("6x6x4", "6x6x6") for seed in (1, 2)),
    *(f"tree {size} {seed}" for size in ("13x6x4", "13x7x5") for seed in (1, 2)),
)
BENDERS = {"public": PUBLIC, "two-way": TWO_WAY, "small": SMALL}
"""Tables on which the plain loop is compared: those that can be proven, and small ones."""


def problem_of(name: str) -> Any:
    """A public instance, or an artificial table."""
    from cellveil.datasets import random_table
    from cellveil.formats.jj import read_jj

    if " " not in name:
        return read_jj(INSTANCES / "csp" / f"{name}.jj")
    kind, size, seed = name.split()
    sizes = tuple(map(int, size.split("x")))
    if kind == "5%":
        return random_table(sizes, primaries=0.05, zeros=0.0, contributors=6, seed=int(seed))
    return random_table(sizes, hierarchical=[0] if kind == "tree" else (), seed=int(seed))


# -- in a process of its own ---------------------------------------------------------------------------------


def run_one(name: str, method: str, time_limit: float) -> dict[str, Any]:
    """Solve one table; the pattern of `optimal` is audited and its certificate verified."""
    from cellveil.certificate import verify
    from cellveil.clock import Deadline
    from cellveil.judge.outsider import audit_outsider
    from cellveil.pattern import Pattern
    from cellveil.suppression.methods.optimal import optimal

    optimal(problem_of("two-way 4x4 1"))  # loads what is loaded once
    problem = problem_of(name)
    began = time.monotonic()
    if method == "benders":
        return plain_benders(problem, time_limit) | {"seconds": time.monotonic() - began}
    draft = optimal(problem, deadline=Deadline(time_limit))
    seconds = time.monotonic() - began
    pattern = Pattern.hiding(problem, draft.hidden, "optimal")
    report = audit_outsider(problem, pattern, exact=False, claims=draft.witnesses)
    cost = float(problem.weight[draft.hidden & ~problem.hidden_at_start].sum())
    return {
        "cells": problem.table.num_cells,
        "primaries": len(problem.primaries),
        "cost": cost,
        "bound": draft.lower_bound,
        "is_proven": draft.lower_bound is not None and draft.lower_bound >= cost * (1 - 1e-9),
        "is_certified": verify(problem, pattern, report.certificate).is_valid,
        "attacks": draft.num_lps,
        "seconds": seconds,
        **draft.figures,
    }


def plain_benders(problem: Any, time_limit: float) -> dict[str, Any]:
    """The textbook loop, part by part."""
    from cellveil.suppression.exact.parts import parts_of

    end = time.monotonic() + time_limit
    parts, stuck = parts_of(problem)
    assert not stuck
    costs = [_benders_part(part, end) for part in parts]
    return {"cost": None if None in costs else float(sum(costs)), "is_proven": None not in costs}


def _benders_part(part: Any, end: float) -> float | None:
    import pyscipopt
    from pyscipopt import quicksum

    from cellveil.suppression.exact.fractional_attack import LPAttacker

    attacker = LPAttacker(part)
    rows: list[tuple[NDArray[np.int64], NDArray[np.float64], float]] = []
    while time.monotonic() < end:
        model = pyscipopt.Model()
        model.hideOutput()
        model.setParam("limits/time", max(end - time.monotonic(), 0.01))
        x = [
            model.addVar(vtype="B", obj=float(price), lb=float(held))
            for price, held in zip(part.price, part.held, strict=True)
        ]
        for columns, shares, amount in rows:
            model.addCons(quicksum(s * x[c] for c, s in zip(columns, shares, strict=True)) >= amount)
        model.optimize()
        if model.getStatus() != "optimal":
            return None
        chosen = np.array([model.getVal(one) for one in x]) > 0.5
        broken = [row for need in part.needs if (row := _broken_row(part, attacker, need, chosen))]
        if not broken:
            return float(part.price[chosen].sum())
        rows += broken
    return None


def _broken_row(part: Any, attacker: Any, need: Any, chosen: NDArray[np.bool_]) -> Any:
    """What keeps a demand from being met by a whole pattern: Σ capacity · x ≥ 1, in units of the amount."""
    rooms = np.minimum(np.concatenate([part.up, part.down]) / need.amount, WIDEST)
    push = attacker.push(need.own, need.up, rooms * np.tile(chosen, 2))
    if push is None or not push.combinations:
        return None
    combination = push.combinations[0]
    size = combination[need.own]
    rises = (combination < 0) == ((size > 0) == need.up)
    shares = np.where(rises, rooms[: len(rises)], rooms[len(rises) :]) * np.abs(combination / size)
    shares[need.own] = 0.0
    columns = np.flatnonzero(shares)
    return columns, shares[columns], 1.0


# -- from outside --------------------------------------------------------------------------------------------


def in_a_process(name: str, method: str, time_limit: float) -> dict[str, Any]:
    """Run one table; what goes wrong is part of the answer."""
    command = [sys.executable, __file__, "task", json.dumps([name, method, time_limit])]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["ended without a word"])[-1]}
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


COLUMNS = (
    "table",
    "cells",
    "primaries",
    "best pattern",
    "bound",
    "gap",
    "nodes",
    "rows",
    "attacks",
    "seconds",
)


def line(name: str, answer: dict[str, Any]) -> str:
    """One line of the table."""
    if "failed" in answer:
        return f"| {name} | {answer['failed']} |"
    cost, bound = answer["cost"], answer["bound"]
    gap = "proven optimal" if answer["is_proven"] else f"{(cost - bound) / cost:.2%}"
    figures = [f"{answer[key]:,}" for key in ("nodes", "rows", "attacks")]
    entries = [f"{answer['cells']:,}", str(answer["primaries"]), f"{cost:,.0f}", f"{bound:,.0f}", gap]
    ended = f"{answer['seconds']:.1f}" + ("" if answer["is_certified"] else ", NOT CERTIFIED")
    return f"| {' | '.join([name, *entries, *figures, ended])} |"


def table(names: list[str], time_limit: float) -> Iterator[str]:
    """Solve them one by one."""
    yield f"| {' | '.join(COLUMNS)} |"
    yield f"|{'---|' * len(COLUMNS)}"
    for name in names:
        yield line(name, in_a_process(name, "optimal", time_limit))


def small_enough(most: int) -> list[str]:
    """The public instances up to so many cells, the smallest first."""
    sizes = {path.stem: problem_of(path.stem).table.num_cells for path in (INSTANCES / "csp").glob("*.jj")}
    return sorted((name for name, cells in sizes.items() if cells <= most), key=lambda name: sizes[name])


def compare(kinds: list[str], time_limit: float) -> Iterator[str]:
    """`optimal` against the plain loop."""
    yield f"{'table':<20} {'optimal':>9} {'plain':>9} {'ratio':>7}  least cost"
    ratios: dict[str, list[float]] = {}
    for kind in kinds:
        ratios[kind] = []
        for name in BENDERS[kind]:
            ours, plain = (in_a_process(name, method, time_limit) for method in ("optimal", "benders"))
            if "failed" in ours or "failed" in plain:
                yield f"{name:<20} {ours.get('failed', '')} {plain.get('failed', '')}"
                continue
            seconds = [
                min(one["seconds"], time_limit) if one["is_proven"] else time_limit for one in (ours, plain)
            ]
            ratios[kind].append(seconds[1] / seconds[0])
            cut = ["" if one["is_proven"] else "+" for one in (ours, plain)]
            differs = plain["is_proven"] and ours["is_proven"] and abs(plain["cost"] - ours["cost"]) > 1e-6
            yield (
                f"{name:<20} {seconds[0]:>8.2f}{cut[0]:1} {seconds[1]:>8.2f}{cut[1]:1} "
                f"{ratios[kind][-1]:>7.1f}  {ours['cost']:,.0f}{' DIFFERS' if differs else ''}"
            )
    together = [ratio for each in ratios.values() for ratio in each]
    for kind, each in [*ratios.items(), ("all", together)]:
        mean = math.exp(sum(map(math.log, each)) / max(len(each), 1))
        yield f"geometric mean of the ratios, {kind}: {mean:.1f} ({len(each)} tables)"
    yield "+ is cut short by the limit and counts as the limit"


def main() -> None:
    """Read the options, run, print."""
    from cellveil import __version__

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["public", "two-way", "benders", "task"])
    parser.add_argument("task", nargs="?", help=argparse.SUPPRESS)
    parser.add_argument("--time-limit", type=float, default=600.0, help="seconds for each table and method")
    parser.add_argument("--most", type=int, default=3_100, help="public instances up to so many cells")
    parser.add_argument(
        "--only", default="", help="with commas: names of public instances, or kinds of tables for benders"
    )
    parser.add_argument("--seeds", type=int, default=10, help="how many two-way tables")
    parser.add_argument("--docs", type=Path, help="the page to write the figures into")
    options = parser.parse_args()
    if options.what == "task":
        print(json.dumps(run_one(*json.loads(options.task))))
        return
    about = f"cellveil {__version__}, {platform.machine()}, limit {options.time_limit:g} s for each table."
    print(about, flush=True)
    if options.what == "benders":
        lines = compare(options.only.split(",") if options.only else list(BENDERS), options.time_limit)
    else:
        chosen = options.only.split(",") if options.only else small_enough(options.most)
        names = chosen if options.what == "public" else [f"5% 100x100 {k}" for k in range(options.seeds)]
        lines = table(names, options.time_limit)
    printed = []
    for one in lines:
        print(one, flush=True)
        printed.append(one)
    if options.docs:
        text = options.docs.read_text(encoding="utf-8")
        before, after = text[: text.index(START) + len(START)], text[text.index(END) :]
        figures = f"{about}\n\n" + "\n".join(printed) + "\n"
        options.docs.write_text(before + figures + after, encoding="utf-8")


if __name__ == "__main__":
    main()
