"""Random job files, sensible and not: every key of the job model, with values of its type and of others.

A sensible job over small microdata or a ready-made table is changed at a few random places of the model. Each
must end in a documented way, and what is released must stand against the programs of `odd_judge`.
"""

from __future__ import annotations

import random
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

import cellveil as cv
from cellveil.errors import AdjustmentError, CellveilError, InfeasibleError, InputError
from cellveil.job.job_model import Job
from cellveil.job.reading import submodel
from cellveil.suppression import METHODS
from fuzz.jobs import write_rows, write_toml
from fuzz.odd_judge import disclosed

REGIONS = {"Total": ["N", "S"], "N": ["N1", "N2"], "S": ["S1", "S2"]}
BRANCHES, SIZES = ["a", "b", "c"], ["0-9", "10-49", "50+"]
COLUMNS = ["firm", "group", "region", "branch", "size", "sales", "cost", "w", "waived", "day", "value"]
CODES = ["N", "N1", "S2", "Total", "a", "b", "0-9", "50+", "nosuch", "é", "007"]
FILES = ["firms.csv", "table.csv", "regions.csv", "labels.csv", "nosuch.csv", ".", "part-*.csv", "out", ""]
TEXTS = ["", "x", "region", "é", "=1+1", "a\tb", "<5", "1-4", ":", "\u202e", "a" * 300]
NUMBERS = [-1, 0, 1, 2, 3, 0.5, 2.5, 10, 20, 100, 101, 1e9, 10**12, float("nan"), float("inf")]

RULES: list[Any] = [
    {"rule": "threshold", "minimum": 3}, {"rule": "threshold", "minimum": 2, "inclusive": True},
    {"rule": "p%", "p": 10}, {"rule": "p%", "p": 10, "level": "holding"},
    {"rule": "dominance", "n": 1, "k": 75}, {"rule": "threshold", "minimum": 3, "zeros": True},
    {"rule": "threshold", "minimum": 4, "of": "value"}, {"preset": "nosuch"}, {"rule": "nosuch"},
    "p%:15", "threshold:3", "threshold:x", {"rule": "p%", "p": -5}, 7,
]  # fmt: skip

CHOICES: dict[str, list[Any]] = {
    "method": [*METHODS, "nosuch"],
    "rules": RULES,
    "compare": ["hypercube", "nosuch"],
    "kind": [
        "value",
        "one",
        "count",
        "log",
        "distance",
        "cost",
        "nosuch",
        "insider",
        "outsider",
        "pq",
        "integer",
    ],
    "status": ["u", "m", "s", "z", "status", ""],
    "time_limit": [0, 0.01, 1, -1],
    "output": ["out", "out/public", "firms.csv", ".", "out/internal/x"],
    "memory_limit": ["1GB", "10MB", "x"],
    "encoding": ["utf-8", "cp1252", "utf-16", "nosuch"],
    "formats": [["csv"], ["csv", "html"], ["csv", "sdmx"], ["csv", "xlsx"], [], ["pdf"]],
    "delimiter": [",", ";", "", "ab"],
    "seeds": [1, 2, 0],
    "options": [{}, {"run.bound": 0}, {"nosuch": 1}],
}
"""Values of keys that their type does not tell."""

COLUMN_KEYS = {
    *(
        "contributor",
        "holding",
        "weight",
        "request",
        "waiver",
        "column",
        "response",
        "shadow",
        "costs",
        "value",
    ),
    *("contributors", "top", "lpl", "upl", "spl", "lb", "ub", "levels", "dimensions"),
}
LEFT_OUT = {"engine", "connection", "table", "options"}
"""Keys that lead to other machines, or to the parameters of methods, which have tests of their own."""


@dataclass
class Ended:
    """How a job ended, and what is wrong with that."""

    seed: int
    outcome: str
    faults: list[str]

    def __str__(self) -> str:
        return f"seed {self.seed} ({self.outcome}): {'; '.join(self.faults)}"


def run_odd(seed: int, folder: Path) -> Ended:
    """Write the job of a seed, run it, and look at how it ended and at what it released."""
    rng = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    _write_data(rng, folder)
    job = _sensible(rng)
    for _ in range(rng.choice([0, 1, 1, 2, 3, 5])):
        _change(rng, Job, job)
    job.setdefault("suppress", {"time_limit": 2})
    write_toml(folder / "job.toml", job)
    try:
        result = cv.run_job(folder / "job.toml", workers=1)
    except CellveilError as error:
        return Ended(seed, type(error).__name__, list(_faults_of(error)))
    except Exception as error:  # whatever else it raises is what is looked for
        return Ended(seed, "crash", [f"{type(error).__name__}: {str(error)[:200]}"])
    if result.release is None:
        found = [] if not result.is_safe else ["safe, and no release"]
        return Ended(seed, "not safe", found)
    return Ended(seed, "released", list(disclosed(folder, job, result.release.folder)))


def _faults_of(error: CellveilError) -> Any:
    """What a message lacks."""
    if error.exit_code not in (1, 2, 3):
        yield f"exit code {error.exit_code}"
    if isinstance(error, InputError):
        if not error.what:
            yield "no cause"
        if not error.remedy and " Did you mean" not in str(error) and str(error).count(". ") < 1:
            yield f"no remedy: {error}"
        if error.file is None and error.line is None:
            yield f"no place: {error}"
    elif not isinstance(error, InfeasibleError | AdjustmentError) and not str(error):
        yield "no message"


