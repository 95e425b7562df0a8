"""The figures of an adjustment, and how it compares with suppression on the same table. Internal."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from cellveil.errors import AdjustmentError, counted
from cellveil.problem import Problem
from cellveil.report.figures import plain, tells_a_cell
from cellveil.solvers import tolerances

if TYPE_CHECKING:
    from cellveil.adjustment.outcome import Adjustment
    from cellveil.suppression.result import Suppression


def adjusted_figures(
    problem: Problem, adjustment: Adjustment, suppression: Suppression | None = None
) -> dict[str, Any]:
    """The report on an adjustment as data for JSON; with a suppression of the same table, compared to it."""
    from cellveil.report.report import versions

    utility = adjustment.judged.utility
    data = {
        "method": adjustment.method,
        "outcome": adjustment.outcome,
        "reason": adjustment.reason,
        "objective": adjustment.objective,
        "cost": adjustment.cost,
        "lower_bound": adjustment.lower_bound,
        "gap": adjustment.gap,
        "deviation_l1": utility.l1,
        "deviation_value_weighted": utility.value_weighted,
        "cells": problem.table.num_cells,
        "sensitive": len(problem.primaries),
        "risen": int(adjustment.senses.sum()),
        "utility": asdict(utility),
        "audit": adjustment.judged.to_dict(),
        "comparison": None if suppression is None else comparison(problem, adjustment, suppression),
        "seconds": dict(adjustment.seconds),
        "seed": adjustment.seed,
        "versions": versions(),
    }
    return dict(plain(data))


def comparison(problem: Problem, adjustment: Adjustment, suppression: Suppression) -> dict[str, Any]:
    """What each hides or changes, of the same table."""
    from cellveil.adjustment.model import INTERIOR, kinds_of_cells

    hidden, utility = suppression.pattern.hidden, adjustment.judged.utility
    values = np.abs(problem.table.floats())
    secret = tells_a_cell(np.abs(problem.table.values[hidden]))
    changed, whole = adjustment.values != problem.table.values, max(float(values.sum()), tolerances.SMALLEST)
    return {
        "suppression": {
            "outcome": suppression.outcome,
            "hidden_cells": int(hidden.sum()),
            "percent_cells": 100.0 * float(hidden.mean()),
            "percent_value": None if secret else 100.0 * float(values[hidden].sum()) / whole,
            "hidden_totals": int((hidden & (kinds_of_cells(problem.table) > INTERIOR)).sum()),
            "gap": suppression.gap,
        },
        "adjustment": {
            "outcome": adjustment.outcome,
            "changed_cells": utility.changed,
            "percent_cells": 100.0 * utility.changed / max(utility.cells, 1),
            "percent_value": 100.0 * float(values[changed].sum()) / whole,
            "changed_totals": utility.totals_changed,
            "mean_percent": utility.mean_percent,
            "largest_percent": utility.largest_percent,
            "gap": adjustment.gap,
        },
        "hidden_and_changed": int((hidden & changed).sum()),
    }


def infeasible_adjustment(
    problem: Problem, method: str, objective: str, error: AdjustmentError
) -> dict[str, Any]:
    """The report where there is no adjustment."""
    return {
        "method": method,
        "outcome": "infeasible",
        "reason": str(error),
        "objective": objective,
        "cells": problem.table.num_cells,
        "sensitive": len(problem.primaries),
        "conflicting_relations": list(error.conflicts),
        "conflicting_cells": list(error.cells),
        **error.details,
    }


def pinned_down(cells: int) -> str:
    """What it means that an attacker may know values better than their levels allow."""
    return (
        f"such an attacker may know {cells:,} of them to less than both levels together. "
        "Wider limits leave more open."
    )


def summary(figures: dict[str, Any]) -> str:
    """A few lines of text."""
    utility, audit, gap = figures["utility"], figures["audit"], figures["gap"]
    shown = "no bound" if gap is None else f"gap {100 * gap:.2f} %"
    lines = [
        f"{figures['method']}: {figures['outcome']} ({figures['reason']}), {figures['objective']} "
        f"{figures['cost']:,.10g}, {shown}",
        f"changed: {utility['changed']:,} of {counted(utility['cells'], 'cell')}, "
        f"{utility['totals_changed']:,} of "
        f"{counted(utility['totals'], 'total')}; on average by {utility['mean_percent']:.3g} %",
        f"senses an attacker who knows method and levels cannot tell: {audit['senses_open']:,} of "
        f"{audit['sensitive']:,}",
    ]
    if pinned := audit["pinned_or_not_shown_open"]:
        lines.append(f"not to be released as it is: {pinned_down(pinned)}")
    if figures["comparison"]:
        one, two = figures["comparison"]["suppression"], figures["comparison"]["adjustment"]
        share = "" if one["percent_value"] is None else f", {one['percent_value']:.1f} % of the value"
        lines.append(
            f"suppression hides {counted(one['hidden_cells'], 'cell')} "
            f"({one['percent_cells']:.1f} %{share}); "
            f"adjustment changes {two['changed_cells']:,} "
            f"({two['percent_cells']:.1f} %), by {two['mean_percent']:.3g} % on average"
        )
    return "\n".join(lines)
