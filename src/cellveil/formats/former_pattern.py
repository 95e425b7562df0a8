"""The pattern of a former month: which cells were hidden, by the names of their codes.

It is read from a ``pattern.csv``, or from the public files of a release, which tell as much. Codes may have
changed since: nothing is expected of the cells.
"""

from __future__ import annotations

from pathlib import Path

from cellveil.errors import InputError
from cellveil.formats.columns import Columns, read_columns
from cellveil.formats.release_folder import ReleaseRows, find_release, read_release_rows
from cellveil.problem import STATUS_OF_LETTER, Status
from cellveil.tables.hierarchy import TOTAL
from cellveil.tables.named_keys import (
    CellKey,
    cell_key,
    cell_keys,
    own_names,
    same_variable,
    totals_of,
)
from cellveil.tables.table import Table

STATUS = "status"


def read_former_pattern(path: Path | str, table: Table | None = None) -> dict[CellKey, bool]:
    """For each cell of a former pattern or release: whether it was hidden.

    Parameters
    ----------
    path
        A pattern as CSV, the folder of a release, or the output folder of a job.
    table
        The table that it is to be compared with: cells get the names that this has for them.

    Raises
    ------
    InputError
        When it is neither, or shows an adjusted table, which hides nothing.
    """
    path = Path(path)
    if path.is_dir():
        return renamed(_of_release(path), table)
    columns = read_columns(path)
    if STATUS not in columns:
        raise InputError(
            f"there is no column {STATUS!r}",
            file=path,
            remedy="Name a pattern.csv, or the folder of a release.",
        )
    return renamed(_of_pattern(columns, {} if table is None else totals_of(table)), table)


def hidden_in(rows: ReleaseRows) -> dict[CellKey, bool]:
    """For each cell of a release: whether it is hidden."""
    keys = [rows.columns.codes(name).tolist() for name in rows.names]
    variable = rows.variables[0] if len(rows.variables) == 1 else ""
    return {
        cell_key(dict(zip(rows.names, codes, strict=True)), rows.totals, variable): rows.is_hidden(text)
        for *codes, text in zip(*keys, rows.texts, strict=True)
    }


def renamed(found: dict[CellKey, bool], table: Table | None) -> dict[CellKey, bool]:
    """The same with the names that the table has for variables and codes; hidden where one name is."""
    if table is None:
        return found
    variables = same_variable(found, cell_keys(table))
    told: dict[CellKey, bool] = {}
    called = [(variables.get(variable, variable), codes) for variable, codes in found]
    for key, hidden in zip(own_names(called, table), found.values(), strict=True):
        told[key] = told.get(key, False) or hidden
    return told


def _of_release(path: Path) -> dict[CellKey, bool]:
    folder = find_release(path)
    if folder is None:
        raise InputError("there is no release in it", file=path, remedy="Name the folder of a release.")
    rows = read_release_rows(folder)
    if rows.is_adjusted:
        raise InputError(
            "this release is an adjusted table, which hides nothing", file=path, remedy="Name a pattern."
        )
    return hidden_in(rows)


def _of_pattern(columns: Columns, totals: dict[str, str]) -> dict[CellKey, bool]:
    names = [name for name in columns.names if name != STATUS]
    known = {name: totals.get(name, TOTAL) for name in names}
    keys = [columns.codes(name).tolist() for name in names]
    found = {}
    for row, (*codes, letter) in enumerate(zip(*keys, columns.codes(STATUS).tolist(), strict=True)):
        if letter not in STATUS_OF_LETTER:
            raise columns.fault(row, "the status is none of s, u, m and z", "Correct it.")
        hidden = STATUS_OF_LETTER[letter] in (Status.PRIMARY, Status.SECONDARY)
        found[cell_key(dict(zip(names, codes, strict=True)), known)] = hidden
    return found
