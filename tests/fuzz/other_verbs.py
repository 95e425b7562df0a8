"""What else answers about a random job: check, explain, compare, frames, and the same in one call of Python.

None may fail where the run does not, show what the release hides, or say otherwise than the run.
"""

from __future__ import annotations

import json
import random
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Fault = tuple[str, str]

COMPARED_EVERY = 10
"""Every so many jobs two methods are compared: it takes two searches."""

PLAIN = {"file", "contributor", "holding", "weight"}
"""What `protect` has arguments for; jobs that say more of their microdata are not tried by it."""

SECTIONS = {
    *("output", "dimensions", "microdata", "tables", "rules", "suppress", "attackers", "bounds", "levels"),
    *("release", "cells"),
}
"""The sections of a job that it has arguments for, or that make no difference to it."""


def other_faults(seed: int, folder: Path, result: Any) -> list[Fault]:
    """Ask everything about a job that has run to its end."""
    import cellveil as cv

    job = cv.read_job(folder / "job.toml")
    asked: dict[str, Callable[[], str | None]] = {
        "check": lambda: _check(job, result),
        "frames": lambda: _frames(result),
        "explain": lambda: _explain(seed, job, folder, result),
        "protect": lambda: _protect(folder, result),
    }
    if seed % COMPARED_EVERY == 0:
        asked["compare"] = lambda: _compare(job)
    found = []
    for name, ask in asked.items():
        try:
            fault = ask()
        except Exception as error:  # the run came to its end, so nothing else may fail
            fault = f"{type(error).__name__}: {error}"
        if fault:
            found.append((name, fault))
    return found


def _check(job: Any, result: Any) -> str | None:
    from cellveil.job.checking import check_job

    told = check_job(job)
    if told.primaries != len(result.problem.primaries) or told.cells != result.problem.table.num_cells:
        return "it counts other cells than the run"
    return None if told.feasible else "it calls feasible what is not"


def _frames(result: Any) -> str | None:
    import cellveil as cv

    frame = result.to_arrow()
    if frame.num_rows != result.problem.table.num_cells:
        return "the frame has not one row per cell"
    try:
        public = result.to_arrow(public=True).to_pydict()
    except cv.NotSafeError:
        return None if result.release is None else "there is no public frame of what was released"
    if result.report.objections:
        return "there is a public frame of what is not safe"
    bare = [value is None for value in public["value"]]
    if bare != public["hidden"]:
        return "a hidden cell has a value in the public frame"
    return None if result.show().html else "there is no view"


def _explain(seed: int, job: Any, folder: Path, result: Any) -> str | None:
    from cellveil.job.last_run import LastRun

    run = LastRun.of(job, folder / "job.toml")
    table, rng = run.problem.table, random.Random(seed)
    cells = [rng.randrange(table.num_cells)]
    cells += [
        int(rng.choice(some))
        for some in (run.problem.primaries, np.flatnonzero(run.pattern.hidden))
        if len(some)
    ]
    for cell in cells:
        told = run.explain(",".join(f'"{code}"' for code in table.key(cell)))
        json.dumps(told.to_dict())
        if told.cell != table.cell_name(cell):
            return "it explains another cell"
        if told.is_protected is False and result.release is not None:
            return "it calls a primary cell open that was released as protected"
        if str(told).count("\n") < 2:
            return "it says nothing"
    return None


def _protect(folder: Path, result: Any) -> str | None:
    import cellveil as cv

    job = tomllib.loads((folder / "job.toml").read_text(encoding="utf-8"))
    micro, dimensions = job.get("microdata", {}), job.get("dimensions", {})
    if (
        not micro.keys() <= PLAIN
        or "file" not in micro
        or not job.keys() <= SECTIONS
        or len(job["tables"]) != 1
        or not job["tables"][0].keys() <= {"dimensions", "response"}
        or any(settings.keys() - {"hierarchy"} for settings in dimensions.values())
        or job["suppress"].keys() - {"method", "seed"}
    ):
        return None
    trees = {
        name: [folder / file for file in files]
        if isinstance(files := settings["hierarchy"], list)
        else folder / files
        for name, settings in dimensions.items()
    }
    roles = {name: column for name, column in micro.items() if name != "file"}
    found = cv.protect(
        folder / micro["file"],
        job["tables"][0]["dimensions"],
        job["tables"][0].get("response"),
        rules=job.get("rules"),
        hierarchies=trees,
        cells=job.get("cells", ()),
        attackers=job.get("attackers"),
        settings={name: job[name] for name in ("bounds", "levels") if name in job},
        **job["suppress"],
        **roles,
    )
    if not np.array_equal(found.pattern.hidden, result.suppression.pattern.hidden):
        return "in Python another pattern comes out"
    return None if found.is_safe == result.is_safe else "in Python the verdict is another one"


def _compare(job: Any) -> str | None:
    from cellveil.job.comparing import compare_methods

    told = compare_methods(job, ["hypercube", "sequential"])
    if len(told.runs) != 2 or len(told.rows()) != 2:
        return "a method is missing"
    return None
