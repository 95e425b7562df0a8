"""The figures of an audit, as ``cellveil audit --report`` writes them, and of its attackers. Internal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from cellveil.judge import Audit, Verdict
from cellveil.judge.insider import InsiderReport
from cellveil.judge.outsider import OutsiderReport
from cellveil.problem import Problem


def audit_figures(audit: Audit) -> dict[str, Any]:
    """Figures of the first attack; with several, each cell is safe only if it is against all of them.

    Amounts are in the units of the table; an end that is not bounded is null. Cells that are not safe against
    outsiders have an ``explanation``: how they could be worked out, in words, or null where that was not
    found.
    """
    parts = [_figures(audit, verdict) for verdict in audit.verdicts]
    told: dict[str, Any] = {"safe": audit.is_safe, "verdict": audit.verdict, "not_asked": audit.not_asked}
    told |= {} if audit.together is None else {"former_releases": audit.together.to_dict()}
    if len(parts) == 1:
        return parts[0] | told
    rows: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for part in parts:
        for row in part["cells"]:
            rows.setdefault(row["cell"], []).append((part["attacker"], row))
    cells = []
    for found in rows.values():
        through = [attacker for attacker, row in found if not row["safe"]]
        own = [row for _, row in found]
        cells.append(own[0] | _closest(own) | {"safe": not through, "not_kept_off": ", ".join(through)})
    summary = ("attacker", "safe", "reason", "linear_programs", "seconds")
    return (
        parts[0]
        | told
        | {
            "attacker": ", ".join(part["attacker"] for part in parts),
            "reason": audit.reason,
            "attackers": [{name: part[name] for name in summary} for part in parts],
            "cells": cells,
            "totals": [total for part in parts for total in part.get("totals", [])],
        }
    )


def attackers_summary(audit: Audit) -> list[dict[str, Any]]:
    """The verdict of each attacker, and the cells it is not kept off from."""
    return [
        {
            "attacker": verdict.report.attacker,
            "against": verdict.attacker.words,
            "safe": verdict.is_safe,
            "proven": verdict.is_proven,
            "uncertified": verdict.uncertified,
            "reason": verdict.report.reason,
            "unsafe_cells": verdict.known.table.cell_names(verdict.unsafe_cells),
            "open_totals": verdict.open_totals,
            "linear_programs": verdict.report.num_lps,
            "seconds": round(verdict.report.seconds, 3),
        }
        for verdict in audit.verdicts
    ]


def _closest(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Of the insiders who come closest to a cell in each attack, the one who comes closest of all."""
    known = [row for row in rows if "reach" in row]
    nearest = min(known, key=lambda row: row["reach"], default={})
    return {name: nearest[name] for name in ("closest", "reach") if name in nearest}


def _figures(audit: Audit, verdict: Verdict) -> dict[str, Any]:
    report = verdict.report
    figures: dict[str, Any] = {}
    if isinstance(report, InsiderReport):
        figures = _insider_figures(verdict.known, report)
    elif isinstance(report, OutsiderReport):
        figures = _outsider_figures(audit, verdict, report)
    return {
        "safe": verdict.is_safe,
        "attacker": report.attacker,
        "reason": report.reason,
        **figures,
        "linear_programs": report.num_lps,
        "seconds": round(report.seconds, 3),
        "view": report.view_hash,
    }


def _outsider_figures(audit: Audit, verdict: Verdict, report: OutsiderReport) -> dict[str, Any]:
    """The intervals, cell by cell."""
    factor = 10.0**audit.problem.table.decimals
    names = audit.problem.table.cell_names(report.cells)

    def shown(amount: float) -> float | None:
        return float(f"{amount / factor:.12g}") if math.isfinite(amount) else None

    def explanation(i: int) -> dict[str, Any]:
        if report.safe[i]:
            return {}
        own = audit.explanations if verdict.attacker.is_plain_outsider else {}
        return {"explanation": "; and ".join(own.get(int(report.cells[i]), ())) or None}

    cells: list[dict[str, Any]] = [
        {
            "cell": names[i],
            "lower": shown(report.lower[i]),
            "upper": shown(report.upper[i]),
            "required_lower": shown(report.required_lower[i]),
            "required_upper": shown(report.required_upper[i]),
            "required_width": shown(report.required_width[i]),
            "safe": bool(report.safe[i]),
        }
        | explanation(i)
        for i in range(len(names))
    ]
    return {"cells": cells, "tolerance": report.tolerance}


def _insider_figures(problem: Problem, audit: InsiderReport) -> dict[str, Any]:
    """Verdict per cell, who gets through, who comes closest; intervals are not computed, hence null.

    ``reach`` is the movement shown (from 1 on) or possible (below 1) against the closest attacker, as a share
    of what is needed. ``totals`` lists contributors whose sums over several cells were tested.
    """
    factor = 10.0**problem.table.decimals
    values, lpl, upl = problem.table.values, problem.lpl, problem.upl
    names = problem.table.cell_names(audit.cells)
    return {
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
    }
