"""Public files of an adjusted table: every cell has a value, and the true ones are nowhere in them.

Requires values that the audit of adjusted tables finds without fault, and no sensitive cell that an attacker
who knows method and levels could pin down; both are judged again here, on the values that are written. It is
for the office to see that no other release of the same table stands beside it: true values next to adjusted
ones, or a suppressed table, would tell the senses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from cellveil.adjusted_audit import audit_adjusted
from cellveil.errors import NotSafeError
from cellveil.problem import Problem
from cellveil.publishing import Labels, Release, check_formats, write_release
from cellveil.publishing.plain import header
from cellveil.publishing.publication import Publication
from cellveil.tables.keys import Int
from cellveil.view import PublicView


def release_adjusted(
    problem: Problem,
    values: Int,
    folder: Path | str,
    *,
    limits: Mapping[str, float | None] | None = None,
    formats: Sequence[str] = ("csv", "parquet", "xlsx"),
    symbol: str = "x",
    title: str = "",
    labels: Labels | None = None,
    decimals: int | None = None,
    note: str = "",
    date: str = "",
) -> Release:
    """Write the public files of an adjusted table, if its audit allows it.

    Parameters
    ----------
    values
        The adjusted values, one scaled integer per cell.
    limits
        Those of the adjustment: the attacker knows them.

    Raises
    ------
    NotSafeError
        When something asked is not kept, or a sensitive cell can be pinned down.
    """
    check_formats(formats)
    audit = audit_adjusted(problem, values, limits=limits)
    against = list(audit.faults)
    if audit.pinned.any():
        against.append(f"{int(audit.pinned.sum())} sensitive cells could be pinned down")
    if against:
        raise NotSafeError(f"nothing was released: {'; '.join(against)}. Adjust again with wider limits.")
    hidden = np.zeros(problem.table.num_cells, dtype=bool)
    nothing = np.zeros(problem.table.num_cells, dtype=np.int64)
    view = PublicView(problem.table.relations, hidden, np.array(values, dtype=np.int64), nothing, nothing)
    publication = Publication.of(
        problem.table,
        view,
        title=title,
        note=note,
        date=date,
        symbol=symbol,
        labels=labels,
        decimals=decimals,
    )
    publication = replace(publication, is_adjusted=True)
    header(publication)
    folder = Path(folder).resolve()
    files, skipped = write_release(publication, folder, formats)
    return Release(folder, files, view.content_hash, publication.num_cells, 0, skipped)
