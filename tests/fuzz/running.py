"""Run random jobs, and have the judge look at what they publish."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from fuzz.jobs import write_job
from fuzz.judge import judge
from fuzz.other_verbs import Fault, other_faults

RELEASED, NOT_SAFE, BAD_INPUT, INFEASIBLE, CRASH = "released", "not safe", "bad input", "infeasible", "crash"
BY_EXIT_CODE = {0: RELEASED, 1: NOT_SAFE, 2: BAD_INPUT, 3: INFEASIBLE}


@dataclass
class Ran:
    """One job: how it ended, and what is wrong."""

    seed: int
    outcome: str
    features: set[str]
    faults: list[Fault] = field(default_factory=list)

    def __str__(self) -> str:
        shown = "; ".join(f"{kind}: {what}" for kind, what in self.faults[:3])
        return f"seed {self.seed} ({self.outcome}, {len(self.faults)} faults): {shown}"


def run_one(seed: int, folder: Path, *, by_command: bool = False, ask_more: bool = False) -> Ran:
    """Make the job of a seed, run it, and judge its release; on demand ask the other verbs about it too."""
    features = write_job(seed, folder)
    outcome, faults, result = _by_command(folder) if by_command else _in_process(folder)
    ran = Ran(seed, outcome, features, faults)
    if ask_more and result is not None:
        ran.faults += other_faults(seed, folder, result)
    table, report = folder / "out" / "public" / "about.json", folder / "out" / "internal" / "report.json"
    if table.exists() != (outcome == RELEASED):
        ran.faults.append(
            ("gate", f"ended {outcome!r}, and there is {'a' if table.exists() else 'no'} release")
        )
    if report.exists():
        figures = json.loads(report.read_text(encoding="utf-8"))
        is_released = figures.get("release") is not None
        if is_released != table.exists() or (is_released and not figures["safe"]):
            ran.faults.append(("gate", "report.json and the release do not agree"))
    if table.exists():
        ran.faults += judge(folder).faults
    return ran


def _in_process(folder: Path) -> tuple[str, list[Fault], Any]:
    import cellveil as cv
    from cellveil.errors import CellveilError

    _keep_templates()
    try:
        result = cv.run_job(cv.read_job(folder / "job.toml"))
    except cv.InfeasibleError:
        return INFEASIBLE, [], None
    except CellveilError as error:
        return BY_EXIT_CODE.get(error.exit_code, CRASH), [], None
    except Exception as error:  # whatever else comes out is a fault
        where = traceback.extract_tb(error.__traceback__)[-1]
        return CRASH, [(CRASH, f"{type(error).__name__} in {Path(where.filename).name}, {where.name}")], None
    return (NOT_SAFE if result.release is None else RELEASED), [], result


def _by_command(folder: Path) -> tuple[str, list[Fault], None]:
    command = [sys.executable, "-m", "cellveil", "run", str(folder / "job.toml")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))
    outcome = BY_EXIT_CODE.get(ran.returncode, CRASH)
    if outcome == CRASH or "Traceback" in ran.stderr:
        return CRASH, [(CRASH, f"exit code {ran.returncode}: {ran.stderr[-300:]}")], None
    return outcome, [], None


@cache
def _keep_templates() -> None:
    """Compile every template of the report once in a process, not once in a job."""
    import jinja2

    compile_anew = jinja2.Environment.compile
    kept: dict[Any, Any] = {}

    def compile_once(self: Any, source: Any, name: Any = None, *args: Any, **options: Any) -> Any:
        place = (str(source), name)
        if place not in kept:
            kept[place] = compile_anew(self, source, name, *args, **options)
        return kept[place]

    jinja2.Environment.compile = compile_once  # type: ignore[method-assign]


def coverage(jobs: Iterable[Ran]) -> str:
    """How often each feature was drawn, and how often it ended in a release."""
    drawn, released, wrong = Counter[str](), Counter[str](), Counter[str]()
    outcomes = Counter[str]()
    for ran in jobs:
        outcomes[ran.outcome] += 1
        for feature in ran.features:
            drawn[feature] += 1
            released[feature] += ran.outcome == RELEASED
            wrong[feature] += bool(ran.faults)
    lines = [", ".join(f"{number} {outcome}" for outcome, number in outcomes.most_common()), ""]
    lines.append(f"{'feature':32} {'jobs':>6} {'released':>9} {'wrong':>6}")
    lines += [f"{f:32} {drawn[f]:6} {released[f]:9} {wrong[f]:6}" for f in sorted(drawn)]
    return "\n".join(lines)
