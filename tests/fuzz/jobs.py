"""Random jobs: microdata, ready-made tables and instances, with the job file that says what to do with them.

Everything is drawn from one seed. The folder that `write_job` fills is all that the judge gets to see.
"""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from fuzz.draws import Draws
from fuzz.instances import write_instance_job
from fuzz.ready_made import write_table_job

MICRODATA, TABLE, INSTANCE = "microdata", "ready-made table", "instance"


def write_job(seed: int, folder: Path) -> set[str]:
    """Write a job and its data into the folder; return the features it has."""
    rng = random.Random(f"cellveil {seed}")
    kind = rng.choices([MICRODATA, TABLE, INSTANCE], [76, 10, 14])[0]
    draws = Draws(rng, folder)
    folder.mkdir(parents=True, exist_ok=True)
    {MICRODATA: _microdata_job, TABLE: write_table_job, INSTANCE: write_instance_job}[kind](draws)
    draws.features.add(kind)
    write_toml(folder / "job.toml", draws.job)
    return draws.features


# -- microdata --------------------------------------------------------------------------------------------


def _microdata_job(draws: Draws) -> None:
    rng, job = draws.rng, draws.job
    dims = draws.dimensions(rng.choices([1, 2, 3], [15, 70, 15])[0])
    roles = {
        "weight": rng.random() < 0.25,
        "holding": rng.random() < 0.35,
        "waiver": rng.random() < 0.1,
        "request": rng.random() < 0.1,
        "negative": rng.random() < 0.15,
        "shadow": rng.random() < 0.08,
    }
    variables, equations = _variables(draws, roles)
    rows = _records(draws, dims, variables, roles)
    columns = list(rows[0])
    with Path(draws.folder / "firms.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
    micro: dict[str, Any] = {"file": "firms.csv"}
    if rng.random() < 0.7:
        micro["contributor"] = "firm"
    else:
        draws.features.add("every record a contributor")
    for role, column in {"weight": "w", "holding": "grp", "waiver": "waives", "request": "asks"}.items():
        if roles[role]:
            micro[role] = column
            draws.features.add(role)
    if roles["negative"]:
        micro["allow_negative"] = True
        draws.features.add("negative")
    job["microdata"] = micro
    job["tables"] = _tables(draws, dims, variables, equations, roles)
    if equations:
        job["equations"] = equations
        draws.features.add("equations")
    names = list(dict.fromkeys(name for table in job["tables"] for name in table["dimensions"]))
    job["dimensions"] = {name: spec for name, spec in job["dimensions"].items() if name in names}
    _settings(draws, dims, roles, variables)


def _variables(draws: Draws, roles: dict[str, bool]) -> tuple[list[str], dict[str, Any]]:
    rng = draws.rng
    choice = rng.choices(["one", "sum", "profit", "two"], [66, 16, 8, 10])[0]
    if choice == "sum":
        return ["turnover", "domestic", "export"], {"turnover": ["domestic", "export"]}
    if choice == "profit":
        roles["negative"] = True
        return ["profit", "income", "costs"], {"profit": {"income": 1, "costs": -1}}
    if choice == "two":
        return ["turnover", "profit"] if roles["negative"] else ["turnover", "wages"], {}
    return ["turnover"], {}


def _records(
    draws: Draws, dims: list[str], variables: list[str], roles: dict[str, bool]
) -> list[dict[str, Any]]:
    rng = draws.rng
    crowded = roles["weight"] and rng.random() < 0.5  # cells with more contributors than are listed
    firms = rng.randint(30, 60) if crowded else rng.randint(8, 34)
    unit = rng.choices([1, 0.5, 1000], [75, 15, 10])[0]
    skew = rng.choice([0.6, 1.0, 1.6])
    spread = rng.choices([1, 2, 3], [50, 30, 20])[0]
    same_weight = rng.random() < 0.8
    weights = rng.choice([[1, 1.5, 2, 3], [1, 2, 5, 20], [0.5, 1, 4], [1, 1, 1, 50]])
    if len(variables) == 3:  # rounded amounts would not add up across variables
        weights = [1, 2, 5, 20]
    rows = []
    for firm in range(firms):
        group = rng.randint(0, max(firms * 2 // 3, 1))
        weight, waives = rng.choice(weights), rng.random() < 0.2
        home = {name: rng.choice(draws.leaves[name]) for name in dims}
        for number in range(rng.randint(1, spread)):
            codes = {
                name: home[name] if number == 0 or rng.random() < 0.4 else rng.choice(draws.leaves[name])
                for name in dims
            }
            row: dict[str, Any] = {"firm": f"firmQ{firm:03d}", "grp": f"holdingQ{group:03d}"}
            for name in dims:
                row[draws.column(name)] = codes[name]
                row |= dict.fromkeys(draws.job["dimensions"].get(name, {}).get("levels", []), codes[name][:1])
            row |= _amounts(rng, variables, unit, skew, roles)
            row["staff"] = rng.randint(1, 50)
            row["w"] = weight if same_weight else rng.choice(weights)
            row["asks"] = rng.choice(["0", "0", "0", "1", "2"])
            row["waives"] = "yes" if waives else "no"
            rows.append(row)
    return rows


def _amounts(
    rng: random.Random, variables: list[str], unit: float, skew: float, roles: dict[str, bool]
) -> dict[str, Any]:
    def amount() -> float:
        if rng.random() < 0.06:
            return 0
        whole = max(1, round(rng.lognormvariate(3, skew))) * unit
        return whole + rng.randint(0, 999) if unit == 1000 else whole

    found: dict[str, Any] = {}
    for name in variables:
        found[name] = amount()
        if name == "profit" and roles["negative"] and rng.random() < 0.4:
            found[name] = -found[name]
    if len(variables) == 1 and roles["negative"] and rng.random() < 0.25:
        found[variables[0]] = -found[variables[0]]
    if variables[:1] == ["turnover"] and "domestic" in variables:
        found["turnover"] = found["domestic"] + found["export"]
    if "income" in variables:
        found["profit"] = found["income"] - found["costs"]
    return {name: int(value) if value == int(value) else value for name, value in found.items()}


def _tables(
    draws: Draws,
    dims: list[str],
    variables: list[str],
    equations: dict[str, Any],
    roles: dict[str, bool],
) -> list[dict[str, Any]]:
    rng = draws.rng
    tables = []
    for place, name in enumerate(variables):
        some = dims if place == 0 or rng.random() < 0.6 else rng.sample(dims, rng.randint(1, len(dims)))
        tables.append({"dimensions": sorted(some, key=dims.index), "response": name})
    if len(dims) > 1 and len(variables) == 1 and rng.random() < 0.25:
        first = rng.sample(dims, rng.randint(1, len(dims) - 1))
        second = [name for name in dims if name not in first or rng.random() < 0.3]
        tables = [{"dimensions": some, "response": variables[0]} for some in (first, second)]
        draws.features.add("linked tables")
    if len(variables) > 1:
        draws.features.add("several variables")
    if len(variables) == 1 and not roles["shadow"] and rng.random() < 0.08:
        draws.features.add("counts")
        del tables[0]["response"]
        tables = tables[:1]
    elif roles["shadow"]:
        draws.features.add("shadow")
        for table in tables:
            table["shadow"] = "staff"
    return tables


# -- rules and everything after them ----------------------------------------------------------------------


def _settings(draws: Draws, dims: list[str], roles: dict[str, bool], variables: list[str]) -> None:
    rng, job = draws.rng, draws.job
    insiders = rng.random() < 0.42 and not roles["shadow"]
    job["rules"] = [_rule(draws, roles) for _ in range(rng.choices([1, 2], [70, 30])[0])]
    if rng.random() < 0.1:
        job["bounds"] = rng.choice(["free", "tau-argus"])
        if job["bounds"] == "free":
            job["bounds_reason"] = "a test"
        draws.features.add(f"bounds {job['bounds']}")
    draws.cells_by_hand(job["tables"], variables if len(job["tables"]) > 1 and len(variables) > 1 else [])
    draws.levels()
    draws.method()
    if insiders:
        _attackers(draws, roles)
    elif rng.random() < 0.18:
        draws.adjustment()
    draws.release()
    if "attackers" not in job and "adjust" not in job:
        draws.default_attackers()
    draws.families()


def _rule(draws: Draws, roles: dict[str, bool], depth: int = 0) -> dict[str, Any]:
    rng = draws.rng
    holding = {"level": "holding"} if roles["holding"] and rng.random() < 0.4 else {}
    if holding:
        draws.features.add("rule at holding level")
    makers: dict[str, Callable[[], dict[str, Any]]] = {
        "threshold": lambda: {"rule": "threshold", "minimum": rng.choice([2, 3, 3, 4])} | holding,
        "p%": lambda: {"rule": "p%", "p": rng.choice([5, 10, 15, 20, 12.5])} | _coalition(rng) | holding,
        "dominance": lambda: (
            {"rule": "dominance", "n": rng.choice([1, 1, 2, 3]), "k": rng.choice([70, 80, 85, 90])} | holding
        ),
        "pq": lambda: (
            {"rule": "pq", "p": rng.choice([5, 10, 20]), "q": rng.choice([40, 60, 100])}
            | _coalition(rng)
            | holding
        ),
        "zero": lambda: {"rule": "zero", "range": rng.choice([1, 5])},
        "preset": lambda: _preset(draws, roles),
    }
    weights = [22, 26, 16, 10, 5, 18]
    if roles["request"]:
        makers["request"] = lambda: {
            "rule": "request",
            "share1": rng.choice([20, 40]),
            "share2": 50,
            "minimum": 2,
        }
        weights.append(60)
    if depth == 0:
        makers["combined"] = lambda: _combined(draws, roles)
        weights.append(12)
    name = rng.choices(list(makers), weights)[0]
    rule = makers[name]()
    draws.features.add(f"rule {name}")
    if name in ("threshold", "p%", "dominance", "pq", "request") and rng.random() < 0.1:
        rule["inclusive"] = True
    if name == "threshold" and rng.random() < 0.12:
        rule["zeros"] = True
        draws.features.add("rule about zeros")
    if name in ("p%", "dominance", "pq") and roles["weight"] and rng.random() < 0.3:
        rule["weighted"] = False
    if name in ("threshold", "request") and rng.random() < 0.2:
        rule["safety_range"] = rng.choice([10, 30, 50])
    return rule


def _coalition(rng: random.Random) -> dict[str, int]:
    return {"coalition": 2} if rng.random() < 0.15 else {}


def _combined(draws: Draws, roles: dict[str, bool]) -> dict[str, Any]:
    rng = draws.rng
    kind = rng.choice(["any", "all", "first", "exempt"])
    draws.features.add(f"rules {kind}")
    if kind == "exempt":
        name = rng.choice(draws.job["tables"][0]["dimensions"])
        return {"exempt": {name: [rng.choice(draws.leaves[name])]}, "of": _rule(draws, roles, 1)}
    return {kind: [_rule(draws, roles, 1) for _ in range(2)]}


def _preset(draws: Draws, roles: dict[str, bool]) -> dict[str, Any]:
    rng = draws.rng
    name = rng.choice(["tau-argus", "tau-argus", "sdctable", "gauss-suppression", "acro"])
    draws.features.add(f"preset {name}")
    if name == "tau-argus":
        rule: dict[str, Any] = {"preset": name}
        if rng.random() < 0.75:
            rule["p"] = rng.choice([15, [15, 2], [20, 1], [10, 50, 1], [[15, 1], [20, 80, 1]]])
            if rule["p"] in ([15, 2], [20, 1], [10, 50, 1]):
                draws.features.add("tau-argus P(p, n)")
        if rng.random() < 0.5 or "p" not in rule:
            rule["nk"] = rng.choice([[[1, 75]], [[2, 90], [1, 80]]])
        if rng.random() < 0.5:
            rule["freq"] = [3, 30]
        if roles["holding"] and rng.random() < 0.4:
            rule["holding_p"] = rng.choice([15, [15, 1]])
        if rng.random() < 0.15:
            rule["zero"] = 2
        return rule
    if name == "sdctable":
        zeros = rng.random() < 0.3
        draws.features |= {"rule about zeros"} if zeros else set()
        return {"preset": name, "max_n": rng.choice([1, 2]), "allow_zeros": zeros, "nk": [2, 90]}
    if name == "gauss-suppression":
        zeros = rng.random() < 0.4
        draws.features |= {"rule about zeros"} if zeros else set()
        return {"preset": name, "max_n": 2, "protect_zeros": zeros, "nk": [[1, 80]], "p": 10}
    zeros = rng.random() < 0.3
    draws.features |= {"rule about zeros"} if zeros else set()
    return {"preset": name, "threshold": rng.choice([2, 3]), "zeros": zeros, "nk": [2, 95]}


def _attackers(draws: Draws, roles: dict[str, bool]) -> None:
    rng = draws.rng
    kinds = ["insider", "pq", "prior", "integer"]
    attackers = []
    for kind in rng.sample(kinds, rng.choices([1, 2], [85, 15])[0]):
        level = {"level": "holding"} if roles["holding"] and rng.random() < 0.5 else {}
        together = {"coalition": 2} if rng.random() < 0.15 else {}
        features = {f"attacker {kind}"}
        if kind == "insider":
            attackers.append({"kind": "insider"} | level | together)
        elif kind == "pq":
            attackers.append(_pq(draws) | level | together)
        elif kind == "prior":
            attackers.append({"kind": "outsider", "prior": rng.choice([30, 50, 100])})
        else:
            attackers.append({"kind": "integer"} | ({"prior": 80} if rng.random() < 0.2 else {}))
        if kind in ("insider", "pq"):
            features |= {f"{kind} {name}" for name in ("holding",) if level}
            features |= {f"{kind} coalition"} if together else set()
        draws.features |= features
    draws.job["attackers"] = attackers


def _pq(draws: Draws) -> dict[str, Any]:
    """Mostly the p and q of a rule of the job, which is then made one."""
    rng = draws.rng
    p, q = rng.choice([5, 10, 15]), rng.choice([100, 100, 60])
    if rng.random() < 0.85:
        rule = {"rule": "p%", "p": p} if q == 100 else {"rule": "pq", "p": p, "q": q}
        draws.job["rules"].append(rule)
    return {"kind": "pq", "p": p, "q": q}


# -- the job file -----------------------------------------------------------------------------------------


def write_toml(path: Path, job: dict[str, Any]) -> None:
    """Write a job: sections for dictionaries, lists of tables inline."""
    plain = {key: value for key, value in job.items() if not isinstance(value, dict)}
    lines = [f"{key} = {_toml(value)}" for key, value in plain.items()]
    for key, value in job.items():
        if isinstance(value, dict) and value:
            lines += ["", f"[{key}]", *(f"{_key(name)} = {_toml(part)}" for name, part in value.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(name)} = {_toml(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


def _key(name: str) -> str:
    return name if name.replace("_", "").isalnum() and name.isascii() else json.dumps(name)


def write_rows(path: Path, header: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    """Write a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(list(header))
        writer.writerows([list(row) for row in rows])
