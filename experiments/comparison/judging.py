"""The judges of one suppression pattern, in this process: `python -m experiments.comparison.judging`.

Cost and hidden cells are counted here, and the independent audit decides on safety. On small tables a second
opinion is asked; where the two disagree, the pattern does not count as safe.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from cellveil.files import write_text

VERDICT = "verdict.json"
MOST_CELLS = 2_500
"""Largest table for a second opinion."""

MOST_PRIMARIES = 500
"""Most primary cells for a second opinion."""


def judge(instance: Path, pattern_file: Path, folder: Path, limit: float) -> dict[str, Any]:
    """Cost, hidden cells and safety of a pattern."""
    import numpy as np

    from cellveil.formats.instance import read_instance, write_instance
    from cellveil.formats.pattern_file import read_pattern
    from cellveil.judge import audit
    from cellveil.problem import Status
    from experiments.comparison.second_opinion import judge_again

    problem = read_instance(instance)
    pattern = read_pattern(pattern_file, problem)
    hidden, frozen = pattern.hidden, problem.status == Status.FROZEN
    secondary = hidden & (problem.status != Status.PRIMARY)
    found = audit(problem, pattern, attackers="outsider", exact=False, time_limit=limit)
    opened = int((hidden & frozen).sum())
    verdict: dict[str, Any] = {
        "cost": float(problem.weight[secondary].sum()),
        "secondaries": int(secondary.sum()),
        "hidden": int(hidden.sum()),
        "audited": found.is_safe,
        "short": len(found.unsafe_cells),
        "frozen hidden": opened,
        "second": None,
        "disclosed": None,
    }
    if problem.table.num_cells <= MOST_CELLS and len(problem.primaries) <= MOST_PRIMARIES:
        plain = folder / "judged.jj"
        write_instance(problem, plain)
        second = judge_again(plain, np.flatnonzero(hidden).tolist())
        verdict |= {"second": second.is_safe, "disclosed": second.disclosed}
    verdict["safe"] = found.is_safe and not opened and verdict["second"] is not False
    return verdict


def main(instance: str, pattern: str, folder: str, limit: str) -> None:
    """Judge, and write the verdict."""
    verdict = judge(Path(instance), Path(pattern), Path(folder), float(limit))
    write_text(Path(folder) / VERDICT, json.dumps(verdict) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
