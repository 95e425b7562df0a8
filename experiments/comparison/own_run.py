"""One suppression method of cellveil on one instance, in this process, with the figures of its run."""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace

from experiments.comparison.assignment import PATTERN, Assignment, RunFigures

ASIDE = ("audit", "verify")
"""Stages that are no search: time limits do not count them."""


def count_processor_time() -> None:
    """Let time limits and stages count processor time."""
    from cellveil import clock

    ticking = SimpleNamespace(monotonic=time.process_time, perf_counter=time.process_time)
    clock.time = ticking  # type: ignore[attr-defined, assignment]


def run(assignment: Assignment, method: str) -> RunFigures:
    """Protect the table; tiny tables come first, so that loops are compiled and loaded."""
    from cellveil.datasets import random_table
    from cellveil.errors import CellveilError, InfeasibleError
    from cellveil.formats.instance import read_instance
    from cellveil.formats.pattern_file import write_pattern
    from cellveil.suppression import suppress

    if assignment.counts_cpu:
        count_processor_time()
    for sizes in ((6, 7), (5, 4, 4)):
        try:
            suppress(random_table(sizes, seed=1), method, attackers=[], time_limit=2.0, workers=1)
        except CellveilError:  # not for tables of such a kind
            continue
    problem = read_instance(assignment.instance)
    workers = 1 if assignment.counts_cpu else None
    try:
        found = suppress(
            problem, method, attackers=[], time_limit=assignment.limit, seed=assignment.seed, workers=workers
        )
    except InfeasibleError:
        return RunFigures(refused="infeasible: some primary cells cannot be protected")
    except CellveilError as error:
        return RunFigures(refused=str(error))
    write_pattern(problem, found.pattern, assignment.folder / PATTERN)
    stages = found.seconds.items()
    return RunFigures(
        seconds=sum(seconds for stage, seconds in stages if ":" not in stage and stage not in ASIDE),
        bound=found.lower_bound,
        reason=found.reason,
    )


def main(method: str, text: str) -> None:
    """Run, and hand in."""
    assignment = Assignment.from_json(text)
    run(assignment, method).write(assignment.folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
