"""The columns of a data file for the page: what each seems to be, and the table that they propose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cellveil.job.recognised_file import RecognisedFile, recognised_file
from cellveil.job.table_files import TOTALS
from cellveil.microdata.column_roles import ColumnRole, GuessedColumn
from cellveil.microdata.source_options import SourceOptions

ROLES = {ColumnRole.AMOUNT: "response", ColumnRole.COUNT: "count", ColumnRole.OTHER: "ignore"}
"""Roles that the page has other words for."""

FIRST_CODES = 8
"""Codes that are shown of a dimension."""


def recognised_columns(data: Path, options: SourceOptions) -> dict[str, Any]:
    """The columns and the proposal, as data."""
    found = recognised_file(data, options)
    return {
        "kind": "table" if found.is_ready_made else "records",
        "rows": found.rows,
        "columns": [_column(found, column) for column in found.columns],
        "proposed": _proposed(found, data.stem, options),
    }


def _column(found: RecognisedFile, column: GuessedColumn) -> dict[str, Any]:
    return {
        "name": column.name,
        "kind": "number" if column.name in found.numbers else "text",
        "distinct": column.distinct,
        "codes": list(column.codes[:FIRST_CODES]),
        "missing": found.missing[column.name],
        "role": ROLES.get(column.role, column.role.value),
        "has_negative": column.has_negative,
        "hierarchy": _hierarchy(found, column),
    }


def _hierarchy(found: RecognisedFile, column: GuessedColumn) -> dict[str, Any] | None:
    if column.name in found.levels:
        return {"kind": "levels", "columns": found.levels[column.name]}
    return {"kind": "digits", "digits": list(column.digits)} if column.digits else None


def _proposed(found: RecognisedFile, title: str, options: SourceOptions) -> dict[str, Any]:
    """What `cellveil init` would write."""
    chosen = found.dimensions if found.is_ready_made else found.chosen
    amounts = found.amounts
    rules = ["threshold:minimum=3"]
    if amounts and not found.is_ready_made:
        level = ",level=holding" if found.first(ColumnRole.HOLDING) else ""
        rules.insert(0, f"p%:p=10{level}")
    writing = {
        "encoding": options.encoding if options.encoding != "utf-8" else None,
        "skip": options.skip or None,
    }
    proposed: dict[str, Any] = {
        "title": title,
        "kind": "table" if found.is_ready_made else "records",
        "dimensions": [_dimension(found, column) for column in chosen],
        "writing": writing | {"sheet": options.sheet, "query": options.query},
        "allow_negative": bool(amounts and amounts[0].has_negative),
    }
    if found.is_ready_made:
        has_counts = found.first(ColumnRole.COUNT) is not None
        return proposed | {
            "value": amounts[0].name if amounts else None,
            "status": found.first(ColumnRole.STATUS),
            "contributors": found.first(ColumnRole.COUNT),
            "rules": rules if has_counts else [],
        }
    roles = ("contributor", "holding", "weight", "request", "waiver")
    columns = {role: found.first(ColumnRole(role)) for role in roles}
    return proposed | columns | {"response": amounts[0].name if amounts else None, "rules": rules}


def _dimension(found: RecognisedFile, column: GuessedColumn) -> dict[str, Any]:
    total = next((code for code in column.codes if code.casefold() in TOTALS), None)
    is_nested = column.name in found.levels and not found.is_ready_made
    hierarchy = {"kind": "levels", "columns": found.levels[column.name]} if is_nested else {"kind": "flat"}
    named = {"total": total} if found.is_ready_made and total not in (None, "Total") else {}
    return {"name": column.name, "hierarchy": hierarchy, **named}
