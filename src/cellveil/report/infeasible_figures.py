"""The figures of a run that found some cells impossible to protect. Internal."""

from __future__ import annotations

from typing import Any

from cellveil.errors import InfeasibleError
from cellveil.problem import Problem
from cellveil.report.report import versions


def infeasible_figures(problem: Problem, method: str, seed: int, error: InfeasibleError) -> dict[str, Any]:
    """The keys of any report on a suppression, null where there is no pattern to report on."""
    return {
        "method": method,
        "outcome": "infeasible",
        "reason": str(error),
        "safe": False,
        "cells": problem.table.num_cells,
        "primaries": len(problem.primaries),
        "secondaries": None,
        "cost": None,
        "lower_bound": None,
        "gap": None,
        "certified_demands": 0,
        "demands": None,
        "unsafe_cells": list(error.cells),
        "conflicting_cells": list(error.conflicts),
        "conflicts": error.details.get("conflicts", []),
        "relaxation": error.details.get("relaxation"),
        "hopeless_cells": error.details.get("hopeless_cells", []),
        "seconds": {},
        "seed": seed,
        "versions": versions(),
    }
