"""Cells as frames: for each cell its codes, value, status, contributors, interval, demand and reason.

A frame is confidential unless it is public. A public one has codes, values and which cells are hidden,
primary and secondary ones alike, and is made only of what an audit has shown safe. Only a `PublicView` has
one without an audit, in units of the last digit: it holds no hidden value, but says nothing of safety.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import singledispatch
from typing import Any

import numpy as np

from cellveil.adjustment import Adjustment
from cellveil.arrays import Bool, Int
from cellveil.errors import InputError, MissingExtraError, NotSafeError
from cellveil.front import Protection
from cellveil.job import JobResult
from cellveil.judge import Audit
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.public_view import PublicView
from cellveil.publishing.publication import Labels
from cellveil.report import Report
from cellveil.report.figures import reasons_of
from cellveil.suppression import Suppression
from cellveil.tables.scaled import UNBOUNDED, unscale
from cellveil.tables.table import Table

Columns = dict[str, Any]
"""Arrow arrays by name."""

PROTECTS = "protects primary cells"
"""Why secondary cells are hidden."""


def arrow_of(thing: Any, public: bool) -> Any:
    """The cells of something as an Arrow table."""
    import pyarrow as pa

    figures = public_figures(thing) if public else figures_of(thing)
    table = table_of(thing)
    codes = (
        {"cell": _array(np.arange(len(figures["hidden"])))}
        if table is None
        else _codes(table, labels_of(thing))
    )
    return pa.table(codes | {f"{name}_of_cell" if name in codes else name: c for name, c in figures.items()})


def table_of(thing: Any) -> Table | None:
    """The table whose cells something is about; None where it only knows their numbers."""
    if isinstance(thing, Table):
        return thing
    audit = audit_of(thing)
    problem = thing if isinstance(thing, Problem) else None if audit is None else audit.problem
    return None if problem is None else problem.table


def labels_of(thing: Any) -> Labels:
    """The labels of codes, where something knows them: what `protect` and jobs return."""
    report = getattr(thing, "report", None)
    return report.labels if isinstance(report, Report) else {}


def pandas_of(thing: Any, public: bool) -> Any:
    """The same as a frame of pandas."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("pandas", "pandas", "a frame of pandas") from None
    import pyarrow as pa

    kinds = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}  # which have a mark for nothing
    return arrow_of(thing, public).to_pandas(types_mapper=kinds.get)


def polars_of(thing: Any, public: bool) -> Any:
    """The same as a frame of polars."""
    try:
        import polars as pl
    except ImportError:
        raise MissingExtraError("polars", "polars", "a frame of polars") from None
    return pl.from_arrow(arrow_of(thing, public))


def audit_of(thing: Any) -> Audit | None:
    """The audit that decides about something; None where there is none."""
    if isinstance(thing, JobResult):  # which may publish an adjusted table instead
        return thing.report.decisive or thing.audit
    found = thing if isinstance(thing, Audit) else getattr(thing, "audit", None)
    return found if isinstance(found, Audit) else None


def objections_to(thing: Any) -> tuple[str, ...]:
    """What speaks against showing it to everybody; empty only where an audit found nothing."""
    if isinstance(thing, JobResult):
        return thing.report.objections
    audit = audit_of(thing)
    return ("it was not audited",) if audit is None else audit.objections


def public_figures(thing: Any) -> Columns:
    """What everybody may see; of a view what it holds, whether safe or not.

    Raises
    ------
    NotSafeError
        When the audit has something against publishing it.
    InputError
        When nothing was audited.
    """
    if isinstance(thing, PublicView):
        return figures_of(thing)
    audit = audit_of(thing)
    if audit is None:
        raise InputError(
            f"a {type(thing).__name__} was not audited, so none of it is public",
            remedy="Protect the table first: what protect, suppress and audit return has a public frame.",
        )
    if objections := objections_to(thing):
        raise NotSafeError(f"there is no public frame: {'; '.join(objections)}.")
    view, decimals = audit.view, audit.problem.table.decimals
    return {"value": _amounts(view.published, decimals, ~view.hidden), "hidden": _array(view.hidden)}


@singledispatch
def figures_of(thing: Any) -> Columns:
    """The columns of a confidential frame, without the codes."""
    raise InputError(f"a {type(thing).__name__} has no cells", remedy="Make a frame of a table or a result.")


@figures_of.register
def _(thing: Table) -> Columns:
    counts = thing.contributors
    found = {"value": _amounts(thing.values, thing.decimals)}
    if counts is not None:
        found["contributors"] = _array(counts, counts >= 0)
    return found | {name: _array(column) for name, column in thing.columns.items() if name not in found}


