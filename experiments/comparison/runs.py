"""The runs of a comparison: every contestant on every table, shuffled, one process each, kept as they come.

``runs.jsonl`` in the folder of a comparison has a line for each run. Whoever starts the same comparison again
goes on where it was left; a line that was cut off by a kill is taken away. A run is the same if table,
contestant, version, seed and limit are.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellveil.errors import InputError
from experiments.comparison.assignment import PATTERN, Assignment, Contestant, RunFigures
from experiments.comparison.compared_tables import ComparedTable
from experiments.comparison.judging import VERDICT
from experiments.comparison.preparing import ABOUT
from experiments.comparison.processes import EndedProcess, Limits, run_process

RUNS, TABLES_FILE, SETTINGS_FILE = "runs.jsonl", "tables.json", "settings.json"

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

Run = dict[str, Any]
"""One line: which run it is, how it ended, what the judges say."""


@dataclass(frozen=True)
class ComparisonSetting:
    """How a comparison is run.

    Parameters
    ----------
    limit
        Seconds for each search.
    counts_cpu
        Whether limits count processor time of one thread.
    grace
        Seconds of the same clock beyond the limit before a run is killed: for starting, reading, compiling,
        and the audit that methods of cellveil do themselves.
    judge_limit
        Seconds for the judges of one pattern.
    crowd
        With limits of processor time: how many times slower the clock on the wall may be.
    """

    limit: float = 60.0
    counts_cpu: bool = False
    grace: float = 60.0
    judge_limit: float = 600.0
    seeds: tuple[int, ...] = (1,)
    order_seed: int = 1
    crowd: float = 12.0

    @property
    def limits(self) -> Limits:
        """When a run is killed."""
        most = self.limit + self.grace
        return Limits(most, self.crowd * most) if self.counts_cpu else Limits(None, most)

    @property
    def clock(self) -> str:
        """What seconds are, in words."""
        return "processor" if self.counts_cpu else "wall"


@dataclass(frozen=True)
class Planned:
    """A run to come."""

    table: ComparedTable
    contestant: Contestant
    seed: int


class RunFile:
    """``runs.jsonl``: read once, then added to, line by line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.runs: list[Run] = []
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        whole = 0
        with path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                try:
                    self.runs.append(json.loads(line))
                except ValueError:
                    raise InputError(
                        "a line is no run", file=path, line=len(self.runs) + 1, remedy="Take it away."
                    ) from None
                whole += len(line)
        os.truncate(path, whole)

    def add(self, run: Run) -> None:
        """Write a run down; it is on the disk when this returns."""
        with self._path.open("ab") as file:
            file.write(json.dumps(run).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self.runs.append(run)


def identity(run: Run) -> tuple[Any, ...]:
    """What makes two runs the same."""
    return tuple(run[key] for key in ("table", "digest", "contestant", "version", "seed", "limit", "clock"))


def plan(
    tables: Sequence[ComparedTable], contestants: Sequence[Contestant], setting: ComparisonSetting
) -> list[Planned]:
    """All runs in an order that is shuffled, so that what else the machine does hits all alike."""
    runs = [Planned(t, c, s) for t in tables for c in contestants for s in setting.seeds]
    random.Random(setting.order_seed).shuffle(runs)
    return runs


def prepared(table: ComparedTable, folder: Path, setting: ComparisonSetting) -> Run:
    """Write the instance of a table unless it is there, and return the facts about it."""
    place = folder / "tables" / slug(table.name)
    if not (place / ABOUT).is_file():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        command = [sys.executable, "-m", "experiments.comparison.preparing", table.name, str(place)]
        ended = run_process(command, place, Limits(None, setting.judge_limit), _environment())
        if ended.code:
            raise InputError(f"the table {table.name!r} could not be made: {last_line(ended)}")
    facts: Run = json.loads((place / ABOUT).read_text("utf-8"))
    return facts


def compare(
    tables: Sequence[ComparedTable],
    contestants: Sequence[Contestant],
    setting: ComparisonSetting,
    folder: Path,
) -> Iterator[tuple[Run, int, int]]:
    """Run what has not been run yet; tells each run with how many are done, of how many."""
    folder = folder.resolve()
    file = RunFile(folder / RUNS)
    about = {table.name: prepared(table, folder, setting) for table in tables}
    known = {identity(run) for run in file.runs}
    planned = plan(tables, contestants, setting)
    for done, one in enumerate(planned, start=1):
        run: Run = {
            "table": one.table.name,
            "digest": about[one.table.name]["digest"],
            "contestant": one.contestant.name,
            "version": one.contestant.version(),
            "seed": one.seed,
            "limit": setting.limit,
            "clock": setting.clock,
        }
        if identity(run) not in known:
            run |= one_run(one, Path(about[one.table.name]["instance"]), setting, folder / "work")
            file.add(run)
            yield run, done, len(planned)


def one_run(one: Planned, instance: Path, setting: ComparisonSetting, work: Path) -> Run:
    """Let the contestant run, and have its pattern judged."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    assignment = Assignment(instance, work, setting.limit, one.seed, setting.counts_cpu)
    load = os.getloadavg()[0]
    environment = _environment() | (ONE_THREAD if setting.counts_cpu else {})
    ended = run_process(one.contestant.command(assignment), work, setting.limits, environment)
    figures = RunFigures.read(work)
    run: Run = {
        "state": "failed",
        "why": "",
        "wall": round(ended.wall, 2),
        "cpu": round(ended.cpu, 2),
        "megabytes": round(ended.megabytes),
        "load": round(load, 1),
    }
    if ended.over:
        return run | {"state": "over the limit", "why": ended.over}
    if ended.code or figures is None:
        return run | {"why": f"exit code {ended.code}: {last_line(ended)}"}
    if figures.refused:
        return run | {"state": "refused", "why": figures.refused}
    if not (work / PATTERN).is_file():
        return run | {"why": "no pattern was handed in"}
    run |= {"seconds": figures.seconds, "bound": figures.bound, "reason": figures.reason}
    return run | _judged(assignment, setting)


def _judged(assignment: Assignment, setting: ComparisonSetting) -> Run:
    """The verdict on what was handed in; without one the pattern is not shown safe."""
    work = assignment.folder
    given = (assignment.instance, work / PATTERN, work, setting.judge_limit)
    command = [sys.executable, "-m", "experiments.comparison.judging", *map(str, given)]
    ended = run_process(command, work, Limits(None, 2 * setting.judge_limit), _environment())
    try:
        verdict: Run = json.loads((work / VERDICT).read_text("utf-8"))
    except (OSError, ValueError):
        return {"state": "failed", "why": f"not judged: {ended.over or last_line(ended)}"}
    return {"state": "pattern", **verdict}


def last_line(ended: EndedProcess) -> str:
    """The last thing a process said, short."""
    lines = ended.said.splitlines()
    return lines[-1][:300] if lines else "ended without a word"


def slug(name: str) -> str:
    """A name as that of a folder.

    Examples
    --------
    >>> slug("4 linked, 500 s1")
    '4-linked-500-s1'
    """
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")


def _environment() -> dict[str, str]:
    """So that processes find this package wherever they work."""
    root = str(Path(__file__).parents[2])
    others = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    return {"PYTHONPATH": os.pathsep.join([root, *others])}
