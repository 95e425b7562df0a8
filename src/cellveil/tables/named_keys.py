"""Cells by the names of dimensions and codes, so that the same cell is found again in another table.

Two tables of different months, releases or breakdowns number their codes differently, and need not have the
same dimensions. A cell is the same when it has the same variable and the same codes by name, where a
dimension that a table does not have counts as its total.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cellveil.tables.table import VARIABLE, Table

CellKey = tuple[str, tuple[tuple[str, str], ...]]
"""The variable of a cell ("" where it is not known), and its codes by dimension, totals left out."""

NAMELESS = "value"
"""What the variable of a table is called whose name nobody has said."""


def cell_key(codes: Mapping[str, str], totals: Mapping[str, str], variable: str = "") -> CellKey:
    """The key of one cell.

    Parameters
    ----------
    codes
        Code by dimension; that of ``variable`` is the variable.
    totals
        The code of the total of each dimension that has one.

    Examples
    --------
    >>> cell_key({"size": "Total", "region": "N"}, {"size": "Total", "region": "Total"}, "turnover")
    ('turnover', (('region', 'N'),))
    """
    found = sorted((name, code) for name, code in codes.items() if totals.get(name) != code)
    own = tuple(pair for pair in found if pair[0] != VARIABLE)
    return codes.get(VARIABLE, "" if variable == NAMELESS else variable), own


def cell_keys(table: Table, variable: str | None = None) -> list[CellKey]:
    """The keys of all cells of a table.

    Parameters
    ----------
    variable
        The variable, where another name than that of the table is meant.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> cell_keys(two_way([[20, 50], [8, 19]], primaries={(0, 0): 3}).table)[:2]
    [('', ()), ('', (('column', 'c0'),))]
    """
    name, totals = table.variable if variable is None else variable, totals_of(table)
    names = [dimension.name for dimension in table.dimensions]
    columns = [table.codes(axis) for axis in range(len(names))]
    return [
        cell_key(dict(zip(names, codes, strict=True)), totals, name) for codes in zip(*columns, strict=True)
    ]


def totals_of(table: Table) -> dict[str, str]:
    """The code of the total of each dimension that has one."""
    return {d.name: d.codes[d.total] for d in table.dimensions if d.total >= 0}


def own_names(keys: Iterable[CellKey], table: Table) -> list[CellKey]:
    """The keys with codes under the names that the table has for them, as a merged code has several."""
    totals = totals_of(table)
    merged = {d.name: d.aliases for d in table.dimensions if d.aliases}
    return [
        cell_key({name: merged.get(name, {}).get(code, code) for name, code in codes}, totals, variable)
        for variable, codes in keys
    ]


def key_name(key: CellKey) -> str:
    """A key in words: “(region N, size small)”.

    Examples
    --------
    >>> key_name(("turnover", (("region", "N"),))), key_name(("", ()))
    ('(turnover: region N)', '(Total)')
    """
    codes = ", ".join(f"{name} {code}" for name, code in key[1]) or "Total"
    return f"({key[0]}: {codes})" if key[0] else f"({codes})"


def same_variable(keys: Iterable[CellKey], others: Iterable[CellKey]) -> dict[str, str]:
    """For keys of which the variable is not known, or called otherwise: what it is called among the others.

    Where both have one variable, and one of them does not say which, it is the same.
    """
    own, there = {variable for variable, _ in keys}, {variable for variable, _ in others}
    if len(own) == 1 and len(there) == 1 and "" in own | there:
        return {next(iter(own)): next(iter(there))}
    return {}
