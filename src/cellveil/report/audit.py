"""The audit's figures, cell by cell, as the contract of ``cellveil audit`` has them. Internal."""

from __future__ import annotations

import math
from typing import Any

from cellveil.attack.explain import Explainer, Explanation
from cellveil.auditing import AuditReport
from cellveil.errors import SolverError
from cellveil.problem import Problem
from cellveil.view import Pattern, PublicView

MAX_EXPLAINED = 200
"""How many unsafe cells are explained."""

TIME_TO_EXPLAIN = 20.0
"""Seconds for all explanations; what takes longer is left unexplained."""


def audit_figures(problem: Problem, audit: AuditReport, pattern: Pattern | None = None) -> dict[str, Any]:
    """Verdict and intervals in the units of the table; an end that is not bounded is null.

    Parameters
    ----------
    pattern
        The pattern that was audited; with it, cells that are not safe have an `explanation`: how they could
        be worked out, in words, or null where that was not found.
    """
    factor = 10.0**problem.table.decimals
    names = problem.table.cell_names(audit.cells)
    explained = {} if pattern is None else explanations(problem, PublicView.of(problem, pattern), audit)

    def shown(amount: float) -> float | None:
        return float(f"{amount / factor:.12g}") if math.isfinite(amount) else None

    def explanation(i: int) -> dict[str, str | None]:
        if pattern is None or audit.safe[i]:
            return {}
        return {"explanation": "; and ".join(explained.get(int(audit.cells[i]), ())) or None}

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
            | explanation(i)
            for i in range(len(names))
        ],
        "linear_programs": audit.num_lps,
        "seconds": round(audit.seconds, 3),
        "tolerance": audit.tolerance,
        "view": audit.view_hash,
    }


def explanations(problem: Problem, view: PublicView, audit: AuditReport) -> dict[int, list[str]]:
    """How the first `MAX_EXPLAINED` unsafe cells could be worked out, in words without values.

    Those of a cell together prove that it is not safe. There are none for a cell that merely was not shown
    safe, nor for an audit of another view.
    """
    if view.content_hash != audit.view_hash:
        return {}
    explainer = Explainer(view, problem.table.values, TIME_TO_EXPLAIN)
    names = problem.table.cell_name
    told = {}
    for cell in audit.unsafe_cells[:MAX_EXPLAINED].tolist():
        if not view.hidden[cell]:
            told[cell] = [f"{names(cell)} is published"]
        elif proofs := _proofs(problem, explainer, cell):
            told[cell] = [proof.text(names) for proof in proofs]
    return told


def _proofs(problem: Problem, explainer: Explainer, cell: int) -> list[Explanation]:
    """Why a hidden cell is not safe: its value follows, or bounds that are too tight; empty if not found."""
    try:
        value = explainer.explain(cell)
        if value is not None:
            return [value]
        found = {up: explainer.explain(cell, up=up) for up in (True, False)}
    except SolverError:
        return []
    highest, lowest = found[True], found[False]
    truth = int(problem.table.values[cell])
    tight = []
    if highest is not None and highest.bound < truth + int(problem.upl[cell]):
        tight.append(highest)
    if lowest is not None and lowest.bound > truth - int(problem.lpl[cell]):
        tight.append(lowest)
    if not tight and highest is not None and lowest is not None:
        is_narrow = highest.bound - lowest.bound < int(problem.spl[cell])
        return [highest, lowest] if is_narrow else []
    return tight
