"""`protect`: from microdata to a protected, judged table in one call, as a job file would do it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cellveil.errors import InputError, check_kind, nearest_name
from cellveil.front.plain_job import plain_job
from cellveil.front.protection import Protection
from cellveil.job.past import Past
from cellveil.job.preparing import prepare
from cellveil.job.searched import search
from cellveil.live_progress import shown_progress
from cellveil.progress import NoteTaker, Progress
from cellveil.publishing import Labels
from cellveil.tables.code_text import as_code
from cellveil.tables.table import Table


def protect(
    data: Any,
    by: Any,
    value: str | None = None,
    *,
    contributor: str | None = None,
    holding: str | None = None,
    weight: str | None = None,
    rules: Any = None,
    hierarchies: Mapping[str, Any] | None = None,
    cells: Any = (),
    weights: str | Mapping[str, Any] = "value",
    attackers: Any = None,
    method: str = "auto",
    time_limit: float | None = None,
    seed: int = 0,
    title: str = "",
    labels: Labels | None = None,
    settings: Mapping[str, Any] | None = None,
    keep_best: bool = True,
    progress: Progress | bool | None = None,
) -> Protection:
    """Tabulate microdata, find the unsafe cells, hide as little as possible, and have it judged.

    The same as a job file with these settings: same defaults, same pattern, same verdict. Nothing is written;
    `Protection.release` does that, and refuses what was not shown safe.

    Parameters
    ----------
    data
        A pandas, polars or Arrow frame; a DuckDB relation; a mapping of columns; a path, or several.
    by
        The columns whose codes make the table; one or several, each a name or a `Dimension`.
    value
        The column to add up; without one the records are counted.
    contributor, holding
        Columns with the ids of contributors and of the holdings they belong to. Where contributors are known,
        every single one of them is tested as well; without ids each record counts as a contributor.
    weight
        Column with sampling weights.
    rules
        Which cells are unsafe: a rule or several, as objects, in short (``"p%:10"``), or as in job files.
    hierarchies
        By dimension: a `Hierarchy`, nested dicts, a mapping of codes to their parents, a list of codes, the
        path of a parent/child CSV or an .hrc file, or the lengths of the prefixes that make the levels
        (``[1, 2]``). Several overlapping ones as a list. Without one a dimension is flat.
    cells
        Cells set by hand: statuses (u, m, s, z) by tuples of codes, or as in job files.
    weights
        What hiding a cell costs: ``"value"``, ``"one"``, ``"count"``, ``"log"``, a cost column, or the
        section of a job.
    attackers
        Attackers to test besides outsiders and single contributors: objects, or in short
        (``"insider:coalition=2"``). An empty list: outsiders only.
    method, time_limit, seed
        Of the search, see `suppress`.
    title, labels
        For report and release; labels are given as dimension → code → label.
    settings
        Whatever else a job file can say, by section: ``{"levels": {"sliding": 5}}``.
    keep_best
        Whether an interrupt (Ctrl-C, or the stop button of a notebook) during the search ends the search
        only, so that the best certified pattern so far is returned, and `was_interrupted` says so. Otherwise,
        and before there is a pattern, it ends the call.
    progress
        True shows a line in terminals and notebooks; or an observer of your own.

    Raises
    ------
    InputError
        When something given is wrong; it says what, and the remedy.
    InfeasibleError
        When some cells cannot be protected whatever is hidden.

    Examples
    --------
    >>> firms = {
    ...     "region": ["North"] * 5 + ["South"] * 6 + ["West"] * 6,
    ...     "branch": ["food"] * 2 + ["wood"] * 3 + (["food"] * 3 + ["wood"] * 3) * 2,
    ...     "sales": [90, 3, 20, 25, 30, 40, 35, 30, 50, 45, 20, 20, 15, 25, 30, 35, 20],
    ... }
    >>> protect(firms, ["region", "branch"], "sales", rules="p%:10").audit.against
    'outsiders and every single contributor (each record counts as one contributor)'
    """
    if data is None:
        raise InputError("there are no data", remedy="Give a frame, a mapping of columns, or a path.")
    check_kind(value, (str, type(None)), "the value", 'Name one column: value="sales".')
    sections = {
        "rules": rules,
        "cells": cells,
        "attackers": attackers,
        "title": title,
        "weights": {"kind": weights} if isinstance(weights, str) else weights,
        "suppress": {"method": method, "time_limit": time_limit, "seed": seed},
    }
    if value is not None:
        sections["tables"] = {"response": value}
    roles = {"contributor": contributor, "holding": holding, "weight": weight}
    job, records = plain_job(data, by, hierarchies, sections, settings or {}, roles)
    with shown_progress(progress) as observer:
        taker = NoteTaker(observer)
        prepared = prepare(job, taker, records)
        if labels is not None:
            prepared = replace(prepared, labels=_checked_labels(labels, prepared.problem.table))
        past = Past.of(job, prepared.problem, records)
        return Protection(search(job, prepared, past, taker, keep_best=keep_best), taker.notes)


def _checked_labels(labels: Any, table: Table) -> dict[str, dict[str, str]]:
    """Labels by dimension and code; codes may be numbers."""
    example = 'Give them by dimension and code: labels={"region": {"N": "North"}}.'
    check_kind(labels, Mapping, "the labels", example)
    names = [dimension.name for dimension in table.dimensions]
    for name, of_codes in labels.items():
        if name not in names:
            raise InputError(f"there is no dimension {name!r}", remedy=nearest_name(str(name), names))
        check_kind(of_codes, Mapping, f"what labels {name!r}", example)
    return {
        name: {as_code(code): str(label) for code, label in of_codes.items()}
        for name, of_codes in labels.items()
    }
