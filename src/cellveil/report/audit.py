"""The audit's figures, cell by cell, as the contract of ``cellveil audit`` has them. Internal."""

from __future__ import annotations

import math
from typing import Any

from cellveil.auditing import AuditReport
from cellveil.problem import Problem


def audit_figures(problem: Problem, audit: AuditReport) -> dict[str, Any]:
    """Verdict and intervals in the units of the table; an end that is not bounded is null."""
    factor = 10.0**problem.table.decimals
    names = problem.table.cell_names(audit.cells)

    def shown(amount: float) -> float | None:
        return float(f"{amount / factor:.12g}") if math.isfinite(amount) else None

    return {
        "safe": audit.is_safe,
        "attacker": audit.attacker,
        "reason": audit.reason,
        "cells": [
            {
                "cell": names[i],
                "lower": shown(audit.lower[i]),
                "upper": shown(audit.upper[i]),
                "required_lower": shown(audit.required_lower[i]),
                "required_upper": shown(audit.required_upper[i]),
                "required_width": shown(audit.required_width[i]),
                "safe": bool(audit.safe[i]),
            }
            for i in range(len(names))
        ],
        "linear_programs": audit.num_lps,
        "seconds": round(audit.seconds, 3),
        "tolerance": audit.tolerance,
        "view": audit.view_hash,
    }
