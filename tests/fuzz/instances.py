"""Random jobs on a tidy folder: statuses, levels and bounds given, with or without contributions."""

from __future__ import annotations

from itertools import product
from typing import Any

from fuzz.draws import Draws
from fuzz.ready_made import rolled_up


def write_instance_job(draws: Draws) -> None:
    """Write the instance and the job."""
    rng, job = draws.rng, draws.job
    dims = draws.dimensions(rng.choices([1, 2], [15, 85])[0], from_records=False)
    job["dimensions"] = {}
    (draws.folder / "instance").mkdir()
    negative = rng.random() < 0.12
    parts = _parts(draws, dims, negative)
    interior = {key: (sum(some.values()), len(some)) for key, some in parts.items()}
    cells = rolled_up(draws, dims, interior)
    if negative:
        draws.features.add("negative")
    _write_cells(draws, dims, cells, negative)
    for name in dims:
        for number, pairs in enumerate(draws.pairs[name]):
            file = f"instance/hier_{name}{'_more' if number else ''}.csv"
            draws.write_rows(file, ["parent", "child"], pairs)
    draws.method()
    if rng.random() < 0.6:
        draws.features.add("instance with contributions")
        _write_contributions(draws, dims, parts)
        _attackers(draws)
    elif rng.random() < 0.25:
        draws.adjustment()
    job["instance"] = "instance"
    draws.release()
    if "instance with contributions" in draws.features and "attackers" not in job:
        draws.default_attackers()
    draws.families()


def _parts(draws: Draws, dims: list[str], negative: bool) -> dict[tuple[str, ...], dict[str, int]]:
    rng = draws.rng
    firms = rng.randint(6, 25)
    parts: dict[tuple[str, ...], dict[str, int]] = {}
    for key in product(*(draws.leaves[name] for name in dims)):
        some = rng.sample(range(firms), min(firms, rng.choice([0, 1, 2, 2, 3, 4, 5])))
        parts[key] = {f"firmQ{firm:03d}": max(1, round(rng.lognormvariate(3, 1))) for firm in some}
        if negative:
            parts[key] = {who: -x if rng.random() < 0.15 else x for who, x in parts[key].items()}
    return parts


def _write_cells(draws: Draws, dims: list[str], cells: dict[Any, tuple[float, int]], negative: bool) -> None:
    rng = draws.rng
    bounded = rng.random() < 0.4
    rows = []
    for key, (value, count) in cells.items():
        status, levels, bounds = "s", ["", "", ""], ["", ""]
        if value == 0:
            status = "z"
        elif 0 < count <= 2 and rng.random() < 0.6:
            status = "u"
            level = max(1, round(abs(value) * rng.choice([0.1, 0.2, 0.3])))
            lower = level if negative else min(level, int(abs(value)))
            levels = [str(lower), str(level), str(2 * level + 1) if rng.random() < 0.15 else ""]
        elif rng.random() < 0.06:
            status = "m"
            draws.features.add("cell set m")
        elif rng.random() < 0.04:
            status = "z"
            draws.features.add("cell set z")
        if bounded and value and rng.random() < 0.5:
            width = max(1, round(abs(value) * rng.choice([0.5, 0.8, 1.5])))
            low = value - width if negative else max(0, value - width)
            bounds = [str(low), str(value + width) if rng.random() < 0.5 else ""]
            draws.features.add("given bounds")
        rows.append([*key, value, status, *bounds, *levels, count])
    header = [*dims, "value", "status", "lb", "ub", "lpl", "upl", "spl", "contributors"]
    draws.write_rows("instance/cells.csv", header, rows)


def _write_contributions(draws: Draws, dims: list[str], parts: dict[tuple[str, ...], dict[str, int]]) -> None:
    rng = draws.rng
    groups = {who: f"holdingQ{rng.randint(0, 9):03d}" for some in parts.values() for who in sorted(some)}
    lines = [(*key, who, part, groups[who]) for key, some in parts.items() for who, part in some.items()]
    draws.write_rows("instance/contributions.csv", [*dims, "contributor", "amount", "holding"], lines)


def _attackers(draws: Draws) -> None:
    rng = draws.rng
    kind = rng.choices(["none", "insider", "prior", "pq"], [25, 50, 15, 10])[0]
    if kind == "none":
        return
    draws.features.add(f"attacker {kind}")
    level = {"level": "holding"} if kind != "prior" and rng.random() < 0.3 else {}
    if level:
        draws.features.add(f"{kind} holding")
    attacker = {"kind": kind} | level
    if kind == "prior":
        attacker = {"kind": "outsider", "prior": 60}
    elif kind == "pq":
        attacker |= {"p": 10, "q": 100}
    draws.job["attackers"] = [attacker]
