"""Global recoding of a ready-made table: folded cells are dropped where totals are given, others joined.

Joined cells have the sums of values and numbers of contributors and the largest contributions of their parts,
so that rules find unsafe ones anew. Statuses and levels of a joined cell are not known: a part that is not
safe is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from cellveil.errors import InputError
from cellveil.formats.aggregated import CellColumns, read_statuses
from cellveil.formats.columns import Columns
from cellveil.formats.joined_rows import JoinedColumns, joined_rows, with_points
from cellveil.formats.ready_made import Totals
from cellveil.formats.rows import Rows
from cellveil.problem import Status
from cellveil.progress import Progress
from cellveil.tables.dimension import Dimension

LEVELS_AND_BOUNDS = ("lpl", "upl", "spl", "lb", "ub")


def recoded_rows(
    columns: Columns,
    named: CellColumns,
    recoded: Sequence[tuple[Dimension, Dimension]],
    totals: Totals,
    progress: Progress,
) -> Columns:
    """The rows of a table in coarser dimensions.

    Parameters
    ----------
    recoded
        Each dimension of the table as it was and as it is now.

    Raises
    ------
    InputError
        Where a cell that is not safe, or has levels or bounds of its own, would be joined with another one.
    """
    new = {old.name: _new_codes(columns, old, now) for old, now in recoded}
    if totals == "given":
        columns, new = _without_folded(columns, recoded, new)
    codes = {old.name: new[old.name] for old, _ in recoded}
    figures = (named.value, named.shadow, *named.others)
    how = JoinedColumns(
        [name for name in dict.fromkeys(figures) if name],
        [named.contributors] if named.contributors and named.contributors not in figures else [],
        named.top,
    )
    columns = with_points(columns, named.numbers())
    joined, group = joined_rows(columns, codes, how)
    several = np.bincount(group)[group] > 1
    if several.any():
        _check_joined(columns, named, [old for old, _ in recoded], several)
        progress.note(
            f"{int(several.sum())} cells are joined; contributors of different cells count as different ones"
        )
    return joined


def _new_codes(columns: Columns, old: Dimension, now: Dimension) -> list[str]:
    """The codes of the rows as they are now; a code that was none before the recoding is an error."""
    found = columns.codes(old.name).tolist()
    changed = {}
    for row, code in enumerate(found):
        if code not in old.index:
            raise columns.fault(  # the code itself is a value where columns are mixed up
                row,
                f"unknown code in dimension {old.name!r}",
                "Add it to the hierarchy or the codes as they are before recoding, or correct it.",
            )
        before, after = old.codes[old.index[code]], now.codes[now.index[code]]
        changed[code] = code if before == after else after
    return [changed[code] for code in found]


def _without_folded(
    columns: Columns, recoded: Sequence[tuple[Dimension, Dimension]], new: Mapping[str, Sequence[str]]
) -> tuple[Columns, dict[str, list[str]]]:
    """The rows without those that a hierarchy has folded: what they add up to has rows of its own."""
    import pyarrow as pa

    kept = np.ones(len(columns), dtype=bool)
    for old, _ in recoded:
        if any(tree.depth > 1 for tree in old.hierarchies):
            pairs = zip(columns.codes(old.name).tolist(), new[old.name], strict=True)
            kept &= np.array([code == now for code, now in pairs], dtype=bool)
    rows = np.flatnonzero(kept).tolist()
    line_of = columns.line_of
    chosen = replace(columns, data=columns.data.take(pa.array(rows)), line_of=lambda row: line_of(rows[row]))
    return chosen, {name: [codes[row] for row in rows] for name, codes in new.items()}


def _check_joined(
    columns: Columns, named: CellColumns, dimensions: Sequence[Dimension], several: np.ndarray
) -> None:
    rows = Rows(columns, tuple(dimensions), {one.name: columns.codes(one.name) for one in dimensions})
    for name in LEVELS_AND_BOUNDS:
        if getattr(named, name):
            raise InputError(
                f"cells are joined that have {name} of their own: those of the joined cell are not known",
                file=columns.file,
                remedy="Leave the column out and let rules find levels, or recode before the table is made.",
            )
    if named.status:
        unsafe = read_statuses(rows, named.status, named.statuses) != Status.SAFE
        rows.check(
            unsafe & several,
            "the cell is to be joined with others and has a status: that of the joined cell is not known",
            'Leave the statuses out (status = "") and let rules find unsafe cells, or recode before.',
        )
