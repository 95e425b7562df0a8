"""Random jobs on a ready-made table: values and numbers of contributors, totals given or not."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

from fuzz.draws import Draws


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
    if Random(repr(lines)).random() < 0.4:  # apart from `rng`, so that what is drawn of others stays
        header.append("status")
        lines = [(*line, status_of(line[-2], line[-1])) for line in lines]
        draws.features.add("statuses in the file")
    draws.write_rows("table.csv", header, lines)
    job["tables"] = [table]
    job["rules"] = [{"rule": "threshold", "minimum": rng.choice([2, 3])}]
    if counts_only:
        draws.features.add("counts")
        job["rules"] = [{"rule": "threshold", "minimum": rng.choice([2, 3]), "of": "value"}]
    if rng.random() < 0.15:
        job["rules"][0]["zeros"] = True
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
