"""Do patterns, proofs, public files and messages come out as they were? A net of recorded results.

    python tools/goldens.py record                      all groups, into tests/goldens: one file for each
    python tools/goldens.py record patterns --only 6x6  some units of a group; the others stay as they are
    python tools/goldens.py compare                     on two workers; exit code 1 if anything differs
    python tools/goldens.py compare --quick             a part of every group, as `make test` does
    python tools/goldens.py compare --clock 50          with a clock that runs 50 times as fast

A golden is a line of JSON: the name of a case, and its aspects (suppressed cells, cost, bound, certificate, a
public file, a message …) as figures, short texts or digests. `compare` prints each aspect that differs, cases
that are missing, and the mean ratio of costs. New cases count as differences until they are recorded.

*When to record again*: when a change is meant to change results, in the commit that does so, with the reason
in its message; `git diff tests/goldens` then shows which cases changed in what. Also for new versions of the
libraries in `LIBRARIES` and for another kind of processor, from a commit at which nothing else has changed:
results agree to the last bit only there. tests/goldens/machine.json says where they were recorded.

*What depends on time* is no golden. There are no time limits, and one worker does the work. Left out are
times, dates, versions and paths; `report.html` and the progress of jobs of the service, which show times.
Whether anything else depends on the clock is found by `--clock`: what differs then has to count work instead.
Public instances are left out, with a note, where they are not found (CELLVEIL_INSTANCES).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from hashlib import sha256
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / part) for part in ("tools", "tests", "src", ".")]

from golden_units import Aspects, Unit  # noqa: E402
from helpers.instances import INSTANCES  # noqa: E402

GOLDENS = ROOT / "tests" / "goldens"
MACHINE = GOLDENS / "machine.json"
ENVIRONMENT = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "OMP_NUM_THREADS": "1"}
LIBRARIES = ("numpy", "scipy", "highspy", "pyscipopt", "duckdb", "typer", "rich", "pydantic", "openpyxl")
CRASH = "crash"
"""The aspect of a unit that ended in an error which no version may raise: never recorded."""
Cases = dict[str, Aspects]


def machine() -> dict[str, str]:
    """What results to the last bit depend on; sums of NumPy depend on what the processor can do at once."""
    from numpy._core._multiarray_umath import __cpu_features__ as features

    abilities = ",".join(sorted(name for name, has_it in features.items() if has_it))
    return {
        "processor": platform.machine(),
        "system": platform.system(),
        "abilities": sha256(abilities.encode()).hexdigest()[:10],
    } | {name: version(name) for name in LIBRARIES}


def all_units(groups: Sequence[str] = (), only: str = "", *, quick: bool = False) -> list[Unit]:
    """The units of some groups, those that need public instances only where these are."""
    import golden_jobs
    import golden_messages
    import golden_tables

    units = [unit for module in (golden_tables, golden_jobs, golden_messages) for unit in module.units()]
    return [
        unit
        for unit in units
        if (not groups or unit.group in groups)
        and only in unit.name
        and (unit.is_quick or not quick)
        and (INSTANCES.is_dir() or not needs_instances(unit))
    ]


def needs_instances(unit: Unit) -> bool:
    """Whether a unit is about a public instance."""
    from golden_jobs import SAMPLES

    return unit.name.startswith("public: ") or unit.name in SAMPLES


def hasten(rate: float) -> None:
    """Let the clock of all time limits run so many times as fast."""
    from cellveil import clock

    clock.time = SimpleNamespace(  # type: ignore[attr-defined]
        monotonic=lambda: rate * time.monotonic(), perf_counter=lambda: rate * time.perf_counter()
    )


def run_unit(group: str, name: str, rate: float = 1.0) -> tuple[Cases, float]:
    """The cases of a unit, and the seconds of the processor."""
    os.environ |= ENVIRONMENT
    if rate != 1.0:
        hasten(rate)
    began = time.process_time()
    (unit,) = [unit for unit in all_units([group], name) if unit.name == name]
    try:
        cases = dict(unit.run())
    except Exception as error:
        cases = {name: {CRASH: f"{type(error).__name__}: {error}"}}
    return cases, time.process_time() - began


def run_units(units: Sequence[Unit], workers: int, rate: float = 1.0) -> Iterator[tuple[Unit, Cases, float]]:
    """Run them in processes of their own, as many at a time as there are workers."""
    os.environ |= ENVIRONMENT
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        futures = [(unit, pool.submit(run_unit, unit.group, unit.name, rate)) for unit in units]
        for unit, future in futures:
            yield unit, *future.result()


def golden_file(group: str) -> Path:
    """Where the goldens of a group are."""
    return GOLDENS / f"{group}.jsonl"


def read(group: str) -> Cases:
    """The goldens of a group."""
    if not golden_file(group).exists():
        return {}
    lines = [json.loads(line) for line in golden_file(group).read_text("utf-8").splitlines()]
    return {line.pop("case"): line for line in lines}


def write(group: str, cases: Mapping[str, Aspects]) -> None:
    """Write the goldens of a group, a line for each case."""
    lines = [json.dumps({"case": name} | aspects, ensure_ascii=False) for name, aspects in cases.items()]
    golden_file(group).parent.mkdir(parents=True, exist_ok=True)
    golden_file(group).write_text("".join(f"{line}\n" for line in lines), "utf-8")


def differences(recorded: Mapping[str, Aspects], found: Mapping[str, Aspects]) -> Iterator[str]:
    """What differs, case by case: the aspects with what they were and what they are."""
    for case, aspects in found.items():
        if case not in recorded:
            yield f"{case}: not recorded"
            continue
        before = recorded[case]
        names = [name for name in {**before, **aspects} if before.get(name) != aspects.get(name)]
        told = [f"{name} {before.get(name, 'none')} → {aspects.get(name, 'none')}" for name in names]
        if told:
            yield f"{case}: {'; '.join(told)}"


def missing(recorded: Mapping[str, Aspects], unit: Unit, found: Mapping[str, Aspects]) -> list[str]:
    """Recorded cases of a unit that are no longer made."""
    return [
        case
        for case in recorded
        if case not in found and (case == unit.name or case.startswith(f"{unit.name} · "))
    ]


def cost_ratios(recorded: Mapping[str, Aspects], found: Mapping[str, Aspects]) -> list[float]:
    """Costs now over costs then, where both are above 0."""
    pairs = [(recorded[case].get("cost"), found[case].get("cost")) for case in found if case in recorded]
    return [now / then for then, now in pairs if now and then]


def record(given: argparse.Namespace) -> int:
    """Run, and write what was found after each unit; where all is run, recorded cases that are gone go."""
    units = all_units(given.groups, given.only, quick=given.quick)
    before = {unit.group: read(unit.group) for unit in units}
    found: dict[str, Cases] = {group: {} for group in before}
    is_complete = True
    for unit, cases, seconds in run_units(units, given.workers, given.clock):
        crashed = [told[CRASH] for told in cases.values() if CRASH in told]
        is_complete &= not crashed
        for case in missing(before[unit.group], unit, cases):
            del before[unit.group][case]
        found[unit.group] |= {} if crashed else cases
        write(unit.group, before[unit.group] | found[unit.group])
        print(
            f"{unit.group:12} {unit.name:40} {len(cases):4} cases {seconds:7.1f} s {crashed or ''}",
            flush=True,
        )
    if is_complete and not given.only and not given.quick and INSTANCES.is_dir():
        for group, cases in found.items():
            write(group, cases)
    MACHINE.write_text(json.dumps(machine(), indent=1) + "\n", "utf-8")
    return int(not is_complete)


def compare(given: argparse.Namespace) -> int:
    """Run, and print what differs from what was recorded."""
    units = all_units(given.groups, given.only, quick=given.quick)
    if json.loads(MACHINE.read_text("utf-8")) != (here := machine()):
        print(f"Recorded with other libraries or on another processor; here: {here}")
    if not INSTANCES.is_dir():
        print(f"Left out: cases on public instances, which are not in {INSTANCES}")
    number = total = 0
    ratios: list[float] = []
    golden = {unit.group: read(unit.group) for unit in units}
    for unit, cases, _ in run_units(units, given.workers, given.clock):
        recorded = golden[unit.group]
        total += len(cases)
        ratios += cost_ratios(recorded, cases)
        gone = [f"{case}: recorded, and no longer there" for case in missing(recorded, unit, cases)]
        for line in (*differences(recorded, cases), *gone):
            number += 1
            print(f"{unit.group}: {line}", flush=True)
    mean = math.exp(math.fsum(map(math.log, ratios)) / len(ratios)) if ratios else 1.0
    print(f"{number} of {total} cases differ; mean ratio of {len(ratios)} costs: {mean:.5f}")
    return int(number > 0)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("groups", nargs="*", help="patterns, audits, jobs, messages …; all by default")
    parser.add_argument("--only", default="", help="units whose name has this in it")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--clock", type=float, default=1.0, help="how many times as fast the clock runs")
    given = parser.parse_args()
    sys.exit(record(given) if given.what == "record" else compare(given))


if __name__ == "__main__":
    main()
