"""The figures of an audit against one or several attackers, as ``cellveil audit --report`` writes them.

And what such an audit adds to the report on a suppression.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cellveil.auditing import AuditReport
from cellveil.errors import name_some
from cellveil.insider_audit import InsiderReport
from cellveil.joint_audit import JointAudit
from cellveil.report.audit import audit_figures
from cellveil.report.insiders import insider_figures
from cellveil.view import Pattern, PublicView


def joint_figures(audit: JointAudit, pattern: Pattern) -> dict[str, Any]:
    """Figures of the first attack; with several, each cell is safe only if it is against all of them."""
    parts = [
        audit_figures(problem, report, pattern)
        if isinstance(report, AuditReport)
        else insider_figures(problem, report)
        for problem, report in zip(audit.problems, audit.reports, strict=True)
    ]
    if len(parts) == 1:
        return parts[0]
    cells = []
    rows_of = [{row["cell"]: row for row in part["cells"]} for part in parts]
    for name in audit.problems[0].table.cell_names(audit.cells):
        asked = [(part, rows[name]) for part, rows in zip(parts, rows_of, strict=True) if name in rows]
        rows, through = (
            [row for _, row in asked],
            [part["attacker"] for part, row in asked if not row["safe"]],
        )
        cells.append(rows[0] | _closest(rows) | {"safe": not through, "not_kept_off": ", ".join(through)})
    summary = ("attacker", "safe", "reason", "linear_programs", "seconds")
    return parts[0] | {
        "safe": audit.is_safe,
        "attacker": ", ".join(part["attacker"] for part in parts),
        "reason": "; ".join(dict.fromkeys(part["reason"] for part in parts)),
        "attackers": [{name: part[name] for name in summary} for part in parts],
        "cells": cells,
        "totals": [total for part in parts for total in part.get("totals", [])],
    }


def _closest(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Of the insiders who come closest to a cell in each attack, the one who comes closest of all."""
    known = [row for row in rows if "reach" in row]
    nearest = min(known, key=lambda row: row["reach"], default={})
    return {name: nearest[name] for name in ("closest", "reach") if name in nearest}


def attackers_summary(audit: JointAudit | None) -> list[dict[str, Any]]:
    """The verdict of each attacker, and the cells it is not kept off from."""
    if audit is None:
        return []
    return [
        {
            "attacker": report.attacker,
            "safe": report.is_safe,
            "reason": report.reason,
            "unsafe_cells": problem.table.cell_names(report.unsafe_cells),
            "open_totals": open_totals(report),
            "linear_programs": report.num_lps,
            "seconds": round(report.seconds, 3),
        }
        for problem, report in zip(audit.problems, audit.reports, strict=True)
    ]


def joint_objections(audit: JointAudit | None, pattern: Pattern) -> list[str]:
    """What the attackers have to say against releasing the pattern, in words."""
    if audit is None:
        return []
    found = []
    for problem, report in zip(audit.problems, audit.reports, strict=True):
        if report.view_hash != PublicView.of(problem, pattern).content_hash:
            found.append(f"the audit against the attacker {report.attacker} is of another view")
        elif len(report.unsafe_cells):
            names = name_some(problem.table.cell_names(report.unsafe_cells[:6]))
            found.append(
                f"{len(report.unsafe_cells)} cells were not shown protected against the attacker "
                f"{report.attacker}: {names}"
            )
        elif not report.is_safe:
            found.append(f"the attacker {report.attacker} is not kept off ({report.reason})")
    return found


def open_totals(report: AuditReport | InsiderReport) -> int:
    """How many contributors have sums over several cells that were not shown protected."""
    return 0 if isinstance(report, AuditReport) else sum(not total.safe for total in report.totals)