# -- data and sensible jobs ----------------------------------------------------------------------------------


def _write_data(rng: random.Random, folder: Path) -> None:
    leaves = [*REGIONS["N"], *REGIONS["S"]]
    records = []
    for number in range(rng.choice([12, 40, 80])):
        sales = rng.choice([0, 1, 5, 20, 100, 1000]) + rng.randrange(50)
        places = (rng.choice(leaves), rng.choice(BRANCHES), rng.choice(SIZES))
        weight, day = rng.choice([1, 1, 1.5, 0]), f"2026-01-{1 + number % 28:02}"
        ids = f"f{number // 2 if rng.random() < 0.3 else number}", f"g{number % 9}"
        records.append([*ids, *places, sales, sales // 2, weight, rng.choice(["yes", "no"]), day])
    write_rows(folder / "firms.csv", COLUMNS[:10], records)
    pairs = [(parent, child) for parent, children in REGIONS.items() for child in children]
    write_rows(folder / "regions.csv", ["parent", "child"], pairs)
    write_rows(folder / "labels.csv", ["dimension", "code", "label"], [["region", "N", "North"]])
    counts = [[region, branch, rng.choice([0, 1, 2, 5, 9, 30])] for region in leaves for branch in BRANCHES]
    write_rows(folder / "table.csv", ["region", "branch", "value"], counts)


def _sensible(rng: random.Random) -> dict[str, Any]:
    dimensions = {"region": {"hierarchy": "regions.csv"}}
    job: dict[str, Any] = {
        "output": "out",
        "rules": [rng.choice(RULES[:6])],
        "dimensions": dimensions,
        "release": {"formats": ["csv"]},
        "suppress": {"time_limit": 2},
    }
    if rng.random() < 0.25:
        job["tables"] = [{"dimensions": ["region", "branch"], "file": "table.csv", "totals": "none"}]
        job["rules"] = [{"rule": "threshold", "minimum": 4, "of": "value"}]
        return job
    job["microdata"] = {"file": "firms.csv", "contributor": "firm", "holding": "group"}
    if rng.random() < 0.3:
        job["attackers"] = []
    response = {"response": "sales"} if rng.random() < 0.7 else {}
    names = [["region", "branch"], ["region"], ["branch", "size"], ["region", "branch", "size"]]
    job["tables"] = [{"dimensions": one} | response for one in rng.sample(names, rng.choice([1, 1, 2]))]
    if all("region" not in table["dimensions"] for table in job["tables"]):
        del job["dimensions"]
    return job


# -- changes -------------------------------------------------------------------------------------------------


def _change(rng: random.Random, model: type[BaseModel], data: dict[str, Any]) -> None:
    """Give one key of the model, or of a section in it, another value; or leave it out."""
    name = rng.choice([name for name in model.model_fields if name not in LEFT_OUT])
    field = model.model_fields[name]
    below = submodel(field.annotation)
    there = data.get(name)
    if below is not None and rng.random() < 0.85:
        if isinstance(there, list) and there and isinstance(there[0], dict):
            return _change(rng, below, rng.choice(there))
        if isinstance(there, dict) and there:
            named = [part for part in there.values() if isinstance(part, dict)]
            target = rng.choice(named) if name == "dimensions" and named else there
            return _change(rng, below, target)
    if there is not None and rng.random() < 0.2:
        del data[name]
        return None
    data[name] = _value(rng, name, field.annotation)
    return None


def _value(rng: random.Random, name: str, annotation: Any) -> Any:
    """A value for a key: of its type mostly, and else anything."""
    if rng.random() < 0.1:
        return rng.choice([True, 3, 2.5, "x", [], {}, ["x"], {"x": 1}, ""])
    if name in CHOICES and rng.random() < 0.8:
        return rng.choice(CHOICES[name])
    if name in COLUMN_KEYS and rng.random() < 0.8:
        column = rng.choice([*COLUMNS, "nosuch"])
        return [column, rng.choice(COLUMNS)] if "list" in str(annotation) else column
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return _value(rng, name, rng.choice([part for part in parts if part is not type(None)]))
    if origin is Literal:
        return rng.choice(parts)
    if origin is list:
        return [_value(rng, name, parts[0]) for _ in range(rng.choice([0, 1, 1, 2]))]
    if origin is dict:
        keys = ["region", "branch", "size", "sales", *CODES[:3]]
        return {rng.choice(keys): _value(rng, name, parts[1]) for _ in range(rng.choice([0, 1, 2]))}
    if parts:  # annotated
        return _value(rng, name, parts[0])
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        fields = {key: field for key, field in annotation.model_fields.items() if key not in LEFT_OUT}
        return {
            key: _value(rng, key, field.annotation)
            for key, field in fields.items()
            if field.is_required() or rng.random() < 0.25
        }
    if annotation is bool:
        return rng.random() < 0.5
    if annotation in (int, float):
        return rng.choice(NUMBERS if annotation is float else [-1, 0, 1, 2, 3, 9, 10, 50])
    if annotation is Path:
        return rng.choice(FILES)
    return rng.choice([*CODES, *TEXTS, *FILES])