@figures_of.register
def _(thing: Problem) -> Columns:
    table, primary = thing.table, thing.status == Status.PRIMARY
    digits = table.decimals
    return figures_of(table) | {
        "status": _statuses(thing.status),
        "reason": _reasons(thing, thing.status),
        "required_lower": _amounts(table.values - thing.lpl, digits, primary),
        "required_upper": _amounts(table.values + thing.upl, digits, primary),
        "required_width": _amounts(np.maximum(thing.spl, thing.lpl + thing.upl), digits, primary),
        "known_lower": _amounts(thing.lb, digits, thing.lb != -UNBOUNDED),
        "known_upper": _amounts(thing.ub, digits, thing.ub != UNBOUNDED),
        "weight": _array(thing.weight),
    }


@figures_of.register
def _(thing: Pattern) -> Columns:
    return {"status": _statuses(thing.status), "hidden": _array(thing.hidden)}


@figures_of.register
def _(thing: PublicView) -> Columns:
    return {"value": _array(thing.published, ~thing.hidden), "hidden": _array(thing.hidden)}


@figures_of.register
def _(thing: Audit) -> Columns:
    problem, table = thing.problem, thing.problem.table
    if thing.pattern is None:
        return _adjusted(thing)
    found = figures_of(problem) | {
        "status": _statuses(thing.pattern.status),
        "reason": _reasons(problem, thing.pattern.status),
        "hidden": _array(thing.view.hidden),
        "safe": _on_cells(problem.primaries, thing.safe, table.num_cells),
    }
    if thing.outsider is not None:
        for name in ("lower", "upper"):
            ends = getattr(thing.outsider, name) / 10.0**table.decimals
            found[name] = _on_cells(thing.outsider.cells, ends, table.num_cells)
    order = (
        *("value", "status", "hidden", "contributors", "lower", "upper", "required_lower", "required_upper"),
        *("required_width", "safe", "reason"),
    )
    return {name: found[name] for name in order if name in found} | found


def _adjusted(audit: Audit) -> Columns:
    """True values, published ones, and what the audit says of sensitive cells."""
    table, verdict = audit.problem.table, audit.adjusted
    assert verdict is not None, "an audit is of a pattern or of adjusted values"
    shown = audit.view.published
    return figures_of(audit.problem) | {
        "published": _amounts(shown, table.decimals),
        "change": _amounts(shown - table.values, table.decimals),
        "safe": _on_cells(verdict.sensitive, ~verdict.pinned, table.num_cells),
    }


@figures_of.register(Suppression)
@figures_of.register(Adjustment)
@figures_of.register(Protection)
@figures_of.register(JobResult)
def _(thing: Any) -> Columns:
    audit = audit_of(thing)
    assert audit is not None, "results are audited"
    return figures_of(audit)


# -- columns -------------------------------------------------------------------------------------------------


def _array(values: Any, known: Bool | None = None) -> Any:
    import pyarrow as pa

    return pa.array(values, mask=None if known is None else ~known)


def _amounts(scaled: Int, decimals: int, known: Bool | None = None) -> Any:
    """Scaled integers as numbers: whole where the table has no decimals."""
    return _array(unscale(scaled, decimals) if decimals else scaled, known)


def _on_cells(cells: Int, values: Any, number: int) -> Any:
    """Values of some cells, nothing for the others."""
    known = np.zeros(number, dtype=bool)
    known[cells] = True
    spread = np.zeros(number, dtype=np.asarray(values).dtype)
    spread[cells] = values
    return _array(spread, known)


def _codes(table: Table, labels: Labels) -> Columns:
    """The codes of each dimension, beside them the labels of those that have some."""
    import pyarrow as pa

    found: Columns = {}
    names = {dimension.name for dimension in table.dimensions}
    for dimension, column in zip(table.dimensions, table.keys, strict=True):
        numbers = pa.array(column)
        found[dimension.name] = pa.array(dimension.codes, pa.string()).take(numbers)
        if known := labels.get(dimension.name):
            texts = pa.array([known.get(code) for code in dimension.codes], pa.string())
            found[_free(f"{dimension.name}_label", names)] = texts.take(numbers)
    return found


def _free(name: str, taken: Collection[str]) -> str:
    """The name, or a longer one that no dimension has."""
    while name in taken:
        name += "_"
    return name


def _statuses(status: Any) -> Any:
    import pyarrow as pa

    return pa.array([each.name.lower() for each in Status]).take(pa.array(status))


def _reasons(problem: Problem, status: Any) -> Any:
    import pyarrow as pa

    texts: list[str | None] = [None] * len(status)
    for cell in np.flatnonzero(status == Status.SECONDARY).tolist():
        texts[cell] = PROTECTS
    for cell in problem.primaries.tolist():
        texts[cell] = reasons_of(problem, cell)
    return pa.array(texts, pa.string())
