"""Protection against insiders: the price beside the proven optimum on small tables, and a second judge.

    export PYTHONPATH=tests
    python benchmarks/insiders.py small 500             costs beside the optimum of the program over all pairs
    python benchmarks/insiders.py judge 1560 --limit 60 --pairs 100000
    python benchmarks/insiders.py judge 17401 --limit 60 --pairs 300
    python benchmarks/insiders.py judge 17076 --level holding --limit 180
    python benchmarks/insiders.py judge 17076 --coalition 2 --limit 180 --pairs 200
    python benchmarks/insiders.py judge sales --limit 60 --cpu     200,000 records, four dimensions
    python benchmarks/insiders.py judge 45677 --limit 300 --pairs 100 --level holding --weights

`judge` takes a random sample of pairs of a group and a cell, and as many of the giants, the largest
contributors. Coalitions are those of giants, of contributors to the cell, and of contributors to small hidden
cells in its lines, who stand in the way of the deviations that protect it. With `--weights` amounts are
grossed up; that judge knows of no weights, so the exact verifier has the last word.
Both work on contributions alone (`tests/helpers/insider_judge.py`): no object of the package takes part in
the judgement. Time limits count processor time with `--cpu`.
"""

from __future__ import annotations

import argparse
import time
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
from ablation import count_processor_time

import cellveil as cv
from cellveil.attackers.attacker import Attacker
from cellveil.datasets import business
from helpers.insider_judge import Attack, Contributed, Group, Key, broken
from helpers.insider_tables import beside_the_optimum

CHOSEN = {
    "1560": (50_000, ("industry", "size")),
    "17076": (50_000, ("industry", "region")),
    "17401": (3_000, ("industry", "region", "size")),
    "45677": (50_000, ("industry", "region", "size")),
}
"""Business tables: firms, dimensions."""

SALES = "sales"
"""An invented table of four dimensions: most of its cells have few contributors."""

FEW = 3
"""Contributors of a small cell."""

GIANTS = 5
"""The contributors with most turnover, all pairs of which are judged."""


def small(number: int) -> None:
    """Costs of random small tables beside the optimum."""
    ratios, unsafe, seconds = [], 0, 0.0
    for seed in range(number):
        found = beside_the_optimum(seed)
        unsafe += found.unsafe
        seconds += found.seconds
        if found.least:
            ratios.append(found.cost / found.least)
    print(
        f"{number} tables, {len(ratios)} with costs: {np.mean(ratios):.4f} times the optimum in the mean, "
        f"{np.max(ratios):.3f} at most, {np.mean(np.array(ratios) > 1 + 1e-9):.1%} above; {unsafe} unsafe; "
        f"{seconds / number:.2f} s a table"
    )


def sales(records: int = 200_000, firms: int = 60_000, seed: int = 1) -> SimpleNamespace:
    """Invented sales of firms by industry, region, size class and legal form."""
    rng = np.random.default_rng(seed)
    branches = {f"I{i}": [f"I{i}{j}" for j in range(7)] for i in range(7)}
    regions = {f"R{i}": [f"R{i}{j}" for j in range(4)] for i in range(4)}
    codes = {
        "industry": np.array([code for below in branches.values() for code in below]),
        "region": np.array([code for below in regions.values() for code in below]),
        "size": np.array(["small", "medium", "large", "giant"]),
        "form": np.array(["public", "private", "other"]),
    }
    size = np.minimum(rng.geometric(0.55, firms) - 1, 3)
    drawn = {
        "industry": rng.choice(len(codes["industry"]), firms, p=rng.dirichlet(np.full(49, 0.35))),
        "size": size,
        "form": rng.choice(3, firms, p=[0.7, 0.25, 0.05]),
    }
    firm = rng.integers(0, firms, records)
    place = {name: each[firm] for name, each in drawn.items()}
    place["region"] = rng.choice(16, records, p=rng.dirichlet(np.full(16, 0.8)))
    amount = np.rint(rng.lognormal(3, 1.6, records) * 10.0 ** (0.6 * size[firm])).astype(np.int64) + 1
    columns = {name: codes[name][place[name]] for name in codes}
    frame = pa.table(columns | {"firm": np.char.add("F", firm.astype(str)), "turnover": amount})
    trees: dict[str, Any] = {"industry": {"Total": branches}, "region": {"Total": regions}}
    dimensions = [
        cv.Dimension.of(
            name,
            cv.Hierarchy.from_dict(trees[name]) if name in trees else cv.Hierarchy.flat(list(codes[name])),
        )
        for name in codes
    ]
    return SimpleNamespace(frame=frame, dimensions=dimensions)


