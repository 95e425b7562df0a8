"""Global recoding of a ready-made table: cells below a folded code are dropped, joined ones added up.

Folding needs nothing but the totals that are there. Joined cells get the sums of values, counts, shadows and
costs, and the largest contributions of all, the contributors of different cells being taken to be different.
Their statuses and levels are not known: a rule has to find them anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from cellveil.argus.metadata import VariableRole
from cellveil.argus.recoding import Recoding
from cellveil.argus.tabular_file import TabularFile
from cellveil.errors import InputError
from cellveil.formats.columns import Columns
from cellveil.formats.joined_rows import JoinedColumns, joined_rows

SUMMED = (VariableRole.RESPONSE, VariableRole.SHADOW, VariableRole.COST, VariableRole.FREQUENCY)


def recode_cells(cells: TabularFile, recodings: Mapping[str, Recoding]) -> TabularFile:
    """The table with coarser codes.

    Raises
    ------
    InputError
        When codes are joined in a table whose cells have a status.
    """
    for name, recoding in recodings.items():
        cells = _folded(cells, name, recoding) if recoding.is_tree else _joined(cells, name, recoding)
    return cells


def _folded(cells: TabularFile, name: str, recoding: Recoding) -> TabularFile:
    import pyarrow as pa

    variable = cells.metadata.variable(name)
    old = cells.trees[variable.name]
    tree, goal = recoding.apply(old, variable)
    highest: dict[str, str] = {}
    for code in old.hierarchy.codes:  # a code comes before those that are folded into it
        highest.setdefault(goal[code], code)
    kept_names = {old_name: new_name for new_name, old_name in highest.items()}
    column = cells.columns.column(variable.name).to_pylist()
    kept = np.array([code in kept_names for code in column], dtype=bool)
    data = cells.columns.data.filter(pa.array(kept))
    place = data.column_names.index(variable.name)
    codes = pa.array([kept_names[code] for code in column if code in kept_names], pa.string())
    lines = [cells.columns.line_of(int(row)) for row in np.flatnonzero(kept)]
    columns = Columns(data.set_column(place, variable.name, codes), cells.columns.file, lines.__getitem__)
    trees = {**cells.trees, variable.name: tree}
    return replace(cells, columns=columns, trees=trees, empty=cells.empty[kept])


def _joined(cells: TabularFile, name: str, recoding: Recoding) -> TabularFile:
    variable = cells.metadata.variable(name)
    if cells.has_status:
        raise InputError(
            f"the codes of {variable.name!r} cannot be joined: the statuses of joined cells are not known",
            file=cells.metadata.file,
            remedy="Leave <STATUS> out of the metadata and apply a rule, or recode the microdata.",
        )
    tree, goal = recoding.apply(cells.trees[variable.name], variable)
    codes = {
        v.name: cells.columns.column(v.name).to_pylist() for v in cells.metadata.having(VariableRole.SPANNING)
    }
    codes[variable.name] = [goal.get(code, code) for code in codes[variable.name]]
    how = JoinedColumns(
        [one.name for role in SUMMED for one in cells.metadata.having(role)],
        top=[one.name for one in cells.metadata.having(VariableRole.TOP)],
    )
    columns, group = joined_rows(cells.columns, codes, how)
    filled = np.bincount(group[~cells.empty], minlength=len(columns)) > 0
    trees = {**cells.trees, variable.name: tree}
    return replace(cells, columns=columns, trees=trees, empty=~filled)
