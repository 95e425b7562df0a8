"""The figures of an audit against insiders, in the form of the contract of ``cellveil audit``. Internal."""

from __future__ import annotations

from typing import Any

from cellveil.insider_audit import InsiderReport
from cellveil.problem import Problem


def insider_figures(problem: Problem, audit: InsiderReport) -> dict[str, Any]:
    """Verdict per cell, who gets through, who comes closest; intervals are not computed, hence null.

    ``reach`` is the movement shown (from 1 on) or possible (below 1) against the closest attacker, as a share
    of what is needed. ``totals`` lists contributors whose sums over several cells were tested.
    """
    factor = 10.0**problem.table.decimals
    values, lpl, upl = problem.table.values, problem.lpl, problem.upl
    names = problem.table.cell_names(audit.cells)
    return {
        "safe": audit.is_safe,
        "attacker": audit.attacker,
        "reason": audit.reason,
        "cells": [
            {
                "cell": name,
                "lower": None,
                "upper": None,
                "required_lower": float((values[cell] - lpl[cell]) / factor),
                "required_upper": float((values[cell] + upl[cell]) / factor),
                "safe": bool(safe),
                "published": bool(published),
                "not_kept_off": who,
                "closest": closest,
                "reach": round(float(reach), 6),
            }
            for name, cell, safe, published, who, closest, reach in zip(
                names,
                audit.cells,
                audit.safe,
                audit.is_published,
                audit.attackers,
                audit.closest,
                audit.reach,
                strict=True,
            )
        ],
        "totals": [
            {
                "contributor": total.contributor,
                "cells": problem.table.cell_names(total.cells),
                "safe": total.safe,
                "closest": total.closest,
                "reach": round(total.reach, 6),
            }
            for total in audit.totals
        ],
        "linear_programs": audit.num_lps,
        "seconds": round(audit.seconds, 3),
        "view": audit.view_hash,
    }
