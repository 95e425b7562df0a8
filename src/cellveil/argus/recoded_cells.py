"""Global recoding of a ready-made table: cells below a folded code are dropped, joined ones added up.

Folding needs nothing but the totals that are there. Joined cells get the sums of values, counts, shadows and
costs, and the largest contributions of all, the contributors of different cells being taken to be different.
Their statuses and levels are not known: a rule has to find them anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np

from cellveil.argus.metadata import VariableRole
from cellveil.argus.recoding import Recoding
from cellveil.argus.tabular_file import NUMERIC, TabularFile
from cellveil.errors import InputError
from cellveil.formats.columns import Columns

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
    import pyarrow as pa

    variable = cells.metadata.variable(name)
    if cells.has_status:
        raise InputError(
            f"the codes of {variable.name!r} cannot be joined: the statuses of joined cells are not known",
            file=cells.metadata.file,
            remedy="Leave <STATUS> out of the metadata and apply a rule, or recode the microdata.",
        )
    for one in cells.metadata.variables:
        if one.roles.intersection(NUMERIC):
            cells.columns.check_numbers(one.name, cells.columns.amounts(one.name).faults)
    tree, goal = recoding.apply(cells.trees[variable.name], variable)
    spanning = [v.name for v in cells.metadata.having(VariableRole.SPANNING)]
    texts = {column: cells.columns.column(column).to_pylist() for column in cells.columns.names}
    texts[variable.name] = [goal.get(code, code) for code in texts[variable.name]]
    groups: dict[tuple[str, ...], list[int]] = {}
    for row, key in enumerate(zip(*(texts[column] for column in spanning), strict=True)):
        groups.setdefault(key, []).append(row)
    rows = list(groups.values())
    joined = {column: [texts[column][group[0]] for group in rows] for column in texts}
    for role in SUMMED:
        for one in cells.metadata.having(role):
            joined[one.name] = [_sum(texts[one.name], group) for group in rows]
    top = [v.name for v in cells.metadata.having(VariableRole.TOP)]
    for column, largest in zip(
        top, zip(*(_largest(texts, top, group) for group in rows), strict=True), strict=True
    ):
        joined[column] = list(largest)
    data = pa.table({column: pa.array(joined[column], pa.string()) for column in cells.columns.names})
    lines = [cells.columns.line_of(group[0]) for group in rows]
    empty = np.array([all(cells.empty[row] for row in group) for group in rows], dtype=bool)
    columns = Columns(data, cells.columns.file, lines.__getitem__)
    return replace(cells, columns=columns, trees={**cells.trees, variable.name: tree}, empty=empty)


def _numbers(texts: Sequence[str], group: Sequence[int]) -> list[Decimal]:
    return [Decimal(texts[row].strip()) for row in group if texts[row].strip()]


def _sum(texts: Sequence[str], group: Sequence[int]) -> str:
    if len(group) == 1:
        return texts[group[0]]
    found = _numbers(texts, group)
    return f"{sum(found, Decimal(0)):f}" if found else ""


def _largest(texts: Mapping[str, Sequence[str]], top: Sequence[str], group: Sequence[int]) -> list[str]:
    if len(group) == 1:
        return [texts[column][group[0]] for column in top]
    found = sorted((number for column in top for number in _numbers(texts[column], group)), reverse=True)
    return [f"{number:f}" for number in [*found, *[Decimal(0)] * len(top)][: len(top)]]
