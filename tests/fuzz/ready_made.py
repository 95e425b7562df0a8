"""Random jobs on a ready-made table: values and numbers of contributors, totals given or not."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

from fuzz.draws import Draws

TOP = ["x1", "x2", "x3"]
"""Columns with the largest contributions."""

ON_LARGEST = [
    {"rule": "p%", "p": 10},
    {"rule": "p%", "p": 15, "coalition": 2},
    {"rule": "pq", "p": 20, "q": 60},
    {"rule": "dominance", "n": 1, "k": 70},
    {"rule": "dominance", "n": 2, "k": 85},
    {"rule": "dominance", "n": 3, "k": 90},
]
"""Rules that need no more than these."""


def write_table_job(draws: Draws) -> None:
    """Write the table and the job."""
    rng, job = draws.rng, draws.job
    dims = draws.dimensions(rng.choices([1, 2], [20, 80])[0], from_records=False)
    counts_only = rng.random() < 0.3
    negative = not counts_only and rng.random() < 0.15
    values: dict[tuple[str, ...], tuple[float, int]] = {}
    for leaves in product(*(draws.leaves[name] for name in dims)):
        count = 0 if rng.random() < 0.1 else rng.choice([1, 1, 2, 3, 4, 5, 8])
        value: float = count if counts_only else count * rng.randint(1, 60)
        if negative and rng.random() < 0.15:
            value = -value
        values[leaves] = value, count
    totals = "none" if counts_only and rng.random() < 0.5 else "given"
    table: dict[str, Any] = {"dimensions": dims, "file": "table.csv", "contributors": "firms"}
    if totals == "none":
        table["totals"] = totals
        rows = values
    else:
        rows = rolled_up(draws, dims, values)
    if negative:
        table["allow_negative"] = True
        draws.features.add("negative")
    header = [*(draws.column(name) for name in dims), "value", "firms"]
    lines = [(*key, value, count) for key, (value, count) in rows.items()]
    with_top = not counts_only and not negative and Random(f"top {lines!r}").random() < 0.6
    if with_top:  # apart from `rng`, so that what is drawn of others stays
        largest = largest_parts(draws, dims, values, is_given=totals == "given")
        header += TOP
        lines = [(*line, *largest[line[: len(dims)]]) for line in lines]
        table["top"] = TOP
        draws.features.add("largest contributions")
    if Random(repr(lines)).random() < 0.4:  # apart from `rng`, so that what is drawn of others stays
        header.append("status")
        lines = [(*line, status_of(line[len(dims)], line[len(dims) + 1])) for line in lines]
        draws.features.add("statuses in the file")
    draws.write_rows("table.csv", header, lines)
    job["tables"] = [table]
    job["rules"] = [{"rule": "threshold", "minimum": rng.choice([2, 3])}]
    if with_top:
        own = Random(f"rules {lines!r}")
        job["rules"] = [own.choice(ON_LARGEST), *(job["rules"] if own.random() < 0.5 else [])]
    if counts_only:
        draws.features.add("counts")
        job["rules"] = [{"rule": "threshold", "minimum": rng.choice([2, 3]), "of": "value"}]
    about_zeros = rng.random() < 0.15
    if about_zeros and job["rules"][-1]["rule"] == "threshold":
        job["rules"][-1]["zeros"] = True
        draws.features.add("rule about zeros")
    draws.cells_by_hand(job["tables"], [])
    draws.levels()
    draws.method()
    if counts_only and rng.random() < 0.4:
        job["attackers"] = [{"kind": "integer"}]
        draws.features.add("attacker integer")
    elif rng.random() < 0.15:
        job["attackers"] = [{"kind": "outsider", "prior": rng.choice([50, 100])}]
        draws.features.add("attacker prior")
    elif rng.random() < 0.2:
        draws.adjustment()
    draws.release()


def largest_parts(
    draws: Draws, dims: list[str], values: dict[tuple[str, ...], tuple[float, int]], *, is_given: bool
) -> dict[tuple[str, ...], tuple[object, ...]]:
    """The three largest contributions of every cell; every firm stands in one finest cell."""
    found: dict[tuple[str, ...], list[int]] = {}
    for leaves, (value, count) in values.items():
        own = Random(f"{leaves} {value}")
        cuts = sorted(int(value * own.random() ** 3) for _ in range(count - 1))
        parts = (
            [high - low for low, high in zip([0, *cuts], [*cuts, int(value)], strict=True)] if count else []
        )
        above = (
            covers(draws, name, leaf) if is_given else [leaf] for name, leaf in zip(dims, leaves, strict=True)
        )
        for key in product(*above):
            found.setdefault(key, []).extend(parts)
    return {
        key: tuple([*sorted(parts, reverse=True), *([0 if len(parts) > 3 else ""] * 3)][:3])
        for key, parts in found.items()
    }


def status_of(value: float, count: int) -> str:
    """A status that is the same for all names of a cell, as these have the same figures."""
    own = Random(f"{value} {count}")
    return "U" if value and own.random() < 0.12 else own.choice(["s", "S", ""])


def rolled_up(
    draws: Draws, dims: list[str], values: dict[tuple[str, ...], tuple[float, int]]
) -> dict[tuple[str, ...], tuple[float, int]]:
    """All cells, totals included."""
    sums: dict[tuple[str, ...], tuple[float, int]] = {}
    for leaves, (value, count) in values.items():
        for key in product(*(covers(draws, name, leaf) for name, leaf in zip(dims, leaves, strict=True))):
            before, number = sums.get(key, (0, 0))
            sums[key] = before + value, number + count
    return sums


def covers(draws: Draws, name: str, leaf: str) -> list[str]:
    """The codes of a dimension that contain a leaf."""
    found, stack = [leaf], [leaf]
    while stack:
        code = stack.pop()
        above = [p for pairs in draws.pairs[name] for p, child in pairs if child == code and p not in found]
        found += above
        stack += above
    return found