def judge(given: argparse.Namespace) -> None:
    """Protect business data, and judge the result anew."""
    if given.table == SALES:
        data = sales()
        dims = data.dimensions
    else:
        firms, names = CHOSEN[given.table]
        data = business(firms)
        dims = [dim for dim in data.dimensions if dim.name in names]
    holding = "holding" if given.level == "holding" else None
    weight = "weight" if given.weights else None
    table = cv.tabulate(data.frame, dims, "turnover", contributor="firm", holding=holding, weight=weight)
    problem = cv.make_problem(table, cv.PPercent(10, level=given.level))
    attacker = Attacker("insider", level=given.level, coalition=given.coalition)
    began = time.monotonic()
    found = cv.suppress(problem, attackers=[attacker], time_limit=given.limit)
    seconds = time.monotonic() - began
    print(f"{found.outcome}, cost {found.cost:,.0f}, {seconds:.1f} s: {found.reason[:120]}", flush=True)
    if given.weights:
        proof = cv.verify(problem, found.pattern, found.certificate)
        print(f"{table.num_cells} cells, {len(problem.primaries)} primaries: {proof}, {proof.against}")
        return
    known = _contributed(data, dims, given.level)
    hidden = {table.key(int(cell)) for cell in np.flatnonzero(found.pattern.hidden)} & set(known.parts)
    missing = set(known.primaries) - hidden
    attacks = _attacks(known, hidden, given)
    bad = broken(known, hidden, attacks)
    print(f"{len(known.primaries)} primaries, {len(missing)} of them published; {len(attacks)} pairs judged, "
          f"{len(bad)} of them get through")  # fmt: skip


def _contributed(data: Any, dims: list[cv.Dimension], level: str) -> Contributed:
    columns = [data.frame.column(dim.name).to_pylist() for dim in dims]
    who = data.frame.column("holding" if level == "holding" else "firm").to_pylist()
    amounts = data.frame.column("turnover").to_pylist()
    trees = [dim.hierarchies[0].children for dim in dims]
    others = [(k, tree.children) for k, dim in enumerate(dims) for tree in dim.hierarchies[1:]]
    records = (
        (str(who[i]), tuple(column[i] for column in columns), int(amounts[i])) for i in range(len(who))
    )
    return Contributed(trees, records, 10, others=others)


def _attacks(known: Contributed, hidden: set[Key], given: argparse.Namespace) -> list[Attack]:
    """All pairs where they are few; else a random sample, and all of the giants."""
    rng = np.random.default_rng(1)
    totals: dict[str, int] = {}
    for key, parts in known.parts.items():
        if all(key[dim] not in tree for dim, tree in known.every_tree):
            for who, part in parts.items():
                totals[who] = totals.get(who, 0) + part
    giants = sorted(totals, key=lambda who: -totals[who])[:GIANTS]
    cells = sorted(known.primaries)
    found = list(known.attacks(map(frozenset, combinations(giants, given.coalition)), cells))
    rng.shuffle(cells)  # type: ignore[arg-type]
    sample: list[Attack] = []
    for cell in cells:
        if len(sample) >= given.pairs:
            break
        near = [who for _, who in known.ranked[cell][:4]]
        groups: list[Group] = [frozenset(), *(frozenset([who]) for who in near)]
        groups += [frozenset([str(who)]) for who in rng.choice(known.everybody, 2)]
        if given.coalition > 1:
            beside = _in_small_cells(known, hidden, cell)
            groups += [frozenset(near[:2]), frozenset([near[0], giants[0]])]
            for who in near[:2], giants[:1], beside:
                groups += [frozenset(map(str, rng.choice([*who, *beside], 2))) for _ in range(2)]
        sample += list(known.attacks(groups, [cell]))
    found = list(rng.permutation(np.array(found, dtype=object))[: given.pairs]) + sample
    return sorted(found, key=lambda attack: sorted(attack.group))


def _in_small_cells(known: Contributed, hidden: set[Key], cell: Key) -> list[str]:
    """The contributors to hidden cells with few of them that stand in a line with a cell."""
    lines = [
        key for key in hidden if key != cell and sum(a != b for a, b in zip(key, cell, strict=True)) == 1
    ]
    return sorted({who for key in lines for who in known.parts[key] if len(known.parts[key]) <= FEW})


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("small")
    one.add_argument("number", type=int)
    two = commands.add_parser("judge")
    two.add_argument("table", choices=[*CHOSEN, SALES])
    two.add_argument("--limit", type=float, default=60.0)
    two.add_argument("--level", choices=["unit", "holding"], default="unit")
    two.add_argument("--coalition", type=int, default=1)
    two.add_argument("--pairs", type=int, default=1000)
    two.add_argument("--weights", action="store_true")
    for each in (one, two):
        each.add_argument("--cpu", action="store_true")
    given = parser.parse_args()
    if given.cpu:
        count_processor_time()
    small(given.number) if given.command == "small" else judge(given)


if __name__ == "__main__":
    main()
