"""The figures of an audit against insiders, in the form of the contract of ``cellveil audit``. Internal."""

from __future__ import annotations

from typing import Any

from cellveil.insider_audit import InsiderReport
from cellveil.problem import Problem


def insider_figures(problem: Problem, audit: InsiderReport) -> dict[str, Any]:
    """Verdict per cell and who gets through; intervals are not computed against insiders, hence null."""
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
                "not_kept_off": who,
            }
            for name, cell, safe, who in zip(names, audit.cells, audit.safe, audit.attackers, strict=True)
        ],
        "linear_programs": audit.num_lps,
        "seconds": round(audit.seconds, 3),
        "view": audit.view_hash,
    }
